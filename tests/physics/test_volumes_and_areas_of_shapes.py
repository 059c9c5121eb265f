"""Regions that cells do not hold are told with their volumes; curved surfaces have the areas that they have."""

from __future__ import annotations

import re
from math import pi, sqrt
from pathlib import Path

import pytest
from helpers.in_turn import in_turn

from heatsim.problem import Problem, build_problem
from heatsim.scenario import loads

BLOCK = """
grid = {{ cells = [{n}, {n}, {n}], size = [0.1, 0.1, 0.1] }}
time = {{ integrator = "steady" }}
initial.temperature = 20.0
sources = [{{ material = "m", power = 1.0 }}]
[materials]
m = {{ conductivity = 1e9, density = 2700.0, heat_capacity = 900.0 }}
o = {{ conductivity = 1.0, density = 2700.0, heat_capacity = 900.0 }}
[ambients.air]
temperature = 20.0
coefficient = 1.0
[[regions]]
material = "air"
[[regions]]
material = "m"
{shape}
"""
AT, R = "[0.0513, 0.0487, 0.0502]", 0.03123
DIAMOND = "[[0.05, 0.01], [0.09, 0.05], [0.05, 0.09], [0.01, 0.05]]"
SHAPES = {  # and their areas in the grid, m2, and how exactly they are found
    "ball": (f"sphere = {{ center = {AT}, radius = {R} }}", 4 * pi * R**2, 1e-5),
    "half a ball": (f"sphere = {{ center = [0.05, 0.05, 0.0], radius = {R} }}", 2 * pi * R**2, 1e-3),
    "rod through the box": (
        f"cylinder = {{ start = [0.05, 0.05, 0.0], end = [0.05, 0.05, 0.1], radius = {R} }}",
        2 * pi * R * 0.1,
        1e-5,
    ),
    "rod askew": (
        "cylinder = { start = [0.03, 0.03, 0.03], end = [0.07, 0.07, 0.07], radius = 0.02 }",
        2 * pi * 0.02 * 0.04 * sqrt(3) + 2 * pi * 0.02**2,
        1e-5,
    ),
    "tilted box": (
        f'polygon = {{ axis = "z", points = {DIAMOND}, from = 0.02, to = 0.08 }}',
        4 * 0.04 * sqrt(2) * 0.06 + 4 * 0.04**2,
        1e-5,
    ),
    "tilted box, by a condition": (
        'where = "abs(x - 0.05) + abs(y - 0.05) < 0.04 and abs(z - 0.05) < 0.03"',
        4 * 0.04 * sqrt(2) * 0.06 + 4 * 0.04**2,
        1e-2,
    ),
    "ball, by a condition": (
        f'where = "(x - 0.0513)**2 + (y - 0.0487)**2 + (z - 0.0502)**2 < {R}**2"',
        4 * pi * R**2,
        1e-2,
    ),
    "plates, along the grid": ('where = "x > 0.02 and x < 0.08"', 0.02, 1e-6),
}


def problem(text: str, path: Path | None = None) -> Problem:
    return build_problem(loads(text, path))


def area(given: Problem) -> float:
    """Conductance to the air at a coefficient of 1 W/(m2 K), of a body that conducts well."""
    return float(given.ambients.conductance.sum())


@in_turn("n", [10, 15, 20])
@in_turn(("shape", "true", "within"), SHAPES.values(), ids=SHAPES)
def test_a_film_acts_on_the_true_area(shape: str, true: float, within: float, n: int) -> None:
    assert area(problem(BLOCK.format(n=n, shape=shape))) == pytest.approx(true, rel=within)


def test_a_ball_in_a_grid_one_cell_deep_has_the_area_of_its_cells() -> None:
    ball, cover = f"sphere = {{ center = {AT}, radius = {R} }}", '[[regions]]\nmaterial = "o"\nbox = {{ {} }}'
    text = BLOCK.replace("{n}, {n}, {n}", "{n}, {n}, 1")
    text = text.format(n=20, shape=f"{ball}\n{cover.format('lower = [0.0, 0.0, 0.0], upper = [0.01, 0.01, 0.1]')}")
    assert area(problem(text)) == pytest.approx(0.1 * (2 * pi * R + 0.02), rel=0.1)


def test_a_film_acts_on_the_true_area_of_triangles(tmp_path: Path) -> None:
    trimesh = pytest.importorskip("trimesh")
    mesh = trimesh.creation.icosphere(subdivisions=3, radius=R)
    mesh.apply_translation([0.0513, 0.0487, 0.0502])
    mesh.export(tmp_path / "ball.stl")
    for n in (10, 15):
        found = area(problem(BLOCK.format(n=n, shape='stl = "ball.stl"'), tmp_path / "case.toml"))
        assert found == pytest.approx(float(mesh.area), rel=2e-3)


def test_what_later_regions_cover_is_no_part_of_the_area() -> None:
    ball = f"sphere = {{ center = [0.05, 0.05, 0.05], radius = {R} }}"
    over = '[[regions]]\nmaterial = "o"\nbox = { lower = [0.0, 0.0, 0.0], upper = [0.1, 0.1, 0.05] }'
    body = BLOCK.replace("o = {{ conductivity = 1.0", "o = {{ conductivity = 1e9").format(n=20, shape=f"{ball}\n{over}")
    outside = 0.01 - pi * R**2  # of the box, beside the ball
    assert area(problem(body)) == pytest.approx(2 * pi * R**2 + outside, rel=2e-2)


VIA = """
grid = {{ cells = [{n}, {n}, 2], size = ["1 mm", "1 mm", "1.6 mm"] }}
time = {{ integrator = "steady" }}
materials.cu = {{ conductivity = 385.0, density = 8900.0, heat_capacity = 385.0 }}
materials.fr4 = {{ conductivity = 0.3, density = 1900.0, heat_capacity = 1100.0 }}
initial = {{ temperature = 300.0 }}
boundary.z_min = {{ kind = "fixed", temperature = 300.0 }}
[[regions]]
material = "fr4"
{regions}
"""
ROD = 'cylinder = {{ start = ["0.5 mm", "0.5 mm", 0], end = ["0.5 mm", "0.5 mm", "1.6 mm"], radius = "{} mm" }}'


def painted(*regions: tuple[str, str], n: int = 20) -> list[str]:
    """Warnings about regions, by material and shape."""
    text = "".join(f'[[regions]]\nmaterial = "{material}"\n{shape}\n' for material, shape in regions)
    given = problem(VIA.format(n=n, regions=text))
    return [str(each) for each in given.warnings() if "whole cells hold" in str(each)]


def box(x: float, y: float, width: float, height: float) -> str:
    return f'box = {{ lower = ["{x} mm", "{y} mm", 0], upper = ["{x + width} mm", "{y + height} mm", "1.6 mm"] }}'


def test_a_ring_that_cells_do_not_hold_is_told_with_both_volumes() -> None:
    ring = painted(("cu", ROD.format(0.15)), ("fr4", ROD.format(0.125)))
    assert "regions.1.cylinder" in ring[0]
    found = [float(each) for each in re.findall(r"(\S+) m3", ring[0])]
    assert found == pytest.approx([16 * 0.05**2 * 1.6e-9, pi * (0.15**2 - 0.125**2) * 1.6e-9], rel=2e-2)
    assert "%" in ring[0]


def test_foils_wires_and_conditions_are_told_where_cells_do_not_hold_them() -> None:
    assert "(+100 %)" in painted(("cu", box(0.2125, 0.0, 0.025, 1.0)))[0]  # a foil of half a cell
    assert painted(("cu", 'where = "abs(x - 0.000225) < 1.25e-5"'))
    assert painted(("cu", ROD.format(0.04)))  # a wire
    assert painted(("cu", box(0.0, 0.0, 1.0, 0.5)), ("fr4", box(0.0, 0.02, 1.0, 0.98)))  # what is left is a foil


def test_blocks_of_a_floorplan_are_told_one_by_one(tmp_path: Path) -> None:
    """Cells hold the second block alone, which lies beside the first."""
    plan = tmp_path / "plan.flp"
    plan.write_text("thin 2.5e-5 1e-3 2.125e-4 0\nwide 1e-4 1e-3 1e-4 0\n")
    place = f'floorplan = {{ file = "{plan.as_posix()}", unit = "UNIT", z = [0, "1.6 mm"] }}'
    found = painted(*(("cu", place.replace("UNIT", unit)) for unit in ("thin", "wide")))
    assert len(found) == 1
    assert "(+100 %)" in found[0]


def test_regions_that_cells_hold_are_not_told() -> None:
    assert not painted(("cu", box(0.25, 0.0, 0.1, 1.0)))
    assert not painted(("cu", ROD.format(0.3)), n=40)
    assert not painted(("cu", box(0.0, 0.0, 0.22, 1.0)), ("cu", box(0.22, 0.0, 0.28, 1.0)))  # one body of two boxes
    assert not painted(("fr4", box(0.2125, 0.0, 0.025, 1.0)))  # of what it lies in
    assert not painted(("cu", ROD.format(0.31)), ("fr4", ROD.format(0.2)), n=80)
