"""The pictures of `heatsim effective`: medium, temperature and flux on a plane, and the cubes of each size."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from heatsim.homogenisation.conductivity import EffectiveConductivity
from heatsim.homogenisation.media import AXES, Medium
from heatsim.homogenisation.parts import CubesOfSize
from heatsim.plots.charts import Chart, draw_charts
from heatsim.plots.curve import Curve
from heatsim.plots.image_grid import PlanePicture, draw_image_grid

PIXELS = 512  # along a picture: more are not told apart


def draw_flux(path: Path, medium: Medium, found: EffectiveConductivity, title: str) -> None:
    """The phases, the temperature and the flux on a plane through the middle, a row for each axis. Raises OSError."""
    rows = []
    for name, along in found.along.items():
        if along.temperature is not None:
            across = 0 if name == "y" else 1  # the plane has the axis in it
            place = 2 - across
            labels = tuple(f"{AXES[2 - number]} [voxels]" for number in (2, 1, 0) if number != place)
            middle = medium.labels.shape[place] // 2
            shown = (
                ("phase", medium.labels.take(middle, axis=place), "gray"),
                (f"temperature, gradient along {name} [K]", along.temperature.take(middle, axis=place), "inferno"),
                ("flux over its mean [1]", _flux_size(medium, along.temperature, middle, place), "viridis"),
            )
            step = max(1, max(shown[0][1].shape) // PIXELS)
            rows.append(
                [
                    PlanePicture(text, values[::step, ::step], (labels[0], labels[1]), colours)
                    for text, values, colours in shown
                ]
            )
    draw_image_grid(path, rows, title)


def _flux_size(medium: Medium, temperature: np.ndarray, middle: int, place: int) -> np.ndarray:
    """The size of the flux in each voxel of a plane, over the mean of what takes part there; NaN elsewhere."""
    first = max(0, middle - 1)
    slab = tuple(slice(first, middle + 2) if number == place else slice(None) for number in range(3))
    T, k = temperature[slab].astype(float), medium.values[medium.labels[slab]]
    squared = np.zeros(T.shape)
    for axis in range(3):
        if T.shape[axis] > 1:
            warm, k_warm = (np.moveaxis(values, axis, 0) for values in (T, k))
            with np.errstate(invalid="ignore", divide="ignore"):
                through = 2.0 * k_warm[:-1] * k_warm[1:] / (k_warm[:-1] + k_warm[1:]) * (warm[:-1] - warm[1:])
            through = np.nan_to_num(through) / medium.voxel[2 - axis]
            mean = np.zeros(warm.shape)
            mean[:-1] += 0.5 * through
            mean[1:] += 0.5 * through
            squared += np.moveaxis(mean, 0, axis) ** 2
    size = np.sqrt(squared).take(middle - first, axis=place)
    size = np.where(np.isnan(temperature.take(middle, axis=place)), np.nan, size)
    return np.asarray(size / (np.nanmean(size) if np.isfinite(size).any() else 1.0))


def draw_cubes(
    path: Path, cubes: Sequence[CubesOfSize], medium: Medium, found: EffectiveConductivity, title: str
) -> None:
    """The conductivities of cubes over their size, and the whole as the last. Raises OSError."""
    whole, charts = min(medium.labels.shape), []
    for number, name in enumerate(found.along):
        of_whole = float(found.conductivity[AXES.index(name), AXES.index(name)])
        sizes = np.array([*(each.size for each in cubes), whole])
        curves = [
            Curve(text, sizes, np.array([*(float(pick(each.values[:, number])) for each in cubes), of_whole]))
            for text, pick in (("most", np.max), ("mean of the cubes", np.mean), ("least", np.min))
        ]
        charts.append(Chart("edge of a cube [voxels]", f"conductivity along {name}", curves))
    draw_charts(path, charts, title, "Cubes of growing size, and the whole image")
