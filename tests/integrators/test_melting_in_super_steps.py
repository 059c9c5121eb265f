"""The two-phase Stefan problem in super steps: as Euler has it, in fewer sweeps, with all its heat."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from integrator_cases import run

from heatsim.solve.state import State
from heatsim.studies.verification.problems import WATER

TEXT = Path("scenarios/verify/stefan.toml").read_text().replace("cells = [60, 1, 1]", "cells = [240, 1, 1]")
CELL = 0.12 / 240


@pytest.fixture(scope="module")
def by_euler() -> State:
    return run(TEXT, kernel="cpu", integrator="euler")


def front(state: State) -> float:
    """Where the temperature passes the melting point, m, from the two cells around it."""
    T = state.temperature()[0, 0]
    above = int(np.argmax(WATER.melting < T))
    share = (WATER.melting - T[above - 1]) / (T[above] - T[above - 1])
    return float((above - 0.5 + share) * CELL)


@pytest.mark.parametrize(("tolerance", "sweeps", "error"), [(1e-2, 1 / 5, 1.5e-2), (1e-3, 2 / 5, 3e-3)])
def test_a_front_moves_as_by_euler_in_fewer_sweeps(
    tolerance: float, sweeps: float, error: float, by_euler: State
) -> None:
    state = run(TEXT, kernel="cpu", integrator="rkl2", tolerance=tolerance)
    assert state.solver_statistics.stages < sweeps * by_euler.step
    assert front(state) == pytest.approx(front(by_euler), rel=2e-3)
    T = state.temperature()
    assert -10.0 - 1e-9 <= T.min() <= T.max() <= 5.0 + 1e-9
    assert np.abs(T - by_euler.temperature()).max() < error * 15.0
    assert abs(state.energy.relative_residual) < 1e-9
