"""Problems of every kind go through the whole command: units, thin grids, arrays from files, periodic faces."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
from helpers.commands import BLOCK, SMALL, Invoke
from PIL import Image

from heatsim.store.snapshots import Snapshot, read_snapshot

Write = Callable[..., Path]
LABELS = (np.indices((8, 8, 8)).sum(axis=0) % 3 == 0).astype(np.uint8)  # (z, y, x)
SECOND_MATERIAL = "[materials.air]\nconductivity = 0.026\ndensity = 1.2\nheat_capacity = 1005.0\n"


def labelled(file: str, more: str = "") -> str:
    """SMALL with a second region painted by labels."""
    region = f'[[regions]]\nlabels = {{ file = "{file}", map = {{ 0 = "copper", 1 = "air" }}{more} }}\n'
    return SMALL + SECOND_MATERIAL + region


def last_snapshot(folder: Path) -> Snapshot:
    return read_snapshot(sorted((folder / "snapshots").glob("*.h5"))[-1])


def test_celsius_and_kelvin_tell_the_same_story(invoke: Invoke, write: Write, tmp_path: Path) -> None:
    celsius = BLOCK.replace("300 +", "26.85 +").replace("290.0", "16.85").replace("310 +", "36.85 +")
    write(BLOCK, "kelvin.toml")
    write('temperature_unit = "degC"\n' + celsius, "celsius.toml")
    for name in ("kelvin", "celsius"):
        assert invoke("run", f"{name}.toml", "--quiet").exit_code == 0
    runs = tmp_path / "outputs"
    one, other = last_snapshot(runs / "kelvin"), last_snapshot(runs / "celsius")
    np.testing.assert_allclose(one.temperature - 273.15, other.temperature, rtol=0, atol=1e-4)
    assert other.quantity.unit == "degC"
    assert "middle [degC]" in (runs / "celsius" / "probes.csv").read_text()
    with h5py.File(runs / "celsius" / "slices" / "z_0.016" / "000000.h5") as frame:
        assert frame["temperature"].attrs["units"] == "degC"


@pytest.mark.parametrize(
    ("cells", "normal"), [((16, 1, 1), "z"), ((1, 16, 1), "x"), ((1, 1, 16), "y"), ((8, 6, 1), "z"), ((1, 6, 8), "x")]
)
def test_thin_grids_run_and_are_drawn(
    invoke: Invoke, write: Write, tmp_path: Path, cells: tuple[int, int, int], normal: str
) -> None:
    text = SMALL.replace("[8, 8, 8]", str(list(cells))).replace("300 + 100*x", "300 + 100*(x + y + z)")
    write(f'{text}[[output.slices]]\naxis = "{normal}"\nat = 0.05\nname = "cut"\nevery = 1.0\n')
    done = invoke("run", "case.toml", "--quiet", "--set", "output.snapshots.count=1")
    assert (done.exit_code, done.stderr) == (0, "")
    run = tmp_path / "outputs" / "case"
    field = last_snapshot(run).temperature
    assert field.shape == cells[::-1]
    assert np.ptp(field) > 1.0
    with h5py.File(run / "slices" / "cut" / "000001.h5") as frame:
        thin = "zyx".index(normal)
        np.testing.assert_array_equal(frame["temperature"][()], field[(slice(None),) * thin + (0,)])
    with Image.open(run / "slices" / "cut_000001.png") as image:
        assert len(image.convert("RGB").getcolors(maxcolors=2**20)) > 10


@pytest.mark.parametrize("suffix", ["npy", "npz", "h5"])
def test_labels_paint_the_materials(invoke: Invoke, write: Write, tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"labels.{suffix}"
    if suffix == "npy":
        np.save(file, LABELS)
    elif suffix == "npz":
        np.savez(file, first=LABELS, second=1 - LABELS)
    else:
        with h5py.File(file, "w") as stored:
            stored["deep/labels"] = LABELS.astype(np.int64)
    write(labelled(file.name, {"npz": ', dataset = "first"', "h5": ', dataset = "deep/labels"'}.get(suffix, "")))
    assert invoke("run", "case.toml", "--quiet").exit_code == 0
    with h5py.File(tmp_path / "outputs" / "case" / "geometry.h5") as geometry:
        np.testing.assert_array_equal(geometry["material"][()], LABELS)
        assert list(geometry["material"].attrs["names"]) == ["copper", "air"]


def test_a_picture_paints_a_plate_with_its_top_row_at_the_upper_edge(
    invoke: Invoke, write: Write, tmp_path: Path
) -> None:
    pixels = np.zeros((8, 8), np.uint8)
    pixels[0, :3] = 1  # the top left corner
    Image.fromarray(pixels).save(tmp_path / "plate.png")
    write(labelled("plate.png").replace("[8, 8, 8]", "[8, 8, 1]"))
    assert invoke("run", "case.toml", "--quiet").exit_code == 0
    with h5py.File(tmp_path / "outputs" / "case" / "geometry.h5") as geometry:
        np.testing.assert_array_equal(geometry["material"][0], pixels[::-1])


def test_the_initial_temperature_comes_from_a_file_beside_the_scenario(
    invoke: Invoke, write: Write, tmp_path: Path
) -> None:
    field = np.random.default_rng(1).uniform(280.0, 320.0, (8, 8, 8))
    (tmp_path / "else where").mkdir()
    np.save(tmp_path / "else where" / "field.npy", field)
    write(SMALL.replace('"300 + 100*x"', '{ file = "field.npy" }'), "else where/my case.toml")
    done = invoke("run", "else where/my case.toml", "--quiet")  # from another working directory
    assert (done.exit_code, done.stderr) == (0, "")
    start = read_snapshot(tmp_path / "outputs" / "my case" / "snapshots" / "000000.h5")
    np.testing.assert_allclose(start.temperature, field, rtol=1e-6)
    # The resolved scenario in the run folder still finds the file.
    assert invoke("validate", "outputs/my case/scenario.toml", "--trust").exit_code == 0


def test_a_periodic_box_keeps_its_energy_and_evens_out_across_the_seam(
    invoke: Invoke, write: Write, tmp_path: Path
) -> None:
    text = SMALL.replace("300 + 100*x", "400 if x > 0.09 else 300") + '[boundary]\ndefault = { kind = "periodic" }\n'
    write(text)
    told = json.loads(invoke("run", "case.toml", "--json").stdout)
    assert abs(told["energy"]["relative_residual"]) < 1e-5
    row = last_snapshot(tmp_path / "outputs" / "case").temperature[4, 4]
    assert row[0] == pytest.approx(float(row[6]), rel=1e-6)  # both next to the hot layer, one across the seam
    assert row[0] > row[3] + 1.0


def test_a_title_in_any_script_is_kept(invoke: Invoke, write: Write, tmp_path: Path) -> None:
    write('title = "Größe Ωμ $x_1$ $5 {%"\n' + SMALL + '[[output.slices]]\naxis = "z"\nat = 0.1\ncount = 1\n')
    done = invoke("run", "case.toml", "--quiet")
    assert (done.exit_code, done.stderr) == (0, "")
    assert json.loads((tmp_path / "outputs" / "case" / "run.json").read_text())["title"] == "Größe Ωμ $x_1$ $5 {%"


@pytest.mark.parametrize("place", [0.0, 0.0125, 0.1])
def test_a_slice_may_lie_on_any_face(invoke: Invoke, write: Write, tmp_path: Path, place: float) -> None:
    write(f'{SMALL}[output]\nsnapshots = {{ count = 1 }}\n[[output.slices]]\naxis = "x"\nat = {place}\ncount = 1\n')
    assert invoke("run", "case.toml", "--quiet").exit_code == 0
    run = tmp_path / "outputs" / "case"
    (frame,) = (run / "slices").glob("*/000001.h5")
    cell = {0.0: 0, 0.0125: 1, 0.1: 7}[place]
    with h5py.File(frame) as file:
        np.testing.assert_array_equal(file["temperature"][()], last_snapshot(run).temperature[:, :, cell])


def test_records_due_at_the_same_time_get_the_same_time(invoke: Invoke, write: Write, tmp_path: Path) -> None:
    """3 x 0.1 and 1 x 0.3 differ in their last bit, and are the same moment all the same."""
    output = "[output]\nsnapshots = { every = 0.3 }\nenergy = { every = 0.1 }\n"
    write(SMALL + output)
    assert invoke("run", "case.toml", "--quiet").exit_code == 0
    run = tmp_path / "outputs" / "case"
    rows = {line.split(",")[0] for line in (run / "energy.csv").read_text().splitlines()}
    times = {repr(read_snapshot(path).time) for path in (run / "snapshots").glob("*.h5")}
    assert times <= rows


def test_an_interval_that_is_longer_than_the_run_records_the_start_and_the_end(
    invoke: Invoke, write: Write, tmp_path: Path
) -> None:
    write(SMALL + "[output]\nsnapshots = { every = 1e20 }\n")
    assert invoke("run", "case.toml", "--quiet").exit_code == 0
    paths = sorted((tmp_path / "outputs" / "case" / "snapshots").glob("*.h5"))
    assert [read_snapshot(path).time for path in paths] == [0.0, 1.0]
