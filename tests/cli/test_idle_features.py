"""Probable mistakes that only the arrays show: contacts that never touch, power on ambients."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.commands import SMALL, Invoke
from helpers.in_turn import in_turn
from helpers.scenario_texts import case, material

from heatsim.problem import build_problem
from heatsim.scenario import loads

Write = Callable[..., Path]

APART = SMALL + (
    "[materials.tin]\nconductivity = 67.0\ndensity = 7300.0\nheat_capacity = 228.0\n"
    "[[contacts]]\nbetween = ['copper', 'tin']\nresistance = 1e-5\n"
)


@pytest.mark.parametrize("command", [("run", "--output", "out"), ("run", "--dry-run"), ("validate",)])
def test_contacts_that_never_touch_are_warned_of(
    invoke: Invoke, write: Write, tmp_path: Path, command: tuple[str, ...]
) -> None:
    write(APART)
    done = invoke(command[0], "case.toml", *command[1:])
    assert done.exit_code == 0
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("warning: ")]
    assert "contacts.0.between: these materials never touch" in line
    if "--output" in command:
        assert "WARNING case.toml" in (tmp_path / "out" / "run.log").read_text()


def test_a_source_in_ambients_alone_is_refused_as_such(invoke: Invoke, write: Write) -> None:
    air = "[ambients.air]\ntemperature = 300\ncoefficient = 5\n[[regions]]\nmaterial = 'air'\nwhere = 'z > 0.05'\n"
    write(SMALL + air + "[[sources]]\nregion = { where = 'z > 0.06' }\npower = 1.0\n")
    done = invoke("validate", "case.toml")
    assert done.exit_code == 2
    assert "sources.0.region.where: covers ambients only" in done.stderr


@pytest.mark.parametrize(("z", "warned"), [("", True), (",0.05", False)])
def test_a_beam_on_an_ambient_is_warned_of(invoke: Invoke, write: Write, tmp_path: Path, z: str, warned: bool) -> None:
    """Without z the beam shines on the top of the box, which is air."""
    head = "time,x,y" + (",z" if z else "")
    (tmp_path / "path.csv").write_text(f"{head}\n0,0.02,0.05{z}\n1,0.08,0.05{z}\n")
    air = "[ambients.air]\ntemperature = 300\ncoefficient = 5\n[[regions]]\nmaterial = 'air'\nwhere = 'z > 0.05'\n"
    beam = "{ kind = 'gaussian', power = 1.0, absorptivity = 1.0, radius = 0.03, depth = 0.02, path = 'path.csv' }"
    write(SMALL + air + f"[[sources]]\nbeam = {beam}\n")
    done = invoke("validate", "case.toml")
    assert done.exit_code == 0, done.stderr
    assert ("sources.0.beam.path: shines on an ambient" in done.stderr) == warned


@pytest.mark.parametrize(
    ("beam", "warning"),
    [
        ("kind = 'gaussian', absorptivity = 0.4, radius = 0.03, depth = 0.033", ""),
        (
            "kind = 'gaussian', absorptivity = 0.4, radius = 0.03, depth = 0.05",
            "beam.depth: 14 % of the power should pass through the 0.1 m below, but stays there (absorptivity = 0.346",
        ),
        ("kind = 'goldak', a = 0.03, b = 0.12, cf = 0.03, cr = 0.03", ""),
        (
            "kind = 'goldak', a = 0.03, b = 0.13, cf = 0.03, cr = 0.03",
            "beam.b: 6 % of the power should pass through the 0.1 m",
        ),
    ],
)
def test_a_beam_that_should_pass_through_the_body_is_warned_of(
    invoke: Invoke, write: Write, tmp_path: Path, beam: str, warning: str
) -> None:
    """Of more than 5 %: exp(-s/depth) of a Gaussian beam, erfc(sqrt(3) s/b) of Goldak's."""
    (tmp_path / "path.csv").write_text("time,x,y,z,on\n0,0.02,0.05,0,0\n0.5,0.02,0.05,0.1,1\n1,0.08,0.05,0.1,1\n")
    write(SMALL + f"[[sources]]\nbeam = {{ power = 1.0, path = 'path.csv', {beam} }}\n")
    done = invoke("validate", "case.toml")
    assert done.exit_code == 0, done.stderr
    assert ("should pass" in done.stderr) == bool(warning)
    assert warning in done.stderr


@in_turn(
    ("precision", "integrator", "warned"),
    [("float32", "euler", True), ("float64", "euler", False), ("float32", "implicit", False)],
)
def test_faces_whose_heat_float32_would_round_away_are_warned_of(precision: str, integrator: str, warned: bool) -> None:
    """A film on copper in cells of 10 um: half a cell has 16e6 times its conductance."""
    face = {"x_max": {"kind": "convection", "coefficient": 5.0, "ambient": 290.0}}
    text = case(
        [16, 4, 4], 1e-5, size=[1.6e-4, 4e-5, 4e-5], materials={"copper": material(398.0, 8960.0, 385.0)},
        initial="300 + 3e5*x", boundary=face, precision=precision, integrator=integrator,
    )  # fmt: skip
    told = [str(each) for each in build_problem(loads(text)).warnings()]
    assert any("boundary.x_max" in each and "last places of float32" in each for each in told) is warned
