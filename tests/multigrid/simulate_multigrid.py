"""Run the multigrid kernels on the CUDA simulator: `NUMBA_ENABLE_CUDASIM=1 python simulate_multigrid.py RESULT.npz`.

A process of its own, because the simulator is chosen once, when Numba is imported. It compiles nothing. What is done
with a module of kernels stands here once: `test_multigrid_simulated` does it with those of the CPU.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from heatsim_kernels.field.window_source import WindowSource
from heatsim_kernels.solver import hierarchy
from heatsim_kernels.solver.assembly import Assembly
from heatsim_kernels.solver.hierarchy import RESIDUAL, coarsening
from heatsim_kernels.solver.solver import Solver
from multigrid_cases import NO_PERIOD, noise, random_operator, random_terms, steady

Shape = tuple[int, int, int]
Results = dict[str, np.ndarray]


class MultigridTrial(NamedTuple):
    """A tiny grid, since the simulator is slow, and the axes (z, y, x) by which it is coarsened one after the other."""

    shape: Shape
    periodic: tuple[bool, bool, bool] = NO_PERIOD
    axes: tuple[int, ...] = (2, 1, 0)
    dtype: type = np.float64


TRIALS = {
    "odd": MultigridTrial((3, 5, 4)),
    "periodic all around": MultigridTrial((4, 3, 5), (True, True, True), (0, 2)),
    "a plane": MultigridTrial((1, 5, 6), (True, False, False), (1, 2), np.float32),
    "a line along z": MultigridTrial((9, 1, 1), axes=(0, 0)),
    "a line along x, periodic": MultigridTrial((1, 1, 7), (True, False, False), (2,)),
    "two cells thick": MultigridTrial((2, 4, 5), (False, True, False), (2, 1)),
}
AXES = "gx", "gy", "gz"
ASSEMBLED = {"assembled, walls by kind": False, "assembled, walls by cell": True}


def kernels_one_by_one(kernels: ModuleType, trial: MultigridTrial) -> Results:
    """What each kernel makes of random fields, down the grids of a trial."""
    operator = random_operator(trial.shape, trial.periodic, seed=sum(trial.shape))
    found: Results = {}
    double = kernels.field(trial.shape, np.float64)
    faces = tuple(kernels.put(each.astype(trial.dtype)) for each in (operator.gx, operator.gy, operator.gz))
    u = kernels.put(noise(trial.shape, 1))
    kernels.sweep(faces, kernels.put(operator.s.astype(trial.dtype)), u, None, None, double)
    found["A x in float64"] = kernels.get(double).copy()
    g: Any = tuple(map(kernels.single, faces))
    shape, s = trial.shape, kernels.single(operator.s)
    for level, axis in enumerate((*trial.axes, None)):
        x, b = (kernels.single(noise(shape, seed)) for seed in (2, 3))
        out = kernels.field(shape)
        for name, start, share in (("from zero", None, 0.7), ("relaxed", x, 0.7), ("residual", x, RESIDUAL)):
            kernels.sweep(g, s, start, b, np.float32(share), out)
            found[f"{name} {level}"] = kernels.get(out).copy()
        found[f"strong cells {level}"] = kernels.strong_cells(g, shape, 0.5)
        if axis is None:
            return found
        step = coarsening(shape, axis, trial.periodic[2 - axis])
        weights, coarse_g = kernels.field(step.weights), kernels.field(step.coarse_conductances)
        kernels.interpolation(step, g, weights)
        kernels.galerkin(step, g, weights, coarse_g)
        coarse = kernels.field(step.coarse)
        kernels.restrict(step, weights, b, coarse)
        found |= {f"weights {level}": kernels.get(weights).copy(), f"restricted {level}": kernels.get(coarse).copy()}
        kernels.interpolate(step, weights, coarse, False, out)
        kernels.interpolate(step, weights, coarse, True, out)
        found[f"interpolated twice {level}"] = kernels.get(out).copy()
        coarse_s = kernels.field(step.coarse)
        kernels.restrict(step, weights, s, coarse_s)
        shape, g, s = step.coarse, coarse_g, coarse_s
    return found


def passes_of_the_gradient(kernels: ModuleType) -> Results:
    """The kernels over whole fields."""
    shape = (3, 4, 5)
    p, q, x, r = (kernels.put(noise(shape, seed)) for seed in range(4))
    z, b = kernels.single(noise(shape, 5)), kernels.field(shape)
    sums = [kernels.dot(p, q), kernels.step(0.3, 2.0, p, q, x, r, b), *kernels.dots(z, r, q), kernels.largest(p)]
    kernels.direction(z, 0.4, 1.5, p)
    matrix, column = kernels.put(noise((6, 6))), kernels.field((1, 2, 3))
    kernels.multiply(matrix, kernels.single(noise((1, 2, 3), 6)), column)
    fields = {"x": x, "r": r, "b": b, "p": p, "product": column}
    return {"sums": np.array(sums), **{name: kernels.get(each).copy() for name, each in fields.items()}}


def solved(kernels: ModuleType) -> Results:
    """Two iterations on three levels, then another time step."""
    hierarchy.MAX_DIRECT_CELLS, usual = 6, hierarchy.MAX_DIRECT_CELLS
    try:
        k = np.where(noise((2, 3, 5), 9) > 0, 1.0, 1e-3)
        operator, b = steady(k, dtype=np.float32), noise(k.shape)
        solver = Solver(operator, kernels)
        first = solver.solve(b, max_iterations=2)
        solver.set_outside(operator.s + np.float32(0.5))
        second = solver.solve(b, noise(k.shape, 4), max_iterations=1)
    finally:
        hierarchy.MAX_DIRECT_CELLS = usual
    found = {"residuals": np.array(first.residuals + second.residuals)}
    return found | {"x": kernels.get(first.x), "x of another step": kernels.get(second.x)}


def assembled(kernels: ModuleType, per_cell: bool) -> Results:
    """What is made of a problem with a zone that is held, and sums over it."""
    coefficients, forcing = random_terms((3, 4, 5), 3, 1, (False, True, False), per_cell)
    window = WindowSource((1, 0, 2), noise((2, 3, 2), 7), 0.0)
    forcing = replace(forcing, window_sources=((window,),))
    assembly, u = Assembly(coefficients, kernels), kernels.put(noise(coefficients.shape, 1))
    a, b = (
        np.append(values, [-1.0, 0.7][: coefficients.ledger_size - 6])
        for values in (forcing.boundary_a[0], forcing.boundary_b[0])
    )
    flow, faces = kernels.field(coefficients.shape, np.float64), assembly.faces(np.float32)
    assembly.boundary_heat.add(flow, u, a, b)
    solved = assembly.spread_over_cells(coefficients.capacity > 0, np.uint8)
    found = {"flow": flow, "s": assembly.outside(a, np.float32, 0.1), "sources": assembly.sources(forcing)}
    found |= {"wide s": assembly.outside(a, np.float64), "solved": solved} | dict(zip(AXES, faces, strict=True))
    sums = [kernels.total(u), *kernels.extent(u)[:2], *kernels.extent(u, solved)[:2]]
    found = {name: kernels.get(each) for name, each in found.items()}
    return found | {"sums": np.array(sums), "entering": assembly.boundary_heat.entering(u, a, b)}


def everything(kernels: ModuleType) -> dict[str, Results]:
    """All of it, by name."""
    by_grid = {name: kernels_one_by_one(kernels, trial) for name, trial in TRIALS.items()}
    by_values = {name: assembled(kernels, per_cell) for name, per_cell in ASSEMBLED.items()}
    return {
        **by_grid,
        **by_values,
        "passes of the gradient": passes_of_the_gradient(kernels),
        "a solve": solved(kernels),
    }


def arithmetic() -> Results:
    """What only the fields of CUDA do: arithmetic, sums by class."""
    from heatsim_kernels.solver.cuda import operations

    shape = (3, 4, 5)
    u, v = (operations.put(noise(shape, seed)) for seed in (1, 2))
    class_ids = operations.put((noise(shape, 3) > 0).astype(np.uint8))
    weights = np.array([3.0, 5.0])
    return {
        "arithmetic": operations.get(0.5 + 2.0 * (u - v) / 4.0 - u * v - 1.0),
        "reversed": operations.get(np.float64(3.0) - u),
        "weighted sums": np.array(
            [operations.weighted_sum(u, weights, class_ids), operations.weighted_sum(u, weights, None)]
        ),
    }


def main(target: str) -> None:
    from heatsim_kernels.solver.cuda import operations

    results = {**everything(operations), "fields": arithmetic()}
    parts: Any = {f"{name}: {part}": values for name, found in results.items() for part, values in found.items()}
    np.savez(target, **parts)


if __name__ == "__main__":
    main(sys.argv[1])
