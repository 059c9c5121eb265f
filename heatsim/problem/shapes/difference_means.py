"""Means of an expression over many cells by its values at their centres and second differences of these.

    mean = f + h^2/24 f''     along each axis, of cells of size h; f'' by the parabola through three centres. What it
                              leaves out is of the fourth order. Along a radius r, h^2/(12 r) f' comes to it.

This takes one evaluation a cell. It tells which cells it may not do for: those where the differences are large, and
those in blocks whose bounds allow values far beyond those at the centres.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from heatsim.base.threads import share_out
from heatsim.problem.shapes.axis_cells import Cells, bound_widths, volumes_of
from heatsim.scenario import Expression

MANY = 2**13  # cells, of which not each is looked at
ROUNDING = 1e-9  # of values, in which distances from a level say nothing
_MISSED = 1e-4  # share of the whole by which all cells that are not suspect may be off
_WIDER = 3.0  # bounds so many times as far apart as values at centres may hide something
_BLOCK = 4  # cells along a side of a block whose bounds are looked at
_SLAB = 2**15  # cells dealt with at a time, about: what a cache holds


class DifferenceMeans(NamedTuple):
    """Means over cells, of their shape; the numbers of those that are suspect; the mean of all, or 0; the integral of
    the distance from it, and that below which this is rounding."""

    values: np.ndarray
    suspects: np.ndarray
    level: float
    whole: float
    rounding: float


def means_by_differences(
    value: Expression,
    cells: Cells,
    fixed: Mapping[str, float],
    centre: np.ndarray,
    inside: np.ndarray | None,
    by_distance: bool,
) -> DifferenceMeans:
    """The means of a value over cells, at least three along each axis, by its values at their centres, all finite.

    inside: the cells that count; by_distance: the whole is that of the distance from the mean. The caller silences
    NumPy's floating-point warnings."""
    step, measures = _BLOCK * max(1, _SLAB // (_BLOCK * int(np.prod(cells.shape[1:])))), cells.measures()
    slabs = [slice(start, min(start + step, cells.shape[0])) for start in range(0, cells.shape[0], step)]

    def integral(of_slab: Callable[[slice], np.ndarray]) -> float:
        parts = share_out(lambda slab: _integral(of_slab(slab), slab, measures, inside), slabs, centre.size)
        return float(sum(parts))

    level = 0.0
    if by_distance:
        volume = integral(lambda slab: np.ones(()))
        level = integral(lambda slab: centre[slab]) / (volume or 1.0)
    size = integral(lambda slab: np.abs(centre[slab]))
    whole = integral(lambda slab: np.abs(centre[slab] - level)) if by_distance else size
    allowed = _MISSED * max(whole, ROUNDING * size) / centre.size
    stencils = [_Stencil(edges, cells.radial and axis == "x") for axis, edges in cells.edges.items()]
    blocks = cells.blocks(_BLOCK)
    means = np.empty(centre.shape)

    def suspects(slab: slice) -> np.ndarray:
        off = _corrected(centre, stencils, slab, means)
        of_slab = [measures[0][slab], *measures[1:]]
        suspect = off * of_slab[-1] > allowed / volumes_of(of_slab[:-1])[..., None]
        widths = bound_widths(value, blocks.part(slice(slab.start // _BLOCK, -(-slab.stop // _BLOCK))), fixed)
        hiding = _hiding(centre[slab], widths, of_slab, allowed)
        if hiding.any():
            suspect |= hiding[np.ix_(*(np.arange(n) // _BLOCK for n in suspect.shape))]
        if inside is not None:
            suspect &= inside[slab]
        return np.asarray(np.flatnonzero(suspect) + slab.start * (centre.size // len(centre)))

    found = list(share_out(suspects, slabs, centre.size))
    return DifferenceMeans(means, np.concatenate(found), level, whole, ROUNDING * size)


def _integral(values: np.ndarray, slab: slice, measures: list[np.ndarray], inside: np.ndarray | None) -> float:
    """The integral of values over the cells of a slab that count."""
    found = values if inside is None else np.where(inside[slab], values, 0.0)
    of_slab = [measures[0][slab], *measures[1:]]
    found = np.broadcast_to(found, [len(each) for each in of_slab])
    for each in reversed(of_slab):
        found = found @ each
    return float(found)


def _corrected(centre: np.ndarray, stencils: list[_Stencil], slab: slice, means: np.ndarray) -> np.ndarray:
    """Put the means over the cells of a slab among `means`; by how much these may be off."""
    around = slice(max(0, min(slab.start - 1, len(centre) - 3)), max(3, min(slab.stop + 1, len(centre))))
    change = stencils[0](centre[around], 0, around.start, slab)
    off = np.abs(change)
    for axis in range(1, centre.ndim):
        along = stencils[axis](centre[slab], axis)
        change += along
        off += np.abs(along, out=along)
    np.add(centre[slab], change, out=means[slab])
    np.abs(centre[slab], out=change)
    change += off
    change += np.finfo(float).tiny
    np.divide(off, change, out=change)
    change *= 4.0
    np.minimum(change, 1.0, out=change)
    change *= off
    return np.asarray(change)


def _hiding(centre: np.ndarray, widths: np.ndarray, measures: list[np.ndarray], allowed: float) -> np.ndarray:
    """Which blocks may hide values far beyond those at the centres of their cells."""
    volumes = volumes_of([np.add.reduceat(each, np.arange(0, len(each), _BLOCK)) for each in measures])
    size = np.where(np.isfinite(widths), widths, np.inf)
    perhaps = np.asarray(size * volumes > allowed)
    if not perhaps.any():
        return perhaps
    seen = _pieces(centre, np.maximum) - _pieces(centre, np.minimum)
    hidden: np.ndarray = perhaps & (widths > _WIDER * seen)
    return hidden


def _pieces(values: np.ndarray, reduce: np.ufunc) -> np.ndarray:
    """Values of blocks of cells, brought together."""
    for axis in range(values.ndim):
        parts = [values[(*(slice(None),) * axis, slice(start, None, _BLOCK))] for start in range(_BLOCK)]
        found = parts[0].copy()
        for part in parts[1:]:
            some = found[(*(slice(None),) * axis, slice(0, part.shape[axis]))]
            reduce(some, part, out=some)
        values = found
    return values


class _Stencil:
    """Corrections of values at the centres of cells to means along an axis, by differences of these values."""

    def __init__(self, edges: np.ndarray, radial: bool) -> None:
        """edges: the places of n + 1 faces, m, n at least 3."""
        size, place = np.diff(edges), 0.5 * (edges[:-1] + edges[1:])
        apart, middle = np.diff(place), np.clip(np.arange(len(size)), 1, len(size) - 2)
        curved = 2.0 / (apart[middle] + apart[middle - 1])  # times the change of slope: the second derivative
        first, second = size**2 / 12.0 / place if radial else np.zeros(len(size)), size**2 / 24.0
        bent = second + first * 0.5 * (2.0 * place - place[middle - 1] - place[middle])
        self._upper = bent * curved / apart[middle]
        self._lower = (first - bent * curved) / apart[middle - 1]

    def __call__(self, values: np.ndarray, axis: int, start: int = 0, chosen: slice | None = None) -> np.ndarray:
        """The corrections of the cells `chosen` along an axis, or of all cells. values: at the centres of cells from
        number `start` on, with one cell on either side of the chosen ones where the grid has it."""
        n, of_axis = len(self._upper), (-1,) + (1,) * (values.ndim - 1 - axis)
        chosen = chosen or slice(0, n)
        steps = np.diff(values, axis=axis)
        before: tuple[Any, ...] = (slice(None),) * axis
        begin, end = max(chosen.start, 1), min(chosen.stop, n - 1)
        found = np.empty((*values.shape[:axis], chosen.stop - chosen.start, *values.shape[axis + 1 :]))
        inner = found[(*before, slice(begin - chosen.start, end - chosen.start))]
        upper = steps[(*before, slice(begin - start, end - start))]
        lower = steps[(*before, slice(begin - start - 1, end - start - 1))]
        np.multiply(upper, self._upper[begin:end].reshape(of_axis), out=inner)
        inner += lower * self._lower[begin:end].reshape(of_axis)
        for number, middle in ((0, 1), (n - 1, n - 2)):
            if chosen.start <= number < chosen.stop:
                pair = steps[(*before, middle - start)], steps[(*before, middle - start - 1)]
                found[(*before, number - chosen.start)] = self._upper[number] * pair[0] + self._lower[number] * pair[1]
        return found
