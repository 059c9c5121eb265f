"""Work that needs other processes: compiling with an empty cache, running under a profiler, compiling on all cores.

A child is a module run as `python -m MODULE REQUEST`, with a JSON object in and one as its last line of output.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import suppress
from multiprocessing import get_context
from typing import Any

MAX_CHILD_SECONDS = 600.0  # s, for one child
CORES_PER_CHILD = 4  # while several compile at once, none waits for a core

Request = Mapping[str, Any]


class ChildError(Exception):
    """A child did not answer; the message says why."""


def ask_child(
    module: str, request: Request, environment: Mapping[str, str], wrapper: Sequence[str] = ()
) -> dict[str, Any]:
    """The answer of a child, started by a `wrapper` command if one is given. Raises `ChildError`."""
    command = [*wrapper, sys.executable, "-m", module, json.dumps(request)]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            env={**os.environ, **environment},
            timeout=MAX_CHILD_SECONDS,
            check=False,
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
    with ThreadPoolExecutor(max(1, (os.cpu_count() or 1) // CORES_PER_CHILD)) as pool:
        return list(pool.map(lambda request: _cold_and_warm(module, request), requests))


def _cold_and_warm(module: str, request: Request) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        empty = {"NUMBA_CACHE_DIR": folder, "CUDA_CACHE_PATH": folder}
        try:
            cold, warm = (ask_child(module, request, empty)["compile_seconds"] for _ in range(2))
        except ChildError as error:
            return {"compile_error": str(error)}
    return {"compile_cold_seconds": cold, "compile_warm_seconds": warm}


# GPU kernels compiled ahead by all cores, since Numba compiles in one thread; they are kept on disk.


def run_on_all_cores(jobs: Sequence[Callable[[], object]]) -> None:
    """Do each job in some other process (jobs are pickled). One that fails is skipped: the verification shows why."""
    processes = max(1, min(len(jobs), os.cpu_count() or 1))
    with ProcessPoolExecutor(processes, get_context("spawn"), _take_one_thread) as pool:
        for future in [pool.submit(job) for job in jobs]:
            with suppress(Exception):
                future.result()


def _take_one_thread() -> None:
    os.environ["NUMBA_NUM_THREADS"] = "1"
