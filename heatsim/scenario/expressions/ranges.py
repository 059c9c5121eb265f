"""Between which values an expression stays while its variables stay in ranges: by `intervals`, so that nothing narrow
is missed. Ranges are halved until what is found is close to values that do occur, or the boxes are too many; what then
is returned is wide, and safe.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from heatsim.scenario.expressions.expression import Expression, Value

MAX_BOXES = 4096  # looked at once
MAX_HALVINGS = 40
CLOSE = 1e-3  # of the values that occur: an interval by so much wider is good enough
SAME = 1e-9  # of values, by which they differ no more than by rounding
START = 64  # parts of each range to begin with, if it is the only one

Array: TypeAlias = NDArray[np.float64]


def range_of(value: Value, **ranges: tuple[float, float]) -> tuple[float, float]:
    """The least and the greatest value, or less and more than these, while the variables stay in their ranges; infinite
    where there is no bound."""
    if not isinstance(value, Expression):
        return float(value), float(value)
    names = sorted(value.names)
    if not names:
        only = float(value())
        return (only, only) if math.isfinite(only) else (-math.inf, math.inf)
    lows, highs = _parts(np.array([ranges[name] for name in names], float))
    return _hull(value, names, lows, highs)


def _parts(ends: Array) -> tuple[Array, Array]:
    """The box of these ranges (d, 2) in equal parts, (d, n) lower and upper ends."""
    wide = int(np.count_nonzero(ends[:, 1] > ends[:, 0]))
    count = max(2, round(START ** (1 / max(wide, 1))))
    edges = [np.linspace(low, high, count + 1 if high > low else 2) for low, high in ends]
    lows = np.stack(np.meshgrid(*(each[:-1] for each in edges), indexing="ij")).reshape(len(ends), -1)
    highs = np.stack(np.meshgrid(*(each[1:] for each in edges), indexing="ij")).reshape(len(ends), -1)
    return lows, highs


def _hull(value: Expression, names: list[str], lows: Array, highs: Array) -> tuple[float, float]:
    """The hull over boxes (d, n), of which those that decide are halved."""
    seen_low, seen_high = math.inf, -math.inf
    found_low, found_high = math.inf, -math.inf  # of boxes that are not looked at any more
    for turn in range(MAX_HALVINGS + 1):
        ranges = {name: (low, high) for name, low, high in zip(names, lows, highs, strict=True)}
        low, high = (np.broadcast_to(end, lows.shape[1:]) for end in value.enclose(**ranges))
        for share in (0.5, 0.0, 1.0):
            points = dict(zip(names, lows + share * (highs - lows), strict=True))
            at = np.asarray(value(**points))
            at = at[np.isfinite(at)]
            if at.size:
                seen_low, seen_high = min(seen_low, float(at.min())), max(seen_high, float(at.max()))
        near = (
            CLOSE * max(seen_high - seen_low, 1e-9 * max(abs(seen_low), abs(seen_high)))
            if seen_low <= seen_high
            else 0.0
        )
        decides = (low < min(seen_low, found_low) - near) | (high > max(seen_high, found_high) + near)
        done = ~decides
        if done.any():
            found_low, found_high = min(found_low, float(low[done].min())), max(found_high, float(high[done].max()))
        if not decides.any():
            return found_low, found_high
        if turn == MAX_HALVINGS or np.count_nonzero(decides) > MAX_BOXES // 2:
            return min(found_low, float(low.min())), max(found_high, float(high.max()))
        lows, highs = _halved(lows[:, decides], highs[:, decides])
    raise AssertionError("unreachable")


def _halved(lows: Array, highs: Array) -> tuple[Array, Array]:
    """The boxes cut across their longest side, by share of the whole."""
    scale = np.maximum(highs.max(axis=1) - lows.min(axis=1), 1e-300)[:, None]
    longest, each = np.argmax((highs - lows) / scale, axis=0), np.arange(lows.shape[1])
    middle = 0.5 * (lows[longest, each] + highs[longest, each])
    upper, lower = lows.copy(), highs.copy()
    upper[longest, each], lower[longest, each] = middle, middle
    return np.concatenate((lows, upper), axis=1), np.concatenate((lower, highs), axis=1)
