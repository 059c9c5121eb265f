"""Means of expressions in x, y, z over the cells of a grid, or over the faces of cells, of one side of the box.

Expressions that are products, or sums of products, of factors in different coordinates have the means of their factors:
those in one coordinate cost next to nothing. Others are found in two or three coordinates at once, by adaptive
cubature (`adaptive_means`). Where the centres of cells do as well, values at these are kept: see `uneven_means`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce
from typing import NamedTuple

import numpy as np

from heatsim.geometry.adaptive_means import MOST_POINTS, Cells, cell_means, centre_values
from heatsim.geometry.grid import AXES, CellGrid
from heatsim.scenario import Expression

Window = tuple[slice, ...]  # along each axis of the cells

EVEN = 1e-3  # share of the whole by which values at centres may be off: what is as even as that keeps them
_BLOCKS = 16  # along an axis, by whose bounds it is found where an expression is anything but 0
_NOTHING = 1e-15  # of the greatest bound


class _Product(NamedTuple):
    """A number times factors of some of the axes, each an array over the cells of a window."""

    scale: float
    window: Window
    factors: tuple[np.ndarray, ...]  # of as many axes as the cells, of one cell along those that it does not depend on


class SpaceMeans:
    """Means over cells (n_z, n_y, n_x), those of a sum of products.

    `doubt`: by which share of the whole they may be off, about.
    """

    def __init__(self, shape: tuple[int, ...], products: list[_Product], doubt: float) -> None:
        self._shape, self._products, self.doubt = shape, products, doubt

    def windows(self) -> Iterator[tuple[Window, np.ndarray]]:
        """The parts of the cells where the terms are anything but 0, and the terms there."""
        for product in self._products:
            shape = tuple(part.stop - part.start for part in product.window)
            yield product.window, np.broadcast_to(_times(product.factors, product.scale), shape)

    def values(self) -> np.ndarray:
        """The means over all cells."""
        found = np.zeros(self._shape)
        for window, term in self.windows():
            found[window] += term
        return found

    def plane(self, number: int) -> np.ndarray:
        """The means over the cells with a number along the first axis."""
        found = np.zeros(self._shape[1:])
        for product in self._products:
            first, *others = product.window
            if first.start <= number < first.stop:
                rows = [f[number - first.start if len(f) > 1 else 0] for f in product.factors]
                found[tuple(others)] += _times(tuple(rows), product.scale)
        return found

    def at(self, *indices: np.ndarray) -> np.ndarray:
        """The means over some cells, of products that have no windows."""
        found = np.zeros(indices[0].shape)
        for product in self._products:
            chosen = [
                f[tuple(i if n > 1 else np.zeros_like(i) for i, n in zip(indices, f.shape, strict=True))]
                for f in product.factors
            ]
            found += _times(tuple(chosen), product.scale)
        return found


def grid_cells(grid: CellGrid) -> Cells:
    """All cells of a grid."""
    return Cells({axis: grid.faces(axis) for axis in AXES[::-1]}, grid.coordinates == "cylindrical")


def space_means(
    value: Expression,
    cells: Cells,
    fixed: Mapping[str, float],
    inside: np.ndarray | None = None,
    by_distance: bool = False,
    windowed: bool = False,
    most: int = MOST_POINTS,
) -> SpaceMeans:
    """The means of an expression over cells.

    fixed: the other variables; inside: the cells that count; by_distance: see `cell_means`; windowed: leave out where
    it is as good as 0; most: points at which it is evaluated, about.
    """
    products, doubt = [], 0.0
    for factors in value.split_space():
        product, own = _product(factors, cells, fixed, inside, by_distance, windowed, most)
        if product is None:  # as exp(900)*exp(-900): only the whole has a value
            whole, doubt = _product([value], cells, fixed, inside, by_distance, windowed, most)
            return SpaceMeans(cells.shape, [] if whole is None else [whole], doubt)
        products.append(product)
        doubt = max(doubt, own)
    return SpaceMeans(cells.shape, products, doubt)


def uneven_means(
    value: Expression,
    cells: Cells,
    fixed: Mapping[str, float],
    inside: np.ndarray | None = None,
    by_distance: bool = False,
) -> SpaceMeans | None:
    """The means of an expression over cells; None if its values at their centres are as good: off by no more than EVEN
    of the whole, all cells together."""
    if value.names.isdisjoint(cells.edges):
        return None
    means = space_means(value, cells, fixed, inside, by_distance)
    first, *others = cells.edges
    whole, integral, volume = np.zeros(3)
    planes = range(cells.shape[0])
    rows = [
        Cells({first: cells.edges[first][n : n + 2], **{a: cells.edges[a] for a in others}}, cells.radial)
        for n in planes
    ]
    if by_distance:
        for n in planes:
            mean, weights = means.plane(n), _counted(rows[n], inside, n)
            integral, volume = integral + (mean * weights).sum(), volume + weights.sum()
    level, off = integral / volume if volume else 0.0, 0.0
    for n in planes:
        mean, weights = means.plane(n), _counted(rows[n], inside, n)
        centre = centre_values(value, rows[n], fixed)[0]
        good = np.isfinite(centre) & np.isfinite(mean) & (weights > 0)
        whole += (np.abs(mean - level) * weights)[good].sum()
        off += (np.abs(mean - centre) * weights)[good].sum()
    return means if off > EVEN * whole else None


def _counted(row: Cells, inside: np.ndarray | None, number: int) -> np.ndarray:
    volumes = row.volumes()[0]
    return volumes if inside is None else np.where(inside[number], volumes, 0.0)


def _product(
    factors: list[Expression],
    cells: Cells,
    fixed: Mapping[str, float],
    inside: np.ndarray | None,
    by_distance: bool,
    windowed: bool,
    most: int,
) -> tuple[_Product | None, float]:
    """The product of the means of some factors, None if it is not finite; and its doubt."""
    scale, doubt, axes = 1.0, 0.0, tuple(cells.edges)
    window, found = [slice(0, n) for n in cells.shape], []
    for factor in factors:
        own = [axis for axis in axes if axis in factor.names]
        if not own:
            scale *= float(factor(**fixed))
            continue
        part = Cells({axis: cells.edges[axis] for axis in own}, cells.radial)
        where = _window(factor, part, fixed) if windowed else [slice(0, n) for n in part.shape]
        for axis, each in zip(own, where, strict=True):
            window[axes.index(axis)] = each
        seen = Cells({a: cells.edges[a][w.start : w.stop + 1] for a, w in zip(own, where, strict=True)}, cells.radial)
        counted = _shadow(inside, [axes.index(axis) for axis in own], where)
        means = cell_means(factor, seen, fixed, counted, by_distance, most)
        doubt += means.unsettled / means.whole if means.whole > 0 else 0.0
        ends = dict(zip(own, seen.shape, strict=True))
        found.append(means.values.reshape([ends.get(axis, 1) for axis in axes]))
        good = np.isfinite(means.values) if counted is None else np.isfinite(means.values) | ~counted
        if len(factors) > 1 and not good.all():
            return None, 0.0
    if len(factors) > 1 and not np.isfinite(scale):
        return None, 0.0
    return _Product(scale, tuple(window), tuple(found)), doubt


def _shadow(inside: np.ndarray | None, axes: list[int], window: list[slice]) -> np.ndarray | None:
    """Which cells along some of the axes have any inside above them."""
    if inside is None:
        return None
    others = tuple(axis for axis in range(inside.ndim) if axis not in axes)
    return np.asarray(np.asarray(inside.any(axis=others))[tuple(window)])


def _window(value: Expression, cells: Cells, fixed: Mapping[str, float]) -> list[slice]:
    """Where a value may be anything but 0, by bounds over blocks of cells."""
    size = max(1, max(cells.shape) // _BLOCKS)
    blocks = cells.blocks(size)
    low, high = value.enclose(
        **blocks.ranges(), **{name: (np.asarray(at), np.asarray(at)) for name, at in fixed.items()}
    )
    most = np.broadcast_to(np.maximum(np.abs(low), np.abs(high)), blocks.shape)
    found = []
    for axis, n in enumerate(cells.shape):
        along = most.max(axis=tuple(other for other in range(most.ndim) if other != axis))
        here = np.flatnonzero(along > _NOTHING * most.max())
        found.append(slice(int(here[0]) * size, min((int(here[-1]) + 1) * size, n)) if here.size else slice(0, n))
    return found


def _times(factors: tuple[np.ndarray, ...], scale: float) -> np.ndarray:
    return np.asarray(reduce(np.multiply, factors, np.asarray(scale)))
