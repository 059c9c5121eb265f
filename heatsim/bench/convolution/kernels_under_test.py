"""heatsim's kernels: which a device has for a family, what they make of a problem, and how the CPU's run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from heatsim_kernels import convolution, filter_bank

from heatsim.bench.convolution.problems import BANKS, LINES, PLANES, POOL, RELU, SEPARABLE, ConvolutionProblem
from heatsim.bench.interleaved_timing import Work


def kernel_names(device: str, family: str) -> tuple[str, ...]:
    """The kernels of a device for a family, in reading order."""
    if family == BANKS:
        return tuple(name for name, devices in filter_bank.BANK_KERNELS.items() if device in devices)
    if family in (RELU, POOL):
        return (family,)
    known = convolution.PLANE_KERNELS if family == PLANES else convolution.LINE_KERNELS
    return tuple(name for name in known if (name == "cpu") == (device == "cpu"))


def solve(kernel: str, device: str, problem: ConvolutionProblem, field: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """What a kernel makes of a problem, by the functions that all of heatsim uses."""
    return np.asarray(_call(kernel, device, problem, field, weights)())


def prepare_on_cpu(kernel: str, problem: ConvolutionProblem, field: np.ndarray, weights: np.ndarray) -> Work:
    """What runs a CPU kernel again and again, each time into the same array if the kernel has a say in that."""
    from heatsim_kernels.convolution.planes import aligned

    kept = aligned(field.shape, field.dtype)
    kept[...] = field
    out = {"out": aligned(field.shape, field.dtype)} if problem.family in (PLANES, LINES, SEPARABLE) else {}
    call = _call(kernel, "cpu", problem, kept, weights, **out)

    def work(repetitions: int) -> None:
        for _ in range(repetitions):
            call()

    return work


def _call(
    kernel: str, device: str, problem: ConvolutionProblem, field: np.ndarray, weights: np.ndarray, **out: Any
) -> Callable[[], Any]:
    """The call of a public function that solves a problem."""
    family = problem.family
    how: dict[str, Any] = {"kernel": kernel, "device": device}
    if family == RELU:
        return lambda: filter_bank.relu(field, device=device)
    if family == POOL:
        return lambda: filter_bank.max_pool(field, (problem.mask[0], problem.mask[1]), device=device)
    if family == BANKS:
        return lambda: filter_bank.filter_bank(field, weights, stride=problem.stride, padding=problem.padding, **how)
    how |= {"edge": problem.edge, **out}
    if family == PLANES:
        return lambda: convolution.convolve_planes(field, weights, **how)
    if family == LINES:
        return lambda: convolution.convolve_lines(field, weights, problem.axis, **how)
    masks = [None] * (field.ndim - 2) + [weights, weights]
    return lambda: convolution.separable(field, masks, **how)


def accepts(kernel: str, device: str, problem: ConvolutionProblem) -> bool:
    """Whether a kernel takes the mask of a problem: on a GPU, registers and shared memory hold so much alone."""
    if device == "cpu" or problem.family in (RELU, POOL):
        return True
    dtype = np.dtype(problem.precision)
    if problem.family == BANKS:
        from heatsim_kernels.filter_bank.cuda import bank
        from heatsim_kernels.filter_bank.geometry import geometry

        filters = (problem.filters, problem.shape[1], *problem.mask)
        return bool(bank.fits(geometry(problem.shape, filters, 1, problem.padding, None), dtype, kernel))
    if kernel != "register":
        return True
    from heatsim_kernels.convolution.cuda import register

    down, along = (problem.mask[0], 1), (1, problem.mask[0])
    one = along if problem.axis % len(problem.shape) == len(problem.shape) - 1 else down
    masks: dict[str, list[tuple[int, ...]]] = {PLANES: [problem.mask], LINES: [one], SEPARABLE: [down, along]}
    return all(register.fits(np.zeros(mask, dtype)) for mask in masks[problem.family])
