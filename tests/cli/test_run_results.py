"""The files of a run agree with one another."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
from helpers.commands import Invoke, contents
from PIL import Image

import heatsim
from heatsim.scenario import loads
from heatsim.store.snapshots import read_snapshot

Write = Callable[..., Path]


def table(path: Path) -> tuple[list[str], np.ndarray]:
    with path.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    return header, np.array(rows, dtype=np.float64)


def trilinear(field: np.ndarray, axes: tuple[np.ndarray, ...], point: tuple[float, ...]) -> float:
    """Interpolate field (z, y, x) at a point (x, y, z), one axis at a time; beyond the outer centres it is constant."""
    for place, centres in zip(point, axes, strict=True):  # x is the last axis, then y, then z
        field = np.apply_along_axis(lambda line, p=place, c=centres: np.interp(p, c, line), -1, field)
    return float(field)


def test_the_pictures_of_the_slices_show_something(finished: Path) -> None:
    pictures = sorted((finished / "slices").glob("*.png"))
    assert len(pictures) == 3
    shown = []
    for picture in pictures:
        with Image.open(picture) as image:
            assert min(image.size) > 200
            pixels = np.asarray(image.convert("RGB"))
        assert len({tuple(colour) for colour in pixels[::3, ::3].reshape(-1, 3).tolist()}) > 50
        shown.append(pixels)
    assert not np.array_equal(shown[0], shown[-1])


def test_the_frames_of_a_slice_hold_the_plane_of_the_snapshot(finished: Path) -> None:
    for number, moment in enumerate((0, 2, 4)):
        snapshot = read_snapshot(finished / "snapshots" / f"{moment:06d}.h5")
        with h5py.File(finished / "slices" / "z_0.016" / f"{number:06d}.h5") as frame:
            assert float(frame["time"][()]) == snapshot.time == float(moment)
            assert float(frame["z"][()]) == pytest.approx(0.0175)  # the cell from 0.015 to 0.02 m
            np.testing.assert_array_equal(frame["temperature"][()], snapshot.temperature[3])
            np.testing.assert_array_equal(frame["x"][()], snapshot.grid.centres("x"))


def test_probes_follow_from_the_cell_centres_of_the_snapshots(finished: Path) -> None:
    header, rows = table(finished / "probes.csv")
    assert header == ["time [s]", "middle [K]", "corner [K]"]
    for time, middle, corner in rows:
        snapshot = read_snapshot(finished / "snapshots" / f"{int(time):06d}.h5")
        axes = tuple(snapshot.grid.centres(axis) for axis in "xyz")
        field = snapshot.temperature.astype(np.float64)
        assert middle == pytest.approx(trilinear(field, axes, (0.031, 0.021, 0.016)), abs=1e-4)
        assert corner == pytest.approx(310.0 + 5.0 * np.sin(time), abs=1e-4)  # on x_max, which is held there
    assert rows[:, 0].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_the_energy_ledger_closes_and_counts_what_the_source_released(finished: Path) -> None:
    header, rows = table(finished / "energy.csv")
    faces = [f"{axis}_{end} [J]" for axis in "xyz" for end in ("min", "max")]
    assert header == ["time [s]", "stored [J]", "sources [J]", *faces, "residual [J]", "residual / moved [1]"]
    time, stored, sources, heat, residual = rows[:, 0], rows[:, 1], rows[:, 2], rows[:, 3:9], rows[:, 9]
    np.testing.assert_array_equal(time, np.arange(9) * 0.5)
    np.testing.assert_allclose(sources, 20.0 * time, rtol=1e-5, atol=1e-12)
    np.testing.assert_allclose(stored - sources - heat.sum(axis=1), residual, atol=1e-9)
    assert np.abs(rows[:, 10]).max() < 1e-4
    assert (heat[-1, [0, 2, 3, 4]] == 0.0).all()  # insulated
    assert heat[-1, 5] < 0.0  # the air on top is colder


def test_stored_energy_is_what_the_snapshots_hold(finished: Path) -> None:
    _, rows = table(finished / "energy.csv")
    first, last = (read_snapshot(finished / "snapshots" / f"{i:06d}.h5") for i in (0, 4))
    with h5py.File(finished / "geometry.h5") as file:
        capacity = np.array([8960.0 * 385.0, 7900.0 * 500.0])[file["material"][()]] * first.grid.cell_volume
    rise = last.temperature.astype(np.float64) - first.temperature
    assert rows[-1, 1] == pytest.approx(float((capacity * rise).sum()), rel=1e-3)


def test_the_resolved_scenario_runs_again_to_the_same_bits(finished: Path, invoke: Invoke, tmp_path: Path) -> None:
    assert invoke("run", finished / "scenario.toml", "--quiet", "--output", "again").exit_code == 0
    first, second = contents(finished), contents(tmp_path / "again")
    assert first.keys() == second.keys()
    assert first["scenario.toml"] == second["scenario.toml"]
    assert first["probes.csv"] == second["probes.csv"]
    assert first["energy.csv"] == second["energy.csv"]
    for number in range(5):
        one, other = (read_snapshot(run / "snapshots" / f"{number:06d}.h5") for run in (finished, tmp_path / "again"))
        np.testing.assert_array_equal(one.temperature, other.temperature)


def test_run_json_says_how_the_run_went(finished: Path) -> None:
    info = json.loads((finished / "run.json").read_text())
    assert (info["state"], info["time"], info["cells"]) == ("finished", 4.0, [12, 8, 6])
    assert (info["device"], info["kernel"], info["precision"]) == ("cpu", "cpu", "float32")
    assert info["cell_updates"] == info["steps"] * 12 * 8 * 6
    assert 0 < info["largest_step_seconds"] <= info["stability_limit_seconds"]
    assert {"heatsim", "python", "numpy", "numba", "h5py"} <= info["versions"].keys()
    assert {"total_seconds", "loop_seconds"} <= info["timings"].keys()
    assert {"stored", "sources", "faces", "residual", "relative_residual"} <= info["energy"].keys()
    assert info["temperature_unit"] == "K"
    assert 290.0 <= info["reference_temperature"] <= 335.0


def test_run_log_tells_the_beginning_and_the_end(finished: Path) -> None:
    log = (finished / "run.log").read_text()
    assert "command:" in log
    assert "A test block" in log
    assert "finished at t = 4 s" in log.splitlines()[-1]


def test_the_series_opens_in_xarray_with_the_snapshots_values(finished: Path) -> None:
    with heatsim.open(finished) as data:
        assert data.temperature.dims == ("time", "z", "y", "x")
        np.testing.assert_array_equal(data.time, [0.0, 1.0, 2.0, 3.0, 4.0])
        for number in range(5):
            snapshot = read_snapshot(finished / "snapshots" / f"{number:06d}.h5")
            np.testing.assert_array_equal(data.temperature[number], snapshot.temperature)
        np.testing.assert_allclose(data.x, (np.arange(12) + 0.5) * 0.005)
        assert data.temperature.attrs["units"] == "K"
        assert data.cell_volume.sum() == pytest.approx(0.06 * 0.04 * 0.03)


def test_a_mean_of_the_body_is_one_call(tmp_path: Path) -> None:
    """In unequal cells, beside air, which has no weight; the volumes are those of the cells that are asked for."""
    pytest.importorskip("xarray")
    scenario = loads("""
        grid.x = { layers = [{ thickness = 0.01, cells = 2 }, { thickness = 0.03, cells = 2 }] }
        grid.y = { layers = [{ thickness = 0.01, cells = 1 }] }
        grid.z = { layers = [{ thickness = 0.01, cells = 2 }] }
        time = { end = 1.0, integrator = "euler" }
        materials.steel = { conductivity = 15.0, density = 7900.0, heat_capacity = 500.0 }
        ambients.air = { temperature = 200.0, coefficient = 1e-9 }
        regions = [{ material = "steel" }, { material = "air", where = "x < 0.01 and z > 0.005" }]
        initial.temperature = "300 + 1000*x"
        output.snapshots.count = 1
        output.results = [{ name = "mean", of = "mean(T)" }, { name = "V", of = "volume()" }]
    """)
    run = heatsim.run(scenario, tmp_path / "run")
    with heatsim.open(run) as data:
        mean = data.temperature.weighted(data.cell_volume).mean(("z", "y", "x"))
        assert mean[-1].item() == pytest.approx(run.info["results"]["mean"], abs=1e-4)
        assert float(data.cell_volume.sum()) == pytest.approx(run.info["results"]["V"])
        assert data.cell_volume.isel(z=1, y=0).values == pytest.approx([0.0, 0.0, 7.5e-7, 7.5e-7])
        assert data.cell_volume.isel(x=[3, 0], z=slice(0, 1)).values.ravel() == pytest.approx([7.5e-7, 2.5e-7])
        assert data.temperature.attrs["cell_measures"] == "volume: cell_volume"


def test_the_snapshot_at_the_start_is_the_initial_temperature(finished: Path) -> None:
    snapshot = read_snapshot(finished / "snapshots" / "000000.h5")
    x, y = snapshot.grid.centres("x")[None, None, :], snapshot.grid.centres("y")[None, :, None]
    expected = np.broadcast_to(300.0 + 500.0 * x + 100.0 * y, snapshot.temperature.shape)
    np.testing.assert_allclose(snapshot.temperature, expected, atol=1e-4)
