"""Names by which the trade knows materials of the library."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

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
