"""Filter banks on the CPU against the definition in float64, and against each other."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from bank_cases import Bank, expected, random_banks, tolerance
from heatsim_kernels.field.filter_bank import BANK_KERNELS, Epilogue, filter_bank
from helpers.arrays import FLOATS, same_bits
from helpers.in_turn import in_turn

ON_CPU = [name for name, devices in BANK_KERNELS.items() if "cpu" in devices]
BANKS = [
    *random_banks(24, seed=3),
    Bank((1, 1, 1, 1), (1, 1, 1)),
    Bank((5, 2, 3, 200), (29, 3, 3), padding=(1, 1), relu=True),  # 29 filters: groups of 8, 8, 8, 4, 1
    Bank((1, 1, 40, 47), (2, 31, 31), padding=(15, 15), pool=((5, 5), (2, 2))),
    Bank((2, 3, 17, 301), (9, 5, 3), stride=(2, 3), padding=(0, 4), pool=((3, 2), (3, 2)), relu=True),
]


@in_turn(
    ("kernel", "dtype"),
    [(kernel, dtype) for kernel in ON_CPU for dtype in FLOATS if (kernel, dtype) != ("im2col", np.float64)],
)
def test_a_bank_is_the_sum_that_defines_it(kernel: str, dtype: type) -> None:
    for bank in BANKS:
        images, filters, bias = bank.data(dtype)
        found = filter_bank(images, filters, bias=bias, kernel=kernel, **bank.options())
        want = expected(images, filters, bias, bank)
        assert found.shape == want.shape
        assert found.dtype == dtype
        np.testing.assert_allclose(found, want, rtol=0, atol=tolerance(filters), err_msg=str(bank))


@pytest.mark.parametrize("dtype", FLOATS)
def test_direct_and_register_give_the_same_bits(dtype: type) -> None:
    for bank in BANKS:
        images, filters, bias = bank.data(dtype, seed=1)
        options = bank.options() | {"bias": bias}
        one, other = (filter_bank(images, filters, kernel=kernel, **options) for kernel in ("direct", "register"))
        assert same_bits(one, other), bank


def test_the_bits_do_not_depend_on_the_number_of_threads() -> None:
    bank = Bank((3, 2, 90, 130), (13, 3, 5), padding=(1, 2), pool=((3, 3), (2, 2)))
    images, filters, bias = bank.data(np.float32)
    found = []
    for threads in (1, 2):
        numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))
        found.append(filter_bank(images, filters, bias=bias, **bank.options()))
    assert same_bits(*found)


@pytest.mark.parametrize("kernel", ["direct", "register"])
def test_sums_are_fused_and_in_the_order_channel_row_column(kernel: str) -> None:
    """Values that another order, or a product rounded by itself, would turn into something else."""
    images = np.array([[[[1.0, 1e8], [-1e8, 1.0]], [[3.0, 5.0], [7.0, 1.0 + 2**-12]]]], np.float32)
    filters = np.ones((1, 2, 2, 2), np.float32)
    filters[0, 1, 1, 1] = 1.0 + 2**-12
    # (1 + 1e8) - 1e8 is 0 in float32; then 1, 3, 5, 7; and the last product keeps its 2^-24.
    total = np.float32(np.float64(16.0) + (1.0 + 2.0**-12) ** 2)
    assert filter_bank(images, filters, kernel=kernel)[0, 0, 0, 0] == total


def test_a_filter_is_not_turned_over() -> None:
    images = np.arange(12, dtype=np.float64).reshape(1, 1, 3, 4)
    right = np.zeros((1, 1, 3, 3))
    right[0, 0, 1, 2] = 1.0
    np.testing.assert_array_equal(filter_bank(images, right)[0, 0], [[6.0, 7.0]])


def test_images_and_filters_may_be_views_and_whole_numbers() -> None:
    bank = Bank((2, 3, 20, 30), (4, 3, 3), padding=(1, 1))
    images, filters, _ = bank.data(np.float32)
    turned = np.ascontiguousarray(images.transpose(0, 1, 3, 2)).transpose(0, 1, 3, 2)
    assert same_bits(filter_bank(turned, filters, padding=1), filter_bank(images, filters, padding=1))
    whole = np.rint(filters).astype(np.int64)
    assert same_bits(filter_bank(images, whole), filter_bank(images, whole.astype(np.float32)))


@pytest.mark.parametrize("kernel", ["direct", "register"])
def test_what_is_not_finite_reaches_the_pixels_that_see_it_and_no_others(kernel: str) -> None:
    images = np.ones((1, 1, 9, 60), np.float32)
    images[0, 0, 4, 50] = np.nan
    found = filter_bank(
        images, np.ones((3, 1, 3, 3), np.float32), padding=1, kernel=kernel, epilogue=Epilogue(relu=True)
    )
    lost = np.isnan(found[0, 1])
    assert lost[3:6, 49:52].all()
    assert lost.sum() == 9
