"""ReLU and max pooling as kernels of their own, and behind a bank."""

from __future__ import annotations

import numpy as np
from bank_cases import Bank, maxima
from heatsim_kernels.field.filter_bank import Epilogue, filter_bank, max_pool, relu
from helpers.arrays import FLOATS, same_bits
from helpers.in_turn import in_turn

POOLS = [((1, 1), (1, 1)), ((2, 2), (2, 2)), ((3, 3), (2, 2)), ((2, 5), (3, 1)), ((4, 1), (1, 4)), ((7, 9), (7, 9))]


@in_turn("dtype", FLOATS)
@in_turn(("window", "step"), POOLS)
def test_max_pooling_keeps_the_largest_of_every_window(
    window: tuple[int, int], step: tuple[int, int], dtype: type
) -> None:
    values: np.ndarray = np.random.default_rng(5).standard_normal((2, 3, 41, 67)).astype(dtype)
    assert same_bits(max_pool(values, window, step), maxima(values, window, step))


def test_the_stride_is_the_window_unless_given_and_a_slice_is_an_image() -> None:
    values = np.random.default_rng(6).standard_normal((300, 400)).astype(np.float32)
    assert same_bits(max_pool(values, 4), maxima(values, (4, 4), (4, 4)))


@in_turn("extent", [(5, 1), (6, 8), (7, 2)])
def test_a_window_that_would_start_beyond_the_end_is_left_out(extent: tuple[int, int]) -> None:
    values = np.arange(np.prod(extent), dtype=np.float64).reshape(extent)
    assert same_bits(max_pool(values, 1, 3, keep_edge=True), np.ascontiguousarray(values[::3, ::3]))


@in_turn("extent", [(7, 5), (8, 6), (1, 1), (9, 4), (2, 700)])
def test_no_peak_is_lost_from_a_preview_that_keeps_the_edge(extent: tuple[int, int]) -> None:
    for peak in np.ndindex(extent) if np.prod(extent) < 100 else [(1, 699), (0, 697), (1, 0)]:
        values = np.zeros(extent, np.float32)
        values[peak] = 3.0
        preview = max_pool(values, 4, keep_edge=True)
        assert preview.shape == (-(-extent[0] // 4), -(-extent[1] // 4))
        assert preview[peak[0] // 4, peak[1] // 4] == 3.0
        assert preview.sum() == 3.0


def test_relu_keeps_what_is_positive_and_shows_what_is_not_a_number() -> None:
    values = np.array([[-1.0, -0.0, 0.0], [2.5, np.inf, -np.inf]], np.float32)
    assert same_bits(relu(values), np.array([[0.0, 0.0, 0.0], [2.5, np.inf, 0.0]], np.float32))
    assert np.isnan(relu(np.array([np.nan], np.float32))).all()
    many: np.ndarray = np.random.default_rng(7).standard_normal(100_001).astype(np.float32)
    assert same_bits(relu(many), np.maximum(many, np.float32(0.0)))
    assert relu(np.empty((0, 3))).shape == (0, 3)


def test_a_window_with_something_that_is_not_a_number_shows_it() -> None:
    for place in np.ndindex(3, 3):
        values = np.arange(9.0).reshape(3, 3)
        values[place] = np.nan
        assert np.isnan(max_pool(values, 3)).all()


@in_turn(("window", "step"), POOLS)
def test_pooling_behind_a_bank_is_pooling_its_response(window: tuple[int, int], step: tuple[int, int]) -> None:
    bank = Bank((2, 2, 61, 90), (11, 3, 3), padding=(1, 1))
    images, filters, bias = bank.data(np.float32)
    for kernel in ("direct", "register"):
        for threshold in (False, True):
            plain = filter_bank(images, filters, padding=1, bias=bias, kernel=kernel)
            epilogue = Epilogue(threshold, (window, step))
            fused = filter_bank(images, filters, padding=1, bias=bias, kernel=kernel, epilogue=epilogue)
            apart = max_pool(relu(plain) if threshold else plain, window, step)
            assert same_bits(fused, apart)
