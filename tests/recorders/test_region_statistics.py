"""Statistics of parts of the box over time, and derived vectors as fields of a snapshot."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from heatsim_kernels.field.region_reductions import totals
from helpers.scenario_texts import box, case, material

from heatsim.base.grid import CellGrid
from heatsim.errors import InputFileError, ScenarioError
from heatsim.output.recorders.derived_fields import component_fields
from heatsim.output.recorders.regions import RegionRecorder
from heatsim.problem import build_problem
from heatsim.problem.media.zones import find_statistics_regions
from heatsim.scenario import loads
from heatsim.simulation.run import run_scenario
from heatsim.simulation.time_loop import Timings, simulate
from heatsim.solve.integrators import make_field
from heatsim.solve.state import State
from heatsim.store.folder import RunFolder
from heatsim.store.tables import CsvTable, read_last_row

BODY = case(
    [8, 2, 2],
    0.5,
    size=(0.8, 0.2, 0.2),
    materials={"light": material(), "heavy": material(1.0, 5.0, 3.0)},
    regions=[{"material": "heavy", **box([0.4, 0.0, 0.0], [0.8, 0.2, 0.2])}],
    initial="100 if x < 0.2 else 0",
)
PARTS = """
[[output.regions]]
name = "heavy part"
material = "heavy"
count = 5
[[output.regions]]
name = "left"
box = { lower = [0.0, 0.0, 0.0], upper = [0.4, 0.2, 0.2] }
count = 5
"""
CAPACITIES = np.array([1.0, 15.0])


def test_parts_that_fill_the_box_gain_together_what_the_box_gains(tmp_path: Path) -> None:
    problem = build_problem(loads(BODY + PARTS))
    folder = RunFolder.create(tmp_path / "run")
    recorder = RegionRecorder(problem, folder)
    state = State(problem, make_field(problem, "cpu"))
    simulate(state, [recorder], Timings())
    recorder.close(True)
    with folder.regions.open(newline="") as file:
        header, *rows = csv.reader(file)
    assert header[:5] == [
        "time [s]",
        "heavy part min [degC]",
        "heavy part max [degC]",
        "heavy part mean [degC]",
        "heavy part energy [J]",
    ]
    values = np.array(rows, float)
    assert values[:, 0].tolist() == [0.0, 0.1, 0.2, 0.3, 0.4, 0.5]
    np.testing.assert_allclose(values[0, 1:], [0, 0, 0, 0, 0, 100, 50, 0], atol=1e-12 * 100)
    # What the insulated box holds moves from the left into the heavy part.
    heavy, left = values[:, 4], values[:, 8]
    assert heavy[-1] > 0.01
    assert heavy == pytest.approx(-left, abs=1e-13)
    field = state.temperature()
    assert values[-1, 1:4].tolist() == pytest.approx([f(field[:, :, 4:]) for f in (np.min, np.max, np.mean)])
    assert heavy[-1] == pytest.approx(15.0 * 0.001 * field[:, :, 4:].sum())
    assert read_last_row(folder.regions) == dict(zip(header, values[-1].tolist(), strict=True))


def test_means_count_cells_by_their_volume() -> None:
    grid = CellGrid(
        (1, 1, 3), (0.0, 0.0, 0.0), (1.0, 2 * np.pi, 2.0), ((0.0, 1.0, 2.0, 3.0), None, None), "cylindrical"
    )
    one = '[[output.regions]]\nname = "all"\nwhere = "x > 0"\ncount = 1\n'
    scenario = loads(BODY + one)
    material = np.array([[[0, 0, 1]]])
    (everything,) = find_statistics_regions(scenario, grid, material, CAPACITIES)
    volumes = everything.cells.volumes
    assert volumes.sum() == pytest.approx(np.pi * 9 * 2)
    assert everything.cells.capacities == pytest.approx(volumes * [1, 1, 15])
    values = np.array([1.0, 2.0, 4.0])
    found = totals(values, 2 * values, everything.cells)
    assert (found.low, found.high) == (1.0, 4.0)
    assert found.by_volume / volumes.sum() == pytest.approx((1 * 1 + 3 * 2 + 5 * 4) / 9)
    assert found.heat == pytest.approx(2 * 2 * np.pi * (1 + 3 * 2 + 5 * 15 * 4))


def test_a_part_without_cells_is_told_with_its_place() -> None:
    text = BODY + PARTS + '[[output.regions]]\nname = "thin"\nwhere = "x < 0.01"\ncount = 1\n'
    with pytest.raises(ScenarioError, match=r"output.regions.2.where: covers no centre of a solid cell"):
        build_problem(loads(text))


def test_regions_come_out_of_a_run_and_leave_ambients_out(tmp_path: Path) -> None:
    air = """
[ambients.air]
temperature = 20.0
coefficient = 50.0
[[regions]]
material = "air"
where = "x > 0.7"
[[output.regions]]
name = "all"
where = "x > 0"
every = 0.25
"""
    scenario = loads(BODY + PARTS + air)
    outcome = run_scenario(scenario, tmp_path / "run")
    last = outcome.info["regions"]
    assert last == read_last_row(RunFolder(outcome.path).regions)
    assert last["all energy [J]"] == pytest.approx(outcome.info["energy"]["stored"], rel=1e-12)
    assert last["all energy [J]"] == pytest.approx(outcome.info["energy"]["ambients"]["air"], rel=1e-12)
    mean = last["heavy part mean [degC]"]
    assert last["heavy part min [degC]"] < mean < last["heavy part max [degC]"]


def test_components_are_named_after_the_axes() -> None:
    vector = [np.full((1, 2, 3), float(i)) for i in range(3)]
    fields = component_fields("heat_flux", vector, np.dtype("float32"))
    assert list(fields) == ["heat_flux_x", "heat_flux_y", "heat_flux_z"]
    assert fields["heat_flux_z"].values.dtype == np.float32
    assert (fields["heat_flux_z"].unit, fields["heat_flux_z"].long_name) == ("W m-2", "heat flux along z")
    round_the_axis = component_fields("gradient", vector, np.dtype("float64"), "cylindrical")
    assert list(round_the_axis) == ["gradient_r", "gradient_z"]
    assert (round_the_axis["gradient_z"].values == 2.0).all()


def test_a_table_without_rows_has_no_last_one_and_another_file_is_refused(tmp_path: Path) -> None:
    CsvTable(tmp_path / "empty.csv", ["time [s]", "a [K]"]).close()
    assert read_last_row(tmp_path / "empty.csv") == {}
    (tmp_path / "words.csv").write_text("a,b\nx,y\n")
    with pytest.raises(InputFileError, match="is not a table of numbers"):
        read_last_row(tmp_path / "words.csv")
