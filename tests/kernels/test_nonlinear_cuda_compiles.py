"""The CUDA kernels of materials that depend on temperature compile without a GPU; and what they compile to."""

from __future__ import annotations

import re
from functools import cache
from importlib.util import find_spec
from typing import Any

import pytest
from helpers.ptx import compile_to_ptx
from numba import config, types

pytestmark = [
    pytest.mark.skipif(find_spec("numba_cuda") is None, reason="numba-cuda is not installed"),
    pytest.mark.skipif(bool(config.ENABLE_CUDASIM), reason="the CUDA simulator compiles nothing"),
]
REGISTERS = 65536  # of a multiprocessor
KERNELS = [
    pytest.param("register", "float32", marks=pytest.mark.xdist_group("nonlinear register")),
    pytest.param("boundary_heat", "float32", marks=pytest.mark.xdist_group("nonlinear ledger")),
    pytest.param("interface_cells", "float32", marks=pytest.mark.xdist_group("nonlinear interface cells")),
    pytest.param("register", "float64", marks=[pytest.mark.long, pytest.mark.xdist_group("nonlinear register")]),
]


def arguments(precision: str) -> dict[str, Any]:
    """The types of a kernel's arguments, by name."""
    from heatsim_kernels.explicit.cuda_cell.cell_update import CudaSources, CudaStageSources
    from heatsim_kernels.explicit.enthalpy.cell import EnthalpyBox, EnthalpyMedium, KnownBoundary
    from heatsim_kernels.explicit.enthalpy.cuda.cell import EnthalpyShape

    real, word, count = getattr(types, precision), types.int64, types.uint32
    reals, counts, bytes_ = real[::1], count[::1], types.uint8[::1]
    tables = reals, *[word] * 7, counts, counts, reals, word, word, word, bytes_
    sources = reals, real, reals, real
    return {
        "u": reals,
        "shape": types.NamedUniTuple(count, 3, EnthalpyShape),
        "box": types.NamedUniTuple(word, 6, EnthalpyBox),
        "counts": counts,
        "medium": types.NamedTuple((*[real] * 4, *tables), EnthalpyMedium),
        "known": types.NamedTuple((bytes_, word[::1], reals), KnownBoundary),
        "sources": types.NamedTuple(sources, CudaSources),
        "stage": types.NamedTuple((*sources, reals, reals, reals, real, real, real, real), CudaStageSources),
        "share": types.float64,
        "words": word[::1],
        "bytes": bytes_,
        "sums": types.float64[::1],
        "partial": types.float64[:, ::1],
    }


@cache
def compiled(name: str, precision: str) -> tuple[str, str]:
    """PTX and the assembler's report."""
    from importlib import import_module

    from heatsim_kernels.device.cuda.compilation import _assembled
    from heatsim_kernels.explicit.enthalpy.cuda.cell import EnthalpyConfiguration

    name, _, how = name.partition(", ")
    module = import_module(f"heatsim_kernels.explicit.enthalpy.cuda.{name}")
    sweep = ("u", "u", "shape", "box", "u", "medium", "known", "stage" if how.endswith("stage") else "sources")
    book = ("u", "words", "bytes", "words", "words", "sums", "box", "medium", "known")
    ledger = (*book, "u", "u", "words", "share", "partial")
    joints = ("u", "u", "counts", "box", "medium", "sources")
    given = {"boundary_heat": ledger, "temperatures": ("u", "u", "medium"), "interface_cells": joints}.get(name, sweep)
    signature = types.void(*(arguments(precision)[each] for each in given))
    uniform, bounded = how == "uniform", (False, False, False)
    variant = EnthalpyConfiguration(
        precision,
        uniform,
        how == "in layers",
        not uniform,
        fours=True,
        periodic=bounded,
        heat_field=how == "by cell",
        stage={"two-term stage": "two", "stage": "four"}.get(how, ""),
        pieces=64 if how == "many pieces" else 4 if uniform else 16,
    )
    bounds = module.bounds(variant) if hasattr(module, "bounds") else None
    build = module.build_temperatures if name == "temperatures" else module.build
    ptx = compile_to_ptx(build(variant), signature, (9, 0), bounds)
    return ptx, _assembled(ptx, (9, 0))[1]


OTHERS = [
    pytest.param("register, uniform", "float32", marks=pytest.mark.xdist_group("nonlinear register")),
    pytest.param("register, in layers", "float32", marks=pytest.mark.xdist_group("nonlinear register")),
    pytest.param("register, by cell", "float32", marks=pytest.mark.xdist_group("nonlinear register")),
    pytest.param("register, many pieces", "float32", marks=pytest.mark.xdist_group("nonlinear register")),
    pytest.param("register, stage", "float32", marks=pytest.mark.xdist_group("nonlinear register")),
    ("temperatures", "float32"),  # which holds the kernel of temperatures
]


@pytest.mark.parametrize(("name", "precision"), [*KERNELS, *OTHERS])
def test_a_nonlinear_kernel_spills_nothing_and_a_block_fits(name: str, precision: str) -> None:
    ptx, report = compiled(name, precision)
    assert not re.search(r"^\s*call\b", ptx, re.MULTILINE)  # all is inlined
    used = re.findall(r"(\d+) bytes (?:stack frame|spill stores|spill loads)", report)
    assert used
    assert not sum(map(int, used))
    registers = int(re.findall(r"Used (\d+) registers", report)[0])
    assert registers * 256 <= REGISTERS
    if name in ("register", "register, uniform") and precision == "float32":
        assert registers <= 80  # 24 warps a multiprocessor
    assert not re.search(r"\b(?:min|max)\.f", ptx)  # the bounds of a look-up are integers


@pytest.mark.parametrize(("name", "precision"), KERNELS)
def test_a_nonlinear_kernel_rounds_as_the_cpu_does(name: str, precision: str) -> None:
    """IEEE quotients, no float64 among float32, and no product added but by a multiply-add that was written out: what
    the assembler could fuse, or not, would not give the bits of the CPU."""
    ptx, _ = compiled(name, precision)
    real = "f32" if precision == "float32" else "f64"
    assert (f"div.rn.{real}" in ptx) == (name != "register")
    assert not re.search(r"\.ftz|\.approx|div\.full", ptx)
    if precision == "float32" and name != "boundary_heat":
        assert ".f64" not in ptx
    products = set(re.findall(rf"mul(?:\.rn)?\.{real}\s+(%\w+)", ptx))
    sums = re.findall(rf"(?:add|sub)(?:\.rn)?\.{real}\s+%\w+, (%\w+), (%\w+)", ptx)
    assert bool(products) == (name != "register")
    assert sums
    assert not [pair for pair in sums if products & set(pair)]
