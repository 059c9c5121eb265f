"""Devito: its own time loop, generated C with OpenMP and loop blocking, autotuned before it is timed."""

import os

import numpy as np

from .problem import NUMBER, SLOPE, Sweeps, bind_openmp, diffusivity, missing, potential

NAME, DISTRIBUTION, BOUNDARY = "Devito", "devito", "ghost"
SETTINGS = "DEVITO_LANGUAGE=openmp, opt=advanced (blocking, SIMD), padded rows, blocks autotuned (aggressive)"
ENVIRONMENT = {
    "DEVITO_LANGUAGE": "openmp",
    "DEVITO_AUTOPADDING": "1",
    "DEVITO_LOGGING": "ERROR",
}


def available() -> str | None:
    return missing("devito")


def prepare(initial: np.ndarray) -> Sweeps:
    bind_openmp()
    os.environ.update(ENVIRONMENT)  # read when devito is first imported
    from devito import Eq, Grid, Operator, TimeFunction, solve

    n = len(initial)
    # Devito's points are the cell centres: n of them span n - 1 cells. Its halo stays zero: the boundary.
    grid = Grid(shape=initial.shape, extent=((n - 1) / n,) * 3, dtype=initial.dtype.type)
    u = TimeFunction(name="u", grid=grid, time_order=1, space_order=2)
    if SLOPE:
        x, y, z = grid.dimensions
        beside = (u.subs(axis, axis + side * axis.spacing) for axis in (x, y, z) for side in (-1, 1))
        update = Eq(u.forward, u + NUMBER * (sum(map(potential, beside)) - 6 * potential(u)))
    else:
        update = Eq(u.forward, solve(u.dt - diffusivity(n) * u.laplace, u.forward))
    operator = Operator([update], opt="advanced")
    now = 0

    def run(steps: int, **options: str) -> None:
        nonlocal now
        operator.apply(time_m=now, time_M=now + steps - 1, dt=1.0, **options)
        now += steps

    u.data[0] = initial
    run(1, autotune="aggressive")
    u.data_with_halo[:] = 0
    u.data[0] = initial
    now = 0
    return Sweeps(run, lambda: np.asarray(u.data[now % 2]))
