"""Steady heat conduction against SciPy and PyAMG: verified, then timed, each peer in a process of its own.

    python3 -m venv peers-venv && peers-venv/bin/pip install scipy pyamg
    python benchmarks/compare_steady.py --peers-python peers-venv/bin/python --n 256

A cube of n^3 cells with fixed temperature on all sides and a random source, uniform or of two materials (230 and
0.03 W/(m K), two halves), is solved to a relative residual of 1e-8: by heatsim, by SciPy's conjugate gradients with
PyAMG's smoothed aggregation, and by SciPy's with the diagonal as preconditioner. Every answer is checked by a residual
that NumPy computes from the definition; one that misses 1.05e-8 is reported as FAILED. No ratio is printed of rounds
that are shorter than a second or spread by more than a third. Times are those of the best
round, of setup (hierarchy) and solve, without assembly, imports and compilation; a slow peer has fewer rounds.

sweeps/digit: passes over the conductances of the finest grid, for a residual ten times smaller; coarse grids are not
counted. memory: the most that the process held, matrices included; not that of the GPU, on which heatsim solves as
`heatsim_gpu`.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from math import log10
from pathlib import Path
from typing import Any

import numpy as np

TOLERANCE = 1e-8
PEERS_PYTHON = "peers-venv/bin/python" if Path("peers-venv/bin/python").exists() else sys.executable
SECONDS = 60.0  # a peer that has taken longer starts no further round
KINDS = ("uniform", "contrast")
Arrays = tuple[list[np.ndarray], np.ndarray, np.ndarray]
Solved = tuple[np.ndarray, int, int]  # x, iterations, passes over the conductances of the finest grid
Steps = tuple[Callable[[], object], Callable[[object], Solved]]  # setup, and a solve with what it gives


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


def heatsim(arrays: Arrays) -> Steps:
    from heatsim_kernels.multigrid.operator import Operator
    from heatsim_kernels.multigrid.solver import Solver

    faces, s, b = arrays
    operator = Operator(*faces[::-1], s)

    def solve(solver: object) -> Solved:
        solution = solver.solve(b, tolerance=TOLERANCE)  # type: ignore[attr-defined]
        return solution.x, solution.iterations, solution.sweeps

    return lambda: Solver(operator), solve


def heatsim_gpu(arrays: Arrays) -> Steps:
    """On the GPU, from the right-hand side there to the solution on the host."""
    from heatsim_kernels.multigrid.cuda import operations
    from heatsim_kernels.multigrid.operator import Operator
    from heatsim_kernels.multigrid.solver import Solver

    faces, s, b = arrays
    operator, given = Operator(*faces[::-1], s), operations.put(b)

    def solve(solver: object) -> Solved:
        solution = solver.solve(given, tolerance=TOLERANCE)  # type: ignore[attr-defined]
        return operations.get(solution.x), solution.iterations, solution.sweeps

    def setup() -> object:
        solver = Solver(operator, operations)
        operations.dot(given, given)  # waits for the GPU
        return solver

    return setup, solve


def matrix(arrays: Arrays) -> object:
    """A in rows, straight from its seven diagonals."""
    import scipy.sparse as sparse

    faces, s, _ = arrays
    strides = [s.shape[1] * s.shape[2], s.shape[2], 1]
    diagonals, offsets = [s.reshape(-1).copy()], [0]
    for g, stride in zip(faces, strides, strict=True):
        flat = g.reshape(-1)  # 0 at the last cell of each line
        diagonals[0] += flat
        diagonals[0][stride:] += flat[:-stride]
        diagonals += [-flat[:-stride], -flat[:-stride]]
        offsets += [stride, -stride]
    a = sparse.diags(diagonals, offsets, format="csr")
    a.eliminate_zeros()
    return a


def counted(a: object, b: np.ndarray, m: object, passes: int) -> Solved:
    """SciPy's conjugate gradients, with the iterations and so many passes in each."""
    from scipy.sparse.linalg import cg

    count = [0]

    def tick(_: np.ndarray) -> None:
        count[0] += 1

    x, _ = cg(a, b.reshape(-1), rtol=TOLERANCE, atol=0.0, maxiter=20000, M=m, callback=tick)
    return x.reshape(b.shape), count[0], passes * count[0]


def scipy_cg(arrays: Arrays) -> Steps:
    """Conjugate gradients, preconditioned by the diagonal."""
    import scipy.sparse as sparse

    a = matrix(arrays)
    return lambda: sparse.diags(1 / a.diagonal()), lambda m: counted(a, arrays[2], m, 1)  # type: ignore[attr-defined]


def pyamg(arrays: Arrays) -> Steps:
    """Conjugate gradients with PyAMG's smoothed aggregation; its cycle passes over the matrix four times to relax, as
    symmetric Gauss-Seidel goes to and fro, and once for the residual."""
    from pyamg import smoothed_aggregation_solver

    a = matrix(arrays)

    def solve(hierarchy: object) -> Solved:
        return counted(a, arrays[2], hierarchy.aspreconditioner(), 6)  # type: ignore[attr-defined]

    return lambda: smoothed_aggregation_solver(a), solve


PEERS = {"heatsim": heatsim, "heatsim_gpu": heatsim_gpu, "pyamg": pyamg, "scipy": scipy_cg}


def work(peer: str, n: int, kind: str, rounds: int) -> dict[str, Any]:
    """Verify and time one peer in this process."""
    setup, solve = PEERS[peer](problem(24, kind == "contrast"))
    solve(setup())  # compiles
    arrays = problem(n, kind == "contrast")
    setup, solve = PEERS[peer](arrays)
    times: list[tuple[float, float]] = []
    while len(times) < rounds and sum(map(sum, times)) < SECONDS:
        ready = None  # the one before makes room
        begun = time.perf_counter()
        ready = setup()
        built = time.perf_counter()
        x, iterations, sweeps = solve(ready)
        times.append((built - begun, time.perf_counter() - built))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20  # GiB; Linux counts in KiB
    best, left = min(times, key=sum), residual(arrays, x)
    outcome = {"setup": best[0], "solve": best[1], "iterations": iterations, "residual": left, "memory": memory}
    outcome["rounds"] = [sum(each) for each in times]
    return outcome | {"sweeps_a_digit": sweeps / -log10(left)}


def row(peer: str, outcome: dict[str, Any], ours: dict[str, Any] | None) -> str:
    from heatsim.bench.rounds import doubt  # which the Python of the peers has not

    total = outcome["setup"] + outcome["solve"]
    why = "heatsim was not timed" if ours is None else doubt(outcome["rounds"]) or doubt(ours["rounds"])
    ratio = "-" if ours is None or why else f"{total / (ours['setup'] + ours['solve']):.1f}"
    verdict = "" if outcome["residual"] <= 1.05 * TOLERANCE else "  FAILED"
    return (
        f"{peer:12} {outcome['setup']:8.2f} {outcome['solve']:8.2f} {total:8.2f} {ratio:>8} "
        f"{outcome['iterations']:6} {outcome['sweeps_a_digit']:12.1f} {outcome['residual']:10.2e} "
        f"{outcome['memory']:8.1f}{verdict}{f'  no ratio: {why}' if why else ''}"
    )


def outcomes(kind: str, options: argparse.Namespace) -> Iterator[tuple[str, dict[str, Any]]]:
    """Of each peer that runs."""
    names = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    environment = os.environ | dict.fromkeys(names, str(options.threads))
    for peer in options.peers.split(","):
        python = sys.executable if peer.startswith("heatsim") else options.peers_python
        command = [python, __file__, "--worker", peer, "--n", str(options.n), "--rounds", str(options.rounds)]
        command += ["--kinds", kind]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            said = done.stderr.strip().splitlines() or [f"ended by {done.returncode}, perhaps for want of memory"]
            print(f"{peer:12} skipped: {said[-1]}")
            continue
        yield peer, json.loads(done.stdout.splitlines()[-1])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=96, help="cells along each axis")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=2, help="at most; none begins after a minute")
    parser.add_argument("--peers", default=",".join(PEERS), help="comma-separated")
    parser.add_argument("--peers-python", default=PEERS_PYTHON, help="the Python that has pyamg and scipy")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        print(json.dumps(work(options.worker, options.n, options.kinds[0], options.rounds)))
        return 0
    failed = False
    for kind in options.kinds:
        print(f"\n{options.n}^3, {kind}, {options.threads} threads, load before {os.getloadavg()[0]:.1f}; s and GiB")
        print("peer            setup    solve    total  /heatsim  its. sweeps/digit   residual   memory")
        ours = None
        for peer, outcome in outcomes(kind, options):
            ours = outcome if peer == "heatsim" else ours
            failed = failed or outcome["residual"] > 1.05 * TOLERANCE
            print(row(peer, outcome, ours), flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
