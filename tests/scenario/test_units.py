"""Numbers with a unit: conversions are exact, and what does not fit is refused with what it measures."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from helpers.in_turn import in_turn
from helpers.scenario_texts import MINIMAL

from heatsim.errors import ScenarioError
from heatsim.scenario import loads
from heatsim.scenario.language.units import UnitError, convert, split_quantity


@in_turn(
    ("text", "wanted", "value"),
    [
        ("2 mm", "m", 0.002),
        ("0.3um", "m", 0.3e-6),
        ("1 h", "s", 3600.0),
        ("1.5 d", "s", 129600.0),
        ("8 W/(cm2 K)", "W/(m2 K)", 8e4),
        ("8 W cm^-2 K^-1", "W/(m2 K)", 8e4),
        ("3 W/m²", "W/m2", 3.0),
        ("1 Btu/(h ft degF)", "W/(m K)", 1055.05585262 / 3600 / 0.3048 * 9 / 5),
        ("0.385 J/(g degC)", "J/(kg K)", 385.0),
        ("8.96 g/cm3", "kg/m3", 8960.0),
        ("1 kWh", "J", 3.6e6),
        ("60 min-1", "1/s", 1.0),
        ("50 %", "1", 0.5),
        ("1 mm2/s", "m2/s", 1e-6),
    ],
)
def test_numbers_are_converted_exactly(text: str, wanted: str, value: float) -> None:
    parts = split_quantity(text)
    assert parts is not None
    assert convert(*parts, wanted) == pytest.approx(value, rel=1e-15)


@in_turn(("text", "wanted", "value"), [("25 degC", "K", 298.15), ("0 K", "degC", -273.15), ("212 °F", "degC", 100.0)])
def test_temperatures_have_zeros_of_their_own_and_differences_do_not(text: str, wanted: str, value: float) -> None:
    parts = split_quantity(text)
    assert parts is not None
    assert convert(*parts, wanted, absolute=True) == value
    if text.endswith("C"):
        with pytest.raises(UnitError, match="difference"):
            convert(*parts, "K")


@in_turn("text", ["5", "5*x", "2e-3", "5 if t < 1 else 2", "x m", "", "1e9999 m", "9" * 99 + " m"])
def test_expressions_and_numbers_beyond_reason_are_no_quantities(text: str) -> None:
    assert split_quantity(text) is None


@in_turn("unit", ["W/m K", "m3000", "(m", "m)", "m/", "furlong", "m**", "()", "kg kg)("])
def test_what_is_no_unit_is_refused(unit: str) -> None:
    with pytest.raises(UnitError):
        convert("1", unit, "m")


def test_a_scenario_with_units_is_the_one_in_si(minimal: str) -> None:
    with_units = minimal.replace("size = [0.1, 0.1, 0.1]", "size = ['10 cm', '100 mm', 0.1]")
    assert with_units != minimal
    assert loads(with_units, overrides=["time.end=2 min"]) == loads(minimal, overrides=["time.end=120"])
    sliced = loads(minimal, overrides=['output.slices=[{ axis = "z", at = "5 mm", count = 1 }]'])
    assert sliced.output.slices[0].name == "z_0.005"
    assert loads(with_units, overrides=["initial.temperature=25 degC"]).initial.temperature == 298.15


@in_turn(
    ("override", "said"),
    [("time.end=5 kg", '"kg" is a mass'), ("time.end=5 ss", 'did you mean "s"?'), ("time.end=-5 min", "which is -300")],
)
def test_units_that_do_not_fit_are_refused(messages: Callable[..., list[str]], override: str, said: str) -> None:
    [message] = messages(MINIMAL, override)
    assert said in message


@in_turn("number", ["1e400 mm", "-1e400 mm", "9e308 km", "1e309 degC"])
@in_turn(
    "key",
    [
        "grid.size.0",
        "initial.temperature",
        "time.end",
        "parameters.h",
        "output.snapshots.every",
        "materials.copper.conductivity",
    ],
)
def test_a_number_beyond_floats_is_refused_at_its_key(minimal: str, key: str, number: str) -> None:
    with pytest.raises(ScenarioError, match=key):
        loads("parameters = { h = 1.0 }\n" + minimal, overrides=[f'{key}="{number}"'])


def test_a_parameter_is_finite(minimal: str) -> None:
    for value in ("10**400", "0/0", "2*1e308*10"):
        with pytest.raises(ScenarioError, match=r"parameters\.h"):
            loads("parameters = { h = 1.0 }\n" + minimal, overrides=[f'parameters.h="{value}"'])
