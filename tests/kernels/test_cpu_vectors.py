"""Rows of whole vectors, written in vector instructions, have the bits of the row loop."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from heatsim_kernels.stencil.cpu.stepper import CpuStepper
from helpers.arrays import same_bits
from helpers.kernel_cases import FEATURES, STEP, random_case


@pytest.mark.parametrize("periodic", [(False, False, False), (True, True, True)], ids=["boundary", "periodic"])
@pytest.mark.parametrize("fused", [1, 3])
@pytest.mark.parametrize("nx", [16, 48, 64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_of_whole_vectors_have_the_bits_of_the_row_loop(
    dtype: type, nx: int, fused: int, periodic: tuple[bool, bool, bool]
) -> None:
    """A source of nothing sends the same problem by the row loop."""
    case = random_case((7, 9, nx), FEATURES["uniform"], periodic=periodic, rows=3, seed=nx)
    fields = []
    for table in (None, np.zeros((1, 1))):
        sweep = CpuStepper(case.coefficients, np.dtype(dtype), fused)
        sweep.field.put(case.start)
        sweep.advance(STEP, 5, replace(case.forcing, heat_table=table))
        fields.append(np.array(sweep.field.host()))
    assert same_bits(*fields)
    assert not same_bits(fields[0], case.start.astype(dtype))
