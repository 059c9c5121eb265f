"""The derived fields of snapshots: what `output.fields` asks for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from heatsim.geometry.grid import AXES
from heatsim.store.snapshots import SnapshotField

if TYPE_CHECKING:
    from heatsim.simulation.state import State


def derived_fields(state: State) -> dict[str, SnapshotField]:
    """The fields of a state beside its temperature."""
    problem, found = state.problem, dict[str, SnapshotField]()
    wanted, unit = problem.scenario.output.fields, problem.scenario.temperature_unit
    if "heat_flux" in wanted or "gradient" in wanted:
        vectors = problem.flux_and_gradient(state.field.host(), state.time)
        for name, vector in zip(("heat_flux", "gradient"), vectors, strict=True):
            if name in wanted:
                found |= component_fields(name, vector, problem.dtype, problem.grid.coordinates)
    if "melted_fraction" in wanted:
        found["melted_fraction"] = SnapshotField(state.melted_fraction(), "1", "melted fraction")
    statistics, crossed = state.statistics(), problem.watched.crossing
    known = {
        "peak_temperature": (unit, "highest temperature so far"),
        "time_above": ("s", f"time above {problem.scenario.output.time_above} {unit}"),
        "cooling_rate": ("K s-1", f"cooling rate through {(crossed or 0.0) + problem.reference:g} {unit}"),
    }
    for name, values in statistics.items():
        found[name] = SnapshotField(values.astype(problem.dtype), *known[name])
    return found


# Derived vectors as fields of a snapshot: one field a component, as CF and VTK both read them.


_UNITS = {"heat_flux": "W m-2", "gradient": "K m-1"}
_NAMES = {"heat_flux": "heat flux", "gradient": "temperature gradient"}


def component_fields(
    name: str, vector: Sequence[np.ndarray], dtype: np.dtype, coordinates: str = "cartesian"
) -> dict[str, SnapshotField]:
    """The fields `heat_flux_x` to `heat_flux_z` (or `gradient_x` ...) of a vector along x, y, z.

    In cylindrical coordinates they are `heat_flux_r` and `heat_flux_z`: nothing flows around the axis.
    """
    letters = dict(zip(AXES, ("r", "", "z") if coordinates == "cylindrical" else AXES, strict=True))
    return {
        f"{name}_{letters[axis]}": SnapshotField(
            values.astype(dtype), _UNITS[name], f"{_NAMES[name]} along {letters[axis]}"
        )
        for axis, values in zip(AXES, vector, strict=True)
        if letters[axis]
    }
