"""`heatsim view` writes one page, and tells what it cannot do."""

from __future__ import annotations

import json
import re
import shutil
import threading
from dataclasses import replace
from http.client import HTTPConnection
from pathlib import Path

import h5py
import numpy as np
import pytest
from click.testing import CliRunner, Result
from helpers.in_turn import in_turn

import heatsim
from heatsim.cli.main import main
from heatsim.output.viewer.frames import FrameSource, most_telling
from heatsim.output.viewer.server import LiveRun, make_server
from heatsim.scenario import loads
from heatsim.store.field_reader import FieldReader
from heatsim.store.folder import RunFolder


def view(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["view", *map(str, arguments)])


def about(page: Path) -> dict:
    text = page.read_text(encoding="utf-8")
    return json.loads(re.search(r'id="about">(.*?)</script>', text, re.DOTALL)[1])


def test_a_page_asks_for_nothing_from_the_network(run_of_a_ball: Path, tmp_path: Path) -> None:
    done = view(run_of_a_ball, "--output", tmp_path / "page.html")
    assert done.exit_code == 0, done.output
    assert done.stdout.strip() == str(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert not re.findall(r'(?:src|href)="(?!data:)[^"]+"|https?://|@import|url\(', text)
    assert "<title>A hot ball &lt;in&gt; a block</title>" in text
    found = about(tmp_path / "page.html")
    assert found["shape"] == [16, 20, 24]
    assert [frame["time"] for frame in found["frames"]] == pytest.approx([0, 0.125, 0.25, 0.375, 0.5])
    assert found["probes"]["names"] == ["ball"]
    assert [frame["outside"] for frame in found["frames"]] == [[None, 280.0]] * 5
    assert min(frame["low"] for frame in found["frames"]) > 295.0  # of the steel alone
    assert found["materials"] == {"names": ["steel", "air"], "ambient": [False, True]}


def test_an_angle_is_no_length(tmp_path: Path) -> None:
    """It had the unit of lengths, and made a shaft of 24 mm one of 0.024 m."""
    scenario = loads("""\
grid = { coordinates = "cylindrical", cells = [6, 1, 4], size = [0.024, 6.283185307179586, 0.016] }
time = { end = 0.1, integrator = "euler" }
materials.steel = { conductivity = 15.0, density = 7900.0, heat_capacity = 500.0 }
regions = [{ material = "steel" }]
initial.temperature = "300 + 1000*z"
output.snapshots = { count = 1 }
""")
    view(heatsim.run(scenario, tmp_path / "run").path, "--output", tmp_path / "page.html")
    found = about(tmp_path / "page.html")
    assert found["lengths"] == ["mm", "rad", "mm"]
    assert [found["faces"][axis][-1] for axis in "xyz"] == pytest.approx([24.0, 6.283185, 16.0])


def test_coarse_frames_are_means_by_volume(run_of_a_ball: Path, tmp_path: Path) -> None:
    source = FrameSource(FieldReader(RunFolder.open(run_of_a_ball)), "temperature", coarsening=5)
    assert source.shape == (4, 4, 5)
    with h5py.File(run_of_a_ball / "snapshots" / "000000.h5") as file:
        field = file["temperature"][()]
    values = source.values(source.headers[0])
    assert values[1, 2, 0] == pytest.approx(field[5:10, 10:15, 0:5].mean(), rel=1e-6)
    assert values[3, 3, 4] == pytest.approx(field[15:, 15:, 20:].mean(), rel=1e-6)
    # Of a block that the border of the air cuts, only the cells of steel count.
    assert values[2, 1, 1] == pytest.approx(field[10:14, 5:10, 5:10].mean(), rel=1e-6)
    assert source.materials is not None
    assert source.materials.void == (False, False)
    assert replace(source.materials, void=(False, True)).outside(values) == (None, None)
    assert source.materials.outside(values)[1] == pytest.approx(280.0)
    np.testing.assert_allclose(source.faces("x"), [0.0, 0.005, 0.010, 0.015, 0.020, 0.024])
    done = view(run_of_a_ball, "--coarsen", 5, "--every", 3, "--output", tmp_path / "page.html")
    assert done.exit_code == 0
    assert [frame["time"] for frame in about(tmp_path / "page.html")["frames"]] == pytest.approx([0, 0.375, 0.5])


@in_turn(("spreads", "opens_at"), [([0, 5, 9, 8.9, 3], 3), ([0, 0], 1), ([7], 0), ([9, 4, 1], 0)])
def test_a_page_opens_where_values_differ_most(spreads: list[float], opens_at: int) -> None:
    assert most_telling(spreads) == opens_at


@in_turn(
    ("arguments", "code", "words"),
    [
        (["--field", "pressure"], 2, "no field 'pressure'"),
        (["--output", "nowhere/page.html"], 1, "No such file or directory"),
        (["--coarsen", "0"], 2, "--coarsen"),
    ],
)
def test_what_cannot_be_shown_is_told(run_of_a_ball: Path, arguments: list[str], code: int, words: str) -> None:
    done = view(run_of_a_ball, *arguments)
    assert (done.exit_code, words in done.output) == (code, True), done.output


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    (tmp_path / "plate.toml").touch()
    for name, why in (
        ("", "no run.json by heatsim"),
        ("no", "no such folder"),
        ("plate.toml", "is a scenario; name the"),
    ):
        done = view(tmp_path / name)
        assert (done.exit_code, why in done.stderr) == (2, True), done.stderr


def test_a_damaged_snapshot_is_left_out_and_told(run_of_a_ball: Path, tmp_path: Path) -> None:
    run = shutil.copytree(run_of_a_ball, tmp_path / "run")
    (run / "snapshots" / "000002.h5").write_bytes(b"nothing")
    done = view(run)
    assert done.exit_code == 0
    assert "000002.h5" in done.stderr
    assert len(about(run / "pictures" / "view.html")["frames"]) == 4


def test_a_run_that_is_being_written_is_shown_as_far_as_it_is(run_of_a_ball: Path, tmp_path: Path) -> None:
    run = shutil.copytree(run_of_a_ball, tmp_path / "run")
    told = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**told, "state": "running"}))
    (run / "snapshots" / "000004.h5").rename(run / "snapshots" / "000004.h5.tmp")
    done = view(run)
    assert (done.exit_code, done.stderr) == (0, "")
    assert len(about(run / "pictures" / "view.html")["frames"]) == 4


def test_a_notebook_shows_the_page(run_of_a_ball: Path) -> None:
    run = heatsim.simulation.run.Run(run_of_a_ball, {})
    shown = run.view(height=500)._repr_html_()
    assert shown.startswith("<iframe")
    assert "height: 500px" in shown
    assert shown.count("<") == 2  # all of the page is inside an attribute


def test_a_server_gives_frames_as_they_come_and_to_this_machine_alone(run_of_a_ball: Path, tmp_path: Path) -> None:
    run = shutil.copytree(run_of_a_ball, tmp_path / "run")
    last = run / "snapshots" / "000004.h5"
    last.rename(tmp_path / "last.h5")
    with make_server(LiveRun(run, FieldReader, "temperature"), 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()

        def get(path: str, **headers: str) -> tuple[int, bytes]:
            connection = HTTPConnection("127.0.0.1", server.server_port, timeout=20)
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            return answer.status, answer.read()

        assert server.server_address[0] == "127.0.0.1"
        assert b"<!doctype html>" in get("/")[1]
        assert len(json.loads(get("/about")[1])["frames"]) == 4
        (tmp_path / "last.h5").rename(last)
        found = json.loads(get("/about")[1])
        assert (len(found["frames"]), found["live"]) == (5, False)
        assert get("/frame-4")[1][4:6] == b"\x1f\x8b"
        assert [get(path)[0] for path in ("/frame-5", "/frame-x", "/../run.json", "/run.json")] == [404] * 4
        assert get("/about", Host="elsewhere.example")[0] == 403
        server.shutdown()
