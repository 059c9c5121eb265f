"""ISO 10211 case 3, a balcony slab through two walls: heat that leaves two rooms, and their coldest corners.

Both are read off the field alone, so that they test the solution and not the program's own sums. The coldest point of a
room is the corner (200, 200) mm where its two inner leaves meet the slab above it, or the floor below it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from heatsim.verification.finished import FinishedRun
from heatsim.verification.judgement import ComparisonPanel, Judgement, ValueCheck, error_panels
from heatsim.verification.order import extrapolate_to_limit
from heatsim.verification.surfaces import extrapolate_to_corner, surface_temperature


class BalconyAmbient(NamedTuple):
    """temperature in degC, surface resistance in m2 K/W."""

    temperature: float
    resistance: float


SOLID, OUTSIDE, LOWER, UPPER = 0, 1, 2, 3
AMBIENTS = {OUTSIDE: BalconyAmbient(0.0, 0.05), LOWER: BalconyAmbient(20.0, 0.2), UPPER: BalconyAmbient(15.0, 0.2)}
HEAT = {"heat from the lower room": (LOWER, 46.09), "heat from the upper room": (UPPER, 13.89)}
HEAT["heat from outside"] = (OUTSIDE, -59.98)
INNER, CEILING, FLOOR = 0.2, 1.0, 1.2  # m: surfaces of the rooms
SLAB_CONDUCTIVITY, FLOOR_CONDUCTIVITY = 2.5, 1.0  # W/(m K)
CORNERS = {"coldest in the lower room": 11.32, "coldest in the upper room": 11.11}  # degC


def conductivity_and_ambient(run: FinishedRun) -> tuple[np.ndarray, np.ndarray]:
    """Conductivity (0 in ambients) and number of the ambient (0 in solids) of each cell, (nz, ny, nx)."""
    x, y, z = run.points()
    room = (x > INNER) & (y > INNER)
    painted = (  # from outside in, later over earlier: where, conductivity, ambient
        ((x > -0.1) & (y > -0.1), 1.0, SOLID),
        ((x > 0.0) & (y > 0.0), 0.04, SOLID),
        ((x > 0.05) & (y > 0.05), 0.7, SOLID),
        (room & (z < CEILING), 0.0, LOWER),
        (room & (z > CEILING), 0.0, UPPER),
        (room & (z > 1.15) & (z < FLOOR), FLOOR_CONDUCTIVITY, SOLID),
        ((x > 0.05) & (y > -0.7) & (z > 1.0) & (z < 1.15), SLAB_CONDUCTIVITY, SOLID),
    )
    conductivity, ambient = np.zeros(run.grid.shape), np.full(run.grid.shape, OUTSIDE)
    for where, k, number in painted:
        inside = np.broadcast_to(where, run.grid.shape)
        conductivity[inside], ambient[inside] = k, number
    return conductivity, ambient


def heat_flows(run: FinishedRun) -> dict[int, float]:
    """Heat (W) that each ambient gives to the solid."""
    conductivity, ambient = conductivity_and_ambient(run)
    h = run.grid.spacing[0]
    flows = dict.fromkeys(AMBIENTS, 0.0)
    for axis in range(3):
        whole = [slice(None)] * 3
        low, high = list(whole), list(whole)
        low[axis], high[axis] = slice(0, -1), slice(1, None)
        for solid, beyond in ((tuple(low), tuple(high)), (tuple(high), tuple(low))):
            for number, (temperature, resistance) in AMBIENTS.items():
                faces = (ambient[solid] == SOLID) & (ambient[beyond] == number)
                path = 0.5 * h / conductivity[solid][faces] + resistance
                flows[number] += float(np.sum(h * h * (temperature - run.temperature[solid][faces]) / path))
    return flows


def coldest_corners(run: FinishedRun) -> tuple[float, float]:
    """Temperatures (degC) of the corners of the lower and the upper room.

    Of the three surfaces that meet in a corner the one before the best conductor varies least, so it is extrapolated:
    the slab below which the lower room lies, and the floor of the upper one.
    """
    h, (x0, y0, z0) = run.grid.spacing[0], run.grid.origin
    i, j = round((INNER - x0) / h), round((INNER - y0) / h)
    above, below = round((CEILING - z0) / h), round((FLOOR - z0) / h) - 1
    found = []
    for level, k, number in ((above, SLAB_CONDUCTIVITY, LOWER), (below, FLOOR_CONDUCTIVITY, UPPER)):
        temperature, resistance = AMBIENTS[number]
        behind = run.temperature[level, j : j + 2, i : i + 2]
        found.append(extrapolate_to_corner(surface_temperature(behind, 0.5 * h / k, resistance, temperature)))
    return found[0], found[1]


def judge(runs: Sequence[FinishedRun]) -> Judgement:
    """Heat within 1 %, temperatures within 0.05 K, extrapolated over three grids each twice as fine as the last."""
    flows, corners = [heat_flows(run) for run in runs], [coldest_corners(run) for run in runs]
    checks, series = [], []
    for name, (number, target) in HEAT.items():
        series.append([flow[number] for flow in flows])
        checks.append(ValueCheck(name, target, extrapolate_to_limit(series[-1], 2.0), 0.01 * abs(target), "W"))
    for place, (name, target) in enumerate(CORNERS.items()):
        series.append([pair[place] for pair in corners])
        checks.append(ValueCheck(name, target, extrapolate_to_limit(series[-1], 2.0), 0.05, "degC"))
    return Judgement(checks, _panels(runs, series))


def _panels(runs: Sequence[FinishedRun], series: Sequence[Sequence[float]]) -> list[ComparisonPanel]:
    """How the coldest corner of the lower room approaches its limit."""
    spacings = [1.0 / run.refined for run in runs]
    limit = extrapolate_to_limit(series[3], 2.0)
    return error_panels(spacings, [abs(value - limit) for value in series[3]], "K", 1.0, "cell size", "distance")
