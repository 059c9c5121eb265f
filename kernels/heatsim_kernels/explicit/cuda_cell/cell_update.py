"""CUDA: what every kernel variant does with a cell once it has read the neighbours.

A kernel reads values and knows no physics. The functions here replace the neighbours beyond a boundary by ghost values,
add the sources and apply the physics. All of it is inlined into the kernel, and what a configuration does not have is
not compiled at all. Indices are flat and unsigned, which spares the wrap-around tests that Numba gives signed ones.

Arguments of a kernel: u and v, the fields before and after the step; shape, a `GridShape`; boundary,
`CudaBoundaryFaces`; exchange, a `CudaExchange`; sources, `CudaSources` or for a stage `CudaStageSources`.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numba import int64, types, uint32, uint64

from heatsim_kernels.device.cuda.api import inlined
from heatsim_kernels.device.cuda.vector_access import constant, constant6
from heatsim_kernels.device.fma import fma
from heatsim_kernels.explicit import physics
from heatsim_kernels.explicit.coefficients import StencilCoefficients
from heatsim_kernels.explicit.cuda_cell.configuration import StencilConfiguration

RATES = 8  # room for the six rates of a cell class and its loss, so that those of each start on a 16-byte boundary
LOSS, HEAT_OF_LOSS = 6, 7  # the places among them of the loss and of its heat, J/K

second_difference, face_differences = inlined(physics.second_difference), inlined(physics.face_differences)
layer_differences = inlined(physics.layer_differences)
staged, staged_of_two, ghost = inlined(physics.staged), inlined(physics.staged_of_two), inlined(physics.ghost)


class GridShape(NamedTuple):
    """Cells along each axis, uint32; a grid holds fewer than 2**32 cells."""

    nz: np.uint32
    ny: np.uint32
    nx: np.uint32


class CudaBoundaryFaces(NamedTuple):
    """Values a and b of the boundary faces in a step, flat, and where each of the six FACES starts in them."""

    a: Any
    b: Any
    offsets: Any


class CudaExchange(NamedTuple):
    """Exchange rates a step: rx, ry, rz where they are the same everywhere, else `rates` of each cell class, six for
    the FACES with room for RATES, flat, in which the LOSS lies too. classes: the class of each cell, flat.

    An array that a configuration does not have is any array of one element.
    """

    rx: np.floating[Any]
    ry: np.floating[Any]
    rz: np.floating[Any]
    rates: Any
    classes: Any


def rates_of_classes(coefficients: StencilCoefficients, dt: float, dtype: np.dtype) -> np.ndarray:
    """(n, RATES) the rates of the cell classes in a step of `dt` s, with their losses."""
    rates = np.zeros((coefficients.class_count, RATES), dtype)
    rates[:, :LOSS] = dt * coefficients.rates
    rates[:, LOSS] = 0.0 if coefficients.losses is None else dt * coefficients.losses
    rates[:, HEAT_OF_LOSS] = rates[:, LOSS].astype(np.float64) * coefficients.capacity
    return rates


class CudaSources(NamedTuple):
    """Sources of a step: `table` by cell class, times `dt`, and `field` by cell, times `gain`."""

    table: Any
    dt: np.floating[Any]
    field: Any
    gain: np.floating[Any]


class CudaStageSources(NamedTuple):
    """`CudaSources`, and what a Runge-Kutta stage is made of besides (see `rk_stages`): `before`, Y_{j-2}, which may be
    the field that is written; `start`, Y_0, and `one`, Y_1, any fields for a two-term stage; and the coefficients."""

    table: Any
    dt: np.floating[Any]
    field: Any
    gain: np.floating[Any]
    before: Any
    start: Any
    one: Any
    mu: np.floating[Any]
    nu: np.floating[Any]
    gamma: np.floating[Any]
    rate: np.floating[Any]


@inlined
def below(i, at, n, stride, wraps):
    """Index of the lower neighbour of cell i, which is number `at` of n along an axis; the cell itself at a boundary.

    Sums are unsigned and taken modulo 2^32: i - stride is never below 0 where it is used.
    """
    return uint32(i - stride) if at > 0 else (uint32(i + (n - uint32(1)) * stride) if wraps else i)


@inlined
def above(i, at, n, stride, wraps):
    """Index of the upper neighbour; see `below`. i - (n - 1) * stride is the first cell of a periodic axis."""
    return uint32(i + stride) if at < uint32(n - uint32(1)) else (uint32(i - (n - uint32(1)) * stride) if wraps else i)


class HasPeriodicAxes(Protocol):
    """A configuration that says which axes are periodic: x, y, z."""

    @property
    def periodic(self) -> tuple[bool, bool, bool]:
        """Whether each axis is."""


def build_neighbours(configuration: HasPeriodicAxes, *, inside: bool = False):
    """Build the device function around(i, x, y, z, shape): flat indices of the neighbours xm, xp, ym, yp, zm, zp of
    cell i. Beyond a boundary it is the cell itself.

    inside: the caller promises that the cell lies at no end of any axis, which needs no tests.
    """
    wrap_x, wrap_y, wrap_z = configuration.periodic

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


def build_class_of(configuration: StencilConfiguration):
    """Build the device function cell_class(exchange, i): the class of cell i, uint32."""
    several = configuration.class_dtype != ""

    @inlined
    def cell_class(exchange, i):
        return uint32(constant(exchange.classes, i)) if several else uint32(0)

    return cell_class


def build_rates(configuration: StencilConfiguration):
    """Build the device function rates(exchange, cell_class): three rates, for x, y, z, in a uniform problem; else six,
    for the FACES; and the loss behind them, where there is one."""

    @inlined
    def of_axes(exchange, cell_class):
        return exchange.rx, exchange.ry, exchange.rz

    @inlined
    def of_faces(exchange, cell_class):
        return constant6(exchange.rates, uint64(cell_class) * uint64(RATES))

    rates = of_axes if configuration.uniform else of_faces

    @inlined
    def with_loss(exchange, cell_class):
        loss = constant(exchange.rates, uint64(cell_class) * uint64(RATES) + uint64(LOSS))
        return *rates(exchange, cell_class), loss

    return with_loss if configuration.losses else rates


def build_update(configuration: StencilConfiguration, *, inside: bool = False):
    """Build the device function update(i, x, y, z, c, xm, xp, ym, yp, zm, zp, shape, boundary, exchange, sources): the
    new value of a cell.

    c: value of cell i, which lies at (x, y, z). xm ... zp: values of its neighbours; beyond a boundary any value will
    do. inside: the caller promises that the cell lies at no end of any axis.
    """
    # Signed indices of boundary values: Numba tests them for being negative, and yet a thread that has one cell then
    # needs 32 registers and not 35, so that a multiprocessor holds 2048 threads.
    update_class = build_class_update(configuration, (not inside,) * 3, int64)
    class_of, rates_of = build_class_of(configuration), build_rates(configuration)

    @inlined
    def update(i, x, y, z, c, xm, xp, ym, yp, zm, zp, shape, boundary, exchange, sources):
        cell_class = class_of(exchange, i)
        return update_class(
            i, x, y, z, c, xm, xp, ym, yp, zm, zp, cell_class, rates_of(exchange, cell_class), shape, boundary, sources
        )

    return update


class SteppedConfiguration(Protocol):
    """A configuration that says what its values are and whether they are stages."""

    @property
    def dtype(self) -> str:
        """Name of the precision."""

    @property
    def stage(self) -> str:
        """See `StencilConfiguration`."""


def build_start_and_finish(configuration: SteppedConfiguration):
    """Build start(c), from which a new value starts, and finish(new, i, c, sources), which completes it: an explicit
    step starts from the cell and is complete, a stage starts from 0 and is made of the change and of other fields."""
    real = getattr(types, configuration.dtype)

    @inlined
    def from_cell(c):
        return c

    @inlined
    def from_nothing(c):
        return real(0.0)

    @inlined
    def as_it_is(new, i, c, sources):
        return new

    @inlined
    def stage_of_two(change, i, c, sources):
        return staged_of_two(change, c, sources.before[i], sources.nu, sources.rate)

    @inlined
    def stage_of_four(change, i, c, sources):
        before, start, one = sources.before[i], sources.start[i], sources.one[i]
        return staged(change, c, before, start, one, sources.mu, sources.nu, sources.gamma, sources.rate)

    if not configuration.stage:
        return from_cell, as_it_is
    return from_nothing, stage_of_two if configuration.stage == "two" else stage_of_four


def _build_differences(configuration):
    """Build add_differences(start, c, xm, xp, ym, yp, zm, zp, rates): the physics, with three rates or with six."""

    @inlined
    def by_axis(start, c, xm, xp, ym, yp, zm, zp, r):
        return second_difference(start, c, xm, xp, ym, yp, zm, zp, r[0], r[1], r[2])

    @inlined
    def by_face(start, c, xm, xp, ym, yp, zm, zp, r):
        return face_differences(start, c, xm, xp, ym, yp, zm, zp, r[0], r[1], r[2], r[3], r[4], r[5])

    @inlined
    def by_layer(start, c, xm, xp, ym, yp, zm, zp, r):
        return layer_differences(start, c, xm, xp, ym, yp, zm, zp, r[0], r[2], r[4], r[5])

    return by_axis if configuration.uniform else by_layer if configuration.paired else by_face


def build_class_update(
    configuration: StencilConfiguration, ends: tuple[bool, bool, bool] = (True, True, True), index: type = uint64
):
    """Build update(i, x, y, z, c, xm, ..., zp, cell_class, rates, shape, boundary, sources): as `build_update`, for
    kernels that look up the class of a cell and its rates themselves.

    ends: for the axes x, y, z, whether the cell may lie at their ends; along the others nothing is tested. index: the
    type of indices of boundary values.
    """
    table, field, per_cell = configuration.heat_table, configuration.heat_field, configuration.boundary_per_cell
    losses, loss_at = configuration.losses, 3 if configuration.uniform else 6
    (start_from, finish), add_differences = build_start_and_finish(configuration), _build_differences(configuration)
    boundary_x, boundary_y, boundary_z = (
        end and not wraps for end, wraps in zip(ends, configuration.periodic, strict=True)
    )

    @inlined
    def ghost_value(c, boundary, face, cell_class, position):
        w = index(boundary.offsets[face]) + index(position if per_cell else cell_class)
        return ghost(c, boundary.a[w], boundary.b[w])

    @inlined
    def update(i, x, y, z, c, xm, xp, ym, yp, zm, zp, cell_class, rates, shape, boundary, sources):
        one = uint32(1)
        if boundary_x and x == 0:
            xm = ghost_value(c, boundary, 0, cell_class, z * shape.ny + y)
        if boundary_x and x == uint32(shape.nx - one):
            xp = ghost_value(c, boundary, 1, cell_class, z * shape.ny + y)
        if boundary_y and y == 0:
            ym = ghost_value(c, boundary, 2, cell_class, z * shape.nx + x)
        if boundary_y and y == uint32(shape.ny - one):
            yp = ghost_value(c, boundary, 3, cell_class, z * shape.nx + x)
        if boundary_z and z == 0:
            zm = ghost_value(c, boundary, 4, cell_class, y * shape.nx + x)
        if boundary_z and z == uint32(shape.nz - one):
            zp = ghost_value(c, boundary, 5, cell_class, y * shape.nx + x)
        start = start_from(c)
        if table:
            start = fma(sources.dt, sources.table[cell_class], start)
        if field:
            start = fma(sources.gain, sources.field[i], start)
        if losses:
            start = fma(-rates[loss_at], c, start)
        return finish(add_differences(start, c, xm, xp, ym, yp, zm, zp, rates), i, c, sources)

    return update
