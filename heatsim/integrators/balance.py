"""The heat balance of every cell, which implicit and steady integrators solve.

    C dT/dt = G(t, T) = sources(t) + walls(t, T) - exchange(T)        W

exchange is between neighbours, so its sum over all cells is zero to rounding; a wall passes g (a T + b) to the cell
beside it, with the a and b of `Drive` and g the conductance of the face. Ambients are walls inside the box: a is -1, b
their temperature. Cells that are held take no part.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from heatsim_kernels.multigrid import cpu
from heatsim_kernels.multigrid.operator import boundary_cells, heat_input, operator_of, outside, wall_entries
from heatsim_kernels.multigrid.solver import Solution, Solver
from heatsim_kernels.stencil.taps import tapped_faces

if TYPE_CHECKING:
    from heatsim_kernels.stencil.taps import TappedFaces
    from heatsim_kernels.stencil.terms import Terms

    from heatsim.problem import Problem


SAME_STEP = 1e-9  # relative: less than the solver leaves


class Way(NamedTuple):
    """A way for heat out of the cells: a face of the box, or an ambient. Its number in the ledger, the cells beside it,
    their conductance to it (W/K), and where their values stand among those of `Inputs`."""

    number: int
    beside: tuple[slice | int | np.ndarray, ...]
    conductance: np.ndarray
    values: np.ndarray


@dataclass(frozen=True)
class Inputs:
    """Sources and ways out at a time. sources: (nz, ny, nx) W, or () if there are none; power: their sum; a, b: (m,) of
    the walls, as in `Drive`, then of the ambients."""

    sources: np.ndarray
    power: float
    a: np.ndarray
    b: np.ndarray


class Balance:
    """The heat balance of a problem, and the solver of its linear systems."""

    def __init__(self, problem: Problem) -> None:
        terms = problem.terms
        self._problem, self._terms = problem, terms
        taps = tapped_faces(terms)
        self._ways = [_open_face(terms, number) for number in range(6) if not terms.closed[number]]
        self._ways += [_ambient(terms, taps, owner) for owner in range(terms.ledger_size - 6)]
        self._still: Inputs | None = None
        self._sources: tuple[np.ndarray, float] | None = None
        self.capacity = terms.of_kinds(terms.capacity)  # J/K of each cell
        self._held = None if terms.taps is None else self.capacity == 0
        self._operator = operator_of(terms, self.inputs(0.0).a, problem.dtype)
        self._nothing_outside = np.zeros_like(self._operator.s)
        self._solver: Solver | None = None
        self._time_step, self._matrix_step, self._a, self._ties_of_ways = 0.0, 0.0, np.zeros(0), 0.0

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
        rises = problem.ambient_rises[: self._terms.ledger_size - 6]
        a, b = np.append(drive.wall_a[0], -np.ones_like(rises)), np.append(drive.wall_b[0], rises)
        inputs = Inputs(*self._sources, a, b)
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
        for way in self._ways:
            flow[way.beside] += _passed(way, inputs, T)
        return flow

    def entering(self, inputs: Inputs, T: np.ndarray) -> np.ndarray:
        """Heat that enters through each face and from each ambient, W."""
        heat = np.zeros(self._terms.ledger_size)
        for way in self._ways:
            heat[way.number] = _passed(way, inputs, T).sum()
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
        self._ties_of_ways = -sum(float((way.conductance * self._a[way.values]).sum()) for way in self._ways)

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
        ties_of_all = self._problem.whole_capacity / self._time_step + self._ties_of_ways
        found.x[...] += (float(rhs.sum()) - self._ties(found.x)) / ties_of_all
        if self._held is not None:
            found.x[self._held] = 0.0
        return found

    def _ties(self, x: np.ndarray) -> float:
        """Sum of (C/time_step + A) x over all cells, W."""
        walls = sum(float((way.conductance * self._a[way.values] * x[way.beside]).sum()) for way in self._ways)
        return float((self.capacity * x).sum()) / self._time_step - walls


def _passed(way: Way, inputs: Inputs, T: np.ndarray) -> np.ndarray:
    """Heat that a way passes to each cell beside it, W."""
    return np.asarray(way.conductance * (inputs.a[way.values] * T[way.beside] + inputs.b[way.values]))


def _open_face(terms: Terms, number: int) -> Way:
    beside = boundary_cells(number)
    entries = wall_entries(terms, number)
    kinds = np.zeros(entries.shape, np.intp) if terms.kinds is None else terms.kinds[beside]
    return Way(number, beside, terms.conductances()[number][kinds], entries)


def _ambient(terms: Terms, taps: TappedFaces, owner: int) -> Way:
    """The way to an ambient: a cell with several faces to it is there once."""
    mine = taps.owners == owner
    cells, face = np.unique(taps.cells[mine], return_inverse=True)
    conductance = np.bincount(face, terms.conductances().reshape(-1)[taps.entries[mine]])
    values = np.full(len(cells), terms.wall_size + owner)
    return Way(6 + owner, np.unravel_index(cells, terms.shape), conductance, values)
