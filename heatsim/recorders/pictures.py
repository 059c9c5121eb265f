"""Pictures of the slices of a run folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from heatsim.store.slice_frames import SliceFrame, read_slice_frame

if TYPE_CHECKING:
    from heatsim.plots.pages import PlaneStyle
    from heatsim.plots.slices import Faces
    from heatsim.store.folder import RunFolder


def draw_frames(folder: RunFolder, name: str) -> list[Path]:
    """Draw all frames of a slice with one colour range; returns the pictures. Raises `OSError`, `InputFileError`."""
    from heatsim.plots.slices import draw_slice, pixels
    from heatsim.plots.units import format_time

    paths = folder.slice_frame_paths(name)
    ranges = [(float(field.min()), float(field.max())) for field in (read_slice_frame(path).field for path in paths)]
    limits = min(low for low, _ in ranges), max(high for _, high in ranges)
    pictures, page = [], None
    end = read_slice_frame(paths[-1]).time
    for path in paths:
        frame = read_slice_frame(path)
        picture = folder.slice_picture(name, int(path.stem))
        field, faces = downsample_frame(frame, pixels(frame.extent))
        style = plane_style(frame, f"t = {format_time(frame.time, end)}{position_text(frame)}", limits)
        page = draw_slice(picture, field, frame.extent, style, faces=faces, page=page)
        pictures.append(picture)
    return pictures


def plane_style(frame: SliceFrame, subtitle: str, limits: tuple[float, float] | None = None) -> PlaneStyle:
    """How a frame is drawn; limits: of the colour scale, left out those of the frame."""
    from heatsim.plots.pages import PlaneStyle
    from heatsim.plots.units import axis_symbol

    vertical, horizontal = (axis_symbol(axis, frame.coordinates) for axis in frame.axes)
    return PlaneStyle((horizontal, vertical), frame.unit, frame.title or "Temperature", subtitle, limits)


def position_text(frame: SliceFrame) -> str:
    """The place of a slice as the end of a subtitle; nothing for the half plane of cylindrical coordinates."""
    from heatsim.plots.units import axis_symbol, format_length

    if (frame.coordinates, frame.normal) == ("cylindrical", "y"):
        return ""
    return f",  {axis_symbol(frame.normal, frame.coordinates)} = {format_length(frame.position)}"


def downsample_frame(frame: SliceFrame, pixels: tuple[int, int]) -> tuple[np.ndarray, Faces | None]:
    """A frame on no more cells than `pixels` (rows, columns), and the faces of these cells where they are unequal."""
    if frame.faces is None:
        return downsample_plane(frame.field, pixels), None
    if 1 in frame.field.shape:
        return frame.field, frame.faces
    field, faces = frame.field, list(frame.faces)
    for axis, (places, most) in enumerate(zip(frame.faces, pixels, strict=True)):
        pixel = ((places[:-1] - places[0]) / (places[-1] - places[0]) * most).astype(np.int64)
        first = np.flatnonzero(np.diff(pixel, prepend=-1))  # cells that begin in a pixel of their own
        field = np.maximum.reduceat(field, first, axis)
        faces[axis] = np.append(places[first], places[-1])
    return field, (faces[0], faces[1])


def downsample_plane(field: np.ndarray, pixels: tuple[int, int]) -> np.ndarray:
    """A plane on no more cells (rows, columns) than there are pixels, each the hottest of those that it stands for.

    A peak of a single cell is still seen. The last row and column may stand for fewer cells, which moves what is drawn
    by less than a pixel. Small planes, and lines, which are drawn as curves, stay as they are.
    """
    window = tuple(-(-n // most) for n, most in zip(field.shape, pixels, strict=True))
    if 1 in field.shape or window == (1, 1):
        return field
    from heatsim_kernels.filter_bank import max_pool

    return np.asarray(max_pool(field, (window[0], window[1]), keep_edge=True))
