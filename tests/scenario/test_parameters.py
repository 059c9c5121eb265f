"""`[parameters]`: names that stand for numbers in values and expressions."""

from __future__ import annotations

import pytest
from helpers.scenario_texts import MINIMAL

from heatsim.scenario import loads
from heatsim.scenario.boundary import Convection
from heatsim.scenario.language.expressions.expression import Expression
from heatsim.scenario.parameters import substitute_parameters

TEXT = (
    'parameters = { n = 4, h = 10.0, thick = "2 mm", twice = "2*thick", start = "25 degC" }\n'
    + MINIMAL.replace("[8, 8, 8]", '["n", "2*n", 8]')
    .replace("[0.1, 0.1, 0.1]", '["thick", "twice", "50*thick"]')
    .replace("293.15", '"start + 1e2*x"')
    + "[boundary]\nx_max = { kind = 'convection', coefficient = 'h*(1 + t)', ambient = 'start' }\n"
)


def test_parameters_stand_in_values_and_expressions() -> None:
    scenario = loads(TEXT)
    assert scenario.grid.cells == (4, 8, 8)
    assert scenario.grid.size == pytest.approx((0.002, 0.004, 0.1))
    assert isinstance(scenario.initial.temperature, Expression)
    assert float(scenario.initial.temperature(x=0.5)) == pytest.approx(298.15 + 50.0)
    face = scenario.boundary.x_max
    assert isinstance(face, Convection)
    assert isinstance(face.coefficient, Expression)
    assert float(face.coefficient(t=1.0)) == 20.0
    assert face.ambient == 298.15


def test_overrides_change_them_and_what_follows_from_them() -> None:
    scenario = loads(TEXT, overrides=["parameters.thick=3 mm", "parameters.n=6"])
    assert scenario.grid.cells == (6, 12, 8)
    assert scenario.grid.size == pytest.approx((0.003, 0.006, 0.15))
    assert scenario.parameters["twice"] == pytest.approx(0.006)


def test_a_resolved_scenario_is_the_same_again() -> None:
    scenario = loads(TEXT)
    assert loads(scenario.to_toml()) == scenario


def test_names_words_and_numbers_are_no_formulas() -> None:
    document = {"parameters": {"e5": 2, "steel": 3.0, "mm": 7}, "material": "steel", "a": "1e5*x", "b": "5 mm"}
    assert substitute_parameters(document)[0] == document
