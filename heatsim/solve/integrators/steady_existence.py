"""Whether there is a steady state: what iterations that find none say of it, and whether one that they find is stable.

Sources that grow with temperature may release more heat than can leave at any temperature, sinks may take more than
there is, and a balance may be one that the smallest disturbance leaves. At a balance with the operator A of all that
ties the body to its surroundings, and G the slope of the sources over temperature, W/K in each cell, a disturbance
grows if the largest eigenvalue of A^-1 G is above 1. Its entries are not negative, so that powers of it lead there
(Perron and Frobenius), and the ratios of one to the next bound it from both sides (Collatz and Wielandt).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from heatsim.errors import NoSteadyStateError, RunawayError
from heatsim.solve.integrators.linearised import MAX_SOLVER_ITERATIONS
from heatsim.solve.ranks.solver import make_solver

if TYPE_CHECKING:
    from heatsim_kernels.solver.operator import MultigridKernels, Operator

    from heatsim.problem import Problem

MAX_COLD_ITERATIONS = 10  # in which the mean temperature lies below absolute zero
POWERS = 30  # of A^-1 G that are looked at
POWER_RESIDUAL = 1e-6  # of the solves of these
DISTURBANCE = 1e-3  # K, of the hottest place, by which the balance itself is asked whether it grows


class DivergenceWatch:
    """What iterations on a steady state saw, in the words of an error. Temperatures are offsets from the reference."""

    def __init__(self, problem: Problem, solved: np.ndarray) -> None:
        """solved: (nz, ny, nx) which cells are."""
        self._problem, self._solved = problem, solved
        self._closest, self._missing, self._hottest = np.inf, 0.0, np.nan
        self._cold = 0

    def look(self, T: np.ndarray, imbalance: float, missing: float) -> None:
        """At an iterate; imbalance: the share of the heat that is missing, missing: that heat, W. Raises
        `NoSteadyStateError` where iterations lie below absolute zero too often."""
        scenario, reference = self._problem.scenario, self._problem.reference
        cold = scenario.solved.is_temperature and float(T[self._solved].mean()) + reference < scenario.zero
        if imbalance < self._closest and np.isfinite(missing) and not cold:
            self._closest, self._missing, self._hottest = imbalance, missing, float(T[self._solved].max())
        self._cold += cold
        if self._cold > MAX_COLD_ITERATIONS:
            raise NoSteadyStateError("sinks take more heat than can come, down to absolute zero")

    def error(self) -> NoSteadyStateError:
        """That of iterations that come to no balance."""
        problem = self._problem
        if not np.isfinite(self._closest):
            return NoSteadyStateError("the power of a source is no finite number at the initial temperature")
        at = f"closest with {self._hottest + problem.reference:.6g} {problem.scenario.unit} at the hottest place, where"
        if self._missing > 0:
            return NoSteadyStateError(
                f"more heat is released than can leave: {at} {self._missing:.4g} W stay ({self._closest:.2g} of what "
                "passes). Sources that grow with temperature run away, perhaps from this initial temperature alone, or "
                "what ties the body to its surroundings vanishes"
            )
        return NoSteadyStateError(
            f"more heat leaves than is released: {at} {-self._missing:.4g} W are missing ({self._closest:.2g} of what "
            "passes)"
        )

    @contextmanager
    def naming_runaways(self, *, expected: bool = False) -> Iterator[None]:
        """Sources beyond all numbers are those of a steady state that does not exist, or passed over if `expected`."""
        try:
            yield
        except RunawayError:
            if not expected:
                raise self.error() from None


def require_stable(
    operator: Operator,
    growth: np.ndarray,
    kernels: MultigridKernels,
    missing: Callable[[np.ndarray], np.ndarray],
) -> None:
    """Raise `NoSteadyStateError` for a balance that the smallest disturbance leaves.

    operator: A; growth: G, (nz, ny, nx) W/K; missing: the heat that is missing in each cell, W, if the temperatures of
    the balance are changed by so much, K.
    """
    mode = growing_mode(operator, growth, kernels)
    if mode is None:
        return
    disturbance = DISTURBANCE * mode / float(mode.max())
    pushed = float(np.vdot(mode, missing(disturbance) - missing(-disturbance)))
    if pushed > 0:  # the balance itself, whose slopes have conductivities and films in T besides
        raise NoSteadyStateError(
            "heat balances at a state that the smallest disturbance leaves, as sources that depend on temperature grow "
            "faster with it than what the surroundings take. Start from another initial temperature to look for a "
            "stable one"
        )


def growing_mode(operator: Operator, growth: np.ndarray, kernels: MultigridKernels) -> np.ndarray | None:
    """The shape of a disturbance that grows, (nz, ny, nx), positive; None if none does."""
    solver, mode = make_solver(operator, kernels), np.ones(operator.shape)
    heated = growth > 0
    for _ in range(POWERS):
        heat = growth * mode
        found = solver.solve(heat, tolerance=POWER_RESIDUAL, max_iterations=MAX_SOLVER_ITERATIONS)
        following = np.abs(np.asarray(kernels.get(found.x)))
        rate = float(np.vdot(heat, following) / np.vdot(heat, mode))
        if float((following[heated] / mode[heated]).max()) < 1.0:
            return None
        mode = np.asarray(following / float(following.max()))
        if rate > 1.0:
            return mode
    return None
