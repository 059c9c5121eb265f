"""Run small problems on the CUDA simulator: `NUMBA_ENABLE_CUDASIM=1 python simulate_basic.py RESULT.npz`.

A process of its own, because the simulator is chosen once, when Numba is imported. It compiles nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np
from heatsim_kernels.stencil import CUDA_SWEEPS, SWEEPS
from kernel_cases import FLOATS, KINDS, Case, Kind, outcome, random_case

STEPS = 2
PLACES = (
    ((3, 3, 9), (False, False, False), False),
    ((2, 3, 5), (True, False, True), True),
    ((1, 4, 3), (False, True, False), True),
    ((1, 1, 10), (False, False, False), False),
)


def cases() -> Iterator[tuple[str, type, Case]]:
    """Every kind of problem, in places taken in turn so that every pair of dtype and kind sees walls and periods."""
    for number, (name, kind) in enumerate(KINDS.items()):
        for turn, dtype in enumerate(FLOATS):
            shape, periodic, per_cell = PLACES[(number + 2 * turn) % len(PLACES)]
            case = random_case(shape, kind, periodic=periodic, per_cell=per_cell, rows=2, seed=number)
            yield f"{name}, {np.dtype(dtype).name}", dtype, case
    yield "one material as a table of pairs", np.float64, random_case((2, 3, 5), Kind(pairs=True))


def main(target: str) -> None:
    results = {}
    for movement in CUDA_SWEEPS:
        for name, dtype, case in cases():
            sweep = SWEEPS[movement](case.terms, np.dtype(dtype))
            for part, values in outcome(sweep, case, STEPS)._asdict().items():
                results[f"{movement}: {name}: {part}"] = values
            results[f"{movement}: {name}: is_finite"] = np.array(sweep.is_finite())
    np.savez(target, **results)


if __name__ == "__main__":
    main(sys.argv[1])
