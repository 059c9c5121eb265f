"""Agreement: every kernel gives the bits of the CPU's, and those are what NumPy computes in float64, to rounding."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from heatsim.bench.convolution import kernels_under_test
from heatsim.bench.convolution.problems import BANKS, ConvolutionProblem, cases, data, expected_result, flaw
from heatsim.bench.interleaved_timing import Tell

ROUNDINGS = 2.0  # of the magnitudes, times the square root of the number of products
OWN_ORDER = ("cpu", "im2col")  # a BLAS sums in an order of its own: right to rounding, not to the bit


class ConvolutionVerdict(NamedTuple):
    """Whether a kernel agrees: `flaw` says in words where it does not, and is empty where all is well."""

    family: str
    kernel: str
    precision: str
    cases: int
    flaw: str


class PreparedCase(NamedTuple):
    """A problem, its data, and what the CPU's best kernel makes of it; `doubt` says what is wrong with that."""

    problem: ConvolutionProblem
    field: np.ndarray
    weights: np.ndarray
    twin: np.ndarray
    doubt: str


def verify_kernels(
    device: str, families: tuple[str, ...], precisions: tuple[str, ...], kernels: tuple[str, ...], tell: Tell
) -> list[ConvolutionVerdict]:
    """Put each kernel to every case of each of its families; a kernel is done with at its first flaw."""
    found = []
    for precision in precisions:
        for family in families:
            wanted = [name for name in kernels_under_test.kernel_names(device, family) if name in kernels]
            tell(f"verifying {family} in {precision}: {', '.join(wanted)}")
            prepared = [_case(problem) for problem in cases(family, precision)] if wanted else []
            for name in wanted:
                fit = [case for case in prepared if kernels_under_test.accepts(name, device, case.problem)]
                found.append(ConvolutionVerdict(family, name, precision, len(fit), _first_flaw(name, device, fit)))
    return found


def _case(problem: ConvolutionProblem) -> PreparedCase:
    field, weights = data(problem)
    field -= field.dtype.type(0.5)  # negative values too, for ReLU
    twin = kernels_under_test.solve("auto", "cpu", problem, field, weights)
    return PreparedCase(
        problem, field, weights, twin, flaw(problem, twin, expected_result(problem, field, weights), ROUNDINGS)
    )


def _first_flaw(kernel: str, device: str, prepared: list[PreparedCase]) -> str:
    for case in prepared:
        try:
            found = _flaw(kernel, device, case)
        except Exception as error:  # whatever a kernel dies of, the others are still to be measured
            found = f"{type(error).__name__}: {error}"
        if found:
            problem = case.problem
            size = " x ".join(map(str, problem.shape))
            return f"mask {' x '.join(map(str, problem.mask))} on {size}, edge {problem.edge}: {found}"
    return ""


def _flaw(kernel: str, device: str, case: PreparedCase) -> str:
    if case.doubt:
        return f"the CPU's own result is wrong: {case.doubt}"
    found = kernels_under_test.solve(kernel, device, case.problem, case.field, case.weights)
    if case.problem.family == BANKS and (device, kernel) == OWN_ORDER:
        return flaw(case.problem, found, expected_result(case.problem, case.field, case.weights), ROUNDINGS)
    return _difference(found, case.twin)


def _difference(found: np.ndarray, twin: np.ndarray) -> str:
    """What is wrong with a result that should have the same bits, or nothing."""
    if (found.shape, found.dtype) != (twin.shape, twin.dtype):
        return f"the result is {found.dtype} {found.shape}, not {twin.dtype} {twin.shape}"
    bits = f"u{found.itemsize}"
    wrong = np.argwhere(np.ascontiguousarray(found).view(bits) != np.ascontiguousarray(twin).view(bits))
    if not len(wrong):
        return ""
    where = tuple(int(i) for i in wrong[0])
    values = f"{found[where]!s}, not {twin[where]!s}"
    return f"{len(wrong)} of {found.size} values differ from the CPU's, the first at {where}: {values}"
