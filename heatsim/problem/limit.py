"""Whether a problem has a steady state, and only one."""

from __future__ import annotations

from heatsim.errors import ScenarioError
from heatsim.problem.heating import Heating
from heatsim.problem.walls import Walls
from heatsim.scenario import Scenario

_KEY = ("time", "integrator")


def require_limit(scenario: Scenario, walls: Walls, heating: Heating, ambient: bool) -> None:
    """Raise `ScenarioError` unless inputs are constant and something ties the temperature to a given one: a wall, or
    an `ambient` in the grid.

    One such tie is enough: conductivities are positive, so heat gets from every cell to every other, or, where ambients
    keep them apart, to an ambient.
    """
    if walls.varies or heating.varies:
        message = "a steady state needs boundary values and sources that do not depend on t"
        raise ScenarioError([scenario.problem_at(_KEY, message, 'integrator = "implicit" follows them')])
    if not (ambient or walls.hold()):
        message = "no steady state, or any number of them: no face has a temperature to settle at"
        hint = "give a face a fixed temperature, or convection or radiation with a coefficient or emissivity > 0"
        raise ScenarioError([scenario.problem_at(_KEY, message, hint)])
