"""Formulas that a scenario may hold, such as "293.15 + 5*sin(2*pi*t/60)", safe to take from a stranger.

The text is parsed, never evaluated: an allowlist rebuilds it as a small tree of our own (`parser`), and only that tree
is computed with NumPy, or separated: written as a sum of products others(...) * alone(variable), such as space * time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heatsim.base import evaluations
from heatsim.scenario.language.expressions.factors import products
from heatsim.scenario.language.expressions.intervals import Interval, enclose
from heatsim.scenario.language.expressions.parser import (
    MULTIPLIED_POWERS,
    Apply,
    Compare,
    ExpressionError,
    Node,
    NumberNode,
    VariableNode,
    comparisons,
    floors,
    operations,
    parse,
    to_text,
    variables,
)
from heatsim.scenario.language.expressions.time_bounds import Bounds, bounds, erf

__all__ = ["Expression", "ExpressionError"]


class Expression:
    """A formula in some of the variables x, y, z (m), t (s) and T (temperature); made by `Expression.parse`.

    Two expressions are equal when their text and their allowed variables are.

    Conditions are numbers: a comparison, `and`, `or` and `not` give 1 or 0, and what is not 0 is true, NaN
    included. step(u) is 0 for u < 0 and 1 for u >= 0. A NaN operand of min, max or step gives NaN.

    Attributes:
        text: the formula as written.
        allowed: the variables it might have used.
        names: the variables it uses.
    """

    __slots__ = ("_tree", "allowed", "names", "text")

    def __init__(self, text: str, allowed: frozenset[str], tree: Node) -> None:
        self.text = text
        self.allowed = allowed
        self.names = variables(tree)
        self._tree = tree

    @classmethod
    def parse(cls, text: str, allowed: frozenset[str]) -> Expression:
        """The expression that `text` writes, in variables out of `allowed`.

        Raises:
            ExpressionError: with the offset in the text (from 0) of what is not allowed or does not parse.
        """
        return cls(text, allowed, parse(text, allowed))

    def __call__(self, **values: ArrayLike) -> NDArray[np.float64]:
        """The value in float64, of the shape to which the variables in use broadcast (0-d for scalars).

        Values of variables not in use are ignored. Both branches of a condition are computed. Where the
        formula has no finite value (1/0, log(-1), overflow) the result is inf or NaN, without a warning.

        Raises:
            TypeError: a variable in use has no value.
        """
        self._check_given(frozenset(values))
        arrays = {name: np.asarray(values[name], dtype=np.float64) for name in self.names}
        with np.errstate(all="ignore"):
            result = np.asarray(evaluate(self._tree, arrays), dtype=np.float64)
        if evaluations.is_counting():
            evaluations.count(operations(self._tree), result.size)
        return result.copy() if isinstance(self._tree, VariableNode) else result  # never the caller's own array

    def split_time(self) -> list[tuple[Expression | None, Expression | None]] | None:
        """The expression as a sum of at most 16 products space(x, y, z) * time(t), a factor of 1 being None.

        Found by distributing over + - *, and / by a single product, and by the sums of angles in sin and cos; no two
        terms have the same time factor.
        The sum rounds like its largest term, which may exceed the value. None where some part mixes space and
        time, as in sin(x - t), or where T occurs.
        """
        return None if "T" in self.names else self.split_terms("t")

    def split_terms(self, variable: str) -> list[tuple[Expression | None, Expression | None]] | None:
        """The expression as a sum of at most 16 products of what does not depend on a variable and what depends on
        nothing else, a factor of 1 being None; None where some part mixes it with others. Found as by `split_time`."""
        terms = separate(self._tree, variable)
        if terms is None:
            return None
        return [(self._part(others), self._part(alone)) for others, alone in terms]

    def split_temperature(self) -> tuple[Expression | None, Expression | None] | None:
        """The expression as one product of what does not depend on T and what depends on nothing else, a factor of 1
        being None. Found as by `split_time`; None if it is no such product."""
        terms = self.split_terms("T")
        return None if terms is None or len(terms) > 1 else terms[0]

    def bounds(self, starts: ArrayLike, ends: ArrayLike) -> Bounds:
        """Bounds of an expression in t alone, and of its slope, over n intervals of time, s: see `time_bounds`."""
        return bounds(self._tree, np.asarray(starts, np.float64), np.asarray(ends, np.float64))

    def jumps(self) -> list[Expression]:
        """The parts of the expression that are constant but for jumps: comparisons of two values, and each floor()."""
        return [self._of(tree) for tree in [*(truth for truth, _ in comparisons(self._tree)), *floors(self._tree)]]

    def comparisons(self) -> list[tuple[Expression, Expression]]:
        """Each comparison of two values in the expression, wherever it stands, and the first value less the second."""
        return [(self._of(truth), self._of(difference)) for truth, difference in comparisons(self._tree)]

    def enclose(self, **ranges: Interval) -> Interval:
        """Lower and upper bounds of the value where each variable in use is within its range (low, high), of the shape
        to which these broadcast; infinite where there is no bound. They may be wider than need be: see `intervals`."""
        self._check_given(frozenset(ranges))
        given = {name: (np.asarray(low), np.asarray(high)) for name, (low, high) in ranges.items()}
        with np.errstate(all="ignore"):
            return enclose(self._tree, given, evaluate)

    def split_space(self) -> list[list[Expression]]:
        """The expression as a sum of at most 16 products, each of factors of which no two have one of x, y, z in
        common: see `factors`."""
        return [[self._of(factor) for factor in product] for product in products(self._tree)]

    def _part(self, factor: Node | None) -> Expression | None:
        return None if factor is None else self._of(factor)

    def _of(self, tree: Node) -> Expression:
        return Expression(to_text(tree), self.allowed, tree)

    def _check_given(self, given: frozenset[str]) -> None:
        missing = self.names - given
        if missing:
            raise TypeError(f"{self.text!r} needs {', '.join(sorted(missing))}")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Expression):
            return NotImplemented
        return self.text == other.text and self.allowed == other.allowed

    def __hash__(self) -> int:
        return hash((self.text, self.allowed))

    def __repr__(self) -> str:
        return f"Expression({self.text!r})"


Value: TypeAlias = float | Expression


def depends_on(value: Value, names: str) -> bool:
    """Whether a value depends on any of some one-letter variables, such as "xyz"."""
    return isinstance(value, Expression) and not value.names.isdisjoint(names)


def separate_temperature(value: Value) -> tuple[Value, Expression | None]:
    """A value as a product of what does not depend on T, and what depends on T alone, None if nothing does."""
    parts = value.split_temperature() if isinstance(value, Expression) and "T" in value.names else None
    if parts is None:
        return value, None
    others, of_temperature = parts
    return (1.0 if others is None else others), of_temperature


# --- the value of a tree over NumPy arrays

Values: TypeAlias = Mapping[str, NDArray[np.float64]]


_NUMPY: dict[str, Callable[..., Any]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "**": np.power,
    "negative": np.negative,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "abs": np.abs,
    "tanh": np.tanh,
    "erf": erf,
    "floor": np.floor,
    "step": lambda u: np.heaviside(u, 1.0),
}
_NUMPY_REDUCED: dict[str, np.ufunc] = {"min": np.minimum, "max": np.maximum}


def _and(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """An undefined left operand makes the result undefined; an undefined right one where the left does not decide."""
    return np.where(np.isnan(a), np.nan, np.where(a == 0.0, 0.0, np.where(np.isnan(b), np.nan, b != 0.0)))


def _or(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(np.isnan(a), np.nan, np.where(a != 0.0, 1.0, np.where(np.isnan(b), np.nan, b != 0.0)))


_NUMPY_CONNECTIVES = {"and": _and, "or": _or}
_NUMPY_COMPARISONS: dict[str, np.ufunc] = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": np.not_equal,
}


def evaluate(node: Node, values: Values) -> Any:
    """The value of a tree over broadcast arrays: float64, or bool where the node is a condition.

    A comparison of what is not finite is NaN, so that a division by zero in a condition shows. Both branches of a
    condition are computed; the caller silences NumPy's floating-point warnings.
    """
    match node:
        case NumberNode(value):
            return np.float64(value)
        case VariableNode(name):
            return values[name]
        case Compare(operators, operands):
            numbers = [evaluate(operand, values) for operand in operands]
            links = zip(operators, numbers, numbers[1:], strict=False)
            truth = reduce(np.logical_and, (_NUMPY_COMPARISONS[symbol](a, b) for symbol, a, b in links))
            defined = reduce(np.logical_and, map(np.isfinite, numbers))
            return truth if defined.all() else np.where(defined, truth, np.nan)
        case Apply("not", (operand,)):
            truth = evaluate(operand, values)
            return np.where(np.isnan(truth), np.nan, np.logical_not(truth))
        case Apply("where", (condition, chosen, otherwise)):
            truth = evaluate(condition, values)
            picked = np.where(np.not_equal(truth, 0.0), _number(chosen, values), _number(otherwise, values))
            return np.where(np.isnan(truth), np.nan, picked)
        case Apply("and" | "or" as connective, operands):
            return reduce(_NUMPY_CONNECTIVES[connective], (_number(operand, values) for operand in operands))
        case Apply("**", (base, NumberNode(exponent))) if exponent in MULTIPLIED_POWERS:
            return reduce(np.multiply, [_number(base, values)] * int(exponent))
        case Apply(function, operands) if function in _NUMPY_REDUCED:
            return reduce(_NUMPY_REDUCED[function], (_number(operand, values) for operand in operands))
        case Apply(function, operands):
            return _NUMPY[function](*(_number(operand, values) for operand in operands))


def _number(node: Node, values: Values) -> NDArray[np.float64]:
    """The value as float64, since NumPy's own arithmetic on bools is logic: True + True is True."""
    return np.asarray(evaluate(node, values), dtype=np.float64)


# --- separation of a variable from the others

MAX_TERMS = 16

Factor: TypeAlias = Node | None  # None is the factor 1
Term: TypeAlias = tuple[Factor, Factor]  # of the others, of the variable

_ONE = NumberNode(1.0)


class _NotSeparable(Exception):
    pass


def separate(tree: Node, variable: str) -> list[Term] | None:
    """The terms whose products sum to the tree; None where some part mixes the variable with others."""
    try:
        return _collected(_terms(tree, variable))
    except _NotSeparable:
        return None


def _terms(node: Node, variable: str) -> list[Term]:
    names = variables(node)
    if variable not in names:
        return [(node, None)]
    if names == {variable}:
        return [(None, node)]
    match node:
        case Apply("+", (a, b)):
            terms = _terms(a, variable) + _terms(b, variable)
        case Apply("-", (a, b)):
            terms = _terms(a, variable) + [_negative(term) for term in _terms(b, variable)]
        case Apply("negative", (a,)):
            terms = [_negative(term) for term in _terms(a, variable)]
        case Apply("*", (a, b)):
            left, right = _terms(a, variable), _terms(b, variable)
            terms = [(_product(s, u), _product(t, v)) for s, t in left for u, v in right]
        case Apply("/", (a, b)) if len(divisor := _terms(b, variable)) == 1:
            [(u, v)] = divisor
            terms = [(_quotient(s, u), _quotient(t, v)) for s, t in _terms(a, variable)]
        case Apply("sin" | "cos" as wave, (a,)):
            terms = _wave(wave, _terms(a, variable))
        case _:
            raise _NotSeparable
    if len(terms) > MAX_TERMS:
        raise _NotSeparable
    return terms


def _wave(wave: str, terms: list[Term]) -> list[Term]:
    """The sine or cosine of a sum of which no term mixes the variable with others, such as a travelling wave, by that
    of each: neither is larger than 1, so that the sum of products rounds as the wave does."""
    if any(others and alone for others, alone in terms):
        raise _NotSeparable
    u = reduce(lambda a, b: Apply("+", (a, b)), (others for others, alone in terms if alone is None and others))
    v = reduce(lambda a, b: Apply("+", (a, b)), (alone for _, alone in terms if alone))
    (sin_u, cos_u), (sin_v, cos_v) = ([Apply(name, (angle,)) for name in ("sin", "cos")] for angle in (u, v))
    if wave == "sin":
        return [(sin_u, cos_v), (cos_u, sin_v)]
    return [(cos_u, cos_v), (Apply("negative", (sin_u,)), sin_v)]


def _negative(term: Term) -> Term:
    space, time = term
    if space is None:
        return None, Apply("negative", (time or _ONE,))
    return Apply("negative", (space,)), time


def _product(a: Factor, b: Factor) -> Factor:
    return Apply("*", (a, b)) if a and b else a or b


def _quotient(a: Factor, b: Factor) -> Factor:
    return Apply("/", (a or _ONE, b)) if b else a


def _collected(terms: list[Term]) -> list[Term]:
    """Terms of one time factor made one. Done last: earlier, it would hide the growth that MAX_TERMS ends."""
    spaces: dict[Factor, list[Factor]] = {}
    for space, time in terms:
        spaces.setdefault(time, []).append(space)
    return [(_sum(parts), time) for time, parts in spaces.items()]


def _sum(parts: list[Factor]) -> Factor:
    if len(parts) == 1:
        return parts[0]
    return reduce(lambda a, b: Apply("+", (a, b)), (part or _ONE for part in parts))
