"""An expression as a sum of products of factors in different coordinates, as far as its form allows.

    (1 + x) * exp(-(x**2 + y**2)/a) * (z < b)   ->   [(1 + x) * exp(-x**2/a)] * [exp(-y**2/a)] * [z < b]

Sums are distributed, the exponential of a sum is a product, a condition is a factor of 1 or 0. What mixes coordinates
in another way, such as sqrt(x**2 + y**2), is one factor in all of them. The products round otherwise than the
expression, and may have no finite value where it has one: exp(900)*exp(-900).
"""

from __future__ import annotations

from functools import reduce
from typing import TypeAlias

from heatsim.scenario.language.expressions.parser import Apply, Compare, Node, NumberNode, variables

MAX_PRODUCTS = 16

Product: TypeAlias = tuple[Node, ...]

_SPACE = frozenset("xyz")
_ZERO, _ONE = NumberNode(0.0), NumberNode(1.0)


def products(tree: Node) -> list[Product]:
    """The products whose sum is the tree, each of factors that have no coordinate in common: the tree itself, if a
    factor had all its coordinates, since parts of a sum may be much larger than it is."""
    found, names = [tuple(_joined(product)) for product in _products(tree)], _coordinates(tree)
    return [(tree,)] if any(_coordinates(factor) == names for product in found for factor in product) else found


def _products(node: Node) -> list[Product]:
    whole: list[Product] = [(node,)]
    if len(_coordinates(node)) < 2:
        return whole
    match node:
        case Apply("+", (a, b)):
            found = _products(a) + _products(b)
        case Apply("-", (a, b)):
            found = _products(a) + [(_negative_one(), *product) for product in _products(b)]
        case Apply("negative", (a,)):
            found = [(_negative_one(), *product) for product in _products(a)]
        case Apply("*", (a, b)):
            found = [s + t for s in _products(a) for t in _products(b)]
        case Apply("/", (a, b)) if len(divisor := _products(b)) == 1:
            inverse = tuple(Apply("/", (_ONE, factor)) for factor in divisor[0])
            found = [product + inverse for product in _products(a)]
        case Apply("exp", (a,)):
            found = [_exponential(_products(a))]
        case Apply("**", (a, NumberNode(n) as power)) if n == int(n) and len(base := _products(a)) == 1:
            found = [tuple(Apply("**", (factor, power)) for factor in base[0])]
        case Apply("and", operands):
            found = [tuple(factor for operand in operands for factor in _condition(operand))]
        case Apply("where", (condition, chosen, otherwise)):
            truth = _condition(condition)
            found = [truth + product for product in _products(chosen)]
            if otherwise != _ZERO:
                found += [(_negative_one(), *truth, *product) for product in _products(otherwise)]
                found += _products(otherwise)
        case _:
            found = whole
    return found if len(found) <= MAX_PRODUCTS else whole


def _condition(node: Node) -> Product:
    """Factors of 1 and 0 for a condition, which is true where it is not 0."""
    match node:
        case Compare():
            return (node,)
        case Apply("and", operands):
            return tuple(factor for operand in operands for factor in _condition(operand))
    return (Compare(("!=",), (node, _ZERO)),)


def _exponential(terms: list[Product]) -> Product:
    """The exponential of a sum, a factor for each group of terms that has coordinates of its own."""
    return tuple(
        Apply("exp", (reduce(lambda a, b: Apply("+", (a, b)), group),)) for group in _groups(list(map(_times, terms)))
    )


def _joined(product: Product) -> list[Node]:
    return [_times(tuple(group)) for group in _groups(list(product))]


def _groups(nodes: list[Node]) -> list[list[Node]]:
    """Nodes with coordinates in common, directly or through others, together."""
    groups: list[tuple[frozenset[str], list[Node]]] = []
    for node in nodes:
        names, members, apart = _coordinates(node), [node], []
        for each in groups:
            if each[0] & names or each[0] == names:
                names, members = names | each[0], each[1] + members
            else:
                apart.append(each)
        groups = [*apart, (names, members)]
    return [members for _, members in groups]


def _times(product: Product) -> Node:
    return reduce(lambda a, b: Apply("*", (a, b)), product)


def _negative_one() -> Node:
    return NumberNode(-1.0)


def _coordinates(node: Node) -> frozenset[str]:
    return variables(node) & _SPACE
