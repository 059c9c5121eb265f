"""Between which temperatures a body stays, found before the run from its inputs by interval arithmetic.

Without sources a body stays between its initial, boundary and ambient temperatures (the maximum principle). Sources of
known power drive it no further than they would heat an insulated cell: by the integral over time of the greatest power
density anywhere, over the least heat capacity. Beams, fluxes, and sources that act until a steady state is reached have
no such bound: for them bounds go up to MAX_TEMPERATURE_K, above the melting point of any metal.

No bound is sampled: a pulse between two samples would be missed. What the bounds decide is the longest stable step
and where factors in the temperature of a surface have to be good; tables of materials reach further.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from heatsim.base.grid import AXES, CellGrid
from heatsim.problem.media.materials import Range, TemperatureBounds, ambient_temperatures, least_capacity
from heatsim.problem.terms.block_powers import BlockMeans
from heatsim.problem.terms.boundary_faces import BoundaryFaces, FacePatch
from heatsim.problem.terms.event_times import discontinuity_times, mark_times
from heatsim.problem.terms.sources.power_trace import PowerTrace
from heatsim.problem.terms.temperature_sources import TemperatureSources, pervading_temperatures
from heatsim.problem.terms.volume_sources import SourceTerm
from heatsim.scenario import Expression, Scenario
from heatsim.scenario.language.expressions.expression import Value, separate_temperature
from heatsim.scenario.language.expressions.ranges import CLOSE, range_of

MAX_TEMPERATURE_K = 4000.0  # or twice the highest temperature known
SAMPLES = 65  # times at which inputs are looked at for values that cannot be
MAX_SHORT = 128  # more of them, for what is short
TIME_PARTS = 512  # of a run, in each of which the greatest power density of a source is found
SPACE_PARTS = 4  # of each axis, likewise
BEYOND_K = 1e-6  # by which a body is taken to be beyond its bounds, K: rounding must not decide
MAX_ROUNDS = 8  # in which the range that sources lead to is found: capacities depend on temperature


def sample_times(scenario: Scenario) -> np.ndarray:
    """Times spread over a run, s, at which inputs are looked at for values that cannot be."""
    return np.zeros(1) if scenario.time.is_steady else np.linspace(0.0, scenario.time.end, SAMPLES)


def telling_times(scenario: Scenario, values: Iterable[object]) -> list[np.ndarray]:
    """The same in parts, with times at which what expressions do in short, and between their jumps, can be seen."""
    spread = sample_times(scenario)
    if scenario.time.is_steady:
        return [spread]
    values, end = list(values), scenario.time.end
    seen = mark_times(values, end, end / (SAMPLES - 1)).times
    ends = np.array(sorted({0.0, end} | seen | discontinuity_times(values, end)))
    found = np.union1d(list(seen), 0.5 * (ends[1:] + ends[:-1]) if ends.size > 2 else [])
    found = found[:: -(-found.size // MAX_SHORT) or 1]
    return [spread, *(found[first : first + SAMPLES] for first in range(0, found.size, SAMPLES))]


class BoundedInputs(NamedTuple):
    """What the bounds follow from. sources: the terms of volume sources but beams; following: those that depend on
    temperature, if there are any; initial: in the scenario's unit."""

    scenario: Scenario
    grid: CellGrid
    initial: Range
    boundary_faces: BoundaryFaces
    sources: tuple[SourceTerm, ...]
    following: TemperatureSources | None


def find_temperature_bounds(inputs: BoundedInputs, hottest: float = 0.0) -> TemperatureBounds:
    """The temperatures that are sure to occur, and those between which the body stays, K. hottest: a temperature, K,
    that a run has shown to be needed, if it is higher than what is found.

    Where sources that depend on temperature heat a body as warm as the warmest input, there is no bound above it.
    """
    scenario, zero = inputs.scenario, inputs.scenario.zero
    known = _known(inputs)
    given = [_range(inputs, patch, value) for patch, value in _temperatures_of_faces(inputs.boundary_faces)]
    given += [range_of(value, t=_run(scenario)) for value in _ambient_temperatures(scenario)]
    given += [_over_grid(inputs, value) for value in pervading_temperatures(scenario)]
    low = max(0.0, min([known[0], *(each[0] - zero for each in given)]))
    high = max([known[1], *(each[1] - zero for each in given)])
    into, out_of = _flux_signs(inputs)
    within = low, high
    if scenario.sources:
        low, high = _driven(inputs, within)
    low, high = 0.0 if out_of else low, np.inf if into else high
    if inputs.following is not None:
        if any(_followed(inputs, end - BEYOND_K)[0] for end in {within[0], low}):
            low = 0.0
        if any(_followed(inputs, end + BEYOND_K)[1] for end in {within[1], high} - {np.inf}):
            high = np.inf
    most = max(MAX_TEMPERATURE_K, 2.0 * known[1], hottest)
    open_above, high = high > most or hottest > high, max(min(high, most), hottest)
    margin = 0.01 * (high - low) or 1.0
    possible = max(0.0, low - margin), high + margin
    return TemperatureBounds(known, (low, high), possible, most, open_above)


def _known(inputs: BoundedInputs) -> Range:
    """The least and the greatest of the initial, boundary and ambient temperatures, and of what pervades the body, at
    some times, K."""
    scenario, times = inputs.scenario, sample_times(inputs.scenario)
    ambients = ambient_temperatures(scenario, times).reshape(-1).tolist()
    pervading = inputs.following.temperatures(times) if inputs.following else []
    values = [*inputs.initial, *inputs.boundary_faces.temperatures(times), *ambients, *pervading]
    return min(values) - scenario.zero, max(values) - scenario.zero


def _run(scenario: Scenario) -> Range:
    """The times of a run, s."""
    return (0.0, 0.0) if scenario.time.is_steady else (0.0, scenario.time.end)


def _temperatures_of_faces(boundary_faces: BoundaryFaces) -> list[tuple[FacePatch, Value]]:
    return [(patch, value) for patch in boundary_faces for value in patch.condition.temperatures.values()]


def _ambient_temperatures(scenario: Scenario) -> list[Value]:
    return [ambient.temperature for ambient in scenario.exchanging_ambients.values()]


def _range(inputs: BoundedInputs, patch: FacePatch, value: Value) -> Range:
    """The range of a value over the cells of a patch and the times of the run."""
    ends = {axis: (float(np.min(points)), float(np.max(points))) for axis, points in patch.points.items()}
    return range_of(value, **ends, t=_run(inputs.scenario))


def _spans(inputs: BoundedInputs) -> dict[str, Range]:
    """Where the body is, and when."""
    ends = {axis: inputs.grid.span(axis) for axis in AXES}
    return {axis: (float(low), float(high)) for axis, (low, high) in ends.items()} | {"t": _run(inputs.scenario)}


def _over_grid(inputs: BoundedInputs, value: Value) -> Range:
    return range_of(value, **_spans(inputs))


def _flux_signs(inputs: BoundedInputs) -> tuple[bool, bool]:
    """Whether a given heat flux may enter the body, and leave it."""
    ranges = [(0.0, 0.0)]
    for patch in inputs.boundary_faces:
        if patch.condition.GIVEN_FLUX:
            value, _ = separate_temperature(patch.condition.inputs[patch.condition.GIVEN_FLUX])
            ranges.append(_range(inputs, patch, value))
    return any(_may_exceed(high, low) for low, high in ranges), any(_may_exceed(-low, -high) for low, high in ranges)


def _may_exceed(high: float, low: float) -> bool:
    """Whether a value in a range may be above 0: by more than intervals are wide."""
    return high > CLOSE * max(0.0, -low) if np.isfinite(low) else high > 0


# --- sources of known power


def _driven(inputs: BoundedInputs, within: Range) -> Range:
    """The range to which sources alone could drive the cells of a body in a range, K."""
    scenario = inputs.scenario
    if any(source.beam is not None for source in scenario.sources):
        return _driven_by_power(inputs, within)[0], np.inf
    return _driven_by_power(inputs, within)


def _driven_by_power(inputs: BoundedInputs, within: Range) -> Range:
    cooling, warming = _rises(inputs)
    low, high = within
    for _ in range(MAX_ROUNDS):
        capacity = least_capacity(inputs.scenario, (low, high))
        wanted = tuple(
            end + sum(each / (1.0 if proportion else capacity) for proportion, each in rises.items())
            for end, rises in zip(within, (cooling, warming), strict=True)
        )
        if not np.isfinite(wanted).all() or wanted[1] > MAX_TEMPERATURE_K + 2 * within[1]:
            return (max(0.0, wanted[0]) if np.isfinite(wanted[0]) else 0.0), np.inf
        if wanted[0] >= low and wanted[1] <= high:
            return low, high
        low, high = max(0.0, min(low, wanted[0])), max(high, wanted[1])
    return 0.0, np.inf


def _rises(inputs: BoundedInputs) -> tuple[dict[bool, float], dict[bool, float]]:
    """How far all sources together could cool and warm cells of a heat capacity of 1 J/(m3 K), K, or of any, where they
    are in proportion to that: by this."""
    cooling, warming = {False: 0.0, True: 0.0}, {False: 0.0, True: 0.0}
    for number in {term.source for term in inputs.sources}:
        terms = [term for term in inputs.sources if term.source == number]
        down, up = _integral(inputs, terms)
        cooling[terms[0].in_proportion] += down
        warming[terms[0].in_proportion] += up
    return cooling, warming


def _integral(inputs: BoundedInputs, terms: list[SourceTerm]) -> Range:
    """The integrals over time of the least and of the greatest power density of a source, or 0, J/m3."""
    scenario = inputs.scenario
    source, scale, factor = scenario.sources[terms[0].source], terms[0].scale, terms[0].time
    if source.powers is not None:
        return _integral_of_blocks(terms, scenario.time.end)
    if isinstance(factor, PowerTrace):
        low, high = _trace_integral(factor, scenario.time.end)
        return scale * low, scale * high
    value = source.power if source.power is not None else source.power_density
    if not isinstance(value, Expression):
        lows, highs, seconds = np.array([scale]), np.array([scale]), scenario.time.end
    else:
        lows, highs = (scale * each for each in _power_in_parts(inputs, value))
        seconds = scenario.time.end / len(lows)
    if scenario.time.is_steady:
        return (-np.inf if lows.min() < 0 else 0.0), (np.inf if highs.max() > 0 else 0.0)
    return float(np.minimum(lows, 0.0).sum() * seconds), float(np.maximum(highs, 0.0).sum() * seconds)


def _integral_of_blocks(terms: list[SourceTerm], end: float) -> Range:
    """The same of powers by block: each row for as long as it counts, for ever in a steady state."""
    low, high = 0.0, 0.0
    for term in terms:
        assert isinstance(term.means, BlockMeans)
        seconds = _trace_integral(term.time, end)[1] if isinstance(term.time, PowerTrace) else end
        low, high = (
            total + each * seconds if each else total
            for total, each in zip((low, high), term.means.extremes, strict=True)
        )
    return low, high


def _power_in_parts(inputs: BoundedInputs, value: Expression) -> tuple[np.ndarray, np.ndarray]:
    """The least and the greatest value anywhere, in each part of the run."""
    spans = {name: span for name, span in _spans(inputs).items() if name in value.names}
    edges = [np.linspace(*span, (TIME_PARTS if name == "t" else SPACE_PARTS) + 1) for name, span in spans.items()]
    names = list(spans)
    lower = np.meshgrid(*(each[:-1] for each in edges), indexing="ij")
    upper = np.meshgrid(*(each[1:] for each in edges), indexing="ij")
    found = value.enclose(**{name: (low, high) for name, low, high in zip(names, lower, upper, strict=True)})
    low, high = (np.broadcast_to(each, lower[0].shape if lower else ()) for each in found)
    others = tuple(place for place, name in enumerate(names) if name != "t")
    return np.atleast_1d(low.min(axis=others)), np.atleast_1d(high.max(axis=others))


def _trace_integral(trace: PowerTrace, end: float) -> Range:
    """The integrals of what is below and of what is above 0, W s."""
    times = np.unique(np.clip(np.append(trace.times, end), trace.times[0], end))
    powers = np.interp(times, trace.times, trace.powers, right=0.0)
    low, high = (0.5 * (each[1:] + each[:-1]) for each in (np.minimum(powers, 0.0), np.maximum(powers, 0.0)))
    return float(low @ np.diff(times)), float(high @ np.diff(times))


def _followed(inputs: BoundedInputs, temperature: float) -> tuple[bool, bool]:
    """Whether a source that depends on temperature may cool a body of one temperature, K, and whether heat it."""
    T = temperature + inputs.scenario.zero
    found = [(0.0, 0.0)]
    for source in inputs.scenario.sources:
        density = source.following_temperature
        if density is not None:
            found.append(range_of(density, **_spans(inputs), T=(T, T)))
    return any(_may_exceed(-low, -high) for low, high in found), any(_may_exceed(high, low) for low, high in found)
