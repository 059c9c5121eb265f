from __future__ import annotations

from collections.abc import Callable

import pytest

from heatsim.scenario import Expression, loads

Messages = Callable[..., list[str]]


def test_overrides_replace_and_add_values_of_every_form(minimal: str) -> None:
    overrides = [
        "time.end=20",
        "compute.device=cpu",
        "title=Hello world",
        "grid.cells=[4, 4, 2]",
        "materials.'steel 304'={conductivity=15, density=7900, heat_capacity=500}",
        'materials."steel 304".density=8000',
        "regions.0.material=steel 304",
        "initial.temperature=293 + 5*sin(x/0.1)",
        "boundary.x_min={kind='insulated'}",
    ]
    scenario = loads(minimal, overrides=overrides)
    assert scenario.time.end == 20.0
    assert scenario.compute.device == "cpu"
    assert scenario.title == "Hello world"
    assert scenario.grid.cells == (4, 4, 2)
    assert scenario.materials["steel 304"].density == 8000.0
    assert scenario.regions[0].material == "steel 304"
    assert isinstance(scenario.initial.temperature, Expression)
    assert scenario.initial.temperature.text == "293 + 5*sin(x/0.1)"


def test_an_item_of_an_array_is_overridden_by_its_index(minimal: str) -> None:
    text = minimal + "[[sources]]\npower = 1\n[[sources]]\npower = 2\n"
    assert [source.power for source in loads(text, overrides=["sources.1.power=3"]).sources] == [1.0, 3.0]


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("time.end=" + "[" * 5000, "--set time.end: nested more than 32 deep"),
        ("time.end=" + "1" * 5000, "--set time.end: a number of more than 200 characters"),
    ],
)  # fmt: skip
def test_an_override_that_is_too_deep_or_too_long_is_told_by_its_key(
    messages: Messages, minimal: str, override: str, message: str
) -> None:
    assert messages(minimal, override) == [message]


def test_a_value_that_breaks_off_is_told_with_the_reason(messages: Messages, minimal: str) -> None:
    (message,) = messages(minimal, "grid.cells=[1, 2")
    assert message.startswith('--set grid.cells: expected a TOML value, found "[1, 2": ')


def test_a_value_cannot_smuggle_in_other_keys(messages: Messages, minimal: str) -> None:
    expected = "a title of at most 200 characters on one line"
    assert messages(minimal, "title='a'\n[time]\nend = 3") == [
        f"--set title: expected {expected}, found \"'a'\\n[time]\\nend = 3\""
    ]
