"""Explicit runs for the physics tests: in memory, without a folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from heatsim.problem import Problem, build_problem
from heatsim.scenario import loads
from heatsim.simulation.time_loop import Timings, simulate
from heatsim.solve.integrators import make_field
from heatsim.solve.ledger import EnergyBalance
from heatsim.solve.state import State
from helpers import scenario_texts
from helpers.scenario_texts import Face

Run = Callable[..., "RunOutcome"]

AXES = ("x", "y", "z")
FACES = ("x_min", "x_max", "y_min", "y_max", "z_min", "z_max")
SAFETY = 0.9  # step = "auto" takes this part of the limit

case = partial(scenario_texts.case, integrator="euler", step="auto")


def both(axis: str, face: Face) -> dict[str, Face]:
    return {f"{axis}_min": face, f"{axis}_max": face}


@dataclass(frozen=True)
class RunOutcome:
    """A finished run."""

    problem: Problem
    state: State

    @property
    def temperature(self) -> np.ndarray:
        """(nz, ny, nx) degC."""
        return self.state.temperature()

    @property
    def initial(self) -> np.ndarray:
        """(nz, ny, nx) degC."""
        return np.stack(list(self.problem.initial.planes()))

    @property
    def energy(self) -> EnergyBalance:
        return self.state.energy

    @property
    def dt(self) -> float:
        """The step of a run without events before its end, s."""
        return self.state.time / self.state.step

    def points(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Cell centres x (1, 1, nx), y (1, ny, 1), z (nz, 1, 1), m."""
        x, y, z = (self.problem.grid.centres(axis) for axis in AXES)
        return x[None, None, :], y[None, :, None], z[:, None, None]


@dataclass
class Recording:
    """A recorder that keeps in memory what `look` sees of the state at `times`."""

    times: tuple[float, ...]
    look: Callable[[State], Any]
    seen: list[Any] = field(default_factory=list)
    checks_finite_itself: bool = False

    def __post_init__(self) -> None:
        self.times = tuple(self.times)  # which may come as a list

    def record(self, state: State) -> None:
        self.seen.append(self.look(state))

    def state(self) -> dict[str, int]:
        return {"seen": len(self.seen)}

    def restore(self, saved: dict[str, int]) -> None:
        del self.seen[saved["seen"] :]

    def close(self, finished: bool) -> None:
        """Nothing is open."""


def problem_of(text: str) -> Problem:
    return build_problem(loads(text))


def run(text: str, kernel: str = "cpu", recorders: Sequence[Recording] = ()) -> RunOutcome:
    """Run a scenario to its end in memory."""
    problem = problem_of(text)
    state = State(problem, make_field(problem, kernel))
    simulate(state, recorders, Timings())
    return RunOutcome(problem, state)


def observed_order(spacings: Sequence[float], errors: Sequence[float]) -> float:
    """Slope of log error over log spacing by least squares."""
    return float(np.polyfit(np.log(spacings), np.log(errors), 1)[0])


def rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(values**2)))
