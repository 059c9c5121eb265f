"""Curves, and the panels that show them, as plain data: what charts and comparisons draw."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Curve(NamedTuple):
    """Points (x, y), or a line through them."""

    name: str
    x: np.ndarray
    y: np.ndarray
    line: bool = True


class ComparisonPanel(NamedTuple):
    """Curves over one pair of axes, both logarithmic if `log`."""

    x_label: str
    y_label: str
    curves: Sequence[Curve]
    log: bool = False
