"""Integrators: each advances a state by the steps that it is told. `stepping` owns time: step sizes, events, the end.

euler      explicit, on a stencil `ExplicitStepper`
implicit   Runge-Kutta methods with implicit stages (`tableaus`), on a `HostField` or a `DoubleBufferedField`
steady     the limit of long times, on the same

What these two compute they write in arithmetic of whole fields, which is NumPy's for arrays of the host and one kernel
an operation for fields on the GPU; the balance of a problem and its solver are those of the field (`balance`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from heatsim_kernels.stencil import ExplicitStepper

    from heatsim.integrators.device_field import DeviceField
    from heatsim.integrators.enthalpy_field import EnthalpyField
    from heatsim.integrators.host_field import HostField
    from heatsim.problem import Problem

ON_CUDA = "multigrid_cuda"  # the name of the solvers' kernels on a GPU; on the CPU: multigrid
SOLVING = {"implicit": 340, "steady": 250}  # integrators that solve linear systems, and the bytes a cell that they take


def make_field(problem: Problem, kernel: str) -> ExplicitStepper | HostField | DeviceField | EnthalpyField:
    """Room for the field of a run, where its integrator works on it."""
    if problem.temperature_dependent:
        return _enthalpy_field(problem, kernel)
    if problem.scenario.time.integrator in SOLVING:
        if kernel == ON_CUDA:
            from heatsim.integrators.device_field import DeviceField

            return DeviceField(problem.terms, problem.dtype)
        from heatsim.integrators.host_field import HostField

        return HostField(problem.terms, problem.dtype)
    from heatsim_kernels.stencil import SWEEPS

    return SWEEPS[kernel](problem.terms, problem.dtype)


def _enthalpy_field(problem: Problem, kernel: str) -> EnthalpyField:
    """That of a problem in which something follows temperature; for the steady state in float64 on the host."""
    import numpy as np
    from heatsim_kernels.enthalpy import NONLINEAR_SWEEPS

    from heatsim.integrators.enthalpy_field import EnthalpyField

    steady = problem.scenario.time.integrator in SOLVING
    build, dtype = NONLINEAR_SWEEPS["cpu" if steady else kernel], np.dtype(np.float64) if steady else problem.dtype
    return EnthalpyField(build(problem.terms, dtype), problem, kernel)  # type: ignore[arg-type]
