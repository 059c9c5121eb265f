"""A body whose materials and boundary faces depend on temperature, frozen at one state: a linear problem, for
iterations."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from heatsim_kernels.explicit.coefficients import Forcing
from heatsim_kernels.explicit.enthalpy import NONLINEAR_STEPPERS
from heatsim_kernels.explicit.enthalpy.coefficients import NonlinearCoefficients, NonlinearForcing
from heatsim_kernels.explicit.enthalpy.cpu.surface_tangents import CpuSurfaceTangents
from heatsim_kernels.explicit.enthalpy.surface_tangents import TangentFaces
from heatsim_kernels.solver.cpu import operations as cpu
from heatsim_kernels.solver.linearised import linearised

if TYPE_CHECKING:
    from heatsim_kernels.solver.operator import Operator

    from heatsim.problem import Problem

MAX_SOLVER_ITERATIONS = 100  # the linear solver's, in each iteration on a nonlinear problem
SOLVER_RESIDUAL = 1e-3  # residual of a linear solve: the next iteration mends what it leaves
LEAST_TIES = 0.1  # of a cell to the outside, which a source that grows with temperature leaves
WEAK_COUPLING = 1e-3  # of the mean outside, the row of a prescribed cell: see `multigrid.operator`


class LinearisedProblem(NamedTuple):
    """The operator at a state, W/K; passing: (nz, ny, nx) heat that boundary faces, ambients and sources bring to each
    cell, W;
    flow: the same with what its neighbours bring, W."""

    operator: Operator
    passing: np.ndarray
    flow: np.ndarray


def nonlinear_coefficients(problem: Problem) -> NonlinearCoefficients:
    """The coefficients of a temperature-dependent problem. Raises `TypeError` for a linear one."""
    if not isinstance(problem.coefficients, NonlinearCoefficients):
        raise TypeError("the problem is linear: it has no enthalpy")
    return problem.coefficients


def nonlinear_forcing(problem: Problem, time: float) -> NonlinearForcing:
    """The boundary values and sources of a temperature-dependent problem at a time, s."""
    forcing: object = problem.forcing(np.array([time]))
    if not isinstance(forcing, NonlinearForcing):
        raise TypeError("the problem is linear: it has no enthalpy")
    return forcing


class EnteringHeat:
    """What enters a body through its faces and from ambients."""

    def __init__(self, coefficients: NonlinearCoefficients) -> None:
        self._stepper = NONLINEAR_STEPPERS["cpu"](coefficients, np.dtype(np.float64))
        self._tangents = CpuSurfaceTangents(TangentFaces.of_open_faces(coefficients))
        self._nothing = np.zeros(coefficients.ledger_size)
        nothing = np.zeros((1, coefficients.boundary_size))
        self._no_forcing = Forcing(nothing, nothing)

    def at(self, u: np.ndarray, forcing: NonlinearForcing) -> np.ndarray:
        """The heat through each face and from each ambient at the state u, W: that of an explicit step of a second."""
        stepper = self._stepper
        stepper.restore_ledger({"total": self._nothing})  # what came before would leave its rounding
        stepper.field.put_state(u)
        cells = stepper.field.stored_cells
        stepper.advance(1.0, 1, self._tangents.applied(self._no_forcing, cells, forcing.boundary))
        return stepper.heat_entered()


def linearise_problem(
    problem: Problem, u: np.ndarray, T: np.ndarray, forcing: NonlinearForcing, time: float
) -> LinearisedProblem:
    """A body at the state u, whose temperatures are T, at a time, s, with the first row of `forcing`."""
    coefficients, following = nonlinear_coefficients(problem), problem.temperature_sources
    operator, heat = linearised(coefficients, u, forcing)
    if following is not None and following.contacts is not None:
        operator = following.contacts.joined(operator, T + problem.reference, time)
    passing = heat - operator.s * T
    exchange = cpu.field(coefficients.shape, np.float64)
    cpu.sweep((operator.gx, operator.gy, operator.gz), np.zeros(coefficients.shape), T, None, None, exchange)
    return LinearisedProblem(operator, passing, passing - exchange)


def diagonal_coupling(ties: np.ndarray, solved: np.ndarray) -> np.ndarray:
    """What ties each cell to the outside, W/K, with weak ties for those that are held: they take no part."""
    return np.where(solved, ties, WEAK_COUPLING * ties[solved].mean())


def damped_coupling(ties: np.ndarray, growth: np.ndarray | float) -> np.ndarray:
    """What ties each cell to the outside where sources grow by so much with temperature, W/K: a sink holds it besides,
    what heats itself lets it go, down to a share of the ties."""
    return np.maximum(ties - growth, LEAST_TIES * ties)
