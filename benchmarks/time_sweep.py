"""What a sweep costs beside its runs: wall time of N tiny runs in one process, and of the runs themselves.

    python benchmarks/time_sweep.py --runs 1000

A rod of 20 x 4 cells, 100 s by the integrator that `auto` takes. Each run's result must be that of a run of its own by
`heatsim.evaluate` to the bit, for three of them, before anything is reported. `beside` is the wall time of the command
less the time that the runs say they took, for each run. The first run compiles what the others use; it is timed apart.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import script

import heatsim
from heatsim.base.tables import Row, number_columns
from heatsim.studies.sweeps.table import read_sweep

SCENARIO = """
parameters = { h = 10.0, power = 5.0 }
grid = { cells = [20, 4, 1], size = [0.02, 0.01, 0.001] }
time = { end = 100.0 }
initial = { temperature = 293.0 }
materials.steel = { conductivity = 15.0, density = 7900.0, heat_capacity = 500.0 }
regions = [{ material = "steel" }]
sources = [{ power = "power" }]
boundary = { x_max = { kind = "convection", coefficient = "h", ambient = 293.0 } }
output = { snapshots = { count = 1 }, results = [{ name = "hottest", of = "max(T)" }] }
"""
COLUMNS = number_columns(".1f", {"wall s": "wall", "ms a run": "each", "beside": "beside"})


def swept(folder: Path, runs: int) -> tuple[float, list[float], list[float]]:
    """Wall seconds of the command, those of each run, and the results."""
    command = [sys.executable, "-m", "heatsim", "sweep", "rod.toml", "--vary", f"h=5:20:{runs}", "--force"]
    begun = time.perf_counter()
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    wall, place = time.perf_counter() - begun, folder / "outputs" / "rod-sweep"
    rows = read_sweep(place / "sweep.csv")[2]
    infos = [json.loads((place / row["run"] / "run.json").read_text()) for row in rows]
    return wall, [i["timings"]["total_seconds"] for i in infos], [float(row["hottest [K]"]) for row in rows]


def main() -> int:
    """Verify a sweep, and time it."""
    parser = script.options(__doc__)
    parser.add_argument("--runs", type=int, default=30, help="runs of the sweep [30]")
    given = parser.parse_args()
    runs = given.runs
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "rod.toml").write_text(SCENARIO)
        swept(folder, 2)  # kernels are compiled
        wall, own, hottest = swept(folder, runs)
        row: Row = {"name": f"{runs} runs", "wall": wall, "each": 1e3 * wall / runs}
        row["beside"] = 1e3 * (wall - sum(own)) / runs
        for number in {0, runs // 2, runs - 1}:
            alone = heatsim.evaluate(folder / "rod.toml", {"h": 5.0 + 15.0 * number / (runs - 1)})["hottest"]
            if alone != hottest[number]:
                row["failed"] = f"run {number} gave {hottest[number]!r}, and {alone!r} alone"
    return script.finish(given, COLUMNS, [row])


if __name__ == "__main__":
    sys.exit(main())
