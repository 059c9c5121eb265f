"""Curves, and the panels that show them, as plain data: what charts and comparisons draw."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Curve(NamedTuple):
    """Points (x, y), or a line through them. colour: a colour of its own, in place of the next one; dash: the number of
    its dash and marker."""

    name: str
    x: np.ndarray
    y: np.ndarray
    line: bool = True
    colour: str | None = None
    dash: int | None = None


class CurveKey(NamedTuple):
    """A line of a legend that stands for many curves: a heading, or what a colour or a dash means."""

    name: str
    colour: str | None = None
    dash: int | None = None


class ComparisonPanel(NamedTuple):
    """Curves over one pair of axes, both logarithmic if `log`."""

    x_label: str
    y_label: str
    curves: Sequence[Curve]
    log: bool = False
