"""Runs that are sent signals at random moments: they end with a whole checkpoint, or before their first step.

`python -m faults.signals --count 100` (from tests/) prints the counts; `make faults` calls it.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import tempfile
import time
from collections import Counter
from pathlib import Path

from faults.cases import CASES, write_case
from faults.kills import forked, numbers_asked_for, report
from heatsim.store.checkpoints import DamagedCheckpoint, read_checkpoint

SIGNALS = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGUSR1: 138, signal.SIGHUP: 129}
PATIENCE = 2.0  # s beyond the step in hand


def longer(text: str) -> str:
    """A case that takes minutes."""
    return re.sub(r"^end = .*", "end = 600.0", text, count=1, flags=re.MULTILINE)


def _take_signals() -> None:
    for number in SIGNALS:  # nohup and background jobs of a shell ignore some
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)


def interrupt(path: Path, run: Path, number: signal.Signals, delay: float, counts: Counter[str]) -> None:
    """Send a signal after a delay and count what comes of it."""
    child = forked(["run", str(path), "--output", str(run), "--quiet"], Path(os.devnull), _take_signals)
    time.sleep(delay)
    os.kill(child, number)
    begun = time.perf_counter()
    _, status = os.waitpid(child, 0)
    counts["signals"] += 1
    counts[f"later than {PATIENCE:g} s"] += time.perf_counter() - begun > PATIENCE
    if os.WIFSIGNALED(status) and not run.exists():  # while Python was still to take its place
        counts["before the command had begun"] += 1
        return
    counts["wrong exit codes"] += os.waitstatus_to_exitcode(status) != SIGNALS[number]
    if not (run / "run.json").exists():
        counts["before the run folder was made"] += 1
        return
    told = json.loads((run / "run.json").read_text())
    if told.get("steps", 0) == 0:
        counts["before the first step"] += 1
        return
    try:
        read_checkpoint(run / "checkpoint.h5")
        counts["whole checkpoints"] += 1
    except DamagedCheckpoint:
        counts["damaged checkpoints"] += 1


def signals(count: int, seed: int = 1, names: tuple[str, ...] = tuple(CASES)) -> Counter[str]:
    """So many signals, spread over the cases and the kinds of signals."""
    random_numbers = random.Random(seed)
    counts = Counter({"signals": 0, "wrong exit codes": 0, "damaged checkpoints": 0, f"later than {PATIENCE:g} s": 0})
    with tempfile.TemporaryDirectory() as folder:
        for number in range(count):
            here = Path(folder) / str(number)
            path = write_case(here, longer(CASES[names[number % len(names)]]))
            kind = list(SIGNALS)[number // len(names) % len(SIGNALS)]
            interrupt(path, here / "run", kind, random_numbers.uniform(0.02, 4.0), counts)
    return counts


if __name__ == "__main__":
    given = numbers_asked_for(count=100, seed=1)
    report(f"signals at random moments (seed {given.seed})", signals(given.count, given.seed))
