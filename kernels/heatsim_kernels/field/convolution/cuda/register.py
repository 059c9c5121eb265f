"""`register`: a march down the rows with everything a thread needs in its own registers.

                     x .. x+3
    row y-1     l l [ v v v v ] r r      a thread owns 4 columns and marches down: a row of 4 elements is one 16-byte
    row y       l l [ v v v v ] r r      load in float32, two in float64, and what the mask needs beside them (l, r)
    row y+1     l l [ v v v v ] r r      are the vectors of neighbouring threads, which the L1 cache has already

Where the kernels before this one hold elements and sum up a result at a time, here a row of elements is loaded once and
added to all results that it belongs to. No element is loaded twice by a thread, there is no shared memory and no
barrier, and warps drift apart so that loads of one hide behind the work of others.

Masks of up to 9 x 9: a thread makes a few rows of results, 4 for 3 x 3, in straight code without a loop. The assembler
then has all loads to choose from when it hides latencies, and sums stay where they are. Larger masks: a loop over 16
rows, in which h x 4 sums are under way in registers, one row of them is finished with every row loaded, and the others
move up; the vectors of the rows ahead are under way while a row is added up.

The weights are arguments, which a GPU keeps in constant memory (c[0] of the machine code): on Hopper two at a time go
to uniform registers that serve the whole warp (ULDC.64), and multiply-adds take them from there, so one compiled kernel
serves all masks of a size. In float32 a result costs 8 bytes of device memory, 4 (h-1) / (rows of a thread) more asked
of the L2 cache for the rows that threads share, and h x w multiply-adds.
Sources: Micikevicius, 3D finite difference computation on GPUs using CUDA, GPGPU-2, 2009 (the march); Volkov, Better
performance at lower occupancy, GTC 2010 (several results a thread).

1-D passes are masks of one row or one column. At the ends of rows elements are fetched one by one. Rows begin on
16-byte boundaries, and the elements of a row are neighbours: other fields are laid out anew (see `mask_pass`).
"""

from __future__ import annotations

import numpy as np
from numba import int64, types, uint64

from heatsim_kernels.device.cuda.api import SIMULATED, cuda, inlined
from heatsim_kernels.device.cuda.register_tuples import collected, mapped, regrouped, row_adder
from heatsim_kernels.device.cuda.vector_access import CELLS, load4, store4
from heatsim_kernels.device.thread_blocks import first_cell
from heatsim_kernels.field.convolution import edges
from heatsim_kernels.field.convolution.cuda.field_access import ConvolutionVariant, MaskKernel, source_index, tiles

BLOCK = (2, 2) if SIMULATED else (32, 4)  # a warp along x
# Rows of results of a thread by rows of the mask: few, so that blocks at work together read what lies side by side
STRIPS = {1: 2, 3: 2, 5: 3} if SIMULATED else {1: 4, 3: 4, 5: 6, 7: 6, 9: 6}
WIDEST = 9  # columns of such a mask
CHUNK = 3 if SIMULATED else 16  # rows of results of a thread that marches in a loop
AHEAD = 2  # rows whose own vectors are under way in the loop
WEIGHTS = 2048  # bytes of weights at most, what the first level of the constant cache holds
HELD, SUMS = 136, 120  # registers of sums and a row of elements, and of sums, at most: with more a thread spills


def block(variant: ConvolutionVariant) -> tuple[int, int]:
    """Threads of a block along x and y."""
    return BLOCK


def grid(shape: tuple[int, int, int], variant: ConvolutionVariant) -> tuple[int, int, int]:
    """A block for each tile of results."""
    return tiles(shape, CELLS * BLOCK[0], rows_of_thread(variant.height, variant.width) * BLOCK[1])


def rows_of_thread(height: int, width: int) -> int:
    """Rows of results that a thread makes with a mask of so many rows and columns."""
    return STRIPS[height] if _straight(height, width) else CHUNK


def _straight(height: int, width: int) -> bool:
    """Whether a mask is small enough for code without a loop."""
    return height in STRIPS and width <= WIDEST


def fits(mask: np.ndarray) -> bool:
    """Whether registers and constant cache hold what a mask takes: in float32 all up to 21 x 21 and 29 x 1."""
    height, width = mask.shape
    words = mask.itemsize // 4
    sums, elements = height * CELLS * words, (CELLS + width - 1) * words
    return sums <= SUMS and sums + elements <= HELD and mask.nbytes <= WEIGHTS


def build(variant: ConvolutionVariant):
    """The kernel `register(u, v, geometry, mask)`; arrays are flat, `mask` is a tuple of weights."""
    lanes, groups, chunk = BLOCK[0], BLOCK[1], rows_of_thread(variant.height, variant.width)
    straight = _straight(variant.height, variant.width)
    reach = CELLS * -(-(variant.width // 2) // CELLS)  # elements of the vectors that the mask touches to each side
    within, at_end = (_strip if straight else _march)(variant, chunk, reach), _march_at_end(variant, chunk)
    whole = chunk if straight else 1  # rows that there must be for straight code

    def register(u, v, geometry, mask):
        x, y, z = first_cell(geometry, CELLS * lanes, chunk * groups, 1)
        x = int64(x) + int64(CELLS) * int64(cuda.threadIdx.x)
        y = int64(y) + int64(chunk) * int64(cuda.threadIdx.y)
        nx, ny, row = int64(geometry.nx), int64(geometry.ny), int64(geometry.row)
        start = int64(z) * int64(geometry.plane)
        if x >= reach and x + CELLS + reach <= nx and y + whole <= ny:
            within(u, v, start + x, y, ny, row, mask)
        elif x < nx and y < ny:
            at_end(u, v, start, x, y, nx, ny, row, mask)

    return register


def _strip(variant, chunk, reach):
    """The device function that makes `chunk` rows of results from y on without a loop, where the mask stays within the
    columns; `start` is the thread's first element in row 0 of its plane."""
    above, find = variant.height // 2, _rows(variant)
    starts = collected(chunk + 2 * above, lambda k, y, ny, row: find(y + k, ny, row), int64)
    zeros, rows_from_first = _zeros(variant, chunk * CELLS), _rows_from(0, variant, chunk, reach)

    @inlined
    def strip(u, v, start, y, ny, row, mask):
        rows_from_first(u, v, start, start + y * row, row, starts(y - above, ny, row), zeros(), mask)

    return strip


def _rows_from(r, variant, chunk, reach):
    """The device function that adds row r of a strip, and all below it, to the sums and writes those that are finished;
    `rows` says where each begins, as `_rows` does."""
    if r == chunk + variant.height - 1:
        return inlined(lambda u, v, start, out, row, rows, sums, mask: None)
    load_rest, row_of_zeros = _beside(variant.width, reach), _zeros(variant, CELLS + variant.width - 1)
    zero_rows, last = variant.edge == edges.ZERO, r >= variant.height - 1
    meets = tuple((q, r - q) for q in range(chunk) if 0 <= r - q < variant.height)
    done = r - variant.height + 1
    add, finished = row_adder(meets, variant.width, CELLS), regrouped(lambda s: s[done * CELLS : (done + 1) * CELLS])
    others = _rows_from(r + 1, variant, chunk, reach)

    @inlined
    def rows_from(u, v, start, out, row, rows, sums, mask):
        at = rows[r]
        i = start + max(at, int64(0))
        values = load_rest(u, i, load4(u, uint64(i)))
        if zero_rows and at < 0:
            values = row_of_zeros()
        sums = add(sums, values, mask)
        if last:
            store4(v, uint64(out), finished(sums))
            out = out + row
        others(u, v, start, out, row, rows, sums, mask)

    return rows_from


def _march(variant, chunk, reach):
    """The march in a loop down `chunk` rows from y on, where the mask stays within the columns; `start` is the thread's
    first element in row 0 of its plane."""
    above, ahead, zero_rows = variant.height // 2, AHEAD, variant.edge == edges.ZERO
    find, (zeros, add, finished, moved_up) = _rows(variant), _sums(variant)
    load_first, load_rest = _own_vectors(ahead), _beside(variant.width, reach)
    first_rows = collected(ahead, lambda k, y, last, ny, row: find(y + min(k, last), ny, row), int64)
    head, advanced = regrouped(lambda queue: queue[:CELLS]), regrouped(lambda queue, own: queue[CELLS:] + own)
    next_rows = regrouped(lambda queue, later: queue[1:] + later)
    row_of_zeros = _zeros(variant, CELLS + variant.width - 1)

    @inlined
    def march(u, v, start, y, ny, row, mask):
        last, out = min(int64(chunk), ny - y) - 1 + 2 * above, start + y * row
        rows, sums = first_rows(y - above, last, ny, row), zeros()
        queue = load_first(u, start, rows)
        for r in range(last + 1):
            at, own, later = rows[0], head(queue), find(y - above + min(r + ahead, last), ny, row)
            rows, queue = next_rows(rows, (later,)), advanced(queue, load4(u, uint64(start + max(later, int64(0)))))
            values = load_rest(u, start + max(at, int64(0)), own)
            if zero_rows and at < 0:
                values = row_of_zeros()
            sums = add(sums, values, mask)
            if r >= 2 * above:
                store4(v, uint64(out), finished(sums))
                out = out + row
            sums = moved_up(sums)

    return march


def _march_at_end(variant, chunk):
    """The march down `chunk` rows at most from y on, where the mask reaches beyond the ends of the rows, or the
    thread's columns do; `start` is the first element of the thread's plane."""
    above, half, edge = variant.height // 2, variant.width // 2, variant.edge
    find, (zeros, add, finished, moved_up) = _rows(variant), _sums(variant)
    real, needed = getattr(types, variant.dtype), CELLS + variant.width - 1
    columns_under = collected(needed, lambda k, x, nx: source_index(x - half + k, nx, edge), int64)
    missing_is_zero = edge == edges.ZERO

    def element(column, u, at, start):
        if missing_is_zero and (column < 0 or at < 0):
            return real(0)
        return u[uint64(start + at + column)]

    read_row = mapped(element, real)

    @inlined
    def march(u, v, start, x, y, nx, ny, row, mask):
        last, out = min(int64(chunk), ny - y) - 1 + 2 * above, start + y * row + x
        columns, sums = columns_under(x, nx), zeros()
        for r in range(last + 1):
            sums = add(sums, read_row(columns, u, find(y - above + r, ny, row), start), mask)
            if r >= 2 * above:
                done = finished(sums)
                for k in range(min(int64(CELLS), nx - x)):
                    v[uint64(out + k)] = done[k]
                out = out + row
            sums = moved_up(sums)

    return march


def _zeros(variant, count):
    """The device function zeros(): so many zeros."""
    real = getattr(types, variant.dtype)
    return collected(count, lambda k: real(0), real)


def _sums(variant):
    """Device functions on rows of sums: zeros to begin with, adding a row of values, the finished row, and moving up,
    which makes room for a row of new ones: row s has always met s rows of the mask."""
    row_of_zeros = _zeros(variant, CELLS)
    moved = regrouped(lambda zeros, sums: zeros + sums[:-CELLS])

    @inlined
    def moved_up(sums):
        return moved(row_of_zeros(), sums)

    zeros, finished = _zeros(variant, variant.height * CELLS), regrouped(lambda sums: sums[-CELLS:])
    add = row_adder(tuple((s, s) for s in range(variant.height)), variant.width, CELLS)
    return zeros, add, finished, moved_up


def _rows(variant):
    """The device function find(y, ny, row): where row y of a plane begins, anywhere; negative for one of zeros."""
    edge = variant.edge

    @inlined
    def anywhere(y, ny, row):
        at = source_index(y, ny, edge)
        return at * row if at > 0 else at

    @inlined
    def within(y, ny, row):
        return y * row

    return within if variant.height == 1 else anywhere


def _own_vectors(count):
    """The device function load(u, start, rows): the thread's own vectors of so many rows, as one tuple."""
    if count == 1:
        return inlined(lambda u, start, rows: load4(u, uint64(start + max(rows[0], int64(0)))))
    rest, joined = _own_vectors(count - 1), regrouped(lambda vectors, vector: vectors + vector)
    last = count - 1

    @inlined
    def load(u, start, rows):
        return joined(rest(u, start, rows), load4(u, uint64(start + max(rows[last], int64(0)))))

    return load


def _beside(width, reach):
    """The device function load(u, i, own): all elements under the mask, given the thread's own at u[i]."""
    if reach == 0:
        return inlined(lambda u, i, own: own)
    vectors, first = _vectors(reach // CELLS), reach - width // 2
    under = regrouped(lambda before, own, after: (before + own + after)[first : first + CELLS + width - 1])

    @inlined
    def load(u, i, own):
        return under(vectors(u, i - reach), own, vectors(u, i + CELLS))

    return load


def _vectors(count):
    """The device function load(u, i): `count` vectors side by side, as one tuple."""
    if count == 1:
        return inlined(lambda u, i: load4(u, uint64(i)))
    rest, joined = _vectors(count - 1), regrouped(lambda vector, others: vector + others)

    @inlined
    def load(u, i):
        return joined(load4(u, uint64(i)), rest(u, i + CELLS))

    return load


LINES = PLANES = MaskKernel("arguments", block, grid, build)
