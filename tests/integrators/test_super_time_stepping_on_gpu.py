"""Super steps on a GPU: those of the CPU, to the bit, since estimates of errors and so all steps are."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from integrator_cases import ORDER_PROBLEMS, VARIED_PROBLEMS, exact, field, run, state_of

from heatsim.solve.integrators import rkl2
from heatsim.solve.integrators.rkl2 import Rkl2

pytestmark = pytest.mark.gpu
PROBLEMS = ("a wall that swings", "a source in an insulated body", "contrast in three dimensions", "periods")


@pytest.mark.parametrize("kernel", ["basic", "temporal"])
def test_a_gpu_takes_the_super_steps_of_the_cpu(kernel: str) -> None:
    for name, precision in product(PROBLEMS, ("float32", "float64")):
        text = VARIED_PROBLEMS[name].replace("float64", precision)
        cpu, gpu = (run(text, integrator="rkl2", kernel=each) for each in ("cpu", kernel))
        assert gpu.solver_statistics == cpu.solver_statistics, (name, precision)
        assert field(gpu).tobytes() == field(cpu).tobytes(), (name, precision)
        assert abs(gpu.energy.relative_residual) < (1e-11 if precision == "float64" else 1e-4), (name, precision)


def test_the_error_falls_with_second_order_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rkl2, "stages_for", lambda steps: 7)
    for text in ORDER_PROBLEMS.values():
        check_second_order(text)


def check_second_order(text: str) -> None:
    errors = []
    for count in (64, 128):
        state = state_of(text, integrator="rkl2", kernel="temporal")
        integrator, end = Rkl2(state, 1e-3), state.problem.scenario.time.end
        for number in range(1, count + 1):
            integrator.advance(end / count, end * number / count)
        errors.append(np.abs(field(state) - exact(text)).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)
