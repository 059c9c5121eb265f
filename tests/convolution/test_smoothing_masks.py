"""Masks: their sum, their width, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from heatsim_kernels.field.convolution import EDGES, convolve_lines, masks, separable
from helpers.in_turn import in_turn
from scipy.special import ive


@in_turn("sigma", [0.05, 0.2, 1 / 3, 0.5, 0.8, 1.0, 1.7, 2.0, 3.0, 3.7])
def test_a_gaussian_is_as_wide_as_asked_for_within_one_percent(sigma: float) -> None:
    mask = masks.gaussian(sigma)
    assert masks.deviation(mask) == pytest.approx(sigma, rel=0.01)
    assert mask.sum() == pytest.approx(1, abs=1e-15)
    assert np.array_equal(mask, mask[::-1])
    assert mask.size % 2 == 1


@in_turn("sigma", [0.3, 1.0, 2.0, 3.5])
def test_a_gaussian_is_made_of_scaled_bessel_functions(sigma: float) -> None:
    mask = masks.gaussian(sigma)
    at = np.abs(np.arange(mask.size) - mask.size // 2)
    expected = ive(at, sigma**2)
    np.testing.assert_allclose(mask, expected / expected.sum(), rtol=1e-13)


def test_smoothing_twice_is_smoothing_once_with_the_sum_of_the_variances() -> None:
    point = np.zeros(81)
    point[40] = 1
    twice = point
    for sigma in (1.5, 2.0):
        twice = convolve_lines(twice, masks.gaussian(sigma, truncate=6))
    np.testing.assert_allclose(twice, convolve_lines(point, masks.gaussian(2.5, truncate=6)), atol=1e-7)


def test_a_narrow_cut_is_widened_until_the_width_is_right() -> None:
    mask = masks.gaussian(1.0, truncate=2)
    assert mask.size > 5
    assert masks.deviation(mask) == pytest.approx(1, rel=0.01)


@in_turn(("mask", "variance"), [(masks.box(5), 2.0), (masks.binomial(4), 1.0), (masks.binomial(30), 7.5)])
def test_box_and_binomial_have_their_variances(mask: np.ndarray, variance: float) -> None:
    assert masks.deviation(mask) ** 2 == pytest.approx(variance, rel=1e-12)
    assert mask.sum() == pytest.approx(1, abs=1e-15)


def test_a_binomial_is_pascals_triangle() -> None:
    np.testing.assert_array_equal(masks.binomial(4) * 16, [1, 4, 6, 4, 1])


@in_turn("mask", [masks.gaussian(2.0), masks.box(31), masks.binomial(6)], ids=["gauss", "box", "binomial"])
@in_turn("edge", EDGES)
@in_turn("shape", [(17, 40), (3, 5, 64)])
def test_reflect_and_wrap_keep_a_mean_and_all_but_zero_a_constant(
    shape: tuple[int, ...], edge: str, mask: np.ndarray
) -> None:
    field = np.random.default_rng(5).normal(300, 20, shape)
    each = [mask] * field.ndim
    if edge in ("reflect", "wrap"):
        assert separable(field, each, edge).mean() == pytest.approx(field.mean(), rel=1e-13)
    constant = separable(np.full(shape, 300.0), each, edge)
    if edge == "zero":
        assert constant.max() < 300.0 + 1e-10
        assert constant.min() < 290
    else:
        np.testing.assert_allclose(constant, 300.0, rtol=1e-13)


@in_turn("width", [0, -1, 2, 30, 33])
def test_a_box_that_is_even_or_too_wide_is_refused(width: int) -> None:
    with pytest.raises(ValueError, match=f"{width} wide, but must be odd and at most 31"):
        masks.box(width)


@in_turn("order", [1, 3, 32])
def test_a_binomial_without_a_middle_is_refused(order: int) -> None:
    with pytest.raises(ValueError, match="must be odd"):
        masks.binomial(order)


@in_turn("sigma", [0.0, -1.0, float("nan"), float("inf")])
def test_a_sigma_that_is_no_width_is_refused(sigma: float) -> None:
    with pytest.raises(ValueError, match="must be positive"):
        masks.gaussian(sigma)


def test_a_gaussian_wider_than_a_mask_is_refused() -> None:
    with pytest.raises(ValueError, match="beyond 15 cells a side"):
        masks.gaussian(5.0)
