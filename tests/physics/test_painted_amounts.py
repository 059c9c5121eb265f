"""Cautions where the cells of a source or patch, taken by their centres, release another heat than its shape would."""

from __future__ import annotations

from pathlib import Path
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
    amount = {"flux": {"flux": 1e5}, "fixed": {"temperature": 20.0}}.get(kind, {})
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
        (COARSE, patched(ROUND, kind="insulated")),
        (COARSE, patched(f"not ({ROUND.replace('0.0025', '0.002')})")),
    ],
)
def test_patches_that_fit_or_pass_no_heat_are_not_told(cells: int, face: Table) -> None:
    assert told(cells, **face) == []


def test_rings_on_the_end_of_a_cylinder_have_their_area() -> None:
    around = grid((0.01, 10), (2 * np.pi, 1), (0.01, 4), coordinates="cylindrical")
    assert of(around, **patched("0.004 < x < 0.006")) == []
    ((_, message, _),) = of(around, **patched("0.004 < x < 0.0066"))
    assert "10.37 W enter in place of 8.6" in message


# thinner than a cell of 1 mm by 50 and by 800 times, and no sum of its points need meet it
SHEETS = ("abs(x - 0.0035) < 1e-5", "abs(x - 0.0035) < 6.3e-7", "abs(x + y - 0.02) < 1e-6")


@in_turn("condition", SHEETS)
def test_thin_conditions_are_told_as_thin_boxes_are(condition: str) -> None:
    """A sheet of cells, 1 mm thick or its diagonal, is heated, held or cooled in place of each."""
    volume = {SHEETS[0]: 4e-9, SHEETS[1]: 2.52e-10, SHEETS[2]: 4e-10}[condition]
    for section, place in (
        (heated({"where": condition}), "sources.0.region.where"),
        (heated({"where": condition}, perfusion={"coefficient": 1e3, "temperature": 20.0}), "sources.0.region.where"),
        (patched(condition), "boundary.z_max.patches.0.where"),
        (patched(condition, kind="fixed"), "boundary.z_max.patches.0.where"),
        (patched(condition, kind="convection", coefficient=10.0, ambient=20.0), "boundary.z_max.patches.0.where"),
    ):
        ((key, message, _),) = told(COARSE, **section)
        assert key == place
        exact = float(message.partition(" of ")[2].split()[0])
        assert exact == pytest.approx(volume * (100.0 if "patches" in place else 1.0), rel=0.04)


def test_a_source_in_a_surface_of_a_file_is_told(tmp_path: Path) -> None:
    """An STL tetrahedron of legs of 3 mm between centres of cells of 1 mm."""
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]) * 0.0034 + 0.0032
    facets = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
    lines = [f"vertex {' '.join(map(str, corners[i]))}" for facet in facets for i in facet]
    loops = [["facet normal 0 0 0", "outer loop", *lines[3 * n : 3 * n + 3], "endloop", "endfacet"] for n in range(4)]
    file = tmp_path / "corner.stl"
    file.write_text("\n".join(["solid s", *(line for loop in loops for line in loop), "endsolid s"]))
    ((key, message, _),) = told(COARSE, **heated({"stl": str(file)}))
    assert key == "sources.0.region.stl"
    assert f"its volume of {0.0034**3 / 6:.4g} m3" in message
