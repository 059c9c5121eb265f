"""py-pde: its DiffusionPDE under its fixed-step Euler solver."""

from importlib.util import find_spec

import numpy as np

from .problem import SLOPE, TIME_STEP, Sweeps, diffusivity, missing

NAME, DISTRIBUTION, BOUNDARY = "py-pde", "py-pde", "face"
SETTINGS = "DiffusionPDE, EulerSolver, backend jax where installed (the faster one), else numba"


def available() -> str | None:
    return "solves constant diffusivities" if SLOPE else missing("pde")


def prepare(initial: np.ndarray) -> Sweeps:
    import pde

    backend = "jax" if find_spec("jax") else "numba"
    if backend == "jax":
        import jax

        jax.config.update("jax_enable_x64", initial.dtype == np.float64)
    pde.config["backend.numba.multithreading"] = "always"
    grid = pde.CartesianGrid([[0, 1]] * 3, initial.shape)
    field = pde.ScalarField(grid, initial, dtype=initial.dtype)
    equation = pde.DiffusionPDE(diffusivity=diffusivity(len(initial)), bc={"value": 0})
    stepper = pde.EulerSolver(equation, backend=backend).make_stepper(field, dt=TIME_STEP)

    def advance(steps: int) -> None:
        stepper(field, 0.0, steps * TIME_STEP)

    return Sweeps(advance, lambda: field.data)
