"""What happens while this process compiles kernels: who is told of it, and the rest that Python's garbage collector
takes. Kernels that are loaded from the disk are not told of."""

from __future__ import annotations

import gc
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import event

Tell = Callable[[str], None]

_listeners: list[Tell] = []


@contextmanager
def watch_compiling(tell: Tell) -> Iterator[None]:
    """Call `tell(module)`, in whichever thread compiles, whenever the compilation of a kernel begins."""
    _listeners.append(tell)
    try:
        with event.install_listener("numba:compile", _KernelListener(tell)):
            yield
    finally:
        _listeners.remove(tell)


def announce(module: str) -> None:
    """Tell of a kernel of a module whose compilation begins; Numba tells of those of the CPU."""
    for tell in _listeners:
        tell(module)


class _Collector:
    """Pauses garbage collection. The compiler makes millions of objects and no cycles that matter: a collector that
    looks at all of them time and again takes an eighth of the time."""

    def __init__(self) -> None:
        self._lock, self._depth, self._was_on = threading.Lock(), 0, False

    def pause(self) -> None:
        """Pause, until `resume` has been called as often."""
        with self._lock:
            if self._depth == 0:
                self._was_on = gc.isenabled()
                gc.disable()
            self._depth += 1

    def resume(self) -> None:
        """Go on, if nobody else wants a pause."""
        with self._lock:
            self._depth -= 1
            if self._depth == 0 and self._was_on:
                gc.enable()


_collector = _Collector()


@contextmanager
def collection_paused() -> Iterator[None]:
    """Collect no garbage meanwhile."""
    _collector.pause()
    try:
        yield
    finally:
        _collector.resume()


class _PausingListener(event.Listener):
    def on_start(self, event: Any) -> None:
        _collector.pause()

    def on_end(self, event: Any) -> None:
        _collector.resume()


def pause_collection_for_the_cpu() -> None:
    """The same whenever Numba compiles for the CPU, from now on."""
    event.register("numba:compile", _PausingListener())


class _KernelListener(event.Listener):
    """Tells of the functions that are compiled for Python, not of those that are compiled along with them."""

    def __init__(self, tell: Tell) -> None:
        self._tell, self._depth = tell, Counter[int]()

    def on_start(self, event: Any) -> None:
        """Note that a function begins to compile."""
        thread = threading.get_ident()
        self._depth[thread] += 1
        if self._depth[thread] == 1:
            self._tell(event.data["dispatcher"].py_func.__module__)

    def on_end(self, event: Any) -> None:
        """Note that it has ended."""
        self._depth[threading.get_ident()] -= 1
