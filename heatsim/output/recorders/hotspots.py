"""Hot spots on the last frames of the slices: `hotspots.csv`, and a picture of each slice with its spots."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np

from heatsim.base.quantity import Quantity
from heatsim.errors import InputFileError
from heatsim.output.hotspots import Spot, find_spots
from heatsim.output.recorders import Silent
from heatsim.store.slice_frames import SliceFrame, read_slice_frame
from heatsim.store.snapshots import read_geometry_plane
from heatsim.store.tables import HotSpot, write_hotspots

if TYPE_CHECKING:
    from heatsim.output.recorders.writer import Writer
    from heatsim.problem import Problem
    from heatsim.scenario.output import Hotspots
    from heatsim.store.folder import RunFolder


class HotspotRecorder(Silent):
    """Searches when the run ends, on the slices that were kept till then; it has to be closed after their recorders."""

    checks_finite_itself = False

    def __init__(self, folder: RunFolder, writer: Writer, wanted: Hotspots, ambients: Collection[str]) -> None:
        super().__init__(())
        self._folder, self._writer, self._wanted, self._ambients = folder, writer, wanted, ambients

    def close(self, finished: bool) -> None:
        """Have the slices searched."""
        with self._writer.room() as submit:
            submit(lambda: search_slices(self._folder, self._wanted, ambients=self._ambients))


def make(problem: Problem, folder: RunFolder, writer: Writer) -> list[HotspotRecorder]:
    """The search for hot spots, if it is asked for."""
    scenario = problem.scenario
    if scenario.hotspots is None:
        return []
    return [HotspotRecorder(folder, writer, scenario.hotspots, scenario.ambients)]


def search_slices(
    folder: RunFolder,
    wanted: Hotspots,
    names: Sequence[str] | None = None,
    device: str = "cpu",
    ambients: Collection[str] = (),
) -> list[HotSpot]:
    """Find the hot spots on the slices of a run (all, or those named), write their table and draw them.

    The mean of the last `wanted.frames` frames of a slice is searched, and reported under the time of the last. Slices
    one cell wide are passed over. ambients: the names of materials that are no part of the field. Raises `OSError`,
    `InputFileError`.
    """
    found: list[HotSpot] = []
    solved: set[Quantity] = set()
    for name in folder.slice_names() if names is None else names:
        paths = folder.slice_frame_paths(name)[-wanted.frames :]
        frames = [read_slice_frame(path) for path in paths]
        if frames and frames[-1].faces is not None:
            raise InputFileError(paths[-1], "has unequal cells; hot spots are searched for on equal cells only")
        if frames and min(frames[-1].field.shape) > 1:
            fields = np.stack([frame.field for frame in frames])
            solid = _solid(folder, frames[-1], ambients)
            spots = find_spots(fields, spacing(frames[-1]), wanted.scales, wanted.threshold, device, solid)
            here = [_placed(name, frames[-1], spot) for spot in spots]
            _draw(folder, name, frames[-1], fields.mean(axis=0), here)
            found += here
            solved.add(Quantity(frames[-1].name, frames[-1].unit))
    if solved:  # a run that came to no frame has no table
        write_hotspots(folder.hotspots, found, solved.pop())
    return found


def spacing(frame: SliceFrame) -> tuple[float, float]:
    """Size of the cells of a frame along its rows and columns (vertically, horizontally), m."""
    left, right, bottom, top = frame.extent
    rows, columns = frame.field.shape
    return (top - bottom) / rows, (right - left) / columns


def _solid(folder: RunFolder, frame: SliceFrame, ambients: Collection[str]) -> np.ndarray | None:
    """Which cells of a frame are of no ambient; None if all."""
    if not ambients:
        return None
    materials, names = read_geometry_plane(folder.geometry, frame.normal, frame.position)
    solid = ~np.array([name in ambients for name in names])[materials]
    return None if solid.all() else np.asarray(solid)


def _placed(name: str, frame: SliceFrame, spot: Spot) -> HotSpot:
    height, width = spacing(frame)
    place = {
        frame.axes[0]: frame.extent[2] + (spot.row + 0.5) * height,
        frame.axes[1]: frame.extent[0] + (spot.column + 0.5) * width,
        frame.normal: frame.position,
    }
    return HotSpot(name, frame.time, place["x"], place["y"], place["z"], spot.scale, spot.temperature, spot.rise)


def _draw(folder: RunFolder, name: str, frame: SliceFrame, field: np.ndarray, spots: Sequence[HotSpot]) -> None:
    from heatsim.output.pictures.frames import downsample, plane_style, position_text, time_text
    from heatsim.output.pictures.slices import HotspotMark, draw_hotspots, pixels

    vertical, horizontal = frame.axes
    marks = [HotspotMark(getattr(spot, horizontal), getattr(spot, vertical), spot.scale, spot.rise) for spot in spots]
    count = "1 hot spot" if len(spots) == 1 else f"{len(spots) or 'no'} hot spots"
    draw_hotspots(
        folder.hotspot_picture(name),
        downsample(field, None, pixels(frame.extent))[0],
        frame.extent,
        marks,
        plane_style(frame, f"{time_text(frame.time, frame.time)}{position_text(frame)}:  {count}"),
    )
