"""What a value needs to know of the rest of its file to be judged on its own."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ABSOLUTE_ZERO = {"K": 0.0, "degC": -273.15}


@dataclass(frozen=True)
class Context:
    """Passed to every validator.

    Attributes:
        directory: what relative file names are relative to.
        temperature_unit: "K" or "degC".
        materials: the names that a region may use, None = not known.
        sections: filled during validation with the top-level values that are valid, so that the checks across
            sections run on what there is.
    """

    directory: Path = field(default_factory=Path)
    temperature_unit: str = "K"
    materials: frozenset[str] | None = None
    sections: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, document: dict[str, Any], directory: Path) -> Context:
        """Read off a document, which need not be valid, what the validators need."""
        unit = document.get("temperature_unit")
        tables = (document.get("materials"), document.get("ambients"))
        names = frozenset(name for table in tables if isinstance(table, dict) for name in table)
        known = isinstance(unit, str) and unit in ABSOLUTE_ZERO
        return cls(directory, str(unit) if known else "K", names or None)

    @property
    def absolute_zero(self) -> float:
        """Absolute zero in the file's unit."""
        return ABSOLUTE_ZERO[self.temperature_unit]
