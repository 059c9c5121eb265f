"""On the CUDA simulator: the launches that `heatsim bench convolution` times solve the problems that it names.

Prints "equal", or what differs. Started by a test, with NUMBA_ENABLE_CUDASIM=1.
"""

from __future__ import annotations

import numpy as np

from heatsim.bench.convolution import ahead, ours, ours_on_cuda, theory
from heatsim.bench.convolution.problems import BANKS, FAMILIES, LINES, PLANES, POOL, RELU, SEPARABLE, Problem, data

PROBLEMS = (
    Problem(PLANES, (6, 9), "float32", (3, 5)),
    Problem(LINES, (5, 7), "float32", (5,), 1),
    Problem(LINES, (5, 7), "float32", (5,), 0),
    Problem(SEPARABLE, (4, 6), "float32", (3,)),
    Problem(BANKS, (1, 1, 4, 5), "float32", (3, 3), edge="zero", filters=3),
    Problem(RELU, (3, 5), "float32"),
    Problem(POOL, (4, 7), "float32", (2, 2)),
)
QUICK = ("basic", "register", "direct", "relu", "pool")  # no barriers, which the simulator is slow at


def timed_result(kernel: str, problem: Problem) -> np.ndarray:
    """What the launches leave behind, without what lies between rows."""
    field, weights = data(problem)
    ready = ours_on_cuda.ready(kernel, problem, ours_on_cuda.on_gpu(problem, field), weights)
    ready.work(2)
    rows = ready.target.host().reshape(*problem.output[:-1], -1)
    return rows[..., : problem.output[-1]]


def main() -> None:
    assert {problem.family for problem in PROBLEMS} == set(FAMILIES)
    for problem in PROBLEMS:
        expected = ours.result("auto", "cpu", problem, *data(problem))
        for kernel in ours.kernels("cuda", problem.family):
            assert ours.takes(kernel, "cuda", problem)
            assert problem.operations == 0 or theory.row(kernel, "cuda", problem)["intensity_asked"] > 0
            if kernel in QUICK:
                found = timed_result(kernel, problem)
                assert found.tobytes() == expected.tobytes(), (kernel, problem, found, expected)
    assert ahead.ready("relu", RELU, ("float32",), ((3, 3),)) == 2
    print("equal")


if __name__ == "__main__":
    main()
