"""Counts of what expressions compute, to foretell how long that takes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple


class Evaluation(NamedTuple):
    """An evaluation of an expression: how many operations the expression has, and how many values it gave."""

    nodes: int
    values: int


_counting: ContextVar[list[Evaluation] | None] = ContextVar("counting", default=None)


@contextmanager
def counted() -> Iterator[list[Evaluation]]:
    """Give a list, to which evaluations of this thread, and of threads that share its work, are added in the block."""
    found: list[Evaluation] = []
    token = _counting.set(found)
    try:
        yield found
    finally:
        _counting.reset(token)


def is_counting() -> bool:
    """Whether evaluations are asked for."""
    return _counting.get() is not None


def count(nodes: int, values: int) -> None:
    """Add an evaluation, if they are asked for."""
    found = _counting.get()
    if found is not None:
        found.append(Evaluation(nodes, values))
