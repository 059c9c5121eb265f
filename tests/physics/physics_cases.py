"""Scenarios for the physics tests: made of a few numbers as TOML, run in memory without a folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tomli_w

from heatsim.integrators import make_field
from heatsim.problem import Problem, build
from heatsim.scenario import loads
from heatsim.simulation import Timings, simulate
from heatsim.state import EnergyBalance, State

Face = dict[str, Any]
Run = Callable[..., "Outcome"]

AXES = ("x", "y", "z")
FACES = ("x_min", "x_max", "y_min", "y_max", "z_min", "z_max")
INSULATED: Face = {"kind": "insulated"}
PERIODIC: Face = {"kind": "periodic"}
SAFETY = 0.9  # step = "auto" takes this part of the limit


def fixed(temperature: float | str) -> Face:
    return {"kind": "fixed", "temperature": temperature}


def flux(into: float | str) -> Face:
    return {"kind": "flux", "flux": into}


def convection(coefficient: float | str, ambient: float | str) -> Face:
    return {"kind": "convection", "coefficient": coefficient, "ambient": ambient}


def both(axis: str, face: Face) -> dict[str, Face]:
    return {f"{axis}_min": face, f"{axis}_max": face}


def material(k: float | Sequence[float] = 1.0, density: float = 1.0, heat_capacity: float = 1.0) -> dict[str, Any]:
    return {"conductivity": k, "density": density, "heat_capacity": heat_capacity}


def box(lower: Sequence[float], upper: Sequence[float]) -> dict[str, Any]:
    return {"box": {"lower": lower, "upper": upper}}


def case(
    cells: Sequence[int],
    end: float,
    *,
    size: Sequence[float] = (1.0, 1.0, 1.0),
    materials: dict[str, Any] | None = None,
    regions: Sequence[dict[str, Any]] = (),
    initial: Any = 0.0,
    boundary: dict[str, Face] | None = None,
    sources: Sequence[dict[str, Any]] = (),
    step: float | str = "auto",
    precision: str = "float64",
) -> str:
    """The TOML text of a scenario in degC. The first material fills the box; `regions` are painted over it."""
    materials = materials or {"unit": material()}
    return tomli_w.dumps(
        {
            "temperature_unit": "degC",
            "grid": {"cells": cells, "size": size},
            "time": {"end": end, "step": step, "integrator": "euler"},
            "compute": {"precision": precision},
            "materials": materials,
            "regions": [{"material": next(iter(materials))}, *regions],
            "initial": {"temperature": initial},
            "boundary": boundary or {},
            "sources": list(sources),
        }
    )


@dataclass(frozen=True)
class Outcome:
    """A finished run."""

    problem: Problem
    state: State

    @property
    def temperature(self) -> np.ndarray:
        """(nz, ny, nx) degC."""
        return self.state.temperature()

    @property
    def initial(self) -> np.ndarray:
        """(nz, ny, nx) degC."""
        return np.stack(list(self.problem.initial.planes()))

    @property
    def energy(self) -> EnergyBalance:
        return self.state.energy

    @property
    def dt(self) -> float:
        """The step of a run without events before its end, s."""
        return self.state.time / self.state.step

    def points(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Cell centres x (1, 1, nx), y (1, ny, 1), z (nz, 1, 1), m."""
        x, y, z = (self.problem.grid.centres(axis) for axis in AXES)
        return x[None, None, :], y[None, :, None], z[:, None, None]


@dataclass
class Recording:
    """A recorder that keeps in memory what `look` sees of the state at `times`."""

    times: tuple[float, ...]
    look: Callable[[State], Any]
    seen: list[Any] = field(default_factory=list)

    def record(self, state: State) -> None:
        self.seen.append(self.look(state))

    def close(self) -> None:
        pass


def problem_of(text: str) -> Problem:
    return build(loads(text))


def run(text: str, kernel: str = "cpu", recorders: Sequence[Recording] = ()) -> Outcome:
    """Run a scenario to its end in memory."""
    problem = problem_of(text)
    state = State(problem, make_field(problem, kernel))
    simulate(state, recorders, Timings())
    return Outcome(problem, state)


def observed_order(spacings: Sequence[float], errors: Sequence[float]) -> float:
    """Slope of log error over log spacing by least squares."""
    return float(np.polyfit(np.log(spacings), np.log(errors), 1)[0])


def rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(values**2)))
