"""The CUDA kernels of filter banks on the simulator, in one process of its own, against the CPU."""

from __future__ import annotations

import numpy as np
import simulate_banks
from heatsim_kernels.field.filter_bank import filter_bank, max_pool, relu
from helpers import simulator
from helpers.arrays import same_bits
from helpers.in_turn import in_turn
from simulate_banks import BANKS, IMAGES, ON_CUDA, POOL

pytestmark = simulator.needs_numba_cuda
simulated = simulator.fixture_of(simulate_banks.__file__)


@in_turn("name", BANKS)
@in_turn("kernel", ON_CUDA)
def test_a_simulated_bank_gives_the_bits_of_the_cpu(kernel: str, name: str, simulated: dict[str, np.ndarray]) -> None:
    bank, dtype = BANKS[name]
    images, filters, bias = bank.data(dtype)
    assert same_bits(simulated[f"{kernel}: {name}"], filter_bank(images, filters, bias=bias, **bank.options()))


def test_simulated_relu_and_max_pooling_give_the_bits_of_the_cpu(simulated: dict[str, np.ndarray]) -> None:
    assert same_bits(simulated["relu"], relu(IMAGES))
    for keep in (False, True):
        assert same_bits(simulated[f"max_pool {keep}"], max_pool(IMAGES, *POOL, keep_edge=keep))
