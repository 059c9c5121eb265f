"""Twenty planted Gaussians in noise: all found within half a cell, none invented."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.in_turn import in_turn
from spot_cases import LEVEL, NOISE, SIDE, misses, planted, search

HARDLY = 1e-6  # K: no threshold but the noise

WIDTHS = {"narrow": (1.0, 1.4), "middling": (2.0, 3.0), "wide": (4.0, 5.0), "all": (1.0, 2.0, 4.0)}


@pytest.mark.parametrize("dtype", [np.float32, pytest.param(np.float64, marks=pytest.mark.long)])
@in_turn("widths", WIDTHS.values(), ids=WIDTHS.keys())
@in_turn("seed", range(4))
def test_all_are_found_within_half_a_cell_and_none_is_invented(
    seed: int, widths: tuple[float, ...], dtype: type
) -> None:
    """At twelve times the noise of a cell, which is a third above what half a cell takes."""
    case = planted(seed, widths, 12 * NOISE, dtype)
    spots = search(case.frames, 1.0, 2.0, 4.0, 8.0, threshold=HARDLY)
    assert len(spots) == 20
    assert misses(spots, case).max() < 0.5


@in_turn("seed", range(3))
def test_what_is_told_of_a_spot_is_what_was_planted(seed: int) -> None:
    case = planted(seed, (1.5, 3.0, 6.0), 40 * NOISE, np.float32, count=10)
    for found in search(case.frames, 1.0, 1.5, 2.2, 3.3, 5.0, 7.5, 11.0):
        away = np.hypot(*(case.places - [found.row, found.column]).T)
        assert away.min() < 0.1
        assert found.scale == pytest.approx(case.widths[away.argmin()], rel=0.1)
        assert found.rise == pytest.approx(40 * NOISE, rel=0.1)
        beneath = LEVEL + 0.02 * found.column - 0.01 * found.row
        # between four cells a spot as narrow as 1.5 cells is read a tenth too low
        assert -(0.12 * 40 + 3) * NOISE < found.temperature - beneath - 40 * NOISE < 3 * NOISE


def test_spots_are_told_from_the_greatest_rise_down() -> None:
    rises = [spot.rise for spot in search(planted(0, (2.0,), 20.0, np.float32).frames, 1.4, 2.0, 2.8)]
    assert rises == sorted(rises, reverse=True)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_noise_alone_makes_no_spots(dtype: type) -> None:
    rng = np.random.default_rng(11)
    for _ in range(20):
        frames: np.ndarray = (LEVEL + rng.standard_normal((1, 128, 160))).astype(dtype)
        assert search(frames, 0.7, 1.0, 2.0, 4.0, 8.0, threshold=HARDLY) == []


def test_near_the_limit_of_detection_nearly_all_are_found() -> None:
    """At a rise of 8 noise / width the text of the package promises all; at 2 / width hardly any."""
    found = [search(planted(seed, (3.0,), 8 / 3 * NOISE, np.float32).frames, 2.1, 3.0, 4.2) for seed in range(3)]
    assert sum(map(len, found)) >= 59
    lost = [search(planted(seed, (3.0,), 2 / 3 * NOISE, np.float32).frames, 2.1, 3.0, 4.2) for seed in range(3)]
    assert sum(map(len, lost)) <= 3


def test_the_mean_of_several_frames_has_less_noise() -> None:
    """Each frame has a spot in five, their mean all: noise falls with the root of their number."""
    rng = np.random.default_rng(2)
    case = planted(3, (2.0,), 2 * NOISE, np.float32)
    clean = case.frames - planted(3, (2.0,), 0.0, np.float32).frames
    frames = (LEVEL + clean + NOISE * rng.standard_normal((9, SIDE, SIDE))).astype(np.float32)
    assert len(search(frames[:1], 1.4, 2.0, 2.8, threshold=HARDLY)) < 10
    assert len(search(frames, 1.4, 2.0, 2.8, threshold=HARDLY)) == 20


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("widths", [(1.0, 1.4), (2.0, 4.0)], ids=["narrow", "wide"])
def test_a_gpu_finds_the_same_spots(widths: tuple[float, ...], dtype: type) -> None:
    case = planted(5, widths, 12 * NOISE, dtype)
    spots = search(case.frames, 1.0, 2.0, 4.0, 8.0, threshold=HARDLY, device="cuda")
    assert len(spots) == 20
    assert misses(spots, case).max() < 0.5
    np.testing.assert_allclose(spots, search(case.frames, 1.0, 2.0, 4.0, 8.0, threshold=HARDLY), rtol=1e-5)
