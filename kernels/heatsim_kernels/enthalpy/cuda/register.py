"""CUDA, `register`: a march through z with potentials in registers, so that each cell is looked up once.

                yp   . . . .          a thread owns 4 cells in x, one 16-byte access in float32, and marches through z:
    row y   xm [ o o o o ] xp         u   here, above, and the plane after that, on its way
                ym   . . . .          phi below, here, above: looked up once, as a cell enters the march

Potentials go to the threads of the rows before and behind through shared memory, one barrier a plane, and to those
beside by shuffles. What lies beyond the tile of a block, 128 x 8 cells, its outer threads look up too: 1.27 look-ups a
cell, of 8 bytes from the L1 cache, where one table of a material is 16 KB in float32. Device memory is asked for as by
the uniform kernel: 8 bytes a cell, and all of it a plane ahead of its use. What passes walls was found before
(`cuda_walls`): a chain of loads, one lane's, would hold up its whole block.

Rows that are no multiple of 4 cells would put vectors across 16-byte boundaries: there a thread owns one cell a plane.

Cells with another material beside them get some value here, and their own from `cuda_joints`.
"""

from __future__ import annotations

from typing import NamedTuple

from numba import types, uint32, uint64

from heatsim_kernels.enthalpy.cuda.cell import (
    COLUMNS,
    EnthalpyConfiguration,
    four_cells,
    last_segment,
    on_line,
    one_cell,
    rates_of_kind,
)
from heatsim_kernels.runtime.cuda.api import SIMULATED, cuda, inlined
from heatsim_kernels.runtime.cuda.register_tuples import each, repeated
from heatsim_kernels.runtime.cuda.vector_access import constant, integers
from heatsim_kernels.runtime.cuda.warp_rows import WARP, from_neighbours, load_rows, store_rows
from heatsim_kernels.runtime.fma import fma
from heatsim_kernels.runtime.thread_blocks import ThreadBlock
from heatsim_kernels.stencil.cuda.cell_update import above, below

TILE = ThreadBlock(WARP, 2, planes=2) if SIMULATED else ThreadBlock(WARP, 8, planes=32)

ONLY_SMOOTH = True


def build(structure: EnthalpyConfiguration):
    """The kernel (u, v, shape, box, rates, medium, walls, heat); `u` and `v` start on a 16-byte boundary."""
    cells = four_cells(structure) if structure.fours else one_cell(structure)
    march = _march(structure, cells)
    width, height, chunk, count = cells.count * TILE.x, TILE.y, TILE.planes, cells.count
    size, real = 2 * width * height, getattr(types, structure.dtype)

    def register(u, v, shape, box, rates, medium, walls, heat):
        board = cuda.shared.array(size, real)
        one, block = uint32(1), uint32(cuda.blockIdx.x)
        across = uint32((shape.nx - one) // uint32(width) + one)
        along = uint32((shape.ny - one) // uint32(height) + one)
        line = uint32(block // across)
        x = uint32(block % across * uint32(width) + uint32(count) * uint32(cuda.threadIdx.x))
        y = uint32(line % along * uint32(height) + uint32(cuda.threadIdx.y))
        z = uint32(line // along * uint32(chunk))
        march(x, y, z, min(uint32(z + uint32(chunk)), shape.nz), board, u, v, shape, rates, medium, walls, heat)

    return register


def bounds(structure: EnthalpyConfiguration) -> tuple[int, int]:
    """Threads a block, and the blocks that a multiprocessor should hold: as many as leave registers enough."""
    return TILE.x * TILE.y, 3 if structure.dtype == "float32" and not structure.heat_field else 2


def grid(shape: tuple[int, int, int]) -> tuple[int, int, int]:
    """A block for each tile of so many planes, in one row: a launch allows 65535 along y and z."""
    nz, ny, nx = shape
    columns = 1 if nx % COLUMNS else COLUMNS
    return -(-nx // (columns * TILE.x)) * -(-ny // TILE.y) * -(-nz // TILE.planes), 1, 1


def _difference(a, b):
    return a - b


def _uniform(value, xm, xp, ym, yp, zm, zp, kind, rates):
    """Renew a cell where one rate serves both faces of an axis."""
    rx, ry, rz = rates
    return fma(rz, zm + zp, fma(ry, ym + yp, fma(rx, xm + xp, value)))


@inlined
def _of_axes(rates):
    return constant(rates, uint32(0)), constant(rates, uint32(2)), constant(rates, uint32(4))


@inlined
def _all(rates):
    return rates


def _by_kind(value, xm, xp, ym, yp, zm, zp, kind, rates):
    """Renew a cell with the rates of its kind."""
    rxm, rxp, rym, ryp, rzm, rzp = rates_of_kind(rates, kind)
    value = fma(ryp, yp, fma(rym, ym, fma(rxp, xp, fma(rxm, xm, value))))
    return fma(rzp, zp, fma(rzm, zm, value))


look_up_each, differences = each(on_line), each(_difference)


@inlined
def look_up(u, first, medium):
    """The potentials of cells, of the materials whose lines start at `first`, a tuple too or one for all."""
    return look_up_each(u, medium.potentials, first, medium.scale, medium.shift, last_segment(medium))


class RowEnds(NamedTuple):
    """Where the cells of a thread lie at walls that are not closed: at x and y, and the planes at z, or nz; `last`:
    whether they end a row at any wall. from_left, from_right: where the differences of the walls at x start."""

    left: bool
    right: bool
    last: bool
    low_y: bool
    high_y: bool
    low_z: int
    high_z: int
    from_left: int
    from_right: int


class HaloOffsets(NamedTuple):
    """From the first of a thread's cells to what it looks up besides, if it is at an end of its row of threads in x
    (`side`, one cell) or is in the first or the last row of them (`outer`, a row of cells)."""

    at_side: bool
    at_edge: bool
    side: int
    outer: int


@inlined
def open_walls(n, wraps, face, walls):
    """The places along an axis that lie at walls which are not closed, or n."""
    low = uint32(0) if not wraps and walls.closed[face] == 0 else n
    high = uint32(n - uint32(1)) if not wraps and walls.closed[face + 1] == 0 else n
    return low, high


@inlined
def within(at, n, last, wraps):
    """Where a thread reads that stands for places from `at` on: beyond the grid, what is the last ones' neighbour."""
    return at if at < n else (uint32(0) if wraps else uint32(n - last))


@inlined
def thread():
    """Its place in the block."""
    return uint32(cuda.threadIdx.x), uint32(cuda.threadIdx.y)


def _place(structure, count):
    """ends(x, y, shape, walls) and ways(i, x, y, shape) of a thread with `count` cells from cell i, (x, y), on."""
    (wrap_x, wrap_y, wrap_z), last = structure.periodic, count - 1

    @inlined
    def ends(x, y, shape, walls):
        low_x, high_x = open_walls(shape.nx, wrap_x, 0, walls)
        low_y, high_y = open_walls(shape.ny, wrap_y, 2, walls)
        low_z, high_z = open_walls(shape.nz, wrap_z, 4, walls)
        closing = not wrap_x and uint32(x + uint32(count)) == shape.nx
        starts = uint32(walls.starts[0]), uint32(walls.starts[1])
        right = uint32(x + uint32(last)) == high_x
        return RowEnds(x == low_x, right, closing, y == low_y, y == high_y, low_z, high_z, starts[0], starts[1])

    @inlined
    def ways(i, x, y, shape):
        (tx, ty), one = thread(), uint32(1)
        side = uint32(below(i, x, shape.nx, one, wrap_x) - i)
        if tx > 0:
            side = uint32(above(uint32(i + uint32(last)), uint32(x + uint32(last)), shape.nx, one, wrap_x) - i)
        outer = uint32(below(i, y, shape.ny, shape.nx, wrap_y) - i)
        if ty > 0:
            outer = uint32(above(i, y, shape.ny, shape.nx, wrap_y) - i)
        # Each in one comparison, below zero wrapping: for two the compiler makes two branches, around every load.
        at_side, at_edge = uint32(tx - one) >= uint32(TILE.x - 2), uint32(ty - one) >= uint32(TILE.y - 2)
        return HaloOffsets(at_side, at_edge, side, outer)

    return ends, ways


@inlined
def through_x(ends, line, walls):
    """The differences of the walls at x in a line of cells; any number where there is no such wall: without a branch,
    all reads of a round are under way at once."""
    left = walls.differences[uint64(uint32(ends.from_left + line)) if ends.left else uint64(0)]
    right = walls.differences[uint64(uint32(ends.from_right + line)) if ends.right else uint64(0)]
    return left, right


def _at_walls(cells):
    """call(sides, x, y, z, ends, left, right, shape, walls, zero): the differences of potentials on all six sides of
    cells, with those that stand for walls."""
    with_first, with_last, row = cells.with_first, cells.with_last, load_rows(cells.count, False)
    nowhere = (uint32(0),)

    @inlined
    def at_walls(sides, x, y, z, ends, left, right, shape, walls, zero):
        xm, xp, ym, yp, zm, zp = sides
        if ends.left:
            xm = with_first(xm, left)
        if ends.last:
            xp = with_last(xp, right if ends.right else zero)
        if (ends.low_y | ends.high_y) or (z == ends.low_z) | (z == ends.high_z):
            if ends.low_y:
                ym = row(walls.differences, uint64(walls.starts[2] + z * shape.nx + x), nowhere)
            if ends.high_y:
                yp = row(walls.differences, uint64(walls.starts[3] + z * shape.nx + x), nowhere)
            if z == ends.low_z:
                zm = row(walls.differences, uint64(walls.starts[4] + y * shape.nx + x), nowhere)
            if z == ends.high_z:
                zp = row(walls.differences, uint64(walls.starts[5] + y * shape.nx + x), nowhere)
        return xm, xp, ym, yp, zm, zp

    return at_walls


def _around(cells):
    """call(p_here, side, outer, first, at, ways, board, medium): the potentials left, right, before and behind; all
    threads of a block have put theirs on the board at `at`, and meet here."""
    count, beside, stride = cells.count, cells.beside, cells.count * TILE.x
    exchange, published = from_neighbours(count), load_rows(count, True)
    nowhere = (uint32(0),)

    @inlined
    def around(p_here, side, outer, first, at, ways, board, medium):
        tx, ty = thread()
        left, right = exchange(p_here)
        p_side, p_before = p_here[0], p_here
        if ways.at_side:
            p_side = look_up((side,), first, medium)[0]
        if ways.at_edge:
            p_before = look_up(outer, first, medium)
        p_after = p_before
        cuda.syncthreads()
        if ty > 0:
            p_before = published(board, uint64(at - uint64(stride)), nowhere)
        if ty < uint32(TILE.y - 1):
            p_after = published(board, uint64(at + uint64(stride)), nowhere)
        ends = p_side if tx == 0 else left[0], p_side if tx == uint32(TILE.x - 1) else right[0]
        p_left, p_right = beside(p_here, ends[0], ends[1])
        return p_left, p_right, p_before, p_after

    return around


def _renewed(structure, cells):
    """call(i, here, sides, kinds, rates, heat): a row of cells from cell i on after the step."""
    alike, start, repeat = cells.alike, cells.start, repeated(cells.count)
    renew = each(_uniform if structure.uniform else _by_kind, whole=1)

    @inlined
    def renewed(i, here, sides, kinds, rates, heat):
        xm, xp, ym, yp, zm, zp = sides
        if alike(kinds):
            same = repeat(kinds[0])
            new = renew(start(i, here, same, heat), xm, xp, ym, yp, zm, zp, same, rates)
        else:
            new = renew(start(i, here, kinds, heat), xm, xp, ym, yp, zm, zp, kinds, rates)
        return new

    return renewed


def _kinds(structure, count):
    """words_at(medium, i): the kinds of a row of cells as they lie in memory, where they take a quarter of the
    registers; kinds_of(words, medium): the kind of each."""
    several, (load_kinds, parted), nothing = structure.several, integers(count), (uint32(0),) * count

    @inlined
    def words_at(medium, i):
        return load_kinds(medium.kinds, uint64(i)) if several else nothing

    @inlined
    def kinds_of(words, medium):
        return parted(words, medium.kinds) if several else nothing

    return words_at, kinds_of


def _ask(structure, cells, words_at):
    """call(i, after, end, plane, side, outer, ways, u, shape, medium): what the round of plane `after`
    needs from afar: of the plane
    after the next one the cells and their kinds, of the next one the cells beside the tile."""
    read, wrap_z = cells.read, structure.periodic[2]

    @inlined
    def ask(i, after, end, plane, side, outer, ways, u, shape, medium):
        j, k = i, i
        if after < end:
            j = uint32(i + plane)
            k = above(j, after, shape.nz, plane, wrap_z)
        coming, coming_words, coming_side, coming_outer = read(u, uint64(k)), words_at(medium, k), side, outer
        if ways.at_side:
            coming_side = constant(u, uint32(j + ways.side))
        if ways.at_edge:
            coming_outer = read(u, uint64(uint32(j + ways.outer)))
        return coming, coming_words, coming_side, coming_outer

    return ask


def _march(structure, cells):
    """The march of a thread from plane z to `end`, with the row of cells from x on; all of a block march together."""
    wrap_x, wrap_y, wrap_z = structure.periodic
    count, read, write, lines = cells.count, cells.read, cells.write, cells.lines
    (ends_of, ways_of), at_walls, around = _place(structure, count), _at_walls(cells), _around(cells)
    publish, (words_at, kinds_of) = store_rows(count, True), _kinds(structure, count)
    nowhere, size, ask = (uint32(0),), count * TILE.x * TILE.y, _ask(structure, cells, words_at)
    renewed, rates_of = _renewed(structure, cells), _of_axes if structure.uniform else _all

    @inlined
    def march(x, y, z, end, board, u, v, shape, rates, medium, walls, heat):
        one, plane, (tx, ty) = uint32(1), uint32(shape.ny * shape.nx), thread()
        inside = x < shape.nx and y < shape.ny
        x, y = within(x, shape.nx, uint32(count), wrap_x), within(y, shape.ny, one, wrap_y)
        i = uint32(uint32(uint32(z * shape.ny) + y) * shape.nx + x)
        ends, ways, rates = ends_of(x, y, shape, walls), ways_of(i, x, y, shape), rates_of(rates)
        low, up = below(i, z, shape.nz, plane, wrap_z), above(i, z, shape.nz, plane, wrap_z)
        here, high = read(u, uint64(i)), read(u, uint64(up))
        side, outer = constant(u, uint32(i + ways.side)), read(u, uint64(uint32(i + ways.outer)))
        words, high_words = words_at(medium, i), words_at(medium, up)
        own_lines = lines(kinds_of(words, medium), medium)
        first = own_lines[0]
        p_low, p_here = look_up(read(u, uint64(low)), own_lines, medium), look_up(here, own_lines, medium)
        at = uint64((ty * uint32(TILE.x) + tx) * uint32(count))
        other = uint64(at + uint64(size))
        publish(board, at, nowhere, p_here, one)
        while z < end:
            after = uint32(z + one)
            ahead = ask(i, after, end, plane, side, outer, ways, u, shape, medium)
            coming, coming_words, coming_side, coming_outer = ahead
            left, right = through_x(ends, uint32(z * shape.ny + y), walls)

            high_lines = lines(kinds_of(high_words, medium), medium)
            p_high = look_up(high, high_lines, medium)
            p_left, p_right, p_before, p_after = around(p_here, side, outer, first, at, ways, board, medium)
            publish(board, other, nowhere, p_high, one)
            in_x = differences(p_left, p_here), differences(p_right, p_here)
            in_y = differences(p_before, p_here), differences(p_after, p_here)
            sides = in_x + in_y + (differences(p_low, p_here), differences(p_high, p_here))
            sides = at_walls(sides, x, y, z, ends, left, right, shape, walls, medium.zero)
            new = renewed(uint64(i), here, sides, kinds_of(words, medium), rates, heat)
            if inside:
                write(v, uint64(i), new)
            here, high, words, high_words, first = high, coming, high_words, coming_words, high_lines[0]
            p_low, p_here, side, outer = p_here, p_high, coming_side, coming_outer
            at, other, i, z = other, at, uint32(i + plane), after

    return march
