"""heatsim's kernels: which a device has for a family, what they make of a problem, and whether they agree.

Every kernel must give the bits of the CPU's, and those must be what NumPy computes in float64, to rounding.
"""

from __future__ import annotations

from collections.abc import Callable
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
    timed,
)
from heatsim.studies.bench.harness import Verdict, first_flaw
from heatsim.studies.bench.stencil.kernels import where_bits_differ
from heatsim.studies.bench.timing import Work

ROUNDINGS = 2.0  # of the magnitudes, times the square root of the number of products
OWN_ORDER = ("cpu", "im2col")  # a BLAS sums in an order of its own: right to rounding, not to the bit
COMPILE_SIDE = 64  # cells a side of fields that stand for those timed: a kernel compiles alike for every size


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
    from heatsim_kernels.field.convolution.planes import aligned

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


# Agreement of the kernels.


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


def verify_kernels(
    device: str, families: tuple[str, ...], precisions: tuple[str, ...], kernels: tuple[str, ...], tell: Tell
) -> list[Verdict]:
    """Put each kernel to every case of each of its families; a kernel is done with at its first flaw."""
    found = []
    for precision in precisions:
        for family in families:
            wanted = [name for name in kernel_names(device, family) if name in kernels]
            tell(f"verifying {family} in {precision}: {', '.join(wanted)}")
            prepared = [_case(problem) for problem in cases(family, precision)] if wanted else []
            for name in wanted:
                fit = [case for case in prepared if accepts(name, device, case.problem)]
                wrong = first_flaw(fit, partial(_flaw, name, device), lambda case: case.in_words)
                found.append(Verdict(name, precision, len(fit), wrong, family))
    return found


def _case(problem: ConvolutionProblem) -> PreparedCase:
    field, weights = data(problem)
    field -= field.dtype.type(0.5)  # negative values too, for ReLU
    twin = solve("auto", "cpu", problem, field, weights)
    return PreparedCase(
        problem, field, weights, twin, flaw(problem, twin, expected_result(problem, field, weights), ROUNDINGS)
    )


def _flaw(kernel: str, device: str, case: PreparedCase) -> str:
    if case.doubt:
        return f"the CPU's own result is wrong: {case.doubt}"
    found = solve(kernel, device, case.problem, case.field, case.weights)
    if case.problem.family == BANKS and (device, kernel) == OWN_ORDER:
        return flaw(case.problem, found, expected_result(case.problem, case.field, case.weights), ROUNDINGS)
    return _difference(found, case.twin)


def _difference(found: np.ndarray, twin: np.ndarray) -> str:
    """What is wrong with a result that should have the same bits, or nothing."""
    if (found.shape, found.dtype) != (twin.shape, twin.dtype):
        return f"the result is {found.dtype} {found.shape}, not {twin.dtype} {twin.shape}"
    wrong = where_bits_differ(found, twin)
    if not len(wrong):
        return ""
    where = tuple(int(i) for i in wrong[0])
    values = f"{found[where]!s}, not {twin[where]!s}"
    return f"{len(wrong)} of {found.size} values differ from the CPU's, the first at {where}: {values}"


# Compiling ahead: more than a hundred variants, some for each mask. One process compiles those of one kernel.


def compile_kernel(kernel: str, family: str, precisions: tuple[str, ...], masks: tuple[tuple[int, int], ...]) -> int:
    """Compile one kernel, by one field of each variant; returns how many there were."""
    from heatsim.studies.bench.convolution import cuda_launches

    count = 0
    for precision in precisions:
        # one for every variant of a kernel: by mask, edge, filters, and down or along the rows
        variants = {
            (p.mask, p.edge, p.axis % len(p.shape) == len(p.shape) - 1, p.filters, p.stride): p
            for p in cases(family, precision)
        }
        for problem in (each for each in variants.values() if accepts(kernel, "cuda", each)):
            solve(kernel, "cuda", problem, *data(problem))
            count += 1
        sizes = timed((family,), (COMPILE_SIDE, COMPILE_SIDE), precision, masks, "cuda")
        for problem in (each for each in sizes if accepts(kernel, "cuda", each)):
            field, weights = data(problem)
            cuda_launches.prepare_launches(kernel, problem, cuda_launches.put_on_gpu(problem, field), weights)
            count += 1
    return count
