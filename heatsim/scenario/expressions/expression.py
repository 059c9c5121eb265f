"""Formulas that a scenario may hold, such as "293.15 + 5*sin(2*pi*t/60)", safe to take from a stranger.

The text is parsed, never evaluated: an allowlist rebuilds it as a small tree of our own (expression_parser),
and only that tree is computed (expression_forms) or taken apart (separation).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heatsim.scenario.expressions.nodes import (
    MULTIPLIED_POWERS,
    VARIABLES,
    Apply,
    Compare,
    Node,
    NumberNode,
    VariableNode,
    comparisons,
    to_text,
    variables,
)
from heatsim.scenario.expressions.parser import ExpressionError, parse
from heatsim.scenario.expressions.separation import separate

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
        return result.copy() if isinstance(self._tree, VariableNode) else result  # never the caller's own array

    def function(self, *arguments: str) -> Callable[..., Any]:
        """A plain Python function of scalars in this order, which `numba.njit` and `numba.cuda.jit` compile.

        Compile with `error_model="numpy"`, else x/0 raises as in Python (CUDA has that model already). Called
        uncompiled it raises what Python does (ZeroDivisionError, ValueError, OverflowError), but never from a
        branch that is not chosen. Pass float64: float32 arguments are computed in float32 up to the first
        literal. The function has no source file, so Numba cannot cache it on disk.

        Args:
            arguments: x, y, z, t or T, covering `names`; those not in use are ignored.

        Raises:
            TypeError: a variable in use is not among the arguments, or an argument is no variable.
        """
        self._check_given(frozenset(arguments))
        unknown = set(arguments) - VARIABLES
        if unknown:
            raise TypeError(f"not variables of an expression: {', '.join(sorted(unknown))}")
        source = scalar_source(self._tree, "expression", arguments)
        namespace: dict[str, Any] = {"math": math}
        exec(compile(source, "<expression>", "exec"), namespace)  # our source, nothing of the user's text
        function: Callable[..., Any] = namespace["expression"]
        return function

    def split_time(self) -> list[tuple[Expression | None, Expression | None]] | None:
        """The expression as a sum of at most 16 products space(x, y, z) * time(t), a factor of 1 being None.

        Found by distributing over + - *, and / by a single product; no two terms have the same time factor.
        The sum rounds like its largest term, which may exceed the value. None where some part mixes space and
        time, as in sin(x - t), or where T occurs.
        """
        terms = None if "T" in self.names else separate(self._tree, "t")
        if terms is None:
            return None
        return [(self._part(space), self._part(time)) for space, time in terms]

    def split_temperature(self) -> tuple[Expression | None, Expression | None] | None:
        """The expression as one product of what does not depend on T and what depends on nothing else, a factor of 1
        being None. Found as by `split_time`; None if it is no such product."""
        terms = separate(self._tree, "T")
        if terms is None or len(terms) > 1:
            return None
        [(others, of_temperature)] = terms
        return self._part(others), self._part(of_temperature)

    def comparisons(self) -> list[tuple[Expression, Expression]]:
        """Each comparison of two values in the expression, wherever it stands, and the first value less the second."""
        return [(self._of(truth), self._of(difference)) for truth, difference in comparisons(self._tree)]

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


# The two forms in which a tree is computed: NumPy arrays, and the source of a scalar function for Numba.


Values: TypeAlias = Mapping[str, NDArray[np.float64]]


def _erf(u: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.fromiter(map(math.erf, u.ravel().data), np.float64, u.size).reshape(u.shape)


def _step(u: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.heaviside(u, 1.0)


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
    "erf": _erf,
    "floor": np.floor,
    "step": _step,
}
_NUMPY_REDUCED: dict[str, np.ufunc] = {
    "min": np.minimum,
    "max": np.maximum,
}


def _and(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """What is undefined on the left is undefined; on the right only where the left does not decide."""
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


# The functions of `math` are alike in Python, in Numba on the CPU and in CUDA but for floor, which may give
# an integer (every float from 2**52 on is whole, so none is too large). min, max and step are written out so
# that a NaN stays a NaN, as in NumPy.
_SCALAR = {
    "+": "{0} + {1}",
    "-": "{0} - {1}",
    "*": "{0} * {1}",
    "/": "{0} / {1}",
    "**": "math.pow({0}, {1})",  # never complex, unlike Python's **
    "negative": "-{0}",
    "not": "1.0 if {0} == 0.0 else 0.0",
    "abs": "math.fabs({0})",
    "floor": "float(math.floor({0})) if math.fabs({0}) < 4503599627370496.0 else {0}",
    "step": "1.0 if {0} >= 0.0 else 0.0 if {0} < 0.0 else {0}",
    "min": "{0} if {0} < {1} or {0} != {0} else {1}",
    "max": "{0} if {0} > {1} or {0} != {0} else {1}",
    **{name: f"math.{name}({{0}})" for name in ("sin", "cos", "tan", "exp", "log", "sqrt", "tanh", "erf")},
}


def scalar_source(tree: Node, name: str, arguments: tuple[str, ...]) -> str:
    """Python source of a function that computes the tree from scalars, one operation a line.

    It holds fixed fragments, variable names and float literals, nothing of the user's text. Conditions are
    the numbers 1.0 and 0.0, so that every local has one type. Only the branch that is chosen runs.
    """
    code = _Code()
    result = code.value(tree)
    return "\n".join([f"def {name}({', '.join(arguments)}):", *code.lines, f"    return {result}\n"])


class _Code:
    """The lines of a function body; every operation gets a local name of its own."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.level = 1

    def line(self, text: str) -> None:
        self.lines.append("    " * self.level + text)

    def local(self) -> str:
        return f"v{len(self.lines)}"

    def assigned(self, text: str) -> str:
        name = self.local()
        self.line(f"{name} = {text}")
        return name

    def value(self, node: Node) -> str:
        """Writes the lines that compute a node; returns its name, or the literal."""
        match node:
            case NumberNode(value):
                return repr(value)
            case VariableNode(name):
                return name
            case Compare(operators, operands):
                first, *others = map(self.value, operands)
                chain = "".join(f" {symbol} {b}" for symbol, b in zip(operators, others, strict=True))
                return self.assigned(f"1.0 if {first}{chain} else 0.0")
            case Apply("where", (condition, chosen, otherwise)):
                return self.choice(condition, chosen, otherwise)
            case Apply("and" | "or" as connective, operands):
                return self.connected(connective, operands)
            case Apply("**", (base, NumberNode(exponent))) if exponent in MULTIPLIED_POWERS:
                return self.assigned(" * ".join([self.value(base)] * int(exponent)))
            case Apply("min" | "max" as function, operands):
                return reduce(lambda a, b: self.assigned(_SCALAR[function].format(a, b)), map(self.value, operands))
            case Apply(function, operands):
                return self.assigned(_SCALAR[function].format(*map(self.value, operands)))

    def choice(self, condition: Node, chosen: Node, otherwise: Node) -> str:
        test = self.value(condition)
        name = self.local()
        self.line(f"if {test} != 0.0:")
        self.branch(name, chosen)
        self.line("else:")
        self.branch(name, otherwise)
        return name

    def connected(self, connective: str, operands: tuple[Node, ...]) -> str:
        undecided = "!=" if connective == "and" else "=="
        name = self.assigned(f"1.0 if {self.value(operands[0])} != 0.0 else 0.0")
        for operand in operands[1:]:
            self.line(f"if {name} {undecided} 0.0:")
            self.branch(name, Compare(("!=",), (operand, NumberNode(0.0))))
        return name

    def branch(self, name: str, node: Node) -> None:
        self.level += 1
        self.line(f"{name} = {self.value(node)}")
        self.level -= 1
