"""Messages about inputs that are made, not written: long, deep, in files of their own. All others: tests/golden."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.in_turn import in_turn

from heatsim.errors import ScenarioError
from heatsim.scenario import load

Messages = Callable[..., list[str]]


def test_everything_that_is_wrong_is_told_at_once_in_the_order_of_the_file(messages: Messages, minimal: str) -> None:
    text = minimal.replace("end = 10.0", "end = -1").replace("398.0", "true").replace("0.1]", "0.1, 1]")
    text += "[boundary]\nx_min = { kind = 'periodic' }\n[hotspots]\nscales = [1]\n[bondary]\n"
    assert messages(text) == [
        "3:1: grid.size: expected an array of 3 numbers > 0 (m), found an array of 4",
        "5:1: time.end: expected a number > 0 (s), found -1",
        "7:1: materials.copper.conductivity: expected a number > 0 or an expression in T (W/(m K)), found true",
        "15:1: boundary.x_min: periodic needs both faces of x, but x_max is insulated",
        "16:2: hotspots.threshold: missing (Least rise over the surroundings [K])",
        '18:2: bondary: unknown key (did you mean "boundary"?)',
    ]


def test_temperatures_are_judged_in_the_unit_of_the_file(messages: Messages, minimal: str) -> None:
    text = 'temperature_unit = "degC"\n' + minimal.replace("293.15", "-300")
    expected = "expected a number >= -273.15 or an expression in x, y, z (degC), found -300"
    assert messages(text) == [f"14:1: initial.temperature: {expected}"]


def test_an_empty_list_of_regions_leaves_the_grid_uncovered(messages: Messages, minimal: str) -> None:
    text = "regions = []\n" + minimal.replace('[[regions]]\nmaterial = "copper"\n', "")
    assert messages(text) == ["1:1: regions: expected at least one region, found none"]


@in_turn(
    ("text", "message"),
    [
        ("a = 1\nb = " + "[" * 5000, "2:37: nested more than 32 deep"),
        ("a = 1\nb = -" + "1" * 5000, "2:5: a number of more than 200 characters"),
        ("a = 0x" + "f" * 5000, "1:5: a number of more than 200 characters"),
    ],
)
def test_text_that_is_too_deep_or_too_long_is_one_message(messages: Messages, text: str, message: str) -> None:
    assert messages(text) == [message]


def refusal(path: Path) -> str:
    with pytest.raises(ScenarioError) as error:
        load(path)
    assert error.value.exit_code == 2
    return str(error.value)


def test_files_that_cannot_be_read_are_one_message(tmp_path: Path) -> None:
    scenario = tmp_path / "plate.toml"
    scenario.write_bytes(b"title = 'a'\nb = 'caf\xe9'\n")
    assert refusal(tmp_path / "plat.toml") == f"{tmp_path}/plat.toml: no such file (did you mean {scenario}?)"
    assert refusal(tmp_path) == f"{tmp_path}: expected a scenario file, found a directory"
    assert refusal(scenario) == f"{scenario}:2:9: expected UTF-8 text, found byte 0xe9"
    scenario.write_bytes(b"#" * (2**22 + 1))
    assert refusal(scenario) == f"{scenario}: expected at most 4 MiB (arrays belong in files of their own)"
    scenario.write_bytes(b"")
    assert refusal(scenario) == f"{scenario}: expected a scenario, found nothing (see heatsim init)"


def test_files_that_no_editor_makes_are_one_message_and_soon(tmp_path: Path) -> None:
    scenario = tmp_path / "plate.toml"
    scenario.write_bytes(b"\xef\xbb\xbf" * 3 + b"[grid]\nx = '\xff'\n")
    assert refusal(scenario) == f"{scenario}:2:6: expected UTF-8 text, found byte 0xff"
    scenario.write_text("[grid]\ncells = [" + ("[" * 30 + "]" * 30 + ",") * 60_000)  # 3.5 MB; took 20 s
    assert "more than 100000 values; arrays belong in files of their own" in refusal(scenario)


def test_a_file_with_windows_line_ends_and_byte_order_mark_loads(tmp_path: Path, minimal: str) -> None:
    scenario = tmp_path / "plate.toml"
    scenario.write_bytes(b"\xef\xbb\xbf" + minimal.replace("\n", "\r\n").encode())
    assert load(scenario).time.end == 10.0


def test_a_flood_of_mistakes_is_cut_off(messages: Messages, minimal: str) -> None:
    flood = "".join(f"k{i} = 1\n" for i in range(5000))
    assert len(messages(flood + minimal)) == 100
