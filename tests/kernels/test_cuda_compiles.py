"""Every CUDA kernel compiles, without a GPU, for compute capabilities 8.0, 9.0 and 10.0; and what it compiles to."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from math import prod
from typing import Any

import pytest
from heatsim_kernels.stencil import ONE_STEP_KERNELS
from heatsim_kernels.stencil.cuda.configuration import StencilConfiguration
from numba import config, types

pytestmark = [
    pytest.mark.skipif(find_spec("numba_cuda") is None, reason="numba-cuda is not installed"),
    pytest.mark.skipif(bool(config.ENABLE_CUDASIM), reason="the CUDA simulator compiles nothing"),
]
CAPABILITIES = ((8, 0), (9, 0))
REGISTERS = 65536  # of a multiprocessor
PRECISIONS = ("float32", "float64")
# uniform, kinds, heat_table, heat_field, wall_per_cell, periodic: every term with and without, alone and together.
STRUCTURES = {
    "uniform": (True, "", False, False, False, (False, False, False)),
    "uniform, sources, walls a cell": (True, "", True, True, True, (False, False, True)),
    "a rate a face": (False, "", False, False, False, (False, False, False)),
    "kinds with heat a kind": (False, "uint8", True, False, False, (True, False, False)),
    "kinds": (False, "uint8", False, False, False, (False, True, False)),
    "kinds, sources, walls a cell": (False, "uint16", True, True, True, (False, False, False)),
    "kinds with heat a cell, periodic": (False, "uint32", False, True, False, (True, True, True)),
}
LARGEST = "kinds, sources, walls a cell"
# Places in a kernel where a cell is renewed, and for x, y, z those where a ghost can lie beyond it. `basic` has a path
# for cells at an end of an axis and one for all others. `register` has one for cells at any end, one for those at no
# end of y and z, one for those at none at all, each for a vector of cells (four in float32) and for one; of a vector
# the first and the last cell alone can be at a wall at x.
PLACES = {"basic": (2, (2, 2, 2)), "register": (15, (8, 5, 5))}
ONE_PATH = (1, (2, 2, 2))


def structure(name: str, precision: str) -> StencilConfiguration:
    return StencilConfiguration(precision, *STRUCTURES[name])


def sweep_signature(precision: str, kinds: str = "") -> Any:
    """u, v, shape, walls, medium, heat."""
    from heatsim_kernels.stencil.cuda.cell_update import CudaBoundaryFaces, CudaExchange, CudaSources, GridShape

    real, count = getattr(types, precision), types.uint32
    reals, indices = real[::1], types.int64[::1]
    shape = types.NamedUniTuple(count, 3, GridShape)
    walls = types.NamedTuple((reals, reals, indices), CudaBoundaryFaces)
    medium = types.NamedTuple((real, real, real, reals, integers(kinds)), CudaExchange)
    heat = types.NamedTuple((reals, real, reals, real), CudaSources)
    return types.void(reals, reals, shape, walls, medium, heat)


def integers(kinds: str) -> Any:
    return getattr(types, kinds or "uint8")[::1]


def flows_signature(precision: str, kinds: str) -> Any:
    """u, trace, places, steps, k, nz, ny, nx, faces, a, b, rows, offsets, kinds, count, weights, shares, partial."""
    from heatsim_kernels.stencil.cuda.boundary_flux import MAX_STEPS

    real, count, number = getattr(types, precision), types.uint32, types.int32
    return types.void(
        real[::1], real[::1], types.int64[::1], number, number, count, count, count, number[::1],
        real[:, ::1], real[:, ::1], number, types.int64[::1], integers(kinds), count,
        types.float64[::1], types.UniTuple(types.float64, MAX_STEPS), types.float64[:, ::1],
    )  # fmt: skip


def taps_signature(precision: str) -> Any:
    """u, cells, beyond, places, firsts, weights, share, row, partial."""
    indices, doubles = types.int64[::1], types.float64
    return types.void(
        getattr(types, precision)[::1], *(indices,) * 4, doubles[::1], doubles, types.int32, doubles[:, ::1]
    )  # fmt: skip


def sums_signature(precision: str) -> Any:
    """u, kinds, weights, partial."""
    return types.void(getattr(types, precision)[::1], types.uint8[::1], types.float64[::1], types.float64[::1])


@cache
def ptx_of_sweep(movement: str, name: str, precision: str, capability: tuple[int, int]) -> str:
    from heatsim_kernels.runtime.cuda.api import cuda

    module = import_module(f"heatsim_kernels.stencil.ladder.{movement}")
    chosen, tile = structure(name, precision), module.TILES[0]
    signature = sweep_signature(precision, chosen.class_dtype)
    return str(cuda.compile_ptx(module.build((chosen, tile)), signature, cc=capability)[0])


@cache
def ptx_of(build: Callable[..., Any], variant: Any, signature: Any, capability: tuple[int, int]) -> str:
    from heatsim_kernels.runtime.cuda.api import cuda

    return str(cuda.compile_ptx(build(variant), signature, cc=capability)[0])


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
    wanted = {"float32": tuple(STRUCTURES), "float64": ("uniform", LARGEST, "kinds with heat a cell, periodic")}
    found = [(movement, name, each) for movement in ONE_STEP_KERNELS for each in precisions for name in wanted[each]]
    return [pytest.param(*each, marks=pytest.mark.xdist_group(" ".join(each))) for each in found]


@pytest.mark.parametrize(("movement", "name", "precision"), kernels())
def test_a_sweep_compiles_without_spills_and_a_block_fits(movement: str, name: str, precision: str) -> None:
    require_no_spills(movement, name, precision, (9, 0))


@pytest.mark.parametrize("capability", [(8, 0), (10, 0)], ids="sm_{0[0]}{0[1]}".format)
@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("movement", ONE_STEP_KERNELS)
def test_the_largest_sweep_compiles_without_spills_for_other_gpus(
    movement: str, precision: str, capability: tuple[int, int]
) -> None:
    require_no_spills(movement, LARGEST, precision, capability)


def require_no_spills(movement: str, name: str, precision: str, capability: tuple[int, int]) -> None:
    ptx = ptx_of_sweep(movement, name, precision, capability)
    assert f".target sm_{capability[0]}{capability[1]}" in ptx
    assert not re.search(r"^\s*call\b", ptx, re.MULTILINE)  # all is inlined
    assert spilled_bytes(ptx, capability) == 0
    threads = prod(import_module(f"heatsim_kernels.stencil.ladder.{movement}").TILES[0].block)
    assert threads <= 1024
    assert registers(ptx, capability) * threads <= REGISTERS


@pytest.mark.parametrize(("movement", "name", "precision"), kernels(("float32",)))
def test_a_float32_sweep_computes_nothing_in_float64(movement: str, name: str, precision: str) -> None:
    ptx = ptx_of_sweep(movement, name, precision, (9, 0))
    assert ".f32" in ptx
    assert ".f64" not in ptx


@pytest.mark.parametrize(("movement", "name", "precision"), kernels())
def test_every_multiply_add_of_a_sweep_is_one_that_was_written_out(movement: str, name: str, precision: str) -> None:
    """Nothing flushed, approximated or left for the assembler to fuse or not: the grounds for equal bits."""
    ptx = ptx_of_sweep(movement, name, precision, (9, 0))
    real = "f32" if precision == "float32" else "f64"
    variant = structure(name, precision)
    renewed, beside_walls = PLACES.get(movement, ONE_PATH)
    walls = sum(places for places, wraps in zip(beside_walls, variant.periodic, strict=True) if not wraps)
    written = renewed * ((3 if variant.uniform else 6) + variant.heat_table + variant.heat_field) + walls
    found = len(re.findall(rf"fma\.rn\.{real}\b", ptx))
    # What paths share may be computed before they part, and what follows them may be copied into each.
    assert written / 2 <= found <= 3 * written
    assert not re.findall(rf"(?:mul|mad|div|rcp)\S*\.{real}\b|\.ftz|\.approx", ptx)


@pytest.mark.parametrize("capability", CAPABILITIES, ids="sm_{0[0]}{0[1]}".format)
@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", ["uniform", LARGEST])
def test_the_ledger_kernels_compile_without_spills(name: str, precision: str, capability: tuple[int, int]) -> None:
    from heatsim_kernels.stencil.cuda import boundary_flux

    chosen = structure(name, precision)
    walls = ptx_of(boundary_flux.build, chosen, flows_signature(precision, chosen.class_dtype), capability)
    taps = ptx_of(boundary_flux.build_ambient_flux, None, taps_signature(precision), capability)
    assert spilled_bytes(walls, capability) == spilled_bytes(taps, capability) == 0


@pytest.mark.parametrize("capability", CAPABILITIES, ids="sm_{0[0]}{0[1]}".format)
@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("several", [False, True])
def test_the_kernel_of_sums_compiles_without_spills(several: bool, precision: str, capability: tuple[int, int]) -> None:
    from heatsim_kernels.field.cuda import field_sums

    ptx = ptx_of(field_sums.build, several, sums_signature(precision), capability)
    assert spilled_bytes(ptx, capability) == 0


@pytest.mark.parametrize("capability", CAPABILITIES, ids="sm_{0[0]}{0[1]}".format)
@pytest.mark.parametrize("precision", PRECISIONS)
def test_the_kernel_of_sums_of_planes_compiles_without_spills(precision: str, capability: tuple[int, int]) -> None:
    from heatsim_kernels.field.cuda import field_sums

    signature = types.void(getattr(types, precision)[::1], *(types.uint64,) * 3, types.float64[::1])
    assert spilled_bytes(ptx_of(field_sums.build_of_planes, None, signature, capability), capability) == 0


def test_no_code_is_copied_before_it_is_inlined(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numba's deep copies, two of each function for each place it goes to, took half of the time to compile."""
    from heatsim_kernels.runtime.cuda.api import cuda, inlined
    from numba.cuda.core import ir

    def refuse(self: Any, memo: Any) -> None:
        raise AssertionError("copied")

    @inlined
    def twice(number):  # type: ignore[no-untyped-def]
        return number + number

    @inlined
    def fourfold(number):  # type: ignore[no-untyped-def]
        return twice(twice(number))

    def kernel(values):  # type: ignore[no-untyped-def]
        values[0] = fourfold(values[0]) if values[1] > 0 else twice(values[2])

    monkeypatch.setattr(ir.Var, "__deepcopy__", refuse)
    assert "st.global" in cuda.compile_ptx(kernel, types.void(types.float32[::1]), cc=(9, 0))[0]
