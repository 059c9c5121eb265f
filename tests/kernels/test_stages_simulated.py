"""Stages by the CUDA kernels on the simulator, in one process of its own, against the CPU."""

from __future__ import annotations

import numpy as np
import simulate_stages
from heatsim_kernels.explicit import STEPPERS
from helpers import simulator
from helpers.arrays import same_bits
from helpers.in_turn import in_turn
from stage_cases import staged

pytestmark = simulator.marks_of("simulated stages")
simulated = simulator.fixture_of(simulate_stages.__file__)


@in_turn("number", range(len(simulate_stages.CASES)), ids=lambda n: f"{simulate_stages.CASES[n][0]} {n}")
def test_the_simulated_stages_agree_with_the_cpu(number: int, simulated: dict[str, np.ndarray]) -> None:
    *_, dtype, form = simulate_stages.CASES[number]
    case = simulate_stages.case_of(number)
    expected = staged(STEPPERS["cpu"](case.coefficients, np.dtype(dtype)), case, form)
    assert same_bits(simulated[f"{number}: field"], expected.field)
    assert same_bits(simulated[f"{number}: defect"], expected.defect)
    np.testing.assert_allclose(simulated[f"{number}: heat_entered"], expected.heat_entered, rtol=1e-12, atol=1e-14)
