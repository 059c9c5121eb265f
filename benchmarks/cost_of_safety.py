"""Measure what a run pays for its safety: looks for what is not finite, checkpoints, and free memory and disk.

    python benchmarks/cost_of_safety.py --size 256 --steps 3000

Runs one scenario with the default settings, and sums the wall time that these parts take within it, so that other load
of the machine falls on both. Exit code 1 if the share of the run is above --most.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from heatsim_kernels.field.cpu.field import CpuField

from heatsim.problem import build_problem
from heatsim.scenario import loads
from heatsim.simulation import checkpointing, device_selection
from heatsim.simulation import run as run_module
from heatsim.simulation.run import run_scenario

SCENARIO = """
[grid]
cells = {cells}
size = [0.1, 0.1, 0.1]
[time]
end = 1.0
integrator = "euler"
[compute]
device = "cpu"
[materials.a]
conductivity = 398.0
density = 8960.0
heat_capacity = 385.0
[[regions]]
material = "a"
[initial]
temperature = "300 + 50*sin(100*x)*cos(77*y)*exp(-20*z)"
[boundary]
x_min = {{ kind = "fixed", temperature = 300.0 }}
"""


def main() -> int:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=256, help="cells an axis")
    parser.add_argument("--steps", type=int, default=3000, help="steps of explicit Euler")
    parser.add_argument("--most", type=float, default=0.02, help="share of the run that is allowed")
    options = parser.parse_args()
    text = SCENARIO.format(cells=[options.size] * 3)
    step = build_problem(loads(text)).largest_step
    spent: dict[str, float] = {}
    timed(CpuField, "is_finite", "looks for what is not finite", spent)
    timed(checkpointing, "write_checkpoint", "checkpoints", spent)
    timed(run_module, "require_disk", "free memory and disk", spent)
    timed(device_selection, "require_memory_for", "free memory and disk", spent)
    with tempfile.TemporaryDirectory() as folder:
        run_scenario(loads(text.replace("end = 1.0", f"end = {3 * step!r}")), Path(folder) / "compiled")
        spent.clear()
        begun = time.perf_counter()
        run = run_scenario(loads(text.replace("end = 1.0", f"end = {options.steps * step!r}")), Path(folder) / "run")
        seconds = time.perf_counter() - begun
    print(f"| part of a run of {options.size}^3 cells and {run.info['steps']} steps | seconds | share |\n|---|---|---|")
    for name, part in {**spent, "all": sum(spent.values()), "run": seconds}.items():
        print(f"| {name} | {part:.2f} | {part / seconds:.2%} |")
    return 1 if sum(spent.values()) > options.most * seconds else 0


def timed(owner: Any, name: str, what: str, spent: dict[str, float]) -> None:
    """Have the wall time of a function added to `spent`. A checkpoint waits first for results that are being written,
    as the end of the run does; that is not counted."""
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
