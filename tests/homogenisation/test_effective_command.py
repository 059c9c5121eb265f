"""`heatsim effective`: images of all kinds in, numbers and pictures out, and what is no such image."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
import tifffile
from click.testing import CliRunner, Result
from helpers.in_turn import in_turn
from PIL import Image

import heatsim
from heatsim.cli.main import main

IMAGE = np.zeros((12, 10, 8), np.uint8)
IMAGE[:, :, 4:] = 200


@pytest.fixture
def invoke(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Run the command in `tmp_path`."""
    monkeypatch.chdir(tmp_path)
    return lambda *words: CliRunner().invoke(main, ["effective", *map(str, words)], catch_exceptions=False)


def write(kind: str, values: np.ndarray = IMAGE) -> str:
    """An image in the working folder."""
    name = {"slices": "slices"}.get(kind, f"image.{kind}")
    if kind == "npy":
        np.save(name, values)
    elif kind == "npz":
        np.savez(name, labels=values)
    elif kind == "h5":
        with h5py.File(name, "w") as file:
            file["labels"] = values
    elif kind == "tif":
        tifffile.imwrite(name, values)
    else:
        Path(name).mkdir()
        (Path(name) / "._plane000.png").write_bytes(b"macOS")
        for number, plane in enumerate(values):
            Image.fromarray(plane).save(Path(name) / f"plane{number:03}.png")
    return name


@pytest.mark.parametrize("kind", ["npy", "npz", "h5", "tif", "slices"])
def test_images_of_all_kinds_give_numbers_and_pictures(kind: str, invoke: Callable[..., Result]) -> None:
    done = invoke(write(kind), "--phase", "0=1", "--phase", "200=3", "--direction", "xz", "--json", "--output", "out")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["conductivity"][0][0] == pytest.approx(2.0 / (1.0 + 1.0 / 3.0), rel=1e-4)
    assert told["conductivity"][2][2] == pytest.approx(2.0, rel=1e-4)
    assert told["conductivity"][1][1] is None
    assert told["voxels"] == [8, 10, 12]
    kept = json.loads(Path("out/effective.json").read_text())
    assert kept["bounds"] == told["bounds"]
    with Image.open("out/flux.png") as picture:
        assert picture.width > 500


def test_cubes_are_drawn_and_all_is_told(invoke: Callable[..., Result]) -> None:
    image = (np.random.default_rng(0).uniform(size=(32, 32, 32)) < 0.8).astype(np.uint8)
    done = invoke(write("npy", image), "--phase", "0=0", "--phase", "1=2", "--cubes", "--voxel", "2")
    assert done.exit_code == 0
    assert "phase 1          " in done.stdout
    assert "tortuosity factor" in done.stdout
    assert "is not connected" in done.stdout
    assert {path.name for path in Path("outputs/image-effective").iterdir()} == {
        "effective.json",
        "flux.png",
        "cubes.png",
    }


@pytest.mark.lowest
def test_streamlines_are_drawn_and_kept_for_paraview(
    invoke: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("vtkmodules")
    words = write("npy"), "--phase", "0=1", "--phase", "200=3", "--direction", "xz", "--streamlines", "--output", "out"
    assert invoke(*words).exit_code == 0
    assert {"streamlines-x.vtp", "streamlines-z.vtp", "streamlines.png"} < {path.name for path in Path("out").iterdir()}
    with Image.open("out/streamlines.png") as picture:
        assert len(picture.convert("RGB").getcolors(10**6)) > 100
    monkeypatch.setitem(sys.modules, "vtkmodules.util", None)
    done = invoke(*words)
    assert done.exit_code == 2
    assert 'pip install "heatsim[3d]"' in done.output


def test_a_medium_that_nothing_leads_through_is_told(invoke: Callable[..., Result]) -> None:
    done = invoke(write("npy"), "--phase", "0=0", "--phase", "200=3", "--direction", "x")
    assert done.exit_code == 0
    assert "no path leads from one face to the other" in done.stdout


@in_turn(
    ("words", "message"),
    [
        (["--phase", "0=1"], "phases without a conductivity: 200 (0.5 of the volume)"),
        (["--phase", "x=1"], "--phase: expected a whole label and a conductivity"),
        (["--phase", "0=1", "--phase", "200=1", "--direction", "r"], "--direction: expected some of x, y, z"),
        (["--phase", "0=1", "--phase", "200=1", "--voxel", "1,0,1"], "--voxel: expected edges > 0"),
        (["--phase", "0=1", "--phase", "200=1", "--tolerance", "2"], "tolerance: expected a number between 0 and 1"),
    ],
)
def test_wrong_options_are_told_in_one_line(words: list[str], message: str, invoke: Callable[..., Result]) -> None:
    done = invoke(write("npy"), *words)
    assert done.exit_code == 2
    assert message in done.stderr
    assert done.stderr.count("error:") == 1
    assert not Path("outputs").exists()


def test_a_gpu_that_is_demanded_and_missing_is_told(
    invoke: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_driver(name: str) -> None:
        raise OSError

    monkeypatch.delenv("NUMBA_ENABLE_CUDASIM", raising=False)
    monkeypatch.setattr("ctypes.CDLL", no_driver)
    done = invoke(write("npy"), "--phase", "0=1", "--phase", "200=1", "--device", "cuda")
    assert done.exit_code == 4
    assert "no CUDA GPU" in done.stderr


def test_pictures_in_colours_and_slices_of_unlike_sizes_are_told(invoke: Callable[..., Result]) -> None:
    tifffile.imwrite("colours.tif", np.arange(90, dtype=np.uint8).reshape(6, 5, 3), photometric="rgb")
    done = invoke("colours.tif", "--phase", "0=1")
    assert "an image in colours?" in done.stderr
    folder = write("slices")
    Image.fromarray(np.zeros((3, 3), np.uint8)).save(f"{folder}/plane999.png")
    done = invoke(folder, "--phase", "0=1")
    assert done.exit_code == 2
    assert "a plane of 10 x 8 like the first one was expected, found 3 x 3" in done.stderr
    tifffile.imwrite(f"{folder}/plane000.tif", IMAGE)
    assert "one plane was expected of each file of a folder, found 12 pages" in invoke(folder, "--phase", "0=1").stderr


def test_the_size_of_the_image_and_of_its_voxels_is_told(invoke: Callable[..., Result]) -> None:
    tifffile.imwrite("a.tif", IMAGE, imagej=True, resolution=(2.0, 2.0), metadata={"spacing": 3.0, "unit": "um"})
    phases = "--phase", "0=1", "--phase", "200=3"
    done = invoke("a.tif", *phases)
    assert "a.tif: 8 x 10 x 12 voxels of 0.5 x 0.5 x 3 um, as the file says" in done.stderr
    assert heatsim.effective("a.tif", {0: 1.0, 200: 3.0}).conductivity[0, 0] == pytest.approx(1.5, rel=1e-3)
    done = invoke("a.tif", *phases, "--voxel", "1")
    assert "voxels of 1 x 1 x 1, where the file says 0.5,0.5,3 um" in done.stderr
    done = invoke(write("npy"), *phases)
    assert "image.npy: 8 x 10 x 12 voxels of 1 x 1 x 1 (along x, y, z)" in done.stderr
    done = invoke("image.npy", "--phase", "0=1")  # which is refused
    assert "image.npy: 8 x 10 x 12 voxels of 1 x 1 x 1 (along x, y, z)" in done.stderr
    done = invoke(write("slices"), *phases)
    assert "slices: 12 planes, from plane000.png to plane011.png" in done.stderr


def test_a_picture_rises_to_the_right_here_as_in_a_scenario(invoke: Callable[..., Result]) -> None:
    """Stripes drawn as /: a gradient along x drives a flux along y, too, of the same sign."""
    y, x = np.mgrid[:16, :16]
    Image.fromarray(((x + y) % 8 < 4).astype(np.uint8)).save("slash.png")  # the top row first
    done = invoke(
        *("slash.png", "--phase", "0=1", "--phase", "1=10"),
        *("--sides", "all-periodic", "--direction", "xy", "--json"),
    )
    assert json.loads(done.stdout)["conductivity"][0][1] > 1.0


def test_voxels_without_a_header_are_read_with_their_sizes(invoke: Callable[..., Result]) -> None:
    phases = "--phase", "0=1", "--phase", "200=3", "--direction", "x", "--json"
    for kind, raw in (
        ("u1", "8,10,12"),
        ("<u2", "8,10,12"),
        (">u2", "8,10,12,uint16,big"),
        ("<i4", "8, 10, 12, int32"),
    ):
        IMAGE.astype(kind).tofile("image.raw")
        done = invoke("image.raw", *phases, "--raw", raw)
        assert json.loads(done.stdout)["conductivity"][0][0] == pytest.approx(1.5, rel=1e-3), raw
        assert ("is read as" in done.stderr) == raw.endswith("12")
    (IMAGE != 0).astype(">u2").tofile("image.raw")
    assert "multiples of 256: is the order of bytes" in invoke("image.raw", *phases, "--raw", "8,10,12,uint16").stderr
    IMAGE.astype("<i4").tofile("image.raw")
    for raw, message in (
        (None, "a .raw file does not say its size: give it, as --raw 100,100,80"),
        ("8,10", "expected three whole numbers"),
        ("8,10,12,int32,large", "and big if the file is big-endian"),
        ("8,10,12", "8 x 10 x 12 voxels of uint8 take 960 bytes, found 3840: other sizes, another type, or a header?"),
    ):
        done = invoke("image.raw", *phases, *(() if raw is None else ("--raw", raw)))
        assert done.exit_code == 2
        assert message in done.stderr
