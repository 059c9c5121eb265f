"""`register`: a march through z with everything that a thread needs in its own registers.

         yp  . . . .          A thread owns 16 bytes of a row (4 cells in float32, 2 in float64) and marches up through
    xm [ o o o o ] xp         z with three planes of them in registers. So it has the z neighbours already, and most of
         ym  . . . .          the x neighbours. The rows beside were just loaded by a neighbouring thread and come from
                              the L1 cache.

**Loads under way.** By Little's law a memory of 4.8 TB/s and 0.7 us keeps busy with 25 KB under way on each
multiprocessor. A thread asks for the plane after next one round before it is used. It then has 32 bytes of its own
under way, and 800 threads suffice. More cells a thread would ask the caches for less, but would take more registers, so
that fewer threads fit: two rows a thread were slower.

**No shared memory, no barrier.** Warps drift apart freely, and the loads of one hide behind the work of others. Marches
are short: blocks that run together then lie close together, and find the planes that two marches share in the L2 cache.
In float32 a new value asks the caches for 4 bytes of the next plane, 8 of the rows beside and 2 of the columns beside;
device memory moves 8 bytes with the result, for 13 operations. Sources: Micikevicius, 3D finite difference computation
on GPUs using CUDA, GPGPU-2, 2009 (the march); Volkov, Better performance at lower occupancy, GTC 2010 (several results
a thread).

**Boundaries.** In x only the outer two of a thread's cells can lie at an end of the grid; these are tested. In y and z
a whole row lies there or does not. That is decided once for a thread's cells of a plane, and nearly all take the path
without tests.

**Cell classes.** The classes of a thread's cells are read together, and the six rates of each class come as vectors
from a table in the L1 cache.

**Rows that are no multiple of 16 bytes** would put vectors across 16-byte boundaries. There a thread marches several
times with one column of cells, and neighbouring threads read neighbouring cells.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from numba import uint32, uint64

from heatsim_kernels.device.cuda.api import SIMULATED, compiled_once, cuda, inlined
from heatsim_kernels.device.cuda.vector_access import constant, integers, load_vector, store_vector, vector_length
from heatsim_kernels.device.thread_blocks import ThreadBlock, blocks, first_cell
from heatsim_kernels.explicit.cuda_cell import cell_update
from heatsim_kernels.explicit.cuda_cell.cell_update import GridShape, above, below
from heatsim_kernels.explicit.cuda_cell.configuration import StencilConfiguration

# A warp along x, so that all its threads are at the same y and z.
TILES = (ThreadBlock(2, 2, planes=2),) if SIMULATED else tuple(ThreadBlock(32, 4, planes=n) for n in (6, 8, 12, 4, 2))

VECTOR_BYTES = 16  # that a thread loads at once
# Paths, by the axes x, y, z at whose ends their cells may lie.
AMID, BESIDE_X, ANYWHERE = (False, False, False), (True, False, False), (True, True, True)


def build(variant: tuple[StencilConfiguration, ThreadBlock]):
    """Build the kernel (u, v, shape, boundary, exchange, sources) for a configuration and a tile; see `OneStepKernel`.

    `u` and `v` must start on a 16-byte boundary.
    """
    configuration, tile = variant
    count = vector_length(configuration.dtype)
    lanes, width, height, chunk = tile.x, count * tile.x, tile.y, tile.planes
    update_at = {ends: _cell_update(configuration, ends) for ends in (AMID, BESIDE_X, ANYWHERE)}
    march_vectors, march_cells = (
        _march(configuration, cells, update_at) for cells in (_vector_cells(configuration), _single_cells())
    )

    def register(u, v, shape, boundary, exchange, sources):
        x, y, z = first_cell(shape, width, height, chunk)
        y, end = uint32(y + uint32(cuda.threadIdx.y)), min(uint32(z + uint32(chunk)), shape.nz)
        stop = min(uint32(x + uint32(width)), shape.nx) if y < shape.ny else uint32(0)
        at_x = x == 0 or uint32(x + uint32(width)) >= shape.nx  # the same in all threads of a block
        # nx rounded down to whole vectors: 2^32 - count has all bits set but the lowest log2(count).
        whole = uint32(shape.nx & uint32(2**32 - count))
        if whole == shape.nx:
            x = uint32(x + uint32(count) * uint32(cuda.threadIdx.x))
            if x < stop:
                # nx is passed as `whole`, which the compiler knows to be a multiple of `count`: then only the last cell
                # of a vector can be the last of a row, and the others need no test.
                march_vectors(
                    x, y, z, end, at_x, u, v, GridShape(shape.nz, shape.ny, whole), boundary, exchange, sources
                )
        else:
            x = uint32(x + uint32(cuda.threadIdx.x))
            while x < stop:
                march_cells(x, y, z, end, at_x, u, v, shape, boundary, exchange, sources)
                x = uint32(x + uint32(lanes))

    return register


def grid(shape: tuple[int, int, int], tile: ThreadBlock, dtype: str) -> tuple[int, int, int]:
    """One block for each tile and march."""
    return blocks(shape, (vector_length(dtype) * tile.x, tile.y, tile.planes))


def field_reads(tile: ThreadBlock, itemsize: int) -> float:
    """Values of the field that the threads read from global memory for each new one: a thread's vector in the next
    plane, those of the rows before and behind, and a cell at each end."""
    cells = VECTOR_BYTES / itemsize
    return (3 * cells + 2) / cells


class MarchCells(NamedTuple):
    """Device functions for the cells that a thread has in a row: one cell, or those of a 16-byte vector.

    read(u, i) and write(v, i, values): the cells from index i on. read_classes(classes, i): their cell classes, packed
    as they lie in memory; unpack_classes(packed, exchange): the class of each. shift(c, left, right): the neighbours in
    x of cells c, from the two beside them. update(update_cell): the function that renews all, given what renews one.
    """

    cell_count: int
    read: Callable[..., Any]
    read_classes: Callable[..., Any]
    unpack_classes: Callable[..., Any]
    shift: Callable[..., Any]
    write: Callable[..., Any]
    update: Callable[..., Any]


def _vector_cells(configuration):
    """The cells of a 16-byte vector."""
    count = vector_length(configuration.dtype)
    load_classes, unpack_classes = integers(count)

    @inlined
    def shift_four(c, left, right):
        return (left, c[0], c[1], c[2]), (c[1], c[2], c[3], right)

    @inlined
    def shift_two(c, left, right):
        return (left, c[0]), (c[1], right)

    @inlined
    def class_of_each(classes, exchange):
        return unpack_classes(classes, exchange.classes)

    def update_two(cell):
        @inlined
        def update(i, x, y, z, c, xm, xp, ym, yp, zm, zp, k, arguments):
            j, u = uint32(i + uint32(1)), uint32(x + uint32(1))
            return (
                cell(i, x, y, z, c[0], xm[0], xp[0], ym[0], yp[0], zm[0], zp[0], k[0], *arguments),
                cell(j, u, y, z, c[1], xm[1], xp[1], ym[1], yp[1], zm[1], zp[1], k[1], *arguments),
            )

        return update

    def update_four(cell):
        @inlined
        def update(i, x, y, z, c, xm, xp, ym, yp, zm, zp, k, arguments):
            i1, i2, i3 = uint32(i + uint32(1)), uint32(i + uint32(2)), uint32(i + uint32(3))
            x1, x2, x3 = uint32(x + uint32(1)), uint32(x + uint32(2)), uint32(x + uint32(3))
            return (
                cell(i, x, y, z, c[0], xm[0], xp[0], ym[0], yp[0], zm[0], zp[0], k[0], *arguments),
                cell(i1, x1, y, z, c[1], xm[1], xp[1], ym[1], yp[1], zm[1], zp[1], k[1], *arguments),
                cell(i2, x2, y, z, c[2], xm[2], xp[2], ym[2], yp[2], zm[2], zp[2], k[2], *arguments),
                cell(i3, x3, y, z, c[3], xm[3], xp[3], ym[3], yp[3], zm[3], zp[3], k[3], *arguments),
            )

        return update

    shift, update = (shift_four, update_four) if count == 4 else (shift_two, update_two)
    return MarchCells(count, load_vector, load_classes, class_of_each, shift, store_vector, update)


def _single_cells():
    """A single cell, where rows are no whole vectors."""

    @inlined
    def read(u, i):
        return constant(u, i)

    @inlined
    def read_class(classes, i):
        return uint32(constant(classes, i))

    @inlined
    def class_of_each(cell_class, exchange):
        return cell_class

    @inlined
    def shift(c, left, right):
        return left, right

    @inlined
    def write(v, i, value):
        v[i] = value

    def update(cell):
        @inlined
        def update_one(i, x, y, z, c, xm, xp, ym, yp, zm, zp, k, arguments):
            return cell(i, x, y, z, c, xm, xp, ym, yp, zm, zp, k, *arguments)

        return update_one

    return MarchCells(1, read, read_class, class_of_each, shift, write, update)


def _cell_update(configuration, ends):
    """Build call(i, x, y, z, c, xm, xp, ym, yp, zm, zp, cell_class, shape, boundary, exchange, sources), which gives
    cell i one step later. `ends`: for the axes x, y, z, whether it may lie at their ends."""
    update_class = cell_update.build_class_update(configuration, ends)
    rates_of = cell_update.build_rates(configuration)

    def cell(i, x, y, z, c, xm, xp, ym, yp, zm, zp, cell_class, shape, boundary, exchange, sources):
        rates = rates_of(exchange, cell_class)
        return update_class(i, x, y, z, c, xm, xp, ym, yp, zm, zp, cell_class, rates, shape, boundary, sources)

    return compiled_once(cell, like=4)


def _march(configuration, cells, update_at):
    """Build the march of a thread from plane z to `end`; its cells are those of row y from x on."""
    ahead = configuration.uniform  # six rates a cell leave no registers for a plane ahead
    march_amid, march_beside_x = (
        _march_planes(configuration, cells, ends, update_at[ends], ahead) for ends in (AMID, BESIDE_X)
    )
    march_anywhere = _march_planes(configuration, cells, ANYWHERE, update_at[ANYWHERE], ahead=False)

    @inlined
    def march(x, y, z, end, at_x, u, v, shape, boundary, exchange, sources):
        i = uint32(uint32(uint32(z * shape.ny) + y) * shape.nx + x)
        arguments = shape, boundary, exchange, sources
        if y > 0 and uint32(y + uint32(1)) < shape.ny and z > 0 and end < shape.nz:
            if at_x:
                march_beside_x(i, x, y, z, end, u, v, arguments)
            else:
                march_amid(i, x, y, z, end, u, v, arguments)
        else:
            march_anywhere(i, x, y, z, end, u, v, arguments)

    return march


def _neighbour_places(configuration, count, ends):
    """Build call(i, x, y, z, shape), which gives the flat indices (uint64) of the cells to the left and right of a
    thread's cells, of the rows before and after, and of the planes below and above. Beyond a boundary it is the cell
    itself. `ends`: see `_march_planes`."""
    wrap_x, wrap_y, wrap_z = configuration.periodic
    end_x, end_y, end_z = ends
    last = uint32(count - 1)

    @inlined
    def places(i, x, y, z, shape):
        one, row, plane, j = uint32(1), shape.nx, uint32(shape.ny * shape.nx), uint64(i)
        left, right = j - uint64(1), j + uint64(count)
        before, after = j - uint64(row), j + uint64(row)
        low, high = j - uint64(plane), j + uint64(plane)
        if end_x:
            left = uint64(below(i, x, shape.nx, one, wrap_x))
            right = uint64(above(uint32(i + last), uint32(x + last), shape.nx, one, wrap_x))
        if end_y:
            before = uint64(below(i, y, shape.ny, row, wrap_y))
            after = uint64(above(i, y, shape.ny, row, wrap_y))
        if end_z:
            low, high = uint64(below(i, z, shape.nz, plane, wrap_z)), uint64(above(i, z, shape.nz, plane, wrap_z))
        return left, right, before, after, low, high

    return places


def _march_planes(configuration, cells, ends, cell, ahead):
    """Build call(i, x, y, z, end, u, v, arguments), a thread's rounds from cell i in plane z to plane `end`.

    ends: for the axes x, y, z, whether its cells may lie at their ends. cell: what renews one cell. ahead: whether a
    plane is asked for one round before it is used.
    """
    read, write, update = cells.read, cells.write, cells.update(cell)
    unpack_classes, shift, read_classes = cells.unpack_classes, cells.shift, cells.read_classes
    several = configuration.class_dtype != ""
    no_classes = (uint32(0),) * cells.cell_count if cells.cell_count > 1 else uint32(0)
    places = _neighbour_places(configuration, cells.cell_count, ends)

    def march_planes(i, x, y, z, end, u, v, arguments):
        shape, exchange = arguments[0], arguments[2]
        plane = uint32(shape.ny * shape.nx)
        low, here = read(u, places(i, x, y, z, shape)[4]), read(u, uint64(i))
        high = read(u, places(i, x, y, z, shape)[5]) if ahead else here
        classes = read_classes(exchange.classes, uint64(i)) if several else no_classes
        while z < end:
            # No barrier: a thread writes only to v, which no thread reads in this launch.
            next_i, next_z = uint32(i + plane), uint32(z + uint32(1))
            left, right, before, after, _, up = places(i, x, y, z, shape)
            next_high = high
            if ahead:
                next_high = read(u, uint64(uint32(next_i + plane) if next_z < end else i))
            else:
                high = read(u, up)
            next_classes = classes
            if several:
                next_classes = read_classes(exchange.classes, uint64(next_i if next_z < end else i))
            ym, yp = read(u, before), read(u, after)
            xm, xp = shift(here, constant(u, left), constant(u, right))
            k = unpack_classes(classes, exchange) if several else no_classes
            write(v, uint64(i), update(i, x, y, z, here, xm, xp, ym, yp, low, high, k, arguments))
            low, here, high, classes = here, high, next_high, next_classes
            i, z = next_i, next_z
        return i

    return compiled_once(march_planes, like=0)
