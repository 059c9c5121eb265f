"""What a scenario may say and hardly means: told as warnings, and no reason to refuse it."""

from __future__ import annotations

from collections.abc import Iterator

from heatsim.errors import Flaw
from heatsim.scenario.control import Time
from heatsim.scenario.field_checks import narrow_filters
from heatsim.scenario.findings import Finding
from heatsim.scenario.model import Scenario


def cautions(scenario: Scenario) -> list[Flaw]:
    """The warnings about a valid scenario, each with its place."""
    found = [*narrow_filters(scenario.grid, scenario.output, scenario.smoothing), *unused_tolerance(scenario.time)]
    return [scenario.problem_at(*finding) for finding in found]


def unused_tolerance(time: Time) -> Iterator[Finding]:
    """A tolerance given to an integrator that has no error control."""
    if time.integrator == "euler" and time.tolerance is not None:
        message = "explicit Euler has no error control and does not look at the tolerance"
        yield Finding(("time", "tolerance"), message, 'integrator = "auto" takes one that keeps it')
