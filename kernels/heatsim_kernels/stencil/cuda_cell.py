"""CUDA: what every movement does with a cell once it has fetched the neighbours.

The movement fetches values and knows no physics; here the neighbours beyond a wall are replaced by ghosts, sources are
added, and the physics is applied. Everything is inlined into the movement's kernel, and terms that a structure has not
are not compiled at all. Indices are flat and unsigned, which spares the wrap-around tests that Numba gives signed ones.
"""

from __future__ import annotations

from typing import NamedTuple

from numba import uint32, uint64

from ..cuda_api import inlined
from ..cuda_vectors import constant
from ..fma import fma
from . import physics
from .structure import Structure

second_difference = inlined(physics.second_difference)
face_differences = inlined(physics.face_differences)
ghost = inlined(physics.ghost)


class Shape(NamedTuple):
    """Cells along each axis, uint32; a grid holds fewer than 2**32 cells."""

    nz: int
    ny: int
    nx: int


class Walls(NamedTuple):
    """Boundary values of a step, flat, and where each face starts in them."""

    a: object
    b: object
    offsets: object


class Medium(NamedTuple):
    """Rates a step of a uniform material, or `rates` flat (3, n, n) by the zones of two neighbours.

    Arrays that a structure has not are any one-element array.
    """

    rx: float
    ry: float
    rz: float
    rates: object
    zones: object
    count: int


class Heat(NamedTuple):
    """Sources of a step: `table` by zone times `dt`, `field` by cell times `gain`."""

    table: object
    dt: float
    field: object
    gain: float


@inlined
def below(i, at, n, stride, wraps):
    """Index of the lower neighbour of cell i, which is number `at` of n along an axis; the cell itself at a wall."""
    return uint32(i - stride) if at > 0 else (uint32(i + (n - uint32(1)) * stride) if wraps else i)


@inlined
def above(i, at, n, stride, wraps):
    """Index of the upper neighbour; see `below`."""
    return uint32(i + stride) if at < uint32(n - uint32(1)) else (uint32(i - (n - uint32(1)) * stride) if wraps else i)


class Zones(NamedTuple):
    """The zones of a cell and its neighbours, uint32; of a neighbour beyond a wall, the cell's own."""

    c: int
    xm: int
    xp: int
    ym: int
    yp: int
    zm: int
    zp: int


def neighbours(structure: Structure, *, inside: bool = False):
    """The device function around(i, x, y, z, shape): flat indices of the neighbours xm, xp, ym, yp, zm, zp of cell i.

    Beyond a wall it is the cell itself. `inside` promises a cell at no end of any axis, which needs no tests.
    """
    wrap_x, wrap_y, wrap_z = structure.periodic

    @inlined
    def anywhere(i, x, y, z, shape):
        one, row, plane = uint32(1), shape.nx, uint32(shape.ny * shape.nx)
        return (
            below(i, x, shape.nx, one, wrap_x),
            above(i, x, shape.nx, one, wrap_x),
            below(i, y, shape.ny, row, wrap_y),
            above(i, y, shape.ny, row, wrap_y),
            below(i, z, shape.nz, plane, wrap_z),
            above(i, z, shape.nz, plane, wrap_z),
        )

    @inlined
    def within(i, x, y, z, shape):
        j, row, plane = uint64(i), uint64(shape.nx), uint64(shape.ny) * uint64(shape.nx)
        return j - uint64(1), j + uint64(1), j - row, j + row, j - plane, j + plane

    return within if inside else anywhere


def build(structure: Structure, *, inside: bool = False):
    """The device function new_value(i, x, y, z, c, xm, xp, ym, yp, zm, zp, shape, walls, medium, heat) of a structure.

    `c` is the value of cell i at (x, y, z), `xm` ... `zp` are those of its neighbours; beyond a wall any value will do.
    """
    given = build_given(structure, (not inside,) * 3)
    around = neighbours(structure, inside=inside)
    zones, pairs = structure.zones, structure.pairs

    @inlined
    def zone_at(medium, i):
        return uint32(medium.zones[i]) if zones else uint32(0)

    @inlined
    def zones_around(i, x, y, z, shape, medium):
        own = zone_at(medium, i)
        if not pairs:
            return Zones(own, own, own, own, own, own, own)
        xm, xp, ym, yp, zm, zp = around(i, x, y, z, shape)
        return Zones(
            own,
            zone_at(medium, xm),
            zone_at(medium, xp),
            zone_at(medium, ym),
            zone_at(medium, yp),
            zone_at(medium, zm),
            zone_at(medium, zp),
        )

    @inlined
    def new_value(i, x, y, z, c, xm, xp, ym, yp, zm, zp, shape, walls, medium, heat):
        zones = zones_around(i, x, y, z, shape, medium)
        return given(i, x, y, z, c, xm, xp, ym, yp, zm, zp, zones, shape, walls, medium, heat)

    return new_value


def build_given(structure: Structure, ends: tuple[bool, bool, bool] = (True, True, True)):
    """As `build`, for movements that fetch the zones too: they come as `Zones` after the values.

    `ends` names the axes x, y, z at whose ends the cell may lie; along the others nothing is tested.
    """
    pairs, table, field, per_cell = structure.pairs, structure.heat_table, structure.heat_field, structure.wall_per_cell
    wall_x, wall_y, wall_z = (end and not wraps for end, wraps in zip(ends, structure.periodic, strict=True))

    @inlined
    def beyond(c, walls, face, zone, position):
        w = walls.offsets[face] + (position if per_cell else zone)
        return ghost(c, walls.a[w], walls.b[w])

    @inlined
    def exchange(start, c, xm, xp, ym, yp, zm, zp, zones, medium):
        if not pairs:
            return second_difference(start, c, xm, xp, ym, yp, zm, zp, medium.rx, medium.ry, medium.rz)
        px = uint32(zones.c * medium.count)
        py = uint32(px + medium.count * medium.count)
        pz = uint32(py + medium.count * medium.count)
        rxm, rxp = constant(medium.rates, px + zones.xm), constant(medium.rates, px + zones.xp)
        rym, ryp = constant(medium.rates, py + zones.ym), constant(medium.rates, py + zones.yp)
        rzm, rzp = constant(medium.rates, pz + zones.zm), constant(medium.rates, pz + zones.zp)
        return face_differences(start, c, xm, xp, ym, yp, zm, zp, rxm, rxp, rym, ryp, rzm, rzp)

    @inlined
    def new_value(i, x, y, z, c, xm, xp, ym, yp, zm, zp, zones, shape, walls, medium, heat):
        one, zone = uint32(1), zones.c
        if wall_x and x == 0:
            xm = beyond(c, walls, 0, zone, z * shape.ny + y)
        if wall_x and x == uint32(shape.nx - one):
            xp = beyond(c, walls, 1, zone, z * shape.ny + y)
        if wall_y and y == 0:
            ym = beyond(c, walls, 2, zone, z * shape.nx + x)
        if wall_y and y == uint32(shape.ny - one):
            yp = beyond(c, walls, 3, zone, z * shape.nx + x)
        if wall_z and z == 0:
            zm = beyond(c, walls, 4, zone, y * shape.nx + x)
        if wall_z and z == uint32(shape.nz - one):
            zp = beyond(c, walls, 5, zone, y * shape.nx + x)
        start = c
        if table:
            start = fma(heat.dt, heat.table[zone], start)
        if field:
            start = fma(heat.gain, heat.field[i], start)
        return exchange(start, c, xm, xp, ym, yp, zm, zp, zones, medium)

    return new_value
