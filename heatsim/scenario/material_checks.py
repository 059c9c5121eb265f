"""Whether materials, ambients and contacts fit together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from heatsim.scenario.findings import Finding
from heatsim.scenario.materials import MOST_MATERIALS, Ambient, Contact, Material
from heatsim.scenario.output import Output
from heatsim.scenario.wording import quote


def names_mean_one_thing(materials: Mapping[str, Material], ambients: Mapping[str, Ambient]) -> Iterator[Finding]:
    """Regions name materials and ambients alike."""
    for name in ambients:
        if name in materials:
            message = f"{quote(name)} is the name of a material too"
            yield Finding(("ambients", name), message, "give it another name")
    together = len(materials) + len(ambients)
    if ambients and together > MOST_MATERIALS:
        yield Finding(("ambients",), f"expected at most {MOST_MATERIALS} materials and ambients, found {together}")


def contacts_are_between_materials(ambients: Mapping[str, Ambient], contacts: Sequence[Contact]) -> Iterator[Finding]:
    """An ambient has a resistance of its own, and a pair of materials only one."""
    seen: dict[frozenset[str], int] = {}
    for i, contact in enumerate(contacts):
        for side, name in enumerate(contact.between):
            if name in ambients:
                message = f"expected the name of a material, found {quote(name)}, an ambient"
                hint = "an ambient has its coefficient or resistance"
                yield Finding(("contacts", i, "between", side), message, hint)
        first = seen.setdefault(frozenset(contact.between), i)
        if first != i:
            yield Finding(("contacts", i, "between"), f"contacts.{first} is between these two materials too")


def melted_fractions_have_something_to_melt(materials: Mapping[str, Material], output: Output) -> Iterator[Finding]:
    """Without latent heat nothing says where melting begins."""
    if "melted_fraction" in output.fields and all(material.latent is None for material in materials.values()):
        place = output.fields.index("melted_fraction")
        message = 'expected a material with latent for "melted_fraction", found none'
        yield Finding(("output", "fields", place), message, "latent = { heat, solidus, liquidus }")
