"""What every room's tests share: threads enough to compare counts, no deadlines, the gate for tests that need a GPU."""

from __future__ import annotations

import ctypes
import gc
import os
import sys

import hypothesis
import pytest

# A machine that stalls is no failure: nothing here is judged by the clock.
hypothesis.settings.register_profile("heatsim", deadline=None)
hypothesis.settings.load_profile("heatsim")

# Python looks through all that compilers and pictures have left whenever 700 objects are new: 5 % of the time.
gc.set_threshold(100_000, 50, 100)

# Read by Numba when first imported: the most threads that `numba.set_num_threads` may ask for, whatever the machine.
os.environ.setdefault("NUMBA_NUM_THREADS", str(max(4, os.cpu_count() or 1)))


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    """Tests start with one thread, and some ask for more: kernels of several threads take twice as long to compile."""
    numba = sys.modules.get("numba")
    if numba is not None:
        numba.set_num_threads(1)


def pytest_collection_finish() -> None:
    """What has been imported stays to the end."""
    gc.freeze()


# Groups that take longest begin first: the last one keeps one process busy alone.
LONGEST = {"ranks", "verify", "site", "browser", "simulated temporal", "simulated nonlinear", "tests/test_recipes.py"}


def reason_without_gpu() -> str | None:
    """Why GPU tests cannot run here, or None where they can."""
    try:
        ctypes.CDLL("libcuda.so.1")  # asked first: without a driver numba.cuda need not be imported at all
    except OSError:
        return "no CUDA driver (libcuda.so.1) here"
    try:
        from heatsim_kernels.device.cuda import api

        api.device_name()
    except ImportError as error:
        return f"numba-cuda cannot be imported: {error}"
    except RuntimeError as error:
        return f"no usable CUDA GPU: {error}"
    return "numba.cuda is being simulated" if api.SIMULATED else None


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:  # the tests of a file share compiled kernels: two processes would compile each of them twice
        if not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(item.nodeid.partition("::")[0]))
    items.sort(key=lambda item: item.get_closest_marker("xdist_group").args[0] not in LONGEST)  # type: ignore[union-attr]
    wanting = [item for item in items if item.get_closest_marker("gpu")]
    reason = reason_without_gpu() if wanting else None
    if reason:
        for item in wanting:
            item.add_marker(pytest.mark.skip(reason=reason))
