"""Checks of coordinates, faces, materials, derived fields and quantities other than temperature.

In cylindrical coordinates x is the radius r and y the angle phi, in one cell around.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from heatsim.scenario.boundary import KINDS, Boundary, Face, kind_name
from heatsim.scenario.grid import Grid
from heatsim.scenario.language.expressions.expression import depends_on, separate_temperature
from heatsim.scenario.language.toml.messages import one_of, quote
from heatsim.scenario.language.toml.positions import Key, KeyIssue
from heatsim.scenario.materials import MAX_MATERIALS, Ambient, AnyMaterial, Contact, Void
from heatsim.scenario.output import HISTORY_FIELDS, Output
from heatsim.scenario.quantity import QuantitySection
from heatsim.scenario.regions import Region, Shape
from heatsim.scenario.sources import Source
from heatsim.scenario.time_and_compute import Time


def cylindrical_faces_exist(grid: Grid, boundary: Boundary) -> Iterator[KeyIssue]:
    """Around the axis there is no face, none on the axis, and none along r is periodic."""
    if grid.coordinates != "cylindrical":
        return
    for name in ("y_min", "y_max"):
        if getattr(boundary, name) is not None:
            yield KeyIssue(("boundary", name), "expected no face along y in cylindrical coordinates: phi goes around")
    if grid.origin[0] == 0.0 and boundary.x_min is not None and boundary.x_min.kind != "insulated":
        yield KeyIssue(("boundary", "x_min"), "expected no face at r = 0, the axis", "leave x_min out")
    for name in ("default", "x_min", "x_max"):
        face = getattr(boundary, name)
        if face is not None and face.kind == "periodic":
            yield KeyIssue(("boundary", name), "expected a face that is not periodic along the radius")


def shapes_suit_cylindrical_coordinates(
    grid: Grid, regions: Sequence[Region], sources: Sequence[Source], output: Output
) -> Iterator[KeyIssue]:
    """Round shapes and beams are meant in x, y, z."""
    if grid.coordinates != "cylindrical":
        return
    for key, shape in shapes_with_keys(regions, sources, output):
        for form in shape.forms:
            if form in ("sphere", "cylinder", "stl", "floorplan", "gds"):
                message = f"expected box, where or labels in cylindrical coordinates, found {form}"
                yield KeyIssue((*key, form), message, "box and where are in r, phi, z")
    for i, source in enumerate(sources):
        if source.beam is not None:
            yield KeyIssue(("sources", i, "beam"), "expected Cartesian coordinates for a beam, found cylindrical ones")


def shapes_with_keys(
    regions: Sequence[Region], sources: Sequence[Source], output: Output
) -> Iterator[tuple[Key, Shape]]:
    """All shapes of a scenario, each with its key."""
    yield from ((("regions", i), region) for i, region in enumerate(regions))
    yield from ((("sources", i, "region"), source.region) for i, source in enumerate(sources) if source.region)
    yield from ((("output", "regions", i), region) for i, region in enumerate(output.regions))


# --- faces and their patches


def patches_are_parts_of_faces(boundary: Boundary) -> Iterator[KeyIssue]:
    """A patch says where it is, a face does not; a patch has no patches, and nothing about it is periodic."""
    for key, face in boundary.faces():
        if face.where is not None:
            yield KeyIssue((*key, "where"), "where belongs to a patch of a face, not to a face")
        if face.patches and face.kind == "periodic":
            yield KeyIssue((*key, "patches"), "expected no patches on a periodic face, found some")
        for i, patch in enumerate(face.patches):
            yield from _patch_is_sound((*key, "patches", i), patch)


def temperature_dependence_is_separable(boundary: Boundary) -> Iterator[KeyIssue]:
    """A coefficient or emissivity that depends on T is a function of T alone, which is tabulated, times the rest."""
    for key, condition in boundary.conditions():
        for name, value in condition.inputs.items():
            if depends_on(value, "T") and separate_temperature(value)[1] is None:
                message = "expected an expression in T alone times one in x, y, z, t, found what mixes them"
                yield KeyIssue((*key, name), message, 'such as "(5 + 20*x) * abs(T - 300)**0.25"')


def _patch_is_sound(key: Key, patch: Face) -> Iterator[KeyIssue]:
    if patch.where is None:
        yield KeyIssue(key, "expected where, a condition in x, y, z, found none", 'such as where = "x > 0.01"')
    if patch.patches:
        yield KeyIssue((*key, "patches"), "expected no patches on a patch", "later patches lie over earlier")
    if patch.kind == "periodic":
        kinds = one_of(kind for kind in map(kind_name, KINDS) if kind != patch.kind)
        message = f"expected {kinds}, found {quote(patch.kind)}"
        yield KeyIssue((*key, "kind"), message, "a face is periodic as a whole")


# --- materials, ambients and contacts


def _named(name: str, ambients: Mapping[str, Ambient]) -> str:
    return f"{quote(name)}, {'which is void' if isinstance(ambients[name], Void) else 'an ambient'}"


def names_mean_one_thing(materials: Mapping[str, AnyMaterial], ambients: Mapping[str, Ambient]) -> Iterator[KeyIssue]:
    """Regions name materials and ambients alike."""
    for name in ambients:
        if name in materials:
            message = f"{quote(name)} is the name of a material too"
            yield KeyIssue(("ambients", name), message, "give it another name")
    together = len(materials) + len(ambients)
    if ambients and together > MAX_MATERIALS:
        yield KeyIssue(("ambients",), f"expected at most {MAX_MATERIALS} materials and ambients, found {together}")


def contacts_are_between_materials(ambients: Mapping[str, Ambient], contacts: Sequence[Contact]) -> Iterator[KeyIssue]:
    """An ambient has a resistance of its own, and a pair of materials only one."""
    seen: dict[frozenset[str], int] = {}
    for i, contact in enumerate(contacts):
        for side, name in enumerate(contact.between):
            if name in ambients:
                message = f"expected the name of a material, found {_named(name, ambients)}"
                hint = "an ambient has its coefficient or resistance"
                yield KeyIssue(("contacts", i, "between", side), message, hint)
        first = seen.setdefault(frozenset(contact.between), i)
        if first != i:
            yield KeyIssue(("contacts", i, "between"), f"contacts.{first} is between these two materials too")


def melted_fractions_have_something_to_melt(
    quantity: QuantitySection | None, materials: Mapping[str, AnyMaterial], output: Output
) -> Iterator[KeyIssue]:
    """Without latent heat nothing says where melting begins."""
    if quantity is not None or any(material.latent for material in materials.values()):
        return
    if "melted_fraction" in output.fields:
        place = output.fields.index("melted_fraction")
        message = 'expected a material with latent for "melted_fraction", found none'
        yield KeyIssue(("output", "fields", place), message, "latent = { heat, solidus, liquidus }")


# --- derived fields and statistics


def find_crossing_temperature(materials: Mapping[str, AnyMaterial], output: Output) -> float | None:
    """The temperature through which cells are to be seen cooling: that given, or the only solidus there is."""
    if output.cooling_through is not None:
        return output.cooling_through
    found = {material.latent.solidus for material in materials.values() if material.latent}
    return found.pop() if len(found) == 1 else None


def cooling_rates_have_a_temperature(materials: Mapping[str, AnyMaterial], output: Output) -> Iterator[KeyIssue]:
    """Cells cool through some temperature."""
    if "cooling_rate" in output.fields and find_crossing_temperature(materials, output) is None:
        found = "several solidus" if any(material.latent for material in materials.values()) else "nothing that melts"
        message = f'expected cooling_through with "cooling_rate" in fields, found {found}'
        place = output.fields.index("cooling_rate")
        yield KeyIssue(("output", "fields", place), message, "the temperature to fall below")


def statistics_are_of_what_is_solved(ambients: Mapping[str, Ambient], output: Output) -> Iterator[KeyIssue]:
    """An ambient has one temperature, which is given."""
    for i, part in enumerate(output.regions):
        if part.material is not None and part.material in ambients:
            message = f"expected the name of a material, found {_named(part.material, ambients)}"
            yield KeyIssue(("output", "regions", i, "material"), message, "it is not solved")


def sources_are_in_what_is_solved(ambients: Mapping[str, Ambient], sources: Sequence[Source]) -> Iterator[KeyIssue]:
    """An ambient is not heated."""
    for i, source in enumerate(sources):
        if source.material is not None and source.material in ambients:
            message = f"expected the name of a material, found {_named(source.material, ambients)}"
            yield KeyIssue(("sources", i, "material"), message, "it is not solved")


def initial_temperatures_are_of_what_is_solved(
    ambients: Mapping[str, Ambient], regions: Sequence[Region]
) -> Iterator[KeyIssue]:
    """An ambient has the temperature that it names."""
    for i, region in enumerate(regions):
        if region.initial is not None and region.material is not None and region.material in ambients:
            message = f"expected no initial in a region of {_named(region.material, ambients)}"
            yield KeyIssue(("regions", i, "initial"), message, "it is not solved")


def steady_states_have_no_past(time: Time, output: Output) -> Iterator[KeyIssue]:
    """A steady state is found at once."""
    for name in HISTORY_FIELDS:
        if time.is_steady and name in output.fields:
            message = f'expected fields of a moment with integrator "{time.integrator}", found {quote(name)}'
            yield KeyIssue(("output", "fields", output.fields.index(name)), message, "a steady state has no past")


# --- what only heat does, and what only other quantities do


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
