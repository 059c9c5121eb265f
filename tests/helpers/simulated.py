"""Runs a script with Numba's CUDA simulator, on threads that cost little: `python -m helpers.simulated SCRIPT ...`.

The simulator has a thread of the system for each thread of a block, and polls them until all wait at a barrier. Here
they are greenlets: each runs to its next barrier, then the next one does. Every other time they run in reverse order,
so that a barrier that is missing shows, whichever of two threads it keeps apart comes first.
"""

from __future__ import annotations

import runpy
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
from greenlet import getcurrent, greenlet
from numba.cuda.simulator import kernel, kernelapi


class BlockThread(greenlet):
    """A CUDA thread: what the simulator asks `threading.current_thread()` for."""

    def __init__(self, manager: BlockManager, block: tuple[int, ...], thread: tuple[int, ...]) -> None:
        super().__init__(manager.kernel)
        self._manager = manager
        self.blockIdx, self.threadIdx = kernelapi.Dim3(*block), kernelapi.Dim3(*thread)
        size, at = manager.size, self.threadIdx
        self.thread_id = at.x + size.x * (at.y + size.y * at.z)

    def syncthreads(self) -> None:
        """Wait for the others of the block."""
        self.parent.switch()

    def _together(self, value: Any) -> np.ndarray:
        self._manager.values[self.thread_id] = value
        self.syncthreads()
        found = np.array(list(self._manager.values.values()))
        self.syncthreads()
        return found

    def syncthreads_count(self, value: Any) -> int:
        """How many gave what is true."""
        return int(np.count_nonzero(self._together(value)))

    def syncthreads_and(self, value: Any) -> int:
        """Whether all gave what is true."""
        return int(np.all(self._together(value)))

    def syncthreads_or(self, value: Any) -> int:
        """Whether any gave what is true."""
        return int(np.any(self._together(value)))


class BlockManager:
    """Runs a block."""

    def __init__(self, kernel: Any, grid_dim: tuple[int, ...], block_dim: tuple[int, ...], debug: bool) -> None:
        self.kernel, self._block_dim, self.size = kernel, block_dim, kernelapi.Dim3(*block_dim)
        self.values: dict[int, Any] = {}

    def run(self, block: tuple[int, ...], *args: Any) -> None:
        """Run all threads, from barrier to barrier."""
        threads = [BlockThread(self, block, thread) for thread in np.ndindex(*self._block_dim)]
        for thread in threads:
            thread.switch(*args)
        while waiting := [thread for thread in threads if not thread.dead]:
            threads = waiting[::-1]
            for thread in threads:
                thread.switch()


kernel.BlockManager = BlockManager
kernelapi.threading = SimpleNamespace(current_thread=getcurrent)

if __name__ == "__main__":
    sys.argv = sys.argv[1:]
    runpy.run_path(sys.argv[0], run_name="__main__")
