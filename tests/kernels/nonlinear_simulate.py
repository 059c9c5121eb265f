"""Run small problems on the CUDA simulator: `NUMBA_ENABLE_CUDASIM=1 python nonlinear_simulate.py RESULT.npz`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from heatsim_kernels.explicit.enthalpy import NONLINEAR_STEPPERS
from nonlinear_cases import (
    GRADED,
    PURE,
    STEEL,
    AffineCase,
    NonlinearCase,
    affine_case,
    affine_outcome,
    outcome,
    random_case,
    staged,
    steps_at_once,
)

STEPS = 2
# Rows of whole vectors and others; boundary faces that are open, closed and periodic.
PLACES: tuple[tuple[tuple[int, int, int], type, dict[str, Any]], ...] = (
    (
        (3, 4, 8),
        np.float32,
        {"several": False, "closed": (False, False, True, True, True, False), "follow": True, "by_cell": False},
    ),
    (
        (4, 3, 9),
        np.float64,
        {"periodic": (True, False, True), "closed": (True, True, True, True, True, True), "by_cell": False},
    ),
    ((3, 3, 26), np.float32, {"periodic": (False, True, False), "seed": 2}),
    (
        (3, 3, 28),
        np.float32,
        {"closed": (False, False, True, True, True, True), "follow": True, "by_cell": False, "seed": 3},
    ),
    ((5, 3, 12), np.float32, {"layers": True, "closed": (False, False, False, True, True, False), "by_cell": False}),
)
BY_BASIC = (0, 1, 4)  # numbers of the cases that it takes, too

# Movement, form, number of the case: one for whose stages the CPU's kernel is compiled elsewhere, too.
STAGED = (("register", "two", 1), ("register", "four", 1))


# Steps that are taken several at once: even and uneven faces, kinks with and without cubics, periodic axes.
AFFINE: tuple[tuple[tuple[int, int, int], type, dict[str, Any]], ...] = (
    ((8, 6, 9), np.float32, {}),
    ((4, 7, 8), np.float64, {"material": GRADED, "uneven": (True, False, True), "heated": False, "seed": 1}),
    ((7, 5, 8), np.float32, {"material": STEEL, "periodic": (False, True, True), "seed": 2}),
    ((6, 6, 9), np.float64, {"material": PURE, "periodic": (True, False, False), "uneven": (False, True, True)}),
)


def affine_cases() -> Iterator[tuple[str, type, AffineCase]]:
    for shape, dtype, options in AFFINE:
        yield f"affine {shape} {np.dtype(dtype).name}", dtype, affine_case(shape, **options)


def cases() -> Iterator[tuple[str, type, NonlinearCase]]:
    for shape, dtype, options in PLACES:
        yield f"{shape} {np.dtype(dtype).name}", dtype, random_case(shape, **options)


def main(target: str) -> None:
    parts = {
        f"{movement}: {name}: {part}": values
        for movement in ("basic", "register")
        for number, (name, dtype, case) in enumerate(cases())
        if movement == "register" or number in BY_BASIC
        for part, values in outcome(NONLINEAR_STEPPERS[movement](case.coefficients, np.dtype(dtype)), case, STEPS)
        ._asdict()
        .items()
    }
    for name, dtype, case in affine_cases():
        sweep = NONLINEAR_STEPPERS["temporal"](case.coefficients, np.dtype(dtype))
        parts |= {f"{name}: {part}": values for part, values in affine_outcome(sweep, case)._asdict().items()}
        parts[f"{name}: at once"] = np.array(steps_at_once(sweep, case.forcing))
    for number, (movement, form, place) in enumerate(STAGED):
        _, dtype, case = list(cases())[place]
        found = staged(NONLINEAR_STEPPERS[movement](case.coefficients, np.dtype(dtype)), case, form)
        parts |= {f"stages: {number}: {part}": values for part, values in found._asdict().items()}
    np.savez(target, **parts)


if __name__ == "__main__":
    main(sys.argv[1])
