"""The kernels of a device, which are verified and timed: how each is built, compiled ahead, and judged.

All kernels must give the bits of the CPU's single sweep, and that must give what NumPy computes, to rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from heatsim_kernels.stencil import CUDA_STEPPERS, STEPPERS, StageStepper
from heatsim_kernels.stencil.coefficients import FACES, Forcing, StencilCoefficients

from heatsim.bench import agreement
from heatsim.bench.stencil.problems import STEP, Reference, StencilCase
from heatsim.errors import RequestError
from heatsim.tables import Tell

ROUNDINGS = 64  # rounding units of the largest value that seven steps may cost
LEDGER_TOLERANCE = 1e-9  # of the heat that all faces pass: sums of the same numbers, in another order

Builder = Callable[[StencilCoefficients, np.dtype], StageStepper]


class KernelUnderTest(NamedTuple):
    """A way to sweep, under the name that tables show."""

    name: str
    build: Builder


def all_kernel_names() -> list[str]:
    """Kernels of every device."""
    return list(STEPPERS)


def kernel_names(device: str) -> list[str]:
    """Kernels of a device, in reading order."""
    return [name for name in STEPPERS if (name in CUDA_STEPPERS) == (device == "cuda")]


def select_kernels(kernels: tuple[str, ...]) -> list[KernelUnderTest]:
    """What stands for these kernels in the tables."""
    return [each for kernel in kernels for each in _entries_of(kernel)]


def find_kernel(name: str) -> KernelUnderTest:
    """The contender of a name that tables show."""
    for each in select_kernels(tuple(STEPPERS)):
        if each.name == name:
            return each
    raise RequestError(f"{name}: no such contender")


def reference() -> KernelUnderTest:
    """The CPU, one step a sweep: all others must give its bits."""
    return KernelUnderTest("cpu (single)", _single_sweep)


def _entries_of(kernel: str) -> list[KernelUnderTest]:
    if kernel == "cpu":
        return [reference(), KernelUnderTest("cpu (temporal)", STEPPERS["cpu"])]
    return [KernelUnderTest(kernel, STEPPERS[kernel])]


def _single_sweep(coefficients: StencilCoefficients, dtype: np.dtype) -> StageStepper:
    from heatsim_kernels.stencil.cpu.stepper import CpuStepper

    return CpuStepper(coefficients, dtype, fused=1)


# Compiling ahead: other processes import this module for it, so it must import nothing that draws.


def compile_kernel(contender: str, precision: str, coefficients: StencilCoefficients, forcing: Forcing) -> None:
    """Compile a kernel for a problem, by a batch of no steps."""
    sweep: Any = find_kernel(contender).build(coefficients, np.dtype(precision))
    sweep.advance(STEP, 0, forcing)


# Agreement of the kernels.


class StencilVerdict(NamedTuple):
    """Whether a kernel agrees: `flaw` says in words where it does not, and is empty where all is well."""

    kernel: str
    precision: str
    cases: int
    flaw: str


class StencilResult(NamedTuple):
    """What a sweep made of a case."""

    field: np.ndarray
    heat_entered: np.ndarray


def verify_kernels(
    chosen: list[KernelUnderTest], precisions: tuple[str, ...], cases: list[StencilCase], tell: Tell
) -> list[StencilVerdict]:
    """Put each kernel to every case in every precision; a kernel is done with at its first flaw."""
    exact = [_exact(case) for case in cases]
    return [each for precision in precisions for each in _verdicts(chosen, precision, cases, exact, tell)]


def _verdicts(
    chosen: list[KernelUnderTest], precision: str, cases: list[StencilCase], exact: list[StencilResult], tell: Tell
) -> Iterator[StencilVerdict]:
    tell(f"verifying in {precision}: the CPU's single sweep against NumPy")
    dtype, references, doubt = np.dtype(precision), [], ""
    for case, expected in zip(cases, exact, strict=True):
        references.append(_result(reference(), case, dtype))
        flaw = _distance(references[-1], expected)
        doubt = doubt or (f"the reference itself differs from NumPy on {case.name}: {flaw}" if flaw else "")
    for contender in chosen:
        tell(f"verifying in {precision}: {contender.name}")
        yield StencilVerdict(
            contender.name, precision, len(cases), doubt or _first_flaw(contender, dtype, cases, references)
        )


def _first_flaw(
    contender: KernelUnderTest, dtype: np.dtype, cases: list[StencilCase], references: list[StencilResult]
) -> str:
    def judge(pair: tuple[StencilCase, StencilResult]) -> str:
        return _difference(_result(contender, pair[0], dtype), pair[1])

    pairs = zip(cases, references, strict=True)
    return agreement.first_flaw(pairs, judge, lambda pair: f"{pair[0].name}, {pair[0].steps} steps")


def _result(contender: KernelUnderTest, case: StencilCase, dtype: np.dtype) -> StencilResult:
    sweep = contender.build(case.coefficients, dtype)
    sweep.field.put(case.field)
    sweep.advance(STEP, case.steps, case.forcing)
    return StencilResult(np.array(sweep.field.host()), sweep.heat_entered())


def _exact(case: StencilCase) -> StencilResult:
    reference = Reference(case.coefficients, case.field)
    reference.advance(STEP, case.steps, case.forcing)
    return StencilResult(reference.field, reference.heat_entered)


def _distance(found: StencilResult, exact: StencilResult) -> str:
    """What is wrong with a field against one computed in float64, or nothing."""
    allowed = ROUNDINGS * np.finfo(found.field.dtype).eps
    error = float(np.abs(found.field - exact.field).max())
    if not error <= allowed * np.abs(exact.field).max():
        return f"the field is off by {error:.1e}"
    lost = float(np.abs(found.heat_entered - exact.heat_entered).max())
    if not lost <= allowed * np.abs(exact.field).sum():
        return f"the heat through a face is off by {lost:.1e} J"
    return ""


def _difference(found: StencilResult, expected: StencilResult) -> str:
    """What is wrong with a field that should have the same bits, or nothing."""
    if (found.field.shape, found.field.dtype) != (expected.field.shape, expected.field.dtype):
        return f"the field is {found.field.dtype} {found.field.shape}"
    wrong = agreement.where_bits_differ(found.field, expected.field)
    if len(wrong):
        z, y, x = (int(i) for i in wrong[0])
        values = f"{found.field[z, y, x]!r}, not {expected.field[z, y, x]!r}"
        return f"{len(wrong)} of {found.field.size} cells differ, the first at x, y, z = {x}, {y}, {z}: {values}"
    allowed = LEDGER_TOLERANCE * (np.abs(expected.heat_entered).sum() + np.abs(expected.field).sum())
    off = np.abs(found.heat_entered - expected.heat_entered)
    if not off.max() <= allowed:
        return f"the heat through {FACES[int(off.argmax())]} is off by {off.max():.1e} J"
    return ""
