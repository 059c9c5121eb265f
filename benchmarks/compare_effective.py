"""The effective conductivity of porous media against TauFactor and PoreSpy: timed, and verified by each other.

    python3 -m venv peers-venv && peers-venv/bin/pip install taufactor porespy openpnm pyamg
    python benchmarks/compare_effective.py --size 256

Media are periodic: overlapping balls, and a random field that is cut at a level (`blobs`). Each peer has
a process of its own (peers/effective.py); times are of the whole call on an array in memory, without imports and
compilation. heatsim goes on until its bounds are within 1e-4 of each other, TauFactor until its criterion of 1e-3,
PoreSpy as it does by default. A conductivity that is further from heatsim's than `--agree` is reported as FAILED.
PoreSpy holds the outer voxels at the temperatures, not the faces, and so has a medium that is a voxel shorter.

PuMA is not on the Python package index (`pumapy` there is another program), so it is not compared.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
import script

from heatsim.base.tables import Row, TableColumn, digits, number, ratio_columns
from heatsim.studies.bench.harness import Pace, chosen

PEERS = ("heatsim", "taufactor", "porespy")
PROBLEMS = ("balls", "blobs")
PATIENCE = 60.0  # s: a peer that has taken longer starts no further round
COLUMNS = (
    TableColumn("medium", lambda row: row["medium"]),
    TableColumn("peer", lambda row: row["name"]),
    TableColumn("conductivity", number("conductivity", ".6g")),
    TableColumn("seconds", lambda row: "FAILED" if "failed" in row else digits("median", 1.0)(row)),
    *ratio_columns({"of heatsim's time": "times"}),
)


def medium(kind: str, n: int, void: float) -> np.ndarray:
    """(n, n, n) uint8, 1 where it conducts."""
    rng = np.random.default_rng(0)
    if kind == "blobs":
        waves = [np.fft.fftfreq(n, 1.0 / n)] * 2 + [np.fft.rfftfreq(n, 1.0 / n)]
        squared = waves[0][:, None, None] ** 2 + waves[1][:, None] ** 2 + waves[2] ** 2
        noise = np.fft.rfftn(rng.standard_normal((n, n, n))) * np.exp(-squared / (2.0 * 6.0**2))
        field = np.fft.irfftn(noise, s=(n, n, n), axes=(0, 1, 2))
        return (field > np.quantile(field, void)).astype(np.uint8)
    solid, places = np.zeros((n, n, n), np.uint8), (np.arange(n) + 0.5) / n
    while 1.0 - solid.mean() > void:
        off = [((places - at + 0.5) % 1.0 - 0.5) ** 2 for at in rng.uniform(size=3)]
        near = [np.flatnonzero(each < 1.0 / 144.0) for each in off]
        inside = off[0][near[0]][:, None, None] + off[1][near[1]][:, None] + off[2][near[2]] < 1.0 / 144.0
        solid[np.ix_(*near)] |= inside
    return solid


def main() -> int:
    """Solve each medium by each peer. Each value has to agree with that of the first peer that was timed."""
    offered = {"problem": PROBLEMS, "peer": PEERS, "peers_python": script.peers_python(), "threads": 2, "rounds": 3}
    parser = script.options(__doc__, device="cpu", size=128, **offered)
    parser.add_argument("--void", type=float, default=0.5, help="share that does not conduct [0.5]")
    parser.add_argument("--agree", type=float, default=1e-2, help="relative deviation from heatsim [0.01]")
    given = parser.parse_args()
    pace = Pace(0.0, rounds=given.rounds, patience=PATIENCE, warm=False, repetitions=1)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        for kind in chosen(given.problem, PROBLEMS):
            np.save(file := Path(folder) / "image.npy", medium(kind, given.size, given.void))
            problem = (str(file), given.device, given.threads)
            found = script.race_peers(given, "peers.effective", PEERS, problem, {"medium": kind}, pace)
            values = [row["conductivity"] for row in found if "conductivity" in row]
            for row in (each for each in found if "conductivity" in each):
                off = abs(row["conductivity"] - values[0]) / (abs(values[0]) or 1.0)
                if off > given.agree:
                    row["failed"] = f"{row['conductivity']:.6g} is off by {off:.1e}"
            rows += found
    return script.finish(given, COLUMNS, rows, group=lambda row: row["medium"])


if __name__ == "__main__":
    sys.exit(main())
