"""Cautions where the cells of a source or patch, taken by their centres, release another heat than its shape would."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from build_up_cases import Table, grid, material, scenario
from helpers.in_memory import problem_of
from helpers.in_turn import in_turn

FINE, COARSE = 60, 10


def told(cells: int, **sections: Any) -> list[tuple[str, str, str]]:
    """Cautions about a block of 20 x 20 x 10 mm in cells of equal sides."""
    return of(grid((0.02, 2 * cells), (0.02, 2 * cells), (0.01, cells)), **sections)


def of(grid: Table, **sections: Any) -> list[tuple[str, str, str]]:
    walls = {"boundary": {"z_min": {"kind": "fixed", "temperature": 20.0}}}
    problem = problem_of(scenario(grid, {"steel": material(10.0)}, **(walls | sections)))
    return [(warning.key, warning.message, warning.hint or "") for warning in problem.warnings()]


def heated(shape: Table, **amount: Any) -> Table:
    return {"sources": [{"region": shape, **(amount or {"power_density": 1e7})}]}


def ball(radius: float, z: float = 0.005) -> Table:
    return {"sphere": {"center": [0.01, 0.01, z], "radius": radius}}


def rod(start: list[float], end: list[float]) -> Table:
    return {"cylinder": {"start": start, "end": end, "radius": 0.003}}


THIN: Table = {"box": {"lower": [0, 0, 0.0092], "upper": [0.02, 0.02, 0.01]}}


def test_a_coarse_ball_is_told_with_both_powers() -> None:
    ((key, message, hint),) = told(COARSE, **heated(ball(0.003)))
    assert key == "sources.0.region.sphere"
    assert "1.2 times its volume of 1.131e-07 m3: 1.36 W are released in place of 1.131 W" in message
    assert "power in place of power_density" in hint


def test_a_layer_thinner_than_a_cell_is_told() -> None:
    ((key, message, _),) = told(COARSE, **heated(THIN))
    assert key == "sources.0.region.box"
    assert "4 W are released in place of 3.2 W" in message


def test_a_density_that_varies_is_told_by_its_volume() -> None:
    ((_, message, _),) = told(COARSE, **heated(THIN, power_density="1e7*x"))
    assert message.endswith("1.25 times its volume of 3.2e-07 m3")


@in_turn(
    "shape",
    [
        ball(0.003),
        ball(0.003, z=0.01),  # half of it in the grid
        rod([0.004, 0.004, 0.004], [0.016, 0.016, 0.006]),
        rod([0.01, 0.01, -1.0], [0.01, 0.01, 2.0]),
        rod([-0.02, 0.005, 0.005], [0.04, 0.015, 0.005]),
        THIN,
        {"box": {"lower": [-9, -9, 0.008], "upper": [9, 9, 9]}},
        {"where": "z > 0.0092"},
    ],
)
def test_shapes_that_fit_fine_cells_are_not_told(shape: Table) -> None:
    assert told(FINE, **heated(shape)) == []


def test_a_power_is_released_whatever_the_cells() -> None:
    assert told(COARSE, **heated(ball(0.003), power=1.0)) == []


@pytest.mark.parametrize(("r", "count"), [(0.5, 0), (0.43, 1)])
def test_boxes_in_cylindrical_coordinates_have_their_volume(r: float, count: int) -> None:
    """Of cells of 0.1 m those within 0.43 m reach to 0.4 m."""
    around = grid((1.0, 10), (2 * np.pi, 1), (1.0, 2), coordinates="cylindrical")
    shape = {"box": {"lower": [0, 0, 0], "upper": [r, 7, 0.5]}}
    found = of(around, **heated(shape))
    assert len(found) == count


def patched(condition: str, kind: str = "flux", **more: Any) -> Table:
    amount = {"flux": 1e5} if kind == "flux" else {"temperature": 20.0}
    patch = {"where": condition, "kind": kind, **amount, **more}
    fixed = {"kind": "fixed", "temperature": 20.0}
    return {"boundary": {"z_min": fixed, "z_max": {"kind": "insulated", "patches": [patch]}}}


ROUND = "(x - 0.01)**2 + (y - 0.01)**2 < 0.0025**2"


def test_a_coarse_patch_is_told_with_both_powers() -> None:
    ((key, message, _),) = told(COARSE, **patched(ROUND))
    assert key == "boundary.z_max.patches.0.where"
    assert "0.815 times its area" in message
    assert "1.6 W enter in place of 1.9" in message


@in_turn(
    ("cells", "face"),
    [
        (FINE, patched(ROUND)),
        (COARSE, patched("x < 0.003 and y > 0.01")),
        (COARSE, patched(ROUND, kind="fixed")),
        (COARSE, patched(f"not ({ROUND.replace('0.0025', '0.002')})")),
    ],
)
def test_patches_that_fit_or_have_no_flux_are_not_told(cells: int, face: Table) -> None:
    assert told(cells, **face) == []


def test_rings_on_the_end_of_a_cylinder_have_their_area() -> None:
    around = grid((0.01, 10), (2 * np.pi, 1), (0.01, 4), coordinates="cylindrical")
    assert of(around, **patched("0.004 < x < 0.006")) == []
    ((_, message, _),) = of(around, **patched("0.004 < x < 0.0066"))
    assert "10.37 W enter in place of 8.6" in message
