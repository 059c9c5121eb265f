"""Benchmarks of NAFEMS: The Standard NAFEMS Benchmarks, TNSB Rev. 3, 1990: T2, T3 and T4."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from heatsim.output.pictures.curve import ComparisonPanel, Curve
from heatsim.studies.verification.exact.steady import radiating_end, rectangle_heated_side
from heatsim.studies.verification.exact.transient import slab_sinusoidal_face
from heatsim.studies.verification.finished import FinishedRun, grid_spacings
from heatsim.studies.verification.judgement import (
    Judgement,
    ValueCheck,
    VerificationProblem,
    limit_judge,
    value_errors,
)
from heatsim.studies.verification.order import observed_order
from heatsim.studies.verification.refinement import grids
from heatsim.studies.verification.surfaces import surface_temperature

SOURCE = "The Standard NAFEMS Benchmarks, TNSB Rev. 3, 1990"
T3_PROBE = "0.08 m"


def t3(t: float) -> float:
    """Exact temperature 0.08 m from the cold end, degC."""
    diffusivity = 35.0 / (7200.0 * 440.5)
    return float(100.0 * slab_sinusoidal_face(np.array(0.08), t, 0.1, diffusivity, math.pi / 40.0))


def _judge_t3(runs: Sequence[FinishedRun]) -> Judgement:
    found = [run.probe(T3_PROBE) for run in runs]
    order = observed_order(grid_spacings(runs), value_errors(found, t3(32.0)))
    checks = [
        ValueCheck("T(0.08 m, 32 s), published", 36.60, found[-1], 0.05, "degC"),
        ValueCheck("T(0.08 m, 32 s), exact", t3(32.0), found[-1], 0.01, "degC", order, 2.0),
    ]
    times, fine = runs[-1].probes["time"], np.linspace(0.0, 32.0, 200)
    exact = Curve("exact", fine, np.array([t3(t) for t in fine]))
    curves = [exact, Curve("heatsim", times, runs[-1].probes[T3_PROBE], line=False)]
    return Judgement(checks, [ComparisonPanel("t (s)", "temperature at 0.08 m (°C)", curves)])


def point_e(run: FinishedRun) -> float:
    """T4: the temperature of the right side 0.2 m above the lower one, halfway between two rows of cells."""
    above = round(0.2 / run.grid.spacing[1])
    beside = 0.5 * (run.temperature[0, above - 1, -1] + run.temperature[0, above, -1])
    return float(surface_temperature(beside, 0.5 * run.grid.spacing[0] / 52.0, 1.0 / 750.0, 0.0))


def radiating_surface(run: FinishedRun) -> float:
    """T2: the temperature of the end that radiates, half a cell beyond the last centre."""
    return radiating_end(0.5 * run.grid.spacing[0], 55.563, 0.98, float(run.temperature[0, 0, -1]), 300.0)


def _exact_t4() -> float:
    ratio = 750.0 / 52.0
    return float(100.0 * rectangle_heated_side(np.array([0.6]), np.array([0.2]), (0.6, 1.0), (0.0, ratio), ratio)[0])


_T2 = radiating_end(0.1, 55.563, 0.98, 1000.0, 300.0)

PROBLEMS = (
    VerificationProblem(
        "nafems-t2",
        f"{SOURCE}, T2",
        limit_judge("T of the radiating end", radiating_surface, 926.97, 0.1, _T2, 1e-3, "K"),
    ),
    VerificationProblem("nafems-t3", f"{SOURCE}, T3", _judge_t3, grids(1, 2, 4)),
    VerificationProblem(
        "nafems-t4",
        f"{SOURCE}, T4",
        limit_judge("T at (0.6, 0.2) m", point_e, 18.25, 0.1, _exact_t4(), 0.05, "degC", 2.0),
        grids(1, 2, 4),
    ),
)
