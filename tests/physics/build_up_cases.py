"""Solids built up of materials, contacts and ambients on any grid, and runs of them by any integrator in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import tomli_w
from helpers import in_memory

from heatsim.solve.state import State

Table = dict[str, Any]
INTEGRATORS = ("euler", "implicit", "steady")


def material(k: float | Sequence[float], volumetric_capacity: float = 1000.0) -> Table:
    return {"conductivity": k, "density": 1.0, "heat_capacity": volumetric_capacity}


def box(name: str, lower: Sequence[float], upper: Sequence[float]) -> Table:
    return {"material": name, "box": {"lower": lower, "upper": upper}}


def layers(*pairs: tuple[float, int]) -> Table:
    return {"layers": [{"thickness": thickness, "cells": cells} for thickness, cells in pairs]}


def grid(*axes: Table | tuple[float, int], origin: Sequence[float] = (0.0, 0.0, 0.0), **more: Any) -> Table:
    """Of each axis the size and cells, or layers, or edges."""
    cells, sizes, unequal = [], [], {}
    for name, axis in zip("xyz", axes, strict=True):
        if isinstance(axis, dict):
            unequal[name] = axis
            edges = axis.get("edges")
            cells.append(len(edges) - 1 if edges else sum(layer["cells"] for layer in axis["layers"]))
            sizes.append(edges[-1] - edges[0] if edges else sum(layer["thickness"] for layer in axis["layers"]))
        else:
            sizes.append(axis[0])
            cells.append(axis[1])
    return {"cells": cells, "size": sizes, "origin": list(origin), **unequal, **more}


def scenario(grid: Table, materials: Table, integrator: str = "steady", end: float = 1.0, **sections: Any) -> str:
    """TOML text in degC; the first material fills the box unless there are regions. `sections`: more of the file."""
    document: dict[str, Any] = {
        "temperature_unit": "degC",
        "grid": grid,
        "time": {"end": end, "integrator": integrator},
        "compute": {"precision": "float64", "device": "cpu"},
        "materials": materials,
        "regions": [{"material": next(iter(materials))}],
        "initial": {"temperature": 20.0},
    }
    document["time"] |= {"steady": {"tolerance": 1e-10}, "implicit": {"step": end / 20}}.get(integrator, {})
    return tomli_w.dumps(document | sections)


def run(text: str) -> State:
    """The state at the end."""
    return in_memory.run(text).state


def observed_order(counts: Sequence[int], errors: Sequence[float]) -> float:
    """Slope of log error over log cell size by least squares."""
    return float(-np.polyfit(np.log(counts), np.log(errors), 1)[0])
