"""What `heatsim effective` keeps: the numbers as JSON, and pictures."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from heatsim.base.atomic import write_atomically
from heatsim.output.pictures.charts import Chart, PlanePicture, draw_charts, draw_image_grid
from heatsim.output.pictures.curve import Curve
from heatsim.output.pictures.outside_view import LinesInside, draw_lines_inside
from heatsim.studies.homogenisation.conductivity import CubesOfSize, EffectiveConductivity
from heatsim.studies.homogenisation.fluxes import Streamline, find_streamlines, voxel_fluxes
from heatsim.studies.homogenisation.media import AXES, Medium

NUMBERS, FLUX, CUBES, STREAMLINES = "effective.json", "flux.png", "cubes.png", "streamlines.png"


def write_effective(
    folder: Path,
    medium: Medium,
    found: EffectiveConductivity,
    cubes: Sequence[CubesOfSize],
    title: str,
    streamlines: bool = False,
) -> list[Path]:
    """Write all files into a folder, in place of those that are there; the files. Raises OSError, and `RequestError`
    for streamlines without VTK."""
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / NUMBERS, (json.dumps(in_json(medium, found, cubes), indent=1) + "\n").encode())
    written = [folder / NUMBERS]
    if any(along.temperature is not None for along in found.along.values()):
        draw_flux(folder / FLUX, medium, found, title)
        written.append(folder / FLUX)
        written += _write_streamlines(folder, medium, found, title) if streamlines else []
    if cubes:
        draw_cubes(folder / CUBES, cubes, medium, found, title)
        written.append(folder / CUBES)
    return written


def _write_streamlines(folder: Path, medium: Medium, found: EffectiveConductivity, title: str) -> list[Path]:
    kept = {name: along.temperature for name, along in found.along.items() if along.temperature is not None}
    written = [folder / f"streamlines-{name}.vtp" for name in kept]
    lines = {
        name: find_streamlines(medium, T, AXES.index(name), file)
        for (name, T), file in zip(kept.items(), written, strict=True)
    }
    draw_streamlines(folder / STREAMLINES, medium, lines, title)
    return [*(file for file, drawn in zip(written, lines.values(), strict=True) if drawn), folder / STREAMLINES]


def in_json(medium: Medium, found: EffectiveConductivity, cubes: Sequence[CubesOfSize] = ()) -> dict[str, Any]:
    """The numbers, null where there are none."""
    return {
        "voxels": list(medium.labels.shape[::-1]),
        "phases": [
            {"label": name, "conductivity": value, "fraction": share}
            for name, value, share in zip(medium.names, medium.values.tolist(), found.fractions.tolist(), strict=True)
        ],
        "mean": found.mean,
        "conductivity": [_numbers(row) for row in found.conductivity.tolist()],
        "bounds": [_numbers(row) for row in found.bounds.tolist()],
        "tortuosity": _numbers(found.tortuosity.tolist()),
        "unconnected": {name: along.unconnected for name, along in found.along.items()},
        "iterations": {name: along.iterations for name, along in found.along.items()},
        "cubes": [
            {"size": each.size, "conductivity": each.values.tolist(), "mean": each.means.tolist()} for each in cubes
        ],
        "seconds": found.seconds,
    }


def _numbers(values: list[float]) -> list[float | None]:
    return [value if isfinite(value) else None for value in values]


# --- pictures: medium, temperature and flux on a plane, and the cubes of each size


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
                (
                    "flux over its mean [1]",
                    _flux_size(medium, along.temperature, AXES.index(name), middle, place),
                    "viridis",
                ),
            )
            step = max(1, max(shown[0][1].shape) // PIXELS)
            rows.append(
                [
                    PlanePicture(text, values[::step, ::step], (labels[0], labels[1]), colours)
                    for text, values, colours in shown
                ]
            )
    draw_image_grid(path, rows, title)


def _flux_size(medium: Medium, temperature: np.ndarray, gradient: int, middle: int, place: int) -> np.ndarray:
    """The size of the flux in each voxel of a plane, over the mean of what takes part there; NaN elsewhere."""
    first = max(0, middle - 1)
    slab = tuple(slice(first, middle + 2) if number == place else slice(None) for number in range(3))
    squared = sum(values**2 for values in voxel_fluxes(medium, temperature, gradient, slab))
    size = np.sqrt(np.asarray(squared)).take(middle - first, axis=place)
    size = np.where(np.isnan(temperature.take(middle, axis=place)), np.nan, size)
    return np.asarray(size / ((np.nanmean(size) if np.isfinite(size).any() else 0.0) or 1.0))


def draw_streamlines(path: Path, medium: Medium, lines: Mapping[str, Sequence[Streamline]], title: str) -> None:
    """The streamlines of each axis seen from outside, coloured by the size of the flux. Raises OSError."""
    sides = np.array(medium.voxel) * medium.labels.shape[::-1]
    views = [
        LinesInside(f"gradient along {name}", [each.points for each in found], [each.flux for each in found])
        for name, found in lines.items()
    ]
    draw_lines_inside(path, views, sides, "flux over its mean [1]", title)


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
