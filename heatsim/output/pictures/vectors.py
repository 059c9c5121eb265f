"""The heat flux and the temperature gradient of snapshots that do not hold them, from the temperature."""

from __future__ import annotations

import numpy as np

from heatsim.errors import RequestError
from heatsim.output.pictures.planes import vector_name
from heatsim.problem import build_problem
from heatsim.scenario import load
from heatsim.store.field_reader import FieldInfo, FieldReader

_MOST_CELLS = 2**24  # a gigabyte of components
_FIELDS = {"heat_flux": FieldInfo("W m-2", "heat flux"), "gradient": FieldInfo("K m-1", "temperature gradient")}


def add_vector(reader: FieldReader, field: str) -> None:
    """Add a vector to the fields of a run, if `field` names it or one of its components and the snapshots do not hold
    it. It is the one that the run would have kept: across contacts, boundary faces and ambients.

    Raises RequestError where the grid is too large for this; `ScenarioError` if the scenario's files are gone.
    """
    solved = reader.quantity
    own = vector_name(reader, field)
    if own is None or any(each.startswith(own) for each in reader.fields):
        return
    name = solved.internal_field_name(own)
    if reader.grid.cells > _MOST_CELLS:
        raise RequestError(f"{name}: of so many cells it has to be kept by the run; ask for it in output.fields")
    problem = build_problem(load(reader.folder.scenario))
    letters = ("r", "", "z") if reader.grid.coordinates == "cylindrical" else ("x", "y", "z")
    names = [f"{own}_{letter}" if letter else "" for letter in letters]

    def derive(temperature: np.ndarray, time: float) -> dict[str, np.ndarray]:
        both = problem.flux_and_gradient((temperature - problem.reference).astype(problem.dtype), time)
        return {key: values for key, values in zip(names, both[name == "gradient"], strict=True) if key}

    unit, long_name = solved.in_own_unit(_FIELDS[name].unit), solved.in_own_words(_FIELDS[name].long_name)
    reader.add_derived({key: FieldInfo(unit, f"{long_name} along {key[-1]}") for key in names if key}, derive)
