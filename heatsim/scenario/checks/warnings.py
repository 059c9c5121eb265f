"""What a scenario may say and hardly means: told as warnings, and no reason to refuse it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from heatsim.errors import Issue
from heatsim.scenario.checks.filters import narrow_filters
from heatsim.scenario.checks.materials_and_faces import find_crossing_temperature
from heatsim.scenario.materials import Material
from heatsim.scenario.model import Scenario
from heatsim.scenario.output import Output
from heatsim.scenario.time_and_compute import Time
from heatsim.scenario.toml.messages import quote
from heatsim.scenario.toml.positions import KeyIssue


def find_warnings(scenario: Scenario) -> list[Issue]:
    """The warnings about a valid scenario, each with its place."""
    found = [*narrow_filters(scenario.grid, scenario.output, scenario.smoothing), *unused_tolerance(scenario.time)]
    found += cooling_while_freezing(scenario.materials, scenario.output)
    return [scenario.issue_at(*finding) for finding in found]


def unused_tolerance(time: Time) -> Iterator[KeyIssue]:
    """A tolerance given to an integrator that has no error control."""
    if time.chosen is not None and time.chosen.default_tolerance is None and time.tolerance is not None:
        message = "explicit Euler has no error control and does not look at the tolerance"
        yield KeyIssue(("time", "tolerance"), message, 'integrator = "auto" takes one that keeps it')


def cooling_while_freezing(materials: Mapping[str, Material], output: Output) -> Iterator[KeyIssue]:
    """Cooling rates through a temperature at which a material still gives its latent heat away, or has just done so:
    there the rate of a cell jumps, and what is seen of it depends on the size of the cell."""
    through = find_crossing_temperature(materials, output)
    if "cooling_rate" not in output.fields or through is None:
        return
    for name, material in materials.items():
        if material.latent and material.latent.solidus <= through <= material.latent.liquidus:
            given = output.cooling_through is not None
            place = ("cooling_through",) if given else ("fields", output.fields.index("cooling_rate"))
            message = f"cooling rates through {through:g}, where {quote(name)} freezes, depend on the size of the cells"
            yield KeyIssue(("output", *place), message, "give a cooling_through some tens of kelvin below the solidus")
