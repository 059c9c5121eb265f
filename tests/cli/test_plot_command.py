"""`heatsim plot`: what it draws, where to, and what it says of bad input."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
from helpers.commands import BLOCK, SMALL, Invoke, messages
from helpers.in_turn import in_turn
from PIL import Image

from heatsim.output.pictures.planes import PlaneRequest, PlaneSource
from heatsim.store.field_reader import FieldReader
from heatsim.store.folder import RunFolder

Write = Callable[..., Path]


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    """A copy of a finished run, which a test may change."""
    shutil.copytree(finished, tmp_path / "run")
    return tmp_path / "run"


def pixels(path: Path) -> np.ndarray:
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"))


def has_colour(path: Path, colour: str) -> bool:
    wanted = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return bool((np.abs(pixels(path).astype(int) - wanted).max(axis=2) <= 2).any())


def test_without_options_slices_are_drawn_again_and_tables_and_an_overview(invoke: Invoke, run: Path) -> None:
    pictures = sorted((run / "slices").glob("*.png"))
    before = [picture.read_bytes() for picture in pictures]
    for picture in pictures:
        picture.unlink()
    done = invoke("plot", "run")
    assert (done.exit_code, done.stderr) == (0, "")
    others = [run / "pictures" / f"{name}.png" for name in ("probes", "energy", "overview")]
    assert done.stdout.splitlines() == [str(path.relative_to(run.parent)) for path in (*pictures, *others)]
    assert [picture.read_bytes() for picture in pictures] == before
    assert all(has_colour(path, "#ffffff") for path in others)


def test_a_run_without_slices_and_tables_has_an_overview(invoke: Invoke, write: Write) -> None:
    write(SMALL)
    assert invoke("run", "case.toml", "--quiet").exit_code == 0
    done = invoke("plot", "outputs/case")
    assert (done.exit_code, done.stdout.splitlines()) == (0, ["outputs/case/pictures/overview.png"])


@pytest.mark.parametrize(("kind", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_each_format_in_both_themes(invoke: Invoke, run: Path, tmp_path: Path, kind: str, start: bytes) -> None:
    for theme in ("light", "dark"):
        done = invoke("plot", "run", "--axis", "x", "--at", "3cm", "--theme", theme, "--output", f"{theme}.{kind}")
        assert (done.exit_code, done.stderr) == (0, "")
        assert (tmp_path / f"{theme}.{kind}").read_bytes().startswith(start)


def test_a_level_is_a_line_of_its_own_and_takes_either_unit(invoke: Invoke, write: Write, tmp_path: Path) -> None:
    write(SMALL.replace("[8, 8, 8]", "[24, 24, 1]"))
    assert invoke("run", "case.toml", "--quiet").exit_code == 0
    for name, level in (("none", []), ("kelvin", ["--level", "305K"]), ("celsius", ["--level", "31.85degC"])):
        done = invoke("plot", "outputs/case", "--time", "0", *level, "--output", f"{name}.png")
        assert (done.exit_code, done.stderr) == (0, "")
    assert not has_colour(tmp_path / "none.png", "#2fb7ff")
    assert has_colour(tmp_path / "kelvin.png", "#2fb7ff")
    assert (tmp_path / "kelvin.png").read_bytes() == (tmp_path / "celsius.png").read_bytes()


def test_the_difference_to_itself_is_nothing(invoke: Invoke, run: Path, tmp_path: Path) -> None:
    done = invoke("plot", "run", "--axis", "z", "--minus-run", "run", "--output", "nothing.png")
    assert (done.exit_code, done.stderr) == (0, "")
    middle = pixels(tmp_path / "nothing.png")[300:400, 300:600].reshape(-1, 3)
    assert len(np.unique(middle, axis=0)) <= 3  # one colour, and outlines


def test_what_is_taken_off_is_said(invoke: Invoke, run: Path, write: Write) -> None:
    """The nearest snapshot is; a steady state was taken off itself."""
    reader = FieldReader(RunFolder.open(run))
    assert PlaneSource(reader, PlaneRequest(minus=(reader, 0.1))).taken_off == "less t = 0 s"
    other = FieldReader(RunFolder.open(run))
    assert PlaneSource(reader, PlaneRequest(minus=(other, None))).taken_off == "less run"
    write(SMALL)
    options = "time.integrator=steady", "boundary.x_min.kind=fixed", "boundary.x_min.temperature=300.0"
    asked = [word for option in options for word in ("--set", option)]
    assert invoke("run", "case.toml", "--quiet", *asked).exit_code == 0
    done = invoke("plot", "outputs/case", "--minus-time", "0")
    assert (done.exit_code, "a steady state has no other time" in done.stderr) == (2, True), done.stderr


def test_a_run_that_goes_on_is_drawn_as_far_as_it_has_come(invoke: Invoke, run: Path) -> None:
    info = json.loads((run / "run.json").read_text())
    kept = {key: value for key, value in info.items() if key not in ("timings", "energy", "steps", "time")}
    (run / "run.json").write_text(json.dumps({**kept, "state": "running"}))
    (run / "snapshots" / ".000005.h5.tmp").write_bytes(b"half a snapshot")
    with (run / "probes.csv").open("a") as table:
        table.write("4.1,30")
    done = invoke("plot", "run")
    assert (done.exit_code, done.stderr) == (0, "")


def test_damaged_files_are_left_out_and_told(invoke: Invoke, run: Path) -> None:
    (run / "slices" / "z_0.016" / "000001.h5").write_bytes(b"junk")
    (run / "snapshots" / "000002.h5").write_bytes(b"junk")
    frames = invoke("plot", "run")
    assert frames.exit_code == 0
    assert "z_0.016_000001.png" not in frames.stdout
    planes = invoke("plot", "run", "--time", "all")
    assert (planes.exit_code, len(planes.stdout.splitlines())) == (0, 4)
    for done, name in ((frames, "z_0.016/000001.h5"), (planes, "snapshots/000002.h5")):
        assert any(name in line and "left out" in line for line in messages(done.stderr))


def test_damaged_data_of_a_snapshot_are_left_out_and_told(invoke: Invoke, run: Path) -> None:
    """Its header is good, so that it is met only when the plane is read."""
    path = run / "snapshots" / "000002.h5"
    data = bytearray(path.read_bytes())
    with h5py.File(path) as file:
        chunk = file["temperature"].id.get_chunk_info(0)
    data[chunk.byte_offset + 8 : chunk.byte_offset + chunk.size - 8] = b"\0" * (chunk.size - 16)
    path.write_bytes(data)
    done = invoke("plot", "run", "--time", "all")
    assert (done.exit_code, len(done.stdout.splitlines())) == (0, 4)
    overview = invoke("plot", "run", "--overview")
    assert (overview.exit_code, len(overview.stdout.splitlines())) == (0, 1)
    for each in (done, overview):
        assert any("000002.h5" in line and "left out" in line for line in messages(each.stderr))


@in_turn(
    ("options", "code", "said"),
    [
        (["--time", "9"], 2, "from 0 s to 4 s"),
        (["--axis", "z", "--at", "1.0"], 2, "outside the box, which goes from 0 m to 0.03 m"),
        (["--field", "peak"], 2, "they hold temperature"),
        (["--field", "melted_fraction"], 2, "output.fields"),
        (["--crop", "1,2,3,4"], 2, "holds no cell"),
        (["--line", "0,0,0", "0,0,1"], 2, "outside the box"),
        (["--line", "0,0,0", "0,0,0"], 2, "the same point"),
        (["--table", "regions"], 2, "regions.csv"),
        (["--at", "5furlong"], 2, "furlong"),
        (["--output", "picture.bmp"], 2, ".png, .svg or .pdf"),
        (["--time", "all", "--output", "one.png"], 2, "5 pictures"),
        (["--output", "nowhere/one.png"], 1, "nowhere/one.png: No such file or directory"),
        (["--minus-run", "empty"], 2, "not a heatsim run folder"),
    ],
)
def test_what_cannot_be_drawn_is_one_message(
    invoke: Invoke, run: Path, tmp_path: Path, options: list[str], code: int, said: str
) -> None:
    (tmp_path / "empty").mkdir()
    done = invoke("plot", "run", *options)
    assert (done.exit_code, done.stdout) == (code, "")
    assert said in done.stderr
    assert not list(tmp_path.glob("**/.*.tmp"))


def test_a_run_of_which_no_snapshot_can_be_read_is_refused(invoke: Invoke, run: Path) -> None:
    for path in (run / "snapshots").iterdir():
        path.write_bytes(b"junk")
    done = invoke("plot", "run", "--time", "all")
    assert done.exit_code == 2
    assert "none of its 5 snapshots can be read" in done.stderr


def test_a_heat_flux_that_was_not_kept_is_the_one_that_the_run_would_have_kept(
    invoke: Invoke, write: Write, tmp_path: Path
) -> None:
    for name, fields in (("without", "[]"), ("kept", '["heat_flux", "gradient"]')):
        write(BLOCK.replace("snapshots = { every = 1.0 }", f"snapshots = {{ every = 1.0 }}\nfields = {fields}"))
        assert invoke("run", "case.toml", "--quiet", "--output", name).exit_code == 0
        for field in ("heat_flux", "gradient"):
            done = invoke("plot", name, "--field", field, "--axis", "y", "--output", f"{name}_{field}.png")
            assert (done.exit_code, done.stderr) == (0, "")
    for field in ("heat_flux", "gradient"):
        a, b = (pixels(tmp_path / f"{name}_{field}.png").astype(int) for name in ("without", "kept"))
        assert (
            np.abs(a - b).max(axis=2) > 16
        ).mean() < 2e-3  # but for rounding of the state, which is stored in float32
