"""The linear solver of a run over several ranks, as the first rank sees it, and its part on each rank.

The first rank has the heat balance of the whole grid. It hands operators and right-hand sides out to the slabs and
takes solutions back: see `heatsim_kernels.solver.slabs`.
"""

from __future__ import annotations

import weakref
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from heatsim_kernels.solver.operator import MultigridKernels, Operator
from heatsim_kernels.solver.slabs import SlabKernels, SlabPlan, SlabValues, plan_slabs
from heatsim_kernels.solver.solver import SINGULAR, Solution, Solver

from heatsim.solve.ranks import joined_ranks
from heatsim.solve.ranks.links import MpiLinks

if TYPE_CHECKING:
    from mpi4py import MPI

    from heatsim.solve.ranks.parts import Ranks

PARTS = "gx", "gy", "gz", "s"  # of an operator


class SolverInputs(NamedTuple):
    """What a rank makes its part of a solver of: how the grid is cut, and along which axes it is periodic."""

    plan: SlabPlan
    periodic: tuple[bool, bool, bool]

    def part(self, comm: MPI.Intracomm) -> SolverPart:
        """The part of this rank."""
        return SolverPart(comm, self)


class SolverPart:
    """The solver on one rank. Each method is called on all ranks; arrays of the whole grid count on the first one, and
    are None on the others."""

    def __init__(self, comm: MPI.Intracomm, inputs: SolverInputs) -> None:
        self._links, self._periodic = MpiLinks(comm, inputs.plan.slabs), inputs.periodic
        self._kernels = SlabKernels(self._links, inputs.plan.depth)
        self._solver: Solver | None = None

    def prepare(self, arrays: tuple[np.ndarray | None, ...], dtype: str) -> None:
        """Prepare for an operator."""
        self._solver = Solver(self._operator(arrays, dtype), self._kernels)

    def approach(self, arrays: tuple[np.ndarray | None, ...], dtype: str) -> None:
        """Solve for another operator: see `Solver`."""
        self._made.approach(self._operator(arrays, dtype))

    def set_outside(self, s: np.ndarray | None, dtype: str) -> None:
        """Take another `s`: see `Solver`."""
        self._made.set_outside(self._mine(s, dtype))

    def solve(self, b: np.ndarray | None, guess: np.ndarray | None, guessed: bool, limits: dict[str, Any]) -> Solution:
        """Solve: see `Solver`; x is the whole one."""
        start = self._mine(guess, "float64") if guessed else None
        found = self._made.solve(self._mine(b, "float64"), start, **limits)
        return replace(found, x=self._links.gather(found.x.own))

    def finest(self) -> tuple[np.ndarray | None, ...]:
        """The arrays of `Solver.preconditioned_operator`."""
        operator = self._made.preconditioned_operator()
        return tuple(getattr(operator, name) for name in PARTS)

    @property
    def _made(self) -> Solver:
        assert self._solver is not None
        return self._solver

    def _operator(self, arrays: tuple[np.ndarray | None, ...], dtype: str) -> Operator:
        values: Any = {name: self._mine(whole, dtype) for name, whole in zip(PARTS, arrays, strict=True)}
        return Operator(**values, periodic=self._periodic)

    def _mine(self, whole: np.ndarray | None, dtype: str) -> SlabValues:
        values = self._kernels.field(self._links.slab.cells, np.dtype(dtype))
        values.values[...] = self._links.scatter(whole, np.dtype(dtype))  # with the planes of the neighbours
        values.clear_beyond()
        return values


class RanksSolver:
    """A `Solver` of arrays of the whole grid, which computes on all ranks."""

    def __init__(self, ranks: Ranks, plan: SlabPlan, operator: Operator) -> None:
        """Raises `ValueError` for a singular operator."""
        self._ranks, self.operator = ranks, operator
        self._number = ranks.make_parts([SolverInputs(plan, operator.periodic)] * ranks.size)
        weakref.finalize(self, ranks.forget, self._number)
        self._send("prepare", operator)

    def preconditioned_operator(self) -> Operator:
        """The operator that solves are preconditioned for: see `Solver`."""
        found = self._ranks.call(self._number, "finest")
        return replace(self.operator, **dict(zip(PARTS, found, strict=True)))

    def approach(self, operator: Operator) -> None:
        """Solve for another operator, preconditioned for the one before."""
        self._send("approach", operator)

    def set_outside(self, s: np.ndarray) -> None:
        """Take another `s`."""
        self.operator = _grounded(replace(self.operator, s=s))
        self._call("set_outside", (s, s.dtype.name), (None, s.dtype.name))

    def solve(self, b: np.ndarray, guess: np.ndarray | None = None, **limits: Any) -> Solution:
        """Solve A x = b: see `Solver`."""
        guessed = guess is not None
        return self._call("solve", (b, guess, guessed, limits), (None, None, guessed, limits))  # type: ignore[no-any-return]

    def _send(self, method: str, operator: Operator) -> None:
        self.operator = _grounded(operator)
        dtype = operator.s.dtype.name
        mine = tuple(getattr(operator, name) for name in PARTS)
        self._call(method, (mine, dtype), ((None,) * len(mine), dtype))

    def _call(self, method: str, first: tuple[Any, ...], others: tuple[Any, ...]) -> Any:
        return self._ranks.call(self._number, method, *others, first=first)


def _grounded(operator: Operator) -> Operator:
    """On the first rank, before all others would fail."""
    if not operator.grounded:
        raise ValueError(SINGULAR)
    return operator


def make_solver(operator: Operator, kernels: MultigridKernels) -> Solver | RanksSolver:
    """The solver of a run: over all its ranks, where there are several and the grid can be cut, else of the device that
    has these kernels."""
    ranks = joined_ranks()
    plan = None if ranks is None else plan_slabs(operator.shape, ranks.size, operator.periodic[2])
    return Solver(operator, kernels) if ranks is None or plan is None else RanksSolver(ranks, plan, operator)
