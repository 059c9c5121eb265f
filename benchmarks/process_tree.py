"""Run a command and measure its whole process tree (Linux): shared by the scripts that compare checkouts.

Needs only the standard library.
"""

import ctypes
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

PR_SET_CHILD_SUBREAPER = 36  # Linux, <sys/prctl.h>


class TreeCost(NamedTuple):
    """Seconds until a command ended, CPU seconds of it and of all processes that it started, and what it printed."""

    wall: float
    cpu: float
    exit_code: int
    output: str


def measure_tree(command: list[str], environment: dict[str, str], folder: Path) -> TreeCost:
    """Run a command in a folder to its end.

    Processes that the command leaves behind become children of this one, and count once they have ended: their CPU time
    belongs to the command, even if it did not wait for them.
    """
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    with tempfile.TemporaryFile() as log:
        begun = time.perf_counter()
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begun
        process.returncode = os.waitstatus_to_exitcode(status)
        cpu = usage.ru_utime + usage.ru_stime + _cpu_of_orphans()
        log.seek(0)
        return TreeCost(wall, cpu, process.returncode, log.read().decode(errors="replace"))


def _cpu_of_orphans() -> float:
    cpu = 0.0
    while True:
        try:
            _, _, usage = os.wait4(-1, 0)
        except ChildProcessError:
            return cpu
        cpu += usage.ru_utime + usage.ru_stime


def checkout_environment(checkout: Path, **changes: str) -> dict[str, str]:
    """The environment in which Python finds heatsim and its kernels in a checkout, whatever else is installed."""
    path = os.pathsep.join([str(checkout), str(checkout / "kernels")])
    return {**os.environ, "PYTHONPATH": path, **changes}


def existing_checkout(text: str) -> Path:
    """The folder of a checkout, for argparse. Raises ValueError."""
    path = Path(text).resolve()
    if not (path / "heatsim").is_dir():
        raise ValueError(f"{path} holds no heatsim")
    return path


def commit_of(checkout: Path) -> str:
    """The commit of a checkout, with "-dirty" if files were changed; "" if it is no repository."""
    command = ["git", "-C", str(checkout), "describe", "--always", "--dirty", "--exclude=*"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def machine_in_words() -> str:
    """The CPU, the cores that may be used, and the load."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown CPU")
    cores = len(os.sched_getaffinity(0))
    return f"{model}, {cores} cores, load {os.getloadavg()[0]:.2f} before the start, Python {sys.version.split()[0]}"


def say(message: str) -> None:
    """A line of progress on stderr."""
    print(message, file=sys.stderr, flush=True)
