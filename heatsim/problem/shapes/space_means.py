"""Means of expressions in x, y, z over the cells of a grid, or over the faces of cells, of one side of the box.

Expressions that are products, or sums of products, of factors in different coordinates have the means of their factors:
those in one coordinate cost next to nothing. Others are found in two or three coordinates at once, by adaptive
cubature (`adaptive_means`). Means are taken on coarse and fine grids alike: were it the values at centres on some, the
error would not fall with the size of cells as that of a method of second order does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from math import prod
from typing import Any, NamedTuple

import numpy as np

from heatsim.base.grid import AXES, CellGrid
from heatsim.problem.shapes.adaptive_means import MOST_POINTS, cell_means
from heatsim.problem.shapes.axis_cells import Cells, enclosed
from heatsim.scenario import Expression

Window = tuple[slice, ...]  # along each axis of the cells

_BLOCK = 2**15  # cells dealt with at a time: what a cache holds
_BLOCKS = 16  # along an axis, by whose bounds it is found where an expression is anything but 0
_MANY = 2**12  # cells, of which it is worth while to find those
_NOTHING = 1e-15  # of the greatest bound


class FactorMeans(NamedTuple):
    """The means of a factor over the cells of a window, an array of one cell along those axes that it does not span;
    the share by which they may be off, about; and whether all that count are finite."""

    values: np.ndarray
    window: Window
    spans: tuple[bool, ...]
    doubt: float
    finite: bool


class _Product(NamedTuple):
    """Factors, each an array over the cells of a window, of one cell along axes that it does not depend on."""

    window: Window
    factors: tuple[np.ndarray, ...]


class SpaceMeans:
    """Means over cells (n_z, n_y, n_x), those of a sum of products.

    `doubt`: by which share of the whole they may be off, about.
    """

    def __init__(self, shape: tuple[int, ...], products: list[_Product], doubt: float) -> None:
        self._shape, self._products, self.doubt = shape, products, doubt

    @property
    def windows(self) -> list[Window]:
        """The parts of the cells where the means are anything but 0."""
        return [product.window for product in self._products]

    def blocks(self) -> Iterator[tuple[Any, np.ndarray]]:
        """The windows cut along the first axis into parts of about _BLOCK cells, each with a term there."""
        for product in self._products:
            first, *others = product.window
            shape = tuple(part.stop - part.start for part in others)
            step = max(1, _BLOCK // max(1, prod(shape)))
            for start in range(first.start, first.stop, step):
                stop = min(start + step, first.stop)
                here = slice(start - first.start, stop - first.start)
                rows = tuple(f[here] if len(f) > 1 else f for f in product.factors)
                yield (slice(start, stop), *others), np.broadcast_to(_times(rows), (stop - start, *shape))

    def values(self) -> np.ndarray:
        """The means over all cells."""
        found = np.zeros(self._shape)
        for product in self._products:
            found[product.window] += _times(product.factors)
        return found

    def plane(self, number: int) -> np.ndarray:
        """The means over the cells with a number along the first axis."""
        found, shape = None, self._shape[1:]
        for product in self._products:
            first, *others = product.window
            if first.start <= number < first.stop:
                term = _times(tuple(f[number - first.start if len(f) > 1 else 0] for f in product.factors))
                if found is None and others == [slice(0, n) for n in shape]:
                    found = np.add(term, 0.0, out=np.empty(shape))  # no pass that fills it with 0
                else:
                    found = np.zeros(shape) if found is None else found
                    found[tuple(others)] += term
        return np.zeros(shape) if found is None else found

    def at(self, *indices: np.ndarray) -> np.ndarray:
        """The means over some cells, of products that have no windows."""
        found = np.zeros(indices[0].shape)
        for product in self._products:
            chosen = [
                f[tuple(i if n > 1 else np.zeros_like(i) for i, n in zip(indices, f.shape, strict=True))]
                for f in product.factors
            ]
            found += _times(tuple(chosen))
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
    most: int = MOST_POINTS,
) -> SpaceMeans:
    """The means of an expression over cells.

    fixed: the other variables; inside: the cells that count; by_distance: see `cell_means`; most: points at which it is
    evaluated, about.
    """

    def of_factor(factor: Expression) -> FactorMeans:
        return means_of_factor(factor, cells, fixed, inside, by_distance, False, most)

    return sum_of_products(value, value.split_space(), cells.shape, of_factor)


def sum_of_products(
    value: Expression,
    products: list[list[Expression]],
    shape: tuple[int, ...],
    of_factor: Callable[[Expression], FactorMeans],
) -> SpaceMeans:
    """The means of an expression by those of the factors of its products; by those of the whole expression where the
    means of a factor are not finite, as of exp(900)*exp(-900)."""
    found = [[of_factor(factor) for factor in factors] for factors in products]
    if not all(factor.finite for factors in found for factor in factors):
        found = [[of_factor(value)]]
    doubt = max(sum(factor.doubt for factor in factors) for factors in found)
    return SpaceMeans(shape, [_product(factors, shape) for factors in found], doubt)


def _product(factors: list[FactorMeans], shape: tuple[int, ...]) -> _Product:
    windows = [slice(0, n) for n in shape]
    for factor in factors:
        for axis in range(len(shape)):
            windows[axis] = factor.window[axis] if factor.spans[axis] else windows[axis]
    return _Product(tuple(windows), tuple(factor.values for factor in factors))


def means_of_factor(
    factor: Expression,
    cells: Cells,
    fixed: Mapping[str, float],
    inside: np.ndarray | None,
    by_distance: bool,
    windowed: bool,
    most: int,
    *,
    least: float | None = None,
) -> FactorMeans:
    """The means of a factor over cells. windowed: where it is as good as 0 is left out; most: see `space_means`; least:
    see `cell_means`, of means that are found in each step."""
    axes = tuple(cells.edges)
    spans = tuple(axis in factor.names for axis in axes)
    own = [axis for axis, spanned in zip(axes, spans, strict=True) if spanned]
    if not own:
        value = np.asarray(factor(**fixed), np.float64).reshape((1,) * len(axes))
        return FactorMeans(value, tuple(slice(0, n) for n in cells.shape), spans, 0.0, bool(np.isfinite(value).all()))
    part = Cells({axis: cells.edges[axis] for axis in own}, cells.radial)
    many = windowed and np.prod(part.shape) > _MANY
    where = _window(factor, part, fixed) if many else [slice(0, n) for n in part.shape]
    seen = Cells({a: cells.edges[a][w.start : w.stop + 1] for a, w in zip(own, where, strict=True)}, cells.radial)
    counted = None if inside is None else counted_cells(inside, cells, part)[tuple(where)]
    means = cell_means(factor, seen, fixed, counted, by_distance, most, in_time=least is not None, least=least or 0.0)
    doubt = means.unsettled / means.whole if means.whole > 0 else 0.0
    good = np.isfinite(means.values) if counted is None else np.isfinite(means.values) | ~counted
    windows, ends = dict(zip(own, where, strict=True)), dict(zip(own, seen.shape, strict=True))
    window = tuple(windows.get(axis, slice(0, n)) for axis, n in zip(axes, cells.shape, strict=True))
    values = means.values.reshape([ends.get(axis, 1) for axis in axes])
    found = FactorMeans(values, window, spans, doubt, bool(good.all()))
    return _trimmed(found) if windowed and found.finite and prod(cells.shape) > _MANY else found


def _trimmed(factor: FactorMeans) -> FactorMeans:
    """A factor without the cells at its ends where it is as good as 0."""
    size = np.abs(np.where(np.isfinite(factor.values), factor.values, 0.0))
    if not size.any():
        return factor
    counts, window, kept = size > _NOTHING * size.max(), list(factor.window), [slice(None)] * size.ndim
    for axis, spanned in enumerate(factor.spans):
        if spanned:
            here = np.flatnonzero(counts.any(axis=tuple(other for other in range(size.ndim) if other != axis)))
            kept[axis] = slice(int(here[0]), int(here[-1]) + 1)
            window[axis] = slice(window[axis].start + kept[axis].start, window[axis].start + kept[axis].stop)
    return factor._replace(values=factor.values[tuple(kept)], window=tuple(window))


def counted_cells(inside: np.ndarray, cells: Cells, part: Cells) -> np.ndarray:
    """Which cells along some of the axes have any above them that count."""
    axes = [number for number, axis in enumerate(cells.edges) if axis in part.edges]
    return np.asarray(inside.any(axis=tuple(other for other in range(inside.ndim) if other not in axes)))


def _window(value: Expression, cells: Cells, fixed: Mapping[str, float]) -> list[slice]:
    """Where a value may be anything but 0, by bounds over blocks of cells."""
    size = max(1, max(cells.shape) // _BLOCKS)
    blocks = cells.blocks(size)
    low, high = enclosed(value, blocks.ranges(), fixed)
    most = np.broadcast_to(np.maximum(np.abs(low), np.abs(high)), blocks.shape)
    found = []
    for axis, n in enumerate(cells.shape):
        along = most.max(axis=tuple(other for other in range(most.ndim) if other != axis))
        here = np.flatnonzero(along > _NOTHING * most.max())
        found.append(slice(int(here[0]) * size, min((int(here[-1]) + 1) * size, n)) if here.size else slice(0, n))
    return found


def _times(factors: tuple[np.ndarray, ...]) -> np.ndarray:
    with np.errstate(all="ignore"):  # outside of the cells that count
        return np.asarray(reduce(np.multiply, factors))
