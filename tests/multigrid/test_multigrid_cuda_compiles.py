"""Every CUDA kernel of multigrid compiles without a GPU, and what it compiles to."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import pytest
from helpers.in_turn import in_turn
from helpers.ptx import compile_to_ptx
from numba import config, types

pytestmark = [
    pytest.mark.skipif(find_spec("numba_cuda") is None, reason="numba-cuda is not installed"),
    pytest.mark.skipif(bool(config.ENABLE_CUDASIM), reason="the CUDA simulator compiles nothing"),
]
COUNT, NUMBER, SINGLE, DOUBLE, BYTE = types.uint32, types.int64, types.float32, types.float64, types.uint8
SHAPE, BOX, SUMS = types.UniTuple(COUNT, 3), types.UniTuple(NUMBER, 3), DOUBLE[:, ::1]
THREADS = 256
IN_FLOAT64 = "build_galerkin"  # on both targets, see `multigrid.galerkin`
REGISTERS = 65536 // 2 // THREADS  # two blocks on a multiprocessor at least


class Built(NamedTuple):
    """A kernel as it is launched: its module, builder and variant, and the types of its arguments."""

    module: str
    builder: str
    variant: Any
    arguments: tuple[Any, ...]

    @property
    def build(self) -> Callable[[Any], Any]:
        found: Callable[[Any], Any] = getattr(import_module(f"heatsim_kernels.solver.{self.module}"), self.builder)
        return found


def sweeps() -> Iterator[Built]:
    f, d = SINGLE[::1], DOUBLE[::1]
    for mode in ("relaxed from zero", "relaxed", "b - A x"):
        class_ids = mode, "float32", "float32"
        yield Built("cuda.sweeps", "build_seven", class_ids, (SHAPE, COUNT, f, f, f, f, f, f, SINGLE, f))
        yield Built("cuda.sweeps", "build_all", class_ids, (SHAPE, COUNT, f, f, f, f, SINGLE, f))
    for name, g in (("float32", f), ("float64", d)):
        yield Built("cuda.sweeps", "build_seven", ("A x", name, "float64"), (SHAPE, COUNT, g, g, g, g, d, d, SINGLE, d))


def transfers() -> Iterator[Built]:
    f = SINGLE[::1]
    arguments = COUNT, COUNT, COUNT, f, f, f
    yield Built("cuda.sweeps", "build_restrict", None, arguments)
    for add in (True, False):
        yield Built("cuda.sweeps", "build_interpolate", add, arguments)
    for faces in (True, False):
        g = types.UniTuple(f, 3 if faces else 1)
        yield Built("cuda.sweeps", "build_sides", faces, (BOX, NUMBER, BOX, BOX, BOX, NUMBER, g, f))
        yield Built("cuda.sweeps", "build_galerkin", faces, (BOX, NUMBER, BOX, BOX, g, f, f))


def passes() -> Iterator[Built]:
    f, d, r = SINGLE[::1], DOUBLE[::1], DOUBLE
    both = "float64", "float64"
    yield Built("cuda.gradient_passes", "build_dot", both, (d, d, SUMS))
    yield Built("cuda.gradient_passes", "build_step", None, (r, r, d, d, d, d, f, SUMS))
    yield Built("cuda.gradient_passes", "build_dots", None, (f, d, d, SUMS))
    yield Built("cuda.gradient_passes", "build_direction", None, (f, r, r, d))
    yield Built("cuda.gradient_passes", "build_product", None, (d, f, f))
    for name, kind in (("float32", f), ("float64", d)):
        yield Built("cuda.gradient_passes", "build_range", (False, name, name), (kind, kind, SUMS))
        yield Built("cuda.values", "build_fill", name, (kind, kind.dtype))
    for source, target in (("float64", "float32"), ("float32", "float64"), both):
        arrays = tuple(f if name == "float32" else d for name in (source, target))
        yield Built("cuda.values", "build_copy", (source, target), arrays)
    for two in (True, False):
        yield Built("cuda.values", "build_linear", (two, *both), (r, d, r, d, d))
    yield Built("cuda.values", "build_product", both, (d, d, d))
    yield Built("cuda.gradient_passes", "build_range", (True, "float64", "uint8"), (d, BYTE[::1], SUMS))


def assembly() -> Iterator[Built]:
    f, d, b, i = SINGLE[::1], DOUBLE[::1], BYTE[::1], NUMBER[::1]
    for name, kind in (("float32", f), ("float64", d), ("uint8", b)):
        yield Built("cuda.operations", "build_spread", ("uint8", name), (kind, b, kind))
    yield Built("cuda.operations", "build_clear", "float32", (i, f))
    for several in (True, False):
        yield Built("cuda.operations", "build_weighted_sum", (several, "float64", "uint8"), (d, b, d, d))
    for name, kind in (("float32", f), ("float64", d)):
        yield Built("cuda.operations", "build_flow", (True, name, name), (NUMBER, i, d, i, d, d, kind, kind))
    yield Built("cuda.operations", "build_flow", (False, "float64", "float64"), (NUMBER, i, d, i, d, d, d, SUMS))


def networks() -> Iterator[Built]:
    f, d, b, i, r = SINGLE[::1], DOUBLE[::1], BYTE[::1], NUMBER[::1], DOUBLE
    cells, g = types.int32[::1], types.UniTuple(SINGLE[::1], 3)
    yield Built("cuda.gradient_passes", "build_accumulate", True, (f, SINGLE, f))
    yield Built("cuda.network", "build_connect", 2, (BOX, NUMBER, NUMBER, b, f, f))
    yield Built("cuda.network", "build_number", None, (cells,))
    yield Built("cuda.network", "build_join", 1, (BOX, f, cells))
    yield Built("cuda.network", "build_settle", None, (cells,))
    yield Built("cuda.network", "build_roots", None, (cells, b, b))
    yield Built("cuda.network", "build_pick", ("int32", "uint8"), (cells, b, b))
    yield Built("cuda.network", "build_pick", ("int64", "int32"), (i, cells, cells))
    yield Built("cuda.network", "build_place", "float32", (i, f, f))
    yield Built("cuda.network", "build_place", "uint8", (i, b, b))
    yield Built("cuda.network", "build_fill_others", "float32", (b, SINGLE, f))
    yield Built("cuda.network", "build_plant", None, (i, cells, cells))
    yield Built("cuda.network", "build_reach", None, (BOX, NUMBER, NUMBER, g, i, cells, cells, cells))
    yield Built("cuda.network", "build_ways", None, (BOX, g, cells, b))
    yield Built("cuda.network", "build_gather", None, (BOX, NUMBER, NUMBER, cells, b, d))
    yield Built("cuda.network", "build_carried", None, (BOX, NUMBER, r, g, b, d, d, SUMS))
    yield Built("cuda.network", "build_flows", 0, (BOX, r, f, d, SUMS))
    yield Built("cuda.network", "build_heat_of_drop", 2, (BOX, r, f, d))


ALL = {
    f"{each.builder} {each.variant}": each for each in (*sweeps(), *transfers(), *passes(), *assembly(), *networks())
}


@in_turn("name", ALL)
def test_a_multigrid_kernel_compiles_without_spills_or_calls_or_needless_float64(name: str) -> None:
    pytest.importorskip("cuda.bindings.nvjitlink", reason="nvjitlink (cuda-bindings) is not installed")
    from heatsim_kernels.device.cuda.compilation import _assembled

    built = ALL[name]
    ptx = compile_to_ptx(built.build(built.variant), types.void(*built.arguments))
    assert not re.search(r"^\s*call\b", ptx, re.MULTILINE)
    if built.builder != IN_FLOAT64 and not any("float64" in str(each) for each in built.arguments):
        assert ".f64" not in ptx
    report = _assembled(ptx, (9, 0))[1]
    used = re.findall(r"(\d+) bytes (?:stack frame|spill stores|spill loads)", report)
    assert len(used) >= 3
    assert set(used) == {"0"}
    assert int(re.findall(r"Used (\d+) registers", report)[0]) <= REGISTERS
