"""The geometry of a scenario before the run: three sections and an outside view."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from heatsim.base.grid import AXES, FACE_AXES, FACES, CellGrid, cell_index
from heatsim.output.pictures.options import PictureOptions
from heatsim.output.pictures.outside_view import Body
from heatsim.output.pictures.sections import BodySection, FaceEdge, Marker, PreviewNames, draw_preview_page
from heatsim.output.pictures.units import axis_symbol, format_length
from heatsim.problem import Problem
from heatsim.problem.shapes.point_values import centre_planes, evaluate
from heatsim.problem.shapes.voxelise import shape_masks
from heatsim.scenario.sources import Source

_VIEW_CELLS = 96  # an axis, from which the body is drawn
_SECTION_CELLS = 600  # an axis of a section; finer ones are thinned out
_MAX_SLICES = 12  # that a section shows
_STRONG = 0.1  # of the greatest power density: where a source without a region is drawn
_TIMES = 5  # at which it is looked at when such a source is on

Place = tuple[float, float, float]


def draw_preview(path: Path, problem: Problem, options: PictureOptions) -> None:
    """Draw what a problem is made of into a PNG, SVG or PDF file. Raises OSError."""
    scenario, grid = problem.scenario, problem.grid
    ids = problem.material_ids()
    if ids is None:
        ids = np.broadcast_to(np.uint8(problem.zones.materials[0]), grid.shape)
    heated = _heated_cells(problem, ids)
    kinds = dict.fromkeys(scenario.exchanging_ambients, "ambient")
    names = [*scenario.materials, *(f"{name} ({kinds.get(name, 'void')})" for name in scenario.ambients)]
    void = np.arange(len(names)) >= len(scenario.materials)
    sections = [_section(problem, ids, heated, axis) for axis in _section_axes(grid)]
    cylindrical = grid.coordinates == "cylindrical"
    kept = [_kept_cells(ids, axis, _VIEW_CELLS) for axis in range(3)]
    faces = [_thinned(grid, axis, cells) for axis, cells in zip(AXES, reversed(kept), strict=True)]
    body = None if cylindrical else Body(ids[np.ix_(*kept)], void, (faces[0], faces[1], faces[2]))
    cells = " x ".join(map(str, grid.shape[::-1]))
    lengths = [float(np.ptp(grid.span(axis))) for axis in AXES if not (cylindrical and axis == "y")]
    sides = " x ".join(map(format_length, lengths))
    title = scenario.title or (scenario.path.stem if scenario.path else "A scenario")
    draw_preview_page(
        path,
        PreviewNames(title, f"{cells} cells, {sides}", names, _uncut_faces(problem), _unplaced_sources(problem, ids)),
        body,
        void,
        sections,
        options.colours,
    )


def _section_axes(grid: CellGrid) -> list[str]:
    """The normals of the sections: of those planes in which both axes are resolved, or one plane of a line."""
    if grid.coordinates == "cylindrical":
        return ["y"]
    resolved = [axis for axis in AXES if grid.shape[2 - AXES.index(axis)] > 1]
    if len(resolved) == 3:
        return ["z", "y", "x"]
    return ["y" if resolved == ["z"] else next(axis for axis in AXES[::-1] if axis not in resolved)]


def _uncut_faces(problem: Problem) -> dict[str, str]:
    """The kinds of the faces along axes that no section shows, by their names; insulated ones are left out."""
    axes = _section_axes(problem.grid)
    hidden = {} if len(axes) > 1 else {number: name for number, name in enumerate(FACES) if name[0] == axes[0]}
    kinds = {name: problem.boundary_faces.patches[number][0].condition.kind for number, name in hidden.items()}
    return {
        name: kind for name, kind in kinds.items() if kind != "insulated" and problem.grid.coordinates == "cartesian"
    }


def _heated_cells(problem: Problem, ids: np.ndarray) -> np.ndarray:
    """(nz, ny, nx) whether a source with a place releases heat in a cell that is solved: with a region, a material, or
    a density that varies in space, where this is strong. ids: materials of the cells."""
    scenario, grid = problem.scenario, problem.grid
    heated, names = np.zeros(grid.shape, bool), list(scenario.materials)
    for number, source in enumerate(scenario.sources):
        if source.material is not None:
            if not _exchanges(source, ids, names.index(source.material)):
                heated |= ids == names.index(source.material)
        elif source.region is not None:
            masks = shape_masks(scenario, ("sources", number, "region"), source.region, grid)
            for plane, mask in zip(heated, masks, strict=True):
                plane |= mask
        elif _varies_in_space(source):
            heated |= _strong_cells(problem, source)
    return heated & (ids < len(names))


def _exchanges(source: Source, ids: np.ndarray, number: int) -> bool:
    """Whether a source in a material, of this number, is named alone: an exchange with what pervades the body, or what
    depends on the temperature in most cells, as of a tissue."""
    most = bool(np.count_nonzero(ids == number) > 0.5 * ids.size)
    return source.cell_term is not None or (source.following_temperature is not None and most)


def _varies_in_space(source: Source) -> bool:
    """Whether a source has a power density, without T, that varies in space."""
    names: frozenset[str] = getattr(source.power_density, "names", frozenset())
    return source.following_temperature is None and not names.isdisjoint(AXES)


def _strong_cells(problem: Problem, source: Source) -> np.ndarray:
    """(nz, ny, nx) where the density is a tenth of its greatest or more, at that of some times at which it is so."""
    grid, end, density = problem.grid, problem.scenario.time.end, source.power_density
    assert density is not None
    best, strong = 0.0, np.zeros(grid.shape, bool)
    for time in np.linspace(0.0, end, _TIMES).tolist() if np.isfinite(end) else [0.0]:
        planes = [np.abs(evaluate(density, grid.shape[1:], **point, t=time)) for point in centre_planes(grid)]
        most = max(float(plane.max()) for plane in planes)
        if most > best:
            best, strong = most, np.stack([plane >= _STRONG * most for plane in planes])
    return strong


def _unplaced_sources(problem: Problem, ids: np.ndarray) -> list[str]:
    """What the sources are called that no place is hatched for. ids: materials of the cells."""
    names = list(problem.scenario.materials)
    found = dict[str, None]()
    for source in problem.scenario.sources:
        hidden = source.everywhere or (
            source.material is not None and _exchanges(source, ids, names.index(source.material))
        )
        if hidden and source.beam is None and not _varies_in_space(source):
            found[f"{source.amount.replace('_', ' ')}: {source.material or 'everywhere'}"] = None
    return list(found)


def _kept_cells(ids: np.ndarray, axis: int, most: int) -> np.ndarray:
    """Which cells along an axis are drawn of more than `most`: some at equal steps, and the first of each layer, so
    that a thin one is not passed over."""
    n = ids.shape[axis]
    kept = np.arange(0, n, max(1, n // most))
    if len(kept) == n:
        return kept
    planes = np.moveaxis(ids, axis, 0)
    changes = [i for i in range(1, n) if not np.array_equal(planes[i], planes[i - 1])]
    return np.union1d(kept, changes).astype(int) if len(changes) <= most else kept


def _centre(problem: Problem, heated: np.ndarray) -> Place:
    """Where sections cut: through the first probe, else the middle of the sources or of the beams, else of the box."""
    grid, probes = problem.grid, problem.scenario.output.probes
    middle = np.array([0.5 * sum(grid.span(axis)) for axis in AXES])
    beams = problem.volume_sources.beams
    if heated.any():
        cells = np.argwhere(heated)
        k, j, i = cells[np.abs(cells - cells.mean(axis=0)).sum(axis=1).argmin()].tolist()
        middle = np.array([grid.centres(axis)[n] for axis, n in zip(AXES, (i, j, k), strict=True)])
    elif beams:
        middle = beams[0].path.places.mean(axis=0)
    elif probes:
        middle = np.array(probes[0].at)
    x, y, z = middle.tolist()
    return x, y, z


def _section(problem: Problem, ids: np.ndarray, heated: np.ndarray, axis: str) -> BodySection:
    grid = problem.grid
    place = _centre(problem, heated)[AXES.index(axis)]
    index = cell_index(grid, axis, place)
    rows, columns = (other for other in reversed(AXES) if other != axis)
    at = float(grid.centres(axis)[index])
    cut = tuple(index if each == axis else slice(None) for each in reversed(AXES))
    extent = (*grid.span(columns), *grid.span(rows))
    y, x = (_kept_cells(ids[cut], along, _SECTION_CELLS) for along in (0, 1))
    places = _thinned(grid, rows, y), _thinned(grid, columns, x)
    flat = grid.coordinates == "cylindrical"
    caption = "Half plane" if flat else f"Section {axis_symbol(axis)} = {format_length(at)}"
    return BodySection(
        caption,
        (axis_symbol(columns, grid.coordinates), axis_symbol(rows, grid.coordinates)),
        extent,
        places,
        ids[cut][np.ix_(y, x)],
        heated[cut][np.ix_(y, x)],
        _edges(problem, axis, index, (rows, columns)),
        _probes(problem, axis, index, (rows, columns)),
        _slices(problem, axis, (rows, columns)),
        _paths(problem, (rows, columns)),
    )


def _thinned(grid: CellGrid, axis: str, cells: np.ndarray) -> np.ndarray:
    """The faces along an axis of cells of which only some are drawn, m."""
    return np.append(grid.faces(axis)[cells], grid.faces(axis)[-1])


def _edges(problem: Problem, axis: str, index: int, axes: tuple[str, str]) -> list[FaceEdge]:
    """The pieces of the four faces that a section cuts, each under one condition."""
    grid, found = problem.grid, list[FaceEdge]()
    for number, name in enumerate(FACES):
        normal = name[0]
        if normal == axis:
            continue
        kinds = _kinds_along(problem, number, axis, index)
        along = next(other for other in axes if other != normal)
        faces, fixed = grid.faces(along), grid.span(normal)[number % 2]
        starts = np.flatnonzero(np.concatenate([[True], kinds[1:] != kinds[:-1]]))
        for first, last in zip(starts, [*starts[1:], len(kinds)], strict=True):
            ends = np.array([[faces[first], fixed], [faces[last], fixed]])
            found.append(FaceEdge(ends if along == axes[1] else ends[:, ::-1], str(kinds[first])))
    return found


def _kinds_along(problem: Problem, number: int, axis: str, index: int) -> np.ndarray:
    """The kind of each cell of a face in a section."""
    grid = problem.grid
    rows, columns = FACE_AXES[FACES[number][0]]
    shape = tuple(grid.shape[2 - AXES.index(each)] for each in (rows, columns))
    kinds = np.full(shape[0] * shape[1], "insulated", dtype="<U12")
    for patch in problem.boundary_faces.patches[number]:
        kinds[patch.cells] = patch.condition.kind
    kinds = kinds.reshape(shape)
    return np.asarray(kinds[index] if rows == axis else kinds[:, index])


def _probes(problem: Problem, axis: str, index: int, axes: tuple[str, str]) -> list[Marker]:
    found = []
    for probe in problem.scenario.output.probes:
        place = dict(zip(AXES, probe.at, strict=True))
        inside = cell_index(problem.grid, axis, place[axis]) == index
        found.append(Marker(probe.name, place[axes[1]], place[axes[0]], inside))
    return found


def _slices(problem: Problem, axis: str, axes: tuple[str, str]) -> list[np.ndarray]:
    """The planes of `output.slices` that stand upright on a section, as lines."""
    grid, found = problem.grid, []
    for wanted in problem.scenario.output.slices[:_MAX_SLICES]:
        if wanted.axis == axis:
            continue
        along = next(other for other in axes if other != wanted.axis)
        low, high = grid.span(along)
        ends = np.array([[low, wanted.at], [high, wanted.at]])
        found.append(ends if along == axes[1] else ends[:, ::-1])
    return found


def _paths(problem: Problem, axes: tuple[str, str]) -> list[np.ndarray]:
    """The paths of beams, as far as the beams are on."""
    columns = [AXES.index(axes[1]), AXES.index(axes[0])]
    return [_legs(beam.path.places[:, columns], np.asarray(beam.path.on)) for beam in problem.volume_sources.beams]


def _legs(points: np.ndarray, on: np.ndarray) -> np.ndarray:
    """The points of a path, with a gap where the beam is off."""
    pieces = []
    for leg in np.flatnonzero(on):
        pieces += [points[leg], points[leg + 1]]
        if leg + 1 < len(on) and not on[leg + 1]:
            pieces.append(np.full(2, np.nan))
    return np.array(pieces) if pieces else points
