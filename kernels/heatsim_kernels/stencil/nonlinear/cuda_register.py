"""CUDA, `register`: a march through z with potentials in registers, so that a cell is looked up but where rows meet.

                yp   . . . .          a thread owns 4 cells in x, one 16-byte access in float32, and marches through z:
    row y   xm [ o o o o ] xp         u   here, above, and the plane after that, on its way
                ym   . . . .          phi below, here, above: looked up once, as a cell enters the march

Look-ups a cell: 1, and for 4 cells 4 each in the rows before and behind and one at each end: 3.5 in all, of 8 bytes
from the L1 cache, where one table of a material is 16 KB in float32. Device memory is asked for as by the uniform
kernel: 8 bytes a cell. The SASS for compute capability 9.0 has 68 instructions a cell in float32, 86 with several
kinds of cells, in 93 and 90 registers. A round asks for all that it needs before it looks anything up, and what passes
walls was found before (`cuda_walls`): a chain of loads, one lane's, holds up its whole warp.

Rows that are no multiple of 4 cells would put vectors across 16-byte boundaries: there a thread marches four times,
with one column of cells, and neighbouring threads read neighbouring cells.

The potentials are carried while the cells of a thread have their own material on all sides. Where they have not, or lie
at an open wall along y or z, a thread does its four cells one by one (`cell`), and looks up anew afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from numba import int64, uint32, uint64

from ...cuda_api import SIMULATED, cuda, inlined
from ...cuda_tuples import each
from ...cuda_vectors import constant, load4, store4
from ...fma import fma
from ..cuda_cell import above, below
from ..tile import Tile
from .cuda_cell import NONE, Shape, Structure, load2, potential, sweeping

TILE = Tile(2, 2, planes=2) if SIMULATED else Tile(32, 4, planes=32)
COLUMNS = 4

new_value, sources = sweeping.new_value, sweeping.sources


class Cells(NamedTuple):
    """What a march does with the cells that a thread has in a row, as tuples."""

    count: int
    read: Callable[..., Any]
    write: Callable[..., Any]
    kinds: Callable[..., Any]
    common: Callable[..., Any]  # what a table holds for all their kinds, or NONE
    start: Callable[..., Any]  # with the sources of a step
    beside: Callable[..., Any]  # those left and right of them
    with_first: Callable[..., Any]
    with_last: Callable[..., Any]


def build(structure: Structure):
    """The kernel (u, v, shape, box, smooth, medium, walls, heat); `u` and `v` start on a 16-byte boundary."""
    fours = structure.fours
    march = _march(structure, _four_cells() if fours else _one_cell())
    width, height, chunk = COLUMNS * TILE.x, TILE.y, TILE.planes
    count, stride = (COLUMNS, width) if fours else (1, TILE.x)

    def register(u, v, shape, box, smooth, medium, walls, heat):
        one, block = uint32(1), uint32(cuda.blockIdx.x)
        across = uint32((shape.nx - one) // uint32(width) + one)
        along = uint32((shape.ny - one) // uint32(height) + one)
        line = uint32(block // across)
        x, y = uint32(block % across * uint32(width)), uint32(line % along * uint32(height))
        y, z = uint32(y + uint32(cuda.threadIdx.y)), uint32(line // along * uint32(chunk))
        end = min(uint32(z + uint32(chunk)), shape.nz)
        stop = min(uint32(x + uint32(width)), shape.nx) if y < shape.ny else uint32(0)
        if fours:  # told so, the compiler knows that only the last of four cells can be the last of a row
            shape = Shape(shape.nz, shape.ny, uint32(shape.nx & uint32(0xFFFFFFFC)))
        x = uint32(x + uint32(count) * uint32(cuda.threadIdx.x))
        while x < stop:
            march(x, y, z, end, u, v, shape, box, smooth, medium, walls, heat)
            x = uint32(x + uint32(stride))

    return register


def grid(shape: tuple[int, int, int]) -> tuple[int, int, int]:
    """A block for each tile of so many planes, in one row: a launch allows 65535 along y and z."""
    nz, ny, nx = shape
    return -(-nx // (COLUMNS * TILE.x)) * -(-ny // TILE.y) * -(-nz // TILE.planes), 1, 1


def _four_cells():
    """Rows of four cells from a multiple of four on."""

    @inlined
    def kinds_of(kinds, i):
        one = uint64(1)
        j, k, m = i + one, i + one + one, i + one + one + one
        return (
            uint32(constant(kinds, i)),
            uint32(constant(kinds, j)),
            uint32(constant(kinds, k)),
            uint32(constant(kinds, m)),
        )

    @inlined
    def common(kinds, table):
        found = constant(table, kinds[0])
        one, two, three = constant(table, kinds[1]), constant(table, kinds[2]), constant(table, kinds[3])
        return found if found == one and found == two and found == three else uint32(NONE)

    @inlined
    def start(i, u, k, heat):
        j = int64(i)
        return (
            sources(j, u[0], int64(k[0]), heat),
            sources(j + 1, u[1], int64(k[1]), heat),
            sources(j + 2, u[2], int64(k[2]), heat),
            sources(j + 3, u[3], int64(k[3]), heat),
        )

    @inlined
    def beside(c, left, right):
        return (left, c[0], c[1], c[2]), (c[1], c[2], c[3], right)

    @inlined
    def with_first(c, value):
        return value, c[1], c[2], c[3]

    @inlined
    def with_last(c, value):
        return c[0], c[1], c[2], value

    return Cells(4, load4, store4, kinds_of, common, start, beside, with_first, with_last)


def _one_cell():
    """Rows of a single cell, as tuples of one."""

    @inlined
    def read(u, i):
        return (u[i],)

    @inlined
    def write(v, i, values):
        v[i] = values[0]

    @inlined
    def kinds_of(kinds, i):
        return (uint32(constant(kinds, i)),)

    @inlined
    def common(kinds, table):
        return constant(table, kinds[0])

    @inlined
    def start(i, u, k, heat):
        return (sources(int64(i), u[0], int64(k[0]), heat),)

    @inlined
    def beside(c, left, right):
        return (left,), (right,)

    @inlined
    def with_end(c, value):
        return (value,)

    return Cells(1, read, write, kinds_of, common, start, beside, with_end, with_end)


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
    at = uint64(kind) * uint64(8)
    rxm, rxp, rym, ryp = load4(rates, at)
    rzm, rzp = load2(rates, at, uint32(2))
    value = fma(ryp, yp, fma(rym, ym, fma(rxp, xp, fma(rxm, xm, value))))
    return fma(rzp, zp, fma(rzm, zm, value))


look_up_each, differences = each(potential), each(_difference)


@inlined
def look_up(u, first, medium):
    """The potentials of cells, of the material whose lines start at `first`."""
    return look_up_each(u, medium.potentials, first, medium.scale, medium.shift, medium.last, medium.zero)


@inlined
def open_walls(n, wraps, face, walls):
    """The places along an axis that lie at walls which are not closed, or n."""
    low = uint32(0) if not wraps and walls.closed[face] == 0 else n
    high = uint32(n - uint32(1)) if not wraps and walls.closed[face + 1] == 0 else n
    return low, high


def _inner(structure, cells):
    """call(i, position, u, values, ways, ends, first, kinds, rates, medium, walls, heat): the new values of cells with
    their own material, and no open wall along y and z."""
    count, read, start, beside = cells.count, cells.read, cells.start, cells.beside
    with_first, with_last = cells.with_first, cells.with_last
    renew = each(_uniform if structure.uniform else _by_kind, whole=1)

    @inlined
    def inner(i, position, u, values, ways, ends, first, kinds, rates, medium, walls, heat):
        here, p_low, p_here, p_high = values
        (at_left, from_left), (at_right, from_right) = ends
        # Something is read where there is no wall too: without a branch, all reads are under way at once.
        left = walls.differences[uint64(uint32(from_left + position)) if at_left else uint64(0)]
        right = walls.differences[uint64(uint32(from_right + position)) if at_right else uint64(0)]
        outer = u[uint64(uint32(i + ways[0]))], u[uint64(uint32(i + ways[1]))]
        p_before = look_up(read(u, uint64(uint32(i + ways[2]))), first, medium)
        p_after = look_up(read(u, uint64(uint32(i + ways[3]))), first, medium)
        outer = look_up(outer, first, medium)
        xm, xp = beside(p_here, outer[0], outer[1])
        xm, xp = differences(xm, p_here), differences(xp, p_here)
        xm = with_first(xm, left if at_left else xm[0])
        xp = with_last(xp, right if at_right else xp[count - 1])
        ym, yp = differences(p_before, p_here), differences(p_after, p_here)
        zm, zp = differences(p_low, p_here), differences(p_high, p_here)
        return renew(start(uint64(i), here, kinds, heat), xm, xp, ym, yp, zm, zp, kinds, rates)

    return inner


def _march(structure, cells):
    """The march of a thread from plane z to `end`, with the row of cells from x on."""
    several, (wrap_x, wrap_y, wrap_z) = structure.several, structure.periodic
    count, read, write, kinds_of, common = cells.count, cells.read, cells.write, cells.kinds, cells.common
    last, nothing, inner = uint32(count - 1), (uint32(0),) * count, _inner(structure, cells)
    rates_of = _of_axes if structure.uniform else _all

    @inlined
    def march(x, y, z, end, u, v, shape, box, smooth, medium, walls, heat):
        one, row, plane = uint32(1), shape.nx, uint32(shape.ny * shape.nx)
        i = uint32(uint32(uint32(z * shape.ny) + y) * shape.nx + x)
        ways = (
            uint32(below(i, x, shape.nx, one, wrap_x) - i),
            uint32(above(uint32(i + last), uint32(x + last), shape.nx, one, wrap_x) - i),
            uint32(below(i, y, shape.ny, row, wrap_y) - i),
            uint32(above(i, y, shape.ny, row, wrap_y) - i),
        )
        wall_x, wall_x1 = open_walls(shape.nx, wrap_x, 0, walls)
        ends = (x == wall_x, uint32(walls.starts[0])), (uint32(x + last) == wall_x1, uint32(walls.starts[1]))
        wall_y, wall_y1 = open_walls(shape.ny, wrap_y, 2, walls)
        wall_z, wall_z1 = open_walls(shape.nz, wrap_z, 4, walls)
        at_open_y = (y == wall_y) | (y == wall_y1)
        here = read(u, uint64(i))
        high = read(u, uint64(above(i, z, shape.nz, plane, wrap_z)))
        p_low = p_here = here
        carried, kinds, rates = uint32(NONE), nothing, rates_of(smooth.rates)
        while z < end:
            # The plane after next comes from afar: it is asked for here and used in the next round.
            k = i
            if z + one < end:
                k = above(uint32(i + plane), uint32(z + one), shape.nz, plane, wrap_z)
            coming = read(u, uint64(k))
            if several:
                kinds = kinds_of(medium.kinds, uint64(i))
            material = common(kinds, smooth.material)
            if material == uint32(NONE) or at_open_y or (z == wall_z) | (z == wall_z1):
                stop = min(uint32(x + uint32(count)), shape.nx)  # not a constant, which would have the loop unrolled
                for xi in range(x, stop):
                    j = int64(i) + (int64(xi) - int64(x))
                    v[j] = new_value(u, j, int64(xi), int64(y), int64(z), box, medium, walls, heat)
                carried = uint32(NONE)
            else:
                first = uint64(material) * uint64(medium.segments) * uint64(2)
                if carried != material:
                    p_here = look_up(here, first, medium)
                    p_low = look_up(read(u, uint64(below(i, z, shape.nz, plane, wrap_z))), first, medium)
                p_high = look_up(high, first, medium)
                values, position = (here, p_low, p_here, p_high), uint32(z * shape.ny + y)
                new = inner(i, position, u, values, ways, ends, first, kinds, rates, medium, walls, heat)
                write(v, uint64(i), new)
                p_low, p_here, carried = p_here, p_high, material
            here, high = high, coming
            i = uint32(i + plane)
            z = uint32(z + one)

    return march
