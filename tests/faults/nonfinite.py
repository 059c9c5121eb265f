"""Values that are not finite, planted in running problems, and steps beyond the stability limit: each run ends in time.

`python -m faults.nonfinite --planted 800 --unstable 200` (from tests/) prints the counts; `make faults` calls it.
"""

from __future__ import annotations

import random
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import heatsim
from faults.cases import CASES, without_pictures, write_case
from faults.kills import numbers_asked_for, report
from heatsim.errors import HeatsimError, NotFiniteError
from heatsim.problem import Problem, build_problem
from heatsim.scenario import Scenario
from heatsim.simulation import preparing, time_loop, watched_steps
from heatsim.simulation.run import run_scenario
from heatsim.solve.integrators import start_integrator
from heatsim.solve.state import State
from heatsim.store.checkpoints import read_checkpoint
from heatsim.store.folder import RunFolder
from heatsim.store.snapshots import read_snapshot

MOST_STEPS = 100  # after the fault, until which it has to be found
VALUES = np.nan, np.inf, -np.inf
MANY_BATCHES = 10_000  # more than a case takes
# Euler's, which take the step that they are given; one whose faces are fixed grows beyond all bounds.
UNSTABLE = "euler", "euler in float64"
PLACE = re.compile(r"at step (\d+), t = \S+ s, x, y, z = \S+, \S+, \S+ m")


class Planted:
    """The step control of a run in which a cell is spoilt after so many batches of steps.

    step: after which that was, None before it.
    """

    def __init__(self, state: State, batches: int, chance: random.Random) -> None:
        self._control, self._state, self._left, self._chance = start_integrator(state), state, batches, chance
        self.step: int | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._control, name)

    def advance(self, target: float) -> Iterator[None]:
        """Steps to a time."""
        for _ in self._control.advance(target):
            self._left -= 1
            if self._left == 0:
                self.step = self._state.step
                self._spoil()
            yield

    def _spoil(self) -> None:
        saved = {name: np.array(values) for name, values in self._state.field.saved().items()}
        coefficients = self._state.problem.coefficients
        ids = coefficients.class_ids.ravel()
        solved = np.flatnonzero(coefficients.capacity[ids] > 0)
        saved["stored"].reshape(-1)[self._chance.choice(solved)] = self._chance.choice(VALUES)
        self._state.field.restore(saved)


def not_finite_in(run: Path) -> int:
    """How many checkpoints and snapshots of a run hold what is not finite."""
    folder = RunFolder(run)
    found = [read_snapshot(path).temperature for path in folder.snapshot_paths()]
    found += [read_checkpoint(path).state["run"]["field"]["stored"] for path in folder.checkpoints if path.exists()]
    return sum(not np.isfinite(values).all() for values in found)


def run_spoilt(path: Path, run: Path, batches: int, chance: random.Random, counts: Counter[str]) -> None:
    """Run a scenario in which a cell is spoilt on the way, and count how that ends. batches: about how many it takes,
    which depends on how fast they are; a run that has fewer is run again."""
    controls: list[Planted] = []

    def start(state: State) -> Planted:
        controls.append(Planted(state, chance.randint(1, batches), chance))
        return controls[-1]

    while not controls or controls[-1].step is None:
        found = Counter[str]()
        with (
            mock.patch.object(time_loop, "start_integrator", start),
            mock.patch.object(watched_steps, "start_integrator", start),
        ):
            count_end(path, run, found, lambda: controls[-1].step or 0)
    counts.update(found)


def run_unstable(path: Path, run: Path, factor: float, counts: Counter[str]) -> None:
    """Run a scenario in steps so many times as long as the largest, and count how that ends."""

    def build(scenario: Scenario, reference: float | None = None, hottest: float = 0.0) -> Problem:
        problem = build_problem(scenario, reference, hottest)
        return replace(problem, largest_step=factor * problem.largest_step)

    with mock.patch.object(preparing, "build_problem", build):
        count_end(path, run, counts, None)


def count_end(path: Path, run: Path, counts: Counter[str], spoilt: Callable[[], int] | None) -> None:
    """Run a scenario and count how it ends. spoilt: tells after which step it was."""
    try:
        run_scenario(heatsim.load(path), run)
        counts["not found"] += 1
    except NotFiniteError as error:
        told = PLACE.search(str(error))
        counts["stopped"] += 1
        counts["place or time not told"] += told is None
        counts[f"later than {MOST_STEPS} steps"] += bool(told and spoilt and int(told[1]) > spoilt() + MOST_STEPS)
    except HeatsimError as error:
        counts["other errors"] += 1
        print(f"  {error}")
    counts["files that hold what is not finite"] += not_finite_in(run)
    shutil.rmtree(run)


def batches_of(path: Path, run: Path) -> int:
    """The batches of steps that a run takes."""
    counted: list[Planted] = []

    def start(state: State) -> Planted:
        counted.append(Planted(state, MANY_BATCHES, random.Random(0)))
        return counted[0]

    with (
        mock.patch.object(time_loop, "start_integrator", start),
        mock.patch.object(watched_steps, "start_integrator", start),
    ):
        run_scenario(heatsim.load(path), run)
    shutil.rmtree(run)
    return MANY_BATCHES - counted[0]._left


def faults(planted: int, unstable: int, seed: int = 1, names: tuple[str, ...] = tuple(CASES)) -> Counter[str]:
    """So many cells spoilt, spread over the cases, and so many runs in steps that are too long; what is counted."""
    chance, counts = (
        random.Random(seed),
        Counter({"cells spoilt": planted, "unstable runs": unstable, "stopped": 0, "not found": 0}),
    )
    with tempfile.TemporaryDirectory() as folder, np.errstate(all="ignore"):
        run = Path(folder) / "run"
        for number, name in enumerate(names):
            path = write_case(Path(folder) / str(number), without_pictures(CASES[name]))
            batches = batches_of(path, run)
            for _ in range(number, planted, len(names)):
                run_spoilt(path, run, batches, chance, counts)
        for number in range(unstable):
            text = without_pictures(CASES[UNSTABLE[number % 2]]).replace("end = 0.6", "end = 60.0")
            run_unstable(write_case(Path(folder) / "unstable", text), run, chance.uniform(3.0, 30.0), counts)
    return counts


if __name__ == "__main__":
    given = numbers_asked_for(planted=800, unstable=200, seed=1)
    report("values that are not finite, and unstable steps", faults(given.planted, given.unstable, given.seed))
