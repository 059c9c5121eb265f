"""Disks that are full at random points, and folders that vanish: one message, exit code 1, earlier results whole.

`python -m faults.disk --count 50` (from tests/) prints the counts; `make faults` calls it. A disk is full in two ways:
by RLIMIT_FSIZE no file may be larger than so much, so that those that grow and the large ones fail; and a small tmpfs,
which takes the right to mount one, has no room left for any.
"""

from __future__ import annotations

import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from faults.cases import CASES, write_case
from faults.kills import forked, numbers_asked_for, report, unreadable_files
from faults.signals import longer
from heatsim.store.checkpoints import DamagedCheckpoint, read_checkpoint
from heatsim.store.folder import RunFolder

LARGEST = 60_000  # bytes, about what a checkpoint of a case has
SMALLEST_DISK, LARGEST_DISK = 40, 200  # KiB; a run of a case writes more


def start(arguments: list[str], messages: Path, limit: int | None = None) -> int:
    """Start heatsim in a forked process with a limit on the size of its files; returns its number."""

    def prepare() -> None:
        sys.dont_write_bytecode = True  # Python 3.11 keeps what a full disk has cut off
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    return forked(arguments, messages, prepare)


def look(run: Path, messages: Path, status: int, counts: Counter[str]) -> None:
    """Count how a run ended and what it left."""
    counts["deaths by signal"] += os.WIFSIGNALED(status)
    code = os.waitstatus_to_exitcode(status)
    counts["exit code 1"] += code == 1
    counts["exit code 0, as all files fitted"] += code == 0
    counts["refused before the run"] += code == 2
    counts["other exit codes"] += code not in (0, 1, 2)
    errors = [line for line in messages.read_text().splitlines() if line.startswith("error")]
    counts["messages not one"] += len(errors) != (code != 0)
    counts["unreadable files"] += unreadable_files(run) if run.exists() else 0
    counts["acknowledged snapshots"] += len(RunFolder(run).snapshot_paths()) if run.exists() else 0
    for path in RunFolder(run).checkpoints:
        try:
            if path.exists():
                read_checkpoint(path)
                counts["whole checkpoints"] += 1
        except DamagedCheckpoint:
            counts["damaged checkpoints"] += 1


def full_disks(count: int, vanishing: int, seed: int = 1, names: tuple[str, ...] = tuple(CASES)) -> Counter[str]:
    """So many limits on the size of files, and so many run folders that vanish."""
    chance = random.Random(seed)
    counts = Counter({"limits": 0, "folders that vanish": 0, "deaths by signal": 0, "damaged checkpoints": 0})
    with tempfile.TemporaryDirectory() as folder:
        for number in range(count + vanishing):
            here = Path(folder) / str(number)
            text, run = CASES[names[number % len(names)]], here / "run"
            path = write_case(here, text if number < count else longer(text))
            arguments = ["run", str(path), "--output", str(run), "--quiet"]
            limit = chance.randrange(2000, LARGEST) if number < count else None
            child = start(arguments, here / "messages", limit)
            counts["limits" if number < count else "folders that vanish"] += 1
            ended, status = 0, 0
            if number >= count:
                while not (ended or (run / "checkpoint.h5").exists()):
                    time.sleep(0.01)
                    ended, status = os.waitpid(child, os.WNOHANG)
                counts["ended before their folders vanished"] += ended != 0
                run = run if ended else run.rename(here / "elsewhere")
            _, status = (ended, status) if ended else os.waitpid(child, 0)
            look(run, here / "messages", status, counts)
            shutil.rmtree(here)
    return counts


def small_disks(count: int, seed: int = 1, names: tuple[str, ...] = tuple(CASES)) -> Counter[str]:
    """So many runs on disks that are too small for them."""
    chance = random.Random(seed)
    counts = Counter({"small disks": 0, "deaths by signal": 0, "damaged checkpoints": 0})
    with tempfile.TemporaryDirectory() as folder:
        disk = Path(folder) / "disk"
        disk.mkdir()
        for number in range(count):
            size = chance.randrange(SMALLEST_DISK, LARGEST_DISK)
            mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}k", "tmpfs", disk], check=False)
            if mounted.returncode:
                counts["not allowed to mount"] += 1
                break
            try:
                path = write_case(Path(folder), CASES[names[number % len(names)]])
                run, messages = disk / "run", Path(folder) / "messages"
                messages.unlink(missing_ok=True)
                child = start(["run", str(path), "--output", str(run), "--quiet"], messages)
                look(run, messages, os.waitpid(child, 0)[1], counts)
                counts["small disks"] += 1
            finally:
                subprocess.run(["umount", disk], check=True)
    return counts


if __name__ == "__main__":
    given = numbers_asked_for(count=65, vanishing=10, small=50)
    report("full disks and folders that vanish", full_disks(given.count, given.vanishing))
    report("small disks", small_disks(given.small))
