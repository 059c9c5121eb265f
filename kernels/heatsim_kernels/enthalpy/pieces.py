"""Kirchhoff's potential of a material, and its conductivity, as a few cubics, which kernels look up in registers.

    phi(u) = a + d (b + d (c + d e)),   d = u - knot,   of the last of PIECES knots that is not above u;   k(T) likewise

The table of straight lines (`lookup_tables`) takes some thousand segments for smooth curves, and a look-up two
gathers. Most materials need no more than PIECES cubics: one where k is linear in T and the heat capacity constant, one
more at each knot of a table and at solidus and liquidus, a few for a curve. Sixteen numbers are one or two vector
registers of a CPU, and lie in different banks of the shared memory of a GPU.

Pieces are as long as a tolerance allows, from the lowest knot upwards: for a potential one on the slope, which is the
conductivity over the heat capacity, for a conductivity one on its values. Each goes through the exact curve at its
ends and at two states between, so phi and k are continuous to rounding. Conductivities on a few straight lines are
those lines. A material that needs more pieces than there are has none.
"""

from __future__ import annotations

import numpy as np

PIECES = 16
PIECE_NUMBERS = 5  # of a piece: knot, a, b, c, e
NO_CUBIC = 1e-8  # of dphi/du: a cubic term that adds less, as rounding does where k is linear in T, is left out
TOLERANCES = (1e-5, 3e-5, 1e-4)  # errors of a piece, of which the least is taken that so many pieces allow


Piece = tuple[float, float, float, float, float]


def fit_pieces(u: np.ndarray, potential: np.ndarray, *, of_slopes: bool = True) -> np.ndarray | None:
    """The pieces of one material, (PIECE_NUMBERS, PIECES): knot, K of u, infinite where there are fewer; a, K; b, 1; c,
    1/K; e, 1/K2. The first piece serves all u below the second knot. None if the material needs more.

    u: (n,) states in increasing order; potential: (n,) exact. Between neighbouring u the potential has to be smooth.
    Through the first two states and the last two go straight lines without an end. of_slopes: whether tolerances are
    on slopes, or on values, as of a conductivity over temperatures.
    """
    tried = (_fit(u, potential, tolerance, of_slopes) for tolerance in TOLERANCES)
    return next((pieces for pieces in tried if pieces is not None), None)


def _fit(u: np.ndarray, potential: np.ndarray, tolerance: float, of_slopes: bool) -> np.ndarray | None:
    slopes = np.diff(potential) / np.diff(u)
    last = len(u) - 2
    found: list[Piece] = [(u[1], potential[1], slopes[0], 0.0, 0.0)]
    first = 1
    while first < last:
        end = _longest(u, potential, first, last, tolerance, of_slopes)
        found.append(_through(u, potential, first, end))
        first = end
        if len(found) > PIECES + 1:
            return None
    found.append((u[last], potential[last], slopes[-1], 0.0, 0.0))
    found = _without_repeated(found)
    if len(found) > PIECES:
        return None
    pieces = np.zeros((PIECE_NUMBERS, PIECES))
    pieces[:, : len(found)] = np.array(found).T
    pieces[0, len(found) :] = np.inf
    return pieces


def straight_pieces() -> np.ndarray:
    """The pieces of phi = u, (PIECE_NUMBERS, PIECES)."""
    pieces = np.zeros((PIECE_NUMBERS, PIECES))
    pieces[0, 1:], pieces[2, 0] = np.inf, 1.0
    return pieces


def pieces_of_lines(T: np.ndarray, values: np.ndarray) -> np.ndarray | None:
    """The pieces of straight lines through values (p,) at T (p,), level before and after them, (PIECE_NUMBERS,
    PIECES); None if there are more lines than pieces. At a T given twice the value leaps."""
    wide = np.flatnonzero(np.diff(T) > 0)
    count = len(wide) + 2
    if count > PIECES:
        return None
    pieces = np.zeros((PIECE_NUMBERS, PIECES))
    pieces[0, count:] = np.inf
    pieces[0, :count] = T[0], *T[wide], T[-1]
    pieces[1, :count] = values[0], *values[wide], values[-1]
    pieces[2, 1 : count - 1] = np.diff(values)[wide] / np.diff(T)[wide]
    return pieces


def count_pieces(pieces: np.ndarray | None) -> int:
    """How many pieces the materials (n, PIECE_NUMBERS, PIECES) have at most, a power of two: what a search goes
    through. 0 if there are none."""
    most = 0 if pieces is None else int(np.isfinite(pieces[:, 0]).sum(axis=1).max())
    return 0 if most == 0 else 1 << (most - 1).bit_length()


def _longest(u: np.ndarray, potential: np.ndarray, first: int, last: int, tolerance: float, of_slopes: bool) -> int:
    """The end of the longest piece from a state on, by bisection: errors grow with the length."""
    low, high = first + 1, last
    while low < high:
        middle = (low + high + 1) // 2
        if _fits(u, potential, first, middle, tolerance, of_slopes):
            low = middle
        else:
            high = middle - 1
    return low


def _fits(u: np.ndarray, potential: np.ndarray, first: int, end: int, tolerance: float, of_slopes: bool) -> bool:
    """Whether the values at all states of a piece are right, or the slopes between them."""
    knot, a, b, c, e = _through(u, potential, first, end)
    d = u[first : end + 1] - knot
    exact, found = potential[first : end + 1], a + d * (b + d * (c + d * e))
    if not of_slopes:
        return bool(np.all(np.abs(found - exact) <= tolerance * np.abs(exact)))
    rounding = 1e-14 * float(np.abs(potential[[1, -2]]).max() + np.ptp(potential))
    return bool(np.all(np.abs(np.diff(found) - np.diff(exact)) <= tolerance * np.abs(np.diff(exact)) + rounding))


def _through(u: np.ndarray, potential: np.ndarray, first: int, end: int) -> Piece:
    """The cubic through both ends and the states nearest to the thirds; a lower power if there are fewer states, or if
    it is no more than a quadratic."""
    inner = np.searchsorted(u[first : end + 1], u[first] + (u[end] - u[first]) * np.array([1, 2]) / 3) + first
    at = np.unique(np.append(np.clip(inner, first, end), end))
    at = at[at > first]
    width = u[end] - u[first]
    found = _powers((u[at] - u[first]) / width, potential[at] - potential[first])
    if len(found) == 3 and abs(found[2]) <= NO_CUBIC * abs(found[0]):
        found = _powers((u[at[1:]] - u[first]) / width, potential[at[1:]] - potential[first])
    b, c, e = np.pad(found, (0, 3 - len(found))) / width ** np.arange(1, 4)
    return float(u[first]), float(potential[first]), float(b), float(c), float(e)


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
