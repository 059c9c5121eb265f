"""What a scenario may say and hardly means: told as warnings, and no reason to refuse it."""

from __future__ import annotations

from heatsim.errors import Flaw
from heatsim.scenario.field_checks import narrow_filters
from heatsim.scenario.model import Scenario


def cautions(scenario: Scenario) -> list[Flaw]:
    """The warnings about a valid scenario, each with its place."""
    found = narrow_filters(scenario.grid, scenario.output, scenario.smoothing)
    return [scenario.problem_at(*finding) for finding in found]
