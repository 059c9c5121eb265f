"""The largest step at which explicit steps of materials that depend on temperature keep the maximum principle."""

from __future__ import annotations

import numpy as np
from numba import prange

from heatsim_kernels.enthalpy.cell import EnthalpyBox
from heatsim_kernels.enthalpy.coefficients import (
    CLOSED,
    OTHER,
    OWN,
    NonlinearCoefficients,
    NonlinearForcing,
)
from heatsim_kernels.enthalpy.surface_balance import steepest_slope, steepest_slope_with_factor
from heatsim_kernels.runtime.cpu.compilation import jit, parallel_jit
from heatsim_kernels.runtime.cpu.threads import limited, threads_for


def stable_step(terms: NonlinearCoefficients, drive: NonlinearForcing) -> float:
    """Return min over cells of 1 / sum over faces of the largest rate of exchange in the tables' range, in s.

    Rates are those of u: of neighbours of the same material the largest k/C, at walls and between materials the largest
    conductance over the least C; a radiating wall counts 4 emissivity sigma T^3 at the highest temperature of the
    tables or of its surroundings; one with a factor its steepest loss, between the extremes of its ambient in all rows
    of `drive`. Infinite if no heat moves at all. See `stencil.limits` for the linear case.
    """
    conductance, resistance = _at_walls(terms)
    with limited(threads_for(int(np.prod(terms.shape)))):
        fastest = _fastest_rate(
            EnthalpyBox(*map(int, (*terms.shape, *terms.periodic))),
            None if terms.kinds is None else terms.kinds.reshape(-1),
            _inside(terms),
            conductance,
            resistance,
            _coefficients(terms, drive),
            terms.wall_offsets,
            np.array(terms.closed, np.uint8),
            terms.wall_per_cell,
        )
    return 1.0 / fastest if fastest > 0 else float("inf")


def _steepest(lines: np.ndarray) -> np.ndarray:
    """(m,) the steepest slope of each material."""
    return np.asarray(lines[..., 1].max(axis=1))


def _least_resistivity(terms: NonlinearCoefficients) -> np.ndarray:
    """(m,) the least w of each material: at a knot, since it is level before and after them."""
    tables = terms.tables
    knots = tables.coldest + tables.step * np.arange(tables.segments - 1)
    lines = tables.resistivities[:, 1:]
    return np.asarray((lines[..., 0] + lines[..., 1] * knots).min(axis=1))


def _inside(terms: NonlinearCoefficients) -> np.ndarray:
    """(n, 6) the largest rate of u's exchange through each face inside the box, 1/s."""
    tables, least = terms.tables, _least_resistivity(terms)
    own = terms.rates * _steepest(tables.potentials)[terms.material][:, None]
    beyond = np.where(terms.links >= OTHER, terms.links.astype(int) - OTHER, 0)
    total = terms.own * least[terms.material][:, None] + terms.contact + terms.other * least[beyond]
    slopes = _steepest(tables.temperatures)[terms.material][:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        other = slopes / (total * terms.capacity[:, None])
    return np.where(terms.links == CLOSED, 0.0, np.where(terms.links == OWN, own, other))


def _at_walls(terms: NonlinearCoefficients) -> tuple[np.ndarray, np.ndarray]:
    """(n, 6) area times the steepest T over C V, m2 K/J, and the least resistance of the half cell, m2 K/W."""
    slopes = _steepest(terms.tables.temperatures)[terms.material]
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = np.where(terms.links == CLOSED, 0.0, terms.area * (slopes / terms.capacity)[:, None])
    return gain, terms.area * terms.own * _least_resistivity(terms)[terms.material][:, None]


def _coefficients(terms: NonlinearCoefficients, drive: NonlinearForcing) -> np.ndarray:
    """(wall_size,) the largest coefficient of each wall, radiation included, W/(m2 K)."""
    tables = terms.tables
    steepest = steepest_slope(drive.walls, tables.knots.max(), tables.reference)
    if terms.factors is not None:
        for number, lines in enumerate(terms.factors.lines, 1):
            chosen = terms.factors.of == number
            if chosen.any():
                faces = drive.walls[..., chosen]
                steepest[chosen] = steepest_slope_with_factor(faces, lines, tables.rises, tables.reference)
    return steepest


@parallel_jit
def _fastest_rate(box, kinds, inside, gain, resistance, coefficient, offsets, closed, per_cell):
    """The largest sum of rates over the cells, 1/s."""
    fastest = np.zeros(box.nz)
    for index in prange(box.nz):
        walls = coefficient, offsets, closed, per_cell
        z = np.int64(index)
        for y in range(box.ny):
            for x in range(box.nx):
                kind = np.int64(0)
                if kinds is not None:
                    kind = np.int64(kinds[(z * box.ny + y) * box.nx + x])
                cell = kind, inside[kind], gain[kind], resistance[kind]
                total = _axis_rate(x, box.nx, box.wrap_x, 0, z * box.ny + y, *cell, *walls)
                total += _axis_rate(y, box.ny, box.wrap_y, 2, z * box.nx + x, *cell, *walls)
                total += _axis_rate(z, box.nz, box.wrap_z, 4, y * box.nx + x, *cell, *walls)
                fastest[z] = max(fastest[z], total)
    return fastest.max()


@jit
def _axis_rate(at, n, wraps, first, position, kind, inside, gain, resistance, coefficient, offsets, closed, per_cell):
    """Rate of a cell through its two faces along an axis, on which it is number `at` of n."""
    total = 0.0
    for face in range(first, first + 2):
        if wraps != 0 or at != (n - 1 if face % 2 == 1 else 0):
            total += inside[face]
        elif closed[face] == 0:
            s = coefficient[offsets[face] + (position if per_cell else kind)]
            total += gain[face] * s / (1.0 + resistance[face] * s)
    return total
