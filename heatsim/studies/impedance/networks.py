"""Networks of resistances and capacities with the step response of a thermal impedance.

Foster: Z(t) = sum of R (1 - exp(-t/tau)). The time constants lie on a logarithmic grid, and the resistances follow by
least squares; they are at least 0 where that fits, as for the impedance of a source at its own place. Cauer: the ladder
of such a network, whose capacities stand against the ambient, by a continued fraction of its impedance in s, in exact
arithmetic. Sources: V. Szekely, Identification of RC networks by deconvolution, IEEE Trans. CAS-I 45 (1998) 244;
JESD51-14 (2010), annex A.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from heatsim.errors import RequestError

PER_DECADE = 3  # time constants
ENOUGH = 0.02  # error of resistances of one sign, of the greatest value, with which they are taken
FLOOR = 1e-3  # of the greatest value: smaller ones count as this for the error of the fit


class Ladder(NamedTuple):
    """A Cauer network from the source to the ambient: (n,) resistances, K/W, each after the capacity, J/K."""

    resistances: np.ndarray
    capacities: np.ndarray


@dataclass(frozen=True)
class FosterNetwork:
    """(n,) resistances, K/W, and time constants, s; error: the greatest, over the value or FLOOR of the greatest
    value."""

    resistances: np.ndarray
    time_constants: np.ndarray
    error: float

    def __call__(self, times: np.ndarray) -> np.ndarray:
        """Z at some times, K/W."""
        return np.asarray(-np.expm1(-np.asarray(times)[:, None] / self.time_constants) @ self.resistances)

    @cached_property
    def ladder(self) -> Ladder | None:
        """The Cauer network of the same impedance; None where a resistance is below 0, or there is none."""
        return _ladder(self) if self.resistances.size and self.resistances.min() > 0.0 else None


def require_fit() -> Callable[..., Any]:
    """Least squares of numbers that are not below 0; raises `RequestError` without SciPy."""
    try:
        from scipy.optimize import nnls
    except ImportError:
        raise RequestError("networks are fitted by SciPy: pip install 'heatsim[zth]'") from None
    found: Callable[..., Any] = nnls
    return found


def fit_foster(times: np.ndarray, values: np.ndarray) -> FosterNetwork:
    """The Foster network of a step response (n,), K/W, without elements where nothing warms. Raises `RequestError`
    without SciPy."""
    nnls, greatest = require_fit(), np.abs(values).max()
    if greatest == 0.0:
        return FosterNetwork(np.zeros(0), np.zeros(0), 0.0)
    decades = np.log10(times[-1] / times[0]) + 1.0
    grid = np.geomspace(0.3 * times[0], 3.0 * times[-1], int(PER_DECADE * decades) + 1)
    responses = -np.expm1(-times[:, None] / grid)
    scale = np.maximum(np.abs(values), FLOOR * greatest)
    rows, wanted = responses / scale[:, None], values / scale
    try:
        resistances, _ = nnls(rows, wanted, maxiter=100 * len(grid))
    except RuntimeError:  # it goes round in circles where columns are alike to rounding
        resistances = np.zeros(len(grid))
    if np.abs(responses @ resistances - values).max() > ENOUGH * greatest:
        resistances = np.linalg.lstsq(rows, wanted, rcond=1e-6)[0]
    kept = resistances != 0.0
    error = float(np.abs(rows @ resistances - wanted).max())
    return FosterNetwork(resistances[kept], grid[kept], error)


def _ladder(network: FosterNetwork) -> Ladder:
    """The Cauer ladder by a continued fraction: Z = P/Q, with one more power of s below than above, gives a capacity
    and a rest, Z = 1/(sC + 1/Z')."""
    above, below = [Fraction(0)], [Fraction(1)]  # coefficients of P and Q, from s^0 up
    for resistance, constant in zip(network.resistances.tolist(), network.time_constants.tolist(), strict=True):
        factor = [Fraction(1), Fraction(constant)]
        above = _sum(_product(above, factor), _product([Fraction(resistance)], below))
        below = _product(below, factor)
    resistances, capacities = [], []
    for _ in network.resistances:
        above = above[: len(below) - 1]
        capacity = below[-1] / above[-1]
        below = _sum(below, [Fraction(0), *(-capacity * each for each in above)])[: len(above)]
        resistance = above[-1] / below[-1]
        above = _sum(above, [-resistance * each for each in below])[: len(below) - 1]
        capacities.append(float(capacity))
        resistances.append(float(resistance))
    return Ladder(np.array(resistances), np.array(capacities))


def _product(one: list[Fraction], other: list[Fraction]) -> list[Fraction]:
    found = [Fraction(0)] * (len(one) + len(other) - 1)
    for i, a in enumerate(one):
        for j, b in enumerate(other):
            found[i + j] += a * b
    return found


def _sum(one: list[Fraction], other: list[Fraction]) -> list[Fraction]:
    longer, shorter = (one, other) if len(one) >= len(other) else (other, one)
    return [a + (shorter[i] if i < len(shorter) else 0) for i, a in enumerate(longer)]


def netlist(name: str, ladder: Ladder) -> str:
    """A SPICE subcircuit of a ladder: 1 V stands for 1 K, 1 A for 1 W, 1 F for 1 J/K."""
    lines = [f"* {name}: 1 V is 1 K, 1 A is 1 W", f".SUBCKT {name} source ambient"]
    count, node = len(ladder.resistances), "source"
    for number, (resistance, capacity) in enumerate(zip(*ladder, strict=True), 1):
        following = "ambient" if number == count else f"n{number}"
        lines.append(f"C{number} {node} ambient {capacity:.9g}")
        lines.append(f"R{number} {node} {following} {resistance:.9g}")
        node = following
    return "\n".join([*lines, f".ENDS {name}", ""])
