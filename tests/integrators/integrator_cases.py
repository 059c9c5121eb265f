"""Problems for the tests of integrators, and ways to run them in memory."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tomli_w

from heatsim.integrators import make_field
from heatsim.integrators.implicit import Implicit
from heatsim.integrators.tableaus import Tableau
from heatsim.problem import build
from heatsim.scenario import loads
from heatsim.simulation import Timings, simulate
from heatsim.state import State

Face = dict[str, Any]
INSULATED: Face = {"kind": "insulated"}
PERIODIC: Face = {"kind": "periodic"}


def fixed(temperature: float | str) -> Face:
    return {"kind": "fixed", "temperature": temperature}


def flux(into: float) -> Face:
    return {"kind": "flux", "flux": into}


def convection(coefficient: float | str, ambient: float | str) -> Face:
    return {"kind": "convection", "coefficient": coefficient, "ambient": ambient}


def box(lower: Sequence[float], upper: Sequence[float]) -> dict[str, Any]:
    return {"box": {"lower": lower, "upper": upper}}


def material(k: float = 1.0, density: float = 1.0, heat_capacity: float = 1.0) -> dict[str, Any]:
    return {"conductivity": k, "density": density, "heat_capacity": heat_capacity}


def case(
    cells: Sequence[int],
    end: float = 1.0,
    *,
    size: Sequence[float] = (1.0, 1.0, 1.0),
    materials: dict[str, Any] | None = None,
    regions: Sequence[dict[str, Any]] = (),
    initial: float | str = 0.0,
    boundary: dict[str, Face] | None = None,
    sources: Sequence[dict[str, Any]] = (),
    precision: str = "float64",
    **time: Any,
) -> str:
    """The TOML text of a scenario in degC; the first material fills the box. `time`: more keys of [time]."""
    materials = materials or {"unit": material()}
    return tomli_w.dumps(
        {
            "temperature_unit": "degC",
            "grid": {"cells": cells, "size": size},
            "time": {"end": end, "integrator": "implicit", **time},
            "compute": {"precision": precision, "device": "cpu"},
            "materials": materials,
            "regions": [{"material": next(iter(materials))}, *regions],
            "initial": {"temperature": initial},
            "boundary": boundary or {},
            "sources": list(sources),
        }
    )


def state_of(text: str, **time: Any) -> State:
    """The state at the start; `time`: keys of [time] to set."""
    document = tomllib.loads(text)
    document["time"].update(time)
    problem = build(loads(tomli_w.dumps(document)))
    return State(problem, make_field(problem, "cpu"))


def run(text: str, recorders: Sequence[Any] = (), **time: Any) -> State:
    """The state at the end."""
    state = state_of(text, **time)
    assert simulate(state, recorders, Timings())
    return state


def steady(text: str, **time: Any) -> State:
    """The limit."""
    return run(text, integrator="steady", **time)


def equal_steps(text: str, count: int, tableau: Tableau) -> State:
    """The end of `count` equal steps of a method."""
    state = state_of(text)
    integrator, end = Implicit(state, tableau), state.problem.scenario.time.end
    for number in range(1, count + 1):
        integrator.take(integrator.attempt(end / count, 0.0), end * number / count)
    return state


class Watcher:
    """A recorder that keeps in memory what `look` sees at `times`."""

    def __init__(self, times: Sequence[float], look: Callable[[State], Any]) -> None:
        self.times, self._look = tuple(times), look
        self.seen: list[Any] = []

    def record(self, state: State) -> None:
        self.seen.append(self._look(state))

    def close(self, finished: bool) -> None:
        """Nothing is open."""


def field(state: State) -> np.ndarray:
    """A copy, (nz, ny, nx) degC."""
    return state.temperature().copy()
