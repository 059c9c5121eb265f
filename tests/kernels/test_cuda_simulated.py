"""CUDA kernels on the simulator, in one process of its own, against the CPU."""

from __future__ import annotations

import numpy as np
import pytest
import simulate_sweeps
from heatsim_kernels.explicit import CUDA_STEPPERS, STEPPERS
from helpers import simulator
from helpers.arrays import same_bits
from helpers.in_turn import in_turn
from helpers.kernel_cases import outcome

pytestmark = simulator.marks_of("simulated sweeps")
simulated = simulator.fixture_of(simulate_sweeps.__file__)


@in_turn(
    ("movement", "name", "dtype", "case"),
    [
        pytest.param(movement, *each, id=f"{movement}, {each[0]}")
        for movement in CUDA_STEPPERS
        for each in simulate_sweeps.cases(movement)
    ],
)
def test_the_simulated_kernels_agree_with_the_cpu(movement, name, dtype, case, simulated) -> None:  # type: ignore[no-untyped-def]
    expected = outcome(STEPPERS["cpu"](case.coefficients, np.dtype(dtype)), case, simulate_sweeps.STEPS)
    run = f"{movement}: {name}"
    assert same_bits(simulated[f"{run}: field"], expected.field)
    if movement in ("basic", "temporal"):
        np.testing.assert_allclose(simulated[f"{run}: heat_entered"], expected.heat_entered, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(simulated[f"{run}: stored"], expected.stored, rtol=1e-12, atol=1e-13)
        assert bool(simulated[f"{run}: is_finite"])
