"""Runs that write snapshots and checkpoints as fast as they can are killed at random moments, read, and resumed.

`python -m faults.kills --count 200` (from tests/) prints the counts; `make faults` calls it.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import heatsim
from faults.cases import CASES, digest, write_case
from heatsim.cli.main import main
from heatsim.errors import HeatsimError
from heatsim.simulation.run import resume_run, run_scenario
from heatsim.store.folder import RunFolder
from heatsim.store.snapshots import read_snapshot


def in_child(work: Callable[[], object], kill_after: float | None = None) -> tuple[int, float]:
    """Do work in a forked process, killed after so many seconds; returns its exit status and the seconds it took.

    A fork has everything imported; it must not come after a parallel kernel has run in this process.
    """
    begun = time.perf_counter()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        except HeatsimError as error:
            sys.stderr.write(f"{error}\n")
        finally:
            os._exit(status)
    while kill_after is not None and time.perf_counter() - begun < kill_after:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status, time.perf_counter() - begun
        time.sleep(0.001)
    if kill_after is not None:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return status, time.perf_counter() - begun


def unreadable_files(run: Path) -> int:
    """Snapshots of a killed run that cannot be read."""
    count = 0
    for path in RunFolder(run).snapshot_paths():
        try:
            read_snapshot(path)
        except HeatsimError:
            count += 1
    return count


def kill_and_resume(path: Path, run: Path, delay: float, counts: Counter[str]) -> str:
    """Kill a run after a delay, look at what it left, and resume it to its end; returns the digest of its results."""
    in_child(lambda: run_scenario(heatsim.load(path), run), delay)
    counts["kills"] += 1
    counts["acknowledged snapshots"] += len(RunFolder(run).snapshot_paths())
    counts["unreadable files"] += unreadable_files(run)
    counts["with a checkpoint"] += (run / "checkpoint.h5").exists() or (run / "checkpoint_previous.h5").exists()
    if not (run / "run.json").exists():  # killed before the folder was one
        counts["before the folder was made"] += 1
        shutil.rmtree(run, ignore_errors=True)
        in_child(lambda: run_scenario(heatsim.load(path), run))
        return digest(run)
    if '"finished"' not in (run / "run.json").read_text():
        status, _ = in_child(lambda: resume_run(run))
        counts["resumes that failed"] += status != 0
    return digest(run)


def kills(count: int, seed: int = 1, names: tuple[str, ...] = tuple(CASES)) -> Counter[str]:
    """So many kills, spread over the cases; what is counted, all of which but the first lines should be 0."""
    random_numbers, counts = random.Random(seed), Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        for number, name in enumerate(names):
            here = Path(folder) / str(number)
            path = write_case(here, CASES[name])
            in_child(lambda path=path, here=here: run_scenario(heatsim.load(path), here / "warm"))  # compiles
            _, seconds = in_child(lambda path=path, here=here: run_scenario(heatsim.load(path), here / "unbroken"))
            expected = digest(here / "unbroken")
            for kill in range(len(range(number, count, len(names)))):
                run = here / f"run{kill}"
                found = kill_and_resume(path, run, random_numbers.uniform(0.2, 1.0) * seconds, counts)
                counts["resumed to other results"] += found != expected
                shutil.rmtree(run)
    return counts


def forked(arguments: list[str], messages: Path, prepare: Callable[[], None]) -> int:
    """Start heatsim in a forked process, which has everything imported and prepares itself; returns its number."""
    child = os.fork()
    if child == 0:
        status = 70  # what no command exits with: a traceback
        try:
            os.dup2(os.open(messages, os.O_WRONLY | os.O_CREAT), 2)
            prepare()
            main(arguments, standalone_mode=False)
            status = 0
        except SystemExit as end:
            status = int(end.code or 0)
        finally:
            os._exit(status)
    return child


def report(title: str, counts: Counter[str]) -> None:
    """Print counts, a line each."""
    print(title)
    for name, value in counts.items():
        print(f"  {name}: {value}")


def numbers_asked_for(**defaults: int) -> argparse.Namespace:
    """The numbers that the command line gives, each an option of its name."""
    arguments = argparse.ArgumentParser()
    for name, default in defaults.items():
        arguments.add_argument(f"--{name}", type=int, default=default)
    return arguments.parse_args()


if __name__ == "__main__":
    given = numbers_asked_for(count=200, seed=1)
    report(f"kill -9 at random moments (seed {given.seed})", kills(given.count, given.seed))
