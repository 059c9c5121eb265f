"""Pictures of the slices of a run folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from heatsim.store.slice_frames import read_slice_frame

if TYPE_CHECKING:
    from heatsim.store.folder import RunFolder


def draw_frames(folder: RunFolder, name: str) -> list[Path]:
    """Draw all frames of a slice with one colour range; returns the pictures. Raises `OSError`, `InputFileError`."""
    from heatsim.plots.slices import draw_slice, pixels
    from heatsim.plots.units import format_length, format_time

    paths = folder.slice_frame_paths(name)
    ranges = [(float(field.min()), float(field.max())) for field in (read_slice_frame(path).field for path in paths)]
    limits = min(low for low, _ in ranges), max(high for _, high in ranges)
    pictures = []
    end = read_slice_frame(paths[-1]).time
    for path in paths:
        frame = read_slice_frame(path)
        picture = folder.slice_picture(name, int(path.stem))
        draw_slice(
            picture,
            preview(frame.field, pixels(frame.extent)),
            frame.extent,
            labels=(frame.axes[1], frame.axes[0]),
            unit=frame.unit,
            limits=limits,
            title=frame.title or "Temperature",
            subtitle=f"t = {format_time(frame.time, end)},  {frame.normal} = {format_length(frame.position)}",
        )
        pictures.append(picture)
    return pictures


def preview(field: np.ndarray, pixels: tuple[int, int]) -> np.ndarray:
    """A plane on no more cells (rows, columns) than there are pixels, each the hottest of those that it stands for.

    A peak of a single cell is still seen. The last row and column may stand for fewer cells, which moves what is drawn
    by less than a pixel. Small planes, and lines, which are drawn as curves, stay as they are.
    """
    window = tuple(-(-n // most) for n, most in zip(field.shape, pixels, strict=True))
    if 1 in field.shape or window == (1, 1):
        return field
    from heatsim_kernels.bank import max_pool

    return np.asarray(max_pool(field, (window[0], window[1]), keep_edge=True))
