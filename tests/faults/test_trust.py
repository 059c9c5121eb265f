"""What a scenario or a data file of a stranger must not do."""

from __future__ import annotations

import os
from pathlib import Path

import h5py
import numpy as np
import pytest
from helpers.commands import Heatsim
from helpers.in_turn import in_turn
from helpers.scenario_texts import SMALL

import heatsim as api
from heatsim.errors import HeatsimError, InputFileError, ScenarioError
from heatsim.problem import build_problem
from heatsim.store.inputs import read_array

FROM_FILE = SMALL.replace('"300 + 100*x"', '{{ file = "{file}" }}')


def scenario_naming(folder: Path, file: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / "case.toml"
    path.write_text(FROM_FILE.format(file=file))
    return path


@in_turn("file", ["../field.npy", "{outside}/field.npy", "link/field.npy", "here/../../field.npy"])
def test_files_outside_the_folder_need_trust(tmp_path: Path, file: str) -> None:
    np.save(tmp_path / "field.npy", np.full((8, 8, 8), 300.0))
    path = scenario_naming(tmp_path / "inside", file.format(outside=tmp_path))
    (tmp_path / "inside" / "link").symlink_to(tmp_path)
    (tmp_path / "inside" / "here").mkdir()
    with pytest.raises(ScenarioError, match="trust=True"):
        api.load(path)
    build_problem(api.load(path, trust=True))


@in_turn("suffix", [".npy", ".npz", ".h5", ".png"])
def test_pipes_and_devices_are_not_opened(tmp_path: Path, suffix: str) -> None:
    os.mkfifo(tmp_path / f"pipe{suffix}")
    with pytest.raises(InputFileError, match="is not a file"):
        read_array(tmp_path / f"pipe{suffix}")


def test_a_pipe_in_place_of_a_table_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "power.csv")
    path = tmp_path / "case.toml"
    path.write_text(SMALL + '[[sources]]\ntrace = "power.csv"\n')
    with pytest.raises(HeatsimError, match="is not a file"):
        build_problem(api.load(path))


def test_filters_that_load_code_are_refused(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("a", data=np.zeros((4, 4)), chunks=(2, 2), compression="lzf")
    with pytest.raises(InputFileError, match="filtered by 'lzf'; gzip, shuffle and fletcher32 are taken"):
        read_array(tmp_path / "a.h5")


def test_a_run_of_a_stranger_has_limits(heatsim: Heatsim, tmp_path: Path) -> None:
    (tmp_path / "case.toml").write_text(SMALL)
    done = heatsim("run", "case.toml", "--untrusted", "--quiet")
    assert (done.returncode, done.stderr) == (0, "")
    assert heatsim("run", "case.toml", "--untrusted", "--trust").returncode == 2
