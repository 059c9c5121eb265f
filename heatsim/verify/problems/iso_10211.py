"""ISO 10211:2017, Thermal bridges in building construction, Annex C: cases 1 and 3."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import numpy as np

from heatsim.verify.exact.rectangle import heated_side
from heatsim.verify.finished import Finished
from heatsim.verify.judging import beside, error_panels
from heatsim.verify.order import observed_order
from heatsim.verify.problem import Check, Judgement, Problem
from heatsim.verify.problems.balcony import judge as judge_balcony
from heatsim.verify.refinement import grids

SOURCE = "ISO 10211:2017, Annex C"
X = (0.1, 0.2, 0.3, 0.4)
PUBLISHED = {  # y in m: temperatures at X in degC
    0.7: (9.7, 13.4, 14.7, 15.1),
    0.6: (5.3, 8.6, 10.3, 10.8),
    0.5: (3.2, 5.6, 7.0, 7.5),
    0.4: (2.0, 3.6, 4.7, 5.0),
    0.3: (1.3, 2.3, 3.0, 3.2),
    0.2: (0.7, 1.4, 1.8, 1.9),
    0.1: (0.3, 0.6, 0.8, 0.9),
}


def exact_column() -> np.ndarray:
    """Exact temperatures at the 28 points, degC."""
    rows = [heated_side(np.array(X), np.full(4, 0.8 - y), (0.4, 0.8), (inf, 0.0), inf) for y in PUBLISHED]
    return 20.0 * np.concatenate(rows)


def _at_points(run: Finished) -> np.ndarray:
    return np.array([run.probe(f"x {x} y {y}") for y in PUBLISHED for x in X])


def judge_column(runs: Sequence[Finished]) -> Judgement:
    """All 28 points within 0.1 degC of the standard, on the coarsest grid already, and near the exact series."""
    published, exact = np.concatenate([np.array(row) for row in PUBLISHED.values()]), exact_column()
    found = [_at_points(run) for run in runs]
    errors = [float(np.sqrt(np.mean((values - exact) ** 2))) for values in found]
    spacings = [1.0 / run.refined for run in runs]
    checks = [
        Check("largest of 28 errors, coarsest", 0.0, _largest(found[0] - published), 0.1, "degC"),
        Check("largest of 28 errors, finest", 0.0, _largest(found[-1] - published), 0.1, "degC"),
        Check("RMS error from the series", 0.0, errors[-1], 0.005, "K", observed_order(spacings, errors), 2.0),
    ]
    agreement = beside(published.tolist(), found[0].tolist(), "degC")
    return Judgement(checks, [agreement, *error_panels(spacings, errors, "K", 2.0, "cell size")])


def _largest(errors: np.ndarray) -> float:
    return float(errors[np.argmax(np.abs(errors))])


PROBLEMS = (
    Problem("iso-10211-1", f"{SOURCE}, case 1", judge_column, grids(1, 2, 4)),
    Problem("iso-10211-3", f"{SOURCE}, case 3", judge_balcony, grids(1, 2, 4), quick=False),
)
