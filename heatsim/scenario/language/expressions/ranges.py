"""Between which values an expression stays while its variables stay in ranges, and where it has what is narrow: by
`intervals`, so that nothing is missed. Ranges are halved until what is found is close to values that do occur, or the
boxes are too many; the range that is then returned is wide, and safe.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from heatsim.scenario.language.expressions.expression import Expression, Value

MAX_BOXES = 4096  # looked at once
MAX_HALVINGS = 40
CLOSE = 1e-3  # of the values that occur: an interval by so much wider is good enough
SAME = 1e-9  # of values, by which they differ no more than by rounding
START = 64  # parts of each range to begin with, if it is the only one
NARROW = 1e-6  # of value times place: what bounds allow between two places may not come to more
NARROWEST = 1e-10  # of a place: no two come closer
MAX_NARROW = 2**16  # boxes looked at once for what is narrow
DEPARTS = 0.05  # of the values: a place between two that lies so far off the line is one to keep

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


def narrow_places(value: Expression, at: Array, origin: float = 0.0) -> Array:
    """Places beside those `at` (n,), increasing, at which an expression in one variable, or none, departs from what it
    is at those: the spikes, dips and jumps that lie between them. origin: from where the size of a place counts, as
    absolute zero.

    Between two places the integral of the value may be off by NARROW of value times place, or bounds are too wide to
    say so for MAX_NARROW intervals.
    """
    if not value.names:
        return np.empty(0)
    (name,) = value.names
    low, high = at[:-1], at[1:]
    with np.errstate(all="ignore"):
        value_low, value_high = (np.broadcast_to(value(**{name: end}), end.shape) for end in (low, high))
        found = []
        for _ in range(MAX_HALVINGS):
            least, most = value.enclose(**{name: (low, high)})
            beyond = np.maximum(most - np.maximum(value_low, value_high), np.minimum(value_low, value_high) - least)
            size = np.maximum(np.abs(low - origin), np.abs(high - origin))
            allowed = NARROW * np.maximum(np.abs(value_low), np.abs(value_high)) * size
            open_ = ((high - low) * beyond > allowed) & (high - low > NARROWEST * size)
            if not 0 < np.count_nonzero(open_) <= MAX_NARROW:
                break
            low, high, value_low, value_high = low[open_], high[open_], value_low[open_], value_high[open_]
            middle = 0.5 * (low + high)
            value_middle = np.broadcast_to(value(**{name: middle}), middle.shape)
            scale = np.maximum(np.abs(value_low), np.abs(value_high))
            departs = ~(np.abs(value_middle - 0.5 * (value_low + value_high)) <= DEPARTS * scale)
            found += [low[departs], middle[departs], high[departs]]
            low, high = np.concatenate((low, middle)), np.concatenate((middle, high))
            value_low, value_high = (
                np.concatenate((value_low, value_middle)),
                np.concatenate((value_middle, value_high)),
            )
    return np.unique(np.concatenate(found)) if found else np.empty(0)
