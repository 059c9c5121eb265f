"""Operators and heat inputs of a problem, made from its kinds of cells where the kernels of a device want them.

A field of conductances is a table of kinds spread over the cells; the faces that lead nowhere are then cleared, and
what ties cells to the outside is added beside them. To a GPU go the kinds, a byte a cell, and tables.
"""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from heatsim_kernels.field.window_source import WindowSource, window_sources_of
from heatsim_kernels.multigrid.cpu import operations
from heatsim_kernels.multigrid.operator import MultigridKernels, Operator, find_boundary_couplings
from heatsim_kernels.stencil.heat_ledger import boundary_cells
from heatsim_kernels.stencil.terms import Forcing, StencilCoefficients

PRESCRIBED_CONDUCTANCE_RATIO = (
    1e-6  # of the largest conductance of a kind: what stands alone in the row of a cell that is held
)


class Assembly:
    """Makes fields (nz, ny, nx) of a problem; `kernels` is the module of a device, `cpu` or `cuda`.

    boundary_heat: what passes between cells and outside, with values a and b of the walls and then of the ambients;
    numbers: of each of its couplings in the heat ledger.
    """

    def __init__(self, terms: StencilCoefficients, kernels: MultigridKernels = operations) -> None:
        self.terms, self._kernels = terms, kernels
        self._kinds = None if terms.kinds is None else kernels.put(terms.kinds)
        found = find_boundary_couplings(terms)
        self.numbers = [coupling.number for coupling in found]
        self.boundary_heat = kernels.BoundaryHeat(found)

    def of_kinds(self, values: np.ndarray, dtype: Any = np.float64) -> Any:
        """Values (n,) of the kinds, spread over the cells."""
        return self._kernels.spread(values, self._kinds, self.terms.shape, np.dtype(dtype))

    def faces(self, dtype: Any) -> tuple[Any, Any, Any]:
        """gx, gy, gz of `Operator`, of each cell's upper faces as the cell itself sees them; 0 where either cell is
        held."""
        gx, gy, gz = (self._faces_along(axis, dtype) for axis in range(3))
        return gx, gy, gz

    def outside(self, a: np.ndarray, dtype: Any, time_step: float = inf) -> Any:
        """`Operator.s`: conductance to walls and ambients, and heat capacity over time step, W/K; a: (m,)."""
        terms = self.terms
        held = PRESCRIBED_CONDUCTANCE_RATIO * float(terms.conductances().max())
        s = self.of_kinds(np.where(terms.capacity > 0, terms.capacity / time_step, held), dtype)
        self.boundary_heat.add(s, s, np.zeros_like(a), -a)
        return s

    def sources(self, drive: Forcing) -> Any:
        """Heat that the sources of the first row of `drive` release in each cell, W, float64."""
        capacity = self.terms.capacity
        power = self.of_kinds(capacity * (0.0 if drive.heat_table is None else drive.heat_table[0]))
        if drive.heat_field is not None:
            power = power + self.of_kinds(capacity * drive.heat_scale[0]) * self._kernels.put(drive.heat_field)
        for each in window_sources_of(drive.deposits, 0):
            self._kernels.deposit(power, each.corner, self._capacity_in(each) * each.rates, 1.0)
        return power

    def _capacity_in(self, deposit: WindowSource) -> np.ndarray:
        """Heat capacity of the cells of a window, J/K, of a shape that broadcasts to it."""
        terms = self.terms
        at = tuple(slice(first, first + n) for first, n in zip(deposit.corner, deposit.rates.shape, strict=True))
        return terms.capacity.reshape(1, 1, 1) if terms.kinds is None else terms.capacity[terms.kinds[at]]

    def _faces_along(self, axis: int, dtype: Any) -> Any:
        """Axis 0 is x."""
        terms, upper = self.terms, 2 * axis + 1
        g = self.of_kinds(terms.conductances()[upper], dtype)
        if not terms.periodic[axis] or terms.shape[2 - axis] == 1:
            self._kernels.clear(g, boundary_cells(terms.shape, upper))
        if terms.taps is not None:
            self._kernels.clear(g, terms.taps.cells[terms.taps.faces == upper])
        return g


def operator_of(
    terms: StencilCoefficients,
    wall_a: np.ndarray,
    dtype: Any,
    time_step: float = inf,
    kernels: MultigridKernels = operations,
) -> Operator:
    """The operator of a problem: of an implicit step of `time_step` s, or by default of its steady state.

    `wall_a`: (wall_size,), a row of `Drive.wall_a`: a boundary face conducts -a times its conductance.
    """
    made = Assembly(terms, kernels)
    a = np.append(wall_a, np.full(terms.ledger_size - 6, -1.0))
    return Operator(*made.faces(dtype), made.outside(a, dtype, time_step), terms.periodic)


def heat_input(
    terms: StencilCoefficients,
    drive: Forcing,
    ambients: np.ndarray | None = None,
    kernels: MultigridKernels = operations,
) -> Any:
    """(nz, ny, nx) heat that sources, walls and ambients bring to each cell with the first row of `drive`, W, float64.

    The steady state solves A T = heat_input, backward Euler A T = heat_input + (C / dt) T_old. ambients: (m,) their
    temperatures, 0 if left out.
    """
    made = Assembly(terms, kernels)
    power = made.sources(drive)
    b = np.append(drive.wall_b[0], np.zeros(terms.ledger_size - 6) if ambients is None else ambients)
    made.boundary_heat.add(power, power, np.zeros_like(b), b)
    return power
