"""All recorders together on unequal cells and in cylindrical coordinates, in the way of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from heatsim.base.grid import CellGrid
from heatsim.output.recorders import make_recorders
from heatsim.output.recorders.derived_fields import component_fields
from heatsim.output.recorders.snapshots import SnapshotRecorder
from heatsim.output.recorders.writer import Writer
from heatsim.problem import build_problem
from heatsim.scenario import loads
from heatsim.simulation.time_loop import Timings, simulate
from heatsim.solve.integrators import make_field
from heatsim.solve.state import State
from heatsim.store.folder import RunFolder
from heatsim.store.slice_frames import read_slice_frame
from heatsim.store.snapshots import SnapshotField, read_snapshot

SCENARIO = """\
title = "A rod"
time.end = 1.0
grid = { cells = [20, 1, 30], size = [0.02, 1.0, 0.03] }
regions = [{ material = "steel" }]
initial.temperature = "300 + 5000*x"
materials.steel = { conductivity = 15.0, density = 7900.0, heat_capacity = 500.0 }

[output]
snapshots = { count = 2 }
energy = { count = 2 }
slices = [{ axis = "y", at = 0.5, name = "half", count = 1 }]
probes = [{ name = "middle", at = [0.01, 0.5, 0.015], count = 1 }]
"""
R, Z = (tuple(np.geomspace(0.01, end, n + 1) - 0.01) for n, end in ((20, 0.03), (30, 0.04)))
GRIDS = {
    "unequal": CellGrid((30, 1, 20), (0.0, 0.0, 0.0), (0.001, 1.0, 0.001), (R, None, Z)),
    "cylindrical": CellGrid((30, 1, 20), (0.0, 0.0, 0.0), (0.001, 2 * np.pi, 0.001), (R, None, Z), "cylindrical"),
}


def flux(state: State) -> Mapping[str, SnapshotField]:
    vector = [state.temperature() * factor for factor in (1.0, 2.0, 3.0)]
    return component_fields("heat_flux", vector, state.problem.dtype, state.problem.grid.coordinates)


@pytest.mark.parametrize("name", GRIDS)
def test_a_run_leaves_files_of_its_own_grid(tmp_path: Path, name: str) -> None:
    grid = GRIDS[name]
    problem = replace(build_problem(loads(SCENARIO)), grid=grid)  # the solver's numbers stay those of equal cells
    folder, writer = RunFolder.create(tmp_path / "run"), Writer()
    state = State(problem, make_field(problem, "cpu"))
    recorders = make_recorders(problem, folder, writer)
    simulate(state, recorders, Timings())
    for recorder in recorders:
        recorder.close(True)
    writer.close()
    last = read_snapshot(folder.snapshot_paths()[-1])
    assert last.grid == grid
    assert np.array_equal(last.temperature, state.temperature())
    frame = read_slice_frame(folder.slice_frame_paths("half")[-1])
    assert np.array_equal(frame.field, state.temperature()[:, 0])
    assert frame.faces is not None
    assert frame.faces[1].tolist() == list(R)
    assert len(list(folder.slices.glob("half_*.png"))) == 2
    probe = float(folder.probes.read_text().splitlines()[-1].partition(",")[2])
    cell = int(np.searchsorted(R, 0.01)) - 1
    assert probe == pytest.approx(float(state.temperature()[15, 0, cell]), rel=0.02)


def test_snapshots_hold_further_fields_on_request(tmp_path: Path) -> None:
    problem = replace(build_problem(loads(SCENARIO)), grid=GRIDS["cylindrical"])
    folder, writer = RunFolder.create(tmp_path / "run"), Writer()
    state = State(problem, make_field(problem, "cpu"))
    recorder = SnapshotRecorder(problem, folder, writer, flux)
    recorder.record(state)
    writer.close()
    read = read_snapshot(folder.snapshot(0))
    assert list(read.fields) == ["heat_flux_r", "heat_flux_z"]
    assert np.array_equal(read.fields["heat_flux_z"].values, 3 * state.temperature())
