"""Time `heatsim run` of the quick start from an empty kernel cache, and again with the kernels in it.

    python benchmarks/time_first_run.py

Wall seconds are those until the command ends; CPU seconds are those of all processes that it waits for. Each run with
an empty cache has a cache folder of its own (XDG_CACHE_HOME), and the warm run after it uses the same folder. Python's
byte code and matplotlib's list of fonts are made ready beforehand: they are no part of heatsim's kernel cache.
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

from heatsim.base.tables import TableColumn, number_columns
from heatsim.studies.bench import harness
from heatsim.studies.bench.timing import Pace

ROOT = Path(__file__).resolve().parents[1]
COLUMNS = (
    TableColumn("scenario", lambda row: "quick start"),
    TableColumn("kernel cache", lambda row: row["name"]),
    *number_columns(".2f", {"wall s": "median", "best": "best", "CPU s": "cpu"}),
)


class Runs:
    """Runs of the quick start in a folder; cpu: CPU seconds of each, by cache."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.cache = folder, folder
        self.cpu: dict[str, list[float]] = {"empty": [], "warm": []}
        self.environment = {**os.environ, "MPLCONFIGDIR": str(folder / "matplotlib")}
        self.environment.pop("NUMBA_CACHE_DIR", None)

    def run(self, cache: str, repetitions: int) -> float:
        """Wall seconds of one run, with a new cache of kernels or with that of the run before."""
        if cache == "empty":
            self.cache = Path(tempfile.mkdtemp(dir=self.folder))
        command = [sys.executable, "-m", "heatsim", "run", str(ROOT / "scenarios" / "quick_start.toml")]
        command += ["--device", "cpu", "--force", "--output", "out"]
        environment = self.environment | {"XDG_CACHE_HOME": str(self.cache)}
        before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        done = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False)
        wall, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode:
            raise RuntimeError(f"exit code {done.returncode}: {done.stderr[-500:]}")
        self.cpu[cache].append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        return wall


def main() -> int:
    """Run with an empty cache, then with a filled one."""
    given = harness.options(__doc__, rounds=3).parse_args()
    with tempfile.TemporaryDirectory(prefix="heatsim-first-run-") as name:
        runs = Runs(Path(name))
        sources = [str(ROOT / "heatsim"), str(ROOT / "kernels")]
        subprocess.run([sys.executable, "-m", "compileall", "-q", *sources], check=True)
        subprocess.run([sys.executable, "-c", "import matplotlib.font_manager"], env=runs.environment, check=True)
        contenders = [
            harness.Contender(cache, harness.holding(partial(runs.run, cache)), after=partial(_cpu, runs.cpu[cache]))
            for cache in runs.cpu
        ]
        rows = harness.race(contenders, "empty".__eq__, Pace(0.0, rounds=given.rounds, warm=False, repetitions=1))
    for row in rows:
        row.pop("doubt", None)  # the table has no ratio
    return harness.finish(given, harness.Layout(COLUMNS), rows)


def _cpu(seconds: list[float]) -> dict[str, float]:
    return {"cpu": median(seconds)}


if __name__ == "__main__":
    sys.exit(main())
