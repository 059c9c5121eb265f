"""How many threads a CPU kernel uses."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import numba

CELLS_A_THREAD = 32_768  # below this, waiting for another thread takes longer than its share of the work

# OpenMP threads that spin long while they wait starve each other on a busy machine: on four cores with other work a
# small grid ran four times as fast with this as with libgomp's default. Numba loads libgomp when it is first needed.
os.environ.setdefault("GOMP_SPINCOUNT", "1000")


def threads_for(cells: int) -> int:
    """Threads worth using on a grid of that many cells, at most those that Numba has."""
    available: int = numba.get_num_threads()
    return max(1, min(available, cells // CELLS_A_THREAD))


@contextmanager
def limited(count: int) -> Iterator[None]:
    """Use that many of Numba's threads."""
    usual = numba.get_num_threads()
    numba.set_num_threads(count)
    try:
        yield
    finally:
        numba.set_num_threads(usual)
