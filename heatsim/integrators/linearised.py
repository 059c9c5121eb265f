"""A body whose materials and walls follow temperature, frozen at one state: a linear problem, for iterations."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
from heatsim_kernels.enthalpy.linearised import linearised
from heatsim_kernels.multigrid.cpu import operations as cpu

from heatsim.integrators import ON_CUDA

if TYPE_CHECKING:
    from heatsim_kernels.enthalpy.coefficients import NonlinearCoefficients, NonlinearForcing
    from heatsim_kernels.multigrid.operator import MultigridKernels, Operator
    from heatsim_kernels.stencil.terms import Forcing

WEAK_COUPLING = 1e-3  # of the mean outside, the row of a held cell: see `multigrid.operator`


class LinearisedProblem(NamedTuple):
    """The operator at a state, W/K; passing: (nz, ny, nx) heat that walls, ambients and sources bring to each cell, W;
    flow: the same with what its neighbours bring, W."""

    operator: Operator
    passing: np.ndarray
    flow: np.ndarray


def linearise_problem(
    terms: NonlinearCoefficients, u: np.ndarray, T: np.ndarray, drive: Forcing | NonlinearForcing
) -> LinearisedProblem:
    """A body at the state u, whose temperatures are T, with the first row of `drive`."""
    operator, heat = linearised(terms, u, cast("NonlinearForcing", drive))
    passing = heat - operator.s * T
    exchange = cpu.field(terms.shape, np.float64)
    cpu.sweep((operator.gx, operator.gy, operator.gz), np.zeros(terms.shape), T, None, None, exchange)
    return LinearisedProblem(operator, passing, passing - exchange)


def diagonal_coupling(ties: np.ndarray, solved: np.ndarray) -> np.ndarray:
    """What ties each cell to the outside, W/K, with weak ties for those that are held: they take no part."""
    return np.where(solved, ties, WEAK_COUPLING * ties[solved].mean())


def solver_kernels(name: str) -> MultigridKernels:
    """The module of `heatsim_kernels.multigrid` that solves for a field whose kernels have this name."""
    if name != ON_CUDA:
        return cpu
    from heatsim_kernels.multigrid.cuda import operations as cuda

    return cuda
