"""Filter banks on a real device against the CPU."""

from __future__ import annotations

import numpy as np
import pytest
from bank_cases import Bank, same_numbers
from heatsim_kernels.field.filter_bank import BANK_KERNELS, filter_bank, max_pool, relu
from helpers.arrays import FLOATS, same_bits

pytestmark = pytest.mark.gpu
ON_CUDA = [name for name, devices in BANK_KERNELS.items() if "cuda" in devices]
BANKS = (
    (Bank((3, 3, 67, 131), (17, 3, 3), padding=(1, 1), relu=True), np.float32),
    (Bank((1, 4, 128, 192), (64, 5, 5), padding=(2, 2), pool=((2, 2), (2, 2)), relu=True), np.float32),
    (Bank((2, 2, 90, 61), (5, 5, 3), stride=(2, 3), padding=(0, 4), pool=((3, 2), (3, 2))), np.float64),
    (Bank((1, 1, 75, 201), (33, 9, 11), padding=(4, 5)), np.float32),
    (Bank((70000, 1, 4, 5), (2, 2, 2)), np.float32),  # more images than a launch allows along y or z
)


@pytest.mark.parametrize("kernel", ON_CUDA)
def test_a_gpu_bank_gives_the_bits_of_the_cpu(kernel: str) -> None:
    for bank, dtype in BANKS:
        images, filters, bias = bank.data(dtype)
        found = filter_bank(images, filters, bias=bias, kernel=kernel, device="cuda", **bank.options())
        assert same_bits(found, filter_bank(images, filters, bias=bias, **bank.options())), (bank, dtype)


def test_a_mask_too_wide_for_shared_memory_falls_to_direct_or_is_refused() -> None:
    bank = Bank((1, 1, 120, 130), (3, 81, 81), padding=(40, 40))
    images, filters, _ = bank.data(np.float32)
    assert same_bits(filter_bank(images, filters, padding=40, device="cuda"), filter_bank(images, filters, padding=40))
    with pytest.raises(ValueError, match="does not fit the shared memory of kernel 'register'"):
        filter_bank(images, filters, padding=40, device="cuda", kernel="register")


@pytest.mark.parametrize("dtype", FLOATS)
def test_gpu_relu_and_max_pooling_give_the_bits_of_the_cpu(dtype: type) -> None:
    values: np.ndarray = np.random.default_rng(10).standard_normal((3, 301, 517)).astype(dtype)
    values[0, 5, 7] = np.nan
    assert same_numbers(relu(values, device="cuda"), relu(values))
    for window, step in ((2, None), ((3, 5), (2, 1)), (64, 64)):
        for keep in (False, True):
            on_gpu = max_pool(values, window, step, keep_edge=keep, device="cuda")
            assert same_numbers(on_gpu, max_pool(values, window, step, keep_edge=keep))
