"""The energy ledger of a run: where heat went, what it and the field show to be wrong, and what to do about it.

An energy that was lost is reported where the precision could have held it; and one that sources had and steps did not
see, as they evaluated an expression in t between its pulses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from heatsim.errors import EnergyLostError, ScenarioError

if TYPE_CHECKING:
    from heatsim.problem import Problem

MIN_RELATIVE_RESIDUAL = 2e-4  # of the energy moved, of explicit steps in float32
MIN_RELATIVE_RESIDUAL_IN_FLOAT64 = 1e-6  # of all others
MAX_RELATIVE_RESIDUAL = 0.5  # beyond, results are those of another problem: an error
MAX_ROUNDINGS = 8.0  # of all cells, as much of a residual as any field of the precision may have
TEMPERATURE_ROUNDINGS = 16.0  # of absolute temperatures in float64, which differences are taken of
MIN_MISSED_SHARE = 0.01  # of the energy of the sources
SAMPLE_COUNTS = (20_000, 31_415)  # at sources over a run: where these two differ, they know no better than the steps


@dataclass(frozen=True)
class EnergyBalance:
    """Where heat went since t = 0, in J; in a steady state where it goes, in W, with nothing stored.

    stored: rise of the energy in the solids; sources: released inside; faces, ambients: entered through each face, and
    from each ambient; residual = stored - sources - sum of faces and ambients, zero but for rounding; moved: what
    passed all of these, plus what the initial temperature differences held, the scale that the residual is to be judged
    by.
    """

    stored: float
    sources: float
    faces: dict[str, float]
    ambients: dict[str, float]
    moved: float

    @property
    def residual(self) -> float:
        """Energy that appeared from nowhere, J."""
        return self.stored - self.sources - sum(self.faces.values()) - sum(self.ambients.values())

    @property
    def relative_residual(self) -> float:
        """The residual over the energy moved; 0 if none was."""
        return self.residual / self.moved if self.moved > 0 else 0.0


def range_warnings(problem: Problem, reached: Mapping[int, float]) -> Iterator[str]:
    """A warning for each material that left the temperatures of its table or expression; reached: see
    `Field.out_of_range`."""
    if problem.tabulated is None:
        return
    scenario, reference = problem.scenario, problem.reference
    names, unit = list(scenario.materials), scenario.unit
    for number, offset in reached.items():
        low, high = problem.tabulated.documented[number]
        yield (
            f"materials.{names[number]}: {_shown(offset + reference)} {unit} was reached, and its properties are known "
            f"from {_shown(low + reference)} to {_shown(high + reference)} {unit}: beyond, "
            "they go on with the last values"
        )


def _shown(temperature: float) -> str:
    """A temperature, in which 0 degC is 0 and no rest of a difference."""
    return f"{round(temperature, 6) + 0.0:.6g}"


def energy_warnings(
    problem: Problem, energy: EnergyBalance, time: float, planes: Callable[[], Iterable[np.ndarray]]
) -> Iterator[str]:
    """The warnings about the energy of a run until a time, s, infinite in a steady state. planes: gives those of the
    temperature offsets, K."""
    if time > 0:
        yield from _lost_energy(problem, energy, time, planes)
    if np.isfinite(time) and time > 0:
        yield from _missed_pulses(problem, energy.sources, time)


def require_energy(
    problem: Problem, energy: EnergyBalance, time: float, planes: Callable[[], Iterable[np.ndarray]]
) -> None:
    """Raise `EnergyLostError` where most of the energy that moved is missing, or came from nowhere: as
    `energy_warnings`."""
    share = abs(energy.relative_residual)
    if time > 0 and not share <= MAX_RELATIVE_RESIDUAL and not _is_rounding(problem, energy, time, planes):
        cure = _cure(problem)
        raise EnergyLostError(energy.residual, energy.moved, "W" if np.isinf(time) else "J", cure)


def _lost_energy(
    problem: Problem, energy: EnergyBalance, time: float, planes: Callable[[], Iterable[np.ndarray]]
) -> Iterator[str]:
    """About a residual that is more than the rounding of the field."""
    share = abs(energy.relative_residual)
    in_float32 = problem.dtype == np.float32 and not problem.scenario.time.solves
    least = MIN_RELATIVE_RESIDUAL if in_float32 else MIN_RELATIVE_RESIDUAL_IN_FLOAT64
    if not least < share < np.inf or _is_rounding(problem, energy, time, planes):
        return
    lost = f"{share:.2g} of the energy moved was lost or came from nowhere"
    cure = _cure(problem)
    yield f"{lost}, {cure}" if cure else f"{lost}, so that temperatures are wrong"


def _is_rounding(
    problem: Problem, energy: EnergyBalance, time: float, planes: Callable[[], Iterable[np.ndarray]]
) -> bool:
    """Whether the precision explains a residual: that of all cells of a field in time; in a steady state that of what
    they exchange, W, which the stable step bounds."""
    hottest = float(np.max([np.abs(plane).max() for plane in planes()]))
    absolute = hottest + abs(problem.reference - problem.scenario.zero)
    in_float64 = TEMPERATURE_ROUNDINGS * float(np.finfo(float).eps) * absolute
    if np.isinf(time):
        limit = problem.stability_limit
        exchange = problem.whole_capacity / limit if limit > 0 else 0.0  # W/K
        return abs(energy.residual) <= MAX_ROUNDINGS * in_float64 * exchange
    unit = float(np.finfo(problem.dtype).eps) * hottest + in_float64  # K, the greatest last place
    return abs(energy.residual) <= MAX_ROUNDINGS * unit * problem.whole_capacity


def _cure(problem: Problem) -> str:
    """Why float32 loses energy and what helps; "" where that is not why."""
    if problem.scenario.time.solves or problem.dtype != np.float32:
        return ""
    cures = 'compute.precision = "float64"'
    cures += "" if problem.temperature_dependent else ' or time.integrator = "implicit"'
    return f"as steps change temperatures by too little for float32: take {cures}"


def _missed_pulses(problem: Problem, seen: float, time: float) -> Iterator[str]:
    """About sources that are expressions in t, where the energy that steps saw, J, is not the energy that they have."""
    try:
        samples = [problem.heat_released(time, count) for count in SAMPLE_COUNTS]
    except ScenarioError:  # of a time at which no step evaluated them
        return
    known = [sample for sample in samples if sample is not None]
    if not known:
        return
    energy, whole = known[0]
    unknown = abs(energy - known[1][0])
    if abs(seen - energy) > MIN_MISSED_SHARE * whole + 2.0 * unknown:
        yield (
            f"steps saw {seen:.4g} J of the sources, whose powers sum to {energy:.4g} J: they are too "
            "long for an expression in t; take a shorter time.step, or a trace, at whose times steps end"
        )
