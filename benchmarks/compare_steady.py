"""Steady heat conduction against SciPy and PyAMG: verified, then timed, each peer in a process of its own.

    python3 -m venv peers-venv && peers-venv/bin/pip install scipy pyamg
    python benchmarks/compare_steady.py --peers-python peers-venv/bin/python --n 128

A cube of n^3 cells with fixed temperature on all sides and a random source, uniform or of two materials (230 and
0.03 W/(m K), two halves), is solved to a relative residual of 1e-8. Every peer's answer is checked by a residual that
NumPy computes from the definition; one that misses 1.05e-8 is reported as FAILED. Times are the best of the rounds: of
setup (hierarchy) and solve, without assembly, imports and compilation.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

TOLERANCE = 1e-8
Arrays = tuple[list[np.ndarray], np.ndarray, np.ndarray]


def problem(n: int, contrast: bool) -> Arrays:
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


def heatsim(arrays: Arrays) -> tuple[Callable[[], object], Callable[[object], tuple[np.ndarray, int]]]:
    from heatsim_kernels.multigrid.operator import Operator
    from heatsim_kernels.multigrid.solver import Solver

    faces, s, b = arrays
    operator = Operator(*faces[::-1], s)

    def solve(solver: object) -> tuple[np.ndarray, int]:
        solution = solver.solve(b, tolerance=TOLERANCE)  # type: ignore[attr-defined]
        return solution.x, solution.iterations

    return lambda: Solver(operator), solve


def matrix(arrays: Arrays) -> object:
    import scipy.sparse as sparse

    faces, s, _ = arrays
    index = np.arange(s.size, dtype=np.int32).reshape(s.shape)
    diagonal, upper = s.copy(), []
    for axis, g in enumerate(faces):
        diagonal += g + np.roll(g, 1, axis)
        i, j, value = (a.reshape(-1) for a in (index, np.roll(index, -1, axis), -g))
        held = value != 0
        upper.append(sparse.coo_matrix((value[held], (i[held], j[held])), (s.size, s.size)).tocsr())
    half = upper[0] + upper[1] + upper[2]
    return (half + half.T + sparse.diags(diagonal.reshape(-1))).tocsr()


def counted(a: object, b: np.ndarray, m: object) -> tuple[np.ndarray, int]:
    """SciPy's conjugate gradients, and the iterations."""
    from scipy.sparse.linalg import cg

    count = [0]

    def tick(_: np.ndarray) -> None:
        count[0] += 1

    x, _ = cg(a, b.reshape(-1), rtol=TOLERANCE, atol=0.0, maxiter=20000, M=m, callback=tick)
    return x.reshape(b.shape), count[0]


def scipy_cg(arrays: Arrays) -> tuple[Callable[[], object], Callable[[object], tuple[np.ndarray, int]]]:
    """Plain conjugate gradients, preconditioned by the diagonal."""
    import scipy.sparse as sparse

    a = matrix(arrays)
    return lambda: sparse.diags(1 / a.diagonal()), lambda m: counted(a, arrays[2], m)  # type: ignore[attr-defined]


def pyamg(arrays: Arrays) -> tuple[Callable[[], object], Callable[[object], tuple[np.ndarray, int]]]:
    """Conjugate gradients with PyAMG's smoothed aggregation."""
    from pyamg import smoothed_aggregation_solver

    a = matrix(arrays)

    def solve(hierarchy: object) -> tuple[np.ndarray, int]:
        return counted(a, arrays[2], hierarchy.aspreconditioner())  # type: ignore[attr-defined]

    return lambda: smoothed_aggregation_solver(a), solve


PEERS = {"heatsim": heatsim, "pyamg": pyamg, "scipy": scipy_cg}


def work(peer: str, n: int, contrast: bool, rounds: int) -> dict[str, float]:
    """Verify and time one peer in this process."""
    small = problem(24, contrast)
    setup, solve = PEERS[peer](small)
    solve(setup())  # compiles
    arrays = problem(n, contrast)
    setup, solve = PEERS[peer](arrays)
    times = []
    for _ in range(rounds):
        begun = time.perf_counter()
        ready = setup()
        built = time.perf_counter()
        x, iterations = solve(ready)
        times.append((built - begun, time.perf_counter() - built))
    best = min(times, key=sum)
    return {"setup": best[0], "solve": best[1], "iterations": iterations, "residual": residual(arrays, x)}


def row(peer: str, outcome: dict[str, float]) -> str:
    verdict = "" if outcome["residual"] <= 1.05 * TOLERANCE else "  FAILED"
    return (
        f"{peer:8} {outcome['setup']:8.2f} {outcome['solve']:8.2f} {outcome['setup'] + outcome['solve']:8.2f} "
        f"{outcome['iterations']:6} {outcome['residual']:10.2e}{verdict}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=96, help="cells along each axis")
    parser.add_argument("--contrast", action="store_true", help="230 beside 0.03 W/(m K)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--peers", default=",".join(PEERS), help="comma-separated")
    parser.add_argument("--peers-python", default=sys.executable, help="the Python that has pyamg and scipy")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        print(json.dumps(work(options.worker, options.n, options.contrast, options.rounds)))
        return 0
    names = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    environment = os.environ | dict.fromkeys(names, str(options.threads))
    kind = "contrast" if options.contrast else "uniform"
    print(f"{options.n}^3, {kind}, {options.threads} threads, load before {os.getloadavg()[0]:.1f}")
    print("peer        setup    solve    total   its.   residual")
    failed = False
    for peer in options.peers.split(","):
        python = sys.executable if peer == "heatsim" else options.peers_python
        command = [python, __file__, "--worker", peer, "--n", str(options.n), "--rounds", str(options.rounds)]
        command += ["--contrast"] * options.contrast
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"{peer:8} skipped: {done.stderr.strip().splitlines()[-1]}")
            continue
        outcome = json.loads(done.stdout.splitlines()[-1])
        failed = failed or outcome["residual"] > 1.05 * TOLERANCE
        print(row(peer, outcome), flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
