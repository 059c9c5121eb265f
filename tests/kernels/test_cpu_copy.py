from __future__ import annotations

import numpy as np
import pytest
from heatsim_kernels.device.cpu import array_copy
from helpers.arrays import FLOATS, same_bits


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_copy_is_whole_and_writes_nothing_else(dtype: type) -> None:
    values = np.random.default_rng(0).normal(size=5000).astype(dtype)
    for first, count in ((0, 5000), (1, 4000), (3, 1), (7, 33), (2, 1030), (5, 0)):  # in and out of step with the lines
        target = np.zeros(5000, dtype)
        array_copy.copy(values[first : first + count], target[first : first + count])
        expected = np.zeros(5000, dtype)
        expected[first : first + count] = values[first : first + count]
        assert same_bits(target, expected)


def test_arrays_that_do_not_fit_are_refused() -> None:
    source = np.zeros((4, 6))
    for target in (np.zeros((4, 5)), np.zeros((4, 6), np.float32)):
        with pytest.raises(ValueError, match="does not fit into"):
            array_copy.copy(source, target)
    with pytest.raises(ValueError, match="contiguous"):
        array_copy.copy(source, np.zeros((6, 4)).T)
