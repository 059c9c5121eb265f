"""CUDA: what every movement does with a cell once it has fetched the neighbours.

The movement fetches values and knows no physics; here the neighbours beyond a wall are replaced by ghosts, sources are
added, and the physics is applied. Everything is inlined into the movement's kernel, and terms that a structure has not
are not compiled at all. Indices are flat and unsigned, which spares the wrap-around tests that Numba gives signed ones.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import int64, types, uint32, uint64

from heatsim_kernels.runtime.cuda.api import inlined
from heatsim_kernels.runtime.cuda.vector_access import constant, constant6
from heatsim_kernels.runtime.fma import fma
from heatsim_kernels.stencil import physics
from heatsim_kernels.stencil.cuda.configuration import StencilConfiguration

RATES = 8  # room for the six rates of a kind, so that they start on 16 bytes

second_difference = inlined(physics.second_difference)
face_differences = inlined(physics.face_differences)
ghost = inlined(physics.ghost)
staged = inlined(physics.staged)
staged_of_two = inlined(physics.staged_of_two)


class GridShape(NamedTuple):
    """Cells along each axis, uint32; a grid holds fewer than 2**32 cells."""

    nz: np.uint32
    ny: np.uint32
    nx: np.uint32


class CudaBoundaryFaces(NamedTuple):
    """Boundary values of a step, flat, and where each face starts in them."""

    a: Any
    b: Any
    offsets: Any


class CudaExchange(NamedTuple):
    """Rates a step of a uniform medium, or `rates` of each kind, six for the FACES and room for RATES, flat.

    Arrays that a structure has not are any one-element array.
    """

    rx: float
    ry: float
    rz: float
    rates: Any
    kinds: Any


class CudaSources(NamedTuple):
    """Sources of a step: `table` by kind times `dt`, `field` by cell times `gain`."""

    table: Any
    dt: float
    field: Any
    gain: float


class CudaStageSources(NamedTuple):
    """`Heat`, and what a stage of several is made of besides (see `stages`): `before` Y_{j-2}, which may be the field
    that is written; `start` Y_0 and `one` Y_1, any where a stage is of two fields; and the coefficients."""

    table: Any
    dt: float
    field: Any
    gain: float
    before: Any
    start: Any
    one: Any
    mu: float
    nu: float
    gamma: float
    rate: float


@inlined
def below(i, at, n, stride, wraps):
    """Index of the lower neighbour of cell i, which is number `at` of n along an axis; the cell itself at a wall."""
    return uint32(i - stride) if at > 0 else (uint32(i + (n - uint32(1)) * stride) if wraps else i)


@inlined
def above(i, at, n, stride, wraps):
    """Index of the upper neighbour; see `below`."""
    return uint32(i + stride) if at < uint32(n - uint32(1)) else (uint32(i - (n - uint32(1)) * stride) if wraps else i)


def neighbours(structure: StencilConfiguration, *, inside: bool = False):
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


def build_kind(structure: StencilConfiguration):
    """The device function kind(medium, i) of cell i, uint32."""
    several = structure.kinds != ""

    @inlined
    def kind(medium, i):
        return uint32(constant(medium.kinds, i)) if several else uint32(0)

    return kind


def build_rates(structure: StencilConfiguration):
    """The device function rates(medium, kind): three of a uniform medium, for x, y, z, else six, for the FACES."""

    @inlined
    def of_axes(medium, kind):
        return medium.rx, medium.ry, medium.rz

    @inlined
    def of_faces(medium, kind):
        return constant6(medium.rates, uint64(kind) * uint64(RATES))

    return of_axes if structure.uniform else of_faces


def build(structure: StencilConfiguration, *, inside: bool = False):
    """The device function new_value(i, x, y, z, c, xm, xp, ym, yp, zm, zp, shape, walls, medium, heat) of a structure.

    `c` is the value of cell i at (x, y, z), `xm` ... `zp` are those of its neighbours; beyond a wall any value will do.
    `inside` promises a cell at no end of any axis.
    """
    # Signed places are tested for being negative, and yet leave a thread a cell with 32 registers instead of 35, so
    # that a multiprocessor holds 2048 threads.
    given = build_given(structure, (not inside,) * 3, int64)
    kind_of, rates_of = build_kind(structure), build_rates(structure)

    @inlined
    def new_value(i, x, y, z, c, xm, xp, ym, yp, zm, zp, shape, walls, medium, heat):
        kind = kind_of(medium, i)
        return given(i, x, y, z, c, xm, xp, ym, yp, zm, zp, kind, rates_of(medium, kind), shape, walls, heat)

    return new_value


def _first_and_last(structure):
    """The device functions first(c), from which a new value starts, and last(new, i, c, heat), which completes it."""
    real = getattr(types, structure.dtype)

    @inlined
    def from_cell(c):
        return c

    @inlined
    def from_nothing(c):
        return real(0.0)

    @inlined
    def complete(new, i, c, heat):
        return new

    @inlined
    def of_two(change, i, c, heat):
        return staged_of_two(change, c, heat.before[i], heat.nu, heat.rate)

    @inlined
    def of_four(change, i, c, heat):
        before, start, one = heat.before[i], heat.start[i], heat.one[i]
        return staged(change, c, before, start, one, heat.mu, heat.nu, heat.gamma, heat.rate)

    if not structure.stage:
        return from_cell, complete
    return from_nothing, of_two if structure.stage == "two" else of_four


def build_given(
    structure: StencilConfiguration, ends: tuple[bool, bool, bool] = (True, True, True), index: type = uint64
):
    """As `build`, for movements that look up the kind and its rates too: these come after the values.

    `ends` names the axes x, y, z at whose ends the cell may lie; along the others nothing is tested. `index`: the type
    of places in wall values.
    """
    table, field, per_cell = structure.heat_table, structure.heat_field, structure.wall_per_cell
    first, last = _first_and_last(structure)
    wall_x, wall_y, wall_z = (end and not wraps for end, wraps in zip(ends, structure.periodic, strict=True))

    @inlined
    def by_axis(start, c, xm, xp, ym, yp, zm, zp, r):
        return second_difference(start, c, xm, xp, ym, yp, zm, zp, r[0], r[1], r[2])

    @inlined
    def by_face(start, c, xm, xp, ym, yp, zm, zp, r):
        return face_differences(start, c, xm, xp, ym, yp, zm, zp, r[0], r[1], r[2], r[3], r[4], r[5])

    exchange = by_axis if structure.uniform else by_face

    @inlined
    def beyond(c, walls, face, kind, position):
        w = index(walls.offsets[face]) + index(position if per_cell else kind)
        return ghost(c, walls.a[w], walls.b[w])

    @inlined
    def new_value(i, x, y, z, c, xm, xp, ym, yp, zm, zp, kind, rates, shape, walls, heat):
        one = uint32(1)
        if wall_x and x == 0:
            xm = beyond(c, walls, 0, kind, z * shape.ny + y)
        if wall_x and x == uint32(shape.nx - one):
            xp = beyond(c, walls, 1, kind, z * shape.ny + y)
        if wall_y and y == 0:
            ym = beyond(c, walls, 2, kind, z * shape.nx + x)
        if wall_y and y == uint32(shape.ny - one):
            yp = beyond(c, walls, 3, kind, z * shape.nx + x)
        if wall_z and z == 0:
            zm = beyond(c, walls, 4, kind, y * shape.nx + x)
        if wall_z and z == uint32(shape.nz - one):
            zp = beyond(c, walls, 5, kind, y * shape.nx + x)
        start = first(c)
        if table:
            start = fma(heat.dt, heat.table[kind], start)
        if field:
            start = fma(heat.gain, heat.field[i], start)
        return last(exchange(start, c, xm, xp, ym, yp, zm, zp, rates), i, c, heat)

    return new_value
