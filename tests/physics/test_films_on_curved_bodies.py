"""Ambients about bodies that lie obliquely in the grid: the film acts on the true area, and planes along the grid keep
theirs to the bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from build_up_cases import Table, grid, material, run, scenario
from helpers.in_memory import problem_of
from helpers.in_turn import in_turn

from heatsim.problem import Problem

AIR = {"temperature": 20.0, "coefficient": 50.0}
RADIUS, MIDDLE, POWER = 0.009, [0.01, 0.01, 0.01], 5.0
AROUND = {"material": "air"}
BALL: Table = {"sphere": {"center": MIDDLE, "radius": RADIUS}}
SPHERE = 4 * np.pi * RADIUS**2
BOX: Table = {"box": {"lower": [0.004, 0.002, 0.006], "upper": [0.012, 0.014, 0.02]}}


def cube(cells: int) -> Table:
    return grid((0.02, cells), (0.02, cells), (0.02, cells))


COPPER = material(1e5, 3.4e6)


def in_air(
    grid: Table, shape: Table, integrator: str = "steady", end: float = 1.0, copper: Table = COPPER, **sections: Any
) -> str:
    """A body of copper, heated all over."""
    given: Table = {
        "ambients": {"air": AIR},
        "regions": [AROUND, {"material": "copper", **shape}],
        "sources": [{"power": POWER, "region": shape}],
    }
    return scenario(grid, {"copper": copper}, integrator, end, **(given | sections))


def area(problem: Problem) -> float:
    """Of all films, as the problem has it, m2."""
    materials = np.array(problem.zones.materials)
    films = (problem.cell_classes.beyond >= problem.materials.solids) & (
        materials[problem.cell_classes.zone] < problem.materials.solids
    )[:, None]
    faces = np.where(films, problem.cell_classes.faces.area / problem.cell_classes.slopes, 0.0)
    return float((faces * problem.cell_classes.count[:, None]).sum())


def rod(length: float, direction: tuple[float, float, float], radius: float = 0.005) -> tuple[Table, float]:
    """In the middle of the cube; its area with both ends."""
    half = 0.5 * length * np.array(direction) / np.linalg.norm(direction)
    ends = {"start": (MIDDLE - half).tolist(), "end": (MIDDLE + half).tolist()}
    return {"cylinder": {**ends, "radius": radius}}, 2 * np.pi * radius * (length + radius)


@pytest.mark.parametrize(("cells", "error"), [(20, 0.03), (40, 0.01)])
def test_a_heated_ball_has_the_exact_rise(cells: int, error: float) -> None:
    """P / (h 4 pi r2); the faces of its cells would have half as much area again."""
    state = run(in_air(cube(cells), BALL))
    hottest = state.temperature().max() - 20.0
    assert hottest == pytest.approx(POWER / (AIR["coefficient"] * SPHERE), rel=error)
    assert state.energy.ambients["air"] == pytest.approx(-POWER, rel=1e-8)


@pytest.mark.parametrize(("cells", "error"), [(20, 0.03), (40, 0.01)])
def test_a_heated_ball_in_cylindrical_coordinates_has_the_exact_rise(cells: int, error: float) -> None:
    around = grid((0.01, cells // 2), (2 * np.pi, 1), (0.02, cells), coordinates="cylindrical")
    state = run(in_air(around, {"where": "x**2 + (z - 0.01)**2 < 0.009**2"}))
    assert state.temperature().max() - 20.0 == pytest.approx(POWER / (AIR["coefficient"] * SPHERE), rel=error)


@in_turn(("cells", "error"), [(20, 0.03), (40, 0.015)])
@in_turn("direction", [(0, 0, 1), (1, 0, 0), (1, 1, 0), (1, 2, 3)])
def test_rods_in_any_direction_have_their_area(cells: int, error: float, direction: tuple[float, float, float]) -> None:
    """`cells` a diameter. Those at the rims of oblique ends have fewer faces than their shadows: first order."""
    shape, exact = rod(0.01, direction)
    assert area(problem_of(in_air(cube(2 * cells), shape))) == pytest.approx(exact, rel=error)


@in_turn(
    ("condition", "exact"),
    [
        ("(x - 0.01)**2 + (y - 0.01)**2 + (z - 0.01)**2 <= 0.009**2", SPHERE),
        ("((x - 0.01)**2 + (y - 0.01)**2 < 0.008**2) * (abs(z - 0.01) < 0.006)", 2 * np.pi * 0.008 * (0.012 + 0.008)),
        (
            "abs(x - 0.01) + abs(y - 0.01) < 0.00805 and 0.002 < z < 0.018",
            np.sqrt(8) * 0.00805 * 0.032 + 4 * 0.00805**2,
        ),
        ("sqrt((x - 0.01)**2 + (y - 0.01)**2 + (z - 0.01)**2) < (0.009 if z > 0 else 0.001)", SPHERE),
    ],
)
def test_conditions_have_the_area_of_what_they_describe(condition: str, exact: float) -> None:
    assert area(problem_of(in_air(cube(40), {"where": condition}))) == pytest.approx(exact, rel=0.02)


def test_a_cavity_and_a_disc_one_cell_thick_have_their_area() -> None:
    hole = [{"material": "copper"}, {"material": "air", **BALL}]
    assert area(problem_of(in_air(cube(40), {}, regions=hole, sources=[]))) == pytest.approx(SPHERE, rel=0.01)
    flat = grid((0.02, 40), (0.02, 40), (1.0, 1))
    ends = {"start": [0.01, 0.01, 0.0], "end": [0.01, 0.01, 1.0]}
    disc = in_air(flat, {"cylinder": {**ends, "radius": RADIUS}})
    assert area(problem_of(disc)) == pytest.approx(2 * np.pi * RADIUS, rel=0.01)


def test_a_ball_from_an_stl_file_has_its_area(tmp_path: Path) -> None:
    trimesh = pytest.importorskip("trimesh")
    pytest.importorskip("rtree")
    mesh = trimesh.creation.icosphere(subdivisions=3, radius=RADIUS).apply_translation(MIDDLE)
    mesh.export(tmp_path / "ball.stl")
    shape = {"stl": str(tmp_path / "ball.stl")}
    assert area(problem_of(in_air(cube(40), shape))) == pytest.approx(mesh.area, rel=0.01)


def test_a_cube_from_an_stl_file_is_the_box_to_the_bit(tmp_path: Path) -> None:
    trimesh = pytest.importorskip("trimesh")
    pytest.importorskip("rtree")
    box = BOX["box"]
    trimesh.creation.box(bounds=[box["lower"], box["upper"]]).export(tmp_path / "box.stl")
    same_to_the_bit(problem_of(in_air(cube(10), {"stl": str(tmp_path / "box.stl")})), problem_of(in_air(cube(10), BOX)))


@in_turn(
    "condition",
    [
        "0.004 < x < 0.012 and 0.002 < y < 0.014 and z > 0.006",
        "max(abs(x - 0.008) / 0.004, abs(y - 0.008) / 0.006) < 1 and not (z < 0.006)",
        "step(x - 0.004) * step(0.012 - x) * (y > 0.002) * (y < 0.014) * (z > 0.006) > 0.5",
        "(x - 0.008)**2 < 0.004**2 and (y - 0.008)**2 < 0.006**2 and floor(z / 0.006) > 0",
    ],
)
def test_a_condition_along_the_grid_is_the_box_to_the_bit(condition: str) -> None:
    same_to_the_bit(problem_of(in_air(cube(10), {"where": condition})), problem_of(in_air(cube(10), BOX)))


def same_to_the_bit(one: Problem, other: Problem) -> None:
    np.testing.assert_array_equal(one.coefficients.rates, other.coefficients.rates)
    np.testing.assert_array_equal(one.coefficients.class_ids, other.coefficients.class_ids)


def test_a_ball_beside_a_box_leaves_the_box_as_it_is() -> None:
    wide = grid((0.04, 40), (0.02, 20), (0.02, 20))
    ball = {"material": "copper", "sphere": {"center": [0.03, 0.01, 0.01], "radius": RADIUS}}
    alone = problem_of(in_air(wide, BOX))
    both = problem_of(in_air(wide, BOX, regions=[AROUND, ball, {"material": "copper", **BOX}]))
    here = (slice(None), slice(None), slice(0, 16))
    rates = [problem.coefficients.rates[problem.coefficients.class_ids[here]] for problem in (alone, both)]
    np.testing.assert_array_equal(*rates)
    assert area(both) - area(alone) == pytest.approx(SPHERE, rel=0.03)


def one_oblique_cell(**sections: Any) -> str:
    """A metre across; two faces stand for a plane with the normal (2, 1)."""
    return in_air(grid((2.0, 2), (2.0, 2), (1.0, 1)), {"where": "2*x + y < 2.2"}, **sections)


def test_the_film_of_an_oblique_cell_and_the_flux_through_it_are_exact() -> None:
    k = 30.0
    state = run(one_oblique_cell(copper=material(k)))
    through = 1.0 / (0.5 / k + (2 + 1) / np.sqrt(5) / AIR["coefficient"])  # W/(m2 K)
    temperature = state.temperature()
    assert temperature[0, 0, 0] - 20.0 == pytest.approx(POWER / (2 * through), rel=1e-8)
    flux, _ = state.problem.flux_and_gradient(temperature - state.problem.reference, np.inf)
    assert [flux[0][0, 0, 0], flux[1][0, 0, 0]] == pytest.approx([POWER / 4, POWER / 4], rel=1e-8)


CONSTANT = {"T": [0.0, 200.0], "value": [1e5, 1e5]}  # which is computed as what depends on temperature


@in_turn(
    ("integrator", "end", "copper"),
    [
        ("euler", 0.01, COPPER),
        ("euler", 0.01, COPPER | {"conductivity": CONSTANT}),
        ("implicit", 1.0, COPPER),
    ],
)
def test_explicit_and_implicit_runs_lose_heat_through_the_true_area(integrator: str, end: float, copper: Table) -> None:
    energy = run(in_air(cube(20), BALL, integrator, end, copper, sources=[], initial={"temperature": 120.0})).energy
    assert energy.ambients["air"] == pytest.approx(-AIR["coefficient"] * SPHERE * 100.0 * end, rel=0.03)
    assert abs(energy.relative_residual) < 1e-9


def test_every_cell_of_a_ball_may_be_of_a_kind_of_its_own() -> None:
    """More kinds than two bytes hold."""
    rng = np.random.default_rng(0)
    steps = np.cumsum(rng.uniform(1.0, 1.5, (3, 42)), axis=1)
    edges = [{"edges": [0.0, *(0.02 * each / each[-1]).tolist()]} for each in steps]
    state = run(in_air(grid(*edges), BALL))
    assert state.problem.coefficients.class_count > 2**16
    assert state.energy.ambients["air"] == pytest.approx(-POWER, rel=1e-8)
    assert state.temperature().max() - 20.0 == pytest.approx(POWER / (AIR["coefficient"] * SPHERE), rel=0.01)
