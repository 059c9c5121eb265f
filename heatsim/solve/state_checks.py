"""Whether a state can be one of the body that the scenario describes: above absolute zero, and in a steady state with
the conductivities that it has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from heatsim_kernels.explicit.enthalpy.coefficients import NonlinearCoefficients

from heatsim.errors import NoSteadyStateError
from heatsim.problem.media.materials import conductivity_at
from heatsim.scenario import Expression

if TYPE_CHECKING:
    from heatsim.problem import Problem
    from heatsim.solve.state import State

MAX_STRANGENESS = 0.01  # of a conductivity: by so much it may depart from that of the tables
BELOW_ZERO = 1e-6  # of the highest temperature, by which rounding may lead below absolute zero


def require_steady_state(state: State) -> None:
    """Raise `NoSteadyStateError` for a state below absolute zero, or one that only tables have which end before it."""
    problem = state.problem
    low = _below_zero(state)
    if low is not None:
        raise NoSteadyStateError(
            f"heat would balance with {low:.6g} {problem.scenario.unit} at the coldest place, below absolute zero: "
            "sinks or fluxes take more heat than can come"
        )
    _require_known_conductivities(problem, np.asarray(state.field.host(), np.float64))


def cold_warnings(state: State) -> Iterator[str]:
    """About a state in time below absolute zero."""
    low = None if np.isinf(state.time) else _below_zero(state)
    if low is not None:
        yield (
            f"{low:.6g} {state.problem.scenario.unit} at the end is below absolute zero: sinks or fluxes take more "
            "heat than there is"
        )


def _below_zero(state: State) -> float | None:
    """The lowest temperature, in the scenario's unit, where that is below absolute zero by more than rounding."""
    scenario = state.problem.scenario
    low, high = state.extremes()
    impossible = low - scenario.zero < -BELOW_ZERO * max(abs(high - scenario.zero), 1e-6)
    return low if scenario.solved.is_temperature and impossible else None


def _require_known_conductivities(problem: Problem, offset: np.ndarray) -> None:
    """About a conductivity by an expression that is another one at the state than that of the tables, which end where
    the expression fails; offset: (nz, ny, nx) of the field, K."""
    if problem.tabulated is None or not isinstance(problem.coefficients, NonlinearCoefficients):
        return
    of_cells, unit = problem.coefficients.spread_over_cells(problem.coefficients.material), problem.scenario.unit
    for number, (name, material) in enumerate(problem.scenario.materials.items()):
        here = np.broadcast_to(of_cells == number, offset.shape)
        if not isinstance(material.conductivity, Expression) or not here.any():
            continue
        ends = np.array([offset[here].min(), offset[here].max()])
        known = np.clip(ends, *problem.tabulated.documented[number])
        k, held = (conductivity_at(material, each + problem.reference) for each in (ends, known))
        wrong = ~(np.abs(k - held) <= MAX_STRANGENESS * np.abs(held))
        if wrong.any():
            i = int(np.argmax(wrong))
            raise NoSteadyStateError(
                f"heat would balance with {ends[i] + problem.reference:.6g} {unit} in {name}, where "
                f"materials.{name}.conductivity is {k[i]:.3g} W/(m K); it is followed as far as "
                f"{known[i] + problem.reference:.6g} {unit}, where it is {held[i]:.3g} W/(m K)"
            )
