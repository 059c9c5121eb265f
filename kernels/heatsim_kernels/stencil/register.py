"""`register`: a march through z with everything a thread needs in its own registers.

                 yp   . . . .        a thread owns 4 cells in x (one 16-byte access in float32, two in float64)
    row y+1   xm [ o o o o ] xp      in 2 rows, and marches through z with three planes of them in registers:
    row y     xm [ o o o o ] xp      z neighbours are there already, y neighbours partly (2 rows of 4),
                 ym   . . . .        x neighbours mostly (3 of 4); what is missing was just loaded by a
                                     neighbouring thread and comes from the L1 cache

To keep the memory busy, bytes must be under way: by Little's law 4.8 TB/s times 0.7 us, 25 KB a multiprocessor. So a
plane is loaded two rounds before it is the middle one: a thread has 64 bytes or more under way, 400 threads suffice.

No shared memory and no barrier, so warps drift apart freely and loads of one hide behind the work of others. A cell
asks the caches for 4 bytes of the next plane, 4 of rows beside and 2 of columns beside in float32, and device memory
for 8 + 8 / planes with its result: 13 operations for 10 bytes. Sources: Micikevicius, 3D finite difference computation
on GPUs using CUDA, GPGPU-2, 2009 (the march); Volkov, Better performance at lower occupancy, GTC 2010 (several results
a thread).

Walls: at x they concern the outer two of a thread's cells alone, and are tested for; at y and z a whole row or plane
has one, so that is decided once for a thread's 8 cells a plane, and nearly all take the path that has no tests for it.
Several materials: the zones of 4 cells are read as one number. Where those of a thread's 8 cells and all their
neighbours agree, as they do but at interfaces, three rates serve all; elsewhere each face has its own looked up, on the
path of the walls.
Rows that are no multiple of 4 cells would put vectors across 16-byte boundaries: there a thread marches four times,
with one column of cells, and neighbouring threads read neighbouring cells.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from numba import uint32, uint64

from ..cuda_api import SIMULATED, compiled_once, cuda, inlined
from ..cuda_vectors import load4, load4_bytes, store4
from . import cuda_cell
from .cuda_cell import Shape, Zones, above, below
from .cuda_tiles import blocks, first_cell
from .structure import Structure
from .tile import Tile

# A warp along x, so that all its threads are at the same y and z; short marches give small grids blocks enough.
TILES = (Tile(2, 2, planes=2),) if SIMULATED else tuple(Tile(32, y, planes=n) for n in (16, 32, 8, 4) for y in (4, 2))
COLUMNS, ROWS = 4, 2  # cells of a thread in a plane


def build(variant: tuple[Structure, Tile]):
    """The kernel of a structure and a tile: (u, v, shape, walls, medium, heat); see `cuda_cell`.

    `u` and `v` start on a 16-byte boundary.
    """
    structure, tile = variant
    lanes, chunk = tile.x, tile.planes
    width, height = COLUMNS * tile.x, ROWS * tile.y
    march_four, march_one = _march(structure, _four_cells()), _march(structure, _one_cell())

    def register(u, v, shape, walls, medium, heat):
        tx, ty = uint32(cuda.threadIdx.x), uint32(cuda.threadIdx.y)
        x, y, z = first_cell(shape, width, height, chunk)
        y, end = uint32(y + uint32(2) * ty), min(uint32(z + uint32(chunk)), shape.nz)
        stop = min(uint32(x + uint32(width)), shape.nx) if y < shape.ny else uint32(0)
        fours = uint32(shape.nx & uint32(0xFFFFFFFC))
        if fours == shape.nx:
            x = uint32(x + uint32(4) * tx)
            if x < stop:
                # Told by `fours`, the compiler knows that only the last of four cells can be the last of a row.
                march_four(x, y, z, end, u, v, Shape(shape.nz, shape.ny, fours), walls, medium, heat)
        else:
            x = uint32(x + tx)
            while x < stop:
                march_one(x, y, z, end, u, v, shape, walls, medium, heat)
                x = uint32(x + uint32(lanes))

    return register


def grid(shape: tuple[int, int, int], tile: Tile) -> tuple[int, int, int]:
    """A block for each tile of so many planes."""
    return blocks(shape, (COLUMNS * tile.x, ROWS * tile.y, tile.planes))


class Cells(NamedTuple):
    """What a march does with the cells that a thread has in a row."""

    count: int
    read: Callable[..., Any]
    read_zones: Callable[..., Any]
    all_of: Callable[..., Any]  # the zones of cells that are all of one
    beside: Callable[..., Any]
    write: Callable[..., Any]
    renew: Callable[..., Any]


def _four_cells():
    """Rows of four cells from a multiple of four on: their number, and how to read, write and renew them.

    The zones of four cells are one number, a byte each.
    """

    @inlined
    def beside(c, left, right):
        return (left, c[0], c[1], c[2]), (c[1], c[2], c[3], right)

    @inlined
    def each(word):
        byte = uint32(0xFF)
        return word & byte, (word >> uint32(8)) & byte, (word >> uint32(16)) & byte, word >> uint32(24)

    @inlined
    def all_of(zone):
        return uint32(zone * uint32(0x01010101))

    @inlined
    def split(zones):
        c, (xm, xp) = each(zones.c), beside(each(zones.c), zones.xm, zones.xp)
        ym, yp, zm, zp = each(zones.ym), each(zones.yp), each(zones.zm), each(zones.zp)
        return (
            Zones(c[0], xm[0], xp[0], ym[0], yp[0], zm[0], zp[0]),
            Zones(c[1], xm[1], xp[1], ym[1], yp[1], zm[1], zp[1]),
            Zones(c[2], xm[2], xp[2], ym[2], yp[2], zm[2], zp[2]),
            Zones(c[3], xm[3], xp[3], ym[3], yp[3], zm[3], zp[3]),
        )

    @inlined
    def repeat(zones):
        return zones, zones, zones, zones

    def renew(new_value, of_one_zone):
        zones_of_each = repeat if of_one_zone else split

        @inlined
        def row(i, x, y, z, c, xm, xp, ym, yp, zm, zp, zones, terms):
            of0, of1, of2, of3 = zones_of_each(zones)
            i1, i2, i3 = uint32(i + uint32(1)), uint32(i + uint32(2)), uint32(i + uint32(3))
            x1, x2, x3 = uint32(x + uint32(1)), uint32(x + uint32(2)), uint32(x + uint32(3))
            return (
                new_value(i, x, y, z, c[0], xm[0], xp[0], ym[0], yp[0], zm[0], zp[0], of0, *terms),
                new_value(i1, x1, y, z, c[1], xm[1], xp[1], ym[1], yp[1], zm[1], zp[1], of1, *terms),
                new_value(i2, x2, y, z, c[2], xm[2], xp[2], ym[2], yp[2], zm[2], zp[2], of2, *terms),
                new_value(i3, x3, y, z, c[3], xm[3], xp[3], ym[3], yp[3], zm[3], zp[3], of3, *terms),
            )

        return row

    return Cells(4, load4, load4_bytes, all_of, beside, store4, renew)


def _one_cell():
    """Rows of a single cell: see `_four_cells`."""

    @inlined
    def read(u, i):
        return u[i]

    @inlined
    def read_zones(zones, i):
        return uint32(zones[i])

    @inlined
    def all_of(zone):
        return zone

    @inlined
    def beside(c, left, right):
        return left, right

    @inlined
    def write(v, i, value):
        v[i] = value

    def renew(new_value, of_one_zone):
        @inlined
        def row(i, x, y, z, c, xm, xp, ym, yp, zm, zp, zones, terms):
            return new_value(i, x, y, z, c, xm, xp, ym, yp, zm, zp, zones, *terms)

        return row

    return Cells(1, read, read_zones, all_of, beside, write, renew)


def _march(structure, cells):
    """The march of a thread from plane z to `end`; its cells are the row from x on and the same of the row above."""
    at_ends, inner = (
        compiled_once(cuda_cell.build_given(structure, ends).py_func, like=4)
        for ends in ((True, True, True), (True, False, False))
    )
    anywhere, within = cells.renew(at_ends, False), cells.renew(inner, structure.pairs)
    has_zones, pairs, (wrap_x, wrap_y, wrap_z) = structure.zones, structure.pairs, structure.periodic
    count, read, read_zones, all_of, beside, write, _ = cells
    last = uint32(count - 1)

    @inlined
    def at(i, way):
        return uint64(uint32(i + way))

    @inlined
    def zones_at(medium, i):
        return read_zones(medium.zones, i) if has_zones else uint32(0)

    @inlined
    def zone_at(medium, i):
        return uint32(medium.zones[i]) if has_zones else uint32(0)

    @inlined
    def march(x, y, z, end, u, v, shape, walls, medium, heat):
        one, row, plane = uint32(1), shape.nx, uint32(shape.ny * shape.nx)
        terms = shape, walls, medium, heat
        i = uint32(uint32(uint32(z * shape.ny) + y) * shape.nx + x)
        # The way to neighbours, as differences of indices. Where there is no second row another one stands in for it.
        left = uint32(below(i, x, shape.nx, one, wrap_x) - i)
        right = uint32(above(uint32(i + last), uint32(x + last), shape.nx, one, wrap_x) - i)
        two_rows = y + one < shape.ny
        y1 = uint32(y + one) if two_rows else (uint32(0) if wrap_y else y)
        second = uint32(above(i, y, shape.ny, row, wrap_y) - i)
        before = uint32(below(i, y, shape.ny, row, wrap_y) - i)
        after = uint32(above(uint32(i + second), y1, shape.ny, row, wrap_y) - i)
        inner_rows = y > 0 and y + uint32(2) < shape.ny
        j, k = below(i, z, shape.nz, plane, wrap_z), above(i, z, shape.nz, plane, wrap_z)
        low, low1 = read(u, uint64(j)), read(u, at(j, second))
        here, here1 = read(u, uint64(i)), read(u, at(i, second))
        high, high1 = read(u, uint64(k)), read(u, at(k, second))
        zlow, zlow1 = zones_at(medium, uint64(j)), zones_at(medium, at(j, second))
        zhere, zhere1 = zones_at(medium, uint64(i)), zones_at(medium, at(i, second))
        zhigh, zhigh1 = zones_at(medium, uint64(k)), zones_at(medium, at(k, second))
        while z < end:
            # The plane after next comes from afar: it is asked for here and used in the next round.
            i1, k = uint32(i + second), i
            if z + one < end:
                k = above(uint32(i + plane), uint32(z + one), shape.nz, plane, wrap_z)
            coming, coming1 = read(u, uint64(k)), read(u, at(k, second))
            zcoming, zcoming1 = zones_at(medium, uint64(k)), zones_at(medium, at(k, second))
            ym, yp = read(u, at(i, before)), read(u, at(i, after))
            zym, zyp = zones_at(medium, at(i, before)), zones_at(medium, at(i, after))
            xm, xp = beside(here, u[at(i, left)], u[at(i, right)])
            xm1, xp1 = beside(here1, u[at(i1, left)], u[at(i1, right)])
            zxm, zxp = zone_at(medium, at(i, left)), zone_at(medium, at(i, right))
            zxm1, zxp1 = zone_at(medium, at(i1, left)), zone_at(medium, at(i1, right))
            zones = Zones(zhere, zxm, zxp, zym, zhere1, zlow, zhigh)
            zones1 = Zones(zhere1, zxm1, zxp1, zhere, zyp, zlow1, zhigh1)
            inside = inner_rows and z > 0 and z + one < shape.nz
            if pairs:
                same = all_of(zxm)
                differ = (zhere ^ same) | (zym ^ same) | (zlow ^ same) | (zhigh ^ same) | (zxp ^ zxm)
                differ |= (zhere1 ^ same) | (zyp ^ same) | (zlow1 ^ same) | (zhigh1 ^ same)
                differ |= (zxm1 ^ zxm) | (zxp1 ^ zxm)
                inside = inside and differ == 0
            if inside:
                if pairs:
                    zones = zones1 = Zones(zxm, zxm, zxm, zxm, zxm, zxm, zxm)
                new = within(i, x, y, z, here, xm, xp, ym, here1, low, high, zones, terms)
                new1 = within(i1, x, y1, z, here1, xm1, xp1, here, yp, low1, high1, zones1, terms)
            else:
                new = anywhere(i, x, y, z, here, xm, xp, ym, here1, low, high, zones, terms)
                new1 = anywhere(i1, x, y1, z, here1, xm1, xp1, here, yp, low1, high1, zones1, terms)
            write(v, uint64(i), new)
            if two_rows:
                write(v, uint64(i1), new1)
            low, low1, here, here1, high, high1 = here, here1, high, high1, coming, coming1
            zlow, zlow1, zhere, zhere1, zhigh, zhigh1 = zhere, zhere1, zhigh, zhigh1, zcoming, zcoming1
            i = uint32(i + plane)
            z = uint32(z + one)

    return march
