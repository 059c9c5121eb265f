"""Whether the derived fields that are asked for can be had."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from heatsim.scenario.control import Time
from heatsim.scenario.findings import Finding
from heatsim.scenario.materials import Ambient, Material
from heatsim.scenario.output import PAST, Output
from heatsim.scenario.wording import quote


def crossing(materials: Mapping[str, Material], output: Output) -> float | None:
    """The temperature through which cells are to be seen cooling: that given, or the only solidus there is."""
    if output.cooling_through is not None:
        return output.cooling_through
    found = {material.latent.solidus for material in materials.values() if material.latent}
    return found.pop() if len(found) == 1 else None


def cooling_rates_have_a_temperature(materials: Mapping[str, Material], output: Output) -> Iterator[Finding]:
    """Cells cool through some temperature."""
    if "cooling_rate" in output.fields and crossing(materials, output) is None:
        found = "several solidus" if any(material.latent for material in materials.values()) else "nothing that melts"
        message = f'expected cooling_through with "cooling_rate" in fields, found {found}'
        place = output.fields.index("cooling_rate")
        yield Finding(("output", "fields", place), message, "the temperature to fall below")


def statistics_are_of_what_is_solved(ambients: Mapping[str, Ambient], output: Output) -> Iterator[Finding]:
    """An ambient has one temperature, which is given."""
    for i, part in enumerate(output.regions):
        if part.material in ambients:
            message = f"expected the name of a material, found {quote(part.material or '')}, an ambient"
            yield Finding(("output", "regions", i, "material"), message, "ambients are not solved")


def steady_states_have_no_past(time: Time, output: Output) -> Iterator[Finding]:
    """A steady state is found at once."""
    for name in PAST:
        if time.integrator == "steady" and name in output.fields:
            message = f'expected fields of a moment with integrator "steady", found {quote(name)}'
            yield Finding(("output", "fields", output.fields.index(name)), message, "a steady state has no past")
