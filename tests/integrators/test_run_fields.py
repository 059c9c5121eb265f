"""What the field of a run comes with: a stepper, stages, or a device that solves."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.scenario_texts import material
from integrator_cases import case, state_of

CASE = case([4, 3, 2], 0.001, initial="x")
FOLLOWING = case([4, 3, 2], 0.001, initial="x", materials={"unit": {**material(), "conductivity": "2 + 0.001 * T"}})


def test_an_integrator_that_solves_has_a_field_in_float64_and_no_stepper() -> None:
    state = state_of(CASE.replace("float64", "float32"), integrator="implicit")
    assert (state.field.state().dtype, state.field.host().dtype) == (np.float64, np.float32)
    assert state.solver_device == "cpu"
    with pytest.raises(TypeError, match="not for explicit steps"):
        _ = state.stepper
    state.entered[2] = 5.0
    assert state.heat_entered().tolist() == [0.0, 0.0, 5.0, 0.0, 0.0, 0.0]


def test_an_explicit_integrator_has_a_stepper_of_the_field() -> None:
    state = state_of(CASE, integrator="euler", kernel="cpu")
    assert state.stepper.field is state.stages.field is state.field


def test_of_temperature_dependent_materials_steps_and_stages_are_taken() -> None:
    state = state_of(FOLLOWING, integrator="euler", kernel="cpu")
    assert state.stepper.field is state.stages.field is state.field
