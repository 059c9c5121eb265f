"""heatsim's kernels: which a device has for a family, what they make of a problem, and whether they agree.

Every kernel must give the bits of the CPU's, and those must be what NumPy computes in float64, to rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from heatsim_kernels.field import convolution, filter_bank

from heatsim.base.tables import Tell
from heatsim.studies.bench.convolution.problems import (
    BANKS,
    LINES,
    PLANES,
    POOL,
    RELU,
    SEPARABLE,
    ConvolutionProblem,
    cases,
    data,
    expected_result,
    flaw,
)
from heatsim.studies.bench.harness import Verdict, answers, first_flaw
from heatsim.studies.bench.machine import Repeat, repeated
from heatsim.studies.bench.stencil.kernels import difference_in_bits

ROUNDINGS = 2.0  # of the magnitudes, times the square root of the number of products
OWN_ORDER = ("cpu", "im2col")  # a BLAS sums in an order of its own: right to rounding, not to the bit


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


def prepare_on_cpu(kernel: str, problem: ConvolutionProblem, field: np.ndarray, weights: np.ndarray) -> Repeat:
    """What runs a CPU kernel again and again, each time into the same array if the kernel has a say in that."""
    from heatsim_kernels.field.convolution.planes import aligned

    kept = aligned(field.shape, field.dtype)
    kept[...] = field
    out = {"out": aligned(field.shape, field.dtype)} if problem.family in (PLANES, LINES, SEPARABLE) else {}
    return repeated(_call(kernel, "cpu", problem, kept, weights, **out))


def _call(
    kernel: str, device: str, problem: ConvolutionProblem, field: np.ndarray, weights: np.ndarray, **out: Any
) -> Callable[[], Any]:
    """The call of a public function that solves a problem."""
    family = problem.family
    how: dict[str, Any] = {"kernel": kernel, "device": device}
    if family == RELU:
        return partial(filter_bank.relu, field, device=device)
    if family == POOL:
        return partial(filter_bank.max_pool, field, (problem.mask[0], problem.mask[1]), device=device)
    if family == BANKS:
        return partial(filter_bank.filter_bank, field, weights, stride=problem.stride, padding=problem.padding, **how)
    if family == PLANES:
        return partial(convolution.convolve_planes, field, weights, edge=problem.edge, **how, **out)
    if family == LINES:
        return partial(convolution.convolve_lines, field, weights, problem.axis, edge=problem.edge, **how, **out)
    masks = [None] * (field.ndim - 2) + [weights, weights]
    return partial(convolution.separable, field, masks, edge=problem.edge, **how, **out)


def accepts(kernel: str, device: str, problem: ConvolutionProblem) -> bool:
    """Whether a kernel takes the mask of a problem: on a GPU, registers and shared memory hold so much alone."""
    if device == "cpu" or problem.family in (RELU, POOL):
        return True
    dtype = np.dtype(problem.precision)
    if problem.family == BANKS:
        from heatsim_kernels.field.filter_bank.cuda import bank
        from heatsim_kernels.field.filter_bank.geometry import geometry

        filters = (problem.filters, problem.shape[1], *problem.mask)
        return bool(bank.fits(geometry(problem.shape, filters, 1, problem.padding, None), dtype, kernel))
    if kernel != "register":
        return True
    from heatsim_kernels.field.convolution.cuda import register

    down, along = (problem.mask[0], 1), (1, problem.mask[0])
    one = along if problem.axis % len(problem.shape) == len(problem.shape) - 1 else down
    masks: dict[str, list[tuple[int, ...]]] = {PLANES: [problem.mask], LINES: [one], SEPARABLE: [down, along]}
    return all(register.fits(np.zeros(mask, dtype)) for mask in masks[problem.family])


class PreparedCase(NamedTuple):
    """A problem, its data, and what the CPU's best kernel makes of it; `doubt` says what is wrong with that."""

    problem: ConvolutionProblem
    field: np.ndarray
    weights: np.ndarray
    twin: np.ndarray
    doubt: str

    @property
    def in_words(self) -> str:
        """The mask, the size and the edge."""
        mask, size = (" x ".join(map(str, numbers)) for numbers in (self.problem.mask, self.problem.shape))
        return f"mask {mask} on {size}, edge {self.problem.edge}"


def verify_kernels(device: str, wanted: dict[str, list[str]], precisions: tuple[str, ...], tell: Tell) -> list[Verdict]:
    """Put each kernel to every case of its family; a kernel is done with at its first flaw. wanted: kernels by
    family."""
    jobs = []
    for precision in precisions:
        for family, names in wanted.items():
            tell(f"verifying {family} in {precision}: {', '.join(names)}")
            prepared = [_case(problem) for problem in cases(family, precision)] if names else []
            jobs += [partial(_verdict, name, device, prepared) for name in names]
    return answers(device, jobs)


def _case(problem: ConvolutionProblem) -> PreparedCase:
    field, weights = data(problem)
    field -= field.dtype.type(0.5)  # negative values too, for ReLU
    twin = solve("auto", "cpu", problem, field, weights)
    doubt = flaw(problem, twin, expected_result(problem, field, weights), ROUNDINGS)
    return PreparedCase(problem, field, weights, twin, doubt)


def _verdict(kernel: str, device: str, prepared: Sequence[PreparedCase]) -> Verdict:
    fit = [case for case in prepared if accepts(kernel, device, case.problem)]
    wrong = first_flaw(fit, partial(_flaw, kernel, device), lambda case: case.in_words)
    return Verdict(kernel, prepared[0].problem.precision, len(fit), wrong, prepared[0].problem.family)


def _flaw(kernel: str, device: str, case: PreparedCase) -> str:
    if case.doubt:
        return f"the CPU's own result is wrong: {case.doubt}"
    found = solve(kernel, device, case.problem, case.field, case.weights)
    if case.problem.family == BANKS and (device, kernel) == OWN_ORDER:
        return flaw(case.problem, found, expected_result(case.problem, case.field, case.weights), ROUNDINGS)
    return difference_in_bits(found, case.twin)
