"""Pictures of the slices that a run kept, and what all pictures of planes share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from heatsim.errors import InputFileError, RequestError, RunFolderError
from heatsim.output.pictures.options import PictureOptions
from heatsim.output.pictures.pages import PlaneStyle
from heatsim.output.pictures.plane_view import Arrows, Faces, PlaneMaterials, extent_faces
from heatsim.output.pictures.slices import PlaneOverlay, draw_slice, pixels
from heatsim.output.pictures.units import axis_symbol, format_length, format_time, unit_symbol
from heatsim.problem.shapes.floorplans import ChipPlan, places_in_blocks, read_plan
from heatsim.store.folder import RunFolder
from heatsim.store.slice_frames import SliceFrame, read_slice_frame
from heatsim.store.snapshots import read_geometry_centres, read_geometry_plane, unsolved_names

Tell = Callable[[str], None]
SMALL_PART = 0.25  # of a plane: of a body that takes less, pictures show the body
MARGIN = 0.08  # around it, of its longer side


def draw_frames(
    folder: RunFolder,
    name: str,
    options: PictureOptions = PictureOptions(),  # noqa: B008 (it does not change)
    tell: Tell = lambda message: None,
    place: Callable[[int], Path] | None = None,
) -> list[Path]:
    """Draw all frames of a slice; returns the pictures. Frames that are damaged are left out, and reported.

    place: the file of the picture of a frame, by its number; left out, in the folder of the slices.

    Raises `OSError`; `InputFileError` where no frame can be read.
    """
    readable = _read_frames(folder.slice_frame_paths(name), tell)
    shown: SliceFrame | None = None
    materials = None
    limits = options.range if isinstance(options.range, tuple) else None
    if options.range == "run":
        limits = joint_limits(
            value_range(frame.field, plane_materials(folder, frame.normal, frame.position)) for _, frame in readable()
        )
    end = max(frame.time for _, frame in readable())
    pictures, page = [], None
    for path, frame in readable():
        if shown is None or options.range == "frame":
            materials, page = plane_materials(folder, frame.normal, frame.position), None
        shown = frame
        number = int(path.stem)
        picture = place(number) if place else folder.slice_picture(name, number, options.kind)
        cut, field, faces, overlay = fit_to_page(frame, options, materials)
        style = plane_style(cut, plane_subtitle(cut, field, end), limits, options)
        page = draw_slice(picture, field, cut.extent, style, faces=faces, overlay=overlay, page=page)
        pictures.append(picture)
    return pictures


def _read_frames(paths: Sequence[Path], tell: Tell) -> Callable[[], Iterable[tuple[Path, SliceFrame]]]:
    """A function that reads the frames again, one after the other, without those that are damaged."""
    good: list[Path] = []
    first: InputFileError | None = None
    for path in paths:
        try:
            read_slice_frame(path)
            good.append(path)
        except InputFileError as error:
            first = first or error
            tell(f"{error}; it is left out")
    if not good and first:
        raise first
    return lambda: ((path, read_slice_frame(path)) for path in good)


def value_range(field: np.ndarray, materials: PlaneMaterials | None) -> tuple[float, float]:
    """The lowest and highest finite value of the cells of a plane that are solved; 0 and 0 if there is none."""
    values = field if materials is None else field[~materials.void]
    values = values[np.isfinite(values)]
    return (float(values.min()), float(values.max())) if values.size else (0.0, 0.0)


def joint_limits(ranges: Iterable[tuple[float, float]]) -> tuple[float, float]:
    """The range that holds all."""
    lows, highs = zip(*ranges, strict=True)
    return min(lows), max(highs)


def plane_style(
    frame: SliceFrame,
    subtitle: str,
    limits: tuple[float, float] | None = None,
    options: PictureOptions = PictureOptions(),  # noqa: B008
) -> PlaneStyle:
    """How a frame is drawn; limits: of the colour scale, left out those of the frame."""
    vertical, horizontal = (axis_symbol(axis, frame.coordinates) for axis in frame.axes)
    label = frame.name.replace("_", " ").capitalize()
    return PlaneStyle(
        (horizontal, vertical),
        frame.unit,
        frame.title or label,
        subtitle,
        limits,
        label,
        theme=options.colours,
        contours=options.contours,
        levels=options.levels,
        dpi=options.dpi,
    )


def time_text(time: float, whole: float) -> str:
    """A time as a subtitle has it, in the unit that suits the time `whole`, s."""
    return "steady state" if np.isinf(time) else f"t = {format_time(time, whole)}"


def plane_subtitle(frame: SliceFrame, field: np.ndarray, whole: float) -> str:
    """Time, place, and the range of what is seen: a frame that is dark beside others has numbers, too."""
    text = f"{time_text(frame.time, whole)}{position_text(frame)}"
    seen = field[np.isfinite(field)]
    if frame.unit not in ("K", "degC") or not seen.size:
        return text
    low, high = (f"{float(value) + 0.0:.4g}" for value in (seen.min(), seen.max()))
    span = low if low == high else f"{low} to {high}"
    return f"{text},  {span} {unit_symbol(frame.unit)}"


def position_text(frame: SliceFrame) -> str:
    """The place of a slice as the end of a subtitle; nothing for the half plane of cylindrical coordinates."""
    if (frame.coordinates, frame.normal) == ("cylindrical", "y"):
        return ""
    return f",  {axis_symbol(frame.normal, frame.coordinates)} = {format_length(frame.position)}"


def plane_materials(folder: RunFolder, axis: str, place: float, jumps: bool = False) -> PlaneMaterials | None:
    """The materials of the cells of a plane; None where all cells of the run are of one material. jumps: whether values
    jump between any two materials, as a heat flux does, and not at contacts alone."""
    if not folder.geometry.is_file():
        return None
    ids, names = read_geometry_plane(folder.geometry, axis, place)
    try:
        scenario = folder.read_scenario()
    except RunFolderError:  # nothing is known of ambients and contacts then
        scenario = {}
    parts = ids
    if not jumps:  # a material that has a contact is a part of its own; all others are part 0
        touching = {name for contact in scenario.get("contacts", ()) for name in contact["between"]}
        parts = np.array([number + 1 if name in touching else 0 for number, name in enumerate(names)])[ids]
    outlined = _with_blocks(folder, scenario, ids, place) if axis == "z" else ids
    return PlaneMaterials(outlined, np.isin(names, unsolved_names(scenario))[ids], parts)


def _with_blocks(folder: RunFolder, scenario: dict[str, Any], ids: np.ndarray, height: float) -> np.ndarray:
    """The materials of a plane normal to z, with numbers of their own for the blocks of floorplans that lie in it, as
    far as their files are still there: so that blocks have outlines."""
    shapes = [*scenario.get("regions", ()), *scenario.get("output", {}).get("regions", ())]
    shapes += [source.get("region", {}) for source in scenario.get("sources", ())]
    plans = [each["floorplan"] for each in shapes if "floorplan" in each]
    plans = list({str(plan): plan for plan in plans if plan["z"][0] <= height <= plan["z"][1]}.values())
    if not plans:
        return ids
    x, y = (read_geometry_centres(folder.geometry, axis) for axis in "xy")
    found, seen, read = ids.astype(np.int64), dict[tuple[str, ...], int](), dict[str, ChipPlan]()
    for plan in plans:
        with suppress(InputFileError):
            if plan["file"] not in read:
                read[plan["file"]] = read_plan(Path(plan["file"]))
            whole, unit = read[plan["file"]], plan.get("unit")
            blocks = whole.blocks if unit is None else whole.named(unit)
            cells = places_in_blocks(blocks, x - plan["at"][0], y - plan["at"][1])
            for block, (rows, columns) in zip(blocks, cells, strict=True):
                number = seen.setdefault((plan["file"], block.name, str(plan["at"])), len(seen) + 1)
                found[rows, columns] = ids[rows, columns].astype(np.int64) + (number << 8)  # beyond those of materials
    return found


def fit_to_page(
    frame: SliceFrame, options: PictureOptions, materials: PlaneMaterials | None, arrows: Arrows | None = None
) -> tuple[SliceFrame, np.ndarray, Faces | None, PlaneOverlay]:
    """What is drawn of a frame: the frame cropped, to what is solved if that is a small part; its field and faces on no
    more cells than there are pixels; and the materials and arrows of these cells. Raises RequestError for a crop beside
    the plane."""
    cells = slice(0, frame.field.shape[0]), slice(0, frame.field.shape[1])
    crop = options.crop or (None if materials is None else _small_body(frame, materials.void))
    if crop is not None:
        cells = _cropped_cells(frame, crop)
        y, x = (places[part.start : part.stop + 1] for places, part in zip(_faces(frame), cells, strict=True))
        extent = float(x[0]), float(x[-1]), float(y[0]), float(y[-1])
        frame = replace(frame, field=frame.field[cells], extent=extent, faces=(y, x) if frame.faces else None)
    field = frame.field
    if materials is not None:
        materials = PlaneMaterials(materials.ids[cells], materials.void[cells], materials.parts[cells])
        field = np.where(materials.void, -np.inf, field)  # what is hidden is not the hottest of a pixel
    size = pixels(frame.extent)
    field, faces = downsample(field, frame.faces, size)
    if field.shape != frame.field.shape:
        at = np.ix_(*_window_starts(frame.field.shape, frame.faces, size))
        if materials is not None:
            void = ~np.isfinite(field)
            materials = PlaneMaterials(materials.ids[at], void, materials.parts[at])
    else:
        at = np.ix_(*(np.arange(n) for n in field.shape))
    if arrows is not None:
        arrows = arrows[0][cells][at], arrows[1][cells][at]
    return frame, field, faces, PlaneOverlay(materials, arrows)


def _small_body(frame: SliceFrame, void: np.ndarray) -> tuple[float, float, float, float] | None:
    """Left, right, bottom and top around what is solved, m, with a margin; None if that is no small part of the
    plane."""
    faces, ends = _faces(frame), []
    for axis, places in enumerate(faces):
        solved = np.flatnonzero(~void.all(axis=1 - axis))
        if not solved.size:
            return None
        ends.append((float(places[solved[0]]), float(places[solved[-1] + 1])))
    whole = [float(places[-1] - places[0]) for places in faces]
    if np.prod(np.diff(ends)) > SMALL_PART * np.prod(whole):
        return None
    (bottom, top), (left, right) = ends
    margin = MARGIN * max(top - bottom, right - left)
    return left - margin, right + margin, bottom - margin, top + margin


def _cropped_cells(frame: SliceFrame, crop: tuple[float, float, float, float]) -> tuple[slice, slice]:
    """The rows and columns that a crop touches."""
    found = []
    for axis, places, (low, high) in zip(frame.axes, _faces(frame), (crop[2:], crop[:2]), strict=True):
        first = int(np.searchsorted(places, low, side="right")) - 1
        last = int(np.searchsorted(places, high, side="left"))
        first, last = max(first, 0), min(last, len(places) - 1)
        if first >= last:
            span = f"{places[0]:g} to {places[-1]:g} m"
            raise RequestError(f"crop: {low:g} to {high:g} m holds no cell along {axis}, which goes from {span}")
        found.append(slice(first, last))
    return found[0], found[1]


def _faces(frame: SliceFrame) -> Faces:
    return frame.faces or extent_faces((frame.field.shape[0], frame.field.shape[1]), frame.extent)


def downsample(field: np.ndarray, faces: Faces | None, pixels: tuple[int, int]) -> tuple[np.ndarray, Faces | None]:
    """A plane on no more cells (rows, columns) than there are pixels, each the hottest of those that it stands for; and
    the faces of these cells, where `faces` are those of unequal ones.

    A peak of a single cell is still seen. The last row and column may stand for fewer cells, which moves what is drawn
    by less than a pixel. Small planes, and lines, which are drawn as curves, stay as they are.
    """
    starts = _window_starts(field.shape, faces, pixels)
    if 1 in field.shape or all(len(first) == n for first, n in zip(starts, field.shape, strict=True)):
        return field, faces
    for axis, first in enumerate(starts):
        field = np.maximum.reduceat(field, first, axis)
    if faces is not None:
        rows, columns = (np.append(places[first], places[-1]) for places, first in zip(faces, starts, strict=True))
        faces = rows, columns
    return field, faces


def _window_starts(shape: tuple[int, ...], faces: Faces | None, pixels: tuple[int, int]) -> list[np.ndarray]:
    """The first rows and columns of the cells that `downsample` makes one."""
    if faces is None:
        return [np.arange(0, n, -(-n // most)) for n, most in zip(shape, pixels, strict=True)]
    starts = []
    for places, most in zip(faces, pixels, strict=True):
        pixel = ((places[:-1] - places[0]) / (places[-1] - places[0]) * most).astype(np.int64)
        starts.append(np.flatnonzero(np.diff(pixel, prepend=-1)))  # cells that begin in a pixel of their own
    return starts
