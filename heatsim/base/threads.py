"""Work that threads of this process share: on planes of the grid, and on chunks of files."""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import copy_context
from math import prod
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

Item = TypeVar("Item")
Found = TypeVar("Found")
MAX_THREADS = 32
SLAB = 2**20  # values that a thread deals with at once: it waits for Python's lock at every call of NumPy
MANY = 2**17  # values, of which it is worth while to have threads share the work
_NICENESS = 10
_HAND_OVER = 1e-4  # s


def thread_count() -> int:
    """Threads that share work: the cores that this process may use, or as many as NUMBA_NUM_THREADS allows."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with suppress(ValueError):
        cores = min(cores, max(1, int(os.environ.get("NUMBA_NUM_THREADS", cores))))
    return min(cores, MAX_THREADS)


def in_threads(
    action: Callable[[Item], Found], items: Iterable[Item], count: int, begin: Callable[[], None] = lambda: None
) -> Iterator[Found]:
    """The results of an action on each of `count` items, in their order; a few are found ahead. Threads see the
    context variables of the caller. begin: called first in each thread."""
    threads = min(thread_count(), count)
    if threads < 2:
        yield from map(action, items)
        return
    under_way: deque[Future[Found]] = deque()
    with _lock_handed_over_soon(), ThreadPoolExecutor(threads, "heatsim-share", begin) as pool:
        try:
            for item in items:
                under_way.append(pool.submit(copy_context().run, action, item))
                if len(under_way) > threads + 1:
                    yield under_way.popleft().result()
            while under_way:
                yield under_way.popleft().result()
        finally:
            for task in under_way:
                task.cancel()


_sharing_lock, _sharing_before = threading.Lock(), list[float]()


@contextmanager
def _lock_handed_over_soon() -> Iterator[None]:
    """Have threads that run Python code hand over its lock after a tenth of a millisecond, not after five.

    Threads that share work take the lock several times a millisecond. Beside a thread that runs Python code, as one
    that imports or draws, 512 chunks took 3.8 s on 16 cores, and take 0.4 s so.
    """
    with _sharing_lock:
        _sharing_before.append(sys.getswitchinterval())
        sys.setswitchinterval(min(_HAND_OVER, _sharing_before[0]))
    try:
        yield
    finally:
        with _sharing_lock:
            before = _sharing_before[0]
            _sharing_before.pop()
            if not _sharing_before:
                sys.setswitchinterval(before)


def share_out(action: Callable[[Item], Found], items: Sequence[Item], values: int) -> Iterator[Found]:
    """The results of an action on each of the parts of an array of so many values, in their order; by threads if those
    are many. Warnings of NumPy are silenced in the threads as they are where this is called."""
    settings = np.geterr()

    def act(item: Item) -> Found:
        with np.errstate(**settings):
            return action(item)

    return in_threads(act, items, len(items)) if values >= MANY else map(action, items)


def for_each(action: Callable[[Item], object], items: Sequence[Item], values: int) -> None:
    """Do the action alone, as `share_out` does."""
    for _ in share_out(action, items, values):
        pass


def parts(shape: tuple[int, ...]) -> list[slice]:
    """Parts of an array along its first axis, of about SLAB values."""
    step = max(1, SLAB // max(1, prod(shape[1:])))
    return [slice(start, min(start + step, shape[0])) for start in range(0, shape[0], step)]


def made(shape: tuple[int, ...], dtype: np.dtype | type, part: Callable[[int], ArrayLike]) -> np.ndarray:
    """An array (n, ...) of the parts that `part` makes of the numbers below n. The system clears memory when that is
    first written to, which takes longer than to fill it: threads share that too."""
    found = np.empty(shape, dtype)

    def make(number: int) -> None:
        found[number] = part(number)

    for_each(make, range(len(found)), found.size)
    return found


def step_back() -> None:
    """Let other threads of the run go first on a core, where the system can tell threads apart."""
    with suppress(OSError, AttributeError):
        if os.uname().sysname == "Linux":
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)
