"""Means of an expression over the cells of a grid along one, two or three axes, by adaptive cubature.

    +-----+-----+-----+     Each cell has its mean by two Gauss points an axis. Where these may not do, cells are
    |     |     |     |     halved again and again, each half with rules of two and of three points, until what is
    |     |--.--|     |     unsettled is a small share of the whole. A half is unsettled by as much as the two rules
    |     |  | :|     |     differ, and as its bounds (interval arithmetic) allow values far beyond those sampled: a
    +-----+-----+-----+     spike or a jump between the points is found, however narrow it is.

Global adaptive subdivision: van Dooren and de Ridder, An adaptive algorithm for numerical integration over an
n-dimensional cube, J. Comput. Appl. Math. 2 (1976), 207.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from heatsim.geometry.adaptive_boxes import WIDER, Boxes, gauss_mean, gauss_places, hidden, measure, pieces
from heatsim.scenario import Expression

TOLERANCES = (1e-6, 1e-4, 1e-4)  # share of the whole that may stay unsettled, along one, two and three axes
MOST_POINTS = 2**21  # at which an expression is evaluated, about, beyond those of the cells
_MISSED = 1e-4  # share of the whole by which all cells that are not looked at may be off
_CHUNK = 2**19  # points of cells evaluated at a time
_MANY, _BLOCK = 2**15, 4  # cells of which not each is looked at; cells along a side of a block that is


class CellMeans(NamedTuple):
    """Means over cells, of the shape of these; `unsettled` and `whole`: the integrals over the cells of what may be
    wrong, about, and of the absolute value, or of that of the distance from the middle."""

    values: np.ndarray
    unsettled: float
    whole: float


class Cells(NamedTuple):
    """Cells along some of the axes z, y, x by the places of their faces, m; `radial`: x is a radius, which weighs."""

    edges: Mapping[str, np.ndarray]
    radial: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """Numbers of cells along the axes."""
        return tuple(len(edges) - 1 for edges in self.edges.values())

    def ranges(self) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Lower and upper ends of the cells along each axis, in arrays that broadcast to the shape."""
        axes = len(self.edges)
        places = {axis: (-1,) + (1,) * (axes - 1 - number) for number, axis in enumerate(self.edges)}
        return {axis: (e[:-1].reshape(places[axis]), e[1:].reshape(places[axis])) for axis, e in self.edges.items()}

    def volumes(self) -> np.ndarray:
        """Their measures, of the shape."""
        found = np.ones(())
        for axis, (low, high) in self.ranges().items():
            found = found * measure(low, high, self.radial and axis == "x")
        return np.asarray(np.broadcast_to(found, self.shape))

    def blocks(self, size: int) -> Cells:
        """Blocks of so many cells along each axis."""
        return Cells({axis: np.append(e[:-1][::size], e[-1]) for axis, e in self.edges.items()}, self.radial)

    def chunks(self, points: int) -> list[tuple[slice, Cells]]:
        """Parts of them along the first axis with at most _CHUNK values, `points` a cell."""
        first, *others = self.edges
        count = max(1, _CHUNK // (points * int(np.prod(self.shape[1:]))))
        parts = [slice(start, min(start + count, self.shape[0])) for start in range(0, self.shape[0], count)]
        rest = {axis: self.edges[axis] for axis in others}
        return [(p, Cells({first: self.edges[first][p.start : p.stop + 1], **rest}, self.radial)) for p in parts]


def cell_means(
    value: Expression,
    cells: Cells,
    fixed: Mapping[str, float],
    inside: np.ndarray | None = None,
    by_distance: bool = False,
    most: int = MOST_POINTS,
) -> CellMeans:
    """The means of a value over cells.

    fixed: other variables; inside: the cells that count; by_distance: the whole is that of the distance from the mean,
    as of a temperature. Points at which there is no value are left out; where that is so at the centre, so is the mean.
    """
    with np.errstate(all="ignore"):  # values and bounds may be infinite
        return _cell_means(value, cells, fixed, inside, by_distance, most)


def _cell_means(
    value: Expression,
    cells: Cells,
    fixed: Mapping[str, float],
    inside: np.ndarray | None,
    by_distance: bool,
    most: int,
) -> CellMeans:
    centre = centre_values(value, cells, fixed)
    counts = np.isfinite(centre) if inside is None else np.isfinite(centre) & inside
    volume, known = np.where(counts, cells.volumes(), 0.0), np.where(counts, centre, 0.0)
    level = float((known * volume).sum() / max(volume.sum(), np.finfo(float).tiny)) if by_distance else 0.0
    suspects = _suspects(value, cells, fixed, centre, volume, level) if centre.size > _MANY else None
    if suspects is None:
        finer, doubt = _two_points(value, cells, fixed, centre)
        finer = np.where(np.isfinite(centre) & np.isfinite(finer), finer, centre)
        doubt = np.where(counts, doubt, 0.0)
    else:
        finer, doubt = centre, suspects.astype(np.float64)
    boxes = Boxes.of_cells(cells.ranges(), np.where(counts, finer, 0.0), doubt, volume, cells.radial, level)
    if suspects is not None:
        boxes.look_again(value, fixed)
    boxes.settle(value, fixed, TOLERANCES[len(cells.edges) - 1], most)
    return CellMeans(boxes.means(finer), boxes.unsettled, boxes.whole)


def centre_values(value: Expression, cells: Cells, fixed: Mapping[str, float]) -> np.ndarray:
    """Values at the centres of cells, of their shape."""
    found = np.empty(cells.shape)
    for part, some in cells.chunks(1):
        centres = {axis: 0.5 * (low + high) for axis, (low, high) in some.ranges().items()}
        found[part] = value(**centres, **fixed)
    return found


def bound_widths(value: Expression, cells: Cells, fixed: Mapping[str, float]) -> np.ndarray:
    """How far apart the bounds of a value are in each cell."""
    low, high = value.enclose(**cells.ranges(), **{name: (at, at) for name, at in fixed.items()})  # type: ignore[arg-type]
    return np.asarray(np.broadcast_to(high - low, cells.shape))


def _two_points(
    value: Expression, cells: Cells, fixed: Mapping[str, float], centre: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Means over cells by two points an axis, and by how much they are in doubt."""
    axes = len(cells.edges)
    mean, doubt = np.empty((2, *cells.shape))
    for part, some in cells.chunks(2**axes + 4):
        places, weights = {}, np.ones(())
        for number, (axis, (low, high)) in enumerate(some.ranges().items()):
            at, weight = gauss_places(low, high, 2, some.radial and axis == "x")
            spread = at.shape[:-1] + (1,) * number + (2,) + (1,) * (axes - 1 - number)
            places[axis], weights = at.reshape(spread), weights * weight.reshape(spread)
        values = np.broadcast_to(value(**places, **fixed), (*some.shape, *(2,) * axes))
        mean[part], low, high = gauss_mean(values, weights, axes)
        differ = np.abs(mean[part] - centre[part])
        size = np.abs(mean[part]) + np.abs(centre[part]) + np.finfo(float).tiny
        seen = np.maximum(high, centre[part]) - np.minimum(low, centre[part])
        width = bound_widths(value, some, fixed)
        doubt[part] = differ * np.minimum(1.0, 4.0 * differ / size) + hidden(width, seen, size)
    return mean, np.where(np.isfinite(doubt), doubt, 0.0)


def _suspects(
    value: Expression,
    cells: Cells,
    fixed: Mapping[str, float],
    centre: np.ndarray,
    volume: np.ndarray,
    level: float,
) -> np.ndarray | None:
    """Which of many cells may have other means than the values at their centres, by second differences of these and by
    bounds over blocks of cells; None where that cannot be told so."""
    if min(cells.shape) < 3 or not np.isfinite(centre).all():
        return None
    off = np.zeros(cells.shape)
    for axis in range(centre.ndim):
        ends = [(1, 1) if number == axis else (0, 0) for number in range(centre.ndim)]
        off += np.abs(np.pad(np.diff(centre, 2, axis), ends, mode="edge")) / 24.0
    allowed = _MISSED * float((np.abs(centre - level) * volume).sum()) / centre.size
    blocks = cells.blocks(_BLOCK)
    seen = pieces(centre, _BLOCK, np.maximum) - pieces(centre, _BLOCK, np.minimum)
    width, volumes = bound_widths(value, blocks, fixed), pieces(volume, _BLOCK, np.add)
    size = np.where(np.isfinite(width), width, np.inf)
    hiding = (width > WIDER * seen) & (volumes > 0) & (size * volumes > allowed)
    spread = np.ix_(*(np.arange(n) // _BLOCK for n in cells.shape))
    return np.asarray((off * volume > allowed) | hiding[spread])
