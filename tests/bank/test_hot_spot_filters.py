"""The Laplacian of a Gaussian and Sobel: what they answer to fields whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest
from heatsim_kernels.filter_bank import filter_bank

from heatsim.hotspots.detection_masks import bank_of, laplacian_of_gaussian, sobel

Y, X = np.meshgrid(np.arange(-60.0, 61.0), np.arange(-60.0, 61.0), indexing="ij")


def response(field: np.ndarray, mask: np.ndarray) -> np.ndarray:
    return np.asarray(filter_bank(field[None, None], mask[None, None])[0, 0])


@pytest.mark.parametrize("sigma", [1 / 3, 0.5, 1.0, 2.5, 7.0])
def test_a_laplacian_of_gaussian_is_blind_to_planes_and_exact_on_quadratics(sigma: float) -> None:
    mask = laplacian_of_gaussian(sigma)
    assert abs(mask.sum()) < 1e-15
    np.testing.assert_allclose(response(3.0 + 2.0 * X - 5.0 * Y, mask), 0.0, atol=1e-10)
    np.testing.assert_allclose(response(0.5 * X**2 - 2.0 * Y**2 + X * Y, mask), 3.0 * sigma**2, rtol=1e-9)


@pytest.mark.parametrize("size", [2.0, 4.0])
def test_a_spot_answers_most_at_its_own_scale_and_by_half_its_height(size: float) -> None:
    spot = 10.0 * np.exp(-(X**2 + Y**2) / (2 * size**2))
    scales = size * np.array([0.5, 0.8, 1.0, 1.25, 2.0])
    answers = []
    for sigma in scales:
        found = response(spot, laplacian_of_gaussian(sigma))
        middle = found[found.shape[0] // 2, found.shape[1] // 2]
        assert middle == found.max()
        assert middle == pytest.approx(20.0 * size**2 * sigma**2 / (size**2 + sigma**2) ** 2, rel=0.02)
        answers.append(middle)
    assert np.argmax(answers) == 2
    assert answers[2] == pytest.approx(5.0, rel=0.01)


def test_a_mask_is_square_and_odd_and_reaches_four_standard_deviations() -> None:
    assert laplacian_of_gaussian(2.3).shape == (21, 21)
    assert laplacian_of_gaussian(1 / 3).shape == (5, 5)


@pytest.mark.parametrize("sigma", [0.0, -1.0, 0.3, 65.0, float("nan"), float("inf")])
def test_a_scale_that_the_grid_cannot_show_is_refused(sigma: float) -> None:
    with pytest.raises(ValueError, match="sigma must be between"):
        laplacian_of_gaussian(sigma)


def test_sobel_gives_the_rise_a_cell_along_y_and_along_x() -> None:
    along_y, along_x = sobel()
    field = 7.0 + 0.25 * X - 3.0 * Y
    np.testing.assert_allclose(response(field, along_y), -3.0, atol=1e-12)
    np.testing.assert_allclose(response(field, along_x), 0.25, atol=1e-12)


def test_a_bank_of_several_sizes_over_frames_filters_their_mean() -> None:
    masks = [laplacian_of_gaussian(1.0), laplacian_of_gaussian(2.0), *sobel()]
    bank = bank_of(masks, [0.5, 0.5])
    assert bank.shape == (4, 2, 17, 17)
    frames = np.random.default_rng(8).standard_normal((2, 40, 40))
    found = filter_bank(frames[None], bank, padding=8)[0]
    for mask, answer in zip(masks, found, strict=True):
        reach = mask.shape[0] // 2
        alone = response(frames.mean(axis=0), mask)
        np.testing.assert_allclose(answer[reach : 40 - reach, reach : 40 - reach], alone, atol=1e-13)


def test_a_bank_needs_odd_masks() -> None:
    with pytest.raises(ValueError, match="odd widths"):
        bank_of([np.ones((3, 4))], [1.0])
    with pytest.raises(ValueError, match="at least"):
        bank_of([], [1.0])
