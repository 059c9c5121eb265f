"""Problems for the tests of integrators, and ways to run them in memory."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from functools import cache, partial
from typing import Any

import numpy as np
import tomli_w
from helpers import scenario_texts
from helpers.plain_stages import plain_field
from helpers.scenario_texts import PERIODIC, box, convection, fixed, flux, material

from heatsim.problem import build_problem
from heatsim.scenario import loads
from heatsim.simulation.time_loop import Timings, simulate
from heatsim.solve.integrators import make_field
from heatsim.solve.integrators.implicit import Implicit
from heatsim.solve.integrators.nonlinear_implicit import NonlinearImplicit
from heatsim.solve.integrators.tableaus import TR_BDF2, Tableau
from heatsim.solve.state import State

case = partial(scenario_texts.case, device="cpu", integrator="implicit")


def state_of(text: str, *, kernel: Any = "multigrid", **time: Any) -> State:
    """The state at the start; `kernel`: of the CPU or of a GPU, but for super steps plain NumPy unless one is named;
    `time`: keys of [time] to set."""
    document = tomllib.loads(text)
    document["time"].update(time)
    problem = build_problem(loads(tomli_w.dumps(document)))
    if time.get("integrator") == "rkl2" and kernel == "multigrid":
        return State(problem, plain_field(problem))
    return State(problem, make_field(problem, kernel))


def run(text: str, recorders: Sequence[Any] = (), *, kernel: Any = "multigrid", **time: Any) -> State:
    """The state at the end."""
    state = state_of(text, kernel=kernel, **time)
    assert simulate(state, recorders, Timings())
    return state


def steady(text: str, **time: Any) -> State:
    """The limit."""
    return run(text, integrator="steady", **time)


def equal_steps(text: str, count: int, tableau: Tableau, *, kernel: Any = "multigrid") -> State:
    """The end of `count` equal steps of a method."""
    state = state_of(text, kernel=kernel)
    steps = NonlinearImplicit if state.problem.temperature_dependent else Implicit
    integrator, end = steps(state, tableau), state.problem.scenario.time.end
    for number in range(1, count + 1):
        integrator.accept_step(integrator.trial_step(end / count, None), end * number / count)
    return state


@cache
def exact(text: str) -> np.ndarray:
    """The field at the end of so many steps that their error does not count."""
    return field(equal_steps(text, 400, TR_BDF2))


def field(state: State) -> np.ndarray:
    """A copy, (nz, ny, nx) degC."""
    return state.temperature().copy()


CONTRAST = {"a": material(50.0), "b": material(0.05)}
PERIODS = {f"{axis}_{end}": PERIODIC for axis in "xy" for end in ("min", "max")}
VARIED_PROBLEMS = {
    "a mode": case([32, 1, 1], 0.1, initial="100*cos(pi*x)"),
    "a surface that is suddenly hot": case([48, 1, 1], 0.05, boundary={"x_min": fixed(100.0)}),
    "a thin insulating layer": case(
        [40, 1, 1],
        20.0,
        size=[0.04, 0.01, 0.01],
        materials={"metal": material(200.0, 1.0, 1e4), "glue": material(0.2, 1.0, 1e4)},
        regions=[{"material": "glue", "where": "x > 0.019 and x < 0.021"}],
        initial=20.0,
        boundary={"x_min": fixed(100.0), "x_max": convection(500.0, 20.0)},
    ),
    "a source in an insulated body": case(
        [12, 12, 1], 0.5, initial=20.0, sources=[{"power": 50.0, "region": box([0.2, 0.2, 0], [0.5, 0.5, 1])}]
    ),
    "convection": case(
        [16, 6, 6], 1.0, initial=100.0, boundary={"x_min": convection(5.0, 0.0), "z_max": convection(50.0, 20.0)}
    ),
    "a wall that swings": case(
        [32, 1, 1], 0.4, boundary={"x_min": fixed("10*sin(20*pi*t)"), "x_max": convection(3.0, "5*cos(6*t)")}
    ),
    "a coefficient that swings": case(
        [24, 1, 1], 0.5, initial=100.0, boundary={"x_min": convection("5 + 4*sin(10*t)", 0.0)}
    ),
    "a pulse": case(
        [24, 1, 1],
        1.0,
        sources=[{"power": "100*exp(-((t - 0.5)/0.05)**2)", "region": box([0, 0, 0], [0.3, 1, 1])}],
        boundary={"x_max": fixed(0.0)},
    ),
    "periods": case([24, 24, 1], 0.05, initial="sin(2*pi*x)*cos(2*pi*y) + 0.1*sin(8*pi*x)", boundary=PERIODS),
    "contrast in three dimensions": case(
        [8, 8, 8],
        0.5,
        materials=CONTRAST,
        regions=[{"material": "b", "where": "x > 0.5"}, {"material": "a", "where": "x > 0.75 and y > 0.5"}],
        initial="10*x",
        boundary={"z_min": flux(30.0), "z_max": convection(10.0, 5.0)},
    ),
}

ORDERS = {"backward Euler": 1, "TR-BDF2": 2}  # of the error at a given time, by the names of tableaus
ORDER_PROBLEMS = {
    "a mode": case([24, 1, 1], 0.1, initial="cos(pi*x)"),
    "two materials, a source that follows time, convection": case(
        [8, 6, 5],
        0.2,
        materials={"a": material(1.0), "b": material(0.1)},
        regions=[{"material": "b", **box([0.5, 0, 0], [1, 1, 1])}],
        initial="x*(1 - x) + y",
        boundary={"x_min": convection(2.0, "sin(9*t)"), "z_max": flux(0.5), "y_max": fixed("1 + 3*t*t")},
        sources=[{"power": "5*cos(8*t)", "region": box([0, 0, 0], [0.5, 0.5, 0.5])}],
    ),
    "a coefficient that follows time": case(
        [16, 1, 1], 0.3, initial="1 + x*x", boundary={"x_min": convection("3 + 2*sin(10*t)", 0.5)}
    ),
}
