"""The CUDA convolution kernels on the simulator, in one process of its own, against the CPU."""

from __future__ import annotations

import numpy as np
import pytest
import simulate_convolutions
from convolution_cases import LineCase, PlaneCase, small_cases
from helpers import simulator
from helpers.arrays import same_bits
from helpers.in_turn import in_turn

pytestmark = simulator.needs_numba_cuda
simulated = simulator.fixture_of(simulate_convolutions.__file__)


@in_turn(("name", "kernel", "case"), [pytest.param(*each, id=each[0]) for each in small_cases()])
def test_a_simulated_kernel_gives_the_bits_of_the_cpu(
    name: str, kernel: str, case: LineCase | PlaneCase, simulated: dict[str, np.ndarray]
) -> None:
    assert same_bits(simulated[name], case.run("cpu", "cpu"))
