"""Judges pass what is exact and fail what is not, on fields that no run has made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import pi

import numpy as np
import pytest
from verify_cases import Exact, JudgedRun, run_of, solved_balcony

from heatsim.base.grid import CellGrid
from heatsim.studies.verification import exact as answers
from heatsim.studies.verification import problems, standards
from heatsim.studies.verification.judgement import Judge, Judgement, ValueCheck
from heatsim.studies.verification.problems import PROBLEMS
from heatsim.studies.verification.standards import extrapolate_to_corner, extrapolate_to_edge, surface_temperature

JUDGES: dict[str, Judge] = {problem.name: problem.judge for problem in PROBLEMS}


def line(cells: int, length: float, low: float = 0.0, coordinates: str = "cartesian") -> CellGrid:
    if coordinates == "cylindrical":
        edges = tuple(np.linspace(low, low + length, cells + 1))
        return CellGrid((1, 1, cells), (low, 0.0, 0.0), (length / cells, 2 * pi, 1.0), (edges, None, None), coordinates)
    return CellGrid((1, 1, cells), (low, 0.0, 0.0), (length / cells, 1.0, 1.0))


def failed(judgement: Judgement) -> list[str]:
    return [check.quantity for check in judgement.checks if not check.passed]


def test_a_check_passes_within_its_tolerance_and_its_order_only() -> None:
    check = ValueCheck("T", 10.0, 10.2, 0.25)
    assert check.passed
    assert check._replace(result=np.float64(10.2)).passed is True  # as JSON takes it
    assert not check._replace(result=10.3).passed
    assert not check._replace(result=float("nan")).passed
    with_order = check._replace(order_asked=2.0)
    assert not with_order.passed
    assert with_order._replace(order=1.95).passed
    assert not with_order._replace(order=1.85).passed


def wall(x: np.ndarray, y: np.ndarray, z: np.ndarray, t: float) -> np.ndarray:
    return answers.layered_wall(x, problems.LAYERS, problems.CONTACTS, (20.0, -10.0))


def cylinders(x: np.ndarray, y: np.ndarray, z: np.ndarray, t: float) -> np.ndarray:
    return answers.concentric_cylinders(x, (0.05, 0.1), (100.0, 0.0))


EXACT: dict[str, tuple[Exact, CellGrid, float]] = {
    "composite-wall": (wall, line(30, 0.3), answers.layered_wall_flux(problems.LAYERS, problems.CONTACTS, 30.0)),
    "cylinders": (cylinders, line(20, 0.05, 0.05, "cylindrical"), 100 * 2 * pi * 50.0 / np.log(2.0)),
}


@pytest.mark.parametrize("name", EXACT)
def test_what_is_exact_on_any_grid_has_to_be_exact(name: str) -> None:
    exact, grid, heat = EXACT[name]
    run, off = run_of(exact, grid), run_of(exact, grid, off=1e-4)
    run.heats, off.heats = {"x_min": heat}, {"x_min": 1.001 * heat}
    assert failed(JUDGES[name]([run])) == []  # type: ignore[list-item]
    assert failed(JUDGES[name]([off])) == ["RMS error of the field", "heat through x_min"]  # type: ignore[list-item]


def with_error(exact: Exact, error: Callable[[float], float], time: float, refined: Sequence[int]) -> list[JudgedRun]:
    return [run_of(exact, line(10 * r, 1.0), time, r, off=error(1.0 / r)) for r in refined]


def test_a_field_has_to_converge_in_second_order() -> None:
    judge, exact = JUDGES["manufactured-nonlinear"], problems.nonlinear
    second = with_error(exact, lambda h: 1e-3 * h**2, 0.2, (1, 2, 4))
    first = with_error(exact, lambda h: 1e-4 * h, 0.2, (1, 2, 4))
    assert failed(judge(second)) == []  # type: ignore[arg-type]
    assert failed(judge(first)) == ["RMS error of the field"]  # type: ignore[arg-type]
    assert judge(second).checks[0].order == pytest.approx(2.0)  # type: ignore[arg-type]
    assert judge(first).checks[0].order == pytest.approx(1.0)  # type: ignore[arg-type]


def test_the_radiating_end_is_found_from_the_last_cell() -> None:
    end = answers.radiating_end(0.1, 55.563, 0.98, 1000.0, 300.0)
    bar = run_of(lambda x, y, z, t: 1000.0 + (end - 1000.0) * x / 0.1, line(10, 0.1))
    assert failed(JUDGES["nafems-t2"]([bar])) == []  # type: ignore[list-item]
    bar.temperature = bar.temperature - 0.2
    assert failed(JUDGES["nafems-t2"]([bar])) == [  # type: ignore[list-item]
        "T of the radiating end, published",
        "T of the radiating end, exact",
    ]


def test_point_e_lies_on_the_convective_face() -> None:
    """A field that falls straight along x and meets 750 W/(m2 K) at x = 0.6: k (T_centre - T_surface) 2/h = 750 T."""
    grid = CellGrid((1, 20, 12), (0.0, 0.0, 0.0), (0.05, 0.05, 0.01))
    slope = -750.0 / 52.0 * 18.25
    run = run_of(lambda x, y, z, t: 18.25 + slope * (x - 0.6) + 0 * y, grid)
    assert standards.point_e(run) == pytest.approx(18.25, rel=1e-12)  # type: ignore[arg-type]


def test_the_insulated_end_is_that_of_a_parabola() -> None:
    run = run_of(lambda x, y, z, t: 7.0 - 2.0 * x**2, line(8, 10.0))
    assert problems.insulated_end(run) == pytest.approx(7.0, rel=1e-12)  # type: ignore[arg-type]


def test_the_front_of_the_stefan_problem_is_found() -> None:
    def exact(x: np.ndarray, y: np.ndarray, z: np.ndarray, t: float) -> np.ndarray:
        return problems.WATER.temperature(x, t)

    run = run_of(exact, line(240, 0.12), 3600.0)
    assert failed(problems.judge_melting([run])) == []  # type: ignore[list-item]
    late = run_of(exact, line(240, 0.12), 3600.0 * 1.05)
    late.time = 3600.0
    assert "place of the front" in failed(problems.judge_melting([late]))  # type: ignore[list-item]


def test_points_around_a_moving_source_are_found_on_the_surface() -> None:
    grid = CellGrid((24, 48, 112), (0.0, 0.0, 0.0), (2.5e-4, 2.5e-4, 2.5e-4))

    def exact(x: np.ndarray, y: np.ndarray, z: np.ndarray, t: float) -> np.ndarray:
        aside = np.hypot(y - problems.SPOT[1], 0.006 - z)
        ahead = x - problems.SPOT[0]
        return answers.rosenthal(ahead, aside, 100.0, 0.01, 30.0, problems.BEAM_DIFFUSIVITY)

    run = run_of(exact, grid)
    assert failed(problems.judge_moving_source([run])) == []  # type: ignore[list-item]
    run.temperature = 1.04 * run.temperature
    assert len(failed(problems.judge_moving_source([run]))) == len(problems.BEAM_POINTS)  # type: ignore[list-item]


def test_the_series_of_the_column_agrees_with_the_standard() -> None:
    published = np.concatenate([np.array(row) for row in standards.PUBLISHED.values()])
    assert np.abs(standards.exact_column() - published).max() < 0.05


def test_the_balcony_approaches_the_standard_from_grid_to_grid() -> None:
    """On fields of an independent solver: heat to 1 %, corners by two grids, as errors there fall like the spacing."""
    found = []
    for refined in (1, 2):
        shape = (43 * refined, 39 * refined, 27 * refined)
        bare = JudgedRun(CellGrid(shape, (-0.15, -0.75, 0.0), (0.05 / refined,) * 3), np.zeros(shape), refined=refined)
        found.append(solved_balcony(bare, *standards.conductivity_and_ambient(bare), standards.AMBIENTS))  # type: ignore[arg-type]
    flows = standards.heat_flows(found[1])  # type: ignore[arg-type]
    for number, target in standards.HEAT.values():
        assert flows[number] == pytest.approx(target, rel=0.01)
    assert sum(flows.values()) == pytest.approx(0.0, abs=1e-4)
    coarse, fine = (standards.coldest_corners(run) for run in found)  # type: ignore[arg-type]
    for first, second, target in zip(coarse, fine, standards.CORNERS.values(), strict=True):
        assert abs(second - target) < 0.6 * abs(first - target)
        assert 2.0 * second - first == pytest.approx(target, abs=0.12)


def test_a_surface_lies_between_its_cell_and_the_ambient() -> None:
    """k (T_cell - T_s)/(h/2) = (T_s - T_ambient)/R."""
    found = surface_temperature(18.0, 0.1, 0.3, 2.0)
    assert (18.0 - found) / 0.1 == pytest.approx((found - 2.0) / 0.3)


def test_an_edge_and_a_corner_of_a_straight_field_are_exact() -> None:
    assert extrapolate_to_edge(2.5, 3.5) == pytest.approx(2.0)
    rows, columns = np.meshgrid([0.5, 1.5], [0.5, 1.5], indexing="ij")
    assert extrapolate_to_corner(4.0 + 2.0 * rows - 3.0 * columns) == pytest.approx(4.0)
