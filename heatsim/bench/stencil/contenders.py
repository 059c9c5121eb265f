"""The kernels of a device: what is verified and timed."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from heatsim_kernels.stencil import CUDA_SWEEPS, SWEEPS, Sweep
from heatsim_kernels.stencil.terms import Terms

from heatsim.bench.errors import RequestError

Builder = Callable[[Terms, np.dtype], Sweep]


class Contender(NamedTuple):
    """A way to sweep, under the name that tables show."""

    name: str
    build: Builder


def all_names() -> list[str]:
    """Kernels of every device."""
    return list(SWEEPS)


def names(device: str) -> list[str]:
    """Kernels of a device, in reading order."""
    return [name for name in SWEEPS if (name in CUDA_SWEEPS) == (device == "cuda")]


def contenders(kernels: tuple[str, ...]) -> list[Contender]:
    """What stands for these kernels in the tables."""
    return [each for kernel in kernels for each in _of(kernel)]


def contender(name: str) -> Contender:
    """The contender of a name that tables show."""
    for each in contenders(tuple(SWEEPS)):
        if each.name == name:
            return each
    raise RequestError(f"{name}: no such contender")


def reference() -> Contender:
    """The CPU, one step a sweep: all others must give its bits."""
    return Contender("cpu (single)", _single)


def _of(kernel: str) -> list[Contender]:
    if kernel == "cpu":
        return [reference(), Contender("cpu (temporal)", SWEEPS["cpu"])]
    return [Contender(kernel, SWEEPS[kernel])]


def _single(terms: Terms, dtype: np.dtype) -> Sweep:
    from heatsim_kernels.stencil.cpu import CpuSweep

    return CpuSweep(terms, dtype, fused=1)
