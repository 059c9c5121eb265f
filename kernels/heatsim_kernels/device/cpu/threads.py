"""How many threads a CPU kernel uses."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module

import numba

CELLS_A_THREAD = 32_768  # below this, waiting for another thread takes longer than its share of the work

# OpenMP threads that spin long while they wait starve each other on a busy machine: on four cores with other work a
# small grid ran four times as fast with this as with libgomp's default. libgomp reads it when it is loaded, which is
# now: the variable is gone afterwards, for the sake of a program's other children.
SPINS = "GOMP_SPINCOUNT"
if SPINS not in os.environ:
    os.environ[SPINS] = "1000"
    with suppress(ImportError):  # where Numba has another threading layer
        import_module("numba.np.ufunc.omppool")
    del os.environ[SPINS]


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
