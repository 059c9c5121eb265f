from __future__ import annotations

import runpy
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from helpers.in_turn import in_turn

from heatsim.scenario import load

SCENARIOS = Path(__file__).parents[2] / "scenarios"
FILES = sorted(SCENARIOS.glob("*.toml"))


each_file = in_turn("path", FILES, ids=lambda path: path.stem)
loaded = cache(load)


def test_at_least_six_situations_are_shipped_under_titles_of_their_own() -> None:
    titles = Counter(load(path).title for path in FILES)
    assert len(titles) >= 6
    assert set(titles.values()) == {1}
    assert "" not in titles


@each_file
def test_a_shipped_scenario_begins_with_its_schema_and_says_what_to_look_at(path: Path) -> None:
    schema, *lines = path.read_text().splitlines()
    assert schema == "#:schema ./heatsim.schema.json"
    told = [line for line in lines[: lines.index("[grid]")] if line.startswith("#")]
    assert {"# Look at:", "# Expect: "} <= {line[:10] for line in told}


@each_file
def test_a_shipped_scenario_leaves_snapshots_pictures_curves_and_its_energy(path: Path) -> None:
    scenario = loaded(path)
    output, end = scenario.output, scenario.time.end
    assert output.snapshots
    assert output.energy
    assert output.slices
    assert output.probes
    least = 1 if scenario.time.integrator == "steady" else 4
    assert least <= max(len(cut.times(end)) for cut in output.slices) <= 25  # a picture takes 0.2 s to draw
    assert len(output.snapshots.times(end)) <= 25


@each_file
def test_a_shipped_scenario_takes_a_gpu_where_there_is_one(path: Path) -> None:
    scenario = loaded(path)
    assert (scenario.compute.device, scenario.compute.kernel) == ("auto", "auto")
    # A step of its own is for integrators that are stable with any.
    assert scenario.time.step == "auto" or scenario.time.integrator in ("rkl2", "implicit")


@each_file
def test_the_files_that_a_shipped_scenario_names_are_shipped(path: Path) -> None:
    scenario = loaded(path)
    for region in scenario.regions:
        if region.labels:
            assert region.labels.file.is_relative_to(SCENARIOS)
            labels = np.load(region.labels.file)
            assert labels.shape == scenario.grid.cells[::-1]
            assert set(np.unique(labels)) == set(region.labels.map)


def test_the_script_makes_the_foam_that_is_shipped_to_the_bit() -> None:
    shipped = np.load(SCENARIOS / "data" / "foam.npy")
    made = runpy.run_path(str(SCENARIOS / "data" / "make_foam.py"))["foam"]()
    assert (made.dtype, made.shape) == (shipped.dtype, shipped.shape)
    assert made.tobytes() == shipped.tobytes()


def test_the_foam_is_one_connected_frame_of_struts_around_one_connected_space() -> None:
    ndimage = pytest.importorskip("scipy.ndimage")
    labels = np.load(SCENARIOS / "data" / "foam.npy")
    for phase in (0, 1):
        pieces, _ = ndimage.label(labels == phase)
        largest = np.bincount(pieces[pieces > 0]).max()
        assert largest / np.count_nonzero(labels == phase) > 0.999
