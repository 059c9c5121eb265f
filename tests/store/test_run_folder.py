from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from helpers.in_turn import in_turn

from heatsim.base.atomic import temporary_name, write_atomically
from heatsim.errors import RunFolderError
from heatsim.output.recorders import TABLES
from heatsim.store.folder import RunFolder, holds_nothing


def fill(folder: RunFolder) -> list[Path]:
    """Write one of everything that a run leaves behind, and files of the user among it."""
    own = [folder.series, folder.geometry, folder.scenario, folder.probes, folder.energy, folder.hotspots, folder.log]
    own += [folder.snapshot(0), folder.snapshot(12), folder.slice_picture("mid plane".replace(" ", "_"), 3)]
    own += [
        folder.hotspot_picture("mid"),
        folder.slice_frame("mid", 3),
        temporary_name(folder.series),
        temporary_name(folder.snapshot(13)),
    ]
    for path in own:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("old")
    return own


def test_a_new_folder_is_made_with_its_parents_and_opens_again(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "outputs" / "plate")
    assert folder.snapshots.is_dir()
    assert folder.slices.is_dir()
    assert RunFolder.open(folder.path) == folder


def test_an_empty_folder_is_taken(tmp_path: Path) -> None:
    assert RunFolder.create(tmp_path).info.is_file()


def test_an_existing_run_is_refused_without_force_and_untouched(folder: RunFolder) -> None:
    own = fill(folder)
    with pytest.raises(RunFolderError, match="--force"):
        RunFolder.create(folder.path)
    assert all(path.read_text() == "old" for path in own)


def test_force_removes_the_old_run_but_no_other_file(folder: RunFolder) -> None:
    own = fill(folder)
    users = [folder.path / "notes.txt", folder.slices / "thesis.png", folder.snapshots / "best.h5"]
    users += [folder.path / "analysis" / "000001.h5", folder.path / "run.py"]
    for path in users:
        path.parent.mkdir(exist_ok=True)
        path.write_text("mine")
    folder.write_info({"state": "finished"})
    RunFolder.create(folder.path, force=True, tables=TABLES)
    assert not [path for path in own if path.exists()]
    assert all(path.read_text() == "mine" for path in users)
    assert folder.read_info() == {}


@in_turn("content", [None, "{}", "[]", "not json", '{"name": "a node project"}'])
def test_force_never_touches_a_folder_that_is_no_run_folder(tmp_path: Path, content: str | None) -> None:
    fill(RunFolder(tmp_path))
    if content is not None:
        (tmp_path / "run.json").write_text(content)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(RunFolderError, match="not a heatsim run folder"):
        RunFolder.create(tmp_path, force=True)
    assert sorted(tmp_path.rglob("*")) == before


@in_turn("at", range(4))
def test_force_takes_a_folder_whose_maker_was_killed(at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed before the given one of the calls that make folders or files."""
    left = iter(range(at))

    def dies(function: Callable[..., Any]) -> Callable[..., Any]:
        def called(*args: Any, **more: Any) -> Any:
            next(left)
            return function(*args, **more)

        return called

    with monkeypatch.context() as patch:
        patch.setattr(Path, "mkdir", dies(Path.mkdir))
        patch.setattr("heatsim.store.folder.write_atomically", dies(write_atomically))
        with pytest.raises(StopIteration):
            RunFolder.create(tmp_path / "run")
    if at == 1:  # within the writing of the first file
        (tmp_path / "run" / ".run.json.tmp").write_text("{")
        assert holds_nothing(tmp_path / "run")
    RunFolder.create(tmp_path / "run", force=True).read_info()


def test_force_follows_no_links(folder: RunFolder, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "deep").mkdir(parents=True)
    victims = [elsewhere / "000001.h5", elsewhere / "a_000001.png", elsewhere / "deep" / "000001.h5"]
    for path in victims:
        path.write_text("precious")
    folder.snapshots.rmdir()
    folder.snapshots.symlink_to(elsewhere)
    (folder.slices / "mid").symlink_to(elsewhere)
    folder.log.symlink_to(victims[0])
    RunFolder.create(folder.path, force=True)
    assert all(path.read_text() == "precious" for path in victims)
    assert folder.snapshots.is_dir()
    assert not folder.snapshots.is_symlink()  # the new run does not write through it


def test_a_link_or_a_file_in_the_place_of_the_run_folder_is_refused(folder: RunFolder, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(folder.path)
    (tmp_path / "file").touch()
    for name in ("link", "file"):
        with pytest.raises(RunFolderError, match="--output"):
            RunFolder.create(tmp_path / name, force=True)
    with pytest.raises(RunFolderError, match="cannot be made a run folder"):
        RunFolder.create(tmp_path / "file" / "below")


def test_opening_something_else_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "absent"):
        with pytest.raises(RunFolderError, match="not a heatsim run folder"):
            RunFolder.open(path)


def test_info_reads_back(folder: RunFolder) -> None:
    folder.write_info({"device": "cpu", "seconds": 1.5, "title": "Wärme"})
    assert folder.read_info() == {"device": "cpu", "seconds": 1.5, "title": "Wärme"}


def test_snapshots_are_listed_by_number_also_beyond_six_digits(folder: RunFolder) -> None:
    numbers = [1_000_000, 7, 999_999, 0]
    for number in numbers:
        folder.snapshot(number).touch()
    temporary_name(folder.snapshot(8)).touch()
    (folder.snapshots / "notes.h5").touch()
    assert [int(path.stem) for path in folder.snapshot_paths()] == sorted(numbers)


def test_slice_names_cannot_lead_out_of_the_run_folder(folder: RunFolder) -> None:
    for name in ("../x", "a/b", "", ".", "..", "/etc", "a\x00b", ".hidden"):
        with pytest.raises(RunFolderError, match="slice name"):
            folder.slice_frame(name, 0)
        with pytest.raises(RunFolderError, match="slice name"):
            folder.slice_picture(name, 0)
    folder.slice_frame("z=0.005", 0).parent.mkdir()
    folder.slice_frame("z=0.005", 2).touch()
    assert folder.slice_names() == ["z=0.005"]
    assert folder.slice_frame_paths("z=0.005") == [folder.slice_frame("z=0.005", 2)]


def test_a_failed_write_leaves_the_old_file_and_no_temporary_one(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_atomically(path, b"old")
    path.unlink()
    path.mkdir()
    (path / "inside").touch()  # a file cannot be renamed over a folder
    with pytest.raises(OSError, match="file"):
        write_atomically(path, b"new")
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]
