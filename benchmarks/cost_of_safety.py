"""Measure what a run pays for its safety: looks for what is not finite, checkpoints, and free memory and disk.

    python benchmarks/cost_of_safety.py --size 256 --steps 3000

Runs one scenario with the default settings, and sums the wall time that these parts take within it, so that other load
of the machine falls on both. Exit code 1 if the share of the run is above --most.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import script
from heatsim_kernels.field.cpu.field import CpuField

from heatsim.base.tables import Row, TableColumn, number
from heatsim.problem import build_problem
from heatsim.scenario import loads
from heatsim.simulation import checkpointing, device_selection, preparing
from heatsim.simulation.run import run_scenario

SCENARIO = """
grid = {{ cells = {cells}, size = [0.1, 0.1, 0.1] }}
time = {{ end = 1.0, integrator = "euler" }}
compute = {{ device = "cpu" }}
materials.a = {{ conductivity = 398.0, density = 8960.0, heat_capacity = 385.0 }}
regions = [{{ material = "a" }}]
initial = {{ temperature = "300 + 50*sin(100*x)*cos(77*y)*exp(-20*z)" }}
boundary = {{ x_min = {{ kind = "fixed", temperature = 300.0 }} }}
"""
COLUMNS = (
    TableColumn("part", lambda row: row["name"]),
    TableColumn("seconds", number("seconds", ".2f")),
    TableColumn("share", number("share", ".2%")),
)


def main() -> int:
    """Run once to compile, and once to measure."""
    parser = script.options(__doc__, size=256)
    parser.add_argument("--steps", type=int, default=3000, help="steps of explicit Euler [3000]")
    parser.add_argument("--most", type=float, default=0.02, help="share of the run that is allowed [0.02]")
    given = parser.parse_args()
    text, spent = SCENARIO.format(cells=[given.size] * 3), dict[str, float]()
    step = build_problem(loads(text)).largest_step
    timed(CpuField, "is_finite", "looks for what is not finite", spent)
    timed(checkpointing, "write_checkpoint", "checkpoints", spent)
    timed(preparing, "require_disk", "free memory and disk", spent)
    timed(device_selection, "require_memory_for", "free memory and disk", spent)
    with tempfile.TemporaryDirectory() as folder:
        for steps in (3, given.steps):
            spent.clear()
            begun = time.perf_counter()
            scenario = loads(text, overrides=[f"time.end={steps * step!r}"])
            run = run_scenario(scenario, Path(folder) / str(steps))
            seconds = time.perf_counter() - begun
    parts = {**spent, "all": sum(spent.values()), "run": seconds}
    rows: list[Row] = [{"name": name, "seconds": part, "share": part / seconds} for name, part in parts.items()]
    if parts["all"] > given.most * seconds:
        rows[-2]["failed"] = f"more than {given.most:.1%} of the run"
    return script.finish(given, COLUMNS, rows, [f"{given.size}^3 cells, {run.info['steps']} steps"])


def timed(owner: Any, name: str, what: str, spent: dict[str, float]) -> None:
    """Have the wall time of a function added to `spent`."""
    function: Callable[..., Any] = getattr(owner, name)

    def call(*arguments: Any, **options: Any) -> Any:
        begun = time.perf_counter()
        try:
            return function(*arguments, **options)
        finally:
            spent[what] = spent.get(what, 0.0) + time.perf_counter() - begun

    setattr(owner, name, call)


if __name__ == "__main__":
    sys.exit(main())
