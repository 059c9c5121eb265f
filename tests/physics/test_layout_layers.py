"""Layers of chip layouts as shapes: which cells they cover, and what is wrong with files that cannot be used."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from helpers.in_turn import in_turn

from heatsim.errors import ScenarioError
from heatsim.problem import build_problem
from heatsim.problem.shapes.point_values import make_grid
from heatsim.problem.shapes.voxelise import voxelise_regions
from heatsim.scenario import load

gdstk = pytest.importorskip("gdstk")

SCENARIO = """\
[grid]
cells = [40, 30, 4]
size = [4e-5, 3e-5, 4e-6]
[time]
integrator = "steady"
[materials.oxide]
conductivity = 1.4
density = 2200.0
heat_capacity = 740.0
[materials.copper]
conductivity = 380.0
density = 8900.0
heat_capacity = 385.0
[[regions]]
material = "oxide"
[[regions]]
material = "copper"
SHAPE
[boundary]
x_min = { kind = "fixed", temperature = 400.0 }
x_max = { kind = "fixed", temperature = 300.0 }
[initial]
temperature = 300.0
"""
Scenarios = Callable[[str], Path]


@pytest.fixture
def scenario_with(tmp_path: Path) -> Scenarios:
    """A scenario file whose second region has this shape, beside the layout as GDSII and as OASIS."""
    library = gdstk.Library("chip", unit=1e-6, precision=1e-9)
    top, via = library.new_cell("TOP"), library.new_cell("VIA")
    via.add(gdstk.rectangle((0, 0), (2, 2), layer=5, datatype=1))
    top.add(gdstk.FlexPath([(0, 5), (20, 5), (20, 25)], 4, layer=4))
    top.add(gdstk.Polygon([(25, 5), (39, 5), (25, 19)], layer=3))
    top.add(gdstk.Reference(via, (1, 11), columns=4, rows=2, spacing=(5, 6)))
    library.write_gds(tmp_path / "chip.gds")
    library.write_oas(tmp_path / "chip.oas")

    def write(shape: str) -> Path:
        path = tmp_path / "scenario.toml"
        path.write_text(SCENARIO.replace("SHAPE", shape))
        return path

    return write


def copper(path: Path) -> np.ndarray:
    scenario = load(path)
    return voxelise_regions(scenario, make_grid(scenario), ["oxide", "copper"])


@pytest.mark.lowest
@pytest.mark.parametrize("kind", ["gds", "oas"])
def test_a_layer_covers_the_cells_within_its_polygons(kind: str, scenario_with: Scenarios) -> None:
    x, y = np.arange(40) + 0.5, (np.arange(30) + 0.5)[:, None]
    path = ((x < 22) & (y > 3) & (y < 7)) | ((x > 18) & (x < 22) & (y > 3) & (y < 25))
    vias = np.isin(np.floor(x), [1, 2, 6, 7, 11, 12, 16, 17]) & np.isin(np.floor(y), [11, 12, 17, 18])
    triangle = (x > 25) & (y > 5) & ((x - 25) + (y - 5) < 14)
    for layer, expected in (("4", path), ("5, datatype = 1", vias), ("5", vias), ("3", triangle)):
        ids = copper(scenario_with(f'gds = {{ file = "chip.{kind}", layer = {layer}, z = [1e-6, 3e-6] }}'))
        np.testing.assert_array_equal(ids[1], expected)
        np.testing.assert_array_equal(ids[2], expected)
        assert not ids[0].any()
        assert not ids[3].any()


def test_a_cell_of_a_layout_covers_what_a_box_in_its_place_does(scenario_with: Scenarios) -> None:
    layer = 'gds = { file = "chip.gds", layer = 5, cell = "VIA", z = ["1 um", "4 um"], at = ["10 um", "20 um"] }'
    box = "box = { lower = [1e-5, 2e-5, 1e-6], upper = [1.2e-5, 2.2e-5, 4e-6] }"
    found = copper(scenario_with(layer))
    assert found.sum() == 2 * 2 * 3
    np.testing.assert_array_equal(found, copper(scenario_with(box)))


@in_turn(
    ("shape", "message"),
    [
        ('file = "none.gds", layer = 4', "no such file"),
        ('file = "scenario.toml", layer = 4', "is neither GDSII nor OASIS"),
        ('file = "chip.gds", layer = 9', "no polygons of layer 9/* in cell 'TOP'; it has 3/0, 4/0, 5/1"),
        ('file = "chip.gds", layer = 4, datatype = 2', "no polygons of layer 4/2"),
        ('file = "chip.gds", layer = 4, cell = "TIP"', "expected a cell 'TIP', found TOP, VIA"),
        ('file = "chip.gds", layer = 4, at = [1.0, 0.0]', "covers no cell centre"),
    ],
)
def test_what_is_no_layer_is_told(shape: str, message: str, scenario_with: Scenarios) -> None:
    path = scenario_with(f"gds = {{ {shape}, z = [0.0, 4e-6] }}")
    with pytest.raises(ScenarioError) as error:
        copper(path)
    assert message in str(error.value)


def test_heights_are_in_order(scenario_with: Scenarios) -> None:
    with pytest.raises(ScenarioError, match="expected two increasing heights z"):
        load(scenario_with('gds = { file = "chip.gds", layer = 4, z = [4e-6, 1e-6] }'))


def test_a_layer_that_cells_do_not_hold_is_told_with_both_volumes(scenario_with: Scenarios) -> None:
    def told(shape: str, cells: str = "[40, 30, 4]") -> str:
        path = scenario_with(shape)
        path.write_text(path.read_text().replace("[40, 30, 4]", cells))
        return " ".join(str(each) for each in build_problem(load(path)).warnings())

    layer = 'gds = {{ file = "chip.gds", layer = {}, z = [1e-6, 3e-6] }}'
    assert told(layer.format(4)) == told(layer.format(5)) == ""
    coarse = told(layer.format(5), "[14, 14, 4]")  # 8 squares of 2 um
    assert "in place of the 6.4e-17 m3" in coarse
    scenario_with("").with_name("plan.flp").write_text("a 10e-6 20e-6 0.0 0.0\nb 1e-6 20e-6 20.3e-6 0.0\n")
    block = 'floorplan = {{ file = "plan.flp", unit = "{}", z = [1e-6, 3e-6] }}'
    assert told(block.format("a")) == ""
    assert "in place of the 4e-17 m3" in told(block.format("b"), "[20, 30, 4]")
    scenario_with("").with_name("plan.flp").write_text(
        "a 10e-6 20e-6 0.0 0.0\nb 10e-6 20e-6 5e-6 5e-6\nc 1e-6 1e-6 0 0\n"
    )
    all_of_them = told('floorplan = { file = "plan.flp", z = [1e-6, 3e-6] }')  # what they share counts once
    assert "overlap" in all_of_them
    assert "in place of" not in all_of_them
