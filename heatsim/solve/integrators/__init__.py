"""Integrators: each brings a state through time, or to its limit, by steps of its own.

euler      explicit, by a stepper of `heatsim_kernels.explicit`, or `.enthalpy` if something depends on temperature
rkl2       super time stepping, many explicit stages a step, by a stepper of `stencil`
implicit   Runge-Kutta methods with implicit stages (`tableaus`), on the values of a field
steady     the limit of long times, on the same

A new integrator takes three files: `heatsim.base.methods`, with its facts; its own, which ends with its `Integrator`;
and this one, which names it.

What the last two compute they write in arithmetic of whole fields, which is NumPy's on the host and one kernel an
operation on the GPU; `balance` has the heat balance of a problem and its solver.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from heatsim.base.methods import SOLVER_KERNELS
from heatsim.solve.integrators.euler import EULER
from heatsim.solve.integrators.implicit import IMPLICIT
from heatsim.solve.integrators.integrator import Integrator, StepControl
from heatsim.solve.integrators.rkl2 import RKL2
from heatsim.solve.integrators.steady import STEADY
from heatsim.solve.ranks import joined_ranks

if TYPE_CHECKING:
    from heatsim_kernels.explicit import ExplicitStepper, StageStepper
    from heatsim_kernels.explicit.coefficients import StencilCoefficients
    from heatsim_kernels.explicit.enthalpy.coefficients import NonlinearCoefficients
    from heatsim_kernels.explicit.enthalpy.surface_tangents import SurfaceTangents
    from heatsim_kernels.field import Field

    from heatsim.problem import Problem
    from heatsim.solve.ranks.field import RanksField
    from heatsim.solve.ranks.parts import Ranks
    from heatsim.solve.state import State

INTEGRATORS = {each.name: each for each in (EULER, RKL2, IMPLICIT, STEADY)}

ON_CUDA = SOLVER_KERNELS["cuda"]


def integrator_of(problem: Problem) -> Integrator:
    """The integrator that the scenario names; explicit Euler where it names none, which is resolved before a run."""
    return INTEGRATORS.get(problem.scenario.time.integrator, EULER)


def start_integrator(state: State) -> StepControl:
    """Start the integrator of a problem."""
    return integrator_of(state.problem).start(state)


@dataclass(frozen=True)
class RunField:
    """The field of a run, and what advances it.

    stepper: takes the explicit steps, None for an integrator that solves; stages: the same, if it takes stages, too;
    solver_device: "cpu" or "cuda", where linear systems are solved; tangents: of a nonlinear problem, for explicit
    steps; slabs: the field, if it lies on several ranks.
    """

    field: Field
    stepper: ExplicitStepper | None = None
    stages: StageStepper | None = None
    solver_device: str = "cpu"
    tangents: SurfaceTangents | None = None
    slabs: RanksField | None = None


def make_field(problem: Problem, kernel: str) -> RunField:
    """Allocate the field of a run, on the device and in the form that its integrator works on."""
    from heatsim_kernels.explicit.enthalpy.coefficients import NonlinearCoefficients

    coefficients, solves = problem.coefficients, problem.scenario.time.solves
    if problem.explicit_form is not None and not solves:
        coefficients = problem.explicit_form.coefficients
    ranks = joined_ranks()
    if ranks is not None and not solves:
        return _make_field_of_ranks(problem, coefficients, ranks, kernel)
    if isinstance(coefficients, NonlinearCoefficients):
        return _make_enthalpy_field(problem, coefficients, kernel, solves)
    if solves:
        return _make_solver_field(problem, kernel)
    from heatsim_kernels.explicit import STEPPERS

    stepper = STEPPERS[kernel](coefficients, problem.dtype)
    return RunField(stepper.field, stepper, stepper, tangents=_make_tangents(problem, stepper.field.device))


def _make_solver_field(problem: Problem, kernel: str) -> RunField:
    """A field in float64, whatever the precision of the results."""
    import numpy as np

    if kernel == ON_CUDA:
        from heatsim_kernels.field.cuda.field import CudaField

        return RunField(CudaField(problem.coefficients, problem.dtype, np.dtype(np.float64)), solver_device="cuda")
    from heatsim_kernels.field.cpu.field import CpuField

    return RunField(CpuField(problem.coefficients, problem.dtype, np.dtype(np.float64)))


def _make_enthalpy_field(problem: Problem, coefficients: NonlinearCoefficients, kernel: str, solves: bool) -> RunField:
    """A field that stores the enthalpy; for an integrator that solves in float64 on the host."""
    import numpy as np

    coefficients = _with_ranges(problem, coefficients)
    if solves:
        from heatsim_kernels.explicit.enthalpy.cpu.stepper import enthalpy_field

        field = enthalpy_field(coefficients, problem.dtype, np.dtype(np.float64))
        return RunField(field, solver_device="cuda" if kernel == ON_CUDA else "cpu")
    from heatsim_kernels.explicit.enthalpy import NONLINEAR_STEPPERS

    stepper = NONLINEAR_STEPPERS[kernel](coefficients, problem.dtype)
    return RunField(stepper.field, stepper, stepper, tangents=_make_tangents(problem, stepper.field.device))


def _with_ranges(problem: Problem, coefficients: NonlinearCoefficients) -> NonlinearCoefficients:
    """The coefficients with the temperatures for which the materials are documented."""
    return replace(coefficients, ranges=problem.tabulated.documented if problem.tabulated else ())


def _make_field_of_ranks(problem: Problem, coefficients: StencilCoefficients, ranks: Ranks, kernel: str) -> RunField:
    """A field whose planes lie on several ranks, for explicit steps."""
    from heatsim_kernels.explicit.enthalpy.coefficients import NonlinearCoefficients

    from heatsim.solve.ranks.field import RanksStepper

    if isinstance(coefficients, NonlinearCoefficients):
        coefficients = _with_ranges(problem, coefficients)
    stepper = RanksStepper(ranks, coefficients, problem.dtype, kernel=kernel)
    tangents = _make_tangents(problem, "cpu")  # by the first rank, wherever the field is
    return RunField(stepper.field, stepper, stepper, tangents=tangents, slabs=stepper.field)


def _make_tangents(problem: Problem, device: str) -> SurfaceTangents | None:
    """What makes the tangents of a nonlinear problem, on a device."""
    if problem.explicit_form is None:
        return None
    if device == "cuda":
        from heatsim_kernels.explicit.enthalpy.cuda.surface_tangents import CudaSurfaceTangents

        return CudaSurfaceTangents(problem.explicit_form.faces, problem.dtype)
    from heatsim_kernels.explicit.enthalpy.cpu.surface_tangents import CpuSurfaceTangents

    return CpuSurfaceTangents(problem.explicit_form.faces)
