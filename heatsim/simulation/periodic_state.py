"""The periodic state of a body whose inputs repeat, from which a run with `time.periodic` starts.

A period takes a field u to g(u), by the integrator of the run. The periodic state is where g(u) = u. Periods that
follow one another lead there no faster than the body forgets its start: the ground below a house takes decades. So each
period starts from a combination of the last few, by Anderson's acceleration (J. ACM 12 (1965) 547; Walker and Ni, SIAM
J. Numer. Anal. 49 (2011) 1715), which in a linear body converges as GMRES does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import nan
from typing import Any, NamedTuple

import numpy as np
from heatsim_kernels.device.log import log

from heatsim.base.methods import DEFAULT_TOLERANCE
from heatsim.errors import NotSettledError
from heatsim.problem import Problem
from heatsim.simulation.time_loop import Progress, ProgressCallback, stops
from heatsim.solve.integrators import make_field, start_integrator
from heatsim.solve.integrators.step_control import require_finite
from heatsim.solve.state import State

MAX_PERIODS = 60
EXPECTED_PERIODS = 8  # that a search takes, about: 4 to 12 for walls, ground and radiating faces
REMEMBERED = 5  # periods that the next start is combined of
LEAST_PIVOT = 1e-12  # of the combination: periods that tell nothing new take no part


class PeriodicState(NamedTuple):
    """start: (nz, ny, nx) offsets from the reference at t = 0, K; changes: how far each period missed its start, and
    the next start the last one, whichever is more, K."""

    start: np.ndarray
    changes: list[float]


def find_periodic_state(
    problem: Problem,
    kernel: str,
    on_progress: ProgressCallback,
    known: Mapping[str, Any] | None = None,
    keep: Callable[[dict[str, Any]], None] = lambda search: None,
) -> PeriodicState | None:
    """Take periods until one ends where it started, to the tolerance of the run; None where `on_progress` stops it.

    keep: is given what is known after each period, numbers, lists and arrays; known: that, to go on with. Raises
    `NotSettledError` after MAX_PERIODS.
    """
    control = problem.scenario.time
    assert control.periodic is not None
    coefficients = problem.coefficients
    solved = np.broadcast_to(coefficients.spread_over_cells(coefficients.capacity) > 0, coefficients.shape)
    start = np.stack(list(problem.initial_planes())).astype(np.float64)
    combination, changes, wanted = _Combination(), list[float](), nan
    if known is not None:
        start, changes, wanted = known["start"], list(known["changes"]), known["wanted"]
        combination = _Combination(known["starts"], known["missed"])
    while len(changes) < MAX_PERIODS:
        told = f"periodic state: period {len(changes) + 1}"
        if changes:
            told += f", the last one missed its start by {changes[-1]:.3g} K, {wanted:.3g} K wanted"
        end = _after_a_period(problem, kernel, start, control.periodic, on_progress, told)
        if end is None:
            return None
        missed = np.where(solved, end - start, 0.0)
        low, high = (float(each(end, where=solved, initial=start[solved][0])) for each in (np.min, np.max))
        extent = max(high - low, float(np.ptp(start[solved])), 1e-9)
        following = np.clip(combination.next(start, missed), low - extent, high + extent)
        following = np.where(solved, following, start)
        changes.append(float(max(np.abs(missed).max(), np.abs(following - start).max())))
        log.info("periodic state: period %d missed its start by up to %.3g K", len(changes), changes[-1])
        start, wanted = following, (control.tolerance or DEFAULT_TOLERANCE) * extent
        keep({"start": start, "changes": changes, "wanted": wanted, **combination.state()})
        if changes[-1] <= wanted:
            return PeriodicState(start, changes)
    raise NotSettledError(control.periodic, changes)


def _after_a_period(
    problem: Problem, kernel: str, start: np.ndarray, period: float, on_progress: ProgressCallback, told: str
) -> np.ndarray | None:
    """The field after a period from t = 0 on; None where it was stopped. told: what the progress says."""
    state = State(problem, make_field(problem, kernel), start)
    cells, end = problem.grid.cells, problem.scenario.time.end
    with np.errstate(over="ignore", invalid="ignore"):
        steps = start_integrator(state)
        for _ in steps.advance(period):
            phase = f"{told}, t = {state.time:.4g} of {period:.4g} s"
            if stops(on_progress(Progress(0.0, end, 0, cells, phase=phase))):
                return None
        require_finite(state.field.is_finite(), state)
    return np.asarray(state.field.host(), np.float64)


class _Combination:
    """Starts, and by how much each was missed: the last few."""

    def __init__(self, starts: Sequence[np.ndarray] = (), missed: Sequence[np.ndarray] = ()) -> None:
        self._starts, self._missed = list(starts), list(missed)

    def state(self) -> dict[str, list[np.ndarray]]:
        """What another one goes on with."""
        return {"starts": self._starts, "missed": self._missed}

    def next(self, start: np.ndarray, missed: np.ndarray) -> np.ndarray:
        """The start from which the next period would miss least, if the body were linear."""
        self._starts, self._missed = [*self._starts, start][-REMEMBERED:], [*self._missed, missed][-REMEMBERED:]
        differences = [later - earlier for earlier, later in zip(self._missed, self._missed[1:], strict=False)]
        found: np.ndarray = start + missed
        if not differences:
            return found
        products = np.array([[np.vdot(a, b) for b in differences] for a in differences])
        sides = np.array([np.vdot(each, missed) for each in differences])
        shares = np.linalg.lstsq(products, sides, rcond=LEAST_PIVOT)[0]
        for share, difference, earlier, later in zip(shares, differences, self._starts, self._starts[1:], strict=False):
            found -= share * (later - earlier + difference)
        return found
