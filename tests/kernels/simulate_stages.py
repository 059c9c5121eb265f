"""Stages on the CUDA simulator: `NUMBA_ENABLE_CUDASIM=1 python simulate_stages.py RESULT.npz`; see simulate_sweeps."""

from __future__ import annotations

import sys

import numpy as np
from heatsim_kernels.explicit import STEPPERS
from helpers.kernel_cases import FEATURES, Case, random_case
from stage_cases import staged

OPEN = (False, False, False)
# movement, problem, cells, periods, boundary faces a cell, dtype, form
CASES = (  # of few types, as each has a CPU kernel of its own compiled
    ("basic", "uniform", (1, 3, 4), OPEN, False, np.float32, "two"),
    ("basic", "ambients", (2, 2, 3), (False, True, False), False, np.float64, "four"),
    ("shared", "materials with heat a zone", (2, 2, 3), OPEN, False, np.float64, "four"),
    ("coarsened", "uniform", (3, 2, 3), (True, False, False), True, np.float32, "two"),
    ("register", "uniform", (2, 3, 8), OPEN, False, np.float32, "two"),
    ("register", "materials with heat a zone", (2, 3, 5), (False, False, True), True, np.float64, "four"),
)


def case_of(number: int) -> Case:
    _, name, shape, periodic, per_cell, _, _ = CASES[number]
    return random_case(shape, FEATURES[name], periodic=periodic, per_cell=per_cell, rows=8, seed=number)


def main(target: str) -> None:
    parts = {}
    for number, (movement, _, _, _, _, dtype, form) in enumerate(CASES):
        case = case_of(number)
        found = staged(STEPPERS[movement](case.coefficients, np.dtype(dtype)), case, form)
        parts |= {f"{number}: {part}": values for part, values in found._asdict().items()}
    np.savez(target, **parts)


if __name__ == "__main__":
    main(sys.argv[1])
