"""`heatsim verify` as the command line calls it."""

from __future__ import annotations

import json
import shlex
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from heatsim.base.tables import Tell, check_folders
from heatsim.errors import NoGpuError, RequestError
from heatsim.simulation import device_selection
from heatsim.studies.verification import report
from heatsim.studies.verification.judgement import VerificationProblem
from heatsim.studies.verification.problem_runs import ProblemOutcome, verify_problem
from heatsim.studies.verification.problems import PROBLEMS

OUT_OF_TOLERANCE, REFUSED = 5, 2  # exit codes


def run(asked: dict[str, Any], tell: Tell) -> int:
    """Do what was asked for; the exit code is 5 if a problem failed. Raises `HeatsimError`, OSError."""
    wanted = choose_problems(asked["names"], asked["quick"])
    if asked["only_list"]:
        print("\n".join(f"{problem.name:28}{problem.source}" for problem in wanted))
        return 0
    if asked["write"] is not None and asked["names"]:
        raise RequestError("--write: the table is that of all problems, so none may be named")
    check_folders((asked["write"],))
    device = _device_name(asked["device"])
    outcomes = _verify_all(wanted, asked, device, tell)
    if asked["as_json"]:
        print(json.dumps(report.as_json(outcomes, device, asked["precision"]), indent=2))
    else:
        report.print_outcomes(outcomes)
        print(f"{report.count_in_words(outcomes)} ({device}, {asked['precision']})")
    for outcome in outcomes:
        if outcome.state == "failed" and outcome.reason:
            tell(f"error: {outcome.problem.name}: {outcome.reason}")
    if asked["write"] is not None:
        command = command_line(asked)
        report.write_document(asked["write"], outcomes, command, device, asked["precision"], _about())
    return exit_code(outcomes, demanded=bool(asked["names"]))


def choose_problems(names: Sequence[str], quick: bool) -> list[VerificationProblem]:
    """The problems of these names, or all; of these the quick ones. Raises RequestError for an unknown name."""
    known = {problem.name: problem for problem in PROBLEMS}
    for name in names:
        if name not in known:
            raise RequestError(f"{name}: not a problem; `heatsim verify --list` names them")
    wanted = [known[name] for name in dict.fromkeys(names)] or list(PROBLEMS)
    return [problem for problem in wanted if problem.quick or not quick]


def exit_code(outcomes: Sequence[ProblemOutcome], demanded: bool) -> int:
    """5 if a problem failed, 2 if one that was demanded by name cannot be judged, else 0."""
    if any(outcome.state == "failed" for outcome in outcomes):
        return OUT_OF_TOLERANCE
    return REFUSED if demanded and any(outcome.state == "needs" for outcome in outcomes) else 0


def _verify_all(
    wanted: Sequence[VerificationProblem], asked: dict[str, Any], device: str, tell: Tell
) -> list[ProblemOutcome]:
    output, precision = asked["output"], asked["precision"]
    outcomes = []
    for problem in wanted:
        tell(f"{problem.name} ...")
        with tempfile.TemporaryDirectory() as scratch:
            folder = output / problem.name if output else Path(scratch)
            outcomes.append(verify_problem(problem, folder, asked["device"], precision))
        if output and outcomes[-1].judgement.panels:
            report.draw_outcome(output / f"{problem.name}.png", outcomes[-1], device, precision)
    return outcomes


def _device_name(device: str) -> str:
    """The name of the device of the runs. Raises NoGpuError where a GPU is demanded and missing."""
    if device == "cuda":
        return device_selection.gpu_name()
    if device == "cpu":
        return "CPU"
    try:
        return f"{device_selection.gpu_name()}, small grids on the CPU"
    except NoGpuError:
        return "CPU"


def command_line(asked: dict[str, Any]) -> str:
    """The command that does this again."""
    words = ["heatsim", "verify", "--device", asked["device"], "--precision", asked["precision"]]
    words += ["--quick"] * asked["quick"]
    return " ".join(map(shlex.quote, [*words, "--write", asked["write"].as_posix()]))


def _about() -> str:
    from heatsim.simulation.run_info import list_versions

    found = list_versions()
    versions_text = ", ".join(f"{name} {found[name]}" for name in ("heatsim", "python", "numpy", "numba", "numba-cuda"))
    return f"{datetime.now(UTC).date().isoformat()}; {versions_text}."
