"""Counts of what expressions compute, to foretell how long that takes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple


class Evaluation(NamedTuple):
    """One of an expression: its operations, and the values that it gave."""

    nodes: int
    values: int


_counting: list[list[Evaluation]] = []


@contextmanager
def counted() -> Iterator[list[Evaluation]]:
    """Gives a list to which all evaluations are added meanwhile, in whatever thread."""
    found: list[Evaluation] = []
    _counting.append(found)
    try:
        yield found
    finally:
        _counting.remove(found)


def is_counting() -> bool:
    """Whether evaluations are asked for."""
    return bool(_counting)


def count(nodes: int, values: int) -> None:
    """Add an evaluation."""
    for found in _counting:
        found.append(Evaluation(nodes, values))
