"""Properties that no table can hold are one message; the tables of all others are finite."""

from __future__ import annotations

import re
from contextlib import suppress

import pytest
from helpers.in_turn import in_turn
from helpers.scenario_texts import SMALL

from heatsim.errors import ScenarioError
from heatsim.problem import build_problem
from heatsim.scenario import loads


@in_turn(
    ("capacity", "latent", "message"),
    [
        ("'T**20'", "", "materials.copper.heat_capacity: expected values > 0"),
        ("385.0", "latent = { heat = 1e5, solidus = 500.0, liquidus = 1e20 }", ""),
        ("{ T = [0.0, 1e-8, 1e-7, 600.0], value = [1e30, 1e30, 1e-30, 1e30] }", "", ""),
    ],
)
def test_heat_contents_out_of_all_proportion_are_told(capacity: str, latent: str, message: str) -> None:
    text = SMALL.replace("heat_capacity = 385.0", f"heat_capacity = {capacity}\n{latent}")
    if not message:
        assert build_problem(loads(text)).tabulated is not None
        return
    with pytest.raises(ScenarioError, match=re.escape(message)):
        build_problem(loads(text))


@pytest.mark.parametrize("temperature", ["1e19", "1e30"])
def test_temperatures_beside_which_a_melting_range_vanishes_are_told(temperature: str) -> None:
    text = SMALL.replace(
        "heat_capacity = 385.0", "heat_capacity = 385.0\nlatent = { heat = 1e5, solidus = 5e2, liquidus = 6e2 }"
    )
    with pytest.raises(
        ScenarioError, match=r"materials: expected properties whose heat content can be tabulated: .*64 bits"
    ):
        build_problem(loads(text.replace("300 + 100*x", temperature)))


def test_an_ambient_a_hair_above_absolute_zero_is_tabulated_or_refused() -> None:
    text = SMALL.replace("heat_capacity = 385.0", 'heat_capacity = "385 + 0.1*T"')
    cold = 'boundary = { default = { kind = "convection", coefficient = 20.0, ambient = 5e-324 } }\n'
    with suppress(ScenarioError):
        assert build_problem(loads(cold + text)).tabulated is not None
