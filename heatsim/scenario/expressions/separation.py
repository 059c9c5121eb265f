"""Separation of a variable: an expression as a sum of products others(...) * alone(variable), such as space * time."""

from __future__ import annotations

from functools import reduce
from typing import TypeAlias

from heatsim.scenario.expressions.nodes import Apply, Node, NumberNode, variables

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
        case _:
            raise _NotSeparable
    if len(terms) > MAX_TERMS:
        raise _NotSeparable
    return terms


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
