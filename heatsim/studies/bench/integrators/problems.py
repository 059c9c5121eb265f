"""Problems whose solution in time is known: exactly, or from a fine solution along the one axis that matters.

Errors are those of integrators alone: the solution is that of the same cells, not of the continuum.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from math import exp, pi, sin

import numpy as np
import tomli_w

from heatsim.problem import build_problem
from heatsim.scenario import Scenario, loads
from heatsim.simulation.time_loop import Timings, simulate
from heatsim.solve.integrators import make_field
from heatsim.solve.state import State

CONTRAST = 1000.0  # of the conductivities of the stack
FOILS, THICKNESS = 4, 1 / 320  # of metal in the stack, whose height is 1


@dataclass(frozen=True)
class KnownProblem:
    """A problem and its solution. text: the scenario of n cells an axis in degC; solution: (nz, ny, nx) or what
    broadcasts to it, at the end; rise: range of temperatures, K."""

    name: str
    text: Callable[[int], str]
    solution: Callable[[int], np.ndarray]
    temperature_range: float


def scenario_of(text: str, integrator: str, tolerance: float | None, precision: str, device: str) -> Scenario:
    """The scenario of a text with what is measured set."""
    given = [f"time.integrator={integrator}", f"compute.precision={precision}", f"compute.device={device}"]
    return loads(text, overrides=[*given, *([f"time.tolerance={tolerance!r}"] if tolerance else [])])


def _smooth(n: int) -> str:
    """A mode between insulated faces."""
    grid = {"cells": [n, n, n], "size": [1.0, 1.0, 1.0]}
    return _document(
        grid, 0.05, {"unit": {"conductivity": 1.0}}, [{"material": "unit"}], "cos(pi*x)*cos(pi*y)*cos(pi*z)", {}
    )


def _decayed(n: int) -> np.ndarray:
    """Each cosine of the mode is an eigenvector of the cells, with the eigenvalue -(2 n sin(pi/(2 n)))^2; it starts
    from its means over cells."""
    c = np.sinc(0.5 / n) * np.cos(pi * (np.arange(n) + 0.5) / n)
    return np.asarray(exp(-0.05 * 3 * (2 * n * sin(pi / (2 * n))) ** 2) * c[:, None, None] * c[:, None] * c)


def _stack(n: int, across: int | None = None) -> str:
    """Thin metal foils in a poor conductor, hot below, as in a circuit board: heat creeps from foil to foil while each
    evens out at once, in thin cells of its own."""
    between, foil = (1.0 - FOILS * THICKNESS) / (2 * FOILS), {"thickness": THICKNESS, "cells": n // 16}
    half = {"thickness": between, "cells": 3 * n // 32}
    starts = [between + k * (2 * between + THICKNESS) for k in range(FOILS)]
    metal = " or ".join(f"(z > {start!r} and z < {start + THICKNESS!r})" for start in starts)
    regions = [{"material": "resin"}, {"material": "metal", "where": metal}]
    boundary = {"z_min": {"kind": "fixed", "temperature": 1.0}, "z_max": {"kind": "fixed", "temperature": 0.0}}
    side = {"layers": [{"thickness": 1.0, "cells": across or n}]}
    grid = {"x": side, "y": side, "z": {"layers": [half, foil, half] * FOILS}}
    return _document(
        grid, 0.02, {"resin": {"conductivity": 1.0}, "metal": {"conductivity": CONTRAST}}, regions, 0.0, boundary
    )


def _warming(n: int, across: int | None = None) -> str:
    """A slab that conducts the better the warmer it is, suddenly hot below."""
    grid = {"cells": [across or n, across or n, n], "size": [1.0, 1.0, 1.0]}
    boundary = {"z_min": {"kind": "fixed", "temperature": 1.0}, "z_max": {"kind": "fixed", "temperature": 0.0}}
    return _document(grid, 0.05, {"slab": {"conductivity": "1 + 2*T"}}, [{"material": "slab"}], 0.0, boundary)


@cache
def _fine_solution(text: Callable[..., str], tolerance: float, n: int) -> np.ndarray:
    """The end of a problem that depends on z alone, (n, 1, 1), with an error in time that does not count."""
    scenario = scenario_of(text(n, across=1), "implicit", tolerance, "float64", "cpu")
    problem = build_problem(scenario)
    state = State(problem, make_field(problem, "multigrid"))
    simulate(state, [], Timings())
    return state.temperature().copy()


def _document(
    grid: Mapping[str, object],
    end: float,
    materials: Mapping[str, Mapping[str, object]],
    regions: Sequence[Mapping[str, object]],
    initial: float | str,
    boundary: Mapping[str, Mapping[str, object]],
) -> str:
    return tomli_w.dumps(
        {
            "temperature_unit": "degC",
            "grid": grid,
            "time": {"end": end},
            "materials": {
                name: {"density": 1.0, "heat_capacity": 1.0, **properties} for name, properties in materials.items()
            },
            "regions": regions,
            "initial": {"temperature": initial},
            "boundary": boundary,
        }
    )


PROBLEMS = {
    "smooth": KnownProblem("smooth", _smooth, _decayed, 2.0),
    "stack": KnownProblem("stack", _stack, partial(_fine_solution, _stack, 1e-7), 1.0),
    "warming": KnownProblem("warming", _warming, partial(_fine_solution, _warming, 1e-6), 1.0),
}
