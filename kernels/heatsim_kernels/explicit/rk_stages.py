"""Stages of a step of several sweeps: what a sweep is told of one, what it tells of a step, and where it keeps it.

    Y_j = Y_0 + mu (Y_{j-1} - Y_0) + nu (Y_{j-2} - Y_0) + gamma (Y_1 - Y_0) + rate dt L(Y_{j-1}),    j = 1 ... s

Y_0 is the field before the step, Y_s that after it, dt L(Y) what an explicit Euler step of dt would add to Y, and
Y_{-1} stands for Y_0. All explicit stabilised methods with recurrences of three terms have this form (Verwer, Acta
Numerica 5, 1996). In differences, so that a constant stays constant to the bit.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")


class RkStage(NamedTuple):
    """Coefficients of stage j, float64 numbers that the field's precision holds; weight: share of dt L(Y_{j-1}) in the
    new field, by which the heat of this stage enters the ledger."""

    mu: float
    nu: float
    gamma: float
    rate: float
    weight: float

    @property
    def of_two(self) -> bool:
        """Whether Y_j = Y_{j-1} - nu (Y_{j-1} - Y_{j-2}) + ..., so that Y_0 and Y_1 need not be read."""
        return self.gamma == 0.0 and abs(self.mu + self.nu - 1.0) < 1e-6

    @property
    def form(self) -> str:
        """The number of fields that it is made of: "two" or "four"."""
        return "two" if self.of_two else "four"


class TrapezoidalDefect(NamedTuple):
    """Of a step of dt: the largest |Y_s - Y_0 - dt (L(Y_0) + L(Y_s))/2| of any cell, by which it differs from the
    trapezoidal rule, K; the least and greatest value of Y_s. Not numbers where one value is none."""

    largest: float
    low: float
    high: float


class StageFields(Generic[T]):
    """Which array holds what during a step: start Y_0, one Y_1, before Y_{j-2}, last Y_{j-1}.

    Four arrays do for stages that are taken one by one: from the fourth on Y_j takes the place of Y_{j-2}, which each
    cell reads at its own place; with a fifth it does not. Stages of two fields that are taken several at once want
    five, and Y_1 is not kept.
    """

    def __init__(self, start: T, others: list[T], keeps_one: bool = True) -> None:
        """`others`: the arrays besides that of the field."""
        self.start = self.one = self.before = self.last = start
        self.keeps_one = keeps_one
        self._arrays = [start, *others]

    @property
    def free(self) -> list[T]:
        """The arrays that hold nothing that is still wanted."""
        return _without(self._arrays, (self.start, self.one, self.before, self.last))

    @property
    def target(self) -> T:
        """Where the next stage goes, or what else takes an array."""
        free = self.free
        return free[-1] if free else self.before

    def taken(self, second: T | None = None) -> None:
        """The target holds the next stage; or the last of the next ones, and `second` the one before it."""
        done = self.target
        if self.last is self.start and self.keeps_one:
            self.one = done
        self.before, self.last = self.last if second is None else second, done

    def others(self) -> list[T]:
        """The arrays besides the last stage's."""
        return _without(self._arrays, (self.last,))


def _without(arrays: Iterable[T], some: Iterable[T]) -> list[T]:
    held = set(map(id, some))
    return [array for array in arrays if id(array) not in held]
