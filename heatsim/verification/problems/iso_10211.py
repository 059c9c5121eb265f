"""ISO 10211:2017, Thermal bridges in building construction, Annex C: cases 1 and 3."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import numpy as np

from heatsim.verification.exact.steady import rectangle_heated_side
from heatsim.verification.finished import FinishedRun
from heatsim.verification.judgement import (
    ComparisonPanel,
    Curve,
    Judgement,
    ValueCheck,
    VerificationProblem,
    error_panels,
    results_against_targets,
)
from heatsim.verification.order import observed_order
from heatsim.verification.problems.balcony import judge as judge_balcony
from heatsim.verification.refinement import grids
from heatsim.verification.surfaces import extrapolate_to_edge, surface_temperature

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
    rows = [rectangle_heated_side(np.array(X), np.full(4, 0.8 - y), (0.4, 0.8), (inf, 0.0), inf) for y in PUBLISHED]
    return 20.0 * np.concatenate(rows)


def _at_points(run: FinishedRun) -> np.ndarray:
    return np.array([run.probe(f"x {x} y {y}") for y in PUBLISHED for x in X])


def judge_column(runs: Sequence[FinishedRun]) -> Judgement:
    """All 28 points within 0.1 degC of the standard, on the coarsest grid already, and near the exact series."""
    published, exact = np.concatenate([np.array(row) for row in PUBLISHED.values()]), exact_column()
    found = [_at_points(run) for run in runs]
    errors = [float(np.sqrt(np.mean((values - exact) ** 2))) for values in found]
    spacings = [1.0 / run.refined for run in runs]
    checks = [
        ValueCheck("largest of 28 errors, coarsest", 0.0, _largest(found[0] - published), 0.1, "degC"),
        ValueCheck("largest of 28 errors, finest", 0.0, _largest(found[-1] - published), 0.1, "degC"),
        ValueCheck("RMS error from the series", 0.0, errors[-1], 0.005, "K", observed_order(spacings, errors), 2.0),
    ]
    agreement = results_against_targets(published.tolist(), found[0].tolist(), "degC")
    return Judgement(checks, [agreement, *error_panels(spacings, errors, "K", 2.0, "cell size")])


def _largest(errors: np.ndarray) -> float:
    return float(errors[np.argmax(np.abs(errors))])


PROBLEMS = (
    VerificationProblem("iso-10211-1", f"{SOURCE}, case 1", judge_column, grids(1, 2, 4)),
    VerificationProblem("iso-10211-3", f"{SOURCE}, case 3", judge_balcony, grids(1, 2, 4), quick=False),
)


# ISO 10211:2017, Annex C: case 2, aluminium through insulation, and case 4, an iron bar through insulation.
#
# Temperatures on surfaces and between materials follow from the cells on both sides, through the resistances of half a
# cell; heat is that which the run says of its faces.


ISO_10211_ANNEX_C = "ISO 10211:2017, Annex C"
BLOCK, SHELF, SHEET = 0.015, 0.035, 0.0015  # m: width of the wooden block, underside of its shelf, thickness of metal
METAL, BOARD = 0.0365, 0.0415  # m: upper side of the shelf, underside of the board
POINTS = {"A": 7.1, "B": 0.8, "C": 7.9, "D": 6.3, "E": 0.8, "F": 16.4, "G": 16.3, "H": 16.8, "I": 18.3}  # degC
IRON, OUTSIDE = 50.0, 0.1  # W/(m K), m2 K/W


def conductivity(run: FinishedRun) -> np.ndarray:
    """Case 2: conductivity of each cell, (ny, nx)."""
    x, y, _ = run.points()
    metal = (y < SHEET) | ((y < METAL) & ((x < SHEET) | ((x < BLOCK) & (y > SHELF))))
    block = (x < BLOCK) & (y > METAL) & (y < BOARD)
    return np.asarray(np.where(metal, 230.0, np.where(block, 0.12, np.where(y > BOARD, 1.15, 0.029))))


def temperatures(run: FinishedRun) -> dict[str, float]:
    """Case 2: temperatures at the points of the standard, degC. D lies where the board meets both wood and insulation,
    whose mean it is; G on the edge of the shelf."""
    t, k, h = run.temperature[0], conductivity(run), run.grid.sizes("y")[:, None]
    faces, at_block = run.grid.faces("y"), int(np.argmin(np.abs(run.grid.faces("x") - BLOCK)))

    def between(y: float) -> np.ndarray:
        j = int(np.argmin(np.abs(faces - y)))
        lower, upper = k[j - 1] / h[j - 1], k[j] / h[j]
        return np.asarray((lower * t[j - 1] + upper * t[j]) / (lower + upper))

    half = 0.5 * h / k
    top, bottom = surface_temperature(t[-1], half[-1], 0.06, 0.0), surface_temperature(t[0], half[0], 0.11, 20.0)
    board, metal = between(BOARD), between(METAL)
    d, g = 0.5 * (board[at_block - 1] + board[at_block]), extrapolate_to_edge(metal[at_block - 1], metal[at_block - 2])
    values = (top[0], top[-1], board[0], d, board[-1], metal[0], g, bottom[0], bottom[-1])
    return dict(zip(POINTS, map(float, values), strict=True))


def _judge_facade(runs: Sequence[FinishedRun]) -> Judgement:
    """Nine temperatures within 0.1 K and the heat within 0.1 W/m, as the standard asks."""
    found = temperatures(runs[-1])
    checks = [ValueCheck(f"temperature at {name}", POINTS[name], found[name], 0.1, "degC") for name in POINTS]
    heat = ValueCheck("heat that passes", 9.5, runs[-1].heat("y_min"), 0.1, "W/m")
    return Judgement([heat, *checks], [results_against_targets(list(POINTS.values()), list(found.values()), "degC")])


def warmest(run: FinishedRun) -> float:
    """Case 4: temperature in the middle of the bar's outer end, degC."""
    half = 0.5 * float(run.grid.sizes("z")[0]) / IRON
    return float(surface_temperature(float(run.temperature[0, 0, 0]), half, OUTSIDE, 0.0))


def _judge_bar(runs: Sequence[FinishedRun]) -> Judgement:
    """The heat within 1 % and the temperature within 0.005 K, as the standard asks."""
    heat = -4.0 * runs[-1].heat("z_min")  # of four quarters
    checks = [
        ValueCheck("heat that passes", 0.540, heat, 0.0054, "W"),
        ValueCheck("warmest outside", 0.805, warmest(runs[-1]), 0.005, "degC"),
    ]
    spacings, found = np.array([1.0 / run.refined for run in runs]), np.array([warmest(run) for run in runs])
    curves = [
        Curve("ISO 10211", spacings, np.full(len(runs), 0.805)),
        Curve("heatsim", spacings, found, line=False),
    ]
    return Judgement(
        checks, [ComparisonPanel("cell size, in that of the coarsest run", "warmest outside (°C)", curves)]
    )


CASES_2_AND_4 = (
    VerificationProblem("iso-10211-2", f"{ISO_10211_ANNEX_C}, case 2", _judge_facade, grids(1, 2, 4)),
    VerificationProblem("iso-10211-4", f"{ISO_10211_ANNEX_C}, case 4", _judge_bar, grids(1, 2, 4), quick=False),
)
