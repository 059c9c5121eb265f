"""Steady heat conduction against SciPy and PyAMG: verified, then timed, each peer in a process of its own.

    python3 -m venv peers-venv && peers-venv/bin/pip install scipy pyamg
    python benchmarks/compare_steady.py --size 256

A cube of --size^3 cells is solved to a relative residual of 1e-8 (peers/steady.py): by heatsim, by SciPy's conjugate
gradients with PyAMG's smoothed aggregation, and by SciPy's with the diagonal as preconditioner. Every answer is checked
by a residual that NumPy computes from the definition; one that misses 1.05e-8 is reported as FAILED. Times are those of
setup (hierarchy) and solve, without assembly, imports and compilation; a peer that has taken a minute sits out the
remaining rounds.

sweeps/digit: passes over the conductances of the finest grid, for a residual ten times smaller; coarse grids are not
counted. memory: the most that the process held, matrices included; not that of the GPU, on which heatsim solves as
`heatsim_gpu`.
"""

from __future__ import annotations

import sys

import script

from heatsim.base.tables import Row, TableColumn, number, number_columns, ratio_columns
from heatsim.studies.bench.harness import Pace, chosen, rate_or_failure

PEERS = ("heatsim", "heatsim_gpu", "pyamg", "scipy")
PROBLEMS = ("uniform", "contrast")
PATIENCE = 60.0  # s
COLUMNS = (
    TableColumn("problem", lambda row: row["problem"]),
    TableColumn("peer", lambda row: row["name"]),
    *number_columns(".2f", {"setup s": "setup", "solve s": "solve"}),
    TableColumn("median s", rate_or_failure("median", ".2f", 1.0)),
    *ratio_columns({"/heatsim": "times"}),
    *number_columns(".0f", {"iterations": "iterations"}),
    *number_columns(".1f", {"sweeps/digit": "sweeps_a_digit"}),
    TableColumn("residual", number("residual", ".2e")),
    TableColumn("memory GiB", number("memory", ".1f")),
)


def main() -> int:
    """Solve each problem by each peer."""
    offered = {"size": 96, "problem": PROBLEMS, "peer": PEERS, "peers_python": script.peers_python(), "threads": 2}
    given = script.options(__doc__, **offered, rounds=2).parse_args()
    pace = Pace(0.0, rounds=given.rounds, patience=PATIENCE, warm=False, repetitions=1)
    rows: list[Row] = []
    for each in chosen(given.problem, PROBLEMS):
        rows += script.race_peers(given, "peers.steady", PEERS, (given.size, each), {"problem": each}, pace)
    return script.finish(given, COLUMNS, rows, group=lambda row: row["problem"])


if __name__ == "__main__":
    sys.exit(main())
