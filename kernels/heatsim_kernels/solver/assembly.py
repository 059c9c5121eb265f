"""Operators and heat inputs of a problem, made from its cell classes where the kernels of a device want them.

A field of conductances is a table of classes spread over the cells; the faces that lead nowhere are then cleared, and
what ties cells to the outside is added beside them. To a GPU go the classes, a byte a cell, and tables.
"""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from heatsim_kernels.explicit.coefficients import Forcing, StencilCoefficients
from heatsim_kernels.explicit.heat_ledger import boundary_cells
from heatsim_kernels.field.window_source import WindowSource, window_sources_of
from heatsim_kernels.solver.cpu import operations
from heatsim_kernels.solver.operator import MultigridKernels, Operator, find_boundary_couplings

PRESCRIBED_CONDUCTANCE_RATIO = (
    1e-6  # of the largest conductance of a class: what stands alone in the row of a prescribed cell
)


class Assembly:
    """Makes fields (nz, ny, nx) of a problem; `kernels` is the module of a device, `cpu` or `cuda`.

    boundary_heat: what passes between cells and outside, with values a and b of the boundary faces, then of the
        ambients, then of the losses, if there are any;
    numbers: of each of its couplings in the heat ledger.
    """

    def __init__(self, coefficients: StencilCoefficients, kernels: MultigridKernels = operations) -> None:
        self.coefficients, self._kernels = coefficients, kernels
        self._class_ids = kernels.put(coefficients.class_ids) if coefficients.several else None
        found = find_boundary_couplings(coefficients)
        self.numbers = [coupling.number for coupling in found]
        self.boundary_heat = kernels.BoundaryHeat(found)

    def spread_over_cells(self, values: np.ndarray, dtype: Any = np.float64) -> Any:
        """Values (n,) of the cell classes, spread over the cells."""
        return self._kernels.spread(values, self._class_ids, self.coefficients.shape, np.dtype(dtype))

    def faces(self, dtype: Any) -> tuple[Any, Any, Any]:
        """gx, gy, gz of `Operator`, of each cell's upper faces as the cell itself sees them; 0 where either cell is
        held."""
        gx, gy, gz = (self._faces_along(axis, dtype) for axis in range(3))
        return gx, gy, gz

    def outside(self, a: np.ndarray, dtype: Any, time_step: float = inf) -> Any:
        """`Operator.s`: conductance to boundary faces and ambients, and heat capacity over time step, W/K; a: (m,)."""
        coefficients = self.coefficients
        prescribed = PRESCRIBED_CONDUCTANCE_RATIO * float(coefficients.conductances().max())
        s = self.spread_over_cells(
            np.where(coefficients.capacity > 0, coefficients.capacity / time_step, prescribed), dtype
        )
        self.boundary_heat.add(s, s, np.zeros_like(a), -a)
        return s

    def sources(self, forcing: Forcing) -> Any:
        """Heat that the sources of the first row of `forcing` release in each cell, W, float64."""
        capacity = self.coefficients.capacity
        power = self.spread_over_cells(capacity * (0.0 if forcing.heat_table is None else forcing.heat_table[0]))
        if forcing.heat_field is not None:
            power = power + self.spread_over_cells(capacity * forcing.heat_scale[0]) * self._kernels.put(
                forcing.heat_field
            )
        for each in window_sources_of(forcing.window_sources, 0):
            self._kernels.heat_window(power, each.corner, self._capacity_in(each) * each.rates, 1.0)
        return power

    def _capacity_in(self, window: WindowSource) -> np.ndarray:
        """Heat capacity of the cells of a window, J/K, of a shape that broadcasts to it."""
        coefficients = self.coefficients
        at = tuple(slice(first, first + n) for first, n in zip(window.corner, window.rates.shape, strict=True))
        return (
            coefficients.capacity[coefficients.class_ids[at]]
            if coefficients.several
            else coefficients.capacity.reshape(1, 1, 1)
        )

    def _faces_along(self, axis: int, dtype: Any) -> Any:
        """Axis 0 is x."""
        coefficients, upper = self.coefficients, 2 * axis + 1
        g = self.spread_over_cells(coefficients.conductances()[upper], dtype)
        if not coefficients.periodic[axis] or coefficients.shape[2 - axis] == 1:
            self._kernels.clear(g, boundary_cells(coefficients.shape, upper))
        if coefficients.ambient_faces is not None:
            self._kernels.clear(g, coefficients.ambient_faces.cells[coefficients.ambient_faces.faces == upper])
        return g


def operator_of(
    coefficients: StencilCoefficients,
    boundary_a: np.ndarray,
    dtype: Any,
    time_step: float = inf,
    kernels: MultigridKernels = operations,
) -> Operator:
    """The operator of a problem: of an implicit step of `time_step` s, or by default of its steady state.

    `boundary_a`: (boundary_size,), a row of `Forcing.boundary_a`: a boundary face conducts -a times its conductance.
    """
    made = Assembly(coefficients, kernels)
    a = np.append(boundary_a, np.full(coefficients.ledger_size - 6, -1.0))  # of ambients and losses
    return Operator(*made.faces(dtype), made.outside(a, dtype, time_step), coefficients.periodic)


def heat_input(
    coefficients: StencilCoefficients,
    forcing: Forcing,
    ambients: np.ndarray | None = None,
    kernels: MultigridKernels = operations,
) -> Any:
    """(nz, ny, nx) heat that sources, boundary faces and ambients bring to each cell with the first row of `forcing`,
    W, float64.

    The steady state solves A T = heat_input, backward Euler A T = heat_input + (C / dt) T_old. ambients: (m,) their
    temperatures, 0 if left out.
    """
    made = Assembly(coefficients, kernels)
    power = made.sources(forcing)
    inside = np.zeros(coefficients.ledger_size - 6)  # of ambients and losses
    inside[: coefficients.ambient_count] = 0.0 if ambients is None else ambients
    b = np.append(forcing.boundary_b[0], inside)
    made.boundary_heat.add(power, power, np.zeros_like(b), b)
    return power
