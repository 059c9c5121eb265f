"""Every CUDA convolution kernel compiles, without a GPU, for capabilities 8.0 and 9.0; and what it compiles to."""

from __future__ import annotations

import re
from functools import cache
from importlib.util import find_spec
from math import prod
from typing import Any

import numpy as np
import pytest
from heatsim_kernels.field.convolution import EDGES, LINE_KERNELS, PLANE_KERNELS
from helpers.in_turn import in_turn
from helpers.ptx import compile_to_ptx
from numba import config, types

pytestmark = [
    pytest.mark.skipif(find_spec("numba_cuda") is None, reason="numba-cuda is not installed"),
    pytest.mark.skipif(bool(config.ENABLE_CUDASIM), reason="the CUDA simulator compiles nothing"),
]
MODULES = [
    *(f"line_{name}" for name in LINE_KERNELS if name not in ("cpu", "register")),
    *(f"plane_{name}" for name in PLANE_KERNELS if name not in ("cpu", "register")),
    "register",
]
REGISTERS = 65536  # of a multiprocessor


def movement(module: str) -> Any:
    """The kernel of a name such as line_tiled, or register."""
    from heatsim_kernels.field.convolution.cuda import mask_pass

    family, _, name = module.partition("_")
    return mask_pass.kernel_of(name or family, lines=family == "line")


def variant(module: str, dtype: str, edge: str, height: int, width: int) -> Any:
    from heatsim_kernels.field.convolution.cuda.field_access import ConvolutionVariant

    line = module.startswith("line")
    weights = np.arange(1, (1 if line else height) * width + 1) / 7 if movement(module).mask == "compiled in" else ()
    return ConvolutionVariant(
        dtype, EDGES.index(edge), 1 if line else height, width, tuple(weights), down=line and height > 1
    )


def signature(module: str, made: Any) -> Any:
    from heatsim_kernels.field.convolution.cuda.field_access import ConvolutionGeometry

    real = getattr(types, made.dtype)
    geometry = types.NamedUniTuple(types.uint32, len(ConvolutionGeometry._fields), ConvolutionGeometry)
    mask = {"argument": (real[::1],), "compiled in": (), "arguments": (types.UniTuple(real, made.height * made.width),)}
    return types.void(real[::1], real[::1], geometry, *mask[movement(module).mask])


@cache
def compiled(module: str, made: Any, capability: tuple[int, int]) -> tuple[str, str]:
    """PTX, and what the assembler reports of it."""
    from heatsim_kernels.device.cuda.compilation import _assembled

    pytest.importorskip("cuda.bindings.nvjitlink", reason="nvjitlink (cuda-bindings) is not installed")
    kernel, bounds = movement(module).build(made), (prod(movement(module).block(made)), 1)
    ptx = compile_to_ptx(kernel, signature(module, made), capability, bounds)
    return ptx, _assembled(ptx, capability)[1]


CASES = [("float32", "reflect", 5, 5, (9, 0)), ("float64", "zero", 3, 7, (8, 0))]


@in_turn(("dtype", "edge", "height", "width", "capability"), CASES, ids=str)
@in_turn("module", MODULES)
def test_a_convolution_kernel_compiles_without_spills_and_a_block_fits(
    module: str, dtype: str, edge: str, height: int, width: int, capability: tuple[int, int]
) -> None:
    made = variant(module, dtype, edge, height, width)
    ptx, report = compiled(module, made, capability)
    assert f".target sm_{capability[0]}{capability[1]}" in ptx
    assert not re.search(r"^\s*call\b", ptx, re.MULTILINE)  # all is inlined
    spilled = re.findall(r"(\d+) bytes (?:stack frame|spill stores|spill loads)", report)
    assert len(spilled) >= 3
    assert sum(map(int, spilled)) == 0, report
    threads = prod(movement(module).block(made))
    (used,) = re.findall(r"Used (\d+) registers", report)
    assert threads <= 1024
    assert int(used) * threads <= REGISTERS
    if dtype == "float32":
        assert ".f64" not in ptx
    real = "f32" if dtype == "float32" else "f64"
    assert not re.findall(rf"(?:mul|mad|div|rcp)\S*\.{real}\b|\.ftz|\.approx", ptx)  # each product is within an fma


@in_turn(
    ("dtype", "edge", "height", "width"),
    [("float32", "reflect", 29, 1), ("float32", "wrap", 21, 21), ("float64", "zero", 9, 27)],
)
def test_the_largest_masks_that_registers_are_said_to_hold_are_held(
    dtype: str, edge: str, height: int, width: int
) -> None:
    from heatsim_kernels.field.convolution.cuda import register

    assert register.fits(np.ones((height, width), dtype))
    assert not register.fits(np.ones((height + 2, width + 2), dtype))
    _, report = compiled("register", variant("register", dtype, edge, height, width), (9, 0))
    assert "0 bytes spill stores, 0 bytes spill loads" in report


@pytest.mark.parametrize(("dtype", "width"), [("float32", 4), ("float64", 2)])
def test_the_register_kernel_moves_sixteen_bytes_at_a_time(dtype: str, width: int) -> None:
    ptx, _ = compiled("register", variant("register", dtype, "reflect", 5, 5), (9, 0))
    real = "f32" if dtype == "float32" else "f64"
    assert re.search(rf"ld\.global\S*\.v{width}\.{real}", ptx)
    assert re.search(rf"st\.global\.v{width}\.{real}", ptx)


@in_turn("module", [name for name in MODULES if not name.endswith(("basic", "register"))])
def test_a_mask_said_to_be_in_constant_memory_is_read_from_there(module: str) -> None:
    ptx, _ = compiled(module, variant(module, "float32", "reflect", 5, 5), (9, 0))
    assert re.search(r"\.const \.align 4 \.\w+ heatsim_mask\[", ptx)
    assert "ld.const.f32" in ptx or re.search(r"ld\.const\S*\.f32", ptx)
