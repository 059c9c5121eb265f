"""Sources whose growth with temperature ends where a table or a `min` does, at temperatures that are reached.

A leakage power that grows with temperature up to the last row of its table, and goes on with that, has a steady state
beyond it whatever the true one does: a runaway looks like a hot body.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from heatsim.problem.shapes.point_values import evaluate

if TYPE_CHECKING:
    from heatsim.problem.problem import Problem

SAMPLES = 257  # of the temperatures between the coldest input and the hottest cell
LEAST_GROWTH = 0.01  # of the power, below the bend: what grows less decides nothing
LARGEST_JUMP = 0.2  # of the power, at the bend: what jumps is switched


def clamped_sources(problem: Problem, T: np.ndarray) -> Iterator[str]:
    """A warning for each source whose power at its hottest cell no longer changes with temperature and grew below it;
    T: (nz, ny, nx) in the scenario's unit, of a steady state."""
    following, unit = problem.temperature_sources, problem.scenario.unit
    if following is None:
        return
    low = min(float(T.min()), *problem.initial.range())
    for part in following.parts:
        if part.in_proportion or not part.mask.any():
            continue
        hottest = float(np.where(part.mask, T, -np.inf).max())
        place = np.unravel_index(int(np.argmax(np.where(part.mask, T, -np.inf))), T.shape)
        point = {axis: problem.grid.centres(axis)[i] for axis, i in zip("zyx", place, strict=True)}
        at = np.append(np.linspace(low, hottest, SAMPLES), hottest + 0.01 * (hottest - low))
        power = evaluate(part.density, at.shape, **point, t=0.0, T=at)
        last = power[-1]
        below = np.flatnonzero(power != last)
        if not (last > 0 and below.size and below[-1] < SAMPLES - 2 and hottest > low):
            continue
        bend = int(below[-1])
        grows = power[0] < (1.0 - LEAST_GROWTH) * last and power[bend] >= (1.0 - LARGEST_JUMP) * last
        if grows and (np.diff(power[: bend + 2]) >= 0.0).all():
            yield (
                f"a source grows with temperature up to {at[bend + 1]:.4g} {unit} and no further "
                f"({part.density.text}), "
                f"and {hottest:.6g} {unit} was reached: if a table or its clamp ends there, there may be no steady "
                "state"
            )
