"""From the text of an expression to its tree, through an allowlist over Python's own parser.

A tree has four kinds of node. Only the parser and the separation of variables make them.
"""

from __future__ import annotations

import ast
import difflib
import math
import re
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from heatsim.scenario.language.toml.messages import name_character

VARIABLES = frozenset({"x", "y", "z", "t", "T"})
MULTIPLIED_POWERS = (2.0, 3.0, 4.0)  # computed as products: faster than pow, and the same bits everywhere

_UNARY_TEXT = {"negative": "-", "not": "not "}
_INFIX = frozenset({"+", "-", "*", "/", "**", "and", "or"})

MAX_CHARACTERS = 2000
MAX_NODES = 400
MAX_DEPTH = 60

_ONE_ARGUMENT = ("sin", "cos", "tan", "exp", "log", "sqrt", "abs", "tanh", "erf", "floor", "step")
_SEVERAL_ARGUMENTS = ("min", "max")
FUNCTIONS = (*_ONE_ARGUMENT, *_SEVERAL_ARGUMENTS, "where")

# Everything else is refused before Python's parser sees it: strings, brackets, colons (lambda, walrus), line
# breaks, and all letters beyond ASCII (Python folds look-alikes of x into x).
_FOREIGN = re.compile(r"[^A-Za-z0-9_ \t.,()+\-*/<>=!]")

_BINARY: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Pow: "**",
}
_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}
_ALLOWED = (
    "allowed are numbers, names, pi, + - * / **, comparisons, and, or, not, a if c else b, and the functions "
    + " ".join(FUNCTIONS)
)


@dataclass(frozen=True, slots=True)
class NumberNode:
    """A finite number."""

    value: float


@dataclass(frozen=True, slots=True)
class VariableNode:
    """A variable: x, y, z, t or T."""

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


OPERATIONS_OF_ERF = 20

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


def operations(node: Node) -> int:
    """How many operations on arrays a tree takes, about; `erf`, which NumPy does not have, counts as many as it takes
    the time of."""
    if isinstance(node, NumberNode | VariableNode):
        return 0
    own = OPERATIONS_OF_ERF if isinstance(node, Apply) and node.function == "erf" else 1
    return own + sum(map(operations, node.operands))


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


def floors(node: Node) -> list[Node]:
    """Each floor(u) in a tree."""
    if isinstance(node, NumberNode | VariableNode):
        return []
    inner = [each for operand in node.operands for each in floors(operand)]
    return [*inner, node] if isinstance(node, Apply) and node.function == "floor" else inner


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


class ExpressionError(ValueError):
    """The text is not an expression.

    Attributes:
        message: what is wrong, and what is allowed.
        offset: where in the text, in characters from 0.
    """

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message, offset)
        self.message = message
        self.offset = offset

    def __str__(self) -> str:
        return self.message


def parse(text: str, allowed: frozenset[str]) -> Node:
    """The tree of an expression in the variables `allowed` (a subset of x, y, z, t, T).

    Raises:
        ExpressionError: the text is too long, does not parse, nests too deep, or uses what is not allowed.
    """
    body = _python_tree(text)
    if sum(isinstance(node, ast.expr) for node in ast.walk(body)) > MAX_NODES:
        raise ExpressionError(f"the expression has more than {MAX_NODES} parts (numbers, names, operations)", 0)
    return _Builder(text, allowed).node(body, depth=1)


def _python_tree(text: str) -> ast.expr:
    """Python's tree of a text within the limits of length and characters, with offsets into the text."""
    _check_characters(text)
    stripped = text.lstrip()  # Python takes blanks at the start for an indented block
    indent = len(text) - len(stripped)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # such as "invalid decimal literal" for 1if x else 2
            body = ast.parse(stripped, mode="eval").body
    except SyntaxError as error:
        # Python's advice after the first phrase names things that are not allowed here.
        reason = re.split(r"[.;]", error.msg)[0]
        offset = indent + (error.offset - 1 if error.offset else len(stripped))  # 0: at the end
        raise ExpressionError(f"not an expression: {reason}", min(offset, len(text))) from None
    except (RecursionError, MemoryError, ValueError):
        raise ExpressionError(
            f"the expression nests too deep or has too large a number; {MAX_DEPTH} levels are allowed", 0
        ) from None
    for node in ast.walk(body):
        if isinstance(node, ast.expr | ast.keyword):
            node.col_offset += indent
            node.end_col_offset = (node.end_col_offset or 0) + indent
    return body


def _check_characters(text: str) -> None:
    if len(text) > MAX_CHARACTERS:
        message = f"the expression is longer than {MAX_CHARACTERS} characters ({len(text)})"
        raise ExpressionError(message, MAX_CHARACTERS)
    foreign = _FOREIGN.search(text)
    if foreign:
        name, hint = (repr(foreign[0]), "") if foreign[0].isascii() else name_character(foreign[0])
        hint = "write powers as **" if foreign[0] == "^" else hint or _ALLOWED
        raise ExpressionError(f"the character {name} is not allowed; {hint}", foreign.start())
    if not text.strip():
        raise ExpressionError("the expression is empty; a number or a formula is needed", 0)


class _Builder:
    """Rebuilds Python's tree node by node as ours."""

    def __init__(self, text: str, allowed: frozenset[str]) -> None:
        self.text = text
        self.names = sorted(allowed & VARIABLES)

    def node(self, node: ast.expr, depth: int) -> Node:
        if depth > MAX_DEPTH:
            message = f"the expression nests more than {MAX_DEPTH} deep; group long sums in parentheses"
            raise ExpressionError(message, node.col_offset)

        def inner(*nodes: ast.expr) -> tuple[Node, ...]:
            return tuple(self.node(part, depth + 1) for part in nodes)

        match node:
            case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
                return self.number(value, node.col_offset)
            case ast.Name(id=name):
                return self.name(name, node.col_offset)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.node(operand, depth + 1)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return Apply("negative", inner(operand))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return Apply("not", inner(operand))
            case ast.BinOp(left=left, op=operator, right=right):
                return Apply(self.symbol(operator, _BINARY, left), inner(left, right))
            case ast.BoolOp(op=operator, values=values):
                return Apply("and" if isinstance(operator, ast.And) else "or", inner(*values))
            case ast.Compare(left=left, ops=operators, comparators=others):
                operands = (left, *others)
                pairs = zip(operators, operands, strict=False)
                symbols = tuple(self.symbol(operator, _COMPARISONS, before) for operator, before in pairs)
                return Compare(symbols, inner(*operands))
            case ast.IfExp(test=test, body=body, orelse=otherwise):
                return Apply("where", inner(test, body, otherwise))
            case ast.Call(func=ast.Name(id=name)):
                self.check_call(name, node)
                return Apply(name, inner(*node.args))
        found = self.text[node.col_offset : node.end_col_offset]
        raise ExpressionError(f"{_short(found)} is not allowed; {_ALLOWED}", node.col_offset)

    def number(self, value: float, offset: int) -> NumberNode:
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if math.isinf(number):
            raise ExpressionError("the number is too large; at most 1.7e308 is allowed", offset)
        return NumberNode(number)

    def name(self, name: str, offset: int) -> Node:
        if name == "pi":
            return NumberNode(math.pi)
        if name in self.names:
            return VariableNode(name)
        if name in FUNCTIONS:
            raise ExpressionError(f"{name} is a function; write {name}(...)", offset)
        here = ", ".join([*self.names, "pi"])
        if name in VARIABLES:
            raise ExpressionError(f"{name} has no meaning here; the names are {here}", offset)
        guess = _did_you_mean(name, [*self.names, "pi", *FUNCTIONS])
        raise ExpressionError(f"unknown name {_short(name)}{guess}; the names are {here}", offset)

    def symbol(self, operator: ast.AST, table: Mapping[type[Any], str], before: ast.expr) -> str:
        if type(operator) in table:
            return table[type(operator)]
        rest = self.text[before.end_col_offset :]
        operator_offset = len(self.text) - len(rest.lstrip(" \t)"))
        raise ExpressionError(f"this operator is not allowed; {_ALLOWED}", operator_offset)

    def check_call(self, name: str, call: ast.Call) -> None:
        offset = call.col_offset
        if name not in FUNCTIONS:
            guess = _did_you_mean(name, FUNCTIONS)
            message = f"unknown function {_short(name)}{guess}; the functions are {' '.join(FUNCTIONS)}"
            raise ExpressionError(message, offset)
        if call.keywords:
            raise ExpressionError(f"{name} takes no keyword arguments", call.keywords[0].col_offset)
        count = len(call.args)
        if name in _SEVERAL_ARGUMENTS:
            needed, right = "2 or more arguments", count >= 2
        elif name == "where":
            needed, right = "3 arguments: condition, value if true, value if false", count == 3
        else:
            needed, right = "1 argument", count == 1
        if not right:
            raise ExpressionError(f"{name} takes {needed}; found {count}", offset)


def _did_you_mean(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1) or [word for word in known if word == name.lower()]
    return f", did you mean {close[0]}?" if close else ""


def _short(found: str) -> str:
    return repr(found if len(found) <= 40 else found[:37] + "...")
