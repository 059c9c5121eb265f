"""Rosenthal's moving point source."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from heatsim.output.pictures.curve import ComparisonPanel, Curve
from heatsim.studies.verification.exact.steady import rosenthal
from heatsim.studies.verification.finished import FinishedRun
from heatsim.studies.verification.judgement import Judgement, ValueCheck, VerificationProblem
from heatsim.studies.verification.refinement import grids

POWER, SPEED, CONDUCTIVITY, DIFFUSIVITY = 100.0, 0.01, 30.0, 30.0 / (7500.0 * 500.0)
SPOT = (0.024, 0.006)  # x, y where the beam is at the end, m
POINTS = ((-0.002, 0.0), (-0.003, 0.0), (-0.004, 0.0), (0.0, 0.0015), (0.0, 0.002))  # ahead, aside, m


def surface_at(run: FinishedRun, ahead: float, aside: float) -> float:
    """Temperature on top at a place relative to the source; the top is insulated but for the beam: no slope there."""
    x, y = run.grid.centres("x"), run.grid.centres("y")
    first, second = (_between(run.temperature[level], x, y, SPOT[0] + ahead, SPOT[1] + aside) for level in (-1, -2))
    return (9.0 * first - second) / 8.0


def _between(plane: np.ndarray, x: np.ndarray, y: np.ndarray, at_x: float, at_y: float) -> float:
    """Cubic interpolation in a plane (ny, nx): where temperature falls so fast, a straight line is 1 % too high."""
    return float(_cubic(y, at_y) @ plane @ _cubic(x, at_x))


def _cubic(places: np.ndarray, at: float) -> np.ndarray:
    """Weights (n,) of values at `places`: Lagrange's, of the four around `at`."""
    first = int(np.clip(np.searchsorted(places, at) - 2, 0, len(places) - 4))
    near = places[first : first + 4]
    weights = np.zeros(len(places))
    for number, place in enumerate(near):
        others = np.delete(near, number)
        weights[first + number] = np.prod((at - others) / (place - others))
    return weights


def judge(runs: Sequence[FinishedRun]) -> Judgement:
    """Within 3 % at points some radii away: spot and cells are no point, and the block is no half-space."""
    run = runs[-1]
    checks = []
    for ahead, aside in POINTS:
        target = float(rosenthal(np.array(ahead), np.array(aside), POWER, SPEED, CONDUCTIVITY, DIFFUSIVITY))
        where = f"T {-ahead * 1e3:g} mm behind" if ahead else f"T {aside * 1e3:g} mm beside"
        checks.append(ValueCheck(where, target, surface_at(run, ahead, aside), 0.03 * target, "K"))
    behind = np.linspace(-0.008, -0.001, 60)
    expected = rosenthal(behind, np.zeros(60), POWER, SPEED, CONDUCTIVITY, DIFFUSIVITY)
    found = np.array([surface_at(run, place, 0.0) for place in behind])
    curves = [Curve("Rosenthal", behind, expected), Curve("heatsim", behind, found, line=False)]
    return Judgement(checks, [ComparisonPanel("distance ahead of the source (m)", "rise (K)", curves)])


PROBLEMS = (VerificationProblem("rosenthal", "Rosenthal, Trans. ASME 68 (1946) 849", judge, grids(2), quick=False),)
