"""Gradients of steady states against differences of whole solves, and what is refused."""

from __future__ import annotations

import itertools
import runpy
from pathlib import Path

import numpy as np
import pytest
from helpers.in_turn import in_turn

import heatsim
from heatsim.errors import RequestError, ScenarioError

BODY = """
temperature_unit = "degC"
grid = { cells = [12, 10, 8], size = [0.03, 0.025, 0.02] }
time = { integrator = "steady", tolerance = 1e-10 }
compute = { precision = "float64", device = "cpu" }
initial = { temperature = 20.0 }
parameters = { h = 25.0, k = 3.0, load = 5.0 }

materials.block = { conductivity = "k", density = 2000.0, heat_capacity = 900.0 }
materials.insert = { conductivity = 40.0, density = 8000.0, heat_capacity = 400.0 }
ambients.air = { temperature = 15.0, coefficient = 8.0 }
regions = [
  { material = "air" },
  { material = "block", box = { lower = [0.0, 0.0, 0.0], upper = [0.03, 0.025, 0.015] } },
  { material = "insert", box = { lower = [0.01, 0.005, 0.005], upper = [0.02, 0.02, 0.0125] } },
]
contacts = [{ between = ["block", "insert"], resistance = 1e-3 }]
boundary.x_min = { kind = "convection", coefficient = "h", ambient = 30.0 }
boundary.z_min = { kind = "fixed", temperature = 20.0 }
output.probes = [{ name = "corner", at = [0.026, 0.021, 0.012], count = 1 }]
output.results = [
  { name = "insert", of = "mean(T, 'insert')" },
  { name = "place", of = "probe('corner')" },
  { name = "below", of = "heat('z_min')" },
  { name = "to the air", of = "heat('air')" },
  { name = "hottest", of = "max(T)" },
  { name = "about the hottest", of = "max_smooth(T, 0.5)" },
]

[[sources]]
material = "insert"
power = "load"
"""
NAMES = (
    "h",
    "k",
    "load",
    "materials.insert.conductivity",
    "contacts.0.resistance",
    "ambients.air.coefficient",
    "boundary.z_min.temperature",
    "boundary.x_min.ambient",
)
VALUES = (25.0, 3.0, 5.0, 40.0, 1e-3, 8.0, 20.0, 30.0)


@pytest.fixture
def body(tmp_path: Path) -> Path:
    path = tmp_path / "body.toml"
    path.write_text(BODY)
    return path


def test_derivatives_are_those_of_whole_solves(body: Path) -> None:
    results = "insert", "place", "below", "to the air", "about the hottest"
    found, here = {of: heatsim.gradient(body, of, NAMES) for of in results}, heatsim.evaluate(body, {})
    for name, value in zip(NAMES, VALUES, strict=True):
        change = 1e-2 * value
        low, below, above, high = (heatsim.evaluate(body, {name: value + by * change}) for by in (-1, -0.5, 0.5, 1))
        for of in results:
            slopes = (high[of] - low[of]) / (2 * change), (above[of] - below[of]) / change
            expected = (4.0 * slopes[1] - slopes[0]) / 3.0  # Richardson's: these differences are right to about 1e-8
            assert found[of].derivatives[name] == pytest.approx(expected, rel=1e-6), (of, name)
            assert found[of].value == pytest.approx(here[of], rel=1e-9), of


def test_a_watt_in_a_cell_adds_what_the_gradient_says(body: Path) -> None:
    found = heatsim.gradient(body, "insert")
    z, y, x = 2, 7, 3
    lower, upper = np.array([x, y, z]) * 0.0025, np.array([x + 1, y + 1, z + 1]) * 0.0025
    region = f"{{ box = {{ lower = {lower.tolist()}, upper = {upper.tolist()} }} }}"
    body.write_text(f"{BODY}\n[[sources]]\nregion = {region}\npower = 1.0\n")
    warmer = heatsim.evaluate(body, {})["insert"]
    assert warmer is not None
    assert warmer - found.value == pytest.approx(found.by_source[z, y, x], rel=1e-8)
    assert (found.by_source[6:] == 0.0).all()  # air


OTHER = 'materials.other = { conductivity = "k * f", density = 1.0, heat_capacity = 1.0 }\nmaterials.block'


@in_turn("of", ["insert", "below", "to the air", "max_smooth(T, 'insert', 2)"])
def test_the_derivative_by_the_conductivity_of_a_cell_is_that_of_whole_solves(body: Path, of: str) -> None:
    found = heatsim.gradient(body, of, ["materials.insert.conductivity"])
    whole = found.by_conductivity[2:5, 2:8, 4:8].sum()  # over the cells of the insert
    assert whole == pytest.approx(40.0 * found.derivatives["materials.insert.conductivity"], rel=1e-7)
    for z, y, x in ((0, 3, 0), (2, 5, 2), (5, 9, 11)):  # at two faces of the box, inside, and below the air
        lower, upper = np.array([x, y, z]) * 0.0025, np.array([x + 1, y + 1, z + 1]) * 0.0025
        box = f"{{ lower = {lower.tolist()}, upper = {upper.tolist()} }}"
        region = f'  {{ material = "other", box = {box} }},\n]\ncontacts'
        text = BODY.replace("]\ncontacts", region).replace("materials.block", OTHER, 1)
        body.write_text(text.replace("parameters = { ", "parameters = { f = 1.0, "))
        derivative = heatsim.gradient(body, of, ["f"]).derivatives["f"]
        assert found.by_conductivity[z, y, x] == pytest.approx(derivative, rel=1e-6, abs=1e-9)


@pytest.mark.gpu
@pytest.mark.parametrize("of", ["insert", "to the air"])
def test_a_gpu_finds_the_same_gradient(body: Path, of: str) -> None:
    expected = heatsim.gradient(body, of, ["k", "h"])
    body.write_text(BODY.replace('device = "cpu"', 'device = "cuda"'))
    found = heatsim.gradient(body, of, ["k", "h"])
    assert found.value == pytest.approx(expected.value, rel=1e-9)
    assert found.derivatives == pytest.approx(expected.derivatives, rel=1e-7)
    for name in ("by_source", "by_conductivity"):
        values = getattr(expected, name)
        np.testing.assert_allclose(getattr(found, name), values, atol=1e-8 * np.abs(values).max())


def test_a_smooth_maximum_comes_near_the_maximum_from_below(body: Path) -> None:
    found = heatsim.evaluate(body, {})
    hottest, smooth = found["hottest"], found["about the hottest"]
    assert hottest is not None
    assert smooth is not None
    assert hottest - 0.5 * np.log(12 * 10 * 8) < smooth < hottest


def test_what_has_no_gradient_is_refused(body: Path) -> None:
    for of, names, message in (
        ("hottest", (), "max, which has kinks"),
        ("nothing", (), "known here: insert, place, below"),
        ("mean(T, 'inset')", (), "no material and no region"),
        ("probe('inset')", (), "no probe"),
        ("heat('inset')", (), "no face of the box and no ambient"),
        ("insert", ("size",), "no parameter and no key"),
        ("insert", ("grid.cells.0.x",), "no parameter and no key"),
        ("insert", ("materials.block",), "expected a number"),
    ):
        with pytest.raises(RequestError, match=message):
            heatsim.gradient(body, of, names)
    body.write_text(BODY.replace("conductivity = 40.0", 'conductivity = "40 + 0.01*T"'))
    with pytest.raises(ScenarioError, match=r"materials\.insert\.conductivity"):
        heatsim.gradient(body, "insert")


def test_the_example_shapes_a_heat_sink_within_a_hundred_lines(tmp_path: Path) -> None:
    path = Path(__file__).parents[2] / "docs" / "examples" / "shape_heat_sink.py"
    assert len(path.read_text().splitlines()) < 100
    rises = runpy.run_path(str(path))["shape"](tmp_path, 6)
    assert rises[-1] < 0.2 * rises[0]
    assert all(after < before for before, after in itertools.pairwise(rises))
    assert np.load(tmp_path / "density.npy").mean() == pytest.approx(0.1, rel=1e-2)
