"""`[quantity]`: what a scenario is about in place of temperature, and its keys as those of heat conduction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import Field

from heatsim.base.quantity import Quantity
from heatsim.scenario.language.base_model import ScenarioBlock
from heatsim.scenario.language.toml.messages import found, quote, validation_error
from heatsim.scenario.language.toml.positions import Key, KeyIssue
from heatsim.scenario.language.units import UnitError, is_unit, parse_unit
from heatsim.scenario.language.value_types import ValidationContext, ValueType, text
from heatsim.scenario.sources import CELL_TERMS

# Keys and fields beside which the name of a quantity stands.
_TAKEN = frozenset(
    [
        "ambient", "amount", "coefficient", "ends", "flux", "gradient", "kind", "material", "power", "resistance",
        "step", "temperature", "time", "value", "where", "x", "y", "z", "x_bounds", "y_bounds", "z_bounds",
    ]
)  # fmt: skip
_FORM = text("a name of lower-case letters, digits and _ for a quantity", r"[a-z][a-z0-9_]{0,39}", "such as moisture")


def _name(value: Any, context: ValidationContext) -> str:
    name = str(_FORM.check(value, context))
    if name in _TAKEN:
        hint = "leave [quantity] out" if name == "temperature" else "it means something else already"
        raise validation_error(f"expected a name of its own for a quantity, found {quote(name)}", hint)
    return name


def _unit(value: Any, context: ValidationContext) -> str:
    expected = f"expected the unit of the quantity, found {found(value)}"
    if not isinstance(value, str):
        raise validation_error(expected, 'such as "mol/m3", "kg/m3", or "1/m3" for a number of particles')
    try:
        unit = parse_unit(value)
    except UnitError as error:
        raise validation_error(expected, error.message) from None
    if unit.zero:
        raise validation_error(expected, "0 has to mean none of it")
    return value


class QuantitySection(ScenarioBlock):
    """What diffuses, in place of heat: moisture, a dissolved gas, a dopant.

    The name takes the place of `temperature` in keys: [initial] moisture = 0.0. Its amount takes the place of heat, and
    all units follow from its own: of one in mol/m3, fluxes are in mol/(m2 s), powers of sources in mol/s, and transfer
    coefficients in m/s. T in expressions stands for it. Materials have a diffusivity and a solubility.
    """

    name: Annotated[str, ValueType(_name, dict(_FORM.schema))] = Field(description="Its name, such as moisture")
    unit: Annotated[str, ValueType(_unit, {"type": "string"})] = Field(
        description="Its unit, such as mol/m3, in which all its values are given and kept"
    )


def find_quantity(document: dict[str, Any]) -> Quantity:
    """The quantity of a document, which need not be valid; temperature where it names none that is."""
    given, zero = document.get("quantity"), document.get("temperature_unit")
    if isinstance(given, dict):
        name, unit = given.get("name"), given.get("unit")
        if isinstance(name, str) and name != "temperature":
            known = isinstance(unit, str) and is_unit(unit) and not parse_unit(unit).zero
            return Quantity("quantity" if name in _TAKEN else name, str(unit) if known else "1")
    return Quantity(unit="degC") if zero == "degC" else Quantity()


def in_keys_of_heat(document: dict[str, Any], quantity: Quantity) -> tuple[dict[str, Any], list[KeyIssue]]:
    """A document about a quantity with `temperature` for its name in keys, and the keys that mistake it for one."""
    if quantity.is_temperature:
        return document, []
    issues: list[KeyIssue] = []
    if "temperature_unit" in document:
        message = "expected no temperature_unit beside [quantity], found one"
        issues.append(KeyIssue(("temperature_unit",), message, "the quantity has a unit of its own"))
    renamed = _copied(document)
    for key, table in _tables_with_values(renamed):
        if "temperature" in table:
            message = f"expected {quantity.name}, the quantity of this scenario, found temperature"
            issues.append(KeyIssue((*key, "temperature"), message))
        elif quantity.name in table:
            table["temperature"] = table.pop(quantity.name)
    output = renamed.get("output")
    if isinstance(output, dict) and isinstance(output.get("fields"), list):
        output["fields"] = [
            quantity.internal_field_name(name) if isinstance(name, str) else name for name in output["fields"]
        ]
    return renamed, issues


def in_keys_of_quantity(document: dict[str, Any], quantity: Quantity) -> dict[str, Any]:
    """The document that `in_keys_of_heat` was given: the inverse of that function."""
    if quantity.is_temperature:
        return document
    renamed = _copied(document)
    for _, table in _tables_with_values(renamed):
        if "temperature" in table:
            table[quantity.name] = table.pop("temperature")
    output = renamed.get("output", {})
    if "fields" in output:
        output["fields"] = [quantity.field_name(name) for name in output["fields"]]
    return {key: value for key, value in renamed.items() if key != "temperature_unit"}


def _tables_with_values(document: dict[str, Any]) -> Iterator[tuple[Key, dict[str, Any]]]:
    """The tables that may give a value of the quantity by its name, each with its key."""
    found: list[tuple[Key, Any]] = [(("initial",), document.get("initial"))]
    ambients, boundary = document.get("ambients"), document.get("boundary")
    if isinstance(ambients, dict):
        found += [(("ambients", name), ambient) for name, ambient in ambients.items()]
    for name, face in boundary.items() if isinstance(boundary, dict) else ():
        found.append((("boundary", name), face))
        patches = face.get("patches") if isinstance(face, dict) else None
        if isinstance(patches, list):
            found += [(("boundary", name, "patches", number), patch) for number, patch in enumerate(patches)]
    sources = document.get("sources")
    for number, source in enumerate(sources) if isinstance(sources, list) else ():
        if isinstance(source, dict):
            found += [(("sources", number, name), source.get(name)) for name in CELL_TERMS]
    yield from ((key, table) for key, table in found if isinstance(table, dict))


def _copied(value: Any) -> Any:
    match value:
        case dict():
            return {key: _copied(each) for key, each in value.items()}
        case list():
            return [_copied(each) for each in value]
    return value
