"""Names by which the trade knows materials of the library."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

# One thing by another name.
SYNONYMS = {
    "Ag": "silver", "Al": "aluminium", "aluminum": "aluminium", "Al2O3": "alumina", "Al6061": "6061-T6",
    "AISI304": "304", "AISI316L": "316L", "Au": "gold", "Cr": "chromium", "Cu": "copper", "drywall": "gypsum_board",
    "EMC": "mould_compound", "Fe": "iron", "fibreboard": "wood_fibreboard", "fiberboard": "wood_fibreboard",
    "Ge": "germanium", "Inconel625": "IN625", "Kapton": "polyimide", "MgO": "magnesia", "Mg": "magnesium",
    "Mo": "molybdenum", "mold_compound": "mould_compound", "Ni": "nickel", "Pb": "lead", "plasterboard": "gypsum_board",
    "plexiglass": "acrylic", "PMMA": "acrylic", "polyamide": "nylon", "Pt": "platinum", "Si": "silicon",
    "SiO2": "fused_silica", "Sn": "tin", "SS304": "304", "SS316L": "316L", "Teflon": "PTFE", "Ti": "titanium",
    "Ti64": "Ti-6Al-4V", "W": "tungsten", "wood_fiberboard": "wood_fibreboard", "Zn": "zinc",
}  # fmt: skip
# One of several things of that name: what it is taken for is told.
CHOICES = {
    "air": "air_still", "argon": "argon_still", "foam": "PU_foam", "glass_wool": "mineral_wool",
    "gypsum": "gypsum_board", "Inconel": "IN625", "insulation": "mineral_wool", "mild_steel": "carbon_steel",
    "plaster": "gypsum_plaster", "rock_wool": "mineral_wool", "sand": "sand_dry", "SiC": "SiC-4H",
    "silica": "fused_silica", "snow": "snow_fresh", "solder": "solder_SnAgCu", "stainless_steel": "304",
    "steel": "carbon_steel", "structural_steel": "carbon_steel", "styrofoam": "XPS", "thermal_paste": "TIM",
    "timber": "softwood", "wood": "softwood",
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
