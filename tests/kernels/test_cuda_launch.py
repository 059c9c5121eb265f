"""Kernels on disk, and arguments as a launch packs them."""

from __future__ import annotations

import re
from importlib.util import find_spec
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from heatsim_kernels.explicit import STEPPERS
from helpers.arrays import same_bits
from helpers.in_turn import in_turn
from helpers.kernel_cases import FEATURES, STEP, random_case
from numba import config, types

if find_spec("numba_cuda") is None or config.ENABLE_CUDASIM:
    pytest.skip("numba-cuda is not installed, or compiles nothing", allow_module_level=True)

from heatsim_kernels.device.cuda import compilation, launch
from heatsim_kernels.device.cuda.api import cuda
from heatsim_kernels.device.cuda.arrays import Captures, Upload, empty, on_device
from heatsim_kernels.explicit.cuda.linear_pass import LinearCudaPass
from heatsim_kernels.explicit.cuda.stepper import CudaStepper
from heatsim_kernels.explicit.ladder import register
from heatsim_kernels.field.cuda import cell_reads, field_sums

CAPABILITY = (9, 0)
READS = types.void(types.float32[::1], types.int64[::1], types.float32[::1])
SIZES = {"u8": 1, "u16": 2, "u32": 4, "u64": 8, "f32": 4, "f64": 8, "b32": 4, "b64": 8}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(compilation, "cache_folder", lambda module: tmp_path)
    return tmp_path


def refuse(*args: Any, **options: Any) -> None:
    raise AssertionError("compiled again")


def test_a_kernel_on_disk_is_not_compiled_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = compilation.binary(cell_reads.build_cells, None, READS, CAPABILITY)
    monkeypatch.setattr(cuda, "compile_ptx", refuse)
    assert compilation.binary(cell_reads.build_cells, None, READS, CAPABILITY) == first
    assert b"ELF" in first.code[:8]
    assert "registers" in first.report


@in_turn("other", ["build", "variant", "signature", "capability", "bounds"])
def test_all_that_machine_code_depends_on_is_in_its_name(folder: Path, other: str) -> None:
    given = {"build": cell_reads.build_cells, "variant": None, "signature": READS, "capability": (9, 0), "bounds": None}
    changed = {
        "build": cell_reads.build_plane,
        "variant": 1,
        "signature": types.void(types.float64[::1], types.int64[::1], types.float64[::1]),
        "capability": (8, 0),
        "bounds": (256, 2),
    }
    assert compilation._path(*given.values()) != compilation._path(*(given | {other: changed[other]}).values())


@in_turn("damage", [lambda b: b[: len(b) // 2], lambda b: b"", lambda b: b"nonsense\n" + b])
def test_a_damaged_file_is_replaced(folder: Path, damage: Any) -> None:
    compilation.binary(cell_reads.build_cells, None, READS, CAPABILITY)
    (path,) = folder.rglob("*.cubin")
    path.write_bytes(damage(path.read_bytes()))
    assert compilation._read(path) is None
    again = compilation.binary(cell_reads.build_cells, None, READS, CAPABILITY)
    assert compilation._read(path) == again


def test_a_folder_that_cannot_be_written_costs_no_more_than_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(compilation, "cache_folder", lambda module: tmp_path / "file")
    assert compilation.binary(cell_reads.build_cells, None, READS, CAPABILITY).code


def test_a_bound_on_blocks_caps_the_registers() -> None:
    bounded = compilation.compiled(cell_reads.build_cells, None, READS, CAPABILITY, (256, 2))
    free = compilation.compiled(cell_reads.build_cells, None, READS, CAPABILITY)
    assert bounded.code != free.code


@in_turn(
    ("build", "variant", "signature"),
    [
        (cell_reads.build_cells, None, READS),
        (
            field_sums.build,
            True,
            types.void(types.float32[::1], types.uint8[::1], types.float64[::1], types.float64[::1]),
        ),
        (
            cell_reads.build_plane,
            None,
            types.void(types.float32[::1], types.int64, types.int64, types.int64, types.int64, types.float32[::1]),
        ),
    ],
)
def test_a_launch_packs_the_parameters_that_the_kernel_declares(build: Any, variant: Any, signature: Any) -> None:
    ptx = str(cuda.compile_ptx(build(variant), signature, cc=CAPABILITY)[0])
    declared = [SIZES[kind] for kind in re.findall(r"\.param \.(\w+)(?: \.ptr\S*(?: \S+ \d+)?)? \S+param_\d+", ptx)]
    packed = [4 if code in "iIf" else 8 for code in launch._codes(signature.args)]
    assert packed == declared


@pytest.mark.gpu
def test_a_capture_is_the_field_of_its_time() -> None:
    case = random_case((20, 33, 70), FEATURES["uniform"], seed=3)
    sweep: Any = STEPPERS["basic"](case.coefficients, np.dtype(np.float32))
    sweep.field.put(case.start)
    sweep.advance(STEP, 3, case.forcing)
    now = np.array(sweep.field.host())
    assert same_bits(np.stack(list(sweep.field.planes())), now)
    fetches = [sweep.field.capture() for _ in range(2)]
    sweep.advance(STEP, 3, case.forcing)
    for fetch in fetches:
        assert same_bits(fetch(None, lambda count: None), now)
    assert not same_bits(sweep.field.host(), now)


@pytest.mark.gpu
def test_a_capture_in_several_pieces_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heatsim_kernels.device.cuda.arrays.PIECE", 1000)
    values = np.random.default_rng(0).random(10_007)
    array = on_device(values)
    fetch = Captures(array.shape[0], array.dtype).take(array)
    assert fetch is not None
    assert same_bits(fetch(None, lambda count: None), values)


@pytest.mark.gpu
def test_tables_of_any_length_arrive_rounded_and_their_last_row_serves_later_steps() -> None:
    upload, dtype = Upload(), np.dtype(np.float32)
    out = empty(5, dtype)
    for rows in (3, 1, 7, 2):
        table = np.random.default_rng(rows).random((rows, 5))
        sent = upload.send(table, dtype)
        assert upload.send(table, dtype) is sent
        for k in (0, rows - 1, rows + 3):
            args = (sent.row(k), on_device(np.arange(5)), out)
            launch.kernel(cell_reads.build_cells, None, args)(cell_reads.grid(5), (cell_reads.THREADS, 1, 1), args)
            assert same_bits(out.host(), table[min(k, rows - 1)].astype(dtype))


@pytest.mark.gpu
def test_a_kernel_tells_what_it_takes() -> None:
    case = random_case((20, 33, 70), FEATURES["uniform"], seed=3)
    tile = register.TILES[0]
    sweep = LinearCudaPass(case.coefficients, np.dtype(np.float32), register, tile)
    found = CudaStepper(case.coefficients, np.dtype(np.float32), sweep).resources(case.forcing)
    assert found.local_bytes == 0
    assert 32 <= found.registers <= 255
    assert found.threads == prod(tile.block)
    assert found.blocks_a_multiprocessor >= 1
