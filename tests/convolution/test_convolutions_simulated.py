"""The CUDA convolution kernels on the simulator, in one process of its own, against the CPU."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest
import simulate_convolutions
from convolution_cases import LineCase, PlaneCase, small_cases
from helpers import simulator
from helpers.arrays import same_bits

pytestmark = pytest.mark.skipif(find_spec("numba_cuda") is None, reason="numba-cuda is not installed")


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> dict[str, np.ndarray]:
    return simulator.results(simulate_convolutions.__file__, tmp_path_factory.mktemp("simulator"))


@pytest.mark.parametrize(("name", "kernel", "case"), [pytest.param(*each, id=each[0]) for each in small_cases()])
def test_a_simulated_kernel_gives_the_bits_of_the_cpu(
    name: str, kernel: str, case: LineCase | PlaneCase, simulated: dict[str, np.ndarray]
) -> None:
    assert same_bits(simulated[name], case.run("cpu", "cpu"))
