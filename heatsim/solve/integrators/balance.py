"""The heat balance of every cell, which implicit and steady integrators solve, on the device of their field.

    C dT/dt = G(t, T) = sources(t) + boundary faces(t, T) - exchange(T)        W

exchange is between neighbours, so its sum over all cells is zero to rounding; a boundary face passes g (a T + b) to the
cell beside it, with the a and b of `Forcing` and g the conductance of the face. Ambients are boundary faces inside the
box: a is -1, b their temperature. So are losses, with b = 0. Prescribed cells take no part.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from heatsim_kernels.solver.assembly import Assembly
from heatsim_kernels.solver.cpu import operations as cpu
from heatsim_kernels.solver.operator import MultigridKernels, Operator

from heatsim.base.threads import for_each, parts
from heatsim.solve.integrators.islands import Islands, find_islands
from heatsim.solve.ranks.solver import make_solver

if TYPE_CHECKING:
    from collections.abc import Callable

    from heatsim_kernels.field import Field
    from heatsim_kernels.solver.solver import Solution, Solver

    from heatsim.problem import Problem
    from heatsim.solve.integrators.integrator import SavedState
    from heatsim.solve.ranks.solver import RanksSolver

SAME_STEP = 1e-9  # relative: less than the solver leaves

Values = Any  # (nz, ny, nx): an array of NumPy, or `CudaValues`


@dataclass(frozen=True)
class BalanceInputs:
    """Sources and ways out at a time. sources: of each cell, W, or 0.0 if there are none; power: their sum; a, b: (m,)
    of the boundary faces, as in `Forcing`, then of the ambients and of the losses; on the host; time: s, any at which
    they are these."""

    sources: Values
    power: float
    a: np.ndarray
    b: np.ndarray
    time: float


def solver_kernels(device: str) -> MultigridKernels:
    """The module of `heatsim_kernels.solver` that solves on a device, "cpu" or "cuda"."""
    if device == "cpu":
        return cpu
    from heatsim_kernels.solver.cuda import operations as cuda

    return cuda


def by_parts(formula: Callable[..., Values], *values: Values) -> Values:
    """What a formula makes of each cell of the values, of which some may be numbers, in a fresh field: on the host by
    threads, since the system takes longer for a fresh field than the formula does."""
    arrays = [each for each in values if isinstance(each, np.ndarray) and each.ndim]
    if not arrays:
        return formula(*values)
    found = np.empty(arrays[0].shape)

    def fill(part: slice) -> None:
        found[part] = formula(*(each[part] if isinstance(each, np.ndarray) and each.ndim else each for each in values))

    for_each(fill, parts(found.shape), found.size)
    return found


class Balance:
    """The heat balance of a problem, and the solver of its linear systems, on the device of a field in float64.

    values: the stored values of the field, for arithmetic; all others that are given and taken are alike. capacity: J/K
    of each cell, or of all.
    """

    def __init__(self, problem: Problem, field: Field) -> None:
        coefficients = problem.coefficients
        self._kernels = kernels = solver_kernels(field.device)
        self._problem, self._coefficients = problem, coefficients
        self.values: Values = _values_of(field)
        self._assembly = Assembly(coefficients, kernels)
        self._ways = self._assembly.boundary_heat
        self._still: BalanceInputs | None = None
        self._sources: tuple[Values, float] | None = None
        self.capacity: Values = (
            self._assembly.spread_over_cells(coefficients.capacity)
            if coefficients.several
            else float(coefficients.capacity[0])
        )
        prescribed = not coefficients.capacity.all()
        self._solved: Values = (
            self._assembly.spread_over_cells(coefficients.capacity > 0, np.float32) if prescribed else None
        )
        self._chosen: Values = (
            self._assembly.spread_over_cells(coefficients.capacity > 0, np.uint8) if prescribed else None
        )
        self._faces = self._assembly.faces(problem.dtype)
        self._nothing_outside = kernels.field(coefficients.shape, problem.dtype)
        self._solver: Solver | RanksSolver | None = None
        self._islands: Islands | None = None
        self._islands_sought = False
        self._time_step, self._matrix_step = 0.0, 0.0
        self._a = self._zero = np.zeros(0)

    def assign(self, values: Values) -> None:
        """Take over values into the field."""
        self._kernels.assign(self.values, values)

    def extent(self, values: Values) -> tuple[float, float]:
        """The least and the largest value in the cells that are solved; not numbers where one is none."""
        return self._kernels.extent(values, self._chosen)

    def norm(self, values: Values) -> float:
        """The 2-norm."""
        return sqrt(self._kernels.dot(values, values))

    def inputs(self, time: float) -> BalanceInputs:
        """Sources and boundary faces at a time, s. Raises `ScenarioError` for a value that is not finite then."""
        if self._still is not None:
            return self._still
        problem = self._problem
        forcing = problem.linear_forcing(np.array([time]), ambient_heat=False)
        if self._sources is None or problem.volume_sources.varies:
            heated = forcing.heat_table is not None or forcing.heat_field is not None or bool(forcing.window_sources)
            sources = self._assembly.sources(forcing) if heated else 0.0
            self._sources = sources, self._kernels.total(sources) if heated else 0.0
        offsets = problem.ambient_offsets[: self._coefficients.ambient_count]
        if problem.ambients.varies:
            offsets = offsets + problem.ambients.rises(np.array([time]))[0]
        if self._coefficients.losses is not None:
            offsets = np.append(offsets, 0.0)
        a, b = np.append(forcing.boundary_a[0], -np.ones_like(offsets)), np.append(forcing.boundary_b[0], offsets)
        inputs = BalanceInputs(*self._sources, a, b, time)
        if not problem.varies:
            self._still = inputs
        return inputs

    def exchange(self, T: Values) -> Values:
        """Heat that each cell gives to its neighbours, W."""
        out = self._kernels.field(self._coefficients.shape, np.float64)
        self._kernels.sweep(self._faces, self._nothing_outside, T, None, None, out)
        return out

    def flow(self, inputs: BalanceInputs, T: Values, exchange: Values) -> Values:
        """G: heat that flows into each cell, W; `exchange` is that of T."""
        flow = by_parts(lambda sources, exchange: sources - exchange, inputs.sources, exchange)
        self._ways.add(flow, T, inputs.a, inputs.b)
        return flow

    def entering_cells(self, inputs: BalanceInputs, T: Values, ways: slice) -> Values:
        """Heat that enters each cell by some of the boundary faces, ambients and losses, W; ways: their places in a."""
        chosen = np.zeros_like(inputs.a)
        chosen[ways] = 1.0
        heat = self._kernels.field(self._coefficients.shape, np.float64)
        self._ways.add(heat, T, inputs.a * chosen, inputs.b * chosen)
        return heat

    def entering(self, inputs: BalanceInputs, T: Values) -> np.ndarray:
        """Heat that enters through each face, from each ambient and by losses, W."""
        heat = np.zeros(self._coefficients.ledger_size)
        heat[self._assembly.numbers] = self._ways.entering(T, inputs.a, inputs.b)
        return heat

    def prepare(self, inputs: BalanceInputs, time_step: float) -> None:
        """Have `solve` solve with the matrix C/time_step + A of these boundary faces; an infinite step leaves A.

        A matrix is kept for steps that differ by rounding of times. Raises `ValueError` if the matrix is singular.
        """
        self._time_step = time_step
        same_step = self._matrix_step == time_step or abs(self._matrix_step - time_step) < SAME_STEP * time_step
        if self._solver is not None and same_step and np.array_equal(self._a, inputs.a):
            return
        s = self._assembly.outside(inputs.a, self._problem.dtype, time_step)
        if self._solver is None:
            self._solver = make_solver(Operator(*self._faces, s, self._coefficients.periodic), self._kernels)
        else:
            self._solver.set_outside(s)
        self._matrix_step, self._a = time_step, inputs.a
        if self._zero.size != self._a.size:
            self._zero = np.zeros_like(self._a)

    def solve(
        self, rhs: Values, guess: Values | None, *, tolerance: float, accuracy: float, iterations: int
    ) -> Solution:
        """Solve (C/time_step + A) x = rhs, W and K; see `Solver.solve`.

        x is shifted by a constant that makes the sum of all rows hold to rounding, so that heat is conserved however
        far the iteration was taken. The constant is the mean of the error of x, weighted by what ties the cells to the
        outside: never more than the largest error.
        """
        if self._solver is None:
            raise RuntimeError("prepare comes first")
        found = self._solver.solve(rhs, guess, tolerance=tolerance, accuracy=accuracy, max_iterations=iterations)
        ways = float(self._ways.entering(found.x, self._a, self._zero).sum())
        ties = self._stored(found.x) / self._time_step - ways
        ways_of_one = float(self._ways.entering(found.x, self._zero, self._a).sum())
        ties_of_one = self._problem.whole_capacity / self._time_step - ways_of_one
        shift = (self._kernels.total(rhs) - ties) / ties_of_one
        if self._solved is None:
            return replace(found, x=by_parts(lambda x: x + shift, found.x))
        return replace(found, x=by_parts(lambda x, solved: (x + shift) * solved, found.x, self._solved))

    def state(self) -> SavedState:
        """Which matrix is kept: its time step, s, and the a of its boundary faces; nothing before the first."""
        return {} if self._solver is None else {"time_step": self._matrix_step, "a": self._a}

    def restore(self, saved: SavedState, inputs: BalanceInputs) -> None:
        """Prepare the matrix that was kept; inputs: any of the problem."""
        if saved:
            self.prepare(replace(inputs, a=saved["a"]), saved["time_step"])

    def on_host(self, values: Values) -> np.ndarray:
        """Values as an array of the host."""
        return np.asarray(self._kernels.get(values))

    def on_device(self, array: np.ndarray) -> Values:
        """An array of the host as values."""
        return self._kernels.put(array)

    def island_corrections(self, missing: Values) -> Values | None:
        """By how much the islands of the first matrix of `prepare` are off, K, for the heat that is missing in each
        cell, W; None where there is but one."""
        if self._solver is None:
            raise RuntimeError("prepare comes first")
        get, solved = self._kernels.get, self._chosen
        if not self._islands_sought:
            gx, gy, gz = (get(each) for each in self._faces)
            chosen = None if solved is None else get(solved) > 0
            self._islands = find_islands((gx, gy, gz), get(self._solver.operator.s), chosen)
            self._islands_sought = True
        return None if self._islands is None else self._kernels.put(self._islands.corrections(np.asarray(get(missing))))

    def _stored(self, x: Values) -> float:
        """Sum of C x, J."""
        uniform = isinstance(self.capacity, float)
        return float(self.capacity * self._kernels.total(x) if uniform else self._kernels.dot(self.capacity, x))


def _values_of(field: Field) -> Values:
    """The stored values, in place, in the form that the kernels of the field's device calculate with."""
    if field.device == "cpu":
        return field.now.reshape(field.shape)
    from heatsim_kernels.solver.cuda.values import CudaValues

    return CudaValues(field.shape, field.now)
