"""On the CUDA simulator: the launches that `heatsim bench convolution` times solve the problems that it names.

Prints "equal", or what differs. Started by a test, with NUMBA_ENABLE_CUDASIM=1.
"""

from __future__ import annotations

import convolution_theory as theory
import numpy as np

from heatsim.studies.bench.convolution import cuda_launches, kernels, problems
from heatsim.studies.bench.convolution.problems import ConvolutionProblem, data

PROBLEMS = (
    ConvolutionProblem(problems.PLANES, (6, 9), "float32", (3, 5)),
    ConvolutionProblem(problems.LINES, (5, 7), "float32", (5,), 1),
    ConvolutionProblem(problems.LINES, (5, 7), "float32", (5,), 0),
    ConvolutionProblem(problems.SEPARABLE, (4, 6), "float32", (3,)),
    ConvolutionProblem(problems.BANKS, (1, 1, 4, 5), "float32", (3, 3), edge="zero", filters=3),
    ConvolutionProblem(problems.RELU, (3, 5), "float32"),
    ConvolutionProblem(problems.POOL, (4, 7), "float32", (2, 2)),
)
QUICK = ("basic", "register", "direct", "relu", "pool")  # no barriers, which the simulator is slow at


def timed_result(kernel: str, problem: ConvolutionProblem) -> np.ndarray:
    """What the launches leave behind, without what lies between rows."""
    field, weights = data(problem)
    ready = cuda_launches.prepare_launches(kernel, problem, cuda_launches.put_on_gpu(problem, field), weights)
    ready.work(2)
    rows = ready.target.host().reshape(*problem.output[:-1], -1)
    return rows[..., : problem.output[-1]]


def main() -> None:
    assert {problem.family for problem in PROBLEMS} == set(problems.FAMILIES)
    for problem in PROBLEMS:
        expected = kernels.solve("auto", "cpu", problem, *data(problem))
        for kernel in kernels.kernel_names("cuda", problem.family):
            assert kernels.accepts(kernel, "cuda", problem)
            assert problem.operations == 0 or theory.theory_row(kernel, "cuda", problem)["intensity_asked"] > 0
            if kernel in QUICK:
                found = timed_result(kernel, problem)
                assert found.tobytes() == expected.tobytes(), (kernel, problem, found, expected)
    print("equal")


if __name__ == "__main__":
    main()
