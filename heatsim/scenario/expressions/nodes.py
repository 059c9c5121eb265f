"""The tree of an expression: four kinds of node, made only by the parser and by the separation of time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

VARIABLES = frozenset({"x", "y", "z", "t", "T"})
MULTIPLIED_POWERS = (2.0, 3.0, 4.0)  # computed as products: faster than pow, and the same bits everywhere

_UNARY_TEXT = {"negative": "-", "not": "not "}
_INFIX = frozenset({"+", "-", "*", "/", "**", "and", "or"})


@dataclass(frozen=True, slots=True)
class NumberNode:
    """A finite number."""

    value: float


@dataclass(frozen=True, slots=True)
class VariableNode:
    """One of x, y, z, t, T."""

    name: str


@dataclass(frozen=True, slots=True)
class Apply:
    """A function or operator of its operands: "+", "negative", "and", "not", "where", "sin", ..."""

    function: str
    operands: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Compare:
    """A chain of comparisons, such as a < b <= c; one operator fewer than operands."""

    operators: tuple[str, ...]
    operands: tuple[Node, ...]


Node: TypeAlias = NumberNode | VariableNode | Apply | Compare


def variables(node: Node) -> frozenset[str]:
    """The names of the variables in a tree."""
    match node:
        case NumberNode():
            return frozenset()
        case VariableNode(name):
            return frozenset({name})
        case Apply() | Compare():
            return frozenset().union(*(variables(operand) for operand in node.operands))


def comparisons(node: Node) -> list[tuple[Node, Node]]:
    """The comparisons of two values in a tree, chains taken apart, step(u) as u >= 0; and first less second value."""
    if isinstance(node, NumberNode | VariableNode):
        return []
    found = [pair for operand in node.operands for pair in comparisons(operand)]
    if isinstance(node, Compare):
        for symbol, a, b in zip(node.operators, node.operands, node.operands[1:], strict=False):
            found.append((Compare((symbol,), (a, b)), Apply("-", (a, b))))
    elif node.function == "step":
        found.append((Compare((">=",), (node.operands[0], NumberNode(0.0))), node.operands[0]))
    return found


def to_text(node: Node) -> str:
    """Text that parses to the same tree, every operation in parentheses."""
    match node:
        case NumberNode(value):
            return repr(value)
        case VariableNode(name):
            return name
        case Compare(operators, operands):
            rest = (f" {symbol} {to_text(b)}" for symbol, b in zip(operators, operands[1:], strict=True))
            return f"({to_text(operands[0])}{''.join(rest)})"
        case Apply(function, (operand,)) if function in _UNARY_TEXT:
            return f"({_UNARY_TEXT[function]}{to_text(operand)})"
        case Apply(function, operands) if function in _INFIX:
            return "(" + f" {function} ".join(map(to_text, operands)) + ")"
        case Apply(function, operands):
            return f"{function}({', '.join(map(to_text, operands))})"
