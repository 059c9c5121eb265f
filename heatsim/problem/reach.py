"""Which temperatures a body may reach, so that its properties are tabulated there.

Without sources it stays between its initial, boundary and ambient temperatures (the maximum principle). Sources of
known power drive it no further than they would heat an insulated cell. Beams, fluxes, and sources that act until a
steady state is reached have no such bound: for them up to HOTTEST, which is above the melting point of any metal.
"""

from __future__ import annotations

import numpy as np

from heatsim.problem.heating import Heating
from heatsim.problem.properties import Range, Reach, least_capacity
from heatsim.problem.values import ABSOLUTE_ZERO
from heatsim.problem.walls import Walls
from heatsim.scenario import Scenario

HOTTEST = 4000.0  # K; or twice the highest temperature known
MARGIN = 4.0  # on the rise by sources: capacities follow temperature, and the power is looked at now and then
TIMES = 65  # at which faces are looked at
STRIDE = 4  # of these times, from one to the next at which sources are


def times_of(scenario: Scenario) -> np.ndarray:
    """Times spread over a run, s."""
    steady = scenario.time.integrator == "steady"
    return np.zeros(1) if steady else np.linspace(0.0, scenario.time.end, TIMES)


def known_range(scenario: Scenario, initial: Range, walls: Walls, ambients: np.ndarray) -> Range:
    """The least and the greatest of the initial, boundary and ambient temperatures, K; arguments are in the scenario's
    unit."""
    values = [*initial, *walls.temperatures(times_of(scenario)), *ambients.tolist()]
    zero = ABSOLUTE_ZERO[scenario.temperature_unit]
    return min(values) - zero, max(values) - zero


def reach_of(scenario: Scenario, known: Range, heating: Heating, walls: Walls) -> Reach:
    """The temperatures that may be reached, K; `heating` is that of cells with a capacity of 1 J/(m3 K)."""
    low, high = known
    cooling, warming = 0.0, 0.0
    if scenario.sources:
        cooling, warming = _rises(scenario, heating, least_capacity(scenario, known))
    out, into = walls.flux_range(times_of(scenario))
    low = 0.0 if out < 0 or cooling == -np.inf else max(0.0, low + cooling)
    high = high + (np.inf if into > 0 else warming)
    high = min(high, max(HOTTEST, 2.0 * known[1]))
    margin = 0.01 * (high - low) or 1.0
    return Reach(known, (low, high), (max(0.0, low - margin), high + margin))


def _rises(scenario: Scenario, heating: Heating, capacity: float) -> tuple[float, float]:
    """How far sources alone could cool and warm a cell, K."""
    densities = np.array([_extremes(heating, time) for time in times_of(scenario)[::STRIDE]])
    cooling, warming = np.minimum(densities[:, 0], 0.0).mean(), np.maximum(densities[:, 1], 0.0).mean()
    if scenario.time.integrator == "steady":
        return (-np.inf if cooling < 0 else 0.0), (np.inf if warming > 0 else 0.0)
    factor = MARGIN * scenario.time.end / max(capacity, np.finfo(float).tiny)
    beams = any(source.beam is not None for source in scenario.sources)
    return float(factor * cooling), np.inf if beams else float(factor * warming)


def _extremes(heating: Heating, time: float) -> np.ndarray:
    """The least and the greatest power density of sources other than beams at a time, W/m3."""
    now, ends = np.array([time]), np.zeros(2)
    table, field = heating.table(now), heating.field(time)
    if table is not None:
        ends += table.min(), table.max()
    if field is not None:
        ends += np.sort(np.array([field.min(), field.max()], float) * heating.scale(now)[0])
    return ends
