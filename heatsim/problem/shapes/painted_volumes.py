"""Warnings about regions that whole cells cannot hold, such as foils, rings and wires.

.-----.-----.      What is left of a region, when later ones have painted over it, is found by points within the
| o o |o o o|      cells at its edges, spread evenly and shifted from cell to cell (Roberts, The unreasonable
|###o |   o#|      effectiveness of quasirandom sequences, 2018). It is compared with the cells that have its
|  o##|#####|      material: those of a neighbour of the same material count as its own.
'-----'-----'
"""

from __future__ import annotations

from collections.abc import Iterator
from math import dist, prod
from typing import NamedTuple

import numpy as np

from heatsim.base.grid import AXES, CellGrid
from heatsim.problem.shapes.condition_measure import ShapeSize, condition_measure
from heatsim.problem.shapes.floorplans import covered_area, read_plan
from heatsim.problem.shapes.layouts import LayerName, layer_area
from heatsim.problem.shapes.voxelise import (
    contains_points,
    floorplan_blocks,
    neighbours_along,
    plan_bounds,
    shape_masks,
    shape_window,
    stl_surface,
    with_neighbours,
)
from heatsim.scenario import Scenario
from heatsim.scenario.language.toml.positions import Key, KeyIssue
from heatsim.scenario.regions import Shape

MAX_PAINTED_ERROR = 0.05  # relative
_MOST_POINTS, _MOST_A_CELL, _LEAST_A_CELL = 2**18, 256, 8
_ROOT = (
    1.2207440846057596  # of x^4 = x + 1, of whose inverse powers the multiples are spread evenly in three dimensions
)
_AT_POINTS = ("box", "sphere", "cylinder", "polygon", "where")  # forms of which it is known which points lie inside

Window = tuple[slice, slice, slice]


class _Painted(NamedTuple):
    """A region's cells: those of a window about it in which `mask` is true; `exact`: the volume of its shape, m3, if
    that is known; the corners (3,) of a box about it, m; and whether
    its faces are faces of cells all over."""

    window: Window
    mask: np.ndarray
    exact: float | None
    lower: np.ndarray
    upper: np.ndarray
    fits: bool


def regions_off_their_shapes(scenario: Scenario, grid: CellGrid) -> Iterator[KeyIssue]:
    """Regions whose material fills another volume than their shapes less what later regions paint over."""
    if not any(region.forms for region in scenario.regions):
        return
    regions = [_painted(scenario, grid, number) for number in range(len(scenario.regions))]
    last = np.zeros(grid.shape, np.min_scalar_type(len(regions)))
    for number, region in enumerate(regions[1:], 1):
        last[region.window][region.mask] = number
    suspects = [n for n in range(len(regions)) if scenario.regions[n].forms and _suspect(grid, regions, last, n)]
    if not suspects:
        return
    edges = np.asarray(with_neighbours(last, np.maximum) != with_neighbours(last, np.minimum))  # between two regions
    for number in suspects:
        found = _compare(scenario, grid, regions, last, edges, number)
        if found is None:
            continue
        painted, exact = found
        if abs(painted - exact) > MAX_PAINTED_ERROR * exact:
            share = 100.0 * (painted / exact - 1.0)
            message = (
                f"whole cells hold {painted:.4g} m3 in place of the {exact:.4g} m3 that are left of it ({share:+.0f} %)"
            )
            hint = "smaller cells, or cells that fit the shape"
            yield KeyIssue(("regions", number, *scenario.regions[number].forms), message, hint)


def _painted(scenario: Scenario, grid: CellGrid, number: int) -> _Painted:
    region = scenario.regions[number]
    whole = slice(0, grid.shape[0]), slice(0, grid.shape[1]), slice(0, grid.shape[2])
    spans = np.array([grid.span(axis) for axis in AXES]).T
    bounds = region.bounds()
    if bounds is not None:
        low, high = np.clip(bounds, *spans)
        parts = [_cells_between(grid, axis, low[i], high[i]) for i, axis in enumerate(AXES)]
        window = parts[2], parts[1], parts[0]
        x, y, z = (grid.centres(axis)[part] for axis, part in zip(AXES, parts, strict=True))
        shape = tuple(part.stop - part.start for part in window)
        inside = contains_points(region, x, y[:, None], z[:, None, None])
        fits = region.box is not None and all(_on_faces(grid, axis, low[i], high[i]) for i, axis in enumerate(AXES))
        return _Painted(window, np.broadcast_to(inside, shape), exact_volume(region, grid), low, high, fits)
    if region.labels is not None or not region.forms:
        return _Painted(whole, np.broadcast_to(True, grid.shape), None, spans[0], spans[1], True)
    key: Key = ("regions", number)
    window = shape_window(scenario, key, region, grid)
    masks = np.array([mask.copy() for mask in shape_masks(scenario, key, region, grid, window)], bool)
    drawing = region.floorplan or region.gds
    if drawing is not None:
        spans[:, 2] = np.clip(drawing.z, *grid.span("z"))
    if region.floorplan is not None:
        spans[:, :2] = np.clip(plan_bounds(scenario, key, region.floorplan), spans[0, :2], spans[1, :2])
    found = shape_volume(scenario, key, region, grid)
    exact = None if found is None or found.error > 0.01 * found.size else found.size
    shape = tuple(part.stop - part.start for part in window)
    return _Painted(window, masks.reshape(shape), exact, spans[0], spans[1], False)


def _on_faces(grid: CellGrid, axis: str, *places: float) -> bool:
    faces, least = grid.faces(axis), 1e-6 * float(grid.sizes(axis).min())
    return all(bool((np.abs(faces - place) < least).any()) for place in places)


def _cells_between(grid: CellGrid, axis: str, low: float, high: float) -> slice:
    faces = grid.faces(axis)
    first = min(max(int(np.searchsorted(faces, low, side="right")) - 1, 0), len(faces) - 2)
    return slice(first, max(int(np.searchsorted(faces, high, side="left")), first + 1))


def _volume_of_surface(region: Shape, spans: np.ndarray) -> float | None:
    """The volume that the surface of an STL file encloses, m3, if it lies in the grid."""
    if region.stl is None:
        return None
    surface = stl_surface(region.stl)
    return surface.volume if (surface.lower >= spans[0]).all() and (surface.upper <= spans[1]).all() else None


def _suspect(grid: CellGrid, regions: list[_Painted], last: np.ndarray, number: int) -> bool:
    """Whether a region needs a close look: its shape has another volume than its cells, or a later region may cut it
    and its surface is large enough for its volume to be off."""
    own = regions[number]
    left = last[own.window] == number
    painted = _volume(grid, own.window, left)
    if own.exact is not None and abs(_volume(grid, own.window, own.mask) - own.exact) > MAX_PAINTED_ERROR * own.exact:
        return True
    cutting = _cutting(regions, number, grid)
    if (own.exact is not None and not cutting) or all(each.fits for each in (own, *cutting)):
        return False
    outer = left & ~_eroded(left)
    return painted == 0.0 or _volume(grid, own.window, outer) > MAX_PAINTED_ERROR * painted


def _cutting(regions: list[_Painted], number: int, grid: CellGrid) -> list[_Painted]:
    """The later regions that reach into a region."""
    own, later = regions[number], regions[number + 1 :]
    if not later:
        return []
    lower, upper = (np.array([getattr(other, end) for other in later]) for end in ("lower", "upper"))
    common = np.minimum(own.upper, upper) - np.maximum(own.lower, lower)
    return [later[n] for n in np.flatnonzero((common > 1e-6 * np.array(grid.spacing)).all(axis=1))]


def _volume(grid: CellGrid, window: Window, mask: np.ndarray) -> float:
    if grid.equal:
        return float(mask.sum()) * grid.cell_volume
    z, y, x = (grid.measure(axis)[part] for axis, part in zip("zyx", window, strict=True))
    return float(np.einsum("kji,k,j,i->", mask, z, y, x))


def _eroded(mask: np.ndarray) -> np.ndarray:
    """Cells all of whose neighbours along the axes are in a mask too; what lies outside of it counts as its own."""
    found = mask.copy()
    for axis in range(3):
        before, after = neighbours_along(axis)
        found[after] &= mask[before]
        found[before] &= mask[after]
    return found


def _compare(
    scenario: Scenario, grid: CellGrid, regions: list[_Painted], last: np.ndarray, edges: np.ndarray, number: int
) -> tuple[float, float] | None:
    """The volume of the cells with the material of a region, and of what is left of its shape, m3."""
    own = regions[number]
    cut = bool(_cutting(regions, number, grid))
    whole = _volume(grid, own.window, last[own.window] == number)
    wide = tuple(slice(max(part.start - 1, 0), part.stop + 1) for part in own.window)
    near = np.zeros(tuple(len(range(*part.indices(n))) for part, n in zip(wide, last.shape, strict=True)), bool)
    inner = tuple(slice(p.start - w.start, p.stop - w.start) for p, w in zip(own.window, wide, strict=True))
    near[inner] = own.mask
    near = with_neighbours(near, np.logical_or) & (edges[wide] | (whole == 0.0))
    if scenario.regions[number].forms[0] not in _AT_POINTS:
        return None if cut or own.exact is None else (whole, own.exact)
    cells = np.array(np.nonzero(near)) + np.array([part.start for part in wide])[:, None]
    if not cells.size:
        return None
    of_cells, volumes = last[tuple(cells)], prod(grid.measure(axis)[i] for axis, i in zip("zyx", cells, strict=True))
    of_points, weights = _last_at_points(scenario, grid, regions, of_cells, cells)
    materials = np.array([_material(scenario, n) for n in range(len(regions))])
    mine = materials[number]
    left = ((of_points == number) * weights).sum(axis=1)
    filled = ((materials[of_points] == mine) * weights).sum(axis=1)
    exact = whole + float(((left - (of_cells == number)) * volumes).sum())
    if own.exact is not None and not cut:
        exact = own.exact
    surplus = float((((materials[of_cells] == mine) - filled) * volumes).sum())
    return (exact + surplus, exact) if exact > 0.0 else None


def _material(scenario: Scenario, number: int) -> int:
    """The number of a region's material; of one with labels a number of its own."""
    material = scenario.regions[number].material
    return -1 - number if material is None else [*scenario.materials, *scenario.ambients].index(material)


def _last_at_points(
    scenario: Scenario, grid: CellGrid, regions: list[_Painted], of_cells: np.ndarray, cells: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(n, points) the last region over points in cells, whose indices z, y, x are (3, n), and the weights of these."""
    count = int(np.clip(_MOST_POINTS // cells.shape[1], _LEAST_A_CELL, _MOST_A_CELL))
    lattice = np.outer(1.0 / _ROOT ** np.arange(1, 4), np.arange(count)) % 1.0
    shifts = np.random.default_rng(0).random((3, cells.shape[1]))
    places = {}
    for axis, index, shift, row in zip("zyx", cells, shifts, lattice, strict=True):
        faces = grid.faces(axis)
        around = axis == "y" and grid.coordinates == "cylindrical"
        within = np.full((len(index), count), 0.5) if around else (shift[:, None] + row) % 1.0
        places[axis] = faces[index][:, None] + grid.sizes(axis)[index][:, None] * within
    found = np.zeros((cells.shape[1], count), of_cells.dtype)
    lower, upper = (f(np.array([places[axis] for axis in AXES]), axis=(1, 2)) for f in (np.min, np.max))
    for number, region in enumerate(regions):
        if (region.lower > upper).any() or (region.upper < lower).any():
            continue
        shape = scenario.regions[number]
        if not shape.forms or shape.labels is not None:
            found[:] = number
        elif shape.forms[0] in _AT_POINTS:
            found[np.broadcast_to(contains_points(shape, **places), found.shape)] = number
        else:
            found[_mask_at(region, cells)] = number
    weights = np.full(found.shape, 1.0 / count)
    if grid.coordinates == "cylindrical":
        weights = places["x"] / places["x"].sum(axis=1, keepdims=True)
    return found, weights


def _mask_at(region: _Painted, cells: np.ndarray) -> np.ndarray:
    """(n,) whether cells, of indices z, y, x (3, n), are among those of a region."""
    starts, stops = np.array([(part.start, part.stop) for part in region.window]).T[:, :, None]
    found = np.asarray(((cells >= starts) & (cells < stops)).all(axis=0))
    found[found] = region.mask[tuple((cells - starts)[:, found])]
    return found


# --- volumes of shapes, as they are and not as whole cells hold them


_SAMPLES = 96  # along each axis, in what reaches out of the grid


def shape_volume(scenario: Scenario, key: Key, shape: Shape, grid: CellGrid) -> ShapeSize | None:
    """Volume of the part of a shape at `key` that lies in the grid, m3; None where it is not known."""
    spans = {axis: grid.span(axis) for axis in AXES}
    if shape.where is not None:
        return condition_measure(shape.where, spans, {}, grid.coordinates == "cylindrical")
    if shape.floorplan or shape.gds:
        exact = drawn_volume(scenario, key, shape, grid)
    elif shape.stl is not None:
        exact = _volume_of_surface(shape, np.array(list(spans.values())).T)
    else:
        exact = exact_volume(shape, grid)
    return None if exact is None else ShapeSize(exact, 0.0)


def exact_volume(shape: Shape, grid: CellGrid) -> float | None:
    """Volume of the part of a box, ball or cylinder that lies in the grid, m3; None of other shapes."""
    bounds = shape.bounds()
    if bounds is None:
        return None
    spans = np.array([grid.span(axis) for axis in AXES]).T
    low, high = np.clip(bounds, *spans)
    if shape.box is not None:
        radial = 0.5 * (low[0] + high[0]) if grid.coordinates == "cylindrical" else 1.0
        return float((high - low).prod() * radial)
    if grid.coordinates == "cylindrical":
        return None
    if (low == bounds[0]).all() and (high == bounds[1]).all():
        return _whole_volume(shape)
    steps = (np.arange(_SAMPLES) + 0.5) / _SAMPLES
    x, y, z = (start + length * steps for start, length in zip(low, high - low, strict=True))
    inside = [contains_points(shape, x[None, :], y[:, None], height).mean() for height in z]
    return float((high - low).prod() * np.mean(inside))


def drawn_volume(scenario: Scenario, key: Key, shape: Shape, grid: CellGrid) -> float | None:
    """Volume of the part of the blocks of a floorplan, or of a layer of a layout, that lies in the grid, m3; None where
    it is not known. key: of the shape."""
    drawing = shape.floorplan or shape.gds
    if drawing is None or grid.coordinates == "cylindrical":
        return None
    (left, right), (bottom, top) = (
        (grid.span(axis)[0] - at, grid.span(axis)[1] - at) for axis, at in zip("xy", drawing.at, strict=True)
    )
    low, high = np.clip(drawing.z, *grid.span("z"))
    if shape.floorplan is not None:
        blocks = floorplan_blocks(scenario, key, shape.floorplan)
        inside = [
            block._replace(
                left=max(block.left, left), right=min(block.right, right),
                bottom=max(block.bottom, bottom), top=min(block.top, top),
            )
            for block in blocks
        ]  # fmt: skip
        drawn = [block for block in inside if block.left < block.right and block.bottom < block.top]
        overlap = read_plan(shape.floorplan.file).overlap
        return (covered_area(drawn) if overlap else sum(block.area for block in drawn)) * float(high - low)
    assert shape.gds is not None
    name = LayerName(shape.gds.layer, shape.gds.datatype, shape.gds.cell)
    area = layer_area(shape.gds.file, name, (left, bottom), (right, top))
    return None if area is None else float(area * (high - low))


def _whole_volume(shape: Shape) -> float:
    if shape.sphere is not None:
        return 4 / 3 * np.pi * shape.sphere.radius**3
    if shape.polygon is not None:
        low, high = shape.polygon.span
        return shape.polygon.area * (high - low)
    assert shape.cylinder is not None
    return np.pi * shape.cylinder.radius**2 * dist(shape.cylinder.start, shape.cylinder.end)
