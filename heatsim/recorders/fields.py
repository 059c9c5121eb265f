"""The derived fields of snapshots: what `output.fields` asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heatsim.recorders.derived import components
from heatsim.store.snapshots import Field

if TYPE_CHECKING:
    from heatsim.state import State


def derived_fields(state: State) -> dict[str, Field]:
    """The fields of a state beside its temperature."""
    problem, found = state.problem, dict[str, Field]()
    wanted, unit = problem.scenario.output.fields, problem.scenario.temperature_unit
    if "heat_flux" in wanted or "gradient" in wanted:
        vectors = problem.flux_and_gradient(state.sweep.field(), state.time)
        for name, vector in zip(("heat_flux", "gradient"), vectors, strict=True):
            if name in wanted:
                found |= components(name, vector, problem.dtype, problem.grid.coordinates)
    if "melted_fraction" in wanted:
        found["melted_fraction"] = Field(state.melted_fraction(), "1", "melted fraction")
    seen, crossed = state.seen(), problem.watched.crossing
    known = {
        "peak_temperature": (unit, "highest temperature so far"),
        "time_above": ("s", f"time above {problem.scenario.output.time_above} {unit}"),
        "cooling_rate": ("K s-1", f"cooling rate through {(crossed or 0.0) + problem.reference:g} {unit}"),
    }
    for name, values in seen.items():
        found[name] = Field(values.astype(problem.dtype), *known[name])
    return found
