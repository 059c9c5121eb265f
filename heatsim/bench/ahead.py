"""GPU kernels compiled ahead by all cores, since Numba compiles in one thread; the disk keeps them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from multiprocessing import get_context


def by_all_cores(jobs: Sequence[Callable[[], object]]) -> None:
    """Do each job in some other process; what one fails at, the verification will tell. Jobs can be pickled."""
    processes = max(1, min(len(jobs), os.cpu_count() or 1))
    with ProcessPoolExecutor(processes, get_context("spawn"), _take_one_thread) as pool:
        for future in [pool.submit(job) for job in jobs]:
            with suppress(Exception):
                future.result()


def _take_one_thread() -> None:
    os.environ["NUMBA_NUM_THREADS"] = "1"
