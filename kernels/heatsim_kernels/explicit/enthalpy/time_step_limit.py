"""The largest step at which explicit steps of materials that depend on temperature keep the maximum principle."""

from __future__ import annotations

import numpy as np
from numba import prange

from heatsim_kernels.device.cpu.compilation import jit, parallel_jit
from heatsim_kernels.device.cpu.threads import limited, threads_for
from heatsim_kernels.explicit.enthalpy.cell import EnthalpyBox
from heatsim_kernels.explicit.enthalpy.coefficients import (
    CLOSED,
    OTHER,
    OWN,
    NonlinearCoefficients,
    NonlinearForcing,
)
from heatsim_kernels.explicit.enthalpy.surface_balance import steepest_slope, steepest_slope_with_factor


def stable_step(coefficients: NonlinearCoefficients, forcing: NonlinearForcing) -> float:
    """Return min over cells of 1 / sum over faces of the largest rate of exchange in the tables' range, in s.

    Rates are those of u: of neighbours of the same material the largest k/C, at boundary faces and between materials
    the largest conductance over the least C; a radiating boundary face counts 4 emissivity sigma T^3 at the highest
    temperature of the tables or of its surroundings; one with a factor its steepest loss, between the extremes of its
    ambient in all rows of `forcing`. Infinite if no heat moves at all. The linear case is in
    `explicit.time_step_limit`.
    """
    conductance, resistance = _at_boundary(coefficients)
    with limited(threads_for(int(np.prod(coefficients.shape)))):
        fastest = _fastest_rate(
            EnthalpyBox(*map(int, (*coefficients.shape, *coefficients.periodic))),
            coefficients.classes_to_look_up,
            _inside(coefficients),
            conductance,
            resistance,
            _coefficients(coefficients, forcing),
            coefficients.boundary_offsets,
            np.array(coefficients.closed, np.uint8),
            coefficients.boundary_per_cell,
        )
    return 1.0 / fastest if fastest > 0 else float("inf")


def _inside(coefficients: NonlinearCoefficients) -> np.ndarray:
    """(n, 6) the largest rate of u's exchange through each face inside the box, 1/s."""
    of_potential, of_temperature, least = coefficients.tables.steepest()
    slope, diffusing = of_temperature[coefficients.material][:, None], of_potential[coefficients.material][:, None]
    own = coefficients.rates * diffusing
    beyond = np.where(coefficients.links >= OTHER, coefficients.links.astype(int) - OTHER, 0)
    # The half cell counts with the capacity that it has where it conducts best; what lies beyond may be at another T.
    total = coefficients.own / diffusing + (coefficients.contact + coefficients.other * least[beyond]) / slope
    with np.errstate(divide="ignore", invalid="ignore"):
        other = 1.0 / (total * coefficients.capacity[:, None])
    return np.where(coefficients.links == CLOSED, 0.0, np.where(coefficients.links == OWN, own, other))


def _at_boundary(coefficients: NonlinearCoefficients) -> tuple[np.ndarray, np.ndarray]:
    """(n, 6) area times the steepest T over C V, m2 K/J, and a resistance of the half cell, m2 K/W, with which no rate
    comes out below that at any temperature: 1/(C/s + C/k) is the sum of two terms, each taken where it is least."""
    of_potential, of_temperature, _ = coefficients.tables.steepest()
    slope, diffusing = of_temperature[coefficients.material][:, None], of_potential[coefficients.material][:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = coefficients.area * slope / coefficients.capacity[:, None]
    gain = np.where(coefficients.links == CLOSED, 0.0, gain)
    return gain, coefficients.area * coefficients.own * slope / diffusing


def _coefficients(coefficients: NonlinearCoefficients, forcing: NonlinearForcing) -> np.ndarray:
    """(boundary_size,) the largest coefficient of each boundary face, radiation included, W/(m2 K)."""
    tables = coefficients.tables
    steepest = steepest_slope(forcing.boundary, tables.reached[1], tables.reference)
    if coefficients.factors is not None:
        for number, pieces in enumerate(coefficients.factors.pieces, 1):
            chosen = coefficients.factors.of == number
            if chosen.any():
                faces = forcing.boundary[..., chosen]
                steepest[chosen] = steepest_slope_with_factor(faces, pieces, tables.reached, tables.reference)
    return steepest


@parallel_jit
def _fastest_rate(box, classes, inside, gain, resistance, coefficient, offsets, closed, per_cell):
    """The largest sum of rates over the cells, 1/s."""
    fastest = np.zeros(box.nz)
    for index in prange(box.nz):
        boundary = coefficient, offsets, closed, per_cell
        z = np.int64(index)
        for y in range(box.ny):
            for x in range(box.nx):
                cell_class = np.int64(0)
                if classes is not None:
                    cell_class = np.int64(classes[(z * box.ny + y) * box.nx + x])
                cell = cell_class, inside[cell_class], gain[cell_class], resistance[cell_class]
                total = _axis_rate(x, box.nx, box.wrap_x, 0, z * box.ny + y, *cell, *boundary)
                total += _axis_rate(y, box.ny, box.wrap_y, 2, z * box.nx + x, *cell, *boundary)
                total += _axis_rate(z, box.nz, box.wrap_z, 4, y * box.nx + x, *cell, *boundary)
                fastest[z] = max(fastest[z], total)
    return fastest.max()


@jit
def _axis_rate(
    at, n, wraps, first, position, cell_class, inside, gain, resistance, coefficient, offsets, closed, per_cell
):
    """Rate of a cell through its two faces along an axis, on which it is number `at` of n."""
    total = 0.0
    for face in range(first, first + 2):
        if wraps != 0 or at != (n - 1 if face % 2 == 1 else 0):
            total += inside[face]
        elif closed[face] == 0:
            s = coefficient[offsets[face] + (position if per_cell else cell_class)]
            total += gain[face] * s / (1.0 + resistance[face] * s)
    return total
