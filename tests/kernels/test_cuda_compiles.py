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
from heatsim_kernels.explicit import ONE_STEP_KERNELS
from heatsim_kernels.explicit.cuda_cell.configuration import StencilConfiguration
from helpers.pairwise import Row, missing_pairs, pairwise, singles
from helpers.ptx import compile_to_ptx
from numba import config, types

pytestmark = [
    pytest.mark.skipif(find_spec("numba_cuda") is None, reason="numba-cuda is not installed"),
    pytest.mark.skipif(bool(config.ENABLE_CUDASIM), reason="the CUDA simulator compiles nothing"),
]
CAPABILITIES = ((8, 0), (9, 0), (10, 0))
REGISTERS = 65536  # of a multiprocessor
PRECISIONS = ("float32", "float64")
UNIFORM, BY_FACE, BY_CLASS = (True, ""), (False, ""), tuple((False, f"uint{bits}") for bits in (8, 16, 32))
SOURCES_BY_CLASS = (True, "uint16")
ALONG_Z, NOWHERE, EVERYWHERE = (False, False, True), (False, False, False), (True, True, True)
# Every term with and without, every kernel, and every pair of these.
FACTORS = {
    "movement": ONE_STEP_KERNELS,
    "rates": (UNIFORM, BY_FACE, *BY_CLASS, SOURCES_BY_CLASS),
    "capability": ((9, 0), (8, 0), (10, 0)),
    "periodic": (NOWHERE, ALONG_Z, EVERYWHERE),
    "stage": ("", "two", "four"),
    "precision": PRECISIONS,
    "heat_table": (False, True),
    "heat_field": (False, True),
    "boundary_per_cell": (False, True),
    "losses": (False, True),
}
LARGEST = {"rates": BY_CLASS[1], "periodic": NOWHERE, "stage": "", **dict.fromkeys(list(FACTORS)[-4:], True)}
# The kernels that take most registers, on the GPUs that have fewest or other instructions.
LARGEST_OF_EACH = [
    {**LARGEST, "movement": movement, "precision": PRECISIONS[number % 2], "capability": ((8, 0), (10, 0))[number // 2]}
    for number, movement in enumerate(("register", "basic", "coarsened", "shared"))
]
ROWS = [*pairwise(FACTORS), *LARGEST_OF_EACH]
SHORT = singles(ROWS, FACTORS)
# Places in a kernel where a cell is renewed, and for x, y, z those where a ghost can lie beyond it. `basic` has a path
# for cells at an end of an axis and one for all others. `register` has one for cells at any end, one for those at no
# end of y and z, one for those at none at all, each for a vector of cells (four in float32) and for one; of a vector
# the first and the last cell alone can be at a boundary face at x.
PLACES = {"basic": (2, (2, 2, 2)), "register": (15, (8, 5, 5))}
ONE_PATH = (1, (2, 2, 2))


def configuration(row: Row) -> StencilConfiguration:
    """The terms of a row that the kernel is compiled for."""
    names = ("heat_table", "heat_field", "boundary_per_cell", "periodic", "stage")
    return StencilConfiguration(row["precision"], *row["rates"], *(row[name] for name in names), losses=row["losses"])


def sweep_signature(precision: str, class_dtype: str = "") -> Any:
    """u, v, shape, boundary faces, medium, heat."""
    from heatsim_kernels.explicit.cuda_cell.cell_update import CudaBoundaryFaces, CudaExchange, CudaSources, GridShape

    real, count = getattr(types, precision), types.uint32
    reals, indices = real[::1], types.int64[::1]
    shape = types.NamedUniTuple(count, 3, GridShape)
    boundary = types.NamedTuple((reals, reals, indices), CudaBoundaryFaces)
    medium = types.NamedTuple((real, real, real, reals, integers(class_dtype)), CudaExchange)
    heat = types.NamedTuple((reals, real, reals, real), CudaSources)
    return types.void(reals, reals, shape, boundary, medium, heat)


def stage_signature(precision: str, class_dtype: str) -> Any:
    """u, v, shape, boundary faces, medium, heat with what stages are made of."""
    from heatsim_kernels.explicit.cuda_cell.cell_update import CudaStageSources

    *others, heat = sweep_signature(precision, class_dtype).args
    real = getattr(types, precision)
    return types.void(*others, types.NamedTuple((*heat.types, *(real[::1],) * 3, *(real,) * 4), CudaStageSources))


def integers(class_dtype: str) -> Any:
    return getattr(types, class_dtype or "uint8")[::1]


def flows_signature(precision: str, class_dtype: str) -> Any:
    """u, trace, places, steps, k, nz, ny, nx, faces, a, b, rows, offsets, kinds, count, weights, shares, end_blocks,
    kept, carried, held, lost, partial."""
    from heatsim_kernels.explicit.cuda_cell.boundary_flux import MAX_STEPS
    from heatsim_kernels.explicit.cuda_cell.held_heat import CarriedShares

    real, count, number = getattr(types, precision), types.uint32, types.int32
    return types.void(
        real[::1], real[::1], types.int64[::1], number, number, count, count, count, number[::1],
        real[:, ::1], real[:, ::1], number, types.int64[::1], integers(class_dtype), count,
        types.float64[::1], types.UniTuple(types.float64, MAX_STEPS), count, types.float64,
        types.NamedUniTuple(types.float64, 3, CarriedShares), types.float64[::1], *(types.float64[:, ::1],) * 2,
    )  # fmt: skip


def ambient_signature(precision: str) -> Any:
    """u, cells, beyond, places, firsts, weights, share, row, partial."""
    indices, doubles = types.int64[::1], types.float64
    return types.void(
        getattr(types, precision)[::1], *(indices,) * 4, doubles[::1], doubles, types.int32, doubles[:, ::1]
    )  # fmt: skip


def sums_signature(precision: str) -> Any:
    """u, kinds, weights, plane, blocks, partial."""
    cells = getattr(types, precision)[::1], types.uint8[::1], types.float64[::1]
    return types.void(*cells, types.uint64, types.uint64, types.float64[::1])


def ptx_of_sweep(row: Row) -> str:
    module = import_module(f"heatsim_kernels.explicit.ladder.{row['movement']}")
    chosen = configuration(row)
    signature = (stage_signature if row["stage"] else sweep_signature)(row["precision"], chosen.class_dtype)
    return ptx_of(module.build, (chosen, module.TILES[0]), signature, row["capability"])


@cache
def ptx_of(build: Callable[..., Any], variant: Any, signature: Any, capability: tuple[int, int]) -> str:
    return compile_to_ptx(build(variant), signature, capability)


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


def name_of(row: Row) -> str:
    """A row in words, for the id of a test."""
    uniform, class_dtype = row["rates"]
    coefficients = [name for name in ("heat_table", "heat_field", "boundary_per_cell") if row[name]]
    periodic = "".join(axis for axis, wraps in zip("xyz", row["periodic"], strict=True) if wraps)
    words = [row["movement"], row["precision"], "uniform" if uniform else class_dtype or "by face", *coefficients]
    words += [f"periodic {periodic}" * bool(periodic), f"stage of {row['stage']}" * bool(row["stage"])]
    return " ".join(filter(None, [*words, "sm_{}{}".format(*row["capability"])]))


def test_the_kernels_that_are_compiled_hold_every_pair_of_terms() -> None:
    assert missing_pairs(ROWS, FACTORS) == []
    assert len(ROWS) < 32


def marks_of(number: int) -> list[pytest.MarkDecorator]:
    """Rows that add pairs alone take long: each value is in the others."""
    short = number in SHORT or ROWS[number] in LARGEST_OF_EACH[::3]  # `register` and `shared`, the largest of all
    group = pytest.mark.xdist_group(f"CUDA {ROWS[number]['movement']}")
    return [group] if short else [group, pytest.mark.long]


@pytest.mark.parametrize(
    "row", [pytest.param(row, marks=marks_of(number)) for number, row in enumerate(ROWS)], ids=name_of
)
def test_a_sweep_compiles_to_what_was_written_out_without_spills(row: Row) -> None:
    ptx = ptx_of_sweep(row)
    check_registers(ptx, row)
    check_arithmetic(ptx, row)


def check_registers(ptx: str, row: Row) -> None:
    """All is inlined, in registers, and a block fits a multiprocessor."""
    capability = row["capability"]
    assert ".target sm_{}{}".format(*capability) in ptx
    assert not re.search(r"^\s*call\b", ptx, re.MULTILINE)
    assert spilled_bytes(ptx, capability) == 0
    threads = prod(import_module(f"heatsim_kernels.explicit.ladder.{row['movement']}").TILES[0].block)
    assert threads <= 1024
    assert registers(ptx, capability) * threads <= REGISTERS
    assert not row["stage"] or registers(ptx, capability) <= 128


def check_arithmetic(ptx: str, row: Row) -> None:
    """Nothing flushed, approximated or left for the assembler to fuse or not, and no float64 among float32: the grounds
    for equal bits."""
    real = "f32" if row["precision"] == "float32" else "f64"
    assert f".{real}" in ptx
    assert real == "f64" or ".f64" not in ptx
    assert not re.findall(rf"(?:mul|mad|div|rcp)\S*\.{real}\b|\.ftz|\.approx", ptx)
    if row["stage"]:  # which combine fields by further multiply-adds
        return
    variant = configuration(row)
    renewed, beside_boundary = PLACES.get(row["movement"], ONE_PATH)
    boundary = sum(places for places, wraps in zip(beside_boundary, variant.periodic, strict=True) if not wraps)
    terms = (3 if variant.uniform else 6) + variant.heat_table + variant.heat_field + variant.losses
    written = renewed * terms + boundary
    found = len(re.findall(rf"fma\.rn\.{real}\b", ptx))
    # What paths share may be computed before they part, and what follows them may be copied into each.
    assert written / 2 <= found <= 3 * written


SMALL_KERNELS = pairwise({"whole": (False, True), "precision": PRECISIONS, "capability": CAPABILITIES[:2]})
small_kernels = pytest.mark.parametrize(
    ("whole", "precision", "capability"), [tuple(row.values()) for row in SMALL_KERNELS]
)


@small_kernels
def test_the_ledger_kernels_compile_without_spills(whole: bool, precision: str, capability: tuple[int, int]) -> None:
    from heatsim_kernels.explicit.cuda_cell import boundary_flux

    fewest = {**LARGEST, "rates": UNIFORM, **dict.fromkeys(list(FACTORS)[-3:], False), "losses": True}
    coefficients = LARGEST if whole else fewest
    chosen = configuration({**coefficients, "precision": precision})
    boundary = ptx_of(boundary_flux.build, chosen, flows_signature(precision, chosen.class_dtype), capability)
    ambient_faces = ptx_of(boundary_flux.build_ambient_flux, None, ambient_signature(precision), capability)
    assert spilled_bytes(boundary, capability) == spilled_bytes(ambient_faces, capability) == 0


@small_kernels
def test_the_kernel_of_sums_compiles_without_spills(whole: bool, precision: str, capability: tuple[int, int]) -> None:
    from heatsim_kernels.field.cuda import field_sums

    ptx = ptx_of(field_sums.build_by_plane, whole, sums_signature(precision), capability)
    assert spilled_bytes(ptx, capability) == 0


@pytest.mark.parametrize(("precision", "capability"), [("float32", (8, 0)), ("float64", (9, 0))])
def test_the_kernel_of_sums_of_planes_compiles_without_spills(precision: str, capability: tuple[int, int]) -> None:
    from heatsim_kernels.field.cuda import field_sums

    signature = types.void(getattr(types, precision)[::1], *(types.uint64,) * 3, types.float64[::1])
    assert spilled_bytes(ptx_of(field_sums.build_of_planes, None, signature, capability), capability) == 0


@pytest.mark.parametrize("precision", PRECISIONS)
def test_the_kernel_of_the_defect_compiles_without_spills(precision: str) -> None:
    from heatsim_kernels.explicit.cuda import trapezoidal_defect

    fields = (getattr(types, precision)[::1],) * 4
    signature = types.void(*fields, types.float64, types.float64[:, ::1])
    assert spilled_bytes(ptx_of(trapezoidal_defect.build, None, signature, (9, 0)), (9, 0)) == 0


def test_no_code_is_copied_before_it_is_inlined(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numba's deep copies, two of each function for each place it goes to, took half of the time to compile."""
    from heatsim_kernels.device.cuda.api import cuda, inlined
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
