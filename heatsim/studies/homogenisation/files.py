"""What `heatsim effective` keeps: the numbers as JSON, and pictures."""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from typing import Any

from heatsim.base.atomic import write_atomically
from heatsim.studies.homogenisation import pictures
from heatsim.studies.homogenisation.conductivity import EffectiveConductivity
from heatsim.studies.homogenisation.fluxes import find_streamlines
from heatsim.studies.homogenisation.media import AXES, Medium
from heatsim.studies.homogenisation.parts import CubesOfSize

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
        pictures.draw_flux(folder / FLUX, medium, found, title)
        written.append(folder / FLUX)
        written += _write_streamlines(folder, medium, found, title) if streamlines else []
    if cubes:
        pictures.draw_cubes(folder / CUBES, cubes, medium, found, title)
        written.append(folder / CUBES)
    return written


def _write_streamlines(folder: Path, medium: Medium, found: EffectiveConductivity, title: str) -> list[Path]:
    kept = {name: along.temperature for name, along in found.along.items() if along.temperature is not None}
    written = [folder / f"streamlines-{name}.vtp" for name in kept]
    lines = {
        name: find_streamlines(medium, T, AXES.index(name), file)
        for (name, T), file in zip(kept.items(), written, strict=True)
    }
    pictures.draw_streamlines(folder / STREAMLINES, medium, lines, title)
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
