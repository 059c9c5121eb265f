"""Bad input: exit code 2, one clear message a fault on stderr, and nothing written."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from helpers.commands import SMALL, Heatsim, Invoke, contents, messages

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


def labels(file: str, mapping: str = '0 = "copper"') -> str:
    return f'{SMALL}[[regions]]\nlabels = {{ file = "{file}", map = {{ {mapping} }} }}\n'


def face(kind: str, **values: str) -> str:
    given = "".join(f', {name} = "{value}"' for name, value in values.items())
    return f'{SMALL}[boundary]\nx_min = {{ kind = "{kind}"{given} }}\n'


def source(**values: str) -> str:
    return SMALL + "[[sources]]\n" + "".join(f"{name} = {value}\n" for name, value in values.items())


# What is wrong, and how its one message begins and what else it says.
SINGLE = {
    "unknown section": (SMALL + "[tme]\nend = 1\n", "14:2: tme: unknown key", '"time"'),
    "unknown key": (SMALL.replace("end = 1.0", "end = 1.0\nstpe = 2"), "6:1: time.stpe: unknown key", '"step"'),
    "wrong type": (SMALL.replace("end = 1.0", 'end = "x"'), "5:1: time.end: expected a number > 0 (s)", '"x"'),
    "truth": (SMALL.replace("end = 1.0", "end = true"), "5:1: time.end: expected a number", "true"),
    "negative": (SMALL.replace("398.0", "-398.0"), "7:1: materials.copper.conductivity: expected a number > 0", "-398"),
    "not finite": (SMALL.replace("end = 1.0", "end = nan"), "5:1: time.end: expected a number", "nan"),
    "half a cell": (SMALL.replace("8, 8]", "8.5, 8]"), "2:13: grid.cells.1: expected a whole number", "8.5"),
    "too many cells": (
        SMALL.replace("8, 8, 8", "9999, 9999, 9999"),
        "2:1: grid.cells: expected at most",
        "999700029999",
    ),
    "no regions": (SMALL.replace('[[regions]]\nmaterial = "copper"\n', ""), "1:1: regions: missing", ""),
    "no such material": (SMALL.replace('= "copper"', '= "coper"'), "11:1: regions.0.material: ", '"copper"?'),
    "region outside": (
        SMALL + '[[regions]]\nmaterial = "copper"\nbox = { lower = [1, 1, 1], upper = [2, 2, 2] }\n',
        "16:1: regions.1.box: lies outside the grid",
        "x from 0 to 0.1",
    ),
    "region between centres": (
        SMALL + '[[regions]]\nmaterial = "copper"\nsphere = { center = [0.05, 0.05, 0.05], radius = 1e-4 }\n',
        "16:1: regions.1.sphere: covers no cell centre",
        "",
    ),
    "source between centres": (
        source(region="{ sphere = { center = [0.05, 0.05, 0.05], radius = 1e-4 } }", power="1.0"),
        "15:12: sources.0.region.sphere: covers no cell centre",
        "",
    ),
    "uncovered grid": (
        SMALL.replace("[initial]", "box = { lower = [0, 0, 0], upper = [0.05, 0.1, 0.1] }\n[initial]"),
        "12:1: regions.0.box: expected the first region to cover the grid",
        "",
    ),
    "step over the limit": (
        SMALL.replace("end = 1.0", 'end = 1.0\nstep = 1.0\nintegrator = "euler"'),
        "6:1: time.step: expected at most 0.225",
        "stability limit",
    ),
    "half a period": (face("periodic"), "15:1: boundary.x_min: periodic needs both faces of x", "insulated"),
    "missing labels": (labels("absent.npy"), "15:12: regions.1.labels.file: ", "absent.npy: no such file"),
    "labels of another shape": (labels("small.npy"), "15:12: regions.1.labels.file: ", "8 x 8 x 8, found 4 x 4 x 4"),
    "labels that are no numbers": (labels("field.npy"), "15:12: regions.1.labels.file: ", "whole numbers"),
    "labels without a material": (labels("labels.npy"), "15:33: regions.1.labels.map: ", "none for 1, 2"),
    "missing initial": (initial('{ file = "no.npy" }'), "13:17: initial.temperature.file: ", "no.npy: no such file"),
    "initial of another shape": (initial('{ file = "small.npy" }'), "13:17: initial.temperature.file: ", "4 x 4 x 4"),
    "initial with a NaN": (initial('{ file = "nan.npy" }'), "13:1: initial.temperature: expected finite values", "nan"),
    "initial with text": (initial('{ file = "case.toml" }'), "13:17: initial.temperature.file: ", ".npy"),
    "initial of junk": (initial('{ file = "junk.npy" }'), "13:17: initial.temperature.file: ", "junk.npy"),
    "initial is a folder": (initial('{ file = "folder.npy" }'), "13:17: initial.temperature.file: ", "folder.npy"),
    "below absolute zero": (initial('"300 - 1e5*x"'), "13:1: initial.temperature: ", "absolute zero"),
    "always 1/0": (initial('"300 + 1/0"'), "13:1: initial.temperature: ", "inf"),
    "1/0 everywhere": (initial('"1/(x - x)"'), "13:1: initial.temperature: expected finite values", "inf"),
    "1/0 in one plane": (initial('"300 if x > 0.01 else 1/0"'), "13:1: initial.temperature: ", "inf"),
    "formula with an error": (initial('"300 + * x"'), "13:1: initial.temperature: ", "character 7"),
    "formula with a call": (initial("'__import__(\"os\")'"), "13:1: initial.temperature: ", "not allowed"),
    "time at the start": (initial('"300 + t"'), "13:1: initial.temperature: ", "t has no meaning here"),
    "source 1/0 in cells": (source(power_density='"1/(x - 0.00625)"'), "14:3: sources.0", "inf"),
    "wall 1/0": (face("fixed", temperature="1/(y - y)"), "15:27: boundary.x_min.temperature: ", "inf"),
    "wall 1/0 in a cell": (face("fixed", temperature="300 + 1/(y - 0.00625)"), "15:27: boundary.x_min.temp", "inf"),
    "flux 1/0 at t = 0": (face("flux", flux="1/t"), "15:26: boundary.x_min.flux: ", "at t = 0 s"),
    "condition with an error": (
        SMALL + '[[regions]]\nmaterial = "copper"\nwhere = "x >"\n',
        "16:1: regions.1.where: ",
        "x >",
    ),
    "nested 5000 deep": ("a = " + "[" * 5000 + "]" * 5000, "1:37: nested", "32"),
    "tables 5000 deep": ("a = " + "{a=" * 5000 + "1" + "}" * 5000, "1:99: nested", "32"),
    "5000 digits": (SMALL.replace("end = 1.0", "end = " + "1" * 5000), "5:7: a number of more than 200", ""),
    "not UTF-8": (SMALL.encode() + b'title = "\xff"', "14:10: expected UTF-8", "0xff"),
    "empty": ("", " expected a scenario", "heatsim init"),
    "not TOML": (SMALL + "end 1", "14:5: not TOML", ""),
    "slice outside": (SMALL + '[[output.slices]]\naxis = "z"\nat = 5\nevery = 1\n', "16:1: output.slices.0.at", "0.1"),
    "probe outside": (
        SMALL + '[[output.probes]]\nname = "a"\nat = [1, 1, 1]\nevery = 1\n',
        "16:1: output.probes.0.at: lies outside the grid",
        "",
    ),
    "a name with a path": (
        SMALL + '[[output.slices]]\naxis = "z"\nat = 0.05\nevery = 1\nname = "../evil"\n',
        "18:1: output.slices.0.name",
        "../evil",
    ),
    "records without end": (SMALL + "[output]\nenergy = { every = 1e-12 }\n", "15:12: output.energy.every", "1000000"),
}


@pytest.mark.parametrize("fault", SINGLE)
def test_one_fault_is_one_message_with_its_place(refused: Refused, tmp_path: Path, fault: str) -> None:
    np.save(tmp_path / "small.npy", np.zeros((4, 4, 4), np.uint8))
    np.save(tmp_path / "field.npy", np.full((8, 8, 8), 300.5))
    np.save(tmp_path / "labels.npy", np.arange(512, dtype=np.uint8).reshape(8, 8, 8) % 3)
    np.save(tmp_path / "nan.npy", np.where(np.arange(512).reshape(8, 8, 8) == 99, np.nan, 300.0))
    (tmp_path / "junk.npy").write_bytes(b"junk")
    (tmp_path / "folder.npy").mkdir()
    text, beginning, said = SINGLE[fault]
    (message,) = refused(text)
    assert message.startswith(beginning), message
    assert said in message


def test_all_faults_are_told_at_once_in_the_order_of_the_file(refused: Refused) -> None:
    text = SMALL.replace("end = 1.0", "end = -1.0").replace("8960.0", '"heavy"').replace("[8, 8, 8]", "[0, 8, 8]")
    messages = refused(text + "[tme]\n")
    assert [message.split(": ")[0] for message in messages] == ["2:10", "5:1", "8:1", "14:2"]


@pytest.mark.parametrize("where", ["1/(x - x) > 0", "1/(x - 0.00625)", "sqrt(x - 0.05)", "1/(x - 0.00625) > 50"])
@pytest.mark.parametrize("place", ["region", "source"])
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


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
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
    assert (done.returncode, done.stdout) == (2, "")
    assert len(messages(done.stderr)) == 2
    assert contents(tmp_path).keys() == {"case.toml"}


def test_json_errors_leave_stdout_empty(invoke: Invoke, write: Write) -> None:
    write(SMALL)
    for arguments in (("run", "case.toml", "--json", "--kernel", "turbo"), ("info", "nowhere", "--json")):
        assert invoke(*arguments).stdout == ""


def test_validate_and_run_find_the_same_faults(invoke: Invoke, write: Write) -> None:
    write(initial('"1/(x - x)"').replace("398.0", "398.0"))
    assert invoke("validate", "case.toml").stderr == invoke("run", "case.toml").stderr
    assert invoke("run", "case.toml", "--dry-run").exit_code == 2


def test_a_dry_run_of_a_valid_scenario_is_json_if_asked(invoke: Invoke, write: Write) -> None:
    write(SMALL)
    assert json.loads(invoke("run", "case.toml", "--dry-run", "--json").stdout)["cells"] == [8, 8, 8]
