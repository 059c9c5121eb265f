"""Find the spots in the mean of some frames: layers answer, peaks are refined, one peak stands for each place."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import exp, floor, log
from typing import NamedTuple

import numpy as np

from heatsim.output.hotspots.filters import deviations_by_chance, estimate_noise
from heatsim.output.hotspots.layers import Peak, ScaleLayer, make_layer, sample

RESPONSE = 0.5  # of a spot at its own scale, in its rise


class Spot(NamedTuple):
    """A hot spot: place in cells (row, column) from the centre of the first cell; scale, its standard deviation, m;
    temperature at its place, and rise over the surroundings, in the unit of the frames."""

    row: float
    column: float
    scale: float
    temperature: float
    rise: float


def find_spots(
    frames: np.ndarray,
    spacing: tuple[float, float],
    scales: Sequence[float],
    threshold: float,
    device: str = "cpu",
    solid: np.ndarray | None = None,
) -> list[Spot]:
    """The hot spots in the mean of some frames, hottest rise first; see the package for what is found and what is not.

    frames: (n, ny, nx), float32 or float64, at least two cells a side. spacing: of cells along y and x, m. scales:
    standard deviations to look for, m; between three given ones the size of a spot is interpolated. threshold: least
    rise, in the unit of the frames. device: "cpu" or "cuda", on which the filters run. solid: (ny, nx), which cells
    count; the others are filled with what the nearest of these has, and no spot lies in them. None: all.
    """
    if solid is not None:
        if not solid.any():
            return []
        frames = fill_ambients(frames, solid, spacing)
    level = frames.mean(dtype=np.float64)
    rises = np.ascontiguousarray(frames - level, frames.dtype)  # so that float32 resolves them
    noise = estimate_noise(rises.mean(axis=0, dtype=frames.dtype), device)
    sizes = [(scale, (scale / spacing[0], scale / spacing[1])) for scale in sorted(set(scales))]
    layers = [make_layer(rises, sigma, scale, noise, device) for scale, sigma in sizes]
    chance = deviations_by_chance(sum(layer.noise.size for layer in layers))
    peaks = [(peak, layer) for layer in layers for peak in layer.peaks(RESPONSE * threshold, chance, device)]
    if solid is not None:
        cells = [tuple(min(floor(at + 0.5), n - 1) for at, n in zip(p[:2], solid.shape, strict=True)) for p, _ in peaks]
        peaks = [found for found, cell in zip(peaks, cells, strict=True) if solid[cell]]
    mean = frames.mean(axis=0, dtype=np.float64)
    spots = []
    for peak, layer in _strongest(peaks, spacing):
        scale, response = _refined(layers, layers.index(layer), peak)
        spots.append(Spot(peak.row, peak.column, scale, sample(mean, peak.row, peak.column), response / RESPONSE))
    return sorted(spots, key=lambda spot: -spot.rise)


def _strongest(peaks: list[tuple[Peak, ScaleLayer]], spacing: tuple[float, float]) -> list[tuple[Peak, ScaleLayer]]:
    """One peak for each place: a spot of scale s can itself answer as far away as r^2 = 2 (s^2 + scale^2)."""
    kept: list[tuple[Peak, ScaleLayer]] = []
    for peak, layer in sorted(peaks, key=lambda each: -each[0].response):
        if all(
            ((peak.row - other.row) * spacing[0]) ** 2 + ((peak.column - other.column) * spacing[1]) ** 2
            >= 2.0 * (layer.scale**2 + stronger.scale**2)
            for other, stronger in kept
        ):
            kept.append((peak, layer))
    return kept


def _refined(layers: list[ScaleLayer], best: int, peak: Peak) -> tuple[float, float]:
    """Scale and response at the top of the parabola over log(scale) through a layer and its two neighbours, if any."""
    if not 0 < best < len(layers) - 1:
        return layers[best].scale, peak.response
    below, above = (layers[best + side] for side in (-1, 1))
    x = [log(layer.scale / layers[best].scale) for layer in (below, above)]
    y = [layer.at(peak.row, peak.column) - peak.response for layer in (below, above)]
    bend, slope = np.linalg.solve([[x[0] ** 2, x[0]], [x[1] ** 2, x[1]]], y)
    if bend >= 0.0:
        return layers[best].scale, peak.response
    top = min(max(-0.5 * slope / bend, x[0]), x[1])
    return layers[best].scale * exp(top), peak.response + float(bend * top**2 + slope * top)


# What takes the place of cells that are not solved, so that their border is no feature of the field.


def fill_ambients(frames: np.ndarray, solid: np.ndarray, spacing: tuple[float, float]) -> np.ndarray:
    """Frames (n, ny, nx) in which each cell that is not `solid` (ny, nx) has the value of the nearest one that is.

    spacing: of cells along y and x, m. Some cell has to be solid.

    Each cell asks those 2^k, ..., 2, 1 cells away in eight directions which solid cell is the nearest that they know:
    jump flooding, Rong and Tan, Proceedings of I3D 2006. Now and then it finds one that is nearly the nearest.
    """
    rows, columns = solid.shape
    y, x = np.nonzero(~solid)
    nearest = np.where(solid, np.arange(solid.size).reshape(solid.shape), -1)  # by flat index; -1: not known yet
    least = np.full(y.size, np.inf)
    step = 1 << (max(solid.shape) - 1).bit_length()
    while step := step // 2:
        for down, across in product((-step, 0, step), repeat=2):
            asked = nearest[(y + down).clip(0, rows - 1), (x + across).clip(0, columns - 1)]
            there_y, there_x = np.divmod(asked, columns)
            away = ((there_y - y) * spacing[0]) ** 2 + ((there_x - x) * spacing[1]) ** 2
            nearer = (asked >= 0) & (away < least)
            least[nearer] = away[nearer]
            nearest[y[nearer], x[nearer]] = asked[nearer]
    return np.asarray(frames.reshape(len(frames), -1)[:, nearest])
