"""Frames with planted spots in noise."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from heatsim.output.hotspots import Spot, find_spots

LEVEL, NOISE = 300.0, 0.5  # K
SIDE = 224  # cells


class Planted(NamedTuple):
    """Frame (1, SIDE, SIDE), places (n, 2) as row and column, and widths (n,) in cells."""

    frames: np.ndarray
    places: np.ndarray
    widths: np.ndarray


def planted(seed: int, widths: tuple[float, ...], rise: float, dtype: type, count: int = 20) -> Planted:
    """`count` Gaussian spots at random places, whole and apart, on a gentle slope with white noise."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:SIDE, :SIDE].astype(np.float64)
    field = LEVEL + 0.02 * x - 0.01 * y + NOISE * rng.standard_normal(x.shape)
    places: list[np.ndarray] = []
    sizes: list[float] = []
    while len(places) < count:
        size = float(rng.choice(widths))
        place = rng.uniform(3 * size, SIDE - 1 - 3 * size, 2)
        if all(np.hypot(*(place - other)) > 3.5 * (size + near) for other, near in zip(places, sizes, strict=True)):
            places.append(place)
            sizes.append(size)
            field += rise * np.exp(-((y - place[0]) ** 2 + (x - place[1]) ** 2) / (2 * size**2))
    return Planted(field.astype(dtype)[None], np.array(places), np.array(sizes))


def misses(spots: list[Spot], case: Planted) -> np.ndarray:
    """Distance of each planted spot to the nearest found, cells."""
    found = np.array([[spot.row, spot.column] for spot in spots])
    return np.asarray(np.hypot(*(case.places[:, None] - found[None]).transpose(2, 0, 1)).min(axis=1))


def spot(rows: int, columns: int, row: float, column: float, size: float, rise: float = 10.0) -> np.ndarray:
    """One spot (1, rows, columns) without noise."""
    y, x = np.mgrid[:rows, :columns]
    return np.asarray(LEVEL + rise * np.exp(-((y - row) ** 2 + (x - column) ** 2) / (2 * size**2)))[None]


def search(frames: np.ndarray, *scales: float, threshold: float = 1.0, device: str = "cpu") -> list[Spot]:
    """Find spots on cells of 1 m."""
    return find_spots(frames, (1.0, 1.0), scales, threshold, device)
