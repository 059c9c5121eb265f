"""What a scenario may say and hardly means: told as warnings, and no reason to refuse it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from heatsim.errors import Flaw
from heatsim.scenario.control import Time
from heatsim.scenario.field_checks import narrow_filters
from heatsim.scenario.findings import Finding
from heatsim.scenario.materials import Material
from heatsim.scenario.model import Scenario
from heatsim.scenario.output import Output
from heatsim.scenario.output_checks import crossing
from heatsim.scenario.wording import quote


def cautions(scenario: Scenario) -> list[Flaw]:
    """The warnings about a valid scenario, each with its place."""
    found = [*narrow_filters(scenario.grid, scenario.output, scenario.smoothing), *unused_tolerance(scenario.time)]
    found += cooling_while_freezing(scenario.materials, scenario.output)
    return [scenario.problem_at(*finding) for finding in found]


def unused_tolerance(time: Time) -> Iterator[Finding]:
    """A tolerance given to an integrator that has no error control."""
    if time.integrator == "euler" and time.tolerance is not None:
        message = "explicit Euler has no error control and does not look at the tolerance"
        yield Finding(("time", "tolerance"), message, 'integrator = "auto" takes one that keeps it')


def cooling_while_freezing(materials: Mapping[str, Material], output: Output) -> Iterator[Finding]:
    """Cooling rates through a temperature at which a material still gives its latent heat away, or has just done so:
    there the rate of a cell jumps, and what is seen of it depends on the size of the cell."""
    through = crossing(materials, output)
    if "cooling_rate" not in output.fields or through is None:
        return
    for name, material in materials.items():
        if material.latent and material.latent.solidus <= through <= material.latent.liquidus:
            given = output.cooling_through is not None
            place = ("cooling_through",) if given else ("fields", output.fields.index("cooling_rate"))
            message = f"cooling rates through {through:g}, where {quote(name)} freezes, depend on the size of the cells"
            yield Finding(("output", *place), message, "give a cooling_through some tens of kelvin below the solidus")
