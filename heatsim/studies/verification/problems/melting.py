"""The two-phase Stefan problem."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from heatsim.output.pictures.curve import ComparisonPanel, Curve
from heatsim.studies.verification.exact import CARSLAW_JAEGER
from heatsim.studies.verification.exact.transient import MaterialPhase, Solidification
from heatsim.studies.verification.finished import FinishedRun
from heatsim.studies.verification.judgement import Judgement, ValueCheck, VerificationProblem
from heatsim.studies.verification.order import rms_over_volume
from heatsim.studies.verification.refinement import grids

WATER = Solidification(MaterialPhase(2.2, 2.0e6), MaterialPhase(0.6, 4.2e6), -10.0, 0.0, 5.0, 3.34e8)


def front(run: FinishedRun) -> float:
    """Where the temperature passes the melting point, m."""
    x, temperature = run.grid.centres("x"), run.temperature[0, 0]
    above = int(np.argmax(temperature > WATER.melting))
    low, high = temperature[above - 1], temperature[above]
    return float(x[above - 1] + (WATER.melting - low) / (high - low) * (x[above] - x[above - 1]))


def judge(runs: Sequence[FinishedRun]) -> Judgement:
    """The front within half a coarse cell, and the field."""
    run = runs[-1]
    x = run.grid.centres("x")
    exact = WATER.temperature(x, run.time)
    checks = [
        ValueCheck("place of the front", WATER.front(run.time), front(run), 0.01 * WATER.front(run.time), "m"),
        ValueCheck("RMS error of the field", 0.0, rms_over_volume(run.temperature - exact, run.grid), 0.1, "K"),
    ]
    curves = [Curve("exact", x, exact), Curve("heatsim", x, run.temperature[0, 0], line=False)]
    return Judgement(checks, [ComparisonPanel("x (m)", "temperature (°C)", curves)])


# Latent heat makes a field of enthalpy large beside what a step adds to it: the ledger asks for float64.
PROBLEMS = (
    VerificationProblem(
        "stefan", f"Neumann's solution, {CARSLAW_JAEGER}, section 11.2", judge, grids(1, 4), exact=True
    ),
)
