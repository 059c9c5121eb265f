"""Problems with known answers, run and judged one after another."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from heatsim.errors import HeatsimError
from heatsim.scenario import Scenario, load
from heatsim.scenario.material_library import shipped_folder
from heatsim.studies.verification.finished import FinishedRun
from heatsim.studies.verification.judgement import Judgement, ValueCheck, VerificationProblem
from heatsim.studies.verification.refinement import RefinementLevel, overrides

MAX_LEDGER_RESIDUAL = {"float64": 1e-9, "float32": 1e-4}  # relative residual of the energy ledger that is rounding
NOT_JUDGED = Judgement(())


@dataclass(frozen=True)
class ProblemOutcome:
    """How a problem went: `reason` is why it failed without being judged, or what it needs."""

    problem: VerificationProblem
    title: str
    state: Literal["passed", "failed", "needs"]
    judgement: Judgement = NOT_JUDGED
    reason: str = ""
    seconds: float = 0.0


def scenario_file(name: str) -> Path:
    """The scenario of a problem."""
    return shipped_folder("verify") / f"{name}.toml"


def verify_problem(problem: VerificationProblem, folder: Path, device: str, precision: str) -> ProblemOutcome:
    """Run a problem in `folder` and judge it. What goes wrong is part of the outcome."""
    begun = time.perf_counter()
    title = ""
    try:
        first = load(scenario_file(problem.name), _compute(device, precision))
        title = first.title
        if precision == "float32" and problem.exact:
            return ProblemOutcome(problem, title, "needs", reason="float64")
        runs = [run_level(first, level, folder, device, precision) for level in problem.levels]
        judged = problem.judge(runs)
    except HeatsimError as error:
        return ProblemOutcome(problem, title, "failed", reason=str(error), seconds=time.perf_counter() - begun)
    judgement = Judgement([*judged.checks, ledger_check(runs, precision)], judged.panels)
    state: Literal["passed", "failed"] = "passed" if all(check.passed for check in judgement.checks) else "failed"
    return ProblemOutcome(problem, title, state, judgement, seconds=time.perf_counter() - begun)


def run_level(scenario: Scenario, level: RefinementLevel, folder: Path, device: str, precision: str) -> FinishedRun:
    """The scenario of a file on a level, run into a folder of its own under `folder`."""
    from heatsim.simulation import run as runs

    refined = load(str(scenario.path), [*_compute(device, precision), *overrides(scenario, level)])
    place = folder / f"grid_{level.grid}_step_{level.step}"
    finished = runs.run_scenario(refined, place, force=True)
    return FinishedRun(refined, finished.path, finished.info, level.grid, level.step)


def ledger_check(runs: Sequence[FinishedRun], precision: str) -> ValueCheck:
    """The check that no run made or lost energy."""
    return ValueCheck(
        "energy ledger, relative", 0.0, max((run.ledger for run in runs), key=abs), MAX_LEDGER_RESIDUAL[precision]
    )


def _compute(device: str, precision: str) -> list[str]:
    return [f"compute.device={device}", f"compute.precision={precision}"]
