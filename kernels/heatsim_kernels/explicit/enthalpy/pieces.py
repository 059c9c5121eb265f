"""Curves as cubics between knots, which kernels look up by a search: Kirchhoff's potential and the temperature over the
state u, the conductivity and factors of boundary faces over the temperature.

    y(x) = a + d (b + d (c + d e)),   d = x - knot,   of the last knot that is not above x

Pieces are as long as a tolerance allows, from the lowest knot upwards: of curves over u one on the slope, which is the
conductivity or one over the heat capacity; of others one on the values. Each goes through the exact curve at its ends
and at two points between, so that a curve is continuous to rounding. So knots are close where a curve bends, be that at
4 K or at 4000 K, and a range that nothing reaches costs nothing.

Most materials need no more than PIECES cubics: one where k is linear in T and the heat capacity constant, one more at
each knot of a table and at solidus and liquidus, a few for a curve. Sixteen numbers are one or two vector registers of
a CPU, and lie in different banks of the shared memory of a GPU: such curves are looked up in registers. Those that need
more are searched in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

PIECES = 16  # that are looked up in registers
MAX_PIECES = 4096  # of a curve
PIECE_NUMBERS = 5  # of a piece: knot, a, b, c, e
NO_CUBIC = 1e-8  # of the slope: a cubic term that adds less, as rounding does where k is linear in T, is left out
TOLERANCES = (1e-5, 3e-5, 8e-5)  # errors of a piece, of which the least is taken that PIECES allow; 1e-4 is promised
SURE = 6  # points of a piece on each side of a break that say what lies between them, too
FEWEST = 3  # points of a piece before a break: a cubic goes through
# Shares of a piece at which it goes through its curve, too: there the slope of what is left of a quartic is Chebyshev's
# polynomial, so that its greatest error is least (0.56 of that with thirds).
BETWEEN = 0.5 + 0.5 * np.array([-1.0, 1.0]) / np.sqrt(2.0)
NEWTON_STEPS = 8  # of an inverse: slopes of a piece differ little, so the first ones do
LOOSE = (1e-3, 1e-2, 1e-1, np.inf)  # where MAX_PIECES do not allow better


Piece = tuple[float, float, float, float, float]


def fit_pieces(
    x: np.ndarray, y: np.ndarray, *, of_slopes: bool = True, breaks: np.ndarray | None = None, offset: float = 0.0
) -> tuple[np.ndarray, float]:
    """The pieces of one curve, (PIECE_NUMBERS, n): knot, a, b, c, e; and the relative error that they keep to.

    x: (n,) in increasing order; y: (n,) exact. Between neighbouring x the curve has to be smooth. The first piece
    serves all x below the second knot. Through the first two points and the last two go straight lines without an end.
    of_slopes: whether the tolerance is on slopes, or on values. breaks: (n,) bool, where a curve bends more sharply
    than elsewhere: no piece of a few points goes across. offset: what was taken off y, whose rounding is in it.
    """
    curve = _Curve(x, y, of_slopes, np.zeros(len(x), bool) if breaks is None else breaks, abs(offset))
    for tolerance in TOLERANCES:
        found = _fit(curve, tolerance, PIECES)
        if found is not None:
            return found, tolerance
    coarsest = _fit(curve, LOOSE[-1], MAX_PIECES)
    if coarsest is None:  # breaks alone are too many
        raise ValueError(f"a curve needs more than {MAX_PIECES} pieces")
    tightest = _fit(curve, TOLERANCES[0], MAX_PIECES)
    if tightest is not None:
        return tightest, TOLERANCES[0]
    best = coarsest, LOOSE[-1]
    for tolerance in (*LOOSE[-2::-1], *TOLERANCES[:0:-1]):  # a tighter one needs more pieces
        found = _fit(curve, tolerance, MAX_PIECES)
        if found is None:
            break
        best = found, tolerance
    return best


class _Curve(NamedTuple):
    """What `fit_pieces` is given."""

    x: np.ndarray
    y: np.ndarray
    of_slopes: bool
    breaks: np.ndarray
    offset: float


def _fit(curve: _Curve, tolerance: float, most: int) -> np.ndarray | None:
    """The pieces within a tolerance; None if there are more than `most`."""
    x, y = curve.x, curve.y
    slopes = np.diff(y) / np.diff(x)
    last = len(x) - 2
    found: list[Piece] = [(x[1], y[1], slopes[0], 0.0, 0.0)]
    first = 1
    while first < last:
        end = _longest(curve, first, last, tolerance)
        found.append(_through(x, y, first, end))
        first = end
        if len(found) > most + 1:
            return None
    found.append((x[last], y[last], slopes[-1], 0.0, 0.0))
    found = _without_repeated(found)
    return None if len(found) > most else np.array(found).T


def straight_pieces() -> np.ndarray:
    """The piece of y = x, (PIECE_NUMBERS, 1)."""
    return np.array([[0.0], [0.0], [1.0], [0.0], [0.0]])


def pieces_of_lines(x: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The pieces of straight lines through values (p,) at x (p,), level before and after them, (PIECE_NUMBERS, n). At
    an x given twice the value leaps."""
    wide = np.flatnonzero(np.diff(x) > 0)
    pieces = np.zeros((PIECE_NUMBERS, len(wide) + 2))
    pieces[0] = x[0], *x[wide], x[-1]
    pieces[1] = values[0], *values[wide], values[-1]
    pieces[2, 1:-1] = np.diff(values)[wide] / np.diff(x)[wide]
    return pieces


def pieces_through(x: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, float]:
    """The pieces of a curve through values (p,) at x (p,), increasing, level before and after them; and the relative
    error of its values."""
    wide = float(np.ptp(x)) or 1.0
    return fit_pieces(np.array([x[0] - wide, *x, x[-1] + wide]), np.pad(values, 1, mode="edge"), of_slopes=False)


def as_table(of_all: Sequence[np.ndarray]) -> np.ndarray:
    """The pieces of several curves as one table (m, PIECE_NUMBERS, n), of which n is a power of two, PIECES or more:
    what a search goes through. Knots of pieces that there are not are infinite."""
    most = max(PIECES, *(each.shape[1] for each in of_all))
    table = np.zeros((len(of_all), PIECE_NUMBERS, 1 << (most - 1).bit_length()))
    for row, pieces in zip(table, of_all, strict=True):
        row[:, : pieces.shape[1]] = pieces
        row[0, pieces.shape[1] :] = np.inf
    return table


def count_pieces(table: np.ndarray) -> int:
    """How many pieces the curves of a table have at most, as a power of two."""
    most = int(np.isfinite(table[:, 0]).sum(axis=1).max())
    return 1 << (most - 1).bit_length()


def value_at(table: np.ndarray, x: np.ndarray, curve: np.ndarray | int, *, slope: bool = False) -> np.ndarray:
    """y at x of the curves of these numbers in a table, or their slopes there; in 64 bits."""
    x = np.asarray(x, float)
    if np.ndim(curve) == 0:
        return _of_one(table[int(curve)], x, slope)
    shape = np.broadcast_shapes(x.shape, np.shape(curve))
    x, curve = np.broadcast_to(x, shape), np.broadcast_to(curve, shape)
    found = np.empty(shape)
    for number in np.unique(curve):
        here = curve == number
        found[here] = _of_one(table[int(number)], x[here], slope)
    return found


def _of_one(pieces: np.ndarray, x: np.ndarray, slope: bool) -> np.ndarray:
    knots, a, b, c, e = pieces[:, np.isfinite(pieces[0])]
    j = np.clip(np.searchsorted(knots, x, side="right") - 1, 0, len(knots) - 1)
    d = x - knots[j]
    if slope:
        return np.asarray(b[j] + d * (2 * c[j] + 3 * d * e[j]))
    return np.asarray(a[j] + d * (b[j] + d * (c[j] + d * e[j])))


def inverse_at(pieces: np.ndarray, y: np.ndarray) -> np.ndarray:
    """x (n,) at values y (n,) of one rising curve (PIECE_NUMBERS, n); at the lower end of a level piece."""
    knots, a, b, c, e = pieces[:, np.isfinite(pieces[0])]
    j = np.maximum(np.searchsorted(a, y, side="left") - 1, 0)  # a value of a knot itself lies at the end of a piece
    last = j == len(knots) - 1
    width = np.where(last, np.inf, np.append(knots, np.inf)[j + 1] - knots[j])
    rise = np.where(last, np.inf, np.append(a, np.inf)[j + 1] - a[j])
    with np.errstate(invalid="ignore", divide="ignore"):
        d = np.where(np.isfinite(width) & (rise > 0), (y - a[j]) / rise * width, (y - a[j]) / b[j])
        for _ in range(NEWTON_STEPS):
            value, rate = a[j] + d * (b[j] + d * (c[j] + d * e[j])), b[j] + d * (2 * c[j] + 3 * d * e[j])
            d = d + np.where(rate > 0, (y - value) / rate, 0.0)
            d = np.clip(d, np.where(j == 0, -np.inf, 0.0), width)
    at_end = ~last & (y == np.append(a, np.inf)[j + 1])
    return np.asarray(np.where(at_end, np.append(knots, np.inf)[j + 1], knots[j] + d))


def _longest(curve: _Curve, first: int, last: int, tolerance: float) -> int:
    """The end of the longest piece from a point on: errors grow with the length."""
    low, reach = first + 1, 2
    high = min(first + reach, last)
    while high > low and _fits(curve, first, high, tolerance):
        low, reach = high, 2 * reach
        high = min(first + reach, last)
    while low < high:
        middle = (low + high + 1) // 2
        if _fits(curve, first, middle, tolerance):
            low = middle
        else:
            high = middle - 1
    across = first + 1 + np.flatnonzero(curve.breaks[first + 1 : low])
    near = across[np.minimum(across - first, low - across) < SURE]  # so few points say little of what lies between them
    if near.size:
        return int(near[0])
    ahead = np.flatnonzero(curve.breaks[low : low + FEWEST])
    left = min(int(ahead[0]) if ahead.size else FEWEST, last - low)
    return max(first + 1, low + left - FEWEST) if 0 < left < FEWEST else low  # what is left is more than a line


def _fits(curve: _Curve, first: int, end: int, tolerance: float) -> bool:
    """Whether the values at all points of a piece are right, or the slopes between them."""
    if tolerance == np.inf:
        return True
    x, y = curve.x, curve.y
    knot, a, b, c, e = _through(x, y, first, end)
    d = x[first : end + 1] - knot
    exact, found = y[first : end + 1], a + d * (b + d * (c + d * e))
    if not curve.of_slopes:
        return bool(np.all(np.abs(found - exact) <= tolerance * np.abs(exact)))
    rounding = 1e-14 * (float(np.abs(exact).max()) + curve.offset)
    return bool(np.all(np.abs(np.diff(found) - np.diff(exact)) <= tolerance * np.abs(np.diff(exact)) + rounding))


def _through(x: np.ndarray, y: np.ndarray, first: int, end: int) -> Piece:
    """The cubic through both ends and two points between; a lower power if there are fewer points, or if it is no more
    than a quadratic."""
    low, high = np.searchsorted(x[first : end + 1], x[first] + (x[end] - x[first]) * BETWEEN) + first
    low = min(max(low, first + 1), max(end - 2, first + 1))
    at = np.array(sorted({int(low), int(min(max(high, low + 1), max(end - 1, first + 1))), end}))
    width = x[end] - x[first]
    found = _powers((x[at] - x[first]) / width, y[at] - y[first])
    if len(found) == 3 and abs(found[2]) <= NO_CUBIC * abs(found[0]):
        found = _powers((x[at[1:]] - x[first]) / width, y[at[1:]] - y[first])
    b, c, e = (*(found / width ** np.arange(1, len(found) + 1)), 0.0, 0.0)[:3]
    return float(x[first]), float(y[first]), float(b), float(c), float(e)


def _powers(d: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The coefficients of the powers of d, from the first on, that give some values, as many of one as of the other."""
    return np.asarray(np.linalg.solve(d[:, None] ** np.arange(1, len(d) + 1), values))


def _without_repeated(found: list[Piece]) -> list[Piece]:
    """The pieces without those that go on as the one before."""
    kept = [found[0]]
    for piece in found[1:]:
        knot, _, b, c, e = kept[-1]
        d = piece[0] - knot
        before = b + d * (2 * c + 3 * d * e), c + 3 * d * e, e
        span = abs(found[-1][0] - found[0][0]) ** np.arange(3)
        if not np.allclose(np.array(before) * span, np.array(piece[2:]) * span, rtol=1e-9, atol=1e-9 * abs(b)):
            kept.append(piece)
    return kept
