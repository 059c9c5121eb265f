"""Which temperatures a body may reach, so that its properties are tabulated there.

Without sources it stays between its initial, boundary and ambient temperatures (the maximum principle). Sources of
known power drive it no further than they would heat an insulated cell. Beams, fluxes, and sources that act until a
steady state is reached have no such bound: for them up to HOTTEST, which is above the melting point of any metal.
"""

from __future__ import annotations

import numpy as np

from heatsim.physics.boundary_faces import BoundaryFaces
from heatsim.physics.materials import Range, TemperatureBounds, least_capacity
from heatsim.problem.volume_sources import VolumeSources
from heatsim.scenario import Scenario
from heatsim.scenario.value_types import ABSOLUTE_ZERO

MAX_TEMPERATURE_K = 4000.0  # K; or twice the highest temperature known
SOURCE_MARGIN = 4.0  # on the rise by sources: capacities follow temperature, and the power is looked at now and then
BOUNDS_SAMPLES = 65  # at which faces are looked at
SOURCE_STRIDE = 4  # of these times, from one to the next at which sources are


def sample_times(scenario: Scenario) -> np.ndarray:
    """Times spread over a run, s."""
    return np.zeros(1) if scenario.time.is_steady else np.linspace(0.0, scenario.time.end, BOUNDS_SAMPLES)


def input_range(scenario: Scenario, initial: Range, walls: BoundaryFaces, ambients: np.ndarray) -> Range:
    """The least and the greatest of the initial, boundary and ambient temperatures, K; arguments are in the scenario's
    unit."""
    values = [*initial, *walls.temperatures(sample_times(scenario)), *ambients.tolist()]
    zero = ABSOLUTE_ZERO[scenario.temperature_unit]
    return min(values) - zero, max(values) - zero


def find_temperature_bounds(
    scenario: Scenario, known: Range, volume_sources: VolumeSources, walls: BoundaryFaces
) -> TemperatureBounds:
    """The temperatures that may be reached, K; `volume_sources` is that of cells with a capacity of 1 J/(m3 K)."""
    low, high = known
    cooling, warming = 0.0, 0.0
    if scenario.sources:
        cooling, warming = _rises(scenario, volume_sources, least_capacity(scenario, known))
    out, into = walls.flux_range(sample_times(scenario))
    low = 0.0 if out < 0 or cooling == -np.inf else max(0.0, low + cooling)
    high = high + (np.inf if into > 0 else warming)
    high = min(high, max(MAX_TEMPERATURE_K, 2.0 * known[1]))
    margin = 0.01 * (high - low) or 1.0
    return TemperatureBounds(known, (low, high), (max(0.0, low - margin), high + margin))


def _rises(scenario: Scenario, volume_sources: VolumeSources, capacity: float) -> tuple[float, float]:
    """How far sources alone could cool and warm a cell, K."""
    densities = np.array([_extremes(volume_sources, time) for time in sample_times(scenario)[::SOURCE_STRIDE]])
    cooling, warming = np.minimum(densities[:, 0], 0.0).mean(), np.maximum(densities[:, 1], 0.0).mean()
    if scenario.time.is_steady:
        return (-np.inf if cooling < 0 else 0.0), (np.inf if warming > 0 else 0.0)
    factor = SOURCE_MARGIN * scenario.time.end / max(capacity, np.finfo(float).tiny)
    beams = any(source.beam is not None for source in scenario.sources)
    return float(factor * cooling), np.inf if beams else float(factor * warming)


def _extremes(volume_sources: VolumeSources, time: float) -> np.ndarray:
    """The least and the greatest power density of sources other than beams at a time, W/m3."""
    now, ends = np.array([time]), np.zeros(2)
    table, field = volume_sources.table(now), volume_sources.field(time)
    if table is not None:
        ends += table.min(), table.max()
    if field is not None:
        ends += np.sort(np.array([field.min(), field.max()], float) * volume_sources.scale(now)[0])
    return ends
