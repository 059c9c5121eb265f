"""The kernels of a device, which are verified and timed: how each is built and judged.

All kernels must give the bits of the CPU's single sweep, and that must give what NumPy computes, to rounding.
Other processes import this module to verify: it imports nothing that draws.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from heatsim_kernels.explicit import CUDA_STEPPERS, STEPPERS, StageStepper
from heatsim_kernels.explicit.coefficients import FACES, StencilCoefficients

from heatsim.base.tables import Tell
from heatsim.studies.bench.harness import Verdict, answers, first_flaw
from heatsim.studies.bench.stencil.problems import STEP, StencilCase, reference_steps

ROUNDINGS = 64  # rounding units of the largest value that seven steps may cost
LEDGER_TOLERANCE = 1e-9  # of the heat that all faces pass: sums of the same numbers, in another order

Builder = Callable[[StencilCoefficients, np.dtype], StageStepper]
Result = tuple[np.ndarray, np.ndarray]  # a field, and the heat that has entered through each face
SINGLE = "cpu (single)"  # the CPU, one step a sweep: all others must give its bits


def kernel_names(device: str) -> list[str]:
    """Kernels of a device, in reading order."""
    return [name for name in STEPPERS if (name in CUDA_STEPPERS) == (device == "cuda")]


def shown_names(kernels: Sequence[str]) -> list[str]:
    """The names that tables show for these kernels: the CPU's is also shown with a step a sweep."""
    return [each for name in kernels for each in ((SINGLE, "cpu (temporal)") if name == "cpu" else (name,))]


def builder(name: str) -> Builder:
    """What builds the kernel of a name that tables show."""
    return single_sweep if name == SINGLE else STEPPERS[name.partition(" ")[0]]


def single_sweep(coefficients: StencilCoefficients, dtype: np.dtype) -> StageStepper:
    """The CPU's kernel, which takes a step a sweep."""
    from heatsim_kernels.explicit.cpu.stepper import CpuStepper

    return CpuStepper(coefficients, dtype, fused=1)


def verify_kernels(
    device: str, names: Sequence[str], precisions: tuple[str, ...], cases: list[StencilCase], tell: Tell
) -> list[Verdict]:
    """Put each kernel to every case in every precision; a kernel is done with at its first flaw."""
    exact = [reference_steps(case, STEP) for case in cases]
    jobs = []
    for precision in precisions:
        tell(f"verifying in {precision}: {', '.join(names)}")
        expected, wrong = [], ""
        for case, right in zip(cases, exact, strict=True):
            expected.append(_result(single_sweep, case, precision))
            flaw = _distance(expected[-1], right)
            wrong = wrong or (f"the reference itself differs from NumPy on {case.name}: {flaw}" if flaw else "")
        pairs = list(zip(cases, expected, strict=True))
        jobs += [partial(_verdict, name, precision, pairs, wrong) for name in names]
    return answers(device, jobs)


def _verdict(name: str, precision: str, pairs: list[tuple[StencilCase, Result]], wrong: str) -> Verdict:
    """What is said of a kernel, or of the results that were expected, if these are wrong."""

    def judge(pair: tuple[StencilCase, Result]) -> str:
        return _difference(_result(builder(name), pair[0], precision), pair[1])

    flaw = wrong or first_flaw(pairs, judge, lambda pair: f"{pair[0].name}, {pair[0].steps} steps")
    return Verdict(name, precision, len(pairs), flaw)


def _result(build: Builder, case: StencilCase, precision: str) -> Result:
    stepper = build(case.coefficients, np.dtype(precision))
    stepper.field.put(case.field)
    stepper.advance(STEP, case.steps, case.forcing)
    return np.array(stepper.field.host()), stepper.heat_entered()


def _distance(found: Result, exact: Result) -> str:
    """What is wrong with a field against one computed in float64, or nothing."""
    allowed = ROUNDINGS * np.finfo(found[0].dtype).eps
    error = float(np.abs(found[0] - exact[0]).max())
    if not error <= allowed * np.abs(exact[0]).max():
        return f"the field is off by {error:.1e}"
    lost = float(np.abs(found[1] - exact[1]).max())
    if not lost <= allowed * np.abs(exact[0]).sum():
        return f"the heat through a face is off by {lost:.1e} J"
    return ""


def _difference(found: Result, expected: Result) -> str:
    """What is wrong with a field that should have the same bits, or nothing."""
    (field, entered), (right, right_entered) = found, expected
    flaw = difference_in_bits(field, right)
    off = np.abs(entered - right_entered)
    if not flaw and not off.max() <= LEDGER_TOLERANCE * (np.abs(right_entered).sum() + np.abs(right).sum()):
        return f"the heat through {FACES[int(off.argmax())]} is off by {off.max():.1e} J"
    return flaw


def difference_in_bits(found: np.ndarray, right: np.ndarray) -> str:
    """What is wrong with an array that should have the same bits as another, or nothing; indices are z, y, x."""
    if (found.shape, found.dtype) != (right.shape, right.dtype):
        return f"the result is {found.dtype} {found.shape}, not {right.dtype} {right.shape}"
    bits = f"u{found.itemsize}"
    wrong = np.argwhere(np.ascontiguousarray(found).view(bits) != np.ascontiguousarray(right).view(bits))
    if not len(wrong):
        return ""
    where = tuple(int(i) for i in wrong[0])
    return f"{len(wrong)} of {found.size} values differ, the first at {where}: {found[where]!s}, not {right[where]!s}"
