"""Spots without noise: where they are, what they are not, on cells of any proportion."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.in_turn import in_turn
from spot_cases import LEVEL, search, spot

from heatsim.output.hotspots import find_spots

Y, X = np.mgrid[:96, :120].astype(np.float64)


@in_turn("size", [1.0, 2.5, 6.0, 15.0])
@in_turn("place", [(95.0, 120.0), (95.5, 120.5), (95.21, 119.66)])
def test_a_spot_is_placed_within_a_small_part_of_its_size(size: float, place: tuple[float, float]) -> None:
    """Also where it is so large that cells are joined into blocks, and where four cells are equally hot."""
    (found,) = search(spot(192, 240, *place, size), 0.7 * size, size, 1.4 * size)
    assert np.hypot(found.row - place[0], found.column - place[1]) < 0.05 * size
    assert found.scale == pytest.approx(size, rel=0.05)
    assert found.rise == pytest.approx(10.0, rel=0.1 if size == 1.0 else 0.03)


@pytest.mark.parametrize("spacing", [(1e-3, 2.5e-3), (3e-3, 1e-3)])
def test_spots_are_round_in_metres_not_in_cells(spacing: tuple[float, float]) -> None:
    """On cells that are no squares a round spot is found; one that is round in cells is a ridge here and none."""
    y, x = (np.arange(n) * size for n, size in zip((96, 120), spacing, strict=True))
    place = 40.3 * spacing[0], 60.8 * spacing[1]
    away = (y[:, None] - place[0]) ** 2 + (x[None, :] - place[1]) ** 2
    (found,) = find_spots(LEVEL + 10 * np.exp(-away / (2 * 6e-3**2))[None], spacing, [4e-3, 6e-3, 9e-3], 1.0)
    assert (found.row, found.column) == pytest.approx((40.3, 60.8), abs=0.05)
    assert found.scale == pytest.approx(6e-3, rel=0.05)


def test_a_spot_on_an_edge_or_in_a_corner_is_found_there() -> None:
    """Beyond the edge lies its mirror image, as behind an insulated face."""
    for row, column in ((-0.5, 40.0), (30.2, 79.5), (-0.5, -0.5), (1.3, 40.0)):
        (found,) = search(spot(60, 80, row, column, 3.0), 2.0, 3.0, 4.5)
        assert (found.row, found.column) == pytest.approx((row, column), abs=0.1 if row != 1.3 else 1.8)


@in_turn("noise", [0.0, 0.3])
@in_turn(
    "field",
    [
        X,
        200 * np.exp(-X / 20),
        100 * np.exp(-((X - 50.3) ** 2) / 18),
        100.0 * (np.hypot(Y - 48, X - 60) < 30),
        100.0 * ((abs(Y - 48) < 25) & (abs(X - 60) < 35)),
        -50 * np.exp(-((X - 50) ** 2 + (Y - 50) ** 2) / 18),
        0 * X,
    ],
    ids=["slope", "hot wall", "hot line", "large disc", "large square", "cold spot", "nothing"],
)
def test_slopes_lines_rims_and_cold_spots_are_no_hot_spots(field: np.ndarray, noise: float) -> None:
    frames = LEVEL + field + noise * np.random.default_rng(1).standard_normal(field.shape)
    assert search(frames[None].astype(np.float32), 1.5, 3.0, 6.0, threshold=2.0) == []


def test_a_large_and_a_small_spot_beside_one_another_are_two() -> None:
    frames = spot(120, 160, 60.0, 45.0, 12.0) + spot(120, 160, 60.0, 110.0, 2.0, rise=5.0) - LEVEL
    large, small = search(frames, 1.5, 2.0, 3.0, 8.0, 12.0, 16.0)
    assert (large.column, small.column) == pytest.approx((45.0, 110.0), abs=0.2)
    assert (large.rise, small.rise) == pytest.approx((10.0, 5.0), rel=0.1)


def test_the_threshold_is_the_rise_over_the_surroundings() -> None:
    frames = spot(64, 64, 30.3, 31.6, 3.0, rise=10.0)
    assert len(search(frames, 2.0, 3.0, 4.5, threshold=9.5)) == 1
    assert search(frames, 2.0, 3.0, 4.5, threshold=10.5) == []
    hotter = search(frames + 1000.0, 2.0, 3.0, 4.5)
    assert hotter[0].rise == pytest.approx(10.0, rel=0.02)
    assert hotter[0].temperature == pytest.approx(LEVEL + 1010.0, abs=0.5)


@in_turn("shape", [(2, 2), (2, 9), (5, 3)])
def test_frames_of_a_few_cells_are_searched_without_complaint(shape: tuple[int, int]) -> None:
    assert search(np.full((1, *shape), LEVEL), 1.0, 2.0) == []
