"""The derived fields of snapshots: what `output.fields` asks for.

A new one takes three files: its name in `scenario/output.py`, its entry in DERIVED_FIELDS, and its mathematics.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from heatsim.base.grid import AXES
from heatsim.base.quantity import Quantity

if TYPE_CHECKING:
    import numpy as np

    from heatsim.problem import Problem
    from heatsim.solve.state import State
    from heatsim.store.snapshots import SnapshotField


class Moment:
    """A state of which fields are derived. What several fields need is found once."""

    def __init__(self, state: State) -> None:
        self.state, self.problem = state, state.problem

    @cached_property
    def flux_and_gradient(self) -> tuple[Sequence[np.ndarray], Sequence[np.ndarray]]:
        """Heat flux, W/m2, and temperature gradient, K/m, along x, y, z."""
        return self.problem.flux_and_gradient(self.state.field.host(), self.state.time)

    @cached_property
    def statistics(self) -> dict[str, np.ndarray]:
        """What was kept of the field since t = 0, as copies, since it goes on."""
        return {name: values.astype(self.problem.dtype) for name, values in self.state.statistics().items()}


class DerivedField(NamedTuple):
    """A field that a snapshot may hold.

    unit: as CF has it, "" for that of temperatures; name: the long name; values: (nz, ny, nx) in the precision of the
    run, of a vector a sequence of those along x, y, z in any; detail: ends the long name, with a number of the problem.
    """

    unit: str
    name: str
    values: Callable[[Moment], Any]
    is_vector: bool = False
    detail: Callable[[Problem], str] = lambda problem: ""


def _limit(problem: Problem) -> str:
    return f" {problem.scenario.output.time_above} {problem.scenario.unit}"


def _concentration(now: Moment) -> np.ndarray:
    """What a unit volume holds: the quantity times the solubility; in an ambient the quantity itself."""
    problem, values = now.problem, now.state.temperature()
    of_media = problem.materials.capacity.astype(values.dtype)
    of_media[problem.materials.solids :] = 1.0
    media = problem.material_ids()
    found: np.ndarray = values * of_media[problem.zones.materials[0] if media is None else media]
    return found


def _crossing(problem: Problem) -> str:
    return f" {(problem.statistics_request.crossing or 0.0) + problem.reference:g} {problem.scenario.unit}"


# In the order in which they stand in a snapshot.
DERIVED_FIELDS = {
    "heat_flux": DerivedField("W m-2", "heat flux", lambda now: now.flux_and_gradient[0], is_vector=True),
    "gradient": DerivedField("K m-1", "temperature gradient", lambda now: now.flux_and_gradient[1], is_vector=True),
    "melted_fraction": DerivedField("1", "melted fraction", lambda now: now.state.melted_fraction()),
    "peak_temperature": DerivedField("", "highest temperature so far", lambda now: now.statistics["peak_temperature"]),
    "time_above": DerivedField("s", "time above", lambda now: now.statistics["time_above"], detail=_limit),
    "cooling_rate": DerivedField(
        "K s-1", "cooling rate through", lambda now: now.statistics["cooling_rate"], detail=_crossing
    ),
    "concentration": DerivedField("", "concentration", _concentration),
}


def derived_fields(state: State) -> dict[str, SnapshotField]:
    """The fields of a state beside its temperature."""
    from heatsim.store.snapshots import SnapshotField

    moment, problem, found = Moment(state), state.problem, dict[str, SnapshotField]()
    for key, field in DERIVED_FIELDS.items():
        if key not in problem.scenario.output.fields:
            continue
        values = field.values(moment)
        if field.is_vector:
            found |= component_fields(key, values, problem.dtype, problem.grid.coordinates, problem.scenario.solved)
        else:
            solved = problem.scenario.solved
            unit, name = solved.in_own_unit(field.unit) or solved.unit, solved.in_own_words(field.name)
            found[solved.field_name(key)] = SnapshotField(values, unit, name + field.detail(problem))
    return found


def component_fields(
    key: str,
    vector: Sequence[np.ndarray],
    dtype: np.dtype,
    coordinates: str = "cartesian",
    solved: Quantity = Quantity(),  # noqa: B008 (frozen)
) -> dict[str, SnapshotField]:
    """The components of a vector along x, y, z as fields of their own, since CF and VTK both read vectors so:
    `heat_flux_x` to `heat_flux_z` (or `gradient_x` ...). solved: in whose words and units they are named.

    In cylindrical coordinates they are `heat_flux_r` and `heat_flux_z`: nothing flows around the axis.
    """
    from heatsim.store.snapshots import SnapshotField

    field, letters = DERIVED_FIELDS[key], ("r", "", "z") if coordinates == "cylindrical" else AXES
    unit, name = solved.in_own_unit(field.unit), solved.in_own_words(field.name)
    return {
        solved.field_name(f"{key}_{letter}"): SnapshotField(values.astype(dtype), unit, f"{name} along {letter}")
        for letter, values in zip(letters, vector, strict=True)
        if letter
    }
