"""A body at one temperature stays at it, to the bit: no rounding may leak into a field without gradients."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.in_memory import Run, case
from helpers.in_turn import in_turn
from helpers.scenario_texts import INSULATED, PERIODIC, box, convection, fixed, flux, material

MATERIALS = {"steel": material(45.0, 7850.0, 460.0), "wood": material([0.3, 0.15, 0.11], 600.0, 1700.0)}
BODIES = {"steel": [], "steel and wood": [{"material": "wood", **box((0.3, 0.2, 0.0), (0.9, 0.7, 0.8))}]}
TEMPERATURE = 21.3  # not a float32, nor is its distance from the reference

# Each leaves the body alone; the far ambient moves the reference, so that the state is a rise that is not zero.
IDLE = convection(0.0, 1234.5)
SURROUNDINGS = {
    "insulated": {"default": INSULATED},
    "no exchange with a hot ambient": {"default": INSULATED, "z_max": IDLE},
    "fixed at its temperature": {"default": fixed(TEMPERATURE)},
    "fixed at its temperature, and a hot ambient": {"default": fixed(TEMPERATURE), "z_max": IDLE},
    "no flux": {"default": flux(0.0), "x_min": IDLE},
    "periodic, and a hot ambient": {"default": PERIODIC, "y_min": IDLE, "y_max": INSULATED},
}


@in_turn("precision", ["float64", "float32"])
@in_turn("regions", BODIES.values(), ids=BODIES)
@in_turn("boundary", SURROUNDINGS.values(), ids=SURROUNDINGS)
def test_a_constant_stays_constant_to_the_bit(run: Run, boundary: dict, regions: list, precision: str) -> None:
    body = {"materials": MATERIALS, "regions": regions, "initial": TEMPERATURE}
    text = case((7, 6, 5), 2e4, **body, boundary=boundary, precision=precision)
    outcome = run(text)
    kind = outcome.problem.dtype.type
    rise = kind(TEMPERATURE - outcome.problem.reference)
    assert outcome.state.step >= 10
    assert np.array_equal(outcome.state.field.host(), np.full((5, 6, 7), rise))
    assert np.array_equal(outcome.temperature, np.full((5, 6, 7), rise + kind(outcome.problem.reference)))
    assert outcome.temperature[0, 0, 0] == pytest.approx(TEMPERATURE, abs=4 * float(np.finfo(kind).eps) * 1234.5)
    assert outcome.energy.stored == 0.0
    assert set(outcome.energy.faces.values()) == {0.0}


def test_a_far_ambient_makes_the_state_a_rise_that_is_not_zero(run: Run) -> None:
    # the cases above would be weaker than they say if the reference were the body's temperature
    boundary = SURROUNDINGS["no exchange with a hot ambient"]
    outcome = run(case((7, 6, 5), 1e3, materials=MATERIALS, initial=TEMPERATURE, boundary=boundary))
    assert abs(outcome.state.field.host()).min() > 100.0


@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_an_ambient_at_the_temperature_of_the_body_changes_it_by_rounding_only(run: Run, precision: str) -> None:
    """The ghost (1 - s) T + s T rounds; the differences must stay of the order of one rounding, not add up."""
    boundary = {"default": convection(12.5, TEMPERATURE), "x_min": IDLE}
    text = case((7, 6, 5), 2e4, materials=MATERIALS, initial=TEMPERATURE, boundary=boundary, precision=precision)
    outcome = run(text)
    eps = np.finfo(outcome.problem.dtype).eps
    assert np.abs(outcome.temperature - TEMPERATURE).max() < 8 * eps * 1234.5
