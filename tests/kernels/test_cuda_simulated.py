"""CUDA kernels on the simulator, in one process of its own, against the CPU."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import simulate_basic
from heatsim_kernels.stencil import CUDA_SWEEPS, SWEEPS
from kernel_cases import outcome, same_bits

pytestmark = pytest.mark.skipif(find_spec("numba_cuda") is None, reason="numba-cuda is not installed")
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> dict[str, np.ndarray]:
    target = tmp_path_factory.mktemp("simulator") / "results.npz"
    script = Path(simulate_basic.__file__)
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


@pytest.mark.parametrize("movement", CUDA_SWEEPS)
@pytest.mark.parametrize(
    ("name", "dtype", "case"), [pytest.param(*each, id=each[0]) for each in simulate_basic.cases()]
)
def test_the_simulated_kernels_agree_with_the_cpu(movement, name, dtype, case, simulated) -> None:  # type: ignore[no-untyped-def]
    expected = outcome(SWEEPS["cpu"](case.terms, np.dtype(dtype)), case, simulate_basic.STEPS)
    found = {part: simulated[f"{movement}: {name}: {part}"] for part in (*expected._fields, "is_finite")}
    assert same_bits(found["field"], expected.field)
    np.testing.assert_allclose(found["heat_entered"], expected.heat_entered, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(found["zone_sums"], expected.zone_sums, rtol=1e-12, atol=1e-13)
    assert bool(found["is_finite"])
