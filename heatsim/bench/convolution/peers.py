"""Other programs, each in a process of its own, asked over its stdin and stdout; see `peer_process`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from heatsim.bench.convolution.peer_process import LIBRARIES
from heatsim.bench.convolution.problems import ConvolutionProblem
from heatsim.bench.interleaved_timing import Work

# What decides how many threads libraries use; OpenCV and PyTorch are told by call as well.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class PeerError(Exception):
    """A peer cannot do what it was asked; the message says why."""


class PeerProcess:
    """A library's process; `name` is what tables show."""

    def __init__(self, name: str, process: subprocess.Popen[str]) -> None:
        self.name = name
        self._process = process

    def ask(self, method: str, argument: Any = None) -> Any:
        """The answer of a method of `peer_process.PreparedPeer`. Raises `PeerError`."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            print(json.dumps([method, argument]), file=self._process.stdin, flush=True)
            value, error = json.loads(self._process.stdout.readline())
        except (OSError, ValueError):
            raise PeerError(f"its process ended, exit code {self._process.poll()}") from None
        if error is not None:
            raise PeerError(error)
        return value

    def verify(self, problem: ConvolutionProblem) -> str | None:
        """What is wrong with its solution, "" if nothing, None where it has none; the problem is then held ready."""
        flaw = self.ask("verify", problem._asdict())
        return None if flaw is None else str(flaw)

    def work(self) -> Work:
        """What solves the problem that is held ready, and times itself."""
        return lambda repetitions: float(self.ask("run", repetitions))


@contextmanager
def start_peers(
    device: str, python: Path | None, threads: int, wanted: bool = True
) -> Iterator[tuple[list[PeerProcess], list[str]]]:
    """The peers of a device that a Python can import, this one unless named, and why the others cannot be."""
    found: list[PeerProcess] = []
    missing: list[str] = []
    with ExitStack() as stack:
        for name in LIBRARIES[device] if wanted else ():
            peer = PeerProcess(name, stack.enter_context(_process(device, name, python, threads)))
            try:
                peer.name = f"{name} {peer.ask('version')}"
            except PeerError as error:
                missing.append(f"{name} was not measured: {error}")
            else:
                found.append(peer)
        yield found, missing


@contextmanager
def _process(device: str, name: str, python: Path | None, threads: int) -> Iterator[subprocess.Popen[str]]:
    root = str(Path(__file__).parents[3])  # where `heatsim` lies, for a Python that does not have it
    path = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, **dict.fromkeys(THREADS, str(threads)), "PYTHONPATH": path}
    command = [
        str(python or sys.executable),
        "-m",
        "heatsim.bench.convolution.peer_process",
        device,
        name,
        str(threads),
    ]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    )
    try:
        yield process
    finally:
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
        process.wait()
