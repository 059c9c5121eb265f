"""Explicit steps are taken in batches, between which a run looks at the clock and at signals."""

from __future__ import annotations

from itertools import pairwise

import pytest
from integrator_cases import case, state_of

from heatsim.solve.integrators import euler


def test_a_batch_has_the_steps_of_a_pass_over_memory_however_long_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else large grids, a step of which takes longer than a run may be silent, would be swept for each step anew."""
    monkeypatch.setattr(euler, "RESPONSE_SECONDS", 1e-9)
    state = state_of(case([64, 64, 64], 0.001, initial="x"), integrator="euler", kernel="cpu")
    taken = [0]
    for _ in euler.ExplicitSteps(state).advance(0.001):
        taken.append(int(state.step))
    batches = [after - before for before, after in pairwise(taken)]
    assert state.stepper.fused_steps > 1
    assert set(batches[1:-1]) == {state.stepper.fused_steps}
