"""The CUDA kernels of filter banks compile without a GPU; and what they compile to."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from importlib.util import find_spec

import pytest
from heatsim_kernels.field.filter_bank import BANK_KERNELS
from heatsim_kernels.field.filter_bank.geometry import Pool, geometry
from helpers.in_turn import in_turn
from helpers.ptx import compile_to_ptx
from numba import config, types

pytestmark = [
    pytest.mark.skipif(find_spec("numba_cuda") is None, reason="numba-cuda is not installed"),
    pytest.mark.skipif(bool(config.ENABLE_CUDASIM), reason="the CUDA simulator compiles nothing"),
]
ON_CUDA = [name for name, devices in BANK_KERNELS.items() if "cuda" in devices]
REGISTERS, SHARED = 65536, 48 * 1024
# Filters, mask, stride, pool, precision, compute capability.
VARIANTS = {
    "16 filters of 5 x 5": (16, 5, 1, None, "float32", (9, 0)),
    "64 filters of 3 x 3 at stride 2, pooled": (64, 3, 2, (3, 2), "float64", (8, 0)),
}
# Kernels that keep one sum a thread have registers to spare.
TRIED = [
    (k, name) for k in ON_CUDA for number, name in enumerate(VARIANTS) if number == 0 or k not in ("direct", "shared")
]


@cache
def compiled(kernel: str, name: str) -> tuple[str, str, tuple[int, int]]:
    """PTX, the assembler's report and the launch bounds of a kernel."""
    pytest.importorskip("cuda.bindings.nvjitlink", reason="nvjitlink (cuda-bindings) is not installed")
    from heatsim_kernels.device.cuda.compilation import _assembled
    from heatsim_kernels.field.filter_bank.cuda.block import BankConfiguration, Sizes

    filters, mask, stride, pool, precision, capability = VARIANTS[name]
    shape = geometry((1, 4, 64, 64), (filters, 4, mask, mask), stride, 1, pool)
    structure, module = (
        BankConfiguration.of(shape, precision, relu=True),
        import_module(f"heatsim_kernels.field.filter_bank.{'cuda' if kernel == 'register' else 'ladder'}.{kernel}"),
    )
    block = module.block(structure)
    assert block.fits(structure)
    bounds = block.bounds(structure)
    reals = getattr(types, precision)[::1]
    signature = types.void(reals, reals, reals, reals, types.NamedUniTuple(types.uint32, len(Sizes._fields), Sizes))
    ptx = compile_to_ptx(module.build(structure), signature, capability, bounds)
    return ptx, _assembled(ptx, capability)[1], bounds


@in_turn(("kernel", "name"), TRIED)
def test_a_bank_kernel_compiles_without_spills_and_its_blocks_fit(kernel: str, name: str) -> None:
    ptx, report, (threads, blocks) = compiled(kernel, name)
    spilled = [int(size) for size in re.findall(r"(\d+) bytes (?:stack frame|spill stores|spill loads)", report)]
    assert len(spilled) >= 3
    assert sum(spilled) == 0
    assert not re.search(r"^\s*call\b", ptx, re.MULTILINE)
    (registers,) = map(int, re.findall(r"Used (\d+) registers", report))
    assert registers * threads * blocks <= REGISTERS
    assert sum(map(int, re.findall(r"(\d+) bytes smem", report))) <= SHARED


@in_turn(("kernel", "name"), TRIED)
def test_a_bank_kernel_computes_in_its_own_precision_with_fused_steps_alone(kernel: str, name: str) -> None:
    """Nothing flushed, approximated or left for the assembler to fuse or not: the grounds for equal bits."""
    ptx = compiled(kernel, name)[0]
    real, other = ("f32", "f64") if VARIANTS[name][4] == "float32" else ("f64", "f32")
    assert f"fma.rn.{real}" in ptx
    assert f".{other}" not in ptx
    assert not re.findall(rf"(?:add|mul|mad|div|rcp)\S*\.{real}\b|\.ftz|\.approx", ptx)


def test_relu_and_max_pooling_compile_and_stay_in_float32() -> None:
    from heatsim_kernels.field.filter_bank.cuda import bank

    reals, count = types.float32[::1], types.uint32
    extents = types.NamedTuple((count, count, count, count, types.uint64), bank.Extents)
    for built, signature in (
        (bank.build_relu("float32"), types.void(reals, reals)),
        (bank.build_max_pool(Pool((3, 2), (2, 2))), types.void(reals, reals, extents)),
    ):
        ptx = compile_to_ptx(built, signature)
        assert ".f32" in ptx
        assert ".f64" not in ptx
