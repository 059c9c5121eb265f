"""Every physics test that takes `run` or `kernel` is run with every stencil kernel."""

from __future__ import annotations

from functools import partial

import physics_cases
import pytest
from heatsim_kernels.stencil import SWEEPS

from heatsim.errors import NoGpuError
from heatsim.simulation import device_selection


@pytest.fixture(scope="session")
def gpu() -> None:
    """Skip without a real GPU: the simulator would take hours."""
    try:
        device_selection.gpu_name()
    except NoGpuError as reason:
        pytest.skip(str(reason))
    from heatsim_kernels.runtime.cuda.api import SIMULATED

    if SIMULATED:
        pytest.skip("the CUDA simulator is too slow for whole runs")


kernel = physics_cases.of_kernels(SWEEPS)


@pytest.fixture
def run(kernel: str) -> physics_cases.Run:
    """Run a scenario text with this kernel."""
    return partial(physics_cases.run, kernel=kernel)
