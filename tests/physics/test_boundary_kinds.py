"""Boundary kinds: what each says of itself, by its file alone, without a grid."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from helpers.in_turn import in_turn

from heatsim.scenario.boundary import KINDS, Boundary, kind_name
from heatsim.scenario.faces.condition import FaceCondition
from heatsim.scenario.language.value_types import TEMPERATURE
from heatsim.scenario.reference.examples import SECTIONS

GIVEN = {"temperature": 350.0, "flux": 400.0, "coefficient": 20.0, "ambient": 290.0, "emissivity": 0.8}
CONSTANT = [kind for kind in KINDS if kind_name(kind) != "radiation"]


def made(kind: type[FaceCondition], whole: bool = False, **other: float | str) -> FaceCondition:
    """A condition with the inputs that it needs, or all."""
    names = [name for name in kind.numbers() if whole or kind.model_fields[name].is_required()]
    given = {name: other.get(name, GIVEN[name]) for name in names}
    return Boundary.model_validate({"x_min": {"kind": kind_name(kind), **given}}).face("x_min")


def values(name: str) -> np.ndarray:
    return np.array([[GIVEN[name]]])


@in_turn("kind", CONSTANT, ids=kind_name)
def test_the_affine_map_and_the_surface_terms_pass_the_same_heat(kind: type[FaceCondition]) -> None:
    condition, resistance, T = made(kind), np.array([0.03]), 300.0
    a, b = condition.affine(values, resistance)
    coefficients = {"coefficient": 0.0, "ambient": 0.0, "flux": 0.0, **condition.surface_terms(values)}
    h, half = coefficients["coefficient"], 0.5 * resistance
    through = half if np.isinf(h) else half + 1 / h if h else inf
    expected = (coefficients["ambient"] - T) / through + coefficients["flux"]
    assert np.ravel((a * T + b) / resistance) == pytest.approx(np.ravel(expected))
    assert bool(np.any(expected)) == condition.PASSES_HEAT


@in_turn("kind", KINDS, ids=kind_name)
def test_a_kind_has_an_example_and_describes_its_inputs(kind: type[FaceCondition]) -> None:
    assert kind.__name__ in {section.name for section in SECTIONS}
    condition = made(kind, whole=True)
    assert set(condition.inputs) == set(kind.numbers())
    names = [name for name, number in kind.numbers().items() if number is TEMPERATURE]
    assert condition.temperatures == {name: GIVEN[name] for name in names}
    assert {kind.STRENGTH, kind.GIVEN_FLUX} - {""} <= set(kind.numbers())
    assert condition.ties_temperature(values) == bool(names)


@pytest.mark.parametrize("name", ["coefficient", "emissivity"])
def test_only_a_strength_in_T_makes_an_affine_kind_nonlinear(name: str) -> None:
    (kind,) = (kind for kind in KINDS if name == kind.STRENGTH)
    assert made(kind, **{name: "0.5 + 0.001*T"}).temperature_dependent
    assert made(kind).temperature_dependent == (name == "emissivity")
