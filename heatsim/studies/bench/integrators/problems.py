"""Problems whose solution in time is known: exactly, or from a fine solution along the one axis that matters.

Errors are those of integrators alone: the solution is that of the same cells, not of the continuum.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from math import exp, pi, sin
from typing import NamedTuple

import numpy as np

from heatsim.problem import build_problem
from heatsim.scenario import Scenario, loads
from heatsim.simulation.time_loop import Timings, simulate
from heatsim.solve.integrators import make_field
from heatsim.solve.state import State

FOILS, THICKNESS = 4, 1 / 320  # of metal in the stack, whose height is 1
TEXT = """
temperature_unit = "degC"
grid = {{ {grid} }}
time = {{ end = {end} }}
materials.body = {{ density = 1.0, heat_capacity = 1.0, conductivity = {conductivity} }}
materials.metal = {{ density = 1.0, heat_capacity = 1.0, conductivity = 1000.0 }}
regions = [{{ material = "body" }}{regions}]
initial = {{ temperature = {initial} }}
boundary = {{ {boundary} }}
"""
HOT_BELOW = 'z_min = { kind = "fixed", temperature = 1.0 }, z_max = { kind = "fixed", temperature = 0.0 }'


class KnownProblem(NamedTuple):
    """A problem and its solution. text: the scenario of n cells an axis in degC; solution: (nz, ny, nx) or what
    broadcasts to it, at the end; temperature_range: K."""

    text: Callable[[int], str]
    solution: Callable[[int], np.ndarray]
    temperature_range: float = 1.0


def scenario_of(text: str, integrator: str, tolerance: float | None, precision: str, device: str) -> Scenario:
    """The scenario of a text with what is measured set."""
    given = [f"time.integrator={integrator}", f"compute.precision={precision}", f"compute.device={device}"]
    return loads(text, overrides=[*given, *([f"time.tolerance={tolerance!r}"] if tolerance else [])])


def _smooth(n: int) -> str:
    """A mode between insulated faces."""
    grid, mode = f"cells = [{n}, {n}, {n}], size = [1.0, 1.0, 1.0]", '"cos(pi*x)*cos(pi*y)*cos(pi*z)"'
    return TEXT.format(grid=grid, end=0.05, conductivity=1.0, regions="", initial=mode, boundary="")


def _decayed(n: int) -> np.ndarray:
    """Each cosine of the mode is an eigenvector of the cells, with the eigenvalue -(2 n sin(pi/(2 n)))^2; it starts
    from its means over cells."""
    c = np.sinc(0.5 / n) * np.cos(pi * (np.arange(n) + 0.5) / n)
    return np.asarray(exp(-0.05 * 3 * (2 * n * sin(pi / (2 * n))) ** 2) * c[:, None, None] * c[:, None] * c)


def _stack(n: int, across: int | None = None) -> str:
    """Thin metal foils in a poor conductor, hot below, as in a circuit board: heat creeps from foil to foil while each
    evens out at once, in thin cells of its own."""
    between = (1.0 - FOILS * THICKNESS) / (2 * FOILS)
    half, foil = (
        f"{{ thickness = {size!r}, cells = {m} }}" for size, m in ((between, 3 * n // 32), (THICKNESS, n // 16))
    )
    starts = [between + k * (2 * between + THICKNESS) for k in range(FOILS)]
    where = " or ".join(f"(z > {start!r} and z < {start + THICKNESS!r})" for start in starts)
    side = f"{{ layers = [{{ thickness = 1.0, cells = {across or n} }}] }}"
    grid = f"x = {side}, y = {side}, z = {{ layers = [{', '.join([half, foil, half] * FOILS)}] }}"
    metal = f', {{ material = "metal", where = "{where}" }}'
    return TEXT.format(grid=grid, end=0.02, conductivity=1.0, regions=metal, initial=0.0, boundary=HOT_BELOW)


def _warming(n: int, across: int | None = None) -> str:
    """A slab that conducts the better the warmer it is, suddenly hot below."""
    grid = f"cells = [{across or n}, {across or n}, {n}], size = [1.0, 1.0, 1.0]"
    return TEXT.format(grid=grid, end=0.05, conductivity='"1 + 2*T"', regions="", initial=0.0, boundary=HOT_BELOW)


@cache
def _fine_solution(text: Callable[..., str], tolerance: float, n: int) -> np.ndarray:
    """The end of a problem that depends on z alone, (n, 1, 1), with an error in time that does not count."""
    problem = build_problem(scenario_of(text(n, across=1), "implicit", tolerance, "float64", "cpu"))
    state = State(problem, make_field(problem, "multigrid"))
    simulate(state, [], Timings())
    return state.temperature().copy()


PROBLEMS = {
    "smooth": KnownProblem(_smooth, _decayed, 2.0),
    "stack": KnownProblem(_stack, partial(_fine_solution, _stack, 1e-7)),
    "warming": KnownProblem(_warming, partial(_fine_solution, _warming, 1e-6)),
}
