"""The method of lines: enthalpies of the cells, advanced by SciPy's stiff solvers with tight tolerances.

Integration restarts at each time at which an input jumps or has a kink: the generator knows these times. Within a piece
inputs are asked for inside it alone. A steady state is the root of the same balances.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import root
from scipy.sparse import coo_matrix

from random_problems.network import Network

INSIDE = 1e-9  # of a piece, by which inputs are asked for inside it
RTOL = 1e-7


@dataclass
class Solution:
    """times: (m,) s; temperatures: (m, n) of the cells, K; span: (m,) K, by which the hottest cell so far was over the
    coldest one so far; least, most: K, of all cells at all times."""

    times: np.ndarray
    temperatures: np.ndarray
    span: np.ndarray
    least: float
    most: float


def solve(
    document: dict[str, Any],
    folder: Path,
    times: list[float],
    restarts: list[float],
    longest: float = np.inf,
    rtol: float = RTOL,
    method: str = "LSODA",
) -> Solution:
    """The temperatures at `times`, of which the last is the end."""
    network = Network(document, folder)
    n, end = len(network.volume), times[-1]
    H = network.enthalpy(network.initial)
    scale = float(np.min(network.enthalpy(network.initial)))
    pieces = sorted({0.0, end, *(t for t in restarts if 0 < t < end)})
    found = np.empty((len(times), n))
    span = np.zeros(len(times))
    least = most = network.initial[0]
    options = {"max_step": longest, **_options(network, method)}
    start = 0.0
    for a, b in pairwise(pieces):
        low, high = a + INSIDE * (b - a), b - INSIDE * (b - a)

        def rate(t: float, H: np.ndarray, low: float = low, high: float = high) -> np.ndarray:
            return network.heat(network.temperature(H), min(max(t, low), high)) / network.volume

        for stop in sorted({*(t for t in times if a < t < b), b}):
            state = solve_ivp(rate, (start, stop), H, method, rtol=rtol, atol=0.01 * rtol * scale, **options)
            if not state.success:
                raise ArithmeticError(f"reference: {state.message}")
            start, H = stop, state.y[:, -1]
            T = np.array([network.temperature(y) for y in state.y.T[:: max(1, state.y.shape[1] // 400)]])
            now = network.temperature(H)
            least, most = min(least, T.min(), now.min()), max(most, T.max(), now.max())
            if stop in times:
                row = times.index(stop)
                found[row], span[row] = now, most - least
    return Solution(np.array(times), found, span, least, most)


def _options(network: Network, method: str) -> dict[str, Any]:
    pairs, n = network.pairs, len(network.volume)
    if method == "LSODA":
        band = int(np.max(pairs.j - pairs.i, initial=0))
        return {"lband": band, "uband": band}
    i, j = np.concatenate((pairs.i, pairs.j, np.arange(n))), np.concatenate((pairs.j, pairs.i, np.arange(n)))
    return {"jac_sparsity": coo_matrix((np.ones(len(i)), (i, j)), shape=(n, n)).tocsr()}


def solve_steady(document: dict[str, Any], folder: Path) -> Solution:
    """The steady state: relaxed with a heat capacity of 1, then polished."""
    network = Network(document, folder)
    T, n = network.initial.copy(), len(network.volume)

    def heat(T: np.ndarray) -> np.ndarray:
        return network.heat(np.maximum(T, 1e-6), 0.0)

    options = _options(network, "LSODA")
    size = np.abs(heat(T)).max() + 1e-300
    end = 1e9 * n * T.max()
    relaxing = solve_ivp(lambda s, T: heat(T) / size, (0.0, end), T, "LSODA", rtol=1e-6, atol=1e-6 * T.min(), **options)
    T = relaxing.y[:, -1]
    found = root(lambda T: heat(T) / size, T, method="hybr", options={"xtol": 1e-13})
    if np.abs(heat(found.x)).max() <= np.abs(heat(T)).max():
        T = found.x
    if not np.abs(heat(T)).max() < 1e-7 * size:
        raise ArithmeticError(f"reference: no steady state, {np.abs(heat(T)).max() / size:g} of the heat is left")
    return Solution(np.array([np.inf]), T[None], np.array([np.ptp(T)]), float(T.min()), float(T.max()))


def euler(
    document: dict[str, Any], folder: Path, times: list[float], restarts: list[float], largest: float
) -> np.ndarray:
    """(m, n) K: what explicit Euler makes of it in steps of at most `largest`, equal from one of the times to the next,
    each with the inputs at its start, or with the mean of those that jump in it: a method without error control."""
    network = Network(document, folder)
    H, start, found = network.enthalpy(network.initial), 0.0, []
    cuts = np.array(sorted(restarts))
    for stop in times:
        count = max(1, int(np.ceil((stop - start) / largest * (1 - 1e-12))))
        dt = (stop - start) / count
        for n in range(count):
            T, a, b = network.temperature(H), start + n * dt, start + (n + 1) * dt
            edges = np.concatenate(([a], cuts[(cuts > a) & (cuts < b)], [b]))
            at = 0.5 * (edges[1:] + edges[:-1]) if len(edges) > 2 else edges[:1]
            heat = sum(width * network.heat(T, t) for t, width in zip(at, np.diff(edges), strict=True))
            H = H + heat / network.volume
        found.append(network.temperature(H))
        start = stop
    return np.array(found)
