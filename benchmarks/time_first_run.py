"""Time `heatsim run` from an empty kernel cache, and again with the kernels in it.

    python benchmarks/time_first_run.py --problem "quick start"

Three small scenarios: the quick start; a hot pipe in insulation, solved for its steady state; and the laser scan,
shorter and coarser than the one shipped, with a conductivity that depends on temperature. Wall seconds are those until
the command ends; CPU seconds are those of all processes that it waits for. They take turns, so that other load of the
machine affects all alike.

Each run with an empty cache has a cache folder of its own (XDG_CACHE_HOME), and the warm run after it uses the same
folder. Python's byte code and matplotlib's list of fonts are made ready beforehand: they are no part of heatsim's
kernel cache.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from statistics import median

from heatsim.bench import harness
from heatsim.tables import Row, TableColumn, number_columns

ROOT = Path(__file__).resolve().parents[1]
PIPE = """
title = "A hot pipe in insulation"
temperature_unit = "degC"
time = { integrator = "steady" }
initial = { temperature = 20.0 }
output = { snapshots = { count = 1 }, energy = { count = 1 }, slices = [{ axis = "y", at = 3.0, count = 1 }] }
materials.steel = { conductivity = 50.0, density = 7850.0, heat_capacity = 460.0 }
materials.wool = { conductivity = 0.04, density = 100.0, heat_capacity = 800.0 }
regions = [{ material = "wool" }, { material = "steel", where = "x < 0.03" }]

[grid]
coordinates = "cylindrical"              # r, phi, z
cells = [30, 1, 12]
size = [0.035, 6.283185307179586, 0.5]   # m, rad, m
origin = [0.025, 0.0, 0.0]

[boundary]
x_min = { kind = "convection", coefficient = 1000.0, ambient = 90.0 }
x_max = { kind = "convection", coefficient = 10.0, ambient = 20.0 }
"""
LASER_OVERRIDES = ['materials.titanium.conductivity="5.0 + 0.015*T"', "grid.cells=[60,30,10]", "time.end=0.2"]
PROBLEMS = {
    "quick start": [str(ROOT / "scenarios" / "quick_start.toml")],
    "pipe, steady": ["pipe.toml"],
    "laser, k(T)": [
        str(ROOT / "scenarios" / "laser_scan.toml"), *(word for each in LASER_OVERRIDES for word in ("--set", each))
    ],
}  # fmt: skip
COLUMNS = (
    TableColumn("scenario", lambda row: row["problem"]),
    TableColumn("kernel cache", lambda row: row["cache"]),
    *number_columns(".2f", {"wall s": "median", "best": "best", "CPU s": "cpu"}),
)


class Runs:
    """Runs of a scenario, each with a new cache of kernels or with that of the run before."""

    def __init__(self, folder: Path, problem: str, cpu: list[float]) -> None:
        self.command = [sys.executable, "-m", "heatsim", "run", *PROBLEMS[problem], "--device", "cpu", "--force"]
        self.folder, self.cpu, self.problem = folder, cpu, problem

    def run(self, empty: bool, repetitions: int) -> float:
        """Wall seconds of one run."""
        cache = self.folder / "cache" / self.problem
        if empty:
            cache = Path(tempfile.mkdtemp(dir=self.folder))
            (self.folder / "cache").mkdir(exist_ok=True)
            (self.folder / "cache" / self.problem).unlink(missing_ok=True)
            (self.folder / "cache" / self.problem).symlink_to(cache)
        environment = {**os.environ, "XDG_CACHE_HOME": str(cache), "MPLCONFIGDIR": str(self.folder / "matplotlib")}
        environment.pop("NUMBA_CACHE_DIR", None)
        before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        command = [*self.command, "--output", "out"]
        done = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False)
        wall, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode:
            raise RuntimeError(f"exit code {done.returncode}: {done.stderr[-500:]}")
        self.cpu.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        return wall


def main() -> int:
    """Run each scenario with an empty cache, then with a filled one."""
    given = harness.options(__doc__, problem=PROBLEMS, rounds=3).parse_args()
    contenders = []
    with tempfile.TemporaryDirectory(prefix="heatsim-first-run-") as name:
        folder = Path(name)
        (folder / "pipe.toml").write_text(PIPE, encoding="utf-8")
        sources = [str(ROOT / "heatsim"), str(ROOT / "kernels")]
        subprocess.run([sys.executable, "-m", "compileall", "-q", *sources], check=True)
        fonts = {**os.environ, "MPLCONFIGDIR": str(folder / "matplotlib")}
        subprocess.run([sys.executable, "-c", "import matplotlib.font_manager"], env=fonts, check=True)
        for problem in harness.chosen(given.problem or (), PROBLEMS):
            for cache in ("empty", "warm"):
                cpu: list[float] = []
                work = partial(Runs(folder, problem, cpu).run, cache == "empty")
                about = Row(problem=problem, cache=cache)
                after = partial(lambda cpu: {"cpu": median(cpu)}, cpu)
                contenders.append(
                    harness.Contender(f"{problem}, {cache}", harness.holding(work), about=about, after=after)
                )
        rows = harness.race(contenders, lambda name: False, seconds=0.0, batch=0, rounds=given.rounds, repetitions=1)
    for row in rows:
        row.pop("doubt", None)  # there are no ratios
    return harness.finish(given, harness.Layout(COLUMNS, lambda row: row["problem"]), rows)


if __name__ == "__main__":
    sys.exit(main())
