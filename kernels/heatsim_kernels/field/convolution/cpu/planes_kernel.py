"""`cpu`: all cores, 512-bit vectors, sums in registers, rows in a ring that stays in cache.

    field               ring of rows, with what lies       block of results, 3 rows of 4
    | row y+3 | --copy-->  beyond the ends of a row          vectors, which stay in registers
    | row y+4 |          [ g x x x x x x x x g ]             while the mask passes over them
    | row y+5 |          [ g x x x x x x x x g ]  --sum-->   [ o o o o | o o o o | ... ]
                         [ g x x x x x x x x g ]             [ o o o o | o o o o | ... ]

Every row is copied once into a ring as high as the mask and two rows more, so the loop over the mask knows neither
edges nor how far apart rows lie in memory (powers of two apart they would fight for the same places of a cache). A
vector of the ring is loaded once a mask column and serves all three rows, each with a weight of its own: 7 loads for 12
multiply-adds. Where the mask is one row high there is nothing to share, and a block is one row of 8 vectors.

A separable mask is applied in one go: down the columns of the ring into three lines, and along these. Threads share
out the rows; memory moves 8 bytes a cell in float32, as a large result goes past the cache. Every result is
`sum = fma(weight, value, sum)` over the mask from the first row's first element on, beginning with zero: the order of
all kernels of this package.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import prange

from heatsim_kernels.device.cpu.compilation import inlined, jit, parallel_jit
from heatsim_kernels.device.cpu.pointers import (
    CACHE_LINE,
    load,
    padded,
    pointer,
    prefetch,
    shifted,
    store,
    widest_vectors,
)
from heatsim_kernels.device.cpu.threads import limited, threads_for
from heatsim_kernels.field.convolution import edges
from heatsim_kernels.field.convolution.cpu.vector_values import (
    VECTOR_BYTES,
    address_of,
    at_address,
    puts,
    taps,
    zero,
    zeros,
)
from heatsim_kernels.field.convolution.planes import Planes

STREAM_FROM = 12 * 2**20  # bytes of a result above which it bypasses the cache
CHUNK = 16384  # bytes of a row that a thread smooths before it goes on to the next row
HIGH, WIDE = (3, 4), (1, 8)  # rows and vectors of a block, for masks of several rows and of one
ROWS = HIGH[0]
NEVER = np.bool_(False)  # a literal would have Numba compile everything below once more

source_index = jit(edges.source_index)
zeros_high, zeros_wide = zeros(HIGH[0] * HIGH[1]), zeros(WIDE[1])
tap_first, tap_first_two, tap_all = (taps(*HIGH, 0, last) for last in range(ROWS))
tap_last_two, tap_last = (taps(*HIGH, first, ROWS - 1) for first in (1, 2))
tap_wide = taps(*WIDE, 0, 0)
put_first, put_second, put_third = (puts(HIGH[1], row) for row in range(ROWS))
put_wide = puts(WIDE[1], 0)


class Mask(NamedTuple):
    """Weights, flat, in rows of `width`; `step` elements of a field lie from one mask column to the next."""

    weights: int
    height: int
    width: int
    step: int


class SourceField(NamedTuple):
    """A field and its result: elements of a row, planes of how many rows, what stands beyond, and where both lie:
    an address, and bytes from one plane and from one row to the next."""

    elements: int
    planes: int
    rows: int
    edge: int
    source: int
    source_plane: int
    source_row: int
    target: int
    target_plane: int
    target_row: int
    stream: bool


class Scratch(NamedTuple):
    """A thread's own memory: addresses of the rows under the mask, topmost first; the ring, and elements from row to
    row in it; three lines; three blocks for what reaches beyond a row. And elements of a vector, bytes of an element.
    """

    above: np.ndarray
    ring: int
    pitch: int
    lines: int
    ends: int
    lanes: int
    itemsize: int


class Chunk(NamedTuple):
    """Columns of a plane: the first, and how many there are."""

    plane: int
    first: int
    columns: int


@inlined  # however long, so that its vectors stay in registers
def _high_block(above, x, mask):
    """Three rows of results whose mask begins in column x; `above` holds the addresses of the rows under it."""
    weights, width, step = mask.weights, mask.width, mask.step
    sums = zeros_high(weights)
    row = shifted(at_address(above[0], weights), x)
    for k in range(width):
        sums = tap_first(sums, shifted(row, k * step), shifted(weights, k), width)
    row = shifted(at_address(above[1], weights), x)
    for k in range(width):
        sums = tap_first_two(sums, shifted(row, k * step), shifted(weights, width + k), width)
    for j in range(2, mask.height):
        row = shifted(at_address(above[j], weights), x)
        for k in range(width):
            sums = tap_all(sums, shifted(row, k * step), shifted(weights, j * width + k), width)
    under = shifted(weights, (mask.height - 1) * width)
    row = shifted(at_address(above[mask.height], weights), x)
    for k in range(width):
        sums = tap_last_two(sums, shifted(row, k * step), shifted(under, k), width)
    row = shifted(at_address(above[mask.height + 1], weights), x)
    for k in range(width):
        sums = tap_last(sums, shifted(row, k * step), shifted(under, k), width)
    return sums


@inlined
def _put_high(sums, targets, pitch, x, count, stream):
    """Write as many of three rows of results as there are."""
    put_first(sums, shifted(targets, x), stream)
    if count > 1:
        put_second(sums, shifted(targets, pitch + x), stream)
    if count > 2:
        put_third(sums, shifted(targets, 2 * pitch + x), stream)


@jit
def _high_rows(mask, scratch, targets, pitch, columns, count, stream):
    """Rows of results from the rows above, `count` of three; blocks beyond the columns are cut off."""
    widest_vectors()
    block = HIGH[1] * scratch.lanes
    for x in range(0, columns, block):
        sums = _high_block(scratch.above, x, mask)
        if x + block <= columns:
            _put_high(sums, targets, pitch, x, count, stream)
        else:
            _put_high(sums, scratch.ends, block, np.int64(0), count, NEVER)
            for r in range(count):
                _copy(shifted(targets, r * pitch + x), shifted(scratch.ends, r * block), columns - x)


@jit
def _wide_row(mask, scratch, line, target, columns, stream):
    """A row of results from a line that begins under the mask's first element."""
    widest_vectors()
    block = WIDE[1] * scratch.lanes
    for x in range(0, columns, block):
        sums = zeros_wide(line)
        for k in range(mask.width):
            sums = tap_wide(sums, shifted(line, x + k * mask.step), shifted(mask.weights, k), 0)
        if x + block <= columns:
            put_wide(sums, shifted(target, x), stream)
        else:
            put_wide(sums, scratch.ends, False)
            _copy(shifted(target, x), scratch.ends, columns - x)


@jit
def _copy(out, row, count):
    for i in range(count):
        store(out, i, load(row, i))


@jit
def _copy_row(out, field, plane, y, first, count, step):
    """Copy `count` elements from column `first` of row y on, any of which may lie beyond the plane."""
    found = source_index(y, field.rows, field.edge)
    row = at_address(field.source + plane * field.source_plane + found * field.source_row, out)
    low = min(count, max(0, -first))
    high = max(low, min(count, field.elements - first))
    if found < 0:
        low, high = count, count
    for i in range(low):
        store(out, i, _beyond(row, found, first + i, step, field, out))
    _copy(shifted(out, low), shifted(row, first + low), high - low)
    for i in range(high, count):
        store(out, i, _beyond(row, found, first + i, step, field, out))


@jit
def _beyond(row, found, at, step, field, like):
    """What stands at place `at` of a row, beyond its ends or in a row of zeros."""
    cell = at // step
    inside = source_index(cell, field.elements // step, field.edge)
    return row[inside * step + at - cell * step] if found >= 0 and inside >= 0 else zero(like)


@jit
def _target(field, plane, y, x, like):
    return shifted(at_address(field.target + plane * field.target_plane + y * field.target_row, like), x)


@jit
def _ask_for(field, plane, y, chunk, scratch):
    """Have rows of a chunk brought into cache that are wanted three rows later."""
    for row in range(y, min(y + ROWS, field.rows)):
        start = at_address(field.source + plane * field.source_plane + row * field.source_row, scratch.ring)
        for i in range(chunk.first, chunk.first + chunk.columns, scratch.lanes):
            prefetch(start, i)


@jit
def _high_chunk(down, across, field, chunk, first, end, scratch):
    """Rows `first` to `end` of a chunk, under a mask of several rows and then, if there is one, under a mask of one."""
    slots = down.height + ROWS - 1
    fused = across.width > 0
    halo = (across.width // 2 * across.step) if fused else (down.width // 2 * down.step)
    copied, pitch = 0, field.target_row // scratch.itemsize
    for y in range(first, end, ROWS):
        while copied < y - first + slots:
            slot = shifted(scratch.ring, copied % slots * scratch.pitch)
            row = first - down.height // 2 + copied
            _copy_row(slot, field, chunk.plane, row, chunk.first - halo, chunk.columns + 2 * halo, down.step)
            copied += 1
        _ask_for(field, chunk.plane, y + down.height // 2 + ROWS, chunk, scratch)
        for j in range(slots):
            scratch.above[j] = address_of(shifted(scratch.ring, (y - first + j) % slots * scratch.pitch))
        out, count = _target(field, chunk.plane, y, chunk.first, scratch.ring), min(ROWS, end - y)
        if fused:
            wide = chunk.columns + 2 * halo
            _high_rows(down, scratch, scratch.lines, scratch.pitch, wide, np.int64(ROWS), NEVER)
            for r in range(count):
                line = shifted(scratch.lines, r * scratch.pitch)
                _wide_row(across, scratch, line, shifted(out, r * pitch), chunk.columns, field.stream)
        else:
            _high_rows(down, scratch, out, pitch, chunk.columns, count, field.stream)


@jit
def _wide_chunk(across, field, chunk, first, end, scratch):
    """Rows `first` to `end` of a chunk, under a mask of one row."""
    halo = across.width // 2 * across.step
    for y in range(first, end):
        _copy_row(scratch.lines, field, chunk.plane, y, chunk.first - halo, chunk.columns + 2 * halo, across.step)
        out = _target(field, chunk.plane, y, chunk.first, scratch.ring)
        _wide_row(across, scratch, scratch.lines, out, chunk.columns, field.stream)


@parallel_jit
def _planes(down, across, step, field, chunk_size, aboves, rings, lines, ends, pitch, lanes, itemsize):
    """All planes, under a mask of several rows or of one, or both in turn; one that is not there has no elements."""
    parts, total = len(aboves), field.planes * field.rows
    for part in prange(parts):
        places = pointer(rings[part]), pointer(lines[part]), pointer(ends[part])
        scratch = Scratch(aboves[part], places[0], pitch, places[1], places[2], lanes, itemsize)
        under = Mask(pointer(down), down.shape[0], down.shape[1], step)
        beside = Mask(pointer(across), 1, across.size, step)
        begin, stop = total * np.int64(part) // parts, total * (np.int64(part) + 1) // parts
        while begin < stop:
            plane, y = begin // field.rows, begin % field.rows
            end = min(field.rows, y + stop - begin)
            begin += end - y
            for x in range(0, field.elements, chunk_size):
                chunk = Chunk(plane, x, min(chunk_size, field.elements - x))
                if under.height:
                    _high_chunk(under, beside, field, chunk, y, end, scratch)
                else:
                    _wide_chunk(beside, field, chunk, y, end, scratch)


def convolve(source: Planes, target: Planes, down: np.ndarray | None, across: np.ndarray | None, edge: int) -> None:
    """Write `source` under a mask to `target`: under `down` (height, width), or `across` (width) along the rows, or
    first `down` (height, 1) and then `across`.

    Masks are of the field's type, odd, and lie as correlation has it: weight 0 goes with the element of lowest index.
    `down` is three rows high at least. `edge` is a place in `edges.EDGES`.
    """
    planes, rows, elements = source.shape
    dtype = source.values.dtype
    lanes = VECTOR_BYTES // dtype.itemsize
    under = np.empty((0, 0), dtype) if down is None else np.ascontiguousarray(down)
    beside = np.empty(0, dtype) if across is None else np.ascontiguousarray(across)
    stream = source.values.nbytes > STREAM_FROM and all(
        n % CACHE_LINE == 0 for n in (target.values.ctypes.data, *target.values.strides[:2])
    )
    places = [(each.values.ctypes.data, each.values.strides[0], each.values.strides[1]) for each in (source, target)]
    field = SourceField(elements, planes, rows, edge, *places[0], *places[1], stream)
    chunk = min(CHUNK // dtype.itemsize, elements)
    block = max(HIGH[1], WIDE[1]) * lanes
    halo = max(under.shape[1] // 2, beside.size // 2) * source.channels
    pitch = -(-(chunk + 2 * halo + block) // lanes) * lanes + lanes
    threads = threads_for(source.values.size)
    slots = len(under) + ROWS - 1
    aboves = np.empty((threads, slots + 8), np.int64)
    rings, lines, ends = (
        padded(threads * size, dtype).reshape(threads, size) for size in (slots * pitch, ROWS * pitch, ROWS * block)
    )
    with limited(threads):
        _planes(under, beside, source.channels, field, chunk, aboves, rings, lines, ends, pitch, lanes, dtype.itemsize)
