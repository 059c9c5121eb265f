"""The CUDA convolution kernels on the simulator, in one process of its own, against the CPU."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import simulate_convolutions
from convolution_cases import LineCase, PlaneCase, same_bits, small_cases

pytestmark = pytest.mark.skipif(find_spec("numba_cuda") is None, reason="numba-cuda is not installed")
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> dict[str, np.ndarray]:
    target = tmp_path_factory.mktemp("simulator") / "results.npz"
    script = Path(simulate_convolutions.__file__)
    environment = {
        **os.environ,
        "NUMBA_ENABLE_CUDASIM": "1",
        "PYTHONPATH": os.pathsep.join([str(ROOT / "kernels"), str(script.parent)]),
    }
    done = subprocess.run(
        [sys.executable, str(script), str(target)], env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    with np.load(target) as file:
        return dict(file)


@pytest.mark.parametrize(("name", "kernel", "case"), [pytest.param(*each, id=each[0]) for each in small_cases()])
def test_a_simulated_kernel_gives_the_bits_of_the_cpu(
    name: str, kernel: str, case: LineCase | PlaneCase, simulated: dict[str, np.ndarray]
) -> None:
    assert same_bits(simulated[name], case.run("cpu", "cpu"))
