"""Stages on a real GPU against the CPU, and those taken several at once against single ones."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from heatsim_kernels.explicit import CUDA_STEPPERS, STEPPERS
from helpers.arrays import FLOATS, same_bits
from helpers.kernel_cases import FEATURES, Features, ledger_tolerance, random_case
from simulate_temporal_stages import StageTrial, swept
from stage_cases import staged

pytestmark = pytest.mark.gpu
PLACES = (((19, 66, 131), (True, False, True), False), ((40, 65, 64), (False, False, False), True))
AT_ONCE = (
    ((37, 203, 328), (False, False, False), Features(table=True)),
    ((1, 128, 300), (False, False, False), Features(table=True)),
    ((21, 100, 133), (True, True, True), Features()),
    ((37, 131, 200), (False, False, True), Features(zones=2, pairs=True, table=True)),
    ((9, 130, 131), (False, False, False), Features(skew=True)),
)


@pytest.mark.parametrize("movement", CUDA_STEPPERS)
def test_stages_on_a_gpu_give_the_bits_of_the_cpu(movement: str) -> None:
    names = ("uniform", "materials with heat a zone", "materials with heat a cell", "ambients")
    for name, dtype, form, (number, place) in product(names, FLOATS, ("two", "four"), enumerate(PLACES)):
        (shape, periodic, per_cell), problem = place, f"{name}, {dtype}, {form}, {place}"
        case = random_case(shape, FEATURES[name], periodic=periodic, per_cell=per_cell, rows=8, seed=number + 11)
        expected = staged(STEPPERS["cpu"](case.coefficients, np.dtype(dtype)), case, form)
        found = staged(STEPPERS[movement](case.coefficients, np.dtype(dtype)), case, form)
        assert same_bits(found.field, expected.field), problem
        assert same_bits(found.defect, expected.defect), problem
        tolerance = ledger_tolerance(expected.field, case.coefficients)
        assert (np.abs(found.heat_entered - expected.heat_entered) <= tolerance).all(), problem


@pytest.mark.parametrize("dtype", FLOATS)
def test_several_stages_at_once_on_a_gpu_give_the_bits_of_single_stages(dtype: type) -> None:
    for shape, periodic, features in AT_ONCE:
        check_stages_at_once(shape, periodic, features, dtype)


def check_stages_at_once(
    shape: tuple[int, int, int], periodic: tuple[bool, bool, bool], features: Features, dtype: type
) -> None:
    from heatsim_kernels.explicit.blocked.march import STAGE_TILES, STAGE_TILES_OF_FACES

    tiles = STAGE_TILES_OF_FACES if features.zones > 1 or features.skew else STAGE_TILES
    trial = StageTrial(shape, tiles[np.dtype(dtype).name][0], dtype, periodic, features, stages=11)
    found, expected = swept("temporal", trial), swept("register", trial)
    assert found["fused"] == 10 // trial.tile.steps
    assert same_bits(found["field"], expected["field"])
    assert same_bits(found["defect"], expected["defect"])
    size = np.abs(expected["field"].astype(np.float64)).sum()
    np.testing.assert_allclose(found["heat_entered"], expected["heat_entered"], rtol=0, atol=1e-12 * size)
