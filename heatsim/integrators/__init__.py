"""Integrators: each brings a state through time, or to its limit, by steps of its own.

euler      explicit, on a stencil `ExplicitStepper`
rkl2       super time stepping, many explicit stages a step, on the same
implicit   Runge-Kutta methods with implicit stages (`tableaus`), on a `HostField` or a `DoubleBufferedField`
steady     the limit of long times, on the same

A new integrator takes two files: its own, which ends with its `Integrator`, and this one, which names it. The order of
INTEGRATORS is that of the schema, of estimates and of benchmarks.

What the last two compute they write in arithmetic of whole fields, which is NumPy's for arrays of the host and one
kernel an operation for fields on the GPU; the balance of a problem and its solver are those of the field (`balance`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from heatsim.integrators.euler import EULER
from heatsim.integrators.implicit import IMPLICIT
from heatsim.integrators.integrator import SOLVER_KERNELS, Advance, Integrator
from heatsim.integrators.rkl2 import RKL2
from heatsim.integrators.steady import STEADY

if TYPE_CHECKING:
    from heatsim_kernels.stencil import ExplicitStepper

    from heatsim.integrators.device_field import DeviceField
    from heatsim.integrators.enthalpy_field import EnthalpyField
    from heatsim.integrators.host_field import HostField
    from heatsim.problem import Problem
    from heatsim.simulation.state import State

INTEGRATORS: dict[str, Integrator] = {"euler": EULER, "rkl2": RKL2, "implicit": IMPLICIT, "steady": STEADY}

ON_CUDA = SOLVER_KERNELS["cuda"]


def start(state: State) -> Advance:
    """The way of a state through time by the integrator of its scenario; by explicit steps where that is left open,
    which a run does not."""
    return (state.problem.scenario.time.chosen or EULER).start(state)


def make_field(problem: Problem, kernel: str) -> ExplicitStepper | HostField | DeviceField | EnthalpyField:
    """Room for the field of a run, where its integrator works on it."""
    if problem.temperature_dependent:
        return _enthalpy_field(problem, kernel)
    if problem.scenario.time.solves:
        if kernel == ON_CUDA:
            from heatsim.integrators.device_field import DeviceField

            return DeviceField(problem.terms, problem.dtype)
        from heatsim.integrators.host_field import HostField

        return HostField(problem.terms, problem.dtype)
    from heatsim_kernels.stencil import SWEEPS

    return SWEEPS[kernel](problem.terms, problem.dtype)


def _enthalpy_field(problem: Problem, kernel: str) -> EnthalpyField:
    """That of a problem in which something follows temperature; for solvers in float64 on the host."""
    import numpy as np
    from heatsim_kernels.enthalpy import NONLINEAR_SWEEPS

    from heatsim.integrators.enthalpy_field import EnthalpyField

    solves = problem.scenario.time.solves
    build, dtype = NONLINEAR_SWEEPS["cpu" if solves else kernel], np.dtype(np.float64) if solves else problem.dtype
    return EnthalpyField(build(problem.terms, dtype), problem, kernel)  # type: ignore[arg-type]
