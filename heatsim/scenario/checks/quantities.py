"""Checks of scenarios about a quantity other than temperature: what only heat does, and what only others do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from heatsim.scenario.boundary import Boundary
from heatsim.scenario.language.toml.messages import quote
from heatsim.scenario.language.toml.positions import Key, KeyIssue
from heatsim.scenario.materials import Ambient
from heatsim.scenario.output import Output
from heatsim.scenario.quantity import QuantitySection
from heatsim.scenario.sources import Source


def quantities_do_not_radiate(
    quantity: QuantitySection | None, ambients: Mapping[str, Ambient], boundary: Boundary
) -> Iterator[KeyIssue]:
    """Surfaces radiate heat alone."""
    if quantity is None:
        return
    radiating: list[Key] = [
        key for key, condition in boundary.conditions() if getattr(condition, "emissivity", None) is not None
    ]
    radiating += [("ambients", name) for name, ambient in ambients.items() if ambient.emissivity is not None]
    for key in radiating:
        message = f"expected no emissivity in a scenario about {quote(quantity.name)}, found one"
        yield KeyIssue((*key, "emissivity"), message, "leave it out")


def quantities_have_no_beams(quantity: QuantitySection | None, sources: Sequence[Source]) -> Iterator[KeyIssue]:
    """A beam brings heat; what decays is not heat."""
    for i, source in enumerate(sources):
        if quantity is not None and source.beam is not None:
            message = f"expected a source of {quote(quantity.name)}, found a beam"
            yield KeyIssue(("sources", i, "beam"), message, "power or power_density, in a region")
        if quantity is None and source.decay is not None:
            message = "expected decay in a scenario with [quantity], found it in one about temperature"
            yield KeyIssue(("sources", i, "decay"), message, "perfusion draws temperatures to a given one")


def quantities_do_not_melt(quantity: QuantitySection | None, output: Output) -> Iterator[KeyIssue]:
    """A melt pool is of heat, and only what diffuses besides it has a concentration of its own."""
    if quantity is not None and output.melt_pool is not None:
        message = f"expected no melt_pool in a scenario about {quote(quantity.name)}, found one"
        yield KeyIssue(("output", "melt_pool"), message, "nothing melts")
    if quantity is not None and "melted_fraction" in output.fields:
        place = output.fields.index("melted_fraction")
        message = f'expected no "melted_fraction" in a scenario about {quote(quantity.name)}, found one'
        yield KeyIssue(("output", "fields", place), message, "nothing melts")
    if quantity is None and "concentration" in output.fields:
        place = output.fields.index("concentration")
        message = 'expected [quantity] with "concentration" in fields, found none'
        yield KeyIssue(("output", "fields", place), message, "a temperature is none")
