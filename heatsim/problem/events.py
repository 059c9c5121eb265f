"""The times at which the steps of a run have to end.

The run, its dry run and the choice of an integrator take them from here, so that all three count the same steps.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from heatsim.physics.boundary_faces import BoundaryFaces
from heatsim.physics.sources.beam import MovingBeam
from heatsim.problem.ambients import Ambients
from heatsim.problem.temperature_sources import TemperatureSources
from heatsim.problem.volume_sources import VolumeSources
from heatsim.scenario import Scenario

MIN_STEP_SHARE = (
    1e-9  # of the run: so short a step is taken whatever its error; one of them passes over a discontinuity
)


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
) -> Events:
    """The events of a run that goes through time.

    breaks: times at which steps have to end because of an input, s; recorded: times at which something is recorded, s;
    left out, those that the scenario asks for.
    """
    end = scenario.time.end
    times = frozenset(scenario.output.times(end) if recorded is None else recorded)
    times |= frozenset(scenario.stop.times(end) if scenario.stop else ())
    kinks = frozenset(input_times)
    turns = (beam.path.turns for beam in beams)
    return Events(tuple(sorted({end, *kinks, *times})), kinks.difference(*turns))


def input_event_times(
    end: float,
    sources: VolumeSources,
    following: TemperatureSources | None,
    faces: BoundaryFaces,
    ambients: Ambients,
) -> tuple[float, ...]:
    """The times at which an input has a kink, and those just before and just after each of its discontinuities, s.

    Integrators evaluate inputs at both ends of a step, and would take the value on one side of a discontinuity for the
    whole step on the other: a step in between keeps this to a share MIN_STEP_SHARE of the run.
    """
    jumps = sources.discontinuities | faces.discontinuities | ambients.discontinuities
    jumps |= following.discontinuities if following else frozenset()
    discontinuities = frozenset(time for time in jumps if 0.0 < time < end)
    half = 0.5 * MIN_STEP_SHARE * end
    times = (sources.kinks - discontinuities).union(*((time - half, time + half) for time in discontinuities))
    return tuple(time for time in times if 0.0 < time < end)
