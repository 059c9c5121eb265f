"""Runs heatsim on a problem and judges its temperatures by the reference.

What is promised: an error in time of `time.tolerance` of the range of temperatures so far (docs/guide/time.md), and
what tables leave, LOCAL of the temperature itself. `euler` by name has no error control: it may be off by twice what
explicit Euler with steps as large is off in the reference.
float32 adds a few last places of the offset. A difference beyond that has to be told of: by a warning, or by an error
that the command ends with. That a table's last value holds beyond its end is told of problems that are right, too; it
does not count.
"""

from __future__ import annotations

import re
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from heatsim import load
from heatsim.errors import HeatsimError
from heatsim.simulation.run import run_scenario
from random_problems.generator import Generated
from random_problems.materials import Table
from random_problems.network import ABSOLUTE_ZERO, Network
from random_problems.reference import Solution, euler

TOLERANCE, STEADY = 1e-3, 1e-5
MOST_EULER_STEPS = 50000  # that are repeated
LOCAL = 1e-4
LAST_PLACES = {"float32": 2e-6, "float64": 1e-12}  # of the largest offset
MAX_RESIDUAL = {"float32": 1e-3, "float64": 1e-6}  # of the ledger, relative
LIMIT = 5.0  # s of the processor in a run
LEFT = re.compile(r"materials\.(\w+): .* was reached, and its properties are known")
VERDICTS = ("within", "told", "refused", "ended", "WRONG", "ledger", "traceback", "slow")


@dataclass
class Judgement:
    """verdict: one of VERDICTS. worst: the largest difference over what is allowed. difference, allowed: K, there, at
    `time`, s. said: what heatsim told."""

    verdict: str
    worst: float = np.nan
    difference: float = np.nan
    allowed: float = np.nan
    time: float = np.nan
    residual: float = np.nan  # of the ledger, over the heat that moved, to and fro
    integrator: str = ""
    steps: int = 0
    largest: float = 0.0
    seconds: float = 0.0
    said: list[str] = field(default_factory=list)


def judge(made: Generated, solution: Solution, folder: Path) -> Judgement:
    """Run a problem, whose files are in the folder, and judge it."""
    said: list[str] = []
    begun = time.process_time()
    first: list[float] = []

    def on_progress(progress: object) -> bool:
        first.append(time.process_time())
        return first[-1] - first[0] < LIMIT

    found = Judgement("traceback", said=said)
    try:
        scenario = load(folder / "scenario.toml")
        run = run_scenario(
            scenario, folder / "run", force=True, on_progress=on_progress,
            on_warnings=lambda warnings: said.extend(map(str, warnings)),
        )  # fmt: skip
    except HeatsimError as error:
        found.verdict = "refused" if error.exit_code == 2 else "ended"
        said.append(str(error))
    except Exception:
        said.append(traceback.format_exc())
    else:
        said += run.info["warnings"]
        found.integrator = run.info["integrator"]
        found.largest = run.info["largest_step_seconds"]
        found.steps = run.info["steps"]
        found.residual = _residual(run.info["energy"], Network(made.document, folder), solution)
        if run.finished:
            _compare(made, solution, folder, found)
        else:
            found.verdict = "slow"
    found.seconds = time.process_time() - begun
    return found


def _compare(made: Generated, solution: Solution, folder: Path, found: Judgement) -> None:
    document = made.document
    zero, precision = ABSOLUTE_ZERO[document["temperature_unit"]], document["compute"]["precision"]
    with h5py.File(folder / "run" / "run.vtkhdf") as file:
        times, fields = file["time"][()], np.array(file["temperature"][()], float)
    fields = fields.reshape(len(times), -1) - zero
    if made.times:
        rows = [int(np.argmin(np.abs(times - at))) for at in made.times]
        assert np.allclose(times[rows], made.times, rtol=0, atol=1e-6 * made.times[-1]), "a time is missing"
        fields = fields[rows]
    asked = document["time"].get("tolerance", STEADY if found.integrator == "steady" else TOLERANCE)
    rounding = LAST_PLACES[precision] * (solution.most - solution.least + abs(solution.most))
    allowed = asked * solution.span[:, None] + LOCAL * np.abs(solution.temperatures) + rounding
    difference = np.abs(fields - solution.temperatures)
    if (difference > allowed).any() and document["time"]["integrator"] == "euler":
        allowed = allowed + _euler_error(made, solution, folder, found.largest, found.steps)
    ratio = np.where(np.isfinite(difference), difference / allowed, np.inf)
    at = np.unravel_index(int(np.argmax(ratio)), ratio.shape)
    found.worst, found.difference, found.allowed = float(ratio[at]), float(difference[at]), float(allowed[at])
    found.time = float(solution.times[at[0]])
    tells = [each for each in found.said if not _is_of_tables(each, document)]
    if found.worst > 1.0:
        found.verdict = "told" if tells else "WRONG"
    else:
        found.verdict = "ledger" if found.residual > MAX_RESIDUAL[precision] and not tells else "within"


def _residual(energy: dict[str, Any], network: Network, solution: Solution) -> float:
    """What the ledger lacks, over what moved; where heat goes to and fro, over what cells held more or less meanwhile,
    which is more than what they have in the end."""
    lost, share = abs(energy["residual"]), abs(energy["relative_residual"])
    moved = lost / share if share > 0 else 0.0
    if np.isfinite(solution.times[-1]):
        held = network.enthalpy(network.initial)
        swings = [np.abs(network.enthalpy(T) - held) @ network.volume for T in solution.temperatures]
        moved = max(moved, *swings)
    return float(lost / moved) if moved > 0 else 0.0


def _euler_error(made: Generated, solution: Solution, folder: Path, largest: float, steps: int) -> np.ndarray | float:
    if steps > MOST_EULER_STEPS:
        return 0.0
    repeated = euler(made.document, folder, made.times, made.restarts, largest)
    return np.maximum.accumulate(2.0 * np.abs(repeated - solution.temperatures).max(axis=1))[:, None]


def _is_of_tables(warning: str, document: Table) -> bool:
    """Whether it is that the temperature left the tables that the scenario has of a material."""
    left = LEFT.search(warning)
    given = document.get("materials", {}).get(left.group(1), {}) if left else {}
    return left is not None and not any(isinstance(value, str) for value in given.values())
