"""Scenarios made of a few numbers, as TOML texts in degC."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tomli_w

Face = dict[str, Any]
INSULATED: Face = {"kind": "insulated"}
PERIODIC: Face = {"kind": "periodic"}

# The least that runs, in K; a test appends to it or replaces parts. 8 x 8 x 8 cells, 13 lines.
SMALL = """\
[grid]
cells = [8, 8, 8]
size = [0.1, 0.1, 0.1]
[time]
end = 1.0
[materials.copper]
conductivity = 398.0
density = 8960.0
heat_capacity = 385.0
[[regions]]
material = "copper"
[initial]
temperature = "300 + 100*x"
"""
# The same from a uniform temperature: 13 lines.
MINIMAL = SMALL.replace("end = 1.0", "end = 10.0").replace('"300 + 100*x"', "293.15")


def fixed(temperature: float | str) -> Face:
    return {"kind": "fixed", "temperature": temperature}


def flux(into: float | str) -> Face:
    return {"kind": "flux", "flux": into}


def convection(coefficient: float | str, ambient: float | str) -> Face:
    return {"kind": "convection", "coefficient": coefficient, "ambient": ambient}


def box(lower: Sequence[float], upper: Sequence[float]) -> dict[str, Any]:
    return {"box": {"lower": lower, "upper": upper}}


def material(k: float | Sequence[float] = 1.0, density: float = 1.0, heat_capacity: float = 1.0) -> dict[str, Any]:
    return {"conductivity": k, "density": density, "heat_capacity": heat_capacity}


def case(
    cells: Sequence[int],
    end: float = 1.0,
    *,
    size: Sequence[float] = (1.0, 1.0, 1.0),
    materials: dict[str, Any] | None = None,
    regions: Sequence[dict[str, Any]] = (),
    initial: Any = 0.0,
    boundary: dict[str, Face] | None = None,
    sources: Sequence[dict[str, Any]] = (),
    **keys: Any,
) -> str:
    """The first material fills the box; `regions` are painted over it. `keys`: `precision` (default: float64) and
    `device` of [compute]; others are keys of [time]."""
    compute = {"precision": keys.pop("precision", "float64"), "device": keys.pop("device", "auto")}
    materials = materials or {"unit": material()}
    return tomli_w.dumps(
        {
            "temperature_unit": "degC",
            "grid": {"cells": cells, "size": size},
            "time": {"end": end, **keys},
            "compute": compute,
            "materials": materials,
            "regions": [{"material": next(iter(materials))}, *regions],
            "initial": {"temperature": initial},
            "boundary": boundary or {},
            "sources": list(sources),
        }
    )
