"""CUDA, `register`: a march through z with potentials in registers, so that each cell is looked up once.

                yp   . . . .          A thread owns 4 cells in x, one 16-byte access in float32, and marches through z.
    row y   xm [ o o o o ] xp         u: here, above, and the plane after that, on its way.
                ym   . . . .          phi: below, here, above; looked up once, as a cell enters the march.

Potentials go to the threads of the rows before and behind through shared memory, with one barrier a plane, and to those
beside by shuffles. What lies beyond the tile of a block (128 x 8 cells) its outer threads look up too: 1.27 look-ups a
cell, of 8 bytes from the L1 cache, where the table of one material takes 16 KB in float32. Device memory moves 8 bytes
a cell, as in the kernel of uniform materials, and all of it is asked for a plane ahead of its use. The heat through
boundary faces was found before (`boundary_heat`): that is a chain of loads, and one lane with such a face would hold up
its whole block.

Rows that are no multiple of 4 cells would put vectors across 16-byte boundaries: there a thread owns one cell a plane.

What cells get from other materials beside them, `interface_cells` adds.
"""

from __future__ import annotations

from typing import NamedTuple

from numba import types, uint32, uint64

from heatsim_kernels.device.cuda.api import SIMULATED, cuda, inlined
from heatsim_kernels.device.cuda.register_tuples import each, repeated
from heatsim_kernels.device.cuda.vector_access import constant, integers
from heatsim_kernels.device.cuda.warp_rows import WARP, from_neighbours, load_rows, store_rows
from heatsim_kernels.device.fma import fma
from heatsim_kernels.device.thread_blocks import ThreadBlock
from heatsim_kernels.explicit.cuda_cell.cell_update import above, below
from heatsim_kernels.explicit.enthalpy.cuda.cell import (
    COLUMNS,
    EnthalpyConfiguration,
    build_potentials,
    four_cells,
    material_of,
    one_cell,
    rates_of_class,
)

TILE = ThreadBlock(WARP, 2, planes=2) if SIMULATED else ThreadBlock(WARP, 8, planes=32)

ONLY_SMOOTH = True  # what comes from other materials is left to `interface_cells`


def build(configuration: EnthalpyConfiguration):
    """Build the kernel (u, v, shape, box, rates, medium, boundary, sources); `u` and `v` are aligned to 16 bytes."""
    cells = four_cells(configuration) if configuration.fours else one_cell(configuration)
    march = _march(configuration, cells)
    width, height, chunk, count = cells.cell_count * TILE.x, TILE.y, TILE.planes, cells.cell_count
    size, real = 2 * width * height, getattr(types, configuration.dtype)

    def register(u, v, shape, box, rates, medium, boundary, sources):
        board = cuda.shared.array(size, real)
        one, block = uint32(1), uint32(cuda.blockIdx.x)
        across = uint32((shape.nx - one) // uint32(width) + one)
        along = uint32((shape.ny - one) // uint32(height) + one)
        line = uint32(block // across)
        x = uint32(block % across * uint32(width) + uint32(count) * uint32(cuda.threadIdx.x))
        y = uint32(line % along * uint32(height) + uint32(cuda.threadIdx.y))
        z = uint32(line // along * uint32(chunk))
        march(x, y, z, min(uint32(z + uint32(chunk)), shape.nz), board, u, v, shape, rates, medium, boundary, sources)

    return register


def bounds(configuration: EnthalpyConfiguration) -> tuple[int, int]:
    """Threads of a block, and the blocks that a multiprocessor should hold: as many as leave enough registers."""
    return TILE.x * TILE.y, 3 if configuration.dtype == "float32" and not configuration.heat_field else 2


def grid(shape: tuple[int, int, int]) -> tuple[int, int, int]:
    """One block for each tile and march, all in one row: a launch allows 65535 along y and z."""
    nz, ny, nx = shape
    columns = 1 if nx % COLUMNS else COLUMNS
    return -(-nx // (columns * TILE.x)) * -(-ny // TILE.y) * -(-nz // TILE.planes), 1, 1


def _difference(a, c):
    return a - c


def _itself(a, c):
    return a


def _uniform(value, c, xm, xp, ym, yp, zm, zp, cell_class, rates):
    """The new value of a cell where one rate serves both faces of an axis: see `physics.axis_differences`."""
    rx, ry, rz = rates
    return fma(rz, zp, fma(ry, ym + yp, fma(rx, xm + xp, fma(rz, zm, value))))


@inlined
def _axis_rates(rates):
    return constant(rates, uint32(0)), constant(rates, uint32(2)), constant(rates, uint32(4))


@inlined
def _whole_table(rates):
    return rates


def _by_class(value, c, xm, xp, ym, yp, zm, zp, cell_class, rates):
    """The new value of a cell, with the rates of its class."""
    rxm, rxp, rym, ryp, rzm, rzp = rates_of_class(rates, cell_class)
    value = fma(ryp, yp, fma(rym, ym, fma(rxp, xp, fma(rxm, xm, value))))
    return fma(rzp, zp, fma(rzm, zm, value))


def _by_layer(value, c, xm, xp, ym, yp, zm, zp, cell_class, rates):
    """The same where one rate serves both faces in x, and one both in y: see `physics.layer_differences`."""
    rx, _, ry, _, rzm, rzp = rates_of_class(rates, cell_class)
    twice = c + c
    value = fma(ry, (ym + yp) - twice, fma(rx, (xm + xp) - twice, value))
    return fma(rzp, zp, fma(rzm, zm, value))


differences = each(_difference)


class RowEnds(NamedTuple):
    """Where the cells of a thread lie beside boundary faces that are not closed: left and right in x, low and high in
    y; low_z and high_z are planes, nz if there is none. last: whether they end a row of a grid that is not periodic in
    x. from_left, from_right: where the known sides of the faces in x start."""

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
    """Offsets from the first of a thread's cells to the cells beyond the tile that it looks up as well: `side`, one
    cell, if the thread is at an end of its row of threads (at_side); `outer`, a row of cells, if it is in the first or
    the last row of threads (at_edge)."""

    at_side: bool
    at_edge: bool
    side: int
    outer: int


@inlined
def open_ends(n, wraps, face, boundary):
    """The two places along an axis that lie beside boundary faces which are not closed; n where there is none."""
    low = uint32(0) if not wraps and boundary.closed[face] == 0 else n
    high = uint32(n - uint32(1)) if not wraps and boundary.closed[face + 1] == 0 else n
    return low, high


@inlined
def within(at, n, last, wraps):
    """The place where a thread reads that stands for places from `at` on. Threads beyond the grid read the cells that
    are the neighbours of the last ones: the first cells of a periodic axis, else the last."""
    return at if at < n else (uint32(0) if wraps else uint32(n - last))


@inlined
def thread():
    """The thread's place in its block."""
    return uint32(cuda.threadIdx.x), uint32(cuda.threadIdx.y)


def _positions(configuration, count):
    """Build ends(x, y, shape, boundary), a `RowEnds`, and halo(i, x, y, shape), the `HaloOffsets`, of a thread with
    `count` cells from cell i at (x, y) on."""
    (wrap_x, wrap_y, wrap_z), last = configuration.periodic, count - 1

    @inlined
    def ends(x, y, shape, boundary):
        low_x, high_x = open_ends(shape.nx, wrap_x, 0, boundary)
        low_y, high_y = open_ends(shape.ny, wrap_y, 2, boundary)
        low_z, high_z = open_ends(shape.nz, wrap_z, 4, boundary)
        closing = not wrap_x and uint32(x + uint32(count)) == shape.nx
        starts = uint32(boundary.starts[0]), uint32(boundary.starts[1])
        right = uint32(x + uint32(last)) == high_x
        return RowEnds(x == low_x, right, closing, y == low_y, y == high_y, low_z, high_z, starts[0], starts[1])

    @inlined
    def halo(i, x, y, shape):
        (tx, ty), one = thread(), uint32(1)
        side = uint32(below(i, x, shape.nx, one, wrap_x) - i)
        if tx > 0:
            side = uint32(above(uint32(i + uint32(last)), uint32(x + uint32(last)), shape.nx, one, wrap_x) - i)
        outer = uint32(below(i, y, shape.ny, shape.nx, wrap_y) - i)
        if ty > 0:
            outer = uint32(above(i, y, shape.ny, shape.nx, wrap_y) - i)
        # tx - 1 is unsigned: 0 wraps to 2^32 - 1, so that one comparison finds both ends. From two comparisons the
        # compiler would make two branches, around every load.
        at_side, at_edge = uint32(tx - one) >= uint32(TILE.x - 2), uint32(ty - one) >= uint32(TILE.y - 2)
        return HaloOffsets(at_side, at_edge, side, outer)

    return ends, halo


@inlined
def through_x(ends, line, boundary):
    """The known sides of the boundary faces in x of a line of cells, any numbers where there are none. Without a
    branch all reads of a round are under way at once; place 0 always exists."""
    left = boundary.sides[uint64(uint32(ends.from_left + line)) if ends.left else uint64(0)]
    right = boundary.sides[uint64(uint32(ends.from_right + line)) if ends.right else uint64(0)]
    return left, right


def _with_boundary(configuration, cells):
    """Build call(p_here, sides, x, y, z, ends, left, right, shape, boundary, zero): the six sides of cells, see
    `cell.side_of`, with the known ones of boundary faces put in."""
    with_first, with_last, row = cells.with_first, cells.with_last, load_rows(cells.cell_count, False)
    nowhere, paired, last = (uint32(0),), configuration.paired, cells.cell_count - 1

    @inlined
    def with_boundary(p_here, sides, x, y, z, ends, left, right, shape, boundary, zero):
        xm, xp, ym, yp, zm, zp = sides
        if ends.left:
            xm = with_first(xm, left)
        if ends.last:
            xp = with_last(xp, right if ends.right else (p_here[last] if paired else zero))
        if (ends.low_y | ends.high_y) or (z == ends.low_z) | (z == ends.high_z):
            if ends.low_y:
                ym = row(boundary.sides, uint64(boundary.starts[2] + z * shape.nx + x), nowhere)
            if ends.high_y:
                yp = row(boundary.sides, uint64(boundary.starts[3] + z * shape.nx + x), nowhere)
            if z == ends.low_z:
                zm = row(boundary.sides, uint64(boundary.starts[4] + y * shape.nx + x), nowhere)
            if z == ends.high_z:
                zp = row(boundary.sides, uint64(boundary.starts[5] + y * shape.nx + x), nowhere)
        return xm, xp, ym, yp, zm, zp

    return with_boundary


def _around(configuration, cells):
    """Build call(p_here, side, outer, classes, at, halo, board, medium): the potentials to the left and right, before
    and behind. Each thread has put its own on the board at `at`; all threads of a block meet here. A cell beyond the
    tile is looked up as the material of the cell beside it: where it has another, nothing passes here."""
    count, shift, stride, materials = cells.cell_count, cells.shift, cells.cell_count * TILE.x, cells.materials
    look_up, exchange, published = build_potentials(configuration), from_neighbours(count), load_rows(count, True)
    nowhere = (uint32(0),)

    @inlined
    def around(p_here, side, outer, classes, at, halo, board, medium):
        tx, ty = thread()
        left, right = exchange(p_here)
        p_side, p_before = p_here[0], p_here
        if halo.at_side:
            beside = classes[0] if tx == 0 else classes[count - 1]
            p_side = look_up((side,), material_of(medium, beside), medium)[0]
        if halo.at_edge:
            p_before = look_up(outer, materials(classes, medium), medium)
        p_after = p_before
        # Waits for the potentials that the rows before and behind have put on the board. Its two halves take turns: a
        # half is filled again only after the next barrier, which no thread reaches before it has read that half. So one
        # barrier a plane is enough.
        cuda.syncthreads()
        if ty > 0:
            p_before = published(board, uint64(at - uint64(stride)), nowhere)
        if ty < uint32(TILE.y - 1):
            p_after = published(board, uint64(at + uint64(stride)), nowhere)
        ends = p_side if tx == 0 else left[0], p_side if tx == uint32(TILE.x - 1) else right[0]
        p_left, p_right = shift(p_here, ends[0], ends[1])
        return p_left, p_right, p_before, p_after

    return around


def _update(configuration, cells):
    """Build call(i, here, p_here, sides, classes, rates, sources): a row of cells from cell i on, after the step."""
    alike, start, finish, repeat = cells.alike, cells.start, cells.finish, repeated(cells.cell_count)
    by_class = _by_layer if configuration.paired else _by_class
    update_each = each(_uniform if configuration.uniform else by_class, whole=1)

    @inlined
    def update(i, here, p_here, sides, classes, rates, sources):
        xm, xp, ym, yp, zm, zp = sides
        if alike(classes):
            same = repeat(classes[0])
            new = update_each(start(i, here, same, sources), p_here, xm, xp, ym, yp, zm, zp, same, rates)
        else:
            new = update_each(start(i, here, classes, sources), p_here, xm, xp, ym, yp, zm, zp, classes, rates)
        return finish(new, i, here, sources)

    return update


def _classes(configuration, count):
    """Build packed_at(medium, i), the classes of a row of cells as they lie in memory, in a quarter of the registers,
    and classes_of(packed, medium), the class of each."""
    several, (load_packed, unpack), nothing = configuration.several, integers(count), (uint32(0),) * count

    @inlined
    def packed_at(medium, i):
        return load_packed(medium.class_ids, uint64(i)) if several else nothing

    @inlined
    def classes_of(packed, medium):
        return unpack(packed, medium.class_ids) if several else nothing

    return packed_at, classes_of


def _ask_ahead(configuration, cells, packed_at):
    """Build call(i, after, end, plane, side, outer, halo, u, shape, medium), which asks, in the round before plane
    `after`, for what the next round needs from device memory: the cells of the plane after next with their classes, and
    of the next plane the cells beside the tile."""
    read, wrap_z = cells.read, configuration.periodic[2]

    @inlined
    def ask_ahead(i, after, end, plane, side, outer, halo, u, shape, medium):
        j, k = i, i
        if after < end:
            j = uint32(i + plane)
            k = above(j, after, shape.nz, plane, wrap_z)
        next_high, next_packed, next_side, next_outer = read(u, uint64(k)), packed_at(medium, k), side, outer
        if halo.at_side:
            next_side = constant(u, uint32(j + halo.side))
        if halo.at_edge:
            next_outer = read(u, uint64(uint32(j + halo.outer)))
        return next_high, next_packed, next_side, next_outer

    return ask_ahead


def _march(configuration, cells):
    """Build the march of a thread from plane z to `end`, with the row of cells from x on. All threads of a block march
    together."""
    wrap_x, wrap_y, wrap_z = configuration.periodic
    count, read, write, materials = cells.cell_count, cells.read, cells.write, cells.materials
    ends_of, halo_of = _positions(configuration, count)
    with_boundary, around = _with_boundary(configuration, cells), _around(configuration, cells)
    side_of = each(_itself if configuration.paired else _difference)  # in x and y
    publish, (packed_at, classes_of) = store_rows(count, True), _classes(configuration, count)
    nowhere, size, ask_ahead = (uint32(0),), count * TILE.x * TILE.y, _ask_ahead(configuration, cells, packed_at)
    look_up = build_potentials(configuration)
    update, rates_of = _update(configuration, cells), _axis_rates if configuration.uniform else _whole_table

    @inlined
    def march(x, y, z, end, board, u, v, shape, rates, medium, boundary, sources):
        one, plane, (tx, ty) = uint32(1), uint32(shape.ny * shape.nx), thread()
        inside = x < shape.nx and y < shape.ny
        x, y = within(x, shape.nx, uint32(count), wrap_x), within(y, shape.ny, one, wrap_y)
        i = uint32(uint32(uint32(z * shape.ny) + y) * shape.nx + x)
        ends, halo, rates = ends_of(x, y, shape, boundary), halo_of(i, x, y, shape), rates_of(rates)
        low, up = below(i, z, shape.nz, plane, wrap_z), above(i, z, shape.nz, plane, wrap_z)
        here, high = read(u, uint64(i)), read(u, uint64(up))
        side, outer = constant(u, uint32(i + halo.side)), read(u, uint64(uint32(i + halo.outer)))
        packed, high_packed = packed_at(medium, i), packed_at(medium, up)
        own = materials(classes_of(packed, medium), medium)
        p_low, p_here = look_up(read(u, uint64(low)), own, medium), look_up(here, own, medium)
        at = uint64((ty * uint32(TILE.x) + tx) * uint32(count))
        other = uint64(at + uint64(size))
        publish(board, at, nowhere, p_here, one)
        while z < end:
            after = uint32(z + one)
            ahead = ask_ahead(i, after, end, plane, side, outer, halo, u, shape, medium)
            next_high, next_packed, next_side, next_outer = ahead
            left, right = through_x(ends, uint32(z * shape.ny + y), boundary)

            p_high = look_up(high, materials(classes_of(high_packed, medium), medium), medium)
            classes = classes_of(packed, medium)
            p_left, p_right, p_before, p_after = around(p_here, side, outer, classes, at, halo, board, medium)
            publish(board, other, nowhere, p_high, one)
            in_x = side_of(p_left, p_here), side_of(p_right, p_here)
            in_y = side_of(p_before, p_here), side_of(p_after, p_here)
            sides = in_x + in_y + (differences(p_low, p_here), differences(p_high, p_here))
            sides = with_boundary(p_here, sides, x, y, z, ends, left, right, shape, boundary, medium.zero)
            new = update(uint64(i), here, p_here, sides, classes, rates, sources)
            if inside:
                write(v, uint64(i), new)
            here, high, packed, high_packed = high, next_high, high_packed, next_packed
            p_low, p_here, side, outer = p_here, p_high, next_side, next_outer
            at, other, i, z = other, at, uint32(i + plane), after

    return march
