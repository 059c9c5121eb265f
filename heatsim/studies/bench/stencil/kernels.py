"""The kernels of a device, which are verified and timed: how each is built, compiled ahead, and judged.

All kernels must give the bits of the CPU's single sweep, and that must give what NumPy computes, to rounding.
Other processes import this module to compile: it imports nothing that draws.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from heatsim_kernels.explicit import CUDA_STEPPERS, STEPPERS, StageStepper
from heatsim_kernels.explicit.coefficients import FACES, Forcing, StencilCoefficients

from heatsim.base.tables import Tell
from heatsim.studies.bench.harness import Verdict, first_flaw
from heatsim.studies.bench.stencil.problems import STEP, StencilCase, reference_steps

ROUNDINGS = 64  # rounding units of the largest value that seven steps may cost
LEDGER_TOLERANCE = 1e-9  # of the heat that all faces pass: sums of the same numbers, in another order

Builder = Callable[[StencilCoefficients, np.dtype], StageStepper]
Result = tuple[np.ndarray, np.ndarray]  # a field, and the heat that has entered through each face


class KernelUnderTest(NamedTuple):
    """A way to sweep, under the name that tables show."""

    name: str
    build: Builder


def kernel_names(device: str) -> list[str]:
    """Kernels of a device, in reading order."""
    return [name for name in STEPPERS if (name in CUDA_STEPPERS) == (device == "cuda")]


def select_kernels(kernels: Sequence[str]) -> list[KernelUnderTest]:
    """What stands for these kernels in the tables: the CPU's is also shown with a step a sweep."""
    return [
        each
        for name in kernels
        for each in (
            [reference(), KernelUnderTest("cpu (temporal)", STEPPERS[name])]
            if name == "cpu"
            else [KernelUnderTest(name, STEPPERS[name])]
        )
    ]


def find_kernel(name: str) -> KernelUnderTest:
    """The kernel of a name that tables show."""
    return next(each for each in select_kernels(tuple(STEPPERS)) if each.name == name)


def reference() -> KernelUnderTest:
    """The CPU, one step a sweep: all others must give its bits."""
    return KernelUnderTest("cpu (single)", _single_sweep)


def _single_sweep(coefficients: StencilCoefficients, dtype: np.dtype) -> StageStepper:
    from heatsim_kernels.explicit.cpu.stepper import CpuStepper

    return CpuStepper(coefficients, dtype, fused=1)


def compile_kernel(name: str, precision: str, coefficients: StencilCoefficients, forcing: Forcing) -> None:
    """Compile a kernel for a problem, by a batch of no steps."""
    stepper: Any = find_kernel(name).build(coefficients, np.dtype(precision))
    stepper.advance(STEP, 0, forcing)


def verify_kernels(
    under_test: list[KernelUnderTest], precisions: tuple[str, ...], cases: list[StencilCase], tell: Tell
) -> list[Verdict]:
    """Put each kernel to every case in every precision; a kernel is done with at its first flaw."""
    exact = [reference_steps(case, STEP) for case in cases]
    return [each for precision in precisions for each in _verdicts(under_test, precision, cases, exact, tell)]


def _verdicts(
    under_test: list[KernelUnderTest], precision: str, cases: list[StencilCase], exact: list[Result], tell: Tell
) -> Iterator[Verdict]:
    tell(f"verifying in {precision}: the CPU's single sweep against NumPy")
    dtype, references, wrong = np.dtype(precision), [], ""
    for case, expected in zip(cases, exact, strict=True):
        references.append(_result(reference(), case, dtype))
        flaw = _distance(references[-1], expected)
        wrong = wrong or (f"the reference itself differs from NumPy on {case.name}: {flaw}" if flaw else "")
    pairs = list(zip(cases, references, strict=True))
    for kernel in under_test:
        tell(f"verifying in {precision}: {kernel.name}")

        def judge(pair: tuple[StencilCase, Result], kernel: KernelUnderTest = kernel) -> str:
            return _difference(_result(kernel, pair[0], dtype), pair[1])

        flaw = wrong or first_flaw(pairs, judge, lambda pair: f"{pair[0].name}, {pair[0].steps} steps")
        yield Verdict(kernel.name, precision, len(cases), flaw)


def _result(kernel: KernelUnderTest, case: StencilCase, dtype: np.dtype) -> Result:
    stepper = kernel.build(case.coefficients, dtype)
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


def where_bits_differ(found: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Indices (n, axes) of the values that differ in a bit, of two arrays of one shape and type."""
    bits = f"u{found.itemsize}"
    return np.argwhere(np.ascontiguousarray(found).view(bits) != np.ascontiguousarray(expected).view(bits))


def _difference(found: Result, expected: Result) -> str:
    """What is wrong with a field that should have the same bits, or nothing."""
    (field, entered), (right, right_entered) = found, expected
    if (field.shape, field.dtype) != (right.shape, right.dtype):
        return f"the field is {field.dtype} {field.shape}"
    wrong = where_bits_differ(field, right)
    if len(wrong):
        z, y, x = (int(i) for i in wrong[0])
        values = f"{field[z, y, x]!r}, not {right[z, y, x]!r}"
        return f"{len(wrong)} of {field.size} cells differ, the first at x, y, z = {x}, {y}, {z}: {values}"
    off = np.abs(entered - right_entered)
    if not off.max() <= LEDGER_TOLERANCE * (np.abs(right_entered).sum() + np.abs(right).sum()):
        return f"the heat through {FACES[int(off.argmax())]} is off by {off.max():.1e} J"
    return ""
