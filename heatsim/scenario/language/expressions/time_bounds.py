"""Bounds of an expression in t, and of its slope, over intervals of time: interval arithmetic on its tree.

A bound holds for every time of the interval, not for samples of it, so that nothing is too short to be seen: what does
not change within the bounds does not change. Where bounds are wide the interval is cut. R. E. Moore, Interval Analysis
(1966); slopes follow by the chain rule on the same intervals.

Rounding of a last digit is not accounted for: nobody cuts so far, but to find on which side of a time a value changes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from heatsim.scenario.language.expressions.parser import Apply, Compare, Node, NumberNode, VariableNode

Floats = NDArray[np.float64]


ROUNDING = 1e-9  # of what a slope adds


class Bounds(NamedTuple):
    """Least and greatest value over each of n intervals, (n,), and the same of the slope over time: infinite where a
    value jumps, and where nothing is known."""

    low: Floats
    high: Floats
    least_slope: Floats
    greatest_slope: Floats


def bounds(tree: Node, starts: Floats, ends: Floats) -> Bounds:
    """The bounds of a tree in t alone over intervals of time, s."""
    with np.errstate(all="ignore"):
        found = _tight(tree, np.asarray(starts, np.float64), np.asarray(ends, np.float64))
        unknown = np.isnan(found.low) | np.isnan(found.high)
        slopes = np.isnan(found.least_slope) | np.isnan(found.greatest_slope)
        return Bounds(
            np.where(unknown, -np.inf, found.low),
            np.where(unknown, np.inf, found.high),
            np.where(slopes, -np.inf, found.least_slope),
            np.where(slopes, np.inf, found.greatest_slope),
        )


def _tight(node: Node, starts: Floats, ends: Floats) -> Bounds:
    """The bounds, also those that follow from the value in the middle and the slope: closer where terms cancel."""
    found = _bounds(node, starts, ends)
    middle, half = 0.5 * (starts + ends), 0.5 * (ends - starts)
    at_middle = _bounds(node, middle, middle)
    off = half * np.maximum(np.abs(found.least_slope), np.abs(found.greatest_slope)) * (1.0 + ROUNDING)
    return found._replace(low=np.fmax(found.low, at_middle.low - off), high=np.fmin(found.high, at_middle.high + off))


def _bounds(node: Node, starts: Floats, ends: Floats) -> Bounds:
    zero = np.zeros_like(starts)
    match node:
        case NumberNode(value):
            return Bounds(zero + value, zero + value, zero, zero)
        case VariableNode():
            return Bounds(starts, ends, zero + 1.0, zero + 1.0)
        case Compare(operators, operands):
            pairs = zip(operators, operands, operands[1:], strict=False)
            over = [(symbol, _tight(Apply("-", (a, b)), starts, ends)) for symbol, a, b in pairs]
            return reduce(_both, (_compared(symbol, difference) for symbol, difference in over))
        case Apply("where", (condition, chosen, otherwise)):
            return _chosen(*(_bounds(each, starts, ends) for each in (condition, chosen, otherwise)))
        case Apply("**", (base, NumberNode(exponent))):
            return _power(_bounds(base, starts, ends), exponent)
        case Apply(function, operands):
            parts = [_bounds(each, starts, ends) for each in operands]
            if function in _REDUCED:
                return reduce(_REDUCED[function], parts)
            return _FUNCTIONS[function](*parts) if function in _FUNCTIONS else _unknown(parts[0])
    raise TypeError(f"no node of an expression: {node!r}")


def _unknown(like: Bounds) -> Bounds:
    inf = np.full_like(like.low, np.inf)
    return Bounds(-inf, inf, -inf, inf)


def _hull(*values: Floats) -> tuple[Floats, Floats]:
    return reduce(np.minimum, values), reduce(np.maximum, values)


def _times(a_low: Floats, a_high: Floats, b_low: Floats, b_high: Floats) -> tuple[Floats, Floats]:
    """The bounds of a product; 0 times infinity is 0 here, as infinity stands for what is not known but finite."""
    products = (np.where((a == 0.0) | (b == 0.0), 0.0, a * b) for a in (a_low, a_high) for b in (b_low, b_high))
    return _hull(*products)


# --- arithmetic


def _add(a: Bounds, b: Bounds) -> Bounds:
    return Bounds(*(x + y for x, y in zip(a, b, strict=True)))


def _negative(a: Bounds) -> Bounds:
    return Bounds(-a.high, -a.low, -a.greatest_slope, -a.least_slope)


def _multiply(a: Bounds, b: Bounds) -> Bounds:
    one = _times(a.low, a.high, b.least_slope, b.greatest_slope)
    other = _times(b.low, b.high, a.least_slope, a.greatest_slope)
    return Bounds(*_times(a.low, a.high, b.low, b.high), one[0] + other[0], one[1] + other[1])


def _divide(a: Bounds, b: Bounds) -> Bounds:
    through_zero = (b.low <= 0.0) & (b.high >= 0.0)
    low, high = _hull(1.0 / b.low, 1.0 / b.high)
    squared = np.maximum(low * low, high * high)
    least, greatest = _times(-squared, -np.minimum(low * low, high * high), b.least_slope, b.greatest_slope)
    found = _multiply(a, Bounds(low, high, least, greatest))
    return _where(through_zero, _unknown(a), found)


def _power(a: Bounds, exponent: float) -> Bounds:
    if exponent == 0.0:
        zero = np.zeros_like(a.low)
        return Bounds(zero + 1.0, zero + 1.0, zero, zero)
    if exponent == int(exponent) and exponent > 0:
        even = int(exponent) % 2 == 0
        low, high = _hull(a.low**exponent, a.high**exponent)
        low = np.where(even & (a.low < 0.0) & (a.high > 0.0), 0.0, low)
        inner = exponent - 1.0
        least, greatest = _hull(exponent * a.low**inner, exponent * a.high**inner)
        if not even:  # the slope is even then, and least at 0
            least = np.where((a.low < 0.0) & (a.high > 0.0) & (inner > 0.0), 0.0, least)
        return Bounds(low, high, *_times(least, greatest, a.least_slope, a.greatest_slope))
    low, high = _hull(a.low**exponent, a.high**exponent)
    slopes = _hull(exponent * a.low ** (exponent - 1.0), exponent * a.high ** (exponent - 1.0))
    found = Bounds(low, high, *_times(*slopes, a.least_slope, a.greatest_slope))
    return _where((a.low > 0.0) if exponent < 0.0 else (a.low >= 0.0), found, _unknown(a))


# --- functions of one value, by the bounds of their slope


def _rising(
    function: Callable[[Floats], Floats], slopes: Callable[[Floats, Floats], tuple[Floats, Floats]]
) -> Callable[[Bounds], Bounds]:
    def of(a: Bounds) -> Bounds:
        least, greatest = slopes(a.low, a.high)
        return Bounds(function(a.low), function(a.high), *_times(least, greatest, a.least_slope, a.greatest_slope))

    return of


def _bell(slope: Callable[[Floats], Floats]) -> Callable[[Floats, Floats], tuple[Floats, Floats]]:
    """The bounds of a slope that is greatest at 0 and falls to both sides."""

    def of(low: Floats, high: Floats) -> tuple[Floats, Floats]:
        least, greatest = _hull(slope(low), slope(high))
        return least, np.where((low < 0.0) & (high > 0.0), slope(np.zeros_like(low)), greatest)

    return of


def erf(u: Floats) -> Floats:
    """The error function of an array, which NumPy does not have."""
    return np.fromiter(map(math.erf, u.ravel().data), np.float64, u.size).reshape(u.shape)


_EXP = _rising(np.exp, lambda low, high: (np.exp(low), np.exp(high)))
_TANH = _rising(np.tanh, _bell(lambda u: 1.0 - np.tanh(u) ** 2))
_ERF = _rising(erf, _bell(lambda u: 2.0 / np.sqrt(np.pi) * np.exp(-u * u)))


def _LOG(a: Bounds) -> Bounds:
    found = Bounds(np.log(a.low), np.log(a.high), *_times(1.0 / a.high, 1.0 / a.low, a.least_slope, a.greatest_slope))
    return _where(a.low > 0.0, found, _unknown(a))


def _sqrt(a: Bounds) -> Bounds:
    least, greatest = 0.5 / np.sqrt(a.high), 0.5 / np.sqrt(a.low)
    found = Bounds(np.sqrt(a.low), np.sqrt(a.high), *_times(least, greatest, a.least_slope, a.greatest_slope))
    return _where(a.low >= 0.0, found, _unknown(a))


def _cosine(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """The bounds of a cosine."""
    turns = 2.0 * np.pi
    least, greatest = _hull(np.cos(low), np.cos(high))
    tops = np.floor(high / turns) >= np.ceil(low / turns)
    bottoms = np.floor((high - np.pi) / turns) >= np.ceil((low - np.pi) / turns)
    return np.where(bottoms, -1.0, least), np.where(tops, 1.0, greatest)


def _cos(a: Bounds) -> Bounds:
    low, high = _cosine(a.low + 0.5 * np.pi, a.high + 0.5 * np.pi)  # cos' = -sin, and cos(u + pi/2) = -sin(u)
    return Bounds(*_cosine(a.low, a.high), *_times(low, high, a.least_slope, a.greatest_slope))


def _sin(a: Bounds) -> Bounds:
    half = 0.5 * np.pi
    values = _cosine(a.low - half, a.high - half)
    return Bounds(*values, *_times(*_cosine(a.low, a.high), a.least_slope, a.greatest_slope))


def _tan(a: Bounds) -> Bounds:
    whole = np.floor(a.low / np.pi - 0.5) == np.floor(a.high / np.pi - 0.5)
    slopes = _hull(1.0 + np.tan(a.low) ** 2, 1.0 + np.tan(a.high) ** 2)
    found = Bounds(np.tan(a.low), np.tan(a.high), *_times(np.ones_like(a.low), slopes[1], *a[2:]))
    return _where(whole, found, _unknown(a))


def _abs(a: Bounds) -> Bounds:
    through = (a.low < 0.0) & (a.high > 0.0)
    least, greatest = _hull(np.abs(a.low), np.abs(a.high))
    signs = _where(a.low >= 0.0, a, _negative(a))
    steepest = np.maximum(np.abs(a.least_slope), np.abs(a.greatest_slope))
    return Bounds(
        np.where(through, 0.0, least),
        greatest,
        np.where(through, -steepest, signs.least_slope),
        np.where(through, steepest, signs.greatest_slope),
    )


def _jumping(low: Floats, high: Floats) -> Bounds:
    slope = np.where(low == high, 0.0, np.inf)
    return Bounds(low, high, -slope, slope)


def _lower(a: Bounds, b: Bounds) -> Bounds:
    slopes = np.minimum(a.least_slope, b.least_slope), np.maximum(a.greatest_slope, b.greatest_slope)
    either = Bounds(np.minimum(a.low, b.low), np.minimum(a.high, b.high), *slopes)
    return _where(a.high <= b.low, a, _where(b.high <= a.low, b, either))


# --- conditions: 0, 1, or between where both occur


def _compared(symbol: str, difference: Bounds) -> Bounds:
    """Whether a difference is less than 0, or whatever the symbol says."""
    low, high = difference.low, difference.high
    if symbol in (">", ">="):
        low, high = -high, -low
    if symbol in ("==", "!="):
        always, never = (low == 0.0) & (high == 0.0), (low > 0.0) | (high < 0.0)
        always, never = (always, never) if symbol == "==" else (never, always)
    elif symbol in ("<", ">"):
        always, never = high < 0.0, low >= 0.0
    else:
        always, never = high <= 0.0, low > 0.0
    return _jumping(always.astype(float), (~never).astype(float))


def _truth(a: Bounds) -> tuple[Any, Any]:
    """Whether a value is always true, and whether it may be."""
    never = (a.low == 0.0) & (a.high == 0.0)
    return (a.low > 0.0) | (a.high < 0.0), ~never


def _both(a: Bounds, b: Bounds) -> Bounds:
    (a_always, a_may), (b_always, b_may) = _truth(a), _truth(b)
    return _jumping((a_always & b_always).astype(float), (a_may & b_may).astype(float))


def _either(a: Bounds, b: Bounds) -> Bounds:
    (a_always, a_may), (b_always, b_may) = _truth(a), _truth(b)
    return _jumping((a_always | b_always).astype(float), (a_may | b_may).astype(float))


def _not(a: Bounds) -> Bounds:
    always, may = _truth(a)
    return _jumping((~may).astype(float), (~always).astype(float))


def _chosen(condition: Bounds, chosen: Bounds, otherwise: Bounds) -> Bounds:
    always, may = _truth(condition)
    inf = np.full_like(chosen.low, np.inf)
    either = Bounds(np.minimum(chosen.low, otherwise.low), np.maximum(chosen.high, otherwise.high), -inf, inf)
    return _where(always, chosen, _where(~may, otherwise, either))


def _where(condition: Any, a: Bounds, b: Bounds) -> Bounds:
    return Bounds(*(np.where(condition, x, y) for x, y in zip(a, b, strict=True)))


_FUNCTIONS: dict[str, Callable[..., Bounds]] = {
    "+": _add,
    "-": lambda a, b: _add(a, _negative(b)),
    "*": _multiply,
    "/": _divide,
    "**": lambda a, b: _where(a.low > 0.0, _EXP(_multiply(b, _LOG(a))), _unknown(a)),
    "negative": _negative,
    "sin": _sin,
    "cos": _cos,
    "tan": _tan,
    "exp": _EXP,
    "log": _LOG,
    "sqrt": _sqrt,
    "abs": _abs,
    "tanh": _TANH,
    "erf": _ERF,
    "floor": lambda a: _jumping(np.floor(a.low), np.floor(a.high)),
    "step": lambda a: _jumping((a.low >= 0.0).astype(float), (a.high >= 0.0).astype(float)),
    "not": _not,
}
_REDUCED: dict[str, Callable[[Bounds, Bounds], Bounds]] = {
    "min": _lower,
    "max": lambda a, b: _negative(_lower(_negative(a), _negative(b))),
    "and": _both,
    "or": _either,
}
