"""Probes see the medium of their own cell alone, and that to second order up to its border."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.in_turn import in_turn
from helpers.scenario_texts import box, case, convection, fixed, material

import heatsim
from heatsim.base.grid import CellGrid
from heatsim.output.recorders.probes import Cell, probe_weights
from heatsim.scenario import loads

EDGES = (0.1, 0.3, 0.35, 1.0)
UNEQUAL = CellGrid((1, 2, 3), (0.1, 0.0, 0.0), (0.3, 0.5, 1.0), (EDGES, None, None))
ROW = CellGrid((1, 1, 6), (0.0, 0.0, 0.0), (1.0, 1.0, 1.0))
PLANE = CellGrid((1, 5, 6), (0.0, 0.0, 0.0), (1.0, 1.0, 1.0))
WIRE = CellGrid((1, 1, 6), (0.0, 0.0, 0.0), (1.0, 2 * np.pi, 1.0), coordinates="cylindrical")
TUBE = CellGrid((1, 1, 6), (2.0, 0.0, 0.0), (1.0, 2 * np.pi, 1.0), coordinates="cylindrical")


def materials(*material_ids: Any) -> Callable[[Cell], int]:
    """Of cells along x, or in rows along y."""
    ids = np.atleast_2d(material_ids)
    return lambda cell: int(ids[cell[1], cell[0]])


def reading(field: np.ndarray, grid: CellGrid, point: tuple[float, float, float], *more: Any) -> float:
    cells, weights = probe_weights(grid, point, *more)
    assert cells.shape == weights.shape == (8,)
    assert weights.sum() == pytest.approx(1.0)
    return float(np.broadcast_to(field, grid.shape).reshape(-1)[cells] @ weights)


@in_turn("x", [0.1, 0.12, 0.2, 0.25, 0.3, 0.325, 0.5, 0.675, 0.9, 1.0])
@in_turn("y", [0.0, 0.4, 1.0])
def test_a_linear_field_is_exact_between_unequal_centres_and_up_to_the_walls(x: float, y: float) -> None:
    field = 3 * UNEQUAL.centres("x") - 2 * UNEQUAL.centres("y")[:, None]
    assert reading(field, UNEQUAL, (x, y, 0.5)) == pytest.approx(3 * x - 2 * y, abs=1e-14)


def test_between_centres_of_one_medium_all_axes_are_interpolated() -> None:
    x, y = PLANE.centres("x"), PLANE.centres("y")[:, None]
    assert reading(x * y, PLANE, (2.2, 3.9, 0.5)) == pytest.approx(2.2 * 3.9)


@in_turn("grid", [ROW, TUBE], ids=["cartesian", "cylindrical"])
@in_turn("x", [2.1, 2.9, 3.0 - 1e-3, 3.0 + 1e-3, 3.4, 3.8])
def test_on_either_side_of_a_jump_a_probe_follows_the_slope_of_its_side(grid: CellGrid, x: float) -> None:
    centres, border = grid.centres("x"), grid.origin[0] + 3.0
    field = np.where(centres < border, 100.0 - 2.0 * centres, 7.0 * centres)
    place = grid.origin[0] + x
    expected = 100.0 - 2.0 * place if place < border else 7.0 * place
    assert reading(field, grid, (place, 0.5, 0.5), materials(0, 0, 0, 1, 1, 1), 2) == pytest.approx(expected)


def test_a_single_cell_of_a_medium_is_read_as_it_is() -> None:
    field = np.array([1.0, 2.0, 50.0, 3.0, 4.0, 5.0])
    for x in (2.1, 2.5, 2.9):
        assert reading(field, ROW, (x, 0.5, 0.5), materials(0, 0, 1, 0, 0, 0), 2) == 50.0


@in_turn("place", [(3.4, 2.7), (3.9, 2.95), (3.9, 2.2), (1.2, 1.3)])
def test_a_corner_of_another_medium_is_left_out(place: tuple[float, float]) -> None:
    """The other medium has the cells from x = 4 and y = 3 on, so that it is across a corner of the cell at (3, 2)."""
    ids = np.zeros((5, 6), int)
    ids[3:, 4:] = 1
    x, y = PLANE.centres("x"), PLANE.centres("y")[:, None]
    field = np.where(ids, 1e6, 20.0 + 3.0 * x - 5.0 * y)
    found = reading(field, PLANE, (*place, 0.5), materials(*ids), 2)
    assert found == pytest.approx(20.0 + 3.0 * place[0] - 5.0 * place[1])


def test_a_probe_in_an_ambient_has_its_temperature_and_one_on_its_face_that_of_the_solid() -> None:
    field = np.array([20.0, 20.0, 90.0, 80.0, 70.0, -5.0])
    beside = materials(1, 1, 0, 0, 0, 2), 1
    assert [reading(field, ROW, (x, 0.5, 0.5), *beside) for x in (0.0, 0.7, 1.99, 5.01, 6.0)] == [20, 20, 20, -5, -5]
    assert reading(field, ROW, (2.0, 0.5, 0.5), *beside) == pytest.approx(95.0)
    assert reading(field, ROW, (5.0, 0.5, 0.5), *beside) == pytest.approx(65.0)


def test_a_face_is_met_whatever_the_rounding_of_its_place() -> None:
    grid = CellGrid((1, 1, 6), (0.0, 0.0, 0.0), (0.1, 1.0, 1.0))
    for x in (0.1 + 0.2, 0.3, np.nextafter(0.3, 0.0)):
        assert reading(grid.centres("x"), grid, (x, 0.5, 0.5), materials(0, 0, 0, 1, 1, 1), 1) == pytest.approx(0.3)


def test_across_a_periodic_end_a_probe_is_interpolated() -> None:
    field, wrapped = np.array([1.0, 0.0, 0.0, 0.0, 0.0, 3.0]), (True, False, False)
    for x, expected in ((0.0, 2.0), (0.25, 1.5), (5.75, 2.5), (6.0, 2.0)):
        assert reading(field, ROW, (x, 0.5, 0.5), materials([0] * 6), 1, wrapped) == pytest.approx(expected)
    apart = materials(0, 0, 1, 1, 1, 1), 2, wrapped
    assert reading(field, ROW, (0.0, 0.5, 0.5), *apart) == pytest.approx(1.5)  # straight on from 1 and 0


def test_at_the_axis_of_a_cylinder_the_field_is_level() -> None:
    field = WIRE.centres("x") ** 2
    assert reading(field, WIRE, (0.0, 0.5, 0.5)) == field[0]
    assert reading(field, WIRE, (6.0, 0.5, 0.5)) == pytest.approx(1.5 * field[5] - 0.5 * field[4])


def probed(tmp_path: Path, text: str, *places: float) -> list[float]:
    """What probes on a line along x read at the end of a run."""
    probes = [f'{{name = "{n}", at = [{x}, 0.5, 0.5], count = 1}}' for n, x in enumerate(places)]
    scenario = loads(text, overrides=[f"output.probes=[{', '.join(probes)}]"])
    heatsim.run(scenario, tmp_path / "run", force=True)
    with (tmp_path / "run" / "probes.csv").open(encoding="utf-8") as file:
        return [float(value) for value in list(csv.reader(file))[-1][1:]]


def test_probes_by_contacts_jumps_ambients_and_walls_of_a_run_are_exact_where_the_solution_is_straight(
    tmp_path: Path,
) -> None:
    """Fixed at 100, k = 10 to 0.1 m, a contact, k = 20 to 0.2 m, k = 0.2 to 0.25 m, then air at 0."""
    text = case(
        (30, 1, 1), size=(0.3, 1.0, 1.0), integrator="steady", tolerance=1e-10,
        materials={"a": material(10.0), "b": material(20.0), "c": material(0.2)},
        regions=[
            {"material": "b", **box((0.1, -9, -9), (9, 9, 9))},
            {"material": "c", **box((0.2, -9, -9), (9, 9, 9))},
            {"material": "air", **box((0.25, -9, -9), (9, 9, 9))},
        ],
        boundary={"x_min": fixed(100.0)},
    )  # fmt: skip
    text = 'contacts = [{ between = ["a", "b"], resistance = 0.01 }]\n' + text
    text += "\n[ambients.air]\ntemperature = 0.0\ncoefficient = 100.0\n"
    q = 100.0 / (0.01 + 0.01 + 0.005 + 0.25 + 0.01)
    exact = [100.0, 100 - q * 0.00999, 100 - q * (0.02 + 1e-4 / 20), 100 - q * (0.02 + 0.0999 / 20)]
    exact += [100 - q * 0.025, q * (0.01 + 1e-4 / 0.2), q * 0.01, 0.0]
    places = (0.0, 0.0999, 0.1001, 0.1999, 0.2, 0.2499, 0.25, 0.2501)
    assert probed(tmp_path, text, *places) == pytest.approx(exact, abs=1e-5)


def test_probes_on_a_cooled_and_on_an_insulated_face_are_those_of_the_balance(tmp_path: Path) -> None:
    """Heated inside by 1000 W/m3, k = 2, insulated at 0, h = 25 at 1 m: T = 300 + 1000/25 on the face, 250 K more on
    the other; both are exact on any grid, since all heat passes one and none the other."""

    for n in (8, 16):
        text = case(
            (n, 1, 1), integrator="steady", tolerance=1e-10, materials={"unit": material(2.0)},
            boundary={"x_max": convection(25.0, 300.0)}, sources=[{"power_density": 1000.0}],
        )  # fmt: skip
        assert probed(tmp_path, text, 0.0, 1.0) == pytest.approx([590.0, 340.0], abs=5e-4)
