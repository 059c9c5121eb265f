"""Pictures of planes and lines through the snapshots of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from heatsim.base.grid import AXES, cell_index
from heatsim.base.quantity import Quantity
from heatsim.errors import InputFileError, RequestError
from heatsim.output.pictures.curve import Curve
from heatsim.output.pictures.frames import (
    Tell,
    fit_to_page,
    joint_limits,
    plane_materials,
    plane_style,
    plane_subtitle,
    time_text,
    value_range,
)
from heatsim.output.pictures.options import PictureOptions
from heatsim.output.pictures.pages import PlaneStyle
from heatsim.output.pictures.plane_view import Arrows, PlaneMaterials
from heatsim.output.pictures.slices import draw_slice
from heatsim.output.pictures.units import scaled_unit
from heatsim.problem import build_problem
from heatsim.scenario import load
from heatsim.store.field_reader import FieldInfo, FieldReader, SnapshotHeader
from heatsim.store.slice_frames import SliceFrame, frame_of_plane
from heatsim.store.snapshots import read_geometry_block, unsolved_names

Point = tuple[float, float, float]
VECTORS = ("heat_flux", "gradient")
_QUANTITIES = {"peak_temperature": "Peak temperature"}
_DIFFERENCE_COLOURS, _RISES, _FALLS = "RdBu_r", "Reds", "Blues_r"  # of a difference: of both signs, of one
_POINTS = 400  # of a line between two points, at most
_ROUNDING = 1e-3  # of the largest difference: smaller ones of the other sign are no reason for two sides of a scale


@dataclass(frozen=True)
class PlaneRequest:
    """A plane of a field, "" for what was solved for: normal to an axis, at a place in m; None: through the middle of
    the box, across its shortest side. minus: the snapshots and the time whose values are taken off; a time of None is
    the same time.
    """

    field: str = ""
    axis: str | None = None
    at: float | None = None
    minus: tuple[FieldReader, float | None] | None = None
    arrows: bool = True


class PlaneSource:
    """The planes of a request, from the snapshots of a run."""

    def __init__(self, reader: FieldReader, request: PlaneRequest) -> None:
        """Raises RequestError for a field, a place or a difference that there is not."""
        grid = reader.grid
        self.reader, self._request, self.minus = reader, request, request.minus
        self.field = request.field or reader.quantity.name
        # An axis of one cell is not resolved, however long it is.
        shortest = min(AXES[::-1], key=lambda axis: (grid.shape[2 - AXES.index(axis)] > 1, np.ptp(grid.span(axis))))
        self.axis = request.axis or ("y" if grid.coordinates == "cylindrical" else shortest)
        low, high = grid.span(self.axis)
        at = 0.5 * (low + high) if request.at is None else request.at
        if not low - 1e-9 * (high - low) <= at <= high + 1e-9 * (high - low):
            raise RequestError(f"{self.axis} = {at:g} m is outside the box, which goes from {low:g} m to {high:g} m")
        self.index = cell_index(grid, self.axis, at)
        self.position = float(grid.centres(self.axis)[self.index])
        self._names = vector_components(reader, self.field)
        info = reader.require(self._names[0] or self.field)
        self.unit, self.long_name = info
        if request.minus is not None and self.unit == "degC":  # a difference of temperatures
            self.unit = "K"
        self.jumps = vector_name(reader, self.field) is not None
        if request.minus is not None:
            request.minus[0].require(self._names[0] or self.field)
        if request.minus is not None and request.minus[0].grid != grid:
            raise RequestError(f"{request.minus[0].folder.path}: its grid is not that of {reader.folder.path}")
        name = self.field.replace("_", " ") if any(self._names) else _QUANTITIES.get(self.field, self.long_name)
        self.quantity = f"{name[:1].upper()}{name[1:]}{' difference' if self.minus else ''}"
        self.taken_off = self._taken_off()
        self._last: tuple[SnapshotHeader, tuple[SliceFrame, Arrows | None]] | None = None

    def frame(self, snapshot: SnapshotHeader) -> tuple[SliceFrame, Arrows | None]:
        """The plane at a snapshot, and the components of a vector within it. Raises InputFileError.

        The last one is kept: a single picture reads its plane once.
        """
        if self._last is None or self._last[0] != snapshot:
            self._last = snapshot, self._read(snapshot)
        return self._last[1]

    def _read(self, snapshot: SnapshotHeader) -> tuple[SliceFrame, Arrows | None]:
        values, arrows = self._values(self.reader, snapshot)
        if self._request.minus is not None:
            other, time = self._request.minus
            values = values - self._values(other, other.at(snapshot.time if time is None else time))[0]
        grid, shown, title = self.reader.grid, Quantity(self.field, self.unit), self.reader.title
        frame = frame_of_plane(grid, self.axis, self.index, values, snapshot.time, snapshot.step, shown, title)
        return frame, arrows if self._request.arrows else None

    def _values(self, reader: FieldReader, snapshot: SnapshotHeader) -> tuple[np.ndarray, Arrows | None]:
        """Values, of a vector the magnitude, and its components along columns and rows."""
        names = self._names
        if not any(names):
            return reader.plane(snapshot, self.field, self.axis, self.index), None
        parts = {
            axis: reader.plane(snapshot, name, self.axis, self.index)
            for axis, name in zip(AXES, names, strict=True)
            if name
        }
        rows, columns = (other for other in reversed(AXES) if other != self.axis)
        zero = np.zeros_like(next(iter(parts.values())))
        return np.sqrt(sum(part**2 for part in parts.values())), (parts.get(columns, zero), parts.get(rows, zero))

    def _taken_off(self) -> str:
        """What is taken off, in words; "" for nothing. Raises RequestError for a time of a steady state alone."""
        if self.minus is None:
            return ""
        other, time = self.minus
        name = "" if other is self.reader else other.folder.path.name
        if time is None:
            return f"less {name}"
        found = other.at(time).time
        if not name and not np.isfinite(found):
            raise RequestError(f"{other.folder.path}: a steady state has no other time that can be taken off")
        return f"less {time_text(found, found)}{f' of {name}' if name else ''}"


def vector_name(reader: FieldReader, field: str) -> str | None:
    """The vector that a field is, or is a component of, as the run names it; None of other fields."""
    names = map(reader.quantity.field_name, VECTORS)
    return next((name for name in names if field.startswith(name)), None)


def vector_components(reader: FieldReader, field: str) -> tuple[str, str, str]:
    """The names of a vector's components along x, y, z in the snapshots, "" where there is none; of another field all
    empty."""
    if field != vector_name(reader, field):
        return "", "", ""
    letters = ("r", "", "z") if reader.grid.coordinates == "cylindrical" else AXES
    names = [f"{field}_{letter}" if letter else "" for letter in letters]
    reader.require(names[0]) if names[0] in reader.fields else reader.require(field)
    return names[0], names[1], names[2]


def draw_planes(
    source: PlaneSource,
    snapshots: Sequence[tuple[SnapshotHeader, Path]],
    options: PictureOptions,
    tell: Tell,
    drawn: Callable[[int], None] = lambda count: None,
) -> list[Path]:
    """Draw a plane at some times, each into its file; returns those drawn. Snapshots whose data are damaged are left
    out, and reported; `drawn` is called with how many are done.

    Raises OSError; InputFileError where none can be read.
    """
    materials = plane_materials(source.reader.folder, source.axis, source.position, source.jumps)
    readable = list(_survey(source, snapshots, materials, tell))
    limits = _limits(source, [extremes for _, _, extremes in readable], options)
    page, end = None, snapshots[-1][0].time
    for number, (header, path, extremes) in enumerate(readable, 1):
        frame, arrows = source.frame(header)
        if options.range == "frame":
            page, limits = None, _limits(source, [extremes], options)
        cut, field, faces, overlay = fit_to_page(frame, options, materials, arrows)
        subtitle = ",  ".join(filter(None, (plane_subtitle(cut, field, end), source.taken_off)))
        style = plane_style(cut, subtitle, limits, options)
        style = replace(style, quantity=source.quantity, colours=_colours_of(limits) if source.minus else style.colours)
        field, style = in_handy_units(field, style)
        page = draw_slice(path, field, cut.extent, style, faces=faces, overlay=overlay, page=page)
        drawn(number)
    return [path for _, path, _ in readable]


def _survey(
    source: PlaneSource,
    snapshots: Sequence[tuple[SnapshotHeader, Path]],
    materials: PlaneMaterials | None,
    tell: Tell,
) -> Iterator[tuple[SnapshotHeader, Path, tuple[float, float]]]:
    """The snapshots whose plane can be read, with its lowest and highest value."""
    errors = []
    for header, path in snapshots:
        try:
            values = source.frame(header)[0].field
        except InputFileError as error:
            tell(f"{error}; it is left out")
            errors.append(error)
            continue
        yield header, path, value_range(values, materials)
    if len(errors) == len(snapshots):
        raise errors[0]


def _limits(
    source: PlaneSource, extremes: Sequence[tuple[float, float]], options: PictureOptions
) -> tuple[float, float]:
    """The ends of the colour scale; of a difference those about 0, or from 0 where it has one sign."""
    if isinstance(options.range, tuple):
        return options.range
    low, high = joint_limits(extremes)
    if not source.minus:
        return low, high
    largest = max(abs(low), abs(high))
    if low >= -_ROUNDING * largest and high > 0.0:
        return 0.0, high
    if high <= _ROUNDING * largest and low < 0.0:
        return low, 0.0
    return -largest, largest


def _colours_of(limits: tuple[float, float]) -> str:
    """The colours of a difference: blue below 0, red above it."""
    low, high = limits
    return _DIFFERENCE_COLOURS if low < 0.0 < high or low == high else _RISES if low >= 0.0 else _FALLS


def in_handy_units(field: np.ndarray, style: PlaneStyle) -> tuple[np.ndarray, PlaneStyle]:
    """A field and its style in a unit whose numbers have few digits; temperatures stay as they are."""
    limits = style.limits
    if style.unit in ("K", "degC") or limits is None:
        return field, style
    factor, unit = scaled_unit(max(map(abs, limits)), style.unit)
    if factor == 1.0:
        return field, style
    scaled = limits[0] / factor, limits[1] / factor
    levels = tuple(level / factor for level in style.levels)
    return field / factor, replace(style, unit=unit, limits=scaled, levels=levels)


def line_curves(
    reader: FieldReader, field: str, ends: tuple[Point, Point], headers: Sequence[SnapshotHeader]
) -> list[Curve]:
    """The values of a field from one point (x, y, z) in m to another, a curve over the distance from the first for each
    time: those of the cells that the line passes through, at the middle of its way through each.

    Raises RequestError for a point outside the box, or a field that there is not; InputFileError.
    """
    reader.require(field)
    grid = reader.grid
    start, end = (np.array(point) for point in ends)
    for axis, *both in zip(AXES, start, end, strict=True):
        low, high = grid.span(axis)
        for place in both:
            if not low - 1e-9 * (high - low) <= place <= high + 1e-9 * (high - low):
                raise RequestError(f"line: {axis} = {place:g} m is outside the box, from {low:g} m to {high:g} m")
    if not np.any(end != start):
        raise RequestError("line: its two ends are the same point")
    cuts = [np.array([0.0, 1.0])]  # shares of the line at which faces of cells cut it
    cuts += [(grid.faces(axis) - start[i]) / (end[i] - start[i]) for i, axis in enumerate(AXES) if end[i] != start[i]]
    places = np.unique(np.concatenate(cuts).clip(0.0, 1.0))
    places = places[np.concatenate([[True], np.diff(places) > 1e-9])]
    middles = 0.5 * (places[:-1] + places[1:])
    middles = middles[:: -(-len(middles) // _POINTS)]
    points = start + middles[:, None] * (end - start)
    cells = np.array([[cell_index(grid, axis, point[i]) for i, axis in enumerate(AXES)] for point in points])
    low, high = cells.min(axis=0), cells.max(axis=0) + 1
    x, y, z = (slice(int(a), int(b)) for a, b in zip(low, high, strict=True))
    at = tuple((cells - low).T[::-1])
    distance = middles * float(np.linalg.norm(end - start))
    whole = headers[-1].time
    hidden = np.zeros(len(cells), bool)  # cells that are not solved
    if reader.folder.geometry.is_file():
        ids, names = read_geometry_block(reader.folder.geometry, (z, y, x))
        hidden = np.isin(names, unsolved_names(reader.folder.read_scenario()))[ids[at]]
    curves = []
    for header in headers:
        values = reader.read(header, field, (z, y, x))[at].astype(np.float64)
        values[hidden] = np.nan
        curves.append(Curve(time_text(header.time, whole), distance, values))
    return curves


_MOST_CELLS = 2**24  # a gigabyte of components
_FIELDS = {"heat_flux": FieldInfo("W m-2", "heat flux"), "gradient": FieldInfo("K m-1", "temperature gradient")}


def add_vector(reader: FieldReader, field: str) -> None:
    """Add a vector to the fields of a run, if `field` names it or one of its components and the snapshots do not hold
    it. It is the one that the run would have kept: across contacts, boundary faces and ambients.

    Raises RequestError where the grid is too large for this; `ScenarioError` if the scenario's files are gone.
    """
    solved = reader.quantity
    own = vector_name(reader, field)
    if own is None or any(each.startswith(own) for each in reader.fields):
        return
    name = solved.internal_field_name(own)
    if reader.grid.cells > _MOST_CELLS:
        raise RequestError(f"{name}: of so many cells it has to be kept by the run; ask for it in output.fields")
    problem = build_problem(load(reader.folder.scenario))
    letters = ("r", "", "z") if reader.grid.coordinates == "cylindrical" else ("x", "y", "z")
    names = [f"{own}_{letter}" if letter else "" for letter in letters]

    def derive(temperature: np.ndarray, time: float) -> dict[str, np.ndarray]:
        both = problem.flux_and_gradient((temperature - problem.reference).astype(problem.dtype), time)
        return {key: values for key, values in zip(names, both[name == "gradient"], strict=True) if key}

    unit, long_name = solved.in_own_unit(_FIELDS[name].unit), solved.in_own_words(_FIELDS[name].long_name)
    reader.add_derived({key: FieldInfo(unit, f"{long_name} along {key[-1]}") for key in names if key}, derive)
