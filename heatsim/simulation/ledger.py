"""What the energy balance of a run shows to be wrong, and what to do about it.

An energy that was lost is told where the precision could have held it; and one that sources had and steps did not see,
as they looked at an expression in t between its pulses.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from heatsim.errors import ScenarioError

if TYPE_CHECKING:
    from heatsim.simulation.state import State

MIN_RELATIVE_RESIDUAL = 2e-4  # of the energy moved
MAX_ROUNDINGS = 8.0  # of all cells, as much of a residual as any field of the precision may have
MIN_MISSED_SHARE = 0.01  # of the energy of the sources
SAMPLE_COUNTS = (20_000, 31_415)  # at sources over a run: where these two differ, they know no better than the steps


def energy_warnings(state: State) -> Iterator[str]:
    """What to say of the energy of a run so far; nothing of a steady state."""
    if np.isfinite(state.time) and state.time > 0:
        yield from _check_lost_energy(state)
        yield from _check_missed_pulses(state)


def _check_lost_energy(state: State) -> Iterator[str]:
    """Of a residual that is not the rounding of the field."""
    problem, share = state.problem, abs(state.energy.relative_residual)
    if not MIN_RELATIVE_RESIDUAL < share < np.inf:
        return
    unit = float(np.finfo(problem.dtype).eps) * float(np.abs(state.sweep.field()).max())  # K, the greatest last place
    if abs(state.energy.residual) <= MAX_ROUNDINGS * unit * problem.whole_capacity:
        return
    lost = f"{share:.2g} of the energy moved was lost or came from nowhere"
    if problem.scenario.time.solves or problem.dtype != np.float32:
        yield f"{lost}, so that temperatures are wrong"
        return
    cures = 'compute.precision = "float64"'
    cures += "" if problem.temperature_dependent else ' or time.integrator = "implicit"'
    yield f"{lost}, as steps change temperatures by too little for float32: take {cures}"


def _check_missed_pulses(state: State) -> Iterator[str]:
    """Of sources that are expressions in t, of which steps saw another energy than they have."""
    try:
        looks = [state.problem.heat_released(state.time, looks) for looks in SAMPLE_COUNTS]
    except ScenarioError:  # of a time at which no step looked
        return
    known = [look for look in looks if look is not None]
    if not known:
        return
    energy, whole = known[0]
    unknown = abs(energy - known[1][0])
    if abs(state.source_energy - energy) > MIN_MISSED_SHARE * whole + 2.0 * unknown:
        yield (
            f"steps saw {state.source_energy:.4g} J of the sources, whose powers sum to {energy:.4g} J: they are too "
            "long for an expression in t; take a shorter time.step, or a trace, at whose times steps end"
        )
