"""Stages by the CUDA kernels on the simulator, in one process of its own, against the CPU."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest
import simulate_stages
from heatsim_kernels.stencil import SWEEPS
from helpers import simulator
from helpers.arrays import same_bits
from stage_cases import staged

pytestmark = [  # one process simulates once for all
    pytest.mark.skipif(find_spec("numba_cuda") is None, reason="numba-cuda is not installed"),
    pytest.mark.xdist_group("simulated stages"),
]


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> dict[str, np.ndarray]:
    return simulator.results(simulate_stages.__file__, tmp_path_factory.mktemp("simulator"))


@pytest.mark.parametrize(
    "number", range(len(simulate_stages.CASES)), ids=lambda n: f"{simulate_stages.CASES[n][0]} {n}"
)
def test_the_simulated_stages_agree_with_the_cpu(number: int, simulated: dict[str, np.ndarray]) -> None:
    *_, dtype, form = simulate_stages.CASES[number]
    case = simulate_stages.case_of(number)
    expected = staged(SWEEPS["cpu"](case.coefficients, np.dtype(dtype)), case, form)
    assert same_bits(simulated[f"{number}: field"], expected.field)
    assert same_bits(simulated[f"{number}: defect"], expected.defect)
    np.testing.assert_allclose(simulated[f"{number}: heat_entered"], expected.heat_entered, rtol=1e-12, atol=1e-14)
