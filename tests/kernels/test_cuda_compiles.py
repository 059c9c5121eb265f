"""Every CUDA kernel compiles, without a GPU, for compute capabilities 8.0, 9.0 and 10.0; and what it compiles to."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from math import prod
from typing import Any

import pytest
from heatsim_kernels.stencil import MOVEMENTS
from heatsim_kernels.stencil.structure import Structure
from numba import config, types

pytestmark = [
    pytest.mark.skipif(find_spec("numba_cuda") is None, reason="numba-cuda is not installed"),
    pytest.mark.skipif(bool(config.ENABLE_CUDASIM), reason="the CUDA simulator compiles nothing"),
]
CAPABILITIES = ((8, 0), (9, 0))
REGISTERS = 65536  # of a multiprocessor
PRECISIONS = ("float32", "float64")
# pairs, zones, heat_table, heat_field, wall_per_cell, periodic: every term with and without, alone and together.
STRUCTURES = {
    "uniform": (False, False, False, False, False, (False, False, False)),
    "uniform, sources, walls a cell": (False, False, True, True, True, (False, False, True)),
    "one material as a table of pairs": (True, False, False, False, False, (False, False, False)),
    "zones with heat a zone": (False, True, True, False, False, (True, False, False)),
    "materials": (True, True, False, False, False, (False, True, False)),
    "materials, sources, walls a cell": (True, True, True, True, True, (False, False, False)),
    "materials with heat a cell, periodic": (True, True, False, True, False, (True, True, True)),
}
LARGEST = "materials, sources, walls a cell"
# Places in a kernel where a cell is renewed, and for x, y, z those where a ghost can lie beyond it. `basic` has a path
# for cells at an end of an axis and one for all others. `register` has a path with walls at y and z and one without,
# each for two rows of four cells and two of one; of four cells the first and the last alone can be at a wall at x.
PLACES = {"basic": (2, (2, 2, 2)), "register": (20, (16, 20, 20))}
ONE_PATH = (1, (2, 2, 2))


def structure(name: str, precision: str) -> Structure:
    return Structure(precision, *STRUCTURES[name])


def sweep_signature(precision: str) -> Any:
    """u, v, shape, walls, medium, heat."""
    from heatsim_kernels.stencil.cuda_cell import Heat, Medium, Shape, Walls

    real, count = getattr(types, precision), types.uint32
    reals, bytes_, indices = real[::1], types.uint8[::1], types.int64[::1]
    shape = types.NamedUniTuple(count, 3, Shape)
    walls = types.NamedTuple((reals, reals, indices), Walls)
    medium = types.NamedTuple((real, real, real, reals, bytes_, count), Medium)
    heat = types.NamedTuple((reals, real, reals, real), Heat)
    return types.void(reals, reals, shape, walls, medium, heat)


def flows_signature(precision: str) -> Any:
    """u, trace, places, steps, k, nz, ny, nx, faces, a, b, rows, offsets, zone_of, count, weights, partial."""
    real, count, number = getattr(types, precision), types.uint32, types.int32
    return types.void(
        real[::1], real[::1], types.int64[::1], number, number, count, count, count, number[::1],
        real[:, ::1], real[:, ::1], number, types.int64[::1], types.uint8[::1], count,
        types.float64[::1], types.float64[:, ::1],
    )  # fmt: skip


def sums_signature(precision: str) -> Any:
    """u, zone_of, zone, partial."""
    return types.void(getattr(types, precision)[::1], types.uint8[::1], types.int64, types.float64[::1])


@cache
def ptx_of(name: str, variant: Any, signature: Any, capability: tuple[int, int]) -> str:
    from heatsim_kernels.cuda_api import cuda

    module = import_module(f"heatsim_kernels.stencil.{name}")
    chosen = (variant, module.TILES[0]) if hasattr(module, "TILES") else variant
    return str(cuda.compile_ptx(module.build(chosen), signature, cc=capability)[0])


@cache
def assembler_report(ptx: str, capability: tuple[int, int]) -> str:
    """What the assembler says of a kernel."""
    linker = pytest.importorskip("cuda.bindings.nvjitlink", reason="nvjitlink (cuda-bindings) is not installed")
    options = [f"-arch=sm_{capability[0]}{capability[1]}", "-Xptxas=-v"]
    handle = linker.create(len(options), options)
    try:
        linker.add_data(handle, linker.InputType.PTX, ptx.encode(), len(ptx.encode()), "kernel.ptx")
        linker.complete(handle)
        report = bytearray(linker.get_info_log_size(handle))
        linker.get_info_log(handle, report)
    finally:
        linker.destroy(handle)
    return report.decode()


def spilled_bytes(ptx: str, capability: tuple[int, int]) -> int:
    """Bytes of registers that the assembler spills to memory, and of stack."""
    report = assembler_report(ptx, capability)
    used = re.findall(r"(\d+) bytes (?:stack frame|spill stores|spill loads)", report)
    assert len(used) >= 3, report
    return sum(map(int, used))


def registers(ptx: str, capability: tuple[int, int]) -> int:
    """Registers a thread."""
    (used,) = re.findall(r"Used (\d+) registers", assembler_report(ptx, capability))
    return int(used)


def kernels(precisions: tuple[str, ...] = PRECISIONS) -> list[Any]:
    """Every movement and structure in float32, some in float64, where what differs is the width of a number; the tests
    of one kernel go to one process, which compiles it once."""
    wanted = {"float32": tuple(STRUCTURES), "float64": ("uniform", LARGEST, "materials with heat a cell, periodic")}
    found = [(movement, name, each) for movement in MOVEMENTS for each in precisions for name in wanted[each]]
    return [pytest.param(*each, marks=pytest.mark.xdist_group(" ".join(each))) for each in found]


@pytest.mark.parametrize(("movement", "name", "precision"), kernels())
def test_a_sweep_compiles_without_spills_and_a_block_fits(movement: str, name: str, precision: str) -> None:
    require_no_spills(movement, name, precision, (9, 0))


@pytest.mark.parametrize("capability", [(8, 0), (10, 0)], ids="sm_{0[0]}{0[1]}".format)
@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("movement", MOVEMENTS)
def test_the_largest_sweep_compiles_without_spills_for_other_gpus(
    movement: str, precision: str, capability: tuple[int, int]
) -> None:
    require_no_spills(movement, LARGEST, precision, capability)


def require_no_spills(movement: str, name: str, precision: str, capability: tuple[int, int]) -> None:
    ptx = ptx_of(movement, structure(name, precision), sweep_signature(precision), capability)
    assert f".target sm_{capability[0]}{capability[1]}" in ptx
    assert not re.search(r"^\s*call\b", ptx, re.MULTILINE)  # all is inlined
    assert spilled_bytes(ptx, capability) == 0
    threads = prod(import_module(f"heatsim_kernels.stencil.{movement}").TILES[0].block)
    assert threads <= 1024
    assert registers(ptx, capability) * threads <= REGISTERS


@pytest.mark.parametrize(("movement", "name", "precision"), kernels(("float32",)))
def test_a_float32_sweep_computes_nothing_in_float64(movement: str, name: str, precision: str) -> None:
    ptx = ptx_of(movement, structure(name, precision), sweep_signature(precision), (9, 0))
    assert ".f32" in ptx
    assert ".f64" not in ptx


@pytest.mark.parametrize(("movement", "name", "precision"), kernels())
def test_every_multiply_add_of_a_sweep_is_one_that_was_written_out(movement: str, name: str, precision: str) -> None:
    """Nothing flushed, approximated or left for the assembler to fuse or not: the grounds for equal bits."""
    ptx = ptx_of(movement, structure(name, precision), sweep_signature(precision), (9, 0))
    real = "f32" if precision == "float32" else "f64"
    variant = structure(name, precision)
    renewed, beside_walls = PLACES.get(movement, ONE_PATH)
    walls = sum(places for places, wraps in zip(beside_walls, variant.periodic, strict=True) if not wraps)
    written = renewed * ((6 if variant.pairs else 3) + variant.heat_table + variant.heat_field) + walls
    found = len(re.findall(rf"fma\.rn\.{real}\b", ptx))
    if movement in PLACES:  # what its paths share may be computed before they part
        assert written / 2 <= found <= written
    else:
        assert found == written
    assert not re.findall(rf"(?:mul|mad|div|rcp)\S*\.{real}\b|\.ftz|\.approx", ptx)


@pytest.mark.parametrize("capability", CAPABILITIES, ids="sm_{0[0]}{0[1]}".format)
@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", ["uniform", "materials, sources, walls a cell"])
def test_the_ledger_kernel_compiles_without_spills(name: str, precision: str, capability: tuple[int, int]) -> None:
    ptx = ptx_of("cuda_wall_flows", structure(name, precision), flows_signature(precision), capability)
    assert spilled_bytes(ptx, capability) == 0


@pytest.mark.parametrize("capability", CAPABILITIES, ids="sm_{0[0]}{0[1]}".format)
@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("zones", [False, True])
def test_the_zone_sum_kernel_compiles_without_spills(zones: bool, precision: str, capability: tuple[int, int]) -> None:
    ptx = ptx_of("cuda_zone_sums", zones, sums_signature(precision), capability)
    assert spilled_bytes(ptx, capability) == 0
