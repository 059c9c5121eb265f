"""Other processes: children that answer once, peers that hold another library, and compilers on all cores.

A child is a module run as `python -m MODULE REQUEST`, with a JSON object in and one as its last line of output. A peer
is a process of another library, perhaps of another Python: `python -m heatsim.studies.bench.children MODULE NAME
ARGUMENTS` makes `MODULE.make_peer(NAME, *ARGUMENTS)` and calls its methods, one for each line `[method, arguments]` on
stdin, with `[value, null, false]` or `[null, error, whether it was an ImportError]` on stdout. Neither heatsim's
dependencies nor NumPy are needed for that.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import Any

MAX_CHILD_SECONDS = 600.0  # s, for one child
CORES_PER_CHILD = 4  # while several compile at once, none waits for a core
ROOT = Path(__file__).parents[3]  # where `heatsim` lies, for a Python that does not have it

Request = Mapping[str, Any]


class ChildError(Exception):
    """A child or a peer did not answer, or answered that it cannot; the message says why."""


class Missing(ChildError):
    """A peer's library is not there, or solves no such problem; the message says why."""


def ask_child(
    module: str, request: Request, environment: Mapping[str, str], wrapper: Sequence[str] = ()
) -> dict[str, Any]:
    """The answer of a child, started by a `wrapper` command if one is given. Raises `ChildError`."""
    command = [*wrapper, sys.executable, "-m", module, json.dumps(request)]
    given = {**os.environ, **environment}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, env=given, timeout=MAX_CHILD_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ChildError(str(error)) from None
    if done.returncode:
        lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise ChildError(lines[-1] if lines else f"exit code {done.returncode}")
    try:
        return dict(json.loads(done.stdout.splitlines()[-1]))
    except (IndexError, TypeError, ValueError):
        raise ChildError(f"no answer in its output {done.stdout[-200:]!r}") from None


def compile_times(module: str, requests: Iterable[Request]) -> list[dict[str, Any]]:
    """For each request what a child says with an empty cache of compiled kernels, and what the next one says.

    A child answers `{"compile_seconds": s}`; the result is `{"compile_cold_seconds": s, "compile_warm_seconds": s}`,
    or `{"compile_error": why}`.
    """

    def cold_and_warm(request: Request) -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as folder:
            empty = {"NUMBA_CACHE_DIR": folder, "CUDA_CACHE_PATH": folder}
            try:
                cold, warm = (ask_child(module, request, empty)["compile_seconds"] for _ in range(2))
            except ChildError as error:
                return {"compile_error": str(error)}
        return {"compile_cold_seconds": cold, "compile_warm_seconds": warm}

    with ThreadPoolExecutor(max(1, (os.cpu_count() or 1) // CORES_PER_CHILD)) as pool:
        return list(pool.map(cold_and_warm, requests))


def run_on_all_cores(jobs: Sequence[Callable[[], object]]) -> None:
    """Do each job in some other process (jobs are pickled), as Numba compiles in one thread. One that fails is skipped:
    the verification shows why."""
    processes = max(1, min(len(jobs), os.cpu_count() or 1))
    with ProcessPoolExecutor(processes, get_context("spawn"), _take_one_thread) as pool:
        for future in [pool.submit(job) for job in jobs]:
            with suppress(Exception):
                future.result()


def _take_one_thread() -> None:
    os.environ["NUMBA_NUM_THREADS"] = "1"


class Peer:
    """The process of another library, asked over its stdin and stdout; what it prints goes to a log."""

    def __init__(self, process: subprocess.Popen[str], log: Path) -> None:
        self._process, self._log = process, log

    def ask(self, method: str, *arguments: Any) -> Any:
        """The answer of a method of the peer. Raises `ChildError` where it fails or the process has ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            print(json.dumps([method, arguments]), file=self._process.stdin, flush=True)
            value, error, missing = json.loads(self._process.stdout.readline())
        except (OSError, ValueError):
            last = self._log.read_text(errors="replace").strip().splitlines()[-1:]
            raise ChildError(f"its process ended, exit code {self._process.wait()} {' '.join(last)}".strip()) from None
        if error is not None:
            raise (Missing if missing else ChildError)(error)
        return value

    def run(self, repetitions: int) -> float:
        """Seconds that so many repetitions of what the peer holds ready take, by its own clock."""
        return float(self.ask("run", repetitions))


@contextmanager
def start_peer(
    python: Path | str | None, module: str, *arguments: object, threads: int, **environment: str
) -> Iterator[Peer]:
    """A peer of a Python, this one unless named, with so many threads."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "NPROC")
    given = {**os.environ, **dict.fromkeys(names, str(threads)), **environment}  # NPROC: XLA's pool
    given["PYTHONPATH"] = os.pathsep.join([str(ROOT), *filter(None, [given.get("PYTHONPATH")])])
    command = [str(python or sys.executable), "-m", __name__, module, *map(str, arguments)]
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        with log.open("w") as stderr:
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, text=True, env=given
            )
        try:
            yield Peer(process, log)
        finally:
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with suppress(OSError):
                        pipe.close()
            process.wait()


def _serve(module: str, name: str, *arguments: str) -> None:
    """Answer requests until stdin ends."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what a library prints is no answer
    peer: Any = None
    for line in sys.stdin:
        method, given = json.loads(line)
        try:
            peer = peer or import_module(module).make_peer(name, *arguments)
            answer = [getattr(peer, method)(*given), None, False]
        except Exception as error:  # whatever a library raises is its answer
            answer = [None, (str(error) or type(error).__name__).splitlines()[0], isinstance(error, ImportError)]
        print(json.dumps(answer), file=answers)


if __name__ == "__main__":
    _serve(*sys.argv[1:])
