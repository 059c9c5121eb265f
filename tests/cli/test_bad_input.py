"""Bad input: exit code 2, one clear message a fault on stderr, and nothing written."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from helpers.commands import SMALL, Heatsim, Invoke, contents, messages
from helpers.in_turn import in_turn

Write = Callable[..., Path]
Refused = Callable[..., list[str]]


@pytest.fixture
def refused(invoke: Invoke, write: Write, tmp_path: Path) -> Refused:
    """Run a scenario text that must be refused; returns the messages after `error: case.toml:`."""

    def call(text: str | bytes, *options: str) -> list[str]:
        write(text)
        before = contents(tmp_path)
        done = invoke("run", "case.toml", *options)
        assert (done.exit_code, done.stdout) == (2, ""), done.output
        assert "Traceback" not in done.stderr
        assert contents(tmp_path) == before
        assert not (tmp_path / "outputs").exists()
        return [line.removeprefix("error: ").removeprefix("case.toml:") for line in messages(done.stderr)]

    return call


def initial(value: str) -> str:
    return SMALL.replace('"300 + 100*x"', value)


def face(kind: str, **values: str) -> str:
    given = "".join(f', {name} = "{value}"' for name, value in values.items())
    return f'{SMALL}[boundary]\nx_min = {{ kind = "{kind}"{given} }}\n'


def source(**values: str) -> str:
    return SMALL + "[[sources]]\n" + "".join(f"{name} = {value}\n" for name, value in values.items())


# Made, not written (see tests/golden for the others): what is wrong, how its one message begins and what else it says.
SINGLE = {
    "nested 5000 deep": ("a = " + "[" * 5000 + "]" * 5000, "1:37: nested", "32"),
    "tables 5000 deep": ("a = " + "{a=" * 5000 + "1" + "}" * 5000, "1:99: nested", "32"),
    "5000 digits": (SMALL.replace("end = 1.0", "end = " + "1" * 5000), "5:7: a number of more than 200", ""),
    "not UTF-8": (SMALL.encode() + b'title = "\xff"', "14:10: expected UTF-8", "0xff"),
}


@in_turn("fault", SINGLE)
def test_one_fault_is_one_message_with_its_place(refused: Refused, fault: str) -> None:
    text, beginning, said = SINGLE[fault]
    (message,) = refused(text)
    assert message.startswith(beginning), message
    assert said in message


def test_all_faults_are_told_at_once_in_the_order_of_the_file(refused: Refused) -> None:
    text = SMALL.replace("end = 1.0", "end = -1.0").replace("8960.0", '"heavy"').replace("[8, 8, 8]", "[0, 8, 8]")
    messages = refused(text + "[tme]\n")
    assert [message.split(": ")[0] for message in messages] == ["2:10", "5:1", "8:1", "14:2"]


@in_turn("where", ["1/(x - x) > 0", "1/(x - 0.00625)", "sqrt(x - 0.05)", "1/(x - 0.00625) > 50"])
@in_turn("place", ["region", "source"])
def test_a_condition_that_divides_by_zero_is_refused(refused: Refused, where: str, place: str) -> None:
    if place == "region":
        (message,) = refused(f'{SMALL}[[regions]]\nmaterial = "copper"\nwhere = "{where}"\n')
    else:
        (message,) = refused(source(region=f'{{ where = "{where}" }}', power="1.0"))
    assert "where" in message


def test_a_fault_in_a_plane_that_no_sample_meets_is_found_before_anything_is_written(refused: Refused) -> None:
    text = initial('"300 if abs(z - 0.0015) > 1e-6 else 1/0"').replace("[8, 8, 8]", "[2, 2, 100]")
    (message,) = refused(text)
    assert message.startswith("13:1: initial.temperature: expected finite values")


def test_a_uniform_source_that_divides_by_zero_at_the_start_is_found_before_anything_is_written(
    refused: Refused,
) -> None:
    (message,) = refused(source(power_density='"1e6/t"'))
    assert message.startswith("14:3: sources.0")


@in_turn(
    "text",
    [
        face("fixed", temperature="300 - 5000*y"),
        face("fixed", temperature="-1 if t == 0 else 300"),
        face("convection", coefficient="10", ambient="300 - 5000*y").replace('"10"', "10"),
    ],
)
def test_a_boundary_below_absolute_zero_is_refused(refused: Refused, text: str) -> None:
    (message,) = refused(text)
    assert message.startswith("15:")
    assert "absolute zero" in message


@pytest.mark.parametrize("kind", ["initial", "source"])
def test_values_beyond_the_precision_are_refused(refused: Refused, tmp_path: Path, kind: str) -> None:
    """1e300 is a float64, but in float32 it is infinite."""
    np.save(tmp_path / "huge.npy", np.where(np.arange(512).reshape(8, 8, 8) == 99, 1e300, 300.0))
    text = initial('{ file = "huge.npy" }') if kind == "initial" else source(power_density='"1e30*1e30*(1 + x)"')
    (message,) = refused(text)
    assert kind in message


@in_turn(
    ("option", "said"),
    [
        ("time.end", "expected KEY=VALUE"),
        ("time.end=abc", "time.end: expected a number"),
        ("tim.end=3", '"time"?'),
        ("regions.4.material=copper", "index"),
        ("=3", "key"),
        ("time.end=" + "1" * 5000, "more than 200 characters"),
        ("time.end=[" + "[" * 5000, "nested"),
    ],
)
def test_an_override_that_cannot_be_applied_is_one_message(refused: Refused, option: str, said: str) -> None:
    (message,) = refused(SMALL, "--set", option)
    assert message.startswith("--set ")
    assert said in message


@pytest.mark.parametrize("name", ["absent.toml", "folder", "sub/absent.toml", "case.toml/x"])
def test_a_scenario_that_is_not_there_is_one_message(invoke: Invoke, write: Write, tmp_path: Path, name: str) -> None:
    write(SMALL)
    (tmp_path / "folder").mkdir()
    done = invoke("run", name)
    assert (done.exit_code, done.stdout) == (2, "")
    (line,) = messages(done.stderr)
    assert line.startswith(f"error: {name}: ")


def test_a_near_file_name_is_proposed(invoke: Invoke, write: Write) -> None:
    write(SMALL)
    assert "did you mean case.toml?" in invoke("run", "cas.toml").stderr


@pytest.mark.parametrize("output", ["case.toml", "case.toml/run", "/dev/full", "/proc/run"])
def test_a_place_that_cannot_hold_a_run_is_one_message(
    invoke: Invoke, write: Write, tmp_path: Path, output: str
) -> None:
    write(SMALL)
    done = invoke("run", "case.toml", "--output", output)
    assert (done.exit_code, done.stdout) == (2, "")
    (line,) = messages(done.stderr)
    assert output in line
    assert contents(tmp_path) == {"case.toml": SMALL.encode()}


def test_labels_may_be_the_first_region_since_they_cover_the_grid(invoke: Invoke, write: Write, tmp_path: Path) -> None:
    np.save(tmp_path / "labels.npy", np.zeros((8, 8, 8), np.uint8))
    write(SMALL.replace('material = "copper"', 'labels = { file = "labels.npy", map = { 0 = "copper" } }'))
    done = invoke("validate", "case.toml")
    assert (done.exit_code, done.stderr) == (0, "")


def test_a_real_process_ends_the_same_way(heatsim: Heatsim, write: Write, tmp_path: Path) -> None:
    write(SMALL.replace("end = 1.0", "end = -1.0").replace("398.0", '"warm"'))
    done = heatsim("run", "case.toml", "--json")
    assert done.returncode == 2
    assert len(json.loads(done.stdout)["error"]["issues"]) == 2
    assert contents(tmp_path).keys() == {"case.toml"}


def test_json_errors_are_json(invoke: Invoke, write: Write) -> None:
    write(SMALL)
    for arguments in (("run", "case.toml", "--json", "--kernel", "turbo"), ("info", "nowhere", "--json")):
        done = invoke(*arguments)
        assert json.loads(done.stdout)["error"]["exit_code"] == done.exit_code


def test_validate_and_run_find_the_same_faults(invoke: Invoke, write: Write) -> None:
    write(initial('"1/(x - x)"').replace("398.0", "398.0"))
    assert invoke("validate", "case.toml").stderr == invoke("run", "case.toml").stderr
    assert invoke("run", "case.toml", "--dry-run").exit_code == 2


def test_a_dry_run_of_a_valid_scenario_is_json_if_asked(invoke: Invoke, write: Write) -> None:
    write(SMALL)
    assert json.loads(invoke("run", "case.toml", "--dry-run", "--json").stdout)["cells"] == [8, 8, 8]
