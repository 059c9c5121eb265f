"""Voxelising: which cells a shape covers, and the material of each cell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from heatsim.base.grid import AXES, CellGrid
from heatsim.base.threads import made
from heatsim.errors import InputFileError, Issue, ScenarioError
from heatsim.problem.shapes.floorplans import ChipBlock, places_in_blocks, read_plan
from heatsim.problem.shapes.layouts import LayerName, covered, encloses, read_layer
from heatsim.problem.shapes.point_values import require_finite
from heatsim.problem.shapes.stl import StlSurface, read_surface
from heatsim.scenario import Expression, Scenario
from heatsim.scenario.language.toml.messages import did_you_mean, quote
from heatsim.scenario.language.toml.positions import Key
from heatsim.scenario.regions import (
    ArrayFile,
    Cylinder,
    Floorplan,
    GdsLayer,
    Labels,
    Shape,
)
from heatsim.store.inputs import read_array

UNASSIGNED = 255

Window = tuple[slice, slice, slice]  # of cells along z, y, x


def shape_window(scenario: Scenario, key: Key, shape: Shape | None, grid: CellGrid) -> Window:
    """Cells along z, y, x among which all cells of the shape at `key` are: few, where its bounds are known.

    Raises `ScenarioError` for a floorplan as `floorplan_blocks` does.
    """
    bounds = None if shape is None else shape.bounds()
    if shape is not None and shape.floorplan is not None:
        (left, bottom), (right, top) = plan_bounds(scenario, key, shape.floorplan)
        bounds = (left, bottom, shape.floorplan.z[0]), (right, top, shape.floorplan.z[1])
    if bounds is None:
        return _everywhere(grid)
    z, y, x = (_between(grid, axis, bounds[0][2 - i], bounds[1][2 - i]) for i, axis in enumerate("zyx"))
    return z, y, x


def plan_bounds(scenario: Scenario, key: Key, plan: Floorplan) -> list[list[float]]:
    """The least and the greatest x and y of the blocks that a shape at `key` names, m. Raises as `floorplan_blocks`."""
    blocks = floorplan_blocks(scenario, key, plan)
    return [
        [end(getattr(block, name) + plan.at[i] for block in blocks) for i, name in enumerate(names)]
        for end, names in ((min, ("left", "bottom")), (max, ("right", "top")))
    ]


def _everywhere(grid: CellGrid) -> Window:
    nz, ny, nx = grid.shape
    return slice(0, nz), slice(0, ny), slice(0, nx)


def _between(grid: CellGrid, axis: str, low: float, high: float) -> slice:
    """The cells along an axis with centres between two places, and one more on either side, for rounding."""
    centres = _centres(grid, axis)
    first, last = (int(np.searchsorted(centres, place)) for place in (low, high))
    return slice(max(first - 1, 0), min(last + 1, len(centres)))


@lru_cache(maxsize=6)
def _centres(grid: CellGrid, axis: str) -> np.ndarray:
    return grid.centres(axis)


def shape_masks(
    scenario: Scenario, key: Key, shape: Shape | None, grid: CellGrid, window: Window | None = None
) -> Iterator[np.ndarray]:
    """Which cells have their centre inside the shape at `key`, plane by plane (ny, nx), z upwards; None is everywhere.
    window: the cells that are looked at, all if left out.

    Raises `ScenarioError` for a condition that is undefined at some centre, and an STL file that cannot be used.
    """
    z, y, x = window or _everywhere(grid)
    along_x, along_y, heights = _centres(grid, "x")[None, x], _centres(grid, "y")[y, None], _centres(grid, "z")[z]
    planes: Iterable[np.ndarray]
    if shape is None or not shape.forms:
        planes = (np.array(True) for _ in heights)
    elif shape.stl is not None:
        planes = _solid(scenario, (*key, "stl"), shape.stl, grid)[z, y, x]
    elif shape.labelled is not None:
        labels = _read_labels(scenario, (*key, "labelled"), shape.labelled, grid.shape)
        planes = np.isin(labels, shape.labelled.labels)[z, y, x]
    elif shape.where is not None:
        planes = (_where(scenario, (*key, "where"), shape.where, along_x, along_y, height) for height in heights)
    elif drawing := shape.floorplan or shape.gds:
        if isinstance(drawing, Floorplan):
            drawn = _drawn_blocks(floorplan_blocks(scenario, key, drawing), drawing, grid)
        else:
            drawn = _layer_cells(scenario, (*key, "gds", "file"), drawing, grid)
        planes = (drawn[y, x] if drawing.reaches(float(height)) else np.array(False) for height in heights)
    else:
        planes = (contains_points(shape, along_x, along_y, float(height)) for height in heights)
    for plane in planes:
        yield np.broadcast_to(plane, (y.stop - y.start, x.stop - x.start))


def _where(
    scenario: Scenario, key: Key, condition: Expression, x: np.ndarray, y: np.ndarray, height: float
) -> np.ndarray:
    truth = np.asarray(condition(x=x, y=y, z=float(height)))
    require_finite(scenario, key, truth, f"in the plane z = {height:g} m")
    return np.asarray(truth != 0)


def contains_points(shape: Shape, x: np.ndarray | float, y: np.ndarray | float, z: np.ndarray | float) -> np.ndarray:
    """Whether points, m, lie in a box, sphere, cylinder or polygon, or where a condition holds; not where it is
    undefined."""
    point = x, y, z
    if shape.where is not None:
        return np.asarray(np.nan_to_num(shape.where(x=x, y=y, z=z)) != 0)
    if shape.box:
        inside = np.array(True)
        for low, value, high in zip(shape.box.lower, point, shape.box.upper, strict=True):
            inside = inside & (low <= value) & (value <= high)
        return inside
    if shape.sphere:
        squares = [(value - centre) ** 2 for value, centre in zip(point, shape.sphere.center, strict=True)]
        return np.asarray(sum(squares) <= shape.sphere.radius**2)
    if shape.polygon:
        polygon, (low, high) = shape.polygon, shape.polygon.span
        along, (u, v) = point["xyz".index(polygon.axis)], (point[number] for number in polygon.across)
        return np.asarray(encloses(np.array(polygon.points), u, v) & (low <= along) & (along <= high))
    assert shape.cylinder
    return _in_cylinder(shape.cylinder, point)


def _in_cylinder(cylinder: Cylinder, point: tuple[np.ndarray | float, ...]) -> np.ndarray:
    axis = [end - start for start, end in zip(cylinder.start, cylinder.end, strict=True)]
    away = [value - start for start, value in zip(cylinder.start, point, strict=True)]
    length2 = sum(a * a for a in axis)
    along = sum(a * b for a, b in zip(axis, away, strict=True)) / length2  # 0 at the start, 1 at the end
    distance2 = sum(b * b for b in away) - along**2 * length2
    return np.asarray((along >= 0) & (along <= 1) & (distance2 <= cylinder.radius**2))


def neighbours_along(axis: int) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    """All cells but the last, and all but the first, along an axis of an array (nz, ny, nx)."""
    before, after = (
        tuple(part if i == axis else slice(None) for i in range(3)) for part in (slice(-1), slice(1, None))
    )
    return before, after


def with_neighbours(values: np.ndarray, reduce: np.ufunc) -> np.ndarray:
    """The values of each cell and its neighbours, diagonal ones too, brought together."""
    for axis in range(3):
        found, (before, after) = values.copy(), neighbours_along(axis)
        found[after] = reduce(found[after], values[before])
        found[before] = reduce(found[before], values[after])
        values = found
    return values


def floorplan_blocks(scenario: Scenario, key: Key, floorplan: Floorplan) -> list[ChipBlock]:
    """The blocks that a shape at `key` names. Raises `ScenarioError` for a file that is no floorplan, or has no such
    block."""
    try:
        plan = read_plan(floorplan.file)
    except InputFileError as error:
        flaw = scenario.issue_at((*key, "floorplan", "file"), f"{error.path}: {error.message}")
        raise ScenarioError([flaw]) from None
    named = list(plan.blocks) if floorplan.unit is None else plan.named(floorplan.unit)
    if not named:
        names = [block.name for block in plan.blocks]
        message = f"expected the name of a block of {floorplan.file.name}, found {quote(floorplan.unit or '')}"
        hint = (
            did_you_mean(floorplan.unit or "", names) or f"{', '.join(names[:12])}{', ...' if len(names) > 12 else ''}"
        )
        raise ScenarioError([scenario.issue_at((*key, "floorplan", "unit"), message, hint)])
    return named


def _drawn_blocks(blocks: list[ChipBlock], floorplan: Floorplan, grid: CellGrid) -> np.ndarray:
    """(ny, nx) which cells of a plane have their centre in one of some blocks of a floorplan."""
    if floorplan.unit is None:
        return _whole_floorplan(floorplan.file, _stamp(floorplan.file), floorplan.at, grid)
    return _in_rectangles(blocks, floorplan.at, grid)


@lru_cache(maxsize=16)
def _whole_floorplan(file: Path, stamp: int, at: tuple[float, float], grid: CellGrid) -> np.ndarray:
    """Kept, since the cells of a shape are asked for more than once."""
    return _in_rectangles(read_plan(file).blocks, at, grid)


def _in_rectangles(blocks: Sequence[ChipBlock], at: tuple[float, float], grid: CellGrid) -> np.ndarray:
    inside = np.zeros(grid.shape[1:], bool)
    for rows, columns in block_cells(blocks, at, grid):
        inside[rows, columns] = True
    return inside


def block_cells(blocks: Sequence[ChipBlock], at: tuple[float, float], grid: CellGrid) -> Iterator[tuple[slice, slice]]:
    """The cells along y and x whose centres are in each of some blocks, of a floorplan with its origin at `at`, m."""
    x, y = (_centres(grid, axis) - start for axis, start in zip("xy", at, strict=True))
    return places_in_blocks(blocks, x, y)


def _layer_cells(scenario: Scenario, key: Key, gds: GdsLayer, grid: CellGrid) -> np.ndarray:
    """(ny, nx) which cells of a plane the polygons of a layer cover."""
    name = LayerName(gds.layer, gds.datatype, gds.cell)
    try:
        return _rastered(gds.file, _stamp(gds.file), name, gds.at, grid)
    except InputFileError as error:
        raise ScenarioError([scenario.issue_at(key, f"{error.path}: {error.message}")]) from None


@lru_cache(maxsize=16)
def _rastered(file: Path, stamp: int, name: LayerName, at: tuple[float, float], grid: CellGrid) -> np.ndarray:
    """Kept, since the cells of a shape are asked for more than once."""
    return covered(read_layer(file, name), grid.centres("x") - at[0], grid.centres("y") - at[1])


def _solid(scenario: Scenario, key: Key, file: Path, grid: CellGrid) -> np.ndarray:
    """Which cells have their centre inside the closed surface of an STL file, (nz, ny, nx)."""
    try:
        surface = stl_surface(file)
    except InputFileError as error:
        raise ScenarioError([scenario.issue_at(key, f"{error.path}: {error.message}")]) from None
    ends = zip(surface.lower, surface.upper, AXES, strict=True)
    if any(high <= grid.span(axis)[0] or low >= grid.span(axis)[1] for low, high, axis in ends):
        spans = zip(AXES, surface.lower, surface.upper, strict=True)
        extent = ", ".join(f"{axis} from {low:.4g} to {high:.4g}" for axis, low, high in spans)
        message = f"lies outside the grid: it has {extent} (m)"
        raise ScenarioError([scenario.issue_at(key, message, "coordinates in an STL file count as metres")])
    return _voxels(file, _stamp(file), grid)


def stl_surface(file: Path) -> StlSurface:
    """The closed surface of an STL file. Raises InputFileError as `read_surface` does."""
    return _surface(file, _stamp(file))


def _stamp(file: Path) -> int:
    """Tells a file that has changed."""
    return file.stat().st_mtime_ns if file.exists() else 0


@lru_cache(maxsize=4)
def _surface(file: Path, stamp: int) -> StlSurface:
    return read_surface(file)


@lru_cache(maxsize=4)
def _voxels(file: Path, stamp: int, grid: CellGrid) -> np.ndarray:
    """Kept, since the cells of a shape are asked for more than once."""
    return _surface(file, stamp).inside(grid.centres("x"), grid.centres("y"), grid.centres("z"))


def voxelise_regions(scenario: Scenario, grid: CellGrid, names: list[str]) -> np.ndarray:
    """The material of each cell as an index into `names`, uint8 (nz, ny, nx).

    Regions are painted in order, later over earlier. Raises `ScenarioError` for a region that covers no cell centre, a
    label file that cannot be used, and cells left without a material.
    """
    material = made(grid.shape, np.uint8, lambda z: UNASSIGNED)
    for number, region in enumerate(scenario.regions):
        if region.labels is not None:
            _paint_labels(scenario, ("regions", number, "labels"), region.labels, names, material)
            continue
        index = names.index(region.material or "")
        if not region.forms:
            material[...] = index
            continue
        touched, key = False, ("regions", number)
        window = shape_window(scenario, key, region, grid)
        masks = shape_masks(scenario, key, region, grid, window)
        for plane, mask in zip(material[window], masks, strict=True):
            plane[mask] = index
            touched = touched or bool(mask.any())
        if not touched:
            raise ScenarioError([_covers_nothing(scenario, ("regions", number), region)])
    if material.max() == UNASSIGNED:
        missing = int((material == UNASSIGNED).sum())
        message = f"expected regions that cover the grid, found {missing} cells without a material"
        raise ScenarioError([scenario.issue_at(("regions",), message, "let the first region have no shape")])
    return material


def last_regions(scenario: Scenario, grid: CellGrid) -> np.ndarray:
    """The number of the last region over each cell, (nz, ny, nx) of unsigned integers; labels lie over all cells."""
    last = np.zeros(grid.shape, np.min_scalar_type(len(scenario.regions)))
    for number, region in enumerate(scenario.regions):
        if region.labels is not None:
            last[:] = number
            continue
        window = shape_window(scenario, ("regions", number), region, grid)
        masks = shape_masks(scenario, ("regions", number), region, grid, window)
        for plane, mask in zip(last[window], masks, strict=True):
            plane[mask] = number
    return last


def _covers_nothing(scenario: Scenario, key: Key, shape: Shape) -> Issue:
    return scenario.issue_at((*key, *shape.forms), "covers no cell centre", "make it larger, or the cells smaller")


def covered_volume(
    scenario: Scenario, key: Key, shape: Shape | None, grid: CellGrid, solid: np.ndarray | None = None
) -> float:
    """Volume of the cells in a shape, m3, or of those of them that are `solid`; raises `ScenarioError` if there are
    none."""
    volume, window = 0.0, shape_window(scenario, key, shape, grid)
    across = None if grid.equal else np.outer(grid.measure("y")[window[1]], grid.measure("x")[window[2]])
    heights = grid.measure("z")[window[0]]
    for z, mask in enumerate(shape_masks(scenario, key, shape, grid, window)):
        inside = mask if solid is None else mask & solid[window][z]
        volume += float(inside.sum() if across is None else (heights[z] * across)[inside].sum())
    if volume == 0 and shape is not None:
        beside = solid is not None and any(mask.any() for mask in shape_masks(scenario, key, shape, grid))
        if not beside:
            raise ScenarioError([_covers_nothing(scenario, key, shape)])
        raise ScenarioError([scenario.issue_at((*key, *shape.forms), "covers ambients only", "they are not solved")])
    return volume * grid.cell_volume if grid.equal else volume


def _paint_labels(scenario: Scenario, key: Key, labels: Labels, names: list[str], material: np.ndarray) -> None:
    array = _read_labels(scenario, key, labels, material.shape)
    unknown = [int(label) for label in np.unique(array) if int(label) not in labels.map]
    if unknown:
        message = f"expected a material for every label, found none for {', '.join(map(str, unknown[:8]))}"
        raise ScenarioError([scenario.issue_at((*key, "map"), message)])
    for label, name in labels.map.items():
        material[array == label] = names.index(name)


def _read_labels(scenario: Scenario, key: Key, labels: ArrayFile, shape: tuple[int, ...]) -> np.ndarray:
    array = read_cells(scenario, (*key, "file"), labels.file, labels.dataset, shape)
    if array.dtype.kind not in "biu":
        message = f"expected whole numbers in {labels.file.name}, found {array.dtype}"
        raise ScenarioError([scenario.issue_at((*key, "file"), message)])
    return array


def read_cells(scenario: Scenario, key: Key, file: Path, dataset: str | None, shape: tuple[int, ...]) -> np.ndarray:
    """Read an array with one value a cell, (nz, ny, nx); a 2-D array (rows, columns) serves a grid one cell thick.

    Raises `ScenarioError` at `key` when the file is missing, damaged or of another shape.
    """
    try:
        array = read_array(file, dataset, max_elements=int(np.prod(shape)))
    except InputFileError as error:
        raise ScenarioError([scenario.issue_at(key, f"{error.path}: {error.message}")]) from None
    if array.ndim == 2 and file.suffix.lower() == ".png":
        array = array[::-1]  # pictures start at the top
    squeezed = tuple(n for n in shape if n > 1)
    if array.shape != shape and array.shape != squeezed:
        found = " x ".join(map(str, array.shape)) or "a single number"
        message = f"expected an array (nz, ny, nx) = {' x '.join(map(str, shape))}, found {found}"
        raise ScenarioError([scenario.issue_at(key, message)])
    return array.reshape(shape)
