"""The volume, or area, where a condition holds, however thin it is there: as its shape has it, not as cells do.

+---------+----+----+     Boxes are halved where bounds of the condition (interval arithmetic) leave it open whether
|         |  --+-.  |     it holds in all of a box, or nowhere in it. What is still open then is shared out by
|         +----+--\\-+     points that are spread over those boxes by chance, as many in each; their scatter says
|         |    |  | |     how far the sum may be off.
+---------+----+----+
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from heatsim.problem.shapes.axis_cells import enclosed, measure
from heatsim.scenario import Expression

_BOXES, _POINTS = 2**13, 2**18  # that are looked at, at most
_ROUNDS = 60
_SETTLED = 1e-3  # share of what is found that may be left open to no more than its middle


class ShapeSize(NamedTuple):
    """A volume, m3, or an area, m2, and by how much it may be off."""

    size: float
    error: float


def condition_measure(
    condition: Expression, spans: Mapping[str, tuple[float, float]], fixed: Mapping[str, float], radial: bool
) -> ShapeSize:
    """How much of a box along some axes meets a condition; fixed: the other coordinates; radial: x is a radius."""
    axes = [axis for axis in spans if axis in condition.names]
    across = 1.0
    for axis, (start, end) in spans.items():
        across *= 1.0 if axis in axes else float(measure(np.array(start), np.array(end), radial and axis == "x"))
    low, high = (np.array([[spans[axis][end]] for axis in axes], float).reshape(-1, 1) for end in (0, 1))
    extents, found = high - low, 0.0
    for step in range(_ROUNDS + 1):
        least, most = enclosed(condition, {axis: (low[i], high[i]) for i, axis in enumerate(axes)}, fixed)
        sizes = _sizes(axes, low, high, radial)
        found += float(sizes[np.broadcast_to((least > 0.0) | (most < 0.0), sizes.shape)].sum())
        is_open = np.broadcast_to((least <= 0.0) & (most >= 0.0) & ((least != 0.0) | (most != 0.0)), sizes.shape)
        low, high, sizes = low[:, is_open], high[:, is_open], sizes[is_open]
        if not axes or step == _ROUNDS or sizes.sum() <= _SETTLED * found or sizes.size > _BOXES // 2:
            break
        longest = ((high - low) / extents).argmax(axis=0), np.arange(low.shape[1])
        below, above = high.copy(), low.copy()
        below[longest] = above[longest] = 0.5 * (low + high)[longest]
        low, high = np.concatenate((low, above), axis=1), np.concatenate((below, high), axis=1)
    error = 0.0
    if sizes.size and axes:
        shares, within = _shares(condition, axes, (low, high), fixed, radial)
        found += float((shares * sizes).sum())
        error = float(np.sqrt((sizes**2 * within).sum()))
    return ShapeSize(across * found, across * error)


def _shares(
    condition: Expression,
    axes: list[str],
    boxes: tuple[np.ndarray, np.ndarray],
    fixed: Mapping[str, float],
    radial: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """(m,) the share of each box that meets the condition, by points in it, and the variance of that."""
    low, high = boxes
    count = max(16, _POINTS // low.shape[1])
    places = low[..., None] + (high - low)[..., None] * np.random.default_rng(0).random((*low.shape, count))
    points = dict(zip(axes, places, strict=True))
    truth = np.broadcast_to(np.nan_to_num(condition(**points, **fixed)) != 0.0, places.shape[1:])
    weights = points["x"] / points["x"].mean(axis=-1, keepdims=True) if radial and "x" in axes else 1.0
    shares = (truth * weights).mean(axis=-1)
    # of boxes in which no point, or each, is true, as if one more were false and one true in all of them together
    alike = shares.mean() * (1.0 - shares.mean()) + 1.0 / (count * shares.size)
    spread = np.where((shares > 0.0) & (shares < 1.0), np.abs(shares * (1.0 - shares)), 0.0)
    return shares, np.maximum(spread, alike if not spread.any() else 0.0) / count


def _sizes(axes: list[str], low: np.ndarray, high: np.ndarray, radial: bool) -> np.ndarray:
    sizes = np.ones(low.shape[1])
    for i, axis in enumerate(axes):
        sizes *= measure(low[i], high[i], radial and axis == "x")
    return sizes
