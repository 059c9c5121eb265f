"""The heat balance of every cell, which implicit and steady integrators solve.

    C dT/dt = G(t, T) = sources(t) + walls(t, T) - exchange(T)        W

exchange is between neighbours, so its sum over all cells is zero to rounding; a wall passes g (a T + b) to the cell
beside it, with the a and b of `Drive` and g the conductance of a face inside.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from heatsim_kernels.multigrid import cpu
from heatsim_kernels.multigrid.operator import heat_input, operator_of, outside
from heatsim_kernels.multigrid.solver import Solution, Solver

if TYPE_CHECKING:
    from heatsim_kernels.stencil.terms import Terms

    from heatsim.problem import Problem


SAME_STEP = 1e-9  # relative: less than the solver leaves


class OpenFace(NamedTuple):
    """A face of the box that passes heat: its number, the cells beside it, their conductance to it (W/K), and where
    their values stand among the wall values."""

    number: int
    beside: tuple[slice | int, ...]
    conductance: np.ndarray
    values: np.ndarray


@dataclass(frozen=True)
class Inputs:
    """Sources and walls at a time. sources: (nz, ny, nx) W, or () if there are none; power: their sum; a, b: (m,)."""

    sources: np.ndarray
    power: float
    a: np.ndarray
    b: np.ndarray


class Balance:
    """The heat balance of a problem, and the solver of its linear systems."""

    def __init__(self, problem: Problem) -> None:
        terms = problem.terms
        self._problem, self._terms = problem, terms
        self._faces = [_open_face(terms, number) for number in range(6) if not terms.closed[number]]
        self._still: Inputs | None = None
        self._sources: tuple[np.ndarray, float] | None = None
        self.capacity = terms.capacity[0] if terms.zones is None else terms.capacity[terms.zones]  # J/K of each cell
        self._operator = operator_of(terms, self.inputs(0.0).a, problem.dtype)
        self._nothing_outside = np.zeros_like(self._operator.s)
        self._solver: Solver | None = None
        self._time_step, self._matrix_step, self._a, self._ties_of_walls = 0.0, 0.0, np.zeros(0), 0.0
        self._whole_capacity = float(terms.capacity @ np.array(problem.zones.cells))

    def inputs(self, time: float) -> Inputs:
        """Sources and walls at a time, s. Raises `ScenarioError` for a value that is not finite then."""
        if self._still is not None:
            return self._still
        problem = self._problem
        drive = problem.drive(np.array([time]))
        if self._sources is None or problem.heating.varies:
            heated = drive.heat_table is not None or drive.heat_field is not None
            unlit = replace(drive, wall_b=np.zeros_like(drive.wall_b))
            sources = heat_input(self._terms, unlit) if heated else np.zeros(())
            self._sources = sources, float(sources.sum())
        inputs = Inputs(*self._sources, drive.wall_a[0], drive.wall_b[0])
        if not (problem.walls.varies or problem.heating.varies):
            self._still = inputs
        return inputs

    def exchange(self, T: np.ndarray) -> np.ndarray:
        """(nz, ny, nx) heat that each cell gives to its neighbours, W."""
        out: np.ndarray = cpu.field(self._terms.shape, np.float64)
        faces = self._operator.gx, self._operator.gy, self._operator.gz
        cpu.sweep(faces, self._nothing_outside, T, None, None, out)
        return out

    def flow(self, inputs: Inputs, T: np.ndarray, exchange: np.ndarray) -> np.ndarray:
        """(nz, ny, nx) G: heat that flows into each cell, W; `exchange` is that of T."""
        flow = np.asarray(inputs.sources - exchange)
        for face in self._faces:
            flow[face.beside] += _passed(face, inputs, T)
        return flow

    def entering(self, inputs: Inputs, T: np.ndarray) -> np.ndarray:
        """(6,) heat that enters through each face, W."""
        heat = np.zeros(6)
        for face in self._faces:
            heat[face.number] = _passed(face, inputs, T).sum()
        return heat

    def prepare(self, inputs: Inputs, time_step: float) -> None:
        """Have `solve` solve with the matrix C/time_step + A of these walls; an infinite step leaves A.

        A matrix is kept for steps that differ by rounding of times. Raises `ValueError` if the matrix is singular.
        """
        self._time_step = time_step
        same_step = self._matrix_step == time_step or abs(self._matrix_step - time_step) < SAME_STEP * time_step
        if self._solver is not None and same_step and np.array_equal(self._a, inputs.a):
            return
        s = outside(self._terms, inputs.a, self._problem.dtype, time_step)
        if self._solver is None:
            self._solver = Solver(self._operator.with_outside(s))
        else:
            self._solver.set_outside(s)
        self._matrix_step, self._a = time_step, inputs.a
        self._ties_of_walls = -sum(float((face.conductance * self._a[face.values]).sum()) for face in self._faces)

    def solve(
        self, rhs: np.ndarray, guess: np.ndarray | None, *, tolerance: float, accuracy: float, iterations: int
    ) -> Solution:
        """Solve (C/time_step + A) x = rhs, W and K; see `Solver.solve`.

        x is shifted by a constant that makes the sum of all rows hold to rounding, so that heat is conserved however
        far the iteration was taken. The constant is the mean of the error of x, weighted by what ties the cells to the
        outside: never more than the largest error.
        """
        if self._solver is None:
            raise RuntimeError("prepare comes first")
        found = self._solver.solve(rhs, guess, tolerance=tolerance, accuracy=accuracy, max_iterations=iterations)
        ties_of_all = self._whole_capacity / self._time_step + self._ties_of_walls
        found.x[...] += (float(rhs.sum()) - self._ties(found.x)) / ties_of_all
        return found

    def _ties(self, x: np.ndarray) -> float:
        """Sum of (C/time_step + A) x over all cells, W."""
        walls = sum(float((face.conductance * self._a[face.values] * x[face.beside]).sum()) for face in self._faces)
        return float((self.capacity * x).sum()) / self._time_step - walls


def _passed(face: OpenFace, inputs: Inputs, T: np.ndarray) -> np.ndarray:
    """Heat that a face passes to each cell beside it, W."""
    return np.asarray(face.conductance * (inputs.a[face.values] * T[face.beside] + inputs.b[face.values]))


def _open_face(terms: Terms, number: int) -> OpenFace:
    along = 2 - number // 2
    at: list[slice | int] = [slice(None)] * 3
    at[along] = -1 if number % 2 else 0
    beside = tuple(at)
    shape = tuple(n for axis, n in enumerate(terms.shape) if axis != along)
    zones = np.zeros(shape, np.intp) if terms.zones is None else terms.zones[beside].astype(np.intp)
    conductance = (terms.self_exchange()[number] * terms.capacity)[zones]
    order = np.arange(zones.size).reshape(shape) if terms.wall_per_cell else zones
    return OpenFace(number, beside, conductance, terms.wall_offsets[number] + order)
