"""Time explicit 7-point heat conduction in heatsim and in other programs side by side: see README.md.

    python benchmarks/compare_cpu.py --size 256

Each program has a process of its own (peers/explicit.py), on the same cores: the first --threads that are allowed. It
has to agree with a float64 reference before it is timed. Exit code 1 if one fails, or a ratio is refused.
"""

from __future__ import annotations

import os
import sys
import tempfile

import script

from heatsim.base.tables import Row, TableColumn, number, ratio_columns
from heatsim.studies.bench import harness
from heatsim.studies.bench.harness import Pace

PEERS = ("heatsim", "c_openmp", "devito", "pystencils", "jax", "torch", "numpy", "pypde")
# What heatsim is compared with, and the target: who sweeps once a step; with k(T) all.
AMONG = {"constant": (PEERS[1:4], 2.0), "conductivity": (PEERS[1:], 3.0)}
BATCH = 8  # steps
ENVIRONMENT = {
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=true",
    "JAX_PLATFORMS": "cpu",
    # Huge pages for everybody: NumPy's arrays have them by itself, those of Devito and JAX would not.
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
}
COLUMNS = (
    TableColumn("precision", lambda row: row["precision"]),
    TableColumn("program", lambda row: row["name"]),
    TableColumn("version", lambda row: row.get("version", "")),
    TableColumn("boundary", lambda row: row.get("boundary", "")),
    TableColumn("G cells/s", harness.rate_or_failure("rate", ".3f")),
    TableColumn("min", number("slowest", ".3f", 1e9)),
    TableColumn("max", number("fastest", ".3f", 1e9)),
    *ratio_columns({"heatsim/program": "times"}),
)


def main() -> int:
    """Run the comparison."""
    offered = {"peer": PEERS, "peers_python": script.peers_python(), "threads": 2, "rounds": 7, "seconds": 2.0}
    parser = script.options(__doc__, size=256, precision="both", **offered, steps=None)
    parser.add_argument("--problem", choices=list(AMONG), default="constant", help="constant properties, or k(T)")
    given = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))[: given.threads]
    if len(cores) < given.threads:
        parser.error(f"--threads {given.threads}: only {len(cores)} cores may be used")
    pace = Pace(given.seconds, BATCH, given.rounds, warm=False, repetitions=given.steps)  # verification warms
    rows: list[Row] = []
    notes = ["boundary: zero temperature, ghost = in the layer outside the cells, face = on the cells' faces"]
    with tempfile.TemporaryDirectory() as folder:
        environment = ENVIRONMENT | {"TMPDIR": folder, "PEERS_PROBLEM": given.problem}
        for precision in harness.precisions(vars(given)):
            problem, about, words = (given.size, precision), {"precision": precision}, ",".join(map(str, cores))
            found = script.race_peers(given, "peers.explicit", PEERS, problem, about, pace, words, **environment)
            for row in (each for each in found if "median" in each):
                row["rate"] = given.size**3 / row["median"]
                row["slowest"], row["fastest"] = (given.size**3 / f(row["seconds"]) for f in (max, min))
            notes += [f"{precision}: {each}" for each in verdict(found, given.problem)]
            rows += found
    notes += dict.fromkeys(f"{row['name']}: {row['settings']}" for row in rows if "rate" in row)
    print(f"explicit steps, {given.problem}, {given.size}^3 cells, one thread on each of the cores {cores}")
    failed = script.finish(given, COLUMNS, rows, notes, lambda row: row["precision"])
    return failed or int(any(row.get("doubt") for row in rows))


def verdict(rows: list[Row], problem: str) -> list[str]:
    """heatsim against the fastest of those that are to be compared, if both were timed."""
    among, target = AMONG[problem]
    own = next((row for row in rows if row["name"] == "heatsim" and "median" in row), None)
    timed = [row for row in rows if row["name"] in among and "median" in row]
    if own is None or not timed:
        return []
    what = f"heatsim over the fastest of {', '.join(row['name'] for row in timed)}"
    refused = [f"{row['name']}: {row['doubt']}" for row in (own, *timed) if row["doubt"]]
    if refused:
        return [f"{what}: no ratio; {'; '.join(refused)}"]
    fastest = min(timed, key=lambda row: row["median"])
    return [f"{what}: {fastest['median'] / own['median']:.2f} ({fastest['name']}), target {target}"]


if __name__ == "__main__":
    sys.exit(main())
