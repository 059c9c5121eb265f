"""How a bell-shaped power is shared out among cells: exact integrals over each, of all powers that sum to one.

A bell of standard deviation s is cut off at REACH s, beyond which 6e-5 of it lie, and scaled by what that leaves. So
the shares of all cells sum to 1, and what is missing lies outside the box. The integral of exp(-u^2/2) is erf
(Abramowitz and Stegun 1964, 7.1.1); a bell in two directions that are those of the axes is the product of two such
integrals.
"""

from __future__ import annotations

from math import erf, sqrt
from typing import NamedTuple

import numpy as np

REACH = 4.0  # standard deviations
_WHOLE = erf(REACH / sqrt(2.0))
_MOST_PARTS = 64  # of a cell along an axis, for a slanting bell; cells a hundred times the size of it see a point


def _erf(values: np.ndarray) -> np.ndarray:
    return np.array([erf(value) for value in values.tolist()])


class Line(NamedTuple):
    """first: cell of the first share along an axis; values: of that cell and those after it."""

    first: int
    values: np.ndarray


class Bell(NamedTuple):
    """Two half bells: the standard deviations ahead and behind, m, and the part of the power ahead."""

    ahead: float
    behind: float
    part_ahead: float = 0.5

    def turned(self) -> Bell:
        """The bell with ahead and behind exchanged."""
        return Bell(self.behind, self.ahead, 1.0 - self.part_ahead)


class Bells(NamedTuple):
    """Along a heading, and the standard deviation across it, m."""

    along: Bell
    across: float


def bell_shares(faces: np.ndarray, centre: float, bell: Bell) -> Line:
    """Shares of the cells between `faces` (n + 1,), m; ahead is towards higher places."""
    first, last = _cells(faces, centre - REACH * bell.behind, centre + REACH * bell.ahead)
    u = faces[first : last + 1] - centre
    ahead = _erf(np.clip(u / bell.ahead, 0.0, REACH) / sqrt(2.0))
    behind = _erf(np.clip(u / bell.behind, -REACH, 0.0) / sqrt(2.0))
    return Line(first, np.diff(bell.part_ahead * ahead + (1.0 - bell.part_ahead) * behind) / _WHOLE)


def depth_shares(faces: np.ndarray, surface: float, depth: float, profile: str) -> Line:
    """Shares of the cells between `faces`, m, below a surface: "exponential", exp(-s/depth), as far down as ten depths,
    or "bell", exp(-s^2/(2 depth^2)). All that goes in stays in: the bottom of the box lets nothing through."""
    reach = 10.0 if profile == "exponential" else REACH
    first, last = _cells(faces, surface - reach * depth, surface)
    s = np.clip((surface - faces[first : last + 1]) / depth, 0.0, reach)
    within = -np.expm1(-s) if profile == "exponential" else _erf(s / sqrt(2.0))
    values = -np.diff(within)
    return Line(first, values / values.sum())


def slanting_shares(
    x_faces: np.ndarray, y_faces: np.ndarray, place: tuple[float, float], heading: tuple[float, float], bells: Bells
) -> tuple[int, int, np.ndarray]:
    """First cell along y and x, and shares (rows, columns), of bells along and across a heading that is not an axis.

    By Gauss-Legendre points in each cell, of which there are at least four a standard deviation; each half is scaled to
    its power, counting points beside the box.
    """
    along, across = bells
    least, most = min(along.ahead, along.behind, across), REACH * max(along.ahead, along.behind, across)
    x0, xs, wx = _points(x_faces, place[0], most, least)
    y0, ys, wy = _points(y_faces, place[1], most, least)
    dx, dy = (xs - place[0])[None, None], (ys - place[1])[:, :, None, None]
    ahead = dx * heading[0] + dy * heading[1]
    beside = (dy * heading[0] - dx * heading[1]) / across
    shares = np.zeros((len(ys), len(xs)))
    halves = ((ahead >= 0, along.ahead, along.part_ahead), (ahead < 0, along.behind, 1.0 - along.part_ahead))
    for side, spread, part in halves:
        inside = side & (np.abs(ahead) <= REACH * spread) & (np.abs(beside) <= REACH)
        density = np.where(inside, np.exp(-0.5 * ((ahead / spread) ** 2 + beside**2)), 0.0)
        half = np.einsum("ab,cd,abcd->ac", wy, wx, density)
        shares += part * half / half.sum()
    rows, columns = _inside(y0, len(ys), len(y_faces) - 1), _inside(x0, len(xs), len(x_faces) - 1)
    return y0 + rows.start, x0 + columns.start, shares[rows, columns]


def _cells(faces: np.ndarray, low: float, high: float) -> tuple[int, int]:
    """First cell that a stretch touches, and the one after the last; at least one cell, at an end of the axis."""
    first = int(np.clip(np.searchsorted(faces, low, side="right") - 1, 0, len(faces) - 2))
    last = int(np.clip(np.searchsorted(faces, high, side="left"), first + 1, len(faces) - 1))
    return first, last


def _points(faces: np.ndarray, centre: float, reach: float, least: float) -> tuple[int, np.ndarray, np.ndarray]:
    """Number of the first cell, and Gauss-Legendre points and weights (cells, points) of all cells that reach to both
    sides of the centre, with cells beyond the box as large as the last: numbers below 0 or beyond the box."""
    first, last = _cells(faces, centre - reach, centre + reach)
    near = faces[first : last + 1]
    before = max(0, int(np.ceil((near[0] - (centre - reach)) / (near[1] - near[0]))))
    after = max(0, int(np.ceil((centre + reach - near[-1]) / (near[-1] - near[-2]))))
    low = near[0] - (near[1] - near[0]) * np.arange(before, 0, -1)
    high = near[-1] + (near[-1] - near[-2]) * np.arange(1, after + 1)
    all_faces = np.concatenate((low, near, high))
    size = np.diff(all_faces)
    parts = int(np.clip(np.ceil(size.max() / least), 1, _MOST_PARTS))
    nodes, weights = np.polynomial.legendre.leggauss(4)
    inner = ((np.arange(parts)[:, None] + 0.5 * (nodes + 1.0)) / parts).reshape(-1)
    points = all_faces[:-1, None] + size[:, None] * inner
    return first - before, points, size[:, None] * np.tile(weights, parts) / (2.0 * parts)


def _inside(first: int, count: int, cells: int) -> slice:
    """Which of `count` cells from `first` on are in the box."""
    return slice(max(0, -first), max(0, min(count, cells - first)))
