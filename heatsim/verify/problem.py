"""What a problem with a known answer is, and what judging it gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from heatsim.verify.finished import Finished
from heatsim.verify.refinement import Level


class Check(NamedTuple):
    """A value found beside its target, in `unit`; `order` is the observed order of convergence, where one was found.

    Passed if |result - target| <= tolerance and, where an order is asked for, |order - asked| <= order_tolerance.
    """

    quantity: str
    target: float
    result: float
    tolerance: float
    unit: str = ""
    order: float | None = None
    order_asked: float | None = None
    order_tolerance: float = 0.1

    @property
    def error(self) -> float:
        """Result less target."""
        return self.result - self.target

    @property
    def passed(self) -> bool:
        """Whether all is within its tolerance; what is not a number is not."""
        near = abs(self.error) <= self.tolerance
        if self.order_asked is None:
            return near
        return near and self.order is not None and abs(self.order - self.order_asked) <= self.order_tolerance


@dataclass(frozen=True)
class Curve:
    """Points (x, y), or a line through them."""

    name: str
    x: np.ndarray
    y: np.ndarray
    line: bool = True


@dataclass(frozen=True)
class Panel:
    """Curves over one pair of axes, both logarithmic if `log`."""

    x_label: str
    y_label: str
    curves: Sequence[Curve]
    log: bool = False


@dataclass(frozen=True)
class Judgement:
    """The checks of a problem, and what its figure shows."""

    checks: Sequence[Check]
    panels: Sequence[Panel] = ()


Judge = Callable[[Sequence[Finished]], Judgement]


@dataclass(frozen=True)
class Problem:
    """A scenario scenarios/verify/<name>.toml with a known answer.

    source: where the answer is from; judge: given the finished runs, one a level; levels: how the scenario is refined;
    quick: a few seconds on two cores; exact: asks for more digits than float32 has.
    """

    name: str
    source: str
    judge: Judge
    levels: Sequence[Level] = field(default=(Level(),))
    quick: bool = True
    exact: bool = False
