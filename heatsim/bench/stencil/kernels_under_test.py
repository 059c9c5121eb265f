"""The kernels of a device: what is verified and timed."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from heatsim_kernels.stencil import CUDA_SWEEPS, SWEEPS, StageStepper
from heatsim_kernels.stencil.terms import StencilCoefficients

from heatsim.bench.request import RequestError

Builder = Callable[[StencilCoefficients, np.dtype], StageStepper]


class KernelUnderTest(NamedTuple):
    """A way to sweep, under the name that tables show."""

    name: str
    build: Builder


def all_kernel_names() -> list[str]:
    """Kernels of every device."""
    return list(SWEEPS)


def kernel_names(device: str) -> list[str]:
    """Kernels of a device, in reading order."""
    return [name for name in SWEEPS if (name in CUDA_SWEEPS) == (device == "cuda")]


def select_kernels(kernels: tuple[str, ...]) -> list[KernelUnderTest]:
    """What stands for these kernels in the tables."""
    return [each for kernel in kernels for each in _entries_of(kernel)]


def find_kernel(name: str) -> KernelUnderTest:
    """The contender of a name that tables show."""
    for each in select_kernels(tuple(SWEEPS)):
        if each.name == name:
            return each
    raise RequestError(f"{name}: no such contender")


def reference() -> KernelUnderTest:
    """The CPU, one step a sweep: all others must give its bits."""
    return KernelUnderTest("cpu (single)", _single_sweep)


def _entries_of(kernel: str) -> list[KernelUnderTest]:
    if kernel == "cpu":
        return [reference(), KernelUnderTest("cpu (temporal)", SWEEPS["cpu"])]
    return [KernelUnderTest(kernel, SWEEPS[kernel])]


def _single_sweep(terms: StencilCoefficients, dtype: np.dtype) -> StageStepper:
    from heatsim_kernels.stencil.cpu.stepper import CpuStepper

    return CpuStepper(terms, dtype, fused=1)
