from __future__ import annotations

import os
from collections.abc import Iterator

import numba
import pytest


@pytest.fixture(autouse=True)
def _a_thread_a_core() -> Iterator[None]:
    """Tests start with a thread a core (four at most) and may change that for themselves."""
    numba.set_num_threads(min(4, os.cpu_count() or 1, numba.config.NUMBA_NUM_THREADS))
    yield
    numba.set_num_threads(numba.config.NUMBA_NUM_THREADS)
