"""`register`: a march through z with everything a thread needs in its own registers.

         yp  . . . .          a thread owns 16 bytes of a row, 4 cells in float32 and 2 in float64, and marches up
    xm [ o o o o ] xp         through z with three planes of them in registers: z neighbours are there already, x
         ym  . . . .          neighbours mostly; rows beside were just loaded by a neighbouring thread and come from
                              the L1 cache

To keep the memory busy, bytes must be under way: by Little's law 4.8 TB/s times 0.7 us, 25 KB a multiprocessor. The
plane after next is asked for a round before it is used, so a thread has 32 bytes of its own under way and 800 threads
suffice. More cells a thread would ask the caches for less, but with more registers fewer threads fit: two rows a thread
were slower.

No shared memory and no barrier, so warps drift apart freely and loads of one hide behind the work of others. A march is
short: blocks that run together then lie close together, and the planes that two marches share are in the L2 cache. A
cell asks the caches for 4 bytes of the next plane, 8 of rows beside and 2 of columns beside in float32, and device
memory for 8 with its result: 13 operations. Sources: Micikevicius, 3D finite difference computation on GPUs using CUDA,
GPGPU-2, 2009 (the march); Volkov, Better performance at lower occupancy, GTC 2010 (several results a thread).

Walls: at x they concern the outer two of a thread's cells alone, and are tested for; at y and z a whole row has one, so
that is decided once for a thread's cells of a plane, and nearly all take the path that has no tests for it.
Several kinds of cells: those of a thread's cells are read together, and each cell's six rates come as vectors from a
table in the L1 cache.
Rows that are no multiple of 16 bytes would put vectors across their boundaries: there a thread marches several times,
with one column of cells, and neighbouring threads read neighbouring cells.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from numba import uint32, uint64

from heatsim_kernels.runtime.cuda.api import SIMULATED, compiled_once, cuda, inlined
from heatsim_kernels.runtime.cuda.vector_access import constant, integers, load_vector, store_vector, vector_length
from heatsim_kernels.runtime.thread_blocks import ThreadBlock, blocks, first_cell
from heatsim_kernels.stencil.cuda import cell_update
from heatsim_kernels.stencil.cuda.cell_update import GridShape, above, below
from heatsim_kernels.stencil.cuda.configuration import StencilConfiguration

# A warp along x, so that all its threads are at the same y and z.
TILES = (ThreadBlock(2, 2, planes=2),) if SIMULATED else tuple(ThreadBlock(32, 4, planes=n) for n in (6, 8, 12, 4, 2))

VECTOR_BYTES = 16  # that a thread loads at once
# The axes x, y, z at whose ends the cells of a path may lie.
AMID, BESIDE_X, ANYWHERE = (False, False, False), (True, False, False), (True, True, True)


def build(variant: tuple[StencilConfiguration, ThreadBlock]):
    """The kernel of a structure and a tile: (u, v, shape, walls, medium, heat); see `cuda_cell`.

    `u` and `v` start on a 16-byte boundary.
    """
    structure, tile = variant
    count = vector_length(structure.dtype)
    lanes, width, height, chunk = tile.x, count * tile.x, tile.y, tile.planes
    cell_at = {ends: _cell(structure, ends) for ends in (AMID, BESIDE_X, ANYWHERE)}
    march_vectors, march_cells = (_march(structure, cells, cell_at) for cells in (_vectors(structure), _single()))

    def register(u, v, shape, walls, medium, heat):
        x, y, z = first_cell(shape, width, height, chunk)
        y, end = uint32(y + uint32(cuda.threadIdx.y)), min(uint32(z + uint32(chunk)), shape.nz)
        stop = min(uint32(x + uint32(width)), shape.nx) if y < shape.ny else uint32(0)
        at_x = x == 0 or uint32(x + uint32(width)) >= shape.nx  # alike in all threads of a block
        whole = uint32(shape.nx & uint32(2**32 - count))
        if whole == shape.nx:
            x = uint32(x + uint32(count) * uint32(cuda.threadIdx.x))
            if x < stop:
                # Told by `whole`, the compiler knows that only the last of a vector's cells can be the last of a row.
                march_vectors(x, y, z, end, at_x, u, v, GridShape(shape.nz, shape.ny, whole), walls, medium, heat)
        else:
            x = uint32(x + uint32(cuda.threadIdx.x))
            while x < stop:
                march_cells(x, y, z, end, at_x, u, v, shape, walls, medium, heat)
                x = uint32(x + uint32(lanes))

    return register


def grid(shape: tuple[int, int, int], tile: ThreadBlock, dtype: str) -> tuple[int, int, int]:
    """A block for each tile of so many planes."""
    return blocks(shape, (vector_length(dtype) * tile.x, tile.y, tile.planes))


def field_reads(tile: ThreadBlock, itemsize: int) -> float:
    """Values of the field that the threads read from global memory for each new one: a thread's vector in the next
    plane, those of the rows before and behind, and a cell at each end."""
    cells = VECTOR_BYTES / itemsize
    return (3 * cells + 2) / cells


class MarchCells(NamedTuple):
    """What a march does with the cells that a thread has in a row."""

    count: int
    read: Callable[..., Any]
    read_kinds: Callable[..., Any]
    parted: Callable[..., Any]  # the kind of each cell, from what `read_kinds` gave
    beside: Callable[..., Any]
    write: Callable[..., Any]
    renew: Callable[..., Any]  # all cells, given what renews one


def _vectors(structure):
    """The cells of a 16-byte vector."""
    count = vector_length(structure.dtype)
    load_kinds, parted = integers(count)

    @inlined
    def beside_four(c, left, right):
        return (left, c[0], c[1], c[2]), (c[1], c[2], c[3], right)

    @inlined
    def beside_two(c, left, right):
        return (left, c[0]), (c[1], right)

    @inlined
    def kind_of_each(kinds, medium):
        return parted(kinds, medium.kinds)

    def renew_two(cell):
        @inlined
        def renew(i, x, y, z, c, xm, xp, ym, yp, zm, zp, k, terms):
            j, u = uint32(i + uint32(1)), uint32(x + uint32(1))
            return (
                cell(i, x, y, z, c[0], xm[0], xp[0], ym[0], yp[0], zm[0], zp[0], k[0], *terms),
                cell(j, u, y, z, c[1], xm[1], xp[1], ym[1], yp[1], zm[1], zp[1], k[1], *terms),
            )

        return renew

    def renew_four(cell):
        @inlined
        def renew(i, x, y, z, c, xm, xp, ym, yp, zm, zp, k, terms):
            i1, i2, i3 = uint32(i + uint32(1)), uint32(i + uint32(2)), uint32(i + uint32(3))
            x1, x2, x3 = uint32(x + uint32(1)), uint32(x + uint32(2)), uint32(x + uint32(3))
            return (
                cell(i, x, y, z, c[0], xm[0], xp[0], ym[0], yp[0], zm[0], zp[0], k[0], *terms),
                cell(i1, x1, y, z, c[1], xm[1], xp[1], ym[1], yp[1], zm[1], zp[1], k[1], *terms),
                cell(i2, x2, y, z, c[2], xm[2], xp[2], ym[2], yp[2], zm[2], zp[2], k[2], *terms),
                cell(i3, x3, y, z, c[3], xm[3], xp[3], ym[3], yp[3], zm[3], zp[3], k[3], *terms),
            )

        return renew

    beside, renew = (beside_four, renew_four) if count == 4 else (beside_two, renew_two)
    return MarchCells(count, load_vector, load_kinds, kind_of_each, beside, store_vector, renew)


def _single():
    """A single cell."""

    @inlined
    def read(u, i):
        return constant(u, i)

    @inlined
    def read_kind(kinds, i):
        return uint32(constant(kinds, i))

    @inlined
    def kind_of_each(kind, medium):
        return kind

    @inlined
    def beside(c, left, right):
        return left, right

    @inlined
    def write(v, i, value):
        v[i] = value

    def renew(cell):
        @inlined
        def renew_one(i, x, y, z, c, xm, xp, ym, yp, zm, zp, k, terms):
            return cell(i, x, y, z, c, xm, xp, ym, yp, zm, zp, k, *terms)

        return renew_one

    return MarchCells(1, read, read_kind, kind_of_each, beside, write, renew)


def _cell(structure, ends):
    """call(i, x, y, z, c, xm, xp, ym, yp, zm, zp, kind, shape, walls, medium, heat): cell i one step later. `ends`
    names the axes x, y, z at whose ends it may lie."""
    new_value = cell_update.build_given(structure, ends)
    rates_of = cell_update.build_rates(structure)

    def cell(i, x, y, z, c, xm, xp, ym, yp, zm, zp, kind, shape, walls, medium, heat):
        rates = rates_of(medium, kind)
        return new_value(i, x, y, z, c, xm, xp, ym, yp, zm, zp, kind, rates, shape, walls, heat)

    return compiled_once(cell, like=4)


def _march(structure, cells, cell_at):
    """The march of a thread from plane z to `end`; its cells are those of the row from x on."""
    ahead = structure.uniform  # six rates a cell leave no registers for it
    amid, beside_x = (_rounds(structure, cells, ends, cell_at[ends], ahead) for ends in (AMID, BESIDE_X))
    anywhere = _rounds(structure, cells, ANYWHERE, cell_at[ANYWHERE], ahead=False)

    @inlined
    def march(x, y, z, end, at_x, u, v, shape, walls, medium, heat):
        i = uint32(uint32(uint32(z * shape.ny) + y) * shape.nx + x)
        terms = shape, walls, medium, heat
        if y > 0 and uint32(y + uint32(1)) < shape.ny and z > 0 and end < shape.nz:
            if at_x:
                beside_x(i, x, y, z, end, u, v, terms)
            else:
                amid(i, x, y, z, end, u, v, terms)
        else:
            anywhere(i, x, y, z, end, u, v, terms)

    return march


def _ways(structure, count, ends):
    """call(i, x, y, z, shape): where the cells to the left and right of a thread's cells are, the rows before and
    after, and the planes below and above, uint64; the cell itself beyond a wall. `ends` as in `_rounds`."""
    wrap_x, wrap_y, wrap_z = structure.periodic
    end_x, end_y, end_z = ends
    last = uint32(count - 1)

    @inlined
    def ways(i, x, y, z, shape):
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

    return ways


def _rounds(structure, cells, ends, cell, ahead):
    """call(i, x, y, z, end, u, v, terms): the rounds of a thread from cell i in plane z to plane `end`; `ends` names
    the axes at whose ends its cells may lie, `cell` renews one of them. `ahead`: a plane is asked for a round before it
    is used."""
    read, write, renew = cells.read, cells.write, cells.renew(cell)
    parted, beside, read_kinds, several = cells.parted, cells.beside, cells.read_kinds, structure.kinds != ""
    nothing = (uint32(0),) * cells.count if cells.count > 1 else uint32(0)
    ways = _ways(structure, cells.count, ends)

    def rounds(i, x, y, z, end, u, v, terms):
        shape, medium = terms[0], terms[2]
        plane = uint32(shape.ny * shape.nx)
        low, here = read(u, ways(i, x, y, z, shape)[4]), read(u, uint64(i))
        high = read(u, ways(i, x, y, z, shape)[5]) if ahead else here
        kinds = read_kinds(medium.kinds, uint64(i)) if several else nothing
        while z < end:
            next_i, next_z = uint32(i + plane), uint32(z + uint32(1))
            left, right, before, after, _, up = ways(i, x, y, z, shape)
            coming = high
            if ahead:
                coming = read(u, uint64(uint32(next_i + plane) if next_z < end else i))
            else:
                high = read(u, up)
            next_kinds = kinds
            if several:
                next_kinds = read_kinds(medium.kinds, uint64(next_i if next_z < end else i))
            ym, yp = read(u, before), read(u, after)
            xm, xp = beside(here, constant(u, left), constant(u, right))
            k = parted(kinds, medium) if several else nothing
            write(v, uint64(i), renew(i, x, y, z, here, xm, xp, ym, yp, low, high, k, terms))
            low, here, high, kinds = here, high, coming, next_kinds
            i, z = next_i, next_z
        return i

    return compiled_once(rounds, like=0)
