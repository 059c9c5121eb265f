"""Operators for the multigrid tests: blocks of materials on any grid, and what SciPy makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import scipy.sparse as sparse
from heatsim_kernels.explicit.coefficients import Forcing, StencilCoefficients
from heatsim_kernels.explicit.heat_ledger import boundary_cells
from heatsim_kernels.solver.assembly import operator_of
from heatsim_kernels.solver.cpu import operations
from heatsim_kernels.solver.operator import Operator
from helpers.kernel_cases import terms_of_zones, unique_rows

Shape = tuple[int, int, int]
NO_PERIOD = (False, False, False)
FIXED, INSULATED = -2.0, 0.0  # the a of a boundary face


def terms_of(
    k: np.ndarray,
    *,
    size: Sequence[float] = (1.0, 1.0, 1.0),
    periodic: tuple[bool, bool, bool] = NO_PERIOD,
    capacity: float = 1.0,
) -> StencilCoefficients:
    """A box of materials by conductivity `k` (nz, ny, nx), W/(m K); `size` of a cell along x, y, z, m."""
    nz, ny, nx = k.shape
    rates = []
    for face in range(6):
        axis = 2 - face // 2
        beyond = np.roll(k, -1 if face % 2 else 1, axis)
        if not periodic[face // 2]:
            at = boundary_cells((nz, ny, nx), face)
            beyond.reshape(-1)[at] = k.reshape(-1)[at]
        rates.append(2 * k * beyond / (k + beyond) * np.prod(size) / size[face // 2] ** 2 / capacity)
    spread_over_cells, class_ids = unique_rows(np.reshape(rates, (6, -1)).T)
    count = len(spread_over_cells)
    several = class_ids.reshape(k.shape).astype(np.min_scalar_type(count - 1))
    closed = tuple(np.repeat(periodic, 2).tolist())
    return StencilCoefficients((nz, ny, nx), spread_over_cells, np.full(count, capacity), several, periodic, closed)


def steady(
    k: np.ndarray,
    *,
    boundary: Sequence[float] = (FIXED,) * 6,
    dtype: type = np.float64,
    size: Sequence[float] = (1.0, 1.0, 1.0),
    periodic: tuple[bool, bool, bool] = NO_PERIOD,
    time_step: float = np.inf,
) -> Operator:
    """The operator of a box with one a for each of its boundary faces x_min, x_max, y_min, ..."""
    coefficients = terms_of(k, size=size, periodic=periodic)
    return operator_of(coefficients, np.repeat(boundary, coefficients.class_count), np.dtype(dtype), time_step)


def applied(operator: Operator, T: np.ndarray) -> np.ndarray:
    """A T by the kernel, float64."""
    out = operations.field(T.shape, np.float64)
    operations.sweep((operator.gx, operator.gy, operator.gz), operator.s, T, None, None, out)
    return np.asarray(out)


def matrix(operator: Operator) -> sparse.csr_matrix:
    """A as a sparse matrix, made from the meaning of the arrays."""
    index = np.arange(operator.s.size).reshape(operator.shape)
    total = sparse.diags(operator.s.reshape(-1).astype(np.float64))
    for axis, g in ((2, operator.gx), (1, operator.gy), (0, operator.gz)):
        i, j, value = index.reshape(-1), np.roll(index, -1, axis).reshape(-1), g.reshape(-1).astype(np.float64)
        rows, columns = np.concatenate([i, j, i, j]), np.concatenate([i, j, j, i])
        values = np.concatenate([value, value, -value, -value])
        total = total + sparse.coo_matrix((values, (rows, columns)), total.shape)
    return sparse.csr_matrix(total)


def noise(shape: Sequence[int], seed: int = 0, low: float = -1.0, high: float = 1.0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(low, high, tuple(shape))


def random_operator(shape: Shape, periodic: tuple[bool, bool, bool] = NO_PERIOD, seed: int = 0) -> Operator:
    """Conductances of their own for every face, and ties to the outside here and there."""
    rng = np.random.default_rng(seed)
    faces = []
    for axis in (2, 1, 0):
        g = rng.uniform(0.1, 1, shape)
        if not periodic[2 - axis]:
            g.swapaxes(0, axis)[-1] = 0
        faces.append(g)
    s = np.where(rng.uniform(size=shape) < 0.2, rng.uniform(0, 1, shape), 0)
    return Operator(faces[0], faces[1], faces[2], s, periodic)


def random_terms(
    shape: Shape, zones: int, prescribed: int = 0, periodic: tuple[bool, bool, bool] = NO_PERIOD, per_cell: bool = False
) -> tuple[StencilCoefficients, Forcing]:
    """Random zones with heat from boundary faces and sources; the last `prescribed` of the zones are not solved."""
    rng = np.random.default_rng(sum(shape))
    conductance = rng.uniform(0.1, 1, (3, zones, zones))
    conductance += conductance.transpose(0, 2, 1)
    capacity, ids = rng.uniform(1, 2, zones), rng.integers(0, zones, shape)
    coefficients = terms_of_zones(
        ids, conductance, capacity, prescribed=prescribed, periodic=periodic, per_cell=per_cell
    )
    coefficients = replace(coefficients, closed=tuple(np.repeat(periodic, 2).tolist()))
    boundary_a, boundary_b = (
        rng.uniform(-2, 0, (1, coefficients.boundary_size)),
        rng.uniform(-1, 1, (1, coefficients.boundary_size)),
    )
    heat = (
        rng.uniform(-1, 1, (1, coefficients.class_count)),
        rng.uniform(-1, 1, shape) * coefficients.spread_over_cells(coefficients.capacity > 0),
    )
    return coefficients, Forcing(
        boundary_a, boundary_b, heat[0] * (coefficients.capacity > 0), heat[1], rng.uniform(1, 2, 1)
    )
