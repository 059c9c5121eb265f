"""The two forms in which a tree is computed: NumPy arrays, and the source of a scalar function for Numba."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from heatsim.scenario.expression_nodes import MULTIPLIED_POWERS, Apply, Compare, Node, Number, Variable

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
        case Number(value):
            return np.float64(value)
        case Variable(name):
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
        case Apply("**", (base, Number(exponent))) if exponent in MULTIPLIED_POWERS:
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
            case Number(value):
                return repr(value)
            case Variable(name):
                return name
            case Compare(operators, operands):
                first, *others = map(self.value, operands)
                chain = "".join(f" {symbol} {b}" for symbol, b in zip(operators, others, strict=True))
                return self.assigned(f"1.0 if {first}{chain} else 0.0")
            case Apply("where", (condition, chosen, otherwise)):
                return self.choice(condition, chosen, otherwise)
            case Apply("and" | "or" as connective, operands):
                return self.connected(connective, operands)
            case Apply("**", (base, Number(exponent))) if exponent in MULTIPLIED_POWERS:
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
            self.branch(name, Compare(("!=",), (operand, Number(0.0))))
        return name

    def branch(self, name: str, node: Node) -> None:
        self.level += 1
        self.line(f"{name} = {self.value(node)}")
        self.level -= 1
