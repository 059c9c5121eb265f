"""What a run computes: temperature, or another quantity that diffuses, with its words and units.

The equation is the same. A quantity u, such as a concentration, takes the place of the temperature, an amount that of
heat, and the amount that a unit volume holds is its solubility S times u:

    d(S u)/dt = div(D S grad u) + sources

so that a diffusivity D and a solubility S come in as a conductivity D S and a heat capacity S of a unit volume. u is
continuous where materials meet; what they hold, S u, jumps by the ratio of their solubilities (Crank, The Mathematics
of Diffusion, 1975, section 3.3). Units follow from one rule: J stands for the unit of u times m3, K for that of u.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

Key = tuple[str | int, ...]

ABSOLUTE_ZERO = {"K": 0.0, "degC": -273.15}

_NAMED_BY_USERS = ("materials", "ambients", "parameters")  # tables whose keys are names
_WORDS = {
    "absolute zero": "none",
    "heat flux": "flux",
    "heat transfer coefficient": "transfer coefficient",
    "temperature dependent": "dependent on {name}",
    "temperatures": "{name}",
    "temperature": "{name}",
    "Temperature": "{Name}",
    "heat": "{name}",
    "Heat": "{Name}",
    "energy": "{name}",
    "Energy": "{Name}",
    "hottest": "highest",
    "warmest": "highest",
}  # of messages and labels

# A text in quotes, with what is said of the measure that it names, or one without any.
_QUOTED_OR_NOT = re.compile(r'("(?:\\.|[^"\\])*"(?: is an? [\w ]*)?)|[^"]+')


@dataclass(frozen=True)
class Quantity:
    """A quantity that diffuses, by its name and unit; temperature, unless said otherwise."""

    name: str = "temperature"
    unit: str = "K"

    @property
    def is_temperature(self) -> bool:
        """Whether it is temperature, so that its amount is heat."""
        return self.name == "temperature"

    @classmethod
    def of_run(cls, info: Mapping[str, Any]) -> Quantity:
        """The quantity that a run solved for, as run.json has it: temperature, unless it says otherwise."""
        return cls(**info.get("quantity", {"unit": info.get("temperature_unit", "K")}))

    @property
    def zero(self) -> float:
        """Absolute zero in its unit; 0 of a quantity other than temperature."""
        return ABSOLUTE_ZERO.get(self.unit, 0.0) if self.is_temperature else 0.0

    @property
    def stored(self) -> str:
        """What a body holds of it, in a word."""
        return "energy" if self.is_temperature else "amount"

    @property
    def difference_unit(self) -> str:
        """The unit of a difference of two values."""
        return "K" if self.is_temperature else self.unit

    def in_own_unit(self, unit: str) -> str:
        """A unit of heat conduction, such as W/m2, as that of this quantity, such as mol/(m2 s); others as they are."""
        return unit if self.is_temperature else self._units.get(unit, unit)

    def in_own_words(self, text: str) -> str:
        """A message or a label about temperature and heat as one about this quantity; what it quotes stays."""
        if self.is_temperature:
            return text
        return _QUOTED_OR_NOT.sub(
            lambda part: part[1] or self._told.sub(lambda word: self._telling[word[0]], part[0]), text
        )

    def field_name(self, name: str) -> str:
        """The name in results of a field of heat conduction, such as heat_flux, or of one of its components."""
        if self.is_temperature:
            return name
        return re.sub("^heat_flux", "flux", name).replace("temperature", self.name)

    def internal_field_name(self, name: str) -> str:
        """The field of heat conduction that `field_name` gave a name to."""
        if self.is_temperature:
            return name
        return re.sub("^flux", "heat_flux", re.sub(f"^(peak_)?{re.escape(self.name)}$", r"\1temperature", name))

    def key_in_file(self, key: Key) -> Key:
        """The key of a scenario as its file spells it."""
        if self.is_temperature:
            return key
        spelled = {"temperature": self.name, "heat_capacity": "solubility", "conductivity": "diffusivity"}
        named = len(key) > 1 and key[0] in _NAMED_BY_USERS
        return tuple(
            part if named and place == 1 else spelled.get(part, part) if isinstance(part, str) else part
            for place, part in enumerate(key)
        )

    @cached_property
    def _units(self) -> dict[str, str]:
        """Units of heat conduction and those of this quantity; of one in mol/m3 with the amount in mol."""
        unit, short = self.unit, self.unit.removesuffix("/m3")
        concentration = short != unit
        u = f"({unit})" if "/" in unit or " " in unit else unit
        return {
            "W/(m2 K)": "m/s",
            "W/(m3 K)": "1/s",
            "W/(m K)": "m2/s",
            "m2 K/W": "s/m",
            "J/(m3 K)": "1",
            "W/m2": f"{short}/(m2 s)" if concentration else f"{u} m/s",
            "W m-2": f"{short}/(m2 s)" if concentration else f"{u} m/s",
            "W/m3": f"{short}/(m3 s)" if concentration else f"{u}/s",
            "K m-1": f"{short}/m4" if concentration else f"{u}/m",
            "K s-1": f"{short}/(m3 s)" if concentration else f"{u}/s",
            "W": f"{short}/s" if concentration else f"{u} m3/s",
            "J": short if concentration else f"{u} m3",
            **dict.fromkeys(("K", "degC", "K or degC"), unit),
        }

    @cached_property
    def _telling(self) -> dict[str, str]:
        names = {"name": self.name.replace("_", " "), "Name": self.name.replace("_", " ").capitalize()}
        return self._units | {word: told.format(**names) for word, told in _WORDS.items()}

    @cached_property
    def _told(self) -> re.Pattern[str]:
        longest_first = sorted(self._telling, key=len, reverse=True)
        return re.compile(rf"(?<![\w\"'./-])(?:{'|'.join(map(re.escape, longest_first))})(?![\w\"'/.]\w|[\w\"'/])")


def with_powers(unit: str) -> str:
    """A unit with its powers written out, W m^-2 for W m-2 and W/(m^2 K) for W/(m2 K): UDUNITS and Pint read these."""
    return re.sub(r"(?<=[A-Za-zµ°%])(-?\d+)", r"^\1", unit)
