"""Run small problems on the CUDA simulator: `NUMBA_ENABLE_CUDASIM=1 python simulate_sweeps.py RESULT.npz`.

A process of its own, because the simulator is chosen once, when Numba is imported. It compiles nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from heatsim_kernels.explicit import CUDA_STEPPERS, STEPPERS
from helpers.arrays import FLOATS
from helpers.kernel_cases import FEATURES, STEP, Case, Features, outcome, random_case

STEPS = 3  # `temporal` fuses two of them on the simulator
PLACES = (
    ((3, 3, 9), (False, False, False), False),
    ((2, 3, 5), (True, False, True), True),
    ((1, 4, 3), (False, True, False), True),
    ((1, 1, 10), (False, False, False), False),
)


AROUND = ((2, 3, 5), (False, True, False), False)
# Rows of whole vectors and others, with cells whose neighbours in y and z are all in the grid: the paths of `register`.
MARCHES = (
    ((3, 5, 12), (False, False, False), True),
    ((3, 5, 8), (True, True, True), False),
    ((3, 5, 9), (False, True, False), True),
)


COUNTED = ("uniform", "materials", "ambients")  # kinds of problems whose heat is counted: a kernel of many threads


def cases(movement: str) -> Iterator[tuple[str, type, Case]]:
    """Kinds of problems in precisions and places taken in turn: all with `basic`, whose cell all movements share, and
    every other one with each of the rest, so that two of them take each kind or one does.

    Movements other than `basic` share its ledger, and count no heat; `basic` does for four problems.
    """
    first, every = (0, 1) if movement == "basic" else (CUDA_STEPPERS.index(movement) % 2, 2)
    chosen = list(enumerate(FEATURES.items()))[first::every]
    for number, (name, features) in chosen if movement != "temporal" else ():
        dtype, case = FLOATS[number % 2], case_at(PLACES[(3 * number) % len(PLACES)], features, number)
        yield (
            f"{name}, {np.dtype(dtype).name}",
            dtype,
            case if movement == "basic" and name in COUNTED else without_ledger(case),
        )
    if movement == "basic":
        yield "ambients, periodic", np.float64, case_at(AROUND, FEATURES["ambients"], 6)
    if movement == "temporal":  # large enough for its tile; what it cannot fuse; too small
        yield "fused, then one", np.float32, random_case((4, 7, 12), FEATURES["uniform"], rows=3)
        yield (
            "a heat a zone, periodic",
            np.float64,
            random_case((3, 6, 10), Features(table=True), periodic=(True, False, False)),
        )
        heated = FEATURES["materials with heat a zone"]
        yield "materials, fused, then one", np.float64, random_case((4, 7, 12), heated, rows=3, seed=1)
        yield "materials in a grid smaller than a tile", np.float32, case_at(PLACES[0], FEATURES["materials"], 3)
        yield "a grid smaller than a tile", np.float32, case_at(PLACES[3], FEATURES["uniform"], 4)
    if movement == "register":
        for number, place in enumerate(MARCHES):
            features = FEATURES["materials with heat a cell"]
            yield f"{place[0][2]} cells a row", np.float32, without_ledger(case_at(place, features, number))


def case_at(place: tuple[tuple[int, int, int], tuple[bool, bool, bool], bool], features: Features, seed: int) -> Case:
    shape, periodic, per_cell = place
    return random_case(shape, features, periodic=periodic, per_cell=per_cell, rows=2, seed=seed)


def without_ledger(case: Case) -> Case:
    return case._replace(coefficients=replace(case.coefficients, closed=(True,) * 6))


def results(movement: str, dtype: type, case: Case) -> dict[str, np.ndarray]:
    """What a movement makes of a case; the field alone where others are read by the same kernels."""
    sweep = STEPPERS[movement](case.coefficients, np.dtype(dtype))
    if movement in ("basic", "temporal"):
        return {**outcome(sweep, case, STEPS)._asdict(), "is_finite": np.array(sweep.field.is_finite())}
    sweep.field.put(case.start)
    sweep.advance(STEP, STEPS, case.forcing)
    return {"field": np.array(sweep.field.host())}


def main(target: str) -> None:
    parts = {
        f"{movement}: {name}: {part}": values
        for movement in CUDA_STEPPERS
        for name, dtype, case in cases(movement)
        for part, values in results(movement, dtype, case).items()
    }
    np.savez(target, allow_pickle=False, **parts)


if __name__ == "__main__":
    main(sys.argv[1])
