"""Integrators: each advances a state by the steps that it is told. `stepping` owns time: step sizes, events, the end.

euler      explicit, on a stencil `Sweep`
implicit   Runge-Kutta methods with implicit stages (`tableaus`), on a `HostField`
steady     the limit of long times, on a `HostField`
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from heatsim_kernels.stencil import Sweep

    from heatsim.integrators.host_field import HostField
    from heatsim.problem import Problem

SOLVING = {"implicit": 300, "steady": 200}  # integrators that solve linear systems, and the bytes a cell that they take


def make_field(problem: Problem, kernel: str) -> Sweep | HostField:
    """Room for the field of a run, where its integrator works on it."""
    if problem.scenario.time.integrator in SOLVING:
        from heatsim.integrators.host_field import HostField

        return HostField(problem.terms, problem.dtype)
    from heatsim_kernels.stencil import SWEEPS

    return SWEEPS[kernel](problem.terms, problem.dtype)
