"""Explicit (forward) Euler: the new state from the rates at the old one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from heatsim.simulation.state import State

ORDER = 1


def advance(state: State, start: float, dt: float, first: int, count: int) -> None:
    """Advance the state by steps number `first` to `first + count - 1` of an interval that starts at `start` s.

    Times are start + n dt, not sums of dt, so that nothing drifts. `count` is at most `state.problem.batch`.
    """
    problem = state.problem
    varies = problem.walls.varies or problem.volume_sources.varies
    steps = first + np.arange(max(1, count if varies else 1))
    drive = problem.drive(start + dt * steps, dt)
    state.stepper.advance(dt, count, drive)
    for energy in problem.source_energy(drive, dt, count).tolist():  # one by one: the sum must not depend on batches
        state.source_energy += energy
    state.step += count
    state.time = start + dt * (first + count)
