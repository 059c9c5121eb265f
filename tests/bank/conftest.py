from __future__ import annotations

import os
from collections.abc import Iterator

import numba
import pytest


@pytest.fixture(autouse=True)
def _two_threads() -> Iterator[None]:
    """Banks run on two threads, so that their work is shared out whatever the machine."""
    numba.set_num_threads(min(2, numba.config.NUMBA_NUM_THREADS, os.cpu_count() or 1))
    yield
    numba.set_num_threads(numba.config.NUMBA_NUM_THREADS)
