"""The one problem that every peer solves, and its plain NumPy reference.

u_t = alpha lap u in the unit cube, n^3 cells of width h = 1/n, explicit Euler. With a time step of 1 s and
alpha = NUMBER h^2 the mesh Fourier number alpha dt / h^2 is NUMBER for every n, and m steps end at t = m.
With `compare_cpu.py --problem conductivity` the conductivity depends on the temperature, alpha (1 + SLOPE u): cells
exchange differences of its integral, the potential u + SLOPE u^2/2, which are those of u times the mean of alpha at the
two cells. NUMBER is smaller then, since alpha is larger.

The boundary is zero temperature in one of two forms, whichever is a peer's natural one:

- "ghost": the value in the layer outside the cells is 0;
- "face": the value on the face is 0, so the layer outside holds minus the cell next to it.

A peer is a module of this folder with NAME, DISTRIBUTION (for the version; None if it has none), BOUNDARY,
SETTINGS, `available() -> str | None` (the reason why not) and `prepare(initial) -> Sweeps`. It imports its
library only inside these functions. The number of threads is in the environment, set by compare_cpu.py.
"""

import os
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

SLOPE = 0.5 if os.environ.get("PEERS_PROBLEM") == "conductivity" else 0.0  # of the conductivity over temperature
NUMBER = 0.06 if SLOPE else 0.1  # stable: a corner cell with three "face" walls allows 1/9
TIME_STEP = 1.0  # s


class Sweeps(NamedTuple):
    """A peer ready to work.

    `advance(steps)` returns the seconds of its own time loop, or None to be timed from outside. `result()`
    returns the field, shape (n, n, n), after the first `advance`; a later one may go on or start again.
    """

    advance: Callable[[int], float | None]
    result: Callable[[], np.ndarray]


def missing(*modules: str) -> str | None:
    """Return why a peer that needs these modules cannot run, or None."""
    absent = [module for module in modules if find_spec(module) is None]
    return f"not installed: {', '.join(absent)}" if absent else None


def bind_openmp() -> None:
    """Give each OpenMP thread a core of its own; must come before the OpenMP runtime is loaded.

    Left free, two threads at times share a core, wait for each other there and lose most of their rate.
    """
    os.environ.update(OMP_PROC_BIND="close", OMP_PLACES="cores")


def diffusivity(n: int) -> float:
    """Return alpha in m2/s."""
    return NUMBER / (n * n * TIME_STEP)


def potential(u: Any) -> Any:
    """Return the integral of the conductivity over temperature, in that at 0; of numbers, arrays or symbols."""
    return u * (1 + 0.5 * SLOPE * u) if SLOPE else u


def initial_field(n: int, dtype: str) -> np.ndarray:
    """Return noise in [0, 1), shape (n, n, n): every wave number and no symmetry, so no mistake can hide."""
    return np.random.default_rng(1).random((n, n, n), dtype=np.float32).astype(dtype)


def reference(initial: np.ndarray, steps: int, boundary: str) -> np.ndarray:
    """Return the field after `steps` steps, computed in float64."""
    field = np.pad(initial.astype(np.float64), 1)
    inner = field[1:-1, 1:-1, 1:-1]
    for _ in range(steps):
        if boundary == "face":
            _mirror(field)
        drives = potential(field)
        if boundary == "face":
            _mirror(drives)
        neighbours = sum(np.roll(drives, shift, axis)[1:-1, 1:-1, 1:-1] for axis in range(3) for shift in (-1, 1))
        inner += NUMBER * (neighbours - 6 * drives[1:-1, 1:-1, 1:-1])
    return inner.copy()


def _mirror(field: np.ndarray) -> None:
    for axis in range(3):
        layers = np.moveaxis(field, axis, 0)
        layers[0], layers[-1] = -layers[1], -layers[-2]
