"""Scenarios that ask for more memory or disk than there is: each is refused at once, before anything is written.

`python -m faults.too_large --count 100` (from tests/) prints the counts; `make faults` calls it.
"""

from __future__ import annotations

import random
import re
import shutil
import tempfile
import time
from collections import Counter
from pathlib import Path

import heatsim
from faults.cases import CASES, write_case
from faults.kills import numbers_asked_for, report
from heatsim.errors import HeatsimError
from heatsim.simulation.free_resources import free_memory
from heatsim.simulation.run import run_scenario

PATIENCE = 1.0  # s until the refusal
CELLS, LEAST_BYTES_A_CELL = "cells = [12, 10, 8]", 8  # of a case, and of any run: two fields in float32
LARGE_SNAPSHOTS = "cells = [200, 200, 50]"


def too_many_cells(text: str, chance: random.Random) -> str:
    """A case with cells that need 1.1 to 6 times the memory there is."""
    wanted = free_memory()[0] / LEAST_BYTES_A_CELL * 10 ** chance.uniform(0.05, 0.8)
    sides = [chance.uniform(0.5, 2.0) * wanted ** (1 / 3) for _ in range(2)]
    cells = [int(side) for side in (*sides, 1.0 + wanted / (sides[0] * sides[1]))]
    chance.shuffle(cells)
    return re.sub("(snapshots|checkpoint) = .*", "", text).replace(CELLS, f"cells = {cells}")


def too_many_snapshots(text: str, chance: random.Random) -> str:
    """A case with snapshots that need 2 to 40 times the disk there is."""
    bytes_each = 200 * 200 * 50 * 4 * 0.5
    count = shutil.disk_usage(tempfile.gettempdir()).free / bytes_each * chance.uniform(2.0, 40.0)
    start, _, rest = text.partition("snapshots = { every = ")
    return f"{start}snapshots = {{ every = {0.6 / count:.3e}{rest[rest.index(' }') :]}".replace(CELLS, LARGE_SNAPSHOTS)


def too_large(count: int, seed: int = 1, names: tuple[str, ...] = tuple(CASES)) -> Counter[str]:
    """So many scenarios that are too large, spread over the cases; what is counted."""
    chance = random.Random(seed)
    counts = Counter({"scenarios": 0, "refused": 0, "accepted": 0, f"later than {PATIENCE:g} s": 0, "files written": 0})
    with tempfile.TemporaryDirectory() as folder:
        for number in range(count):
            grow = too_many_snapshots if number % 4 == 3 else too_many_cells
            path = write_case(Path(folder), grow(CASES[names[number % len(names)]], chance))
            begun = time.perf_counter()
            try:
                run_scenario(heatsim.load(path), Path(folder) / "run")
                counts["accepted"] += 1
            except HeatsimError:
                counts["refused"] += 1
            counts[f"later than {PATIENCE:g} s"] += time.perf_counter() - begun > PATIENCE
            counts["scenarios"] += 1
            counts["files written"] += (Path(folder) / "run").exists()
    return counts


if __name__ == "__main__":
    given = numbers_asked_for(count=100, seed=1)
    report(f"scenarios that are too large (seed {given.seed})", too_large(given.count, given.seed))
