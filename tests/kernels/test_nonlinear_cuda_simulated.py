"""CUDA sweeps of materials that depend on temperature on the simulator, in one process of its own, against the CPU."""

from __future__ import annotations

import nonlinear_simulate
import numpy as np
import pytest
from heatsim_kernels.explicit.enthalpy import NONLINEAR_STEPPERS
from helpers import simulator
from helpers.arrays import same_bits
from helpers.in_turn import in_turn
from nonlinear_cases import affine_outcome, outcome, staged

pytestmark = simulator.marks_of("simulated nonlinear")
simulated = simulator.fixture_of(nonlinear_simulate.__file__)


@in_turn(("name", "dtype", "case"), list(nonlinear_simulate.cases()), ids=lambda each: str(each)[:30])
def test_the_simulated_nonlinear_kernels_give_the_bits_of_the_cpu(name, dtype, case, simulated) -> None:  # type: ignore[no-untyped-def]
    expected = outcome(NONLINEAR_STEPPERS["cpu"](case.coefficients, np.dtype(dtype)), case, nonlinear_simulate.STEPS)
    assert np.abs(expected.heat_entered).max() > 0
    runs = [
        run for run in (f"{movement}: {name}" for movement in ("basic", "register")) if f"{run}: field" in simulated
    ]
    assert runs
    for run in runs:
        assert same_bits(simulated[f"{run}: field"], expected.field)
        np.testing.assert_allclose(simulated[f"{run}: heat_entered"], expected.heat_entered, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(simulated[f"{run}: stored"], expected.stored, rtol=1e-12)


@in_turn(("name", "dtype", "case"), list(nonlinear_simulate.affine_cases()), ids=lambda of: str(of)[:30])
def test_several_simulated_nonlinear_steps_at_once_give_the_bits_of_the_cpu(name, dtype, case, simulated) -> None:  # type: ignore[no-untyped-def]
    expected = affine_outcome(NONLINEAR_STEPPERS["cpu"](case.coefficients, np.dtype(dtype)), case)
    assert np.abs(expected.heat_entered).max() > 0
    assert simulated[f"{name}: at once"] == 2
    assert same_bits(simulated[f"{name}: field"], expected.field)
    np.testing.assert_allclose(simulated[f"{name}: heat_entered"], expected.heat_entered, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("number", range(len(nonlinear_simulate.STAGED)))
def test_simulated_nonlinear_stages_give_the_bits_of_the_cpu(number: int, simulated: dict[str, np.ndarray]) -> None:
    _, form, place = nonlinear_simulate.STAGED[number]
    _, dtype, case = list(nonlinear_simulate.cases())[place]
    expected = staged(NONLINEAR_STEPPERS["cpu"](case.coefficients, np.dtype(dtype)), case, form)
    found = {part: simulated[f"stages: {number}: {part}"] for part in expected._fields}
    assert same_bits(found["field"], expected.field)
    assert same_bits(found["defect"], expected.defect)
    np.testing.assert_allclose(found["heat_entered"], expected.heat_entered, rtol=1e-11, atol=1e-13)
