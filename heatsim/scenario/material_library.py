"""Materials by name, from the library under scenarios/materials/ or a file of the user's own.

A file has one table a material, with the keys of `[materials.NAME]` and what else it wants to say of it. Temperatures
in the library are in K; a user's file says `temperature_unit` as a scenario does.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeAlias

import numpy as np
from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag, ValidationInfo, model_validator

from heatsim.base.quantity import ABSOLUTE_ZERO
from heatsim.errors import ScenarioError
from heatsim.scenario.language.base_model import ScenarioBlock
from heatsim.scenario.language.expressions.expression import Expression
from heatsim.scenario.language.toml.document import parse_document, read_text
from heatsim.scenario.language.toml.messages import did_you_mean, found, quote, validation_error, validation_error_at
from heatsim.scenario.language.toml.positions import Key, KeyIssue
from heatsim.scenario.language.value_types import NAME, ValidationContext, file_name
from heatsim.scenario.materials import AnyMaterial, DiffusionMaterial, Material, PropertyTable, Temperature

# One thing by another name.
SYNONYMS = {
    "6061": "6061-T6", "AA6061": "6061-T6", "Ag": "silver", "AISI304": "304", "AISI316L": "316L", "Al": "aluminium",
    "Al2O3": "alumina", "Al6061": "6061-T6", "aluminium_oxide": "alumina", "aluminum": "aluminium",
    "aluminum_oxide": "alumina", "Au": "gold", "chipboard": "particleboard", "Cr": "chromium", "Cu": "copper",
    "drywall": "gypsum_board", "EMC": "mould_compound", "expanded_polystyrene": "EPS",
    "extruded_polystyrene": "XPS", "Fe": "iron", "fiberboard": "wood_fibreboard", "fibreboard": "wood_fibreboard",
    "gallium_arsenide": "GaAs", "gallium_nitride": "GaN", "Ge": "germanium", "high_density_polyethylene": "HDPE",
    "Inconel625": "IN625", "Kapton": "polyimide", "Mg": "magnesium", "MgO": "magnesia", "Mo": "molybdenum",
    "mold_compound": "mould_compound", "Ni": "nickel", "PA6": "nylon", "Pb": "lead", "PC": "polycarbonate",
    "PI": "polyimide", "PIR": "polyisocyanurate", "plasterboard": "gypsum_board", "plexiglass": "acrylic",
    "PMMA": "acrylic", "polyamide": "nylon", "polyurethane_foam": "PU_foam", "PP": "polypropylene",
    "Pt": "platinum", "PUR_foam": "PU_foam", "quartz_glass": "fused_silica", "SAC305": "solder_SnAgCu",
    "Si": "silicon", "SiO2": "fused_silica", "Sn": "tin", "Sn63Pb37": "solder_SnPb", "SnPb": "solder_SnPb",
    "SS304": "304", "SS316L": "316L", "Teflon": "PTFE", "Ti": "titanium", "Ti64": "Ti-6Al-4V", "W": "tungsten",
    "wood_fiberboard": "wood_fibreboard", "Zn": "zinc",
}  # fmt: skip
# One of several things of that name: what it is taken for is told.
CHOICES = {
    "316": "316L", "air": "air_still", "AISI316": "316L", "argon": "argon_still", "beech": "hardwood",
    "earth": "soil", "foam": "PU_foam", "glass_wool": "mineral_wool", "gypsum": "gypsum_board", "Inconel": "IN625",
    "insulation": "mineral_wool", "MDF": "wood_fibreboard", "mild_steel": "carbon_steel", "oak": "hardwood",
    "PCB": "FR4", "PE": "HDPE", "pine": "softwood", "plaster": "gypsum_plaster", "polyethylene": "HDPE",
    "polystyrene": "EPS", "polyurethane": "PU_foam", "PUR": "PU_foam", "rock_wool": "mineral_wool",
    "sand": "sand_dry", "SiC": "SiC-4H", "silica": "fused_silica", "silicon_carbide": "SiC-4H",
    "silicon_dioxide": "fused_silica", "snow": "snow_fresh", "solder": "solder_SnAgCu", "spruce": "softwood",
    "SS316": "316L", "stainless_steel": "304", "steel": "carbon_steel", "structural_steel": "carbon_steel",
    "styrofoam": "XPS", "thermal_paste": "TIM", "timber": "softwood", "wood": "softwood",
}  # fmt: skip


def find_name(name: str, library: Iterable[str], aliases: Mapping[str, str] | None = None) -> str | None:
    """The name in a library of what a name stands for: as it is written, in other case and with other signs between its
    words, or by `aliases`, those of the trade if left out. None if it is none."""
    names = list(library)
    if name in names:
        return name
    plain, known_as = _plain(name), SYNONYMS | CHOICES if aliases is None else aliases
    alike = [each for each in names if _plain(each) == plain]
    if len(alike) == 1:
        return alike[0]
    of_trade = next((known for alias, known in known_as.items() if _plain(alias) == plain), None)
    return of_trade if of_trade in names else None


def is_choice(name: str) -> bool:
    """Whether a name is that of several things."""
    return _plain(name) in {_plain(choice) for choice in CHOICES}


def _plain(name: str) -> str:
    return "".join(character for character in name.lower() if character.isalnum())


PROPERTIES = ("conductivity", "density", "heat_capacity", "latent")


class MaterialReference(ScenarioBlock):
    """A material of the library or of another file, in place of its properties.

    The library's name alone will do: `lid = "copper"`. Regions may name a material of the library without any entry
    here. Properties in the library depend on temperature where that is known, which makes the problem temperature
    dependent; `at` takes them at one temperature, and leaves melting out.
    """

    name: Annotated[str | None, NAME] = Field(
        None, description="Name of the material in the library or the file; that of the entry, if left out"
    )
    file: Annotated[Path | None, file_name("the name of a .toml file")] = Field(
        None,
        description="A file with a table for each material, with keys as here, and `temperature_unit`; the library of "
        "heatsim, if left out",
    )
    at: Temperature | None = Field(
        None, description="The temperature at which all properties are taken, without melting [K or degC]"
    )

    @model_validator(mode="after")
    def _says_which(self) -> Self:
        if self.name is None and self.file is None:
            raise validation_error("expected name, file or both, found none")
        return self


def shipped_folder(name: str) -> Path:
    """The folder of this name among the shipped scenarios, in an installed package or a checkout."""
    package = Path(__file__).parents[1]
    installed = package / "scenarios" / name
    return installed if installed.is_dir() else package.parent / "scenarios" / name


@cache
def library() -> dict[str, dict[str, Any]]:
    """The tables of all materials of the library by their names."""
    tables: dict[str, dict[str, Any]] = {}
    for file in sorted(shipped_folder("materials").glob("*.toml")):
        content = tomllib.loads(file.read_text(encoding="utf-8"))
        tables |= {name: table for name, table in content.items() if name != "references"}
    return tables


def find_library_materials(document: dict[str, Any]) -> list[str]:
    """The names by which regions paint, that the library has, and that the document does not define: nor one that is
    the same but for its case and signs, which is meant then."""
    tables = (document.get("materials"), document.get("ambients"))
    defined = {name for table in tables if isinstance(table, dict) for name in table}
    wanted = dict.fromkeys(name for name in _painted(document) if find_name(name, defined, {}) is None)
    return [name for name in wanted if find_in_library(name) is not None] if wanted else []


def find_in_library(name: str) -> str | None:
    """The name in the library that a name stands for, None if it is none: see `find_name`."""
    return find_name(name, library())


def chosen_materials(document: dict[str, Any]) -> list[KeyIssue]:
    """A warning for each name that stands for several things, of which the library has one."""
    named: list[tuple[Key, str]] = [(("regions",), name) for name in find_library_materials(document)]
    tables = document.get("materials")
    for key, value in tables.items() if isinstance(tables, dict) else ():
        name = value.get("name") if isinstance(value, dict) and "file" not in value else value
        named += [(("materials", key), name)] if isinstance(name, str) else []
    warnings = []
    for key, name in named:
        taken = find_in_library(name)
        if taken is not None and name not in library() and is_choice(name):
            message = f"{quote(name)} is taken for {taken} of the library: {library()[taken]['about']}"
            warnings.append(KeyIssue(key, message, "name what it is"))
    return warnings


def _painted(document: dict[str, Any]) -> Iterable[str]:
    regions = document.get("regions")
    for region in regions if isinstance(regions, list) else ():
        if isinstance(region, dict):
            labels = region.get("labels")
            names = labels.get("map") if isinstance(labels, dict) else None
            painted = [region.get("material"), *(names.values() if isinstance(names, dict) else ())]
            yield from (name for name in painted if isinstance(name, str))


def _as_diffusion(value: Any, info: ValidationInfo) -> Any:
    """The material of a quantity other than temperature, of which the library knows nothing."""
    context = _context(info)
    if context.quantity.is_temperature or isinstance(value, DiffusionMaterial):
        return value
    if not isinstance(value, dict):
        raise validation_error(f"expected a table with diffusivity and solubility, found {found(value)}")
    return DiffusionMaterial.model_validate(value, context=context)


def _context(info: ValidationInfo) -> ValidationContext:
    return info.context if isinstance(info.context, ValidationContext) else ValidationContext()


def _resolve(value: Any, info: ValidationInfo) -> AnyMaterial:
    """The material that a name or a reference stands for; a material as it is."""
    context = _context(info)
    match value:
        case Material() | DiffusionMaterial():
            return value
        case MaterialReference(name=name, file=Path() as file):
            table, unit = _from_file(file, name)
        case MaterialReference(name=name):
            table, unit = _from_library(name or "", ("name",)), "K"
        case _:
            table, unit = _from_library(value), "K"
    material = Material.model_validate(_properties(table, unit, context.quantity.unit), context=context)
    if isinstance(value, MaterialReference) and value.at is not None:
        return material.model_copy(update={**_constants(material, value.at), "latent": None})
    return material


def _from_library(name: str, place: tuple[str, ...] = ()) -> dict[str, Any]:
    known = find_in_library(name)
    if known is None:
        hint = did_you_mean(name, library()) or f"{', '.join([*library()][:12])}, ...: docs/reference/scenario.md"
        message = f"expected a table or the name of a material of the library, found {quote(name)}"
        raise validation_error_at(place, message, hint) if place else validation_error(message, hint)
    return library()[known]


def _from_file(file: Path, name: str | None) -> tuple[dict[str, Any], str]:
    """The table of a material of a user's file, and that file's unit of temperature."""
    try:
        content = parse_document(read_text(file), file).data
    except ScenarioError as error:
        raise validation_error_at(("file",), str(error.issues[0]).removeprefix("error: ")) from None
    unit = content.get("temperature_unit", "K")
    if unit not in ABSOLUTE_ZERO:
        raise validation_error_at(("file",), f'expected temperature_unit "K" or "degC" in {file.name}')
    tables = {key: table for key, table in content.items() if isinstance(table, dict) and "density" in table}
    if name is None and len(tables) == 1:
        [name] = tables
    if name not in tables:
        message = f"expected the name of a material in {file.name}, found {found(name) if name else 'none'}"
        hint = did_you_mean(name, tables) or f"known there: {', '.join(tables) or 'none'}"
        raise validation_error_at(("name",) if name else ("file",), message, hint)
    return tables[name], unit


def _properties(table: dict[str, Any], unit: str, wanted: str) -> dict[str, Any]:
    """The properties of a table, with its temperatures in another unit."""
    shift = ABSOLUTE_ZERO[wanted] - ABSOLUTE_ZERO[unit]
    properties = {key: value for key, value in table.items() if key in PROPERTIES}
    return properties if shift == 0.0 else {key: _shifted(value, shift) for key, value in properties.items()}


def _shifted(value: Any, shift: float) -> Any:
    match value:
        case {"T": list() as T}:
            return value | {"T": [_moved(each, shift) for each in T]}
        case {"solidus": solidus, "liquidus": liquidus}:
            return value | {"solidus": _moved(solidus, shift), "liquidus": _moved(liquidus, shift)}
        case str():
            return re.sub(r"\bT\b", f"(T - {shift})", value)
    return value


def _moved(temperature: Any, shift: float) -> Any:
    plain = isinstance(temperature, int | float) and not isinstance(temperature, bool)
    return round(temperature + shift, 6) if plain else temperature  # one with a unit is not shifted


def _constants(material: Material, temperature: float) -> dict[str, float]:
    """The constants that replace tables and expressions of a material, taken at one temperature."""
    constants = {}
    for key in ("conductivity", "heat_capacity"):
        value = getattr(material, key)
        if isinstance(value, Expression):
            constants[key] = float(value(T=temperature))
        elif isinstance(value, PropertyTable):
            constants[key] = float(np.interp(temperature, value.T, value.value))
    return constants


def _entry_tag(value: Any) -> str:
    """The tag of what an entry of `[materials]` is."""
    if isinstance(value, str):
        return "<name>"
    if isinstance(value, DiffusionMaterial):
        return "<diffusion>"
    refers = isinstance(value, dict) and value.keys() & {"name", "file", "at"} and "density" not in value
    return "<reference>" if refers or isinstance(value, MaterialReference) else "<table>"


if TYPE_CHECKING:
    MaterialEntry: TypeAlias = AnyMaterial
else:
    MaterialEntry = Annotated[
        Annotated[Material, Tag("<table>")]
        | Annotated[DiffusionMaterial, Tag("<diffusion>")]
        | Annotated[MaterialReference, Tag("<reference>")]
        | Annotated[str, Tag("<name>")],
        Discriminator(_entry_tag),
        BeforeValidator(_as_diffusion),
        AfterValidator(_resolve),
    ]
