"""The CUDA kernels on a real device against the CPU: every kernel, every kind of problem, both precisions.

An item goes through all problems of a kernel, so that a machine without a GPU has few items to skip.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest
from heatsim_kernels.explicit import CUDA_STEPPERS, STEPPERS
from helpers.arrays import FLOATS, same_bits
from helpers.kernel_cases import (
    FEATURES,
    STEP,
    Case,
    Features,
    SteppedField,
    ledger_tolerance,
    outcome,
    random_case,
    row_of,
)

pytestmark = pytest.mark.gpu
SHAPES = ((19, 66, 131), (1, 201, 517), (1, 1, 1000), (129, 3, 1), (40, 65, 64))
PERIODS = ((False, False, False), (True, False, True), (False, True, False), (False, False, False), (True, True, True))
Triple = tuple[int, int, int]


@cache
def case_of(name: str, shape: Triple, periodic: tuple[bool, bool, bool], per_cell: bool) -> Case:
    """Zones in blocks with boundary faces by class, a zone to every cell with boundary faces by cell."""
    return random_case(shape, FEATURES[name], periodic=periodic, per_cell=per_cell, rows=3, seed=12 if per_cell else 11)


@cache
def on_cpu(name: str, shape: Triple, periodic: tuple[bool, bool, bool], per_cell: bool, dtype: type) -> SteppedField:
    case = case_of(name, shape, periodic, per_cell)
    return outcome(STEPPERS["cpu"](case.coefficients, np.dtype(dtype)), case, steps=5)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("movement", CUDA_STEPPERS)
def test_a_gpu_gives_the_bits_of_the_cpu(movement: str, dtype: type) -> None:
    for name, (shape, periodic), per_cell in product(FEATURES, zip(SHAPES, PERIODS, strict=True), (False, True)):
        problem = f"{name}, {shape}, periodic {periodic}, walls by cell {per_cell}"
        case, expected = case_of(name, shape, periodic, per_cell), on_cpu(name, shape, periodic, per_cell, dtype)
        found = outcome(STEPPERS[movement](case.coefficients, np.dtype(dtype)), case, steps=5)
        assert same_bits(found.field, expected.field), problem
        tolerance = ledger_tolerance(expected.field, case.coefficients)
        assert (np.abs(found.heat_entered - expected.heat_entered) <= tolerance).all(), problem
        size = np.abs(expected.field.astype(np.float64)).sum()
        assert found.stored == pytest.approx(expected.stored, rel=0, abs=1e-12 * size), problem


@pytest.mark.parametrize("movement", CUDA_STEPPERS)
def test_kinds_may_be_integers_of_any_width(movement: str) -> None:
    case = case_of("materials", (19, 66, 132), (False, True, False), False)
    for integer, dtype in product(("uint8", "uint16", "uint32"), FLOATS):
        coefficients = replace(case.coefficients, class_ids=case.coefficients.class_ids.astype(integer))
        assert coefficients.class_count <= 256
        fields = []
        for sweep in (STEPPERS[key](coefficients, np.dtype(dtype)) for key in ("cpu", movement)):
            sweep.field.put(case.start)
            sweep.advance(STEP, 5, case.forcing)
            fields.append(np.array(sweep.field.host()))
        assert same_bits(*fields), (integer, dtype)


@pytest.mark.parametrize("movement", CUDA_STEPPERS)
def test_a_gpu_sweep_is_read_as_a_cpu_sweep_is(movement: str) -> None:
    for dtype in FLOATS:
        check_reading(movement, dtype)


def check_reading(movement: str, dtype: type) -> None:
    case = random_case((13, 37, 70), FEATURES["materials"], seed=12)
    sweeps = [STEPPERS[key](case.coefficients, np.dtype(dtype)) for key in (movement, "cpu")]
    indices = np.random.default_rng(2).integers(0, case.start.size, (300, 8))
    for sweep in sweeps:
        sweep.field.put(plane for plane in case.start)
    for axis in range(3):
        for index in (0, 5, case.coefficients.shape[axis] - 1):
            assert same_bits(*(sweep.field.plane(axis, index) for sweep in sweeps))
    assert same_bits(*(sweep.field.cells(indices) for sweep in sweeps))
    assert all(sweep.field.is_finite() for sweep in sweeps)
    spoilt = case.start.copy()
    spoilt[7, 36, 69] = np.nan
    for sweep in sweeps:
        sweep.field.put(spoilt)
        assert not sweep.field.is_finite()


@pytest.mark.parametrize("movement", CUDA_STEPPERS)
def test_several_steps_at_once_equal_single_steps_on_a_gpu(movement: str) -> None:
    case = random_case((9, 20, 67), Features(zones=3, pairs=True, table=True), rows=3, seed=13)
    together, singly = (STEPPERS[movement](case.coefficients, np.dtype(np.float32)) for _ in range(2))
    together.field.put(case.start)
    together.advance(0.05, 5, case.forcing)
    singly.field.put(case.start)
    for k in range(5):
        singly.advance(0.05, 1, row_of(case.forcing, k))
    assert same_bits(together.field.host(), singly.field.host())
    np.testing.assert_allclose(together.heat_entered(), singly.heat_entered(), rtol=1e-13)
