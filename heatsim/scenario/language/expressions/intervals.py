"""Bounds of an expression over boxes: interval arithmetic on its tree.

What sampling may miss, such as a spike between the sampled points, lies within the bounds (Moore, Kearfott and Cloud,
Introduction to Interval Analysis, 2009, chapters 2 and 5). They may be wider than the values are, as where a variable
occurs more than once. Ends are not rounded outwards: an expression is off by its rounding all the same. Where a part of
a box lies beyond a function's domain, as of the root, the bounds are those of the other part.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from heatsim.scenario.language.expressions.parser import Apply, Compare, Node, NumberNode, VariableNode

Ends: TypeAlias = NDArray[np.float64]
Interval: TypeAlias = tuple[Ends, Ends]  # lower and upper ends, which broadcast against each other
Evaluate: TypeAlias = Callable[[Node, Mapping[str, Ends]], Any]


def enclose(node: Node, ranges: Mapping[str, Interval], evaluate: Evaluate) -> Interval:
    """Bounds of a tree for variables within `ranges`; infinite where there are none. evaluate: the value of a tree.

    The caller silences NumPy's floating-point warnings."""
    low, high = _enclose(node, ranges, evaluate)
    return np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)


def _enclose(node: Node, ranges: Mapping[str, Interval], evaluate: Evaluate) -> Interval:
    def of(operand: Node) -> Interval:
        return _enclose(operand, ranges, evaluate)

    match node:
        case NumberNode(value):
            return np.asarray(value), np.asarray(value)
        case VariableNode(name):
            return ranges[name]
        case Compare(operators, operands):
            found = [of(operand) for operand in operands]
            links = [_compared(*link) for link in zip(operators, found, found[1:], strict=False)]
            return reduce(_least, links)
        case Apply("and", operands):
            return reduce(_least, (_truth(of(operand)) for operand in operands))
        case Apply("or", operands):
            return reduce(_greatest, (_truth(of(operand)) for operand in operands))
        case Apply("not", (operand,)):
            low, high = _truth(of(operand))
            return 1.0 - high, 1.0 - low
        case Apply("where", (condition, chosen, otherwise)):
            return _chosen(_truth(of(condition)), of(chosen), of(otherwise))
        case Apply("*", (a, b)) if a == b:
            return _power(of(a), 2.0)
        case Apply("**", (base, exponent)):
            return _raised(of(base), of(exponent))
        case Apply("min", operands):
            return reduce(_least, map(of, operands))
        case Apply("max", operands):
            return reduce(_greatest, map(of, operands))
        case Apply(function, (operand,)) if function in _RISING:
            lowest = _RISING[function]
            ends = (np.maximum(end, lowest) for end in of(operand))
            low, high = (np.asarray(evaluate(Apply(function, (VariableNode("x"),)), {"x": end})) for end in ends)
            return low.astype(np.float64), high.astype(np.float64)
        case Apply(function, operands):
            return _OTHERS[function](*map(of, operands))


_RISING = {  # functions that rise everywhere, from the least place at which they have a value
    "exp": -np.inf,
    "log": 0.0,
    "sqrt": 0.0,
    "tanh": -np.inf,
    "erf": -np.inf,
    "floor": -np.inf,
    "step": -np.inf,
}


def _least(a: Interval, b: Interval) -> Interval:
    return np.minimum(a[0], b[0]), np.minimum(a[1], b[1])


def _greatest(a: Interval, b: Interval) -> Interval:
    return np.maximum(a[0], b[0]), np.maximum(a[1], b[1])


def _truth(a: Interval) -> Interval:
    """1, or 0, where a condition is surely true, or false; 0 to 1 elsewhere."""
    low, high = a
    return ((low > 0) | (high < 0)).astype(np.float64), ((low != 0) | (high != 0)).astype(np.float64)


def _compared(operator: str, a: Interval, b: Interval) -> Interval:
    (a_low, a_high), (b_low, b_high) = a, b
    match operator:
        case "<":
            surely, perhaps = a_high < b_low, a_low < b_high
        case "<=":
            surely, perhaps = a_high <= b_low, a_low <= b_high
        case ">" | ">=":
            return _compared(operator.replace(">", "<"), b, a)
        case _:
            perhaps = (a_low <= b_high) & (b_low <= a_high)
            surely = (a_low == b_high) & (b_low == a_high)
    low, high = surely.astype(np.float64), perhaps.astype(np.float64)
    return (1.0 - high, 1.0 - low) if operator == "!=" else (low, high)


def _chosen(truth: Interval, chosen: Interval, otherwise: Interval) -> Interval:
    sure, possible = truth[0] > 0, truth[1] > 0
    low = np.where(sure, chosen[0], np.where(possible, np.minimum(chosen[0], otherwise[0]), otherwise[0]))
    high = np.where(sure, chosen[1], np.where(possible, np.maximum(chosen[1], otherwise[1]), otherwise[1]))
    return low, high


def _negative(a: Interval) -> Interval:
    return -a[1], -a[0]


def _sum(a: Interval, b: Interval) -> Interval:
    return a[0] + b[0], a[1] + b[1]


def _product(a: Interval, b: Interval) -> Interval:
    ends = [np.asarray(x * y) for x in a for y in b]
    ends = [np.where(np.isnan(end), 0.0, end) for end in ends]  # 0 times an end at infinity
    return reduce(np.minimum, ends), reduce(np.maximum, ends)


def _quotient(a: Interval, b: Interval) -> Interval:
    low, high = b
    around_zero = (low <= 0) & (high >= 0)
    found = _product(a, (1.0 / np.where(around_zero, 1.0, high), 1.0 / np.where(around_zero, 1.0, low)))
    return np.where(around_zero, -np.inf, found[0]), np.where(around_zero, np.inf, found[1])


def _power(a: Interval, n: float) -> Interval:
    """An interval to a whole power of at least 1."""
    low, high = a
    if n % 2:
        return low**n, high**n
    ends = low**n, high**n
    return np.where((low <= 0) & (high >= 0), 0.0, np.minimum(*ends)), np.maximum(*ends)


def _raised(base: Interval, exponent: Interval) -> Interval:
    one_number = exponent[0].ndim == exponent[1].ndim == 0 and exponent[0] == exponent[1]
    n = float(exponent[0]) if one_number else 0.5
    if n == round(n) and n != 0:
        raised = _power(base, abs(n))
        return raised if n > 0 else _quotient((np.asarray(1.0), np.asarray(1.0)), raised)
    low, high = (np.maximum(end, 0.0) for end in base)
    ends = [x**y for x in (low, high) for y in exponent]
    return reduce(np.minimum, ends), reduce(np.maximum, ends)


def _absolute(a: Interval) -> Interval:
    low, high = np.abs(a[0]), np.abs(a[1])
    return np.where((a[0] <= 0) & (a[1] >= 0), 0.0, np.minimum(low, high)), np.maximum(low, high)


def _holds(a: Interval, place: float, period: float) -> NDArray[np.bool_]:
    """Whether place + n period lies in an interval for some whole n."""
    return np.asarray(place + np.ceil((a[0] - place) / period) * period <= a[1])


def _sine(a: Interval) -> Interval:
    ends = np.sin(a[0]), np.sin(a[1])
    low = np.where(_holds(a, -0.5 * np.pi, 2 * np.pi), -1.0, np.minimum(*ends))
    return low, np.where(_holds(a, 0.5 * np.pi, 2 * np.pi), 1.0, np.maximum(*ends))


def _cosine(a: Interval) -> Interval:
    return _sine((a[0] + 0.5 * np.pi, a[1] + 0.5 * np.pi))


def _tangent(a: Interval) -> Interval:
    pole = _holds(a, 0.5 * np.pi, np.pi)
    return np.where(pole, -np.inf, np.tan(a[0])), np.where(pole, np.inf, np.tan(a[1]))


_OTHERS: dict[str, Callable[..., Interval]] = {
    "+": _sum,
    "-": lambda a, b: _sum(a, _negative(b)),
    "*": _product,
    "/": _quotient,
    "negative": _negative,
    "abs": _absolute,
    "sin": _sine,
    "cos": _cosine,
    "tan": _tangent,
}
