"""The times at which the steps of a run have to end.

The run, its dry run and the choice of an integrator take them from here, so that all three count the same steps.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from numpy import spacing

from heatsim.problem.explicit_accuracy import InputsInTime
from heatsim.problem.terms.ambients import Ambients
from heatsim.problem.terms.boundary_faces import BoundaryFaces
from heatsim.problem.terms.event_times import discontinuity_times
from heatsim.problem.terms.input_rates import time_factors
from heatsim.problem.terms.sources.beam import MovingBeam
from heatsim.problem.terms.temperature_sources import TemperatureSources
from heatsim.problem.terms.undefined_times import undefined_time
from heatsim.problem.terms.volume_sources import VolumeSources
from heatsim.scenario import Expression, Scenario
from heatsim.scenario.language.toml.positions import Key, KeyIssue

MIN_STEP_SHARE = (
    1e-9  # of the run: so short a step is taken whatever its error; one of them passes over a discontinuity
)
SHARE_OF_PULSE = 1e-5  # of the time between two discontinuities, that steps about them take at most


class Events(NamedTuple):
    """The times of a run at which a step ends, s, in ascending order, and those of them at which its inputs start
    afresh: they have a kink or a discontinuity there, other than the turn of a beam, which goes on as it was."""

    times: tuple[float, ...]
    restarts: frozenset[float]

    @property
    def after_start(self) -> tuple[float, ...]:
        """The times after t = 0, s."""
        return tuple(time for time in self.times if time > 0.0)


def find_events(
    scenario: Scenario,
    input_times: Iterable[float],
    beams: Iterable[MovingBeam],
    recorded: Iterable[float] | None = None,
    marks: Iterable[float] = (),
) -> Events:
    """The events of a run that goes through time.

    input_times: at which steps have to end because of an input that starts afresh, s; marks: because it would be passed
    over, s; recorded: times at which something is recorded, s; left out, those that the scenario asks for.
    """
    end = scenario.time.end
    times = frozenset(scenario.output.times(end) if recorded is None else recorded)
    times |= frozenset(scenario.stop.times(end) if scenario.stop else ())
    kinks = frozenset(input_times)
    turns = (beam.path.turns for beam in beams)
    return Events(tuple(sorted({end, *kinks, *times, *marks})), kinks.difference(*turns))


class Inputs(NamedTuple):
    """What a run takes from outside."""

    sources: VolumeSources
    following: TemperatureSources | None
    faces: BoundaryFaces
    ambients: Ambients

    @property
    def values(self) -> list[object]:
        """All that is given as a number or an expression."""
        return [value for each in self if each is not None for value in each.inputs]

    @property
    def discontinuities(self) -> frozenset[float]:
        """Times at which one jumps, s."""
        return frozenset[float]().union(*(each.discontinuities for each in self if each is not None))

    def in_time(self, temperature_range: float) -> InputsInTime:
        """What explicit steps have to follow; temperature_range: of the given temperatures, K."""
        temperatures = [*self.faces.temperature_inputs, *self.ambients.inputs]
        found = [each for each in temperatures if isinstance(each, Expression)]
        sources, beams = self.sources, bool(self.sources.beams)
        return InputsInTime(found, self.values, sources.traces, sorted(sources.switches), beams, temperature_range)


class Undefined(NamedTuple):
    """The first time of a run at which an input has no value, s, and where the scenario gives it."""

    time: float
    key: Key
    text: str

    def issue(self) -> KeyIssue:
        """What is wrong, and what to do."""
        message = f"{self.text!r} has no finite value at t = {self.time:.9g} s"
        return KeyIssue(self.key, message, "an expression that has one throughout the run, or an earlier time.end")


def first_undefined(end: float, inputs: Inputs) -> Undefined | None:
    """Where an input, or a factor of one that depends on t alone, first has no value in a run."""
    faces: dict[object, Key] = {
        value: (*patch.key, name) for patch in inputs.faces for name, value in patch.condition.inputs.items()
    }
    keys: dict[object, Key] = {**dict.fromkeys(inputs.values, ("time", "end")), **inputs.sources.keys, **faces}
    found = [
        Undefined(time, key, value.text)
        for value, key in keys.items()
        for factor in time_factors(value) or ()
        if (time := undefined_time(factor, end)) is not None and isinstance(value, Expression)
    ]
    return min(found, default=None, key=lambda each: each.time)


def input_event_times(end: float, inputs: Inputs) -> tuple[float, ...]:
    """The times at which an input has a kink, and those just before and just after each of its discontinuities, s.

    Integrators evaluate inputs at both ends of a step, and would take the value on one side of a discontinuity for the
    whole step on the other: a step in between keeps this to a share MIN_STEP_SHARE of the run, and to a share of the
    time between two discontinuities.
    """
    jumps = sorted(time for time in inputs.discontinuities if 0.0 < time < end)
    times, half = set(inputs.sources.kinks.difference(jumps)), 0.5 * MIN_STEP_SHARE * end
    for before, time, after in zip([0.0, *jumps], jumps, [*jumps[1:], end], strict=False):
        near = max(min(half, SHARE_OF_PULSE * min(time - before, after - time)), 4.0 * float(spacing(time)))
        times |= {time - near, time + near}
    return tuple(time for time in times if 0.0 < time < end)


def explicit_event_times(end: float, inputs: Inputs) -> tuple[float, ...]:
    """The times at which explicit steps have to end, s: an explicit step has expressions as they are at its start, and
    means of traces and beams."""
    jumps = discontinuity_times(inputs.values, end)
    return tuple(time for time in jumps if 0.0 < time < end)
