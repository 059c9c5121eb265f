"""The copy limit: how fast this device reads one array and writes another, with nothing to compute."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from heatsim.bench.measure import Subject, Work

COPY = "copy"  # subjects of this name or with this prefix are ways to copy


def is_copy(name: str) -> bool:
    """Whether a subject is a way to copy."""
    return name.startswith(COPY)


def subjects(device: str, count: int, dtype: np.dtype) -> list[Subject]:
    """The ways to copy `count` elements from array to array on a device; the fastest is the limit."""
    if device == "cpu":
        return [Subject("copy (streaming)", partial(_on_cpu, count, dtype))]
    from heatsim_kernels import cuda_copy

    ways = {"copy (kernel)": cuda_copy.by_kernel, "copy (memcpy)": cuda_copy.by_driver}
    return [Subject(name, partial(_on_cuda, way, count, dtype)) for name, way in ways.items()]


def _on_cpu(count: int, dtype: np.dtype) -> Work:
    from heatsim_kernels.cpu_copy import copy
    from heatsim_kernels.cpu_memory import padded

    source, target = padded(count, dtype), padded(count, dtype)
    source[:] = 1  # pages that were never written are all the same one
    return _repeated(partial(copy, source, target))


def _on_cuda(way: Callable[..., Callable[[], None]], count: int, dtype: np.dtype) -> Work:
    from heatsim_kernels.cuda_memory import empty

    return _repeated(way(empty(count, dtype), empty(count, dtype)))


def _repeated(copy: Callable[[], None]) -> Work:
    def work(repetitions: int) -> None:
        for _ in range(repetitions):
            copy()

    return work
