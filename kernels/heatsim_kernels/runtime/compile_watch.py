"""Who is told of the kernels that this process compiles. Kernels that are loaded from the disk are not told of."""

from __future__ import annotations

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
