"""Steady heat conduction in a cube by heatsim, PyAMG and SciPy, each in a process of its own.

A cube of n^3 cells with fixed temperature on all sides and a random source, uniform or of two materials (230 and
0.03 W/(m K), two halves), is solved to a relative residual of 1e-8.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from math import log10
from typing import Any

import numpy as np

TOLERANCE = 1e-8
Arrays = tuple[list[np.ndarray], np.ndarray, np.ndarray]
Solved = tuple[np.ndarray, int, int]  # x, iterations, passes over the conductances of the finest grid
Phases = tuple[Callable[[], Any], Callable[[Any], Solved]]  # setup, and a solve with what it gives


def problem_of(n: int, contrast: bool) -> Arrays:
    """Face conductances along z, y, x (that of the last cell is 0), conductance to the walls, and heat input."""
    k = np.full((n, n, n), 230.0)
    if contrast:
        k[:, :, n // 2 :] = 0.03
    s, faces = np.zeros(k.shape), []
    for axis in range(3):
        beside = np.roll(k, -1, axis)
        g = 2 * k * beside / (k + beside)
        g.swapaxes(0, axis)[-1] = 0
        faces.append(g)
        for end in (0, -1):
            s.swapaxes(0, axis)[end] += 2 * k.swapaxes(0, axis)[end]
    return faces, s, np.random.default_rng(0).uniform(0, 1, k.shape)


def residual(arrays: Arrays, x: np.ndarray) -> float:
    """|b - A x| / |b| from the definition of A."""
    faces, s, b = arrays
    out = b - s * x
    for axis, g in enumerate(faces):
        flow = g * (np.roll(x, -1, axis) - x)
        out += flow - np.roll(flow, 1, axis)
    return float(np.linalg.norm(out) / np.linalg.norm(b))


def heatsim(arrays: Arrays, gpu: bool = False) -> Phases:
    """On the CPU, or on the GPU: from the right-hand side there to the solution on the host."""
    from heatsim_kernels.solver.operator import Operator
    from heatsim_kernels.solver.solver import Solver

    faces, s, b = arrays
    operator, more, given, host = Operator(*faces[::-1], s), (), b, np.asarray
    if gpu:
        from heatsim_kernels.device.cuda.api import cuda
        from heatsim_kernels.solver.cuda import operations

        if not cuda.is_available():
            raise ImportError("no GPU is found")

        more, given, host = (operations,), operations.put(b), operations.get

    def setup() -> Solver:
        solver = Solver(operator, *more)
        if gpu:
            operations.dot(given, given)  # waits for the GPU
        return solver

    def solve(solver: Solver) -> Solved:
        solution = solver.solve(given, tolerance=TOLERANCE)
        return host(solution.x), solution.iterations, solution.sweeps

    return setup, solve


def matrix(arrays: Arrays) -> Any:
    """A in rows, straight from its seven diagonals."""
    import scipy.sparse as sparse

    faces, s, _ = arrays
    diagonals, offsets = [s.reshape(-1).copy()], [0]
    for g, stride in zip(faces, (s.shape[1] * s.shape[2], s.shape[2], 1), strict=True):
        flat = g.reshape(-1)  # 0 at the last cell of each line
        diagonals[0] += flat
        diagonals[0][stride:] += flat[:-stride]
        diagonals += [-flat[:-stride], -flat[:-stride]]
        offsets += [stride, -stride]
    a = sparse.diags(diagonals, offsets, format="csr")
    a.eliminate_zeros()
    return a


def counted(a: Any, b: np.ndarray, m: Any, passes: int) -> Solved:
    """SciPy's conjugate gradients, with the iterations and so many passes in each."""
    from scipy.sparse.linalg import cg

    count = [0]

    def tick(_: np.ndarray) -> None:
        count[0] += 1

    x, _ = cg(a, b.reshape(-1), rtol=TOLERANCE, atol=0.0, maxiter=20000, M=m, callback=tick)
    return x.reshape(b.shape), count[0], passes * count[0]


def scipy(arrays: Arrays) -> Phases:
    """Conjugate gradients, preconditioned by the diagonal."""
    import scipy.sparse as sparse

    a = matrix(arrays)
    return lambda: sparse.diags(1 / a.diagonal()), lambda m: counted(a, arrays[2], m, 1)


def pyamg(arrays: Arrays) -> Phases:
    """Conjugate gradients with PyAMG's smoothed aggregation; its cycle passes over the matrix four times to relax, as
    symmetric Gauss-Seidel goes to and fro, and once for the residual."""
    from pyamg import smoothed_aggregation_solver

    a = matrix(arrays)
    return lambda: smoothed_aggregation_solver(a), lambda m: counted(a, arrays[2], m.aspreconditioner(), 6)


PHASES = {"heatsim": heatsim, "heatsim_gpu": lambda arrays: heatsim(arrays, gpu=True), "pyamg": pyamg, "scipy": scipy}


class SteadyPeer:
    """A solver; it holds its problem between rounds, and no hierarchy."""

    def __init__(self, name: str) -> None:
        self.name, self.phases, self.best = name, PHASES[name], (float("inf"), 0.0)

    def verify(self, n: int, kind: str) -> str:
        """What is wrong with its solution of a small cube; the large one is then held ready."""
        small = problem_of(24, kind == "contrast")
        setup, solve = self.phases(small)
        left = residual(small, solve(setup())[0])
        self.arrays = problem_of(n, kind == "contrast")
        self.setup, self.solve = self.phases(self.arrays)
        if self.name.startswith("heatsim"):
            self.solve(self.setup())  # compiles: a large grid has kernels that a small one has not
        return "" if left <= 1.05 * TOLERANCE else f"a residual of {left:.2e}"

    def run(self, repetitions: int) -> float:
        """Seconds of setup and solve, without assembly."""
        begun = time.perf_counter()
        ready = self.setup()
        built = time.perf_counter()
        self.x, self.iterations, self.sweeps = self.solve(ready)
        ended = time.perf_counter()
        self.best = min(self.best, (built - begun, ended - built), key=sum)
        return ended - begun

    def found(self) -> dict[str, Any]:
        """What the table says beside: of the fastest round, and memory in GiB (Linux counts in KiB)."""
        left = residual(self.arrays, self.x)
        found = {"setup": self.best[0], "solve": self.best[1], "iterations": self.iterations, "residual": left}
        found["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        found["sweeps_a_digit"] = self.sweeps / -log10(left)
        return found | ({} if left <= 1.05 * TOLERANCE else {"failed": f"a residual of {left:.2e}"})


make_peer = SteadyPeer
