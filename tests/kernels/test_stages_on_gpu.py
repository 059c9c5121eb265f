"""Stages on a real GPU against the CPU."""

from __future__ import annotations

import numpy as np
import pytest
from heatsim_kernels.stencil import CUDA_SWEEPS, SWEEPS
from kernel_cases import FLOATS, KINDS, random_case, same_bits
from stage_cases import staged

pytestmark = pytest.mark.gpu
PLACES = (((19, 66, 131), (True, False, True), False), ((40, 65, 64), (False, False, False), True))


@pytest.mark.parametrize("form", ["two", "four"])
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["uniform", "materials with heat a zone", "materials with heat a cell", "ambients"])
@pytest.mark.parametrize("movement", CUDA_SWEEPS)
def test_stages_on_a_gpu_give_the_bits_of_the_cpu(movement: str, name: str, dtype: type, form: str) -> None:
    for number, (shape, periodic, per_cell) in enumerate(PLACES):
        case = random_case(shape, KINDS[name], periodic=periodic, per_cell=per_cell, rows=8, seed=number + 11)
        expected = staged(SWEEPS["cpu"](case.terms, np.dtype(dtype)), case, form)
        found = staged(SWEEPS[movement](case.terms, np.dtype(dtype)), case, form)
        assert same_bits(found.field, expected.field)
        assert same_bits(found.defect, expected.defect)
        size = np.abs(expected.field.astype(np.float64)).sum()
        np.testing.assert_allclose(found.heat_entered, expected.heat_entered, rtol=0, atol=1e-12 * size)
