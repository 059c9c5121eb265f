"""When inputs start afresh in a run, and by how much: by what steps under error control are foretold.

A jump of an input asks for shorter steps the larger it is, a bend of it the more its slope changes. How soon after it
steps have to be short depends on what it does: a temperature that jumps is felt in the cells beside it at once, and so
is a beam that lands; what heats a body otherwise is felt as the heat builds up.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from heatsim.problem.events import MIN_STEP_SHARE
from heatsim.problem.explicit_accuracy import InputsInTime, closed, twice
from heatsim.problem.terms.input_rates import Changes, Floats, changes_of, ramps
from heatsim.problem.terms.sources.beam import MovingBeam

BEAM_AGE = 0.1  # of the square of a beam's radius over the diffusivity: the age as which its landing counts at least


class Restarts(NamedTuple):
    """times (n,), s, ascending; jumps (n,), shares of the range of an input by which it jumps; bends (n,), 1/s, by
    which its slope changes; most (n,), shares by which it changes in all, from the row before to the next; ages (n,),
    s: as which it counts at least; infinite for what heats a body slowly."""

    times: Floats
    jumps: Floats
    bends: Floats
    most: Floats
    ages: Floats


def find_restarts(
    inputs: InputsInTime,
    beams: Iterable[MovingBeam],
    others: Iterable[float],
    end: float,
    limit: float,
    diffusivity: float,
) -> Restarts:
    """others: times at which something else may start afresh, s; limit: of stability, s, as which a single cell that is
    heated remembers; diffusivity: the greatest, m2/s."""
    found = [
        _of_changes(changes_of(value, end), of_range, value in inputs.temperatures)
        for value, of_range in inputs.factors()[0]
    ]
    found += [
        _of_changes(ramps(np.repeat(each.times, twice(each)), closed(each), end), 0.0, False) for each in inputs.traces
    ]
    for each in beams:
        times = np.array(sorted({*each.path.switches, *each.path.landings}), np.float64)
        age = max(limit, BEAM_AGE * each.radius**2 / max(diffusivity, 1e-300))
        found.append(_over_the_range(times, age))
    known = _joined(found)
    rest = np.array(sorted(others), np.float64)
    near = np.append(known.times, np.inf)[np.searchsorted(known.times, rest - MIN_STEP_SHARE * end)]
    rest = rest[near > rest + MIN_STEP_SHARE * end]
    known = _joined([known, _over_the_range(rest, np.inf)])
    inside = (known.times > 0.0) & (known.times < end)
    return Restarts(*(each[inside] for each in known))


def _over_the_range(times: Floats, age: float) -> Restarts:
    whole = np.ones(times.size)
    return Restarts(times, whole, np.zeros(times.size), whole, np.full(times.size, age))


def _of_changes(changes: Changes, of_range: float, temperature: bool) -> Restarts:
    scale = max(changes.spread, of_range, 0.0 if temperature else changes.scale) or np.inf
    sizes, sudden = changes.sizes / scale, changes.durations == 0.0
    slopes = np.where(sudden, 0.0, sizes) / np.where(sudden, 1.0, changes.durations)
    times, places = np.unique(np.concatenate((changes.times - changes.durations, changes.times)), return_inverse=True)
    jumps, bends, most = np.zeros((3, times.size))
    np.add.at(jumps, places[sizes.size :], np.where(sudden, np.abs(sizes), 0.0))
    np.add.at(bends, places, np.concatenate((slopes, -slopes)))
    np.add.at(most, places, np.abs(np.concatenate((np.where(sudden, 0.0, sizes), sizes))))
    return Restarts(times, jumps, np.abs(bends), most, np.full(times.size, 0.0 if temperature else np.inf))


def _joined(found: Iterable[Restarts]) -> Restarts:
    parts = [np.concatenate(each) for each in zip(*found, strict=True)] or [np.zeros(0)] * 5
    order = np.argsort(parts[0], kind="stable")
    return Restarts(*(each[order] for each in parts))
