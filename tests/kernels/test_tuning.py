"""Which tile a movement takes."""

from __future__ import annotations

from math import prod
from pathlib import Path

import pytest
from helpers.in_turn import in_turn

pytest.importorskip("numba_cuda")

from heatsim_kernels.explicit.cuda import tile_tuning
from heatsim_kernels.explicit.cuda_cell.configuration import StencilConfiguration
from heatsim_kernels.explicit.ladder import basic, register

UNIFORM = StencilConfiguration("float32", True, "", False, False, False, (False, False, False))
FEATURES = UNIFORM._replace(uniform=False, class_dtype="uint8")
LARGE, SMALL, TINY = (512, 512, 512), (64, 64, 64), (1, 4, 8)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tile_tuning, "cache_home", lambda: tmp_path)
    return tmp_path


def test_a_large_grid_takes_the_first_tile() -> None:
    assert tile_tuning.choose_tile(register, UNIFORM, LARGE, "GPU") == register.TILES[0]


@pytest.mark.parametrize("shape", [SMALL, TINY])
def test_a_small_grid_takes_a_tile_that_gives_the_gpu_more_blocks(shape: tuple[int, int, int]) -> None:
    tile = tile_tuning.choose_tile(register, UNIFORM, shape, "GPU")
    blocks = {each: prod(register.grid(shape, each, UNIFORM.dtype)) for each in register.TILES}
    assert blocks[tile] == max(blocks.values())


def test_what_was_found_fastest_is_taken_on_that_device_and_for_that_kind_of_problem_alone() -> None:
    found = register.TILES[2]
    tile_tuning.save_tile(register, UNIFORM, "GPU", found)
    tile_tuning.save_tile(basic, UNIFORM, "GPU", basic.TILES[1])
    assert tile_tuning.choose_tile(register, UNIFORM, LARGE, "GPU") == found
    assert tile_tuning.choose_tile(basic, UNIFORM, LARGE, "GPU") == basic.TILES[1]
    assert tile_tuning.choose_tile(register, UNIFORM, LARGE, "another GPU") == register.TILES[0]
    assert tile_tuning.choose_tile(register, FEATURES, LARGE, "GPU") == register.TILES[0]


def test_a_tile_that_is_no_longer_there_is_forgotten(folder: Path) -> None:
    tile_tuning.save_tile(register, UNIFORM, "GPU", register.TILES[0]._replace(x=99))
    assert tile_tuning.choose_tile(register, UNIFORM, LARGE, "GPU") == register.TILES[0]


@in_turn("text", ["", "[1, 2]", "{", '{"GPU": 3}', '{"GPU": {"register float32 uniform": "x"}}'])
def test_a_damaged_file_counts_as_empty(folder: Path, text: str) -> None:
    (folder / "tuning.json").write_text(text)
    assert tile_tuning.choose_tile(register, UNIFORM, LARGE, "GPU") == register.TILES[0]
    tile_tuning.save_tile(register, UNIFORM, "GPU", register.TILES[1])
    assert tile_tuning.choose_tile(register, UNIFORM, LARGE, "GPU") == register.TILES[1]


def test_a_folder_that_cannot_be_written_is_no_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "file").write_text("")
    monkeypatch.setattr(tile_tuning, "cache_home", lambda: folder / "file")
    tile_tuning.save_tile(register, UNIFORM, "GPU", register.TILES[1])
    assert tile_tuning.choose_tile(register, UNIFORM, LARGE, "GPU") == register.TILES[0]
