"""Checkpoints in which bytes are wrong or missing are all found.

`python -m faults.corruption` (from tests/) prints the counts; `make faults` calls it.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections import Counter
from pathlib import Path

import heatsim
from faults.cases import CASES, write_case
from faults.kills import report
from heatsim.simulation.run import run_scenario
from heatsim.store.checkpoints import DamagedCheckpoint, read_checkpoint


def corruptions(path: Path, bytes_changed: int, truncations: int, seed: int = 1) -> Counter[str]:
    """Change single bytes of a checkpoint, and cut it short; what is counted."""
    random_numbers, whole = random.Random(seed), path.read_bytes()
    read_checkpoint(path)
    counts = Counter({"bytes changed": 0, "truncations": 0, "overlooked": 0})
    target = path.with_name("damaged.h5")
    for number in range(bytes_changed + truncations):
        if number < bytes_changed:
            place = random_numbers.randrange(len(whole)) if number >= 600 else number  # all of the user block
            damaged = bytearray(whole)
            damaged[place] ^= random_numbers.randrange(1, 256)
            counts["bytes changed"] += 1
        else:
            damaged = bytearray(whole[: random_numbers.randrange(len(whole))])
            counts["truncations"] += 1
        target.write_bytes(damaged)
        try:
            read_checkpoint(target)
            counts["overlooked"] += 1
        except DamagedCheckpoint:
            pass
    return counts


if __name__ == "__main__":
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--bytes", type=int, default=10_000)
    arguments.add_argument("--truncations", type=int, default=500)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        case = write_case(Path(folder), CASES["euler"])
        run_scenario(heatsim.load(case), Path(folder) / "run")
        found = corruptions(Path(folder) / "run" / "checkpoint.h5", given.bytes, given.truncations)
        report("one-byte corruptions and truncations of a checkpoint", found)
