"""Time `heatsim run` of the quick start from an empty kernel cache, and again with the kernels in it.

    python benchmarks/time_first_run.py

Wall seconds are those until the command ends; CPU seconds are those of all processes that it waits for. Each run with
an empty cache has a cache folder of its own (XDG_CACHE_HOME), and the warm run after it uses the same folder. Python's
byte code and matplotlib's list of fonts are made ready beforehand: they are no part of heatsim's kernel cache.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from statistics import median

import script

from heatsim.base.tables import TableColumn, number_columns
from heatsim.studies.bench.harness import Contender, Pace, holding, race

ROOT = Path(__file__).resolve().parents[1]
COLUMNS = (
    TableColumn("scenario", lambda row: "quick start"),
    TableColumn("kernel cache", lambda row: row["name"]),
    *number_columns(".2f", {"wall s": "median", "best": "best", "CPU s": "cpu"}),
)


def run(folder: Path, cpu: dict[str, list[float]], kernels: str, repetitions: int) -> float:
    """Wall seconds of one run, with a new cache of kernels or with that of the run before; `cpu` gets its CPU time."""
    if kernels == "empty":
        shutil.rmtree(folder / "cache", ignore_errors=True)
    command = [sys.executable, "-m", "heatsim", "run", str(ROOT / "scenarios" / "quick_start.toml")]
    command += ["--device", "cpu", "--force", "--output", "out"]
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, cwd=folder, env=environment(folder), capture_output=True, text=True, check=False)
    wall, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise RuntimeError(f"exit code {done.returncode}: {done.stderr[-500:]}")
    cpu[kernels].append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return wall


def environment(folder: Path) -> dict[str, str]:
    """That of a run, whose caches are in a folder."""
    kept = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    return {**kept, "MPLCONFIGDIR": str(folder / "matplotlib"), "XDG_CACHE_HOME": str(folder / "cache")}


def main() -> int:
    """Run with an empty cache, then with a filled one."""
    given = script.options(__doc__, rounds=3).parse_args()
    cpu: dict[str, list[float]] = {"empty": [], "warm": []}
    with tempfile.TemporaryDirectory(prefix="heatsim-first-run-") as name:
        folder, sources = Path(name), [str(ROOT / "heatsim"), str(ROOT / "kernels")]
        subprocess.run([sys.executable, "-m", "compileall", "-q", *sources], check=True)
        subprocess.run([sys.executable, "-c", "import matplotlib.font_manager"], env=environment(folder), check=True)
        contenders = [Contender(kernels, holding(partial(run, folder, cpu, kernels))) for kernels in cpu]
        rows = race(contenders, "empty".__eq__, Pace(0.0, rounds=given.rounds, warm=False, repetitions=1))
    for row in rows:
        row |= {"doubt": "", "cpu": median(cpu[row["name"]]) if cpu[row["name"]] else None}  # the table has no ratio
    return script.finish(given, COLUMNS, rows)


if __name__ == "__main__":
    sys.exit(main())
