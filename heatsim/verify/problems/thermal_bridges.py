"""ISO 10211:2017, Annex C: case 2, aluminium through insulation, and case 4, an iron bar through insulation.

Temperatures on surfaces and between materials follow from the cells on both sides, through the resistances of half a
cell; heat is that which the run says of its faces.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from heatsim.verify.finished import Finished
from heatsim.verify.judging import beside
from heatsim.verify.problem import Check, Curve, Judgement, Panel, Problem
from heatsim.verify.refinement import grids
from heatsim.verify.surfaces import edge, surface

SOURCE = "ISO 10211:2017, Annex C"
BLOCK, SHELF, SHEET = 0.015, 0.035, 0.0015  # m: width of the wooden block, underside of its shelf, thickness of metal
METAL, BOARD = 0.0365, 0.0415  # m: upper side of the shelf, underside of the board
POINTS = {"A": 7.1, "B": 0.8, "C": 7.9, "D": 6.3, "E": 0.8, "F": 16.4, "G": 16.3, "H": 16.8, "I": 18.3}  # degC
IRON, OUTSIDE = 50.0, 0.1  # W/(m K), m2 K/W


def conductivity(run: Finished) -> np.ndarray:
    """Case 2: conductivity of each cell, (ny, nx)."""
    x, y, _ = run.points()
    metal = (y < SHEET) | ((y < METAL) & ((x < SHEET) | ((x < BLOCK) & (y > SHELF))))
    block = (x < BLOCK) & (y > METAL) & (y < BOARD)
    return np.asarray(np.where(metal, 230.0, np.where(block, 0.12, np.where(y > BOARD, 1.15, 0.029))))


def temperatures(run: Finished) -> dict[str, float]:
    """Case 2: temperatures at the points of the standard, degC. D lies where the board meets both wood and insulation,
    whose mean it is; G on the edge of the shelf."""
    t, k, h = run.temperature[0], conductivity(run), run.grid.sizes("y")[:, None]
    faces, at_block = run.grid.faces("y"), int(np.argmin(np.abs(run.grid.faces("x") - BLOCK)))

    def between(y: float) -> np.ndarray:
        j = int(np.argmin(np.abs(faces - y)))
        lower, upper = k[j - 1] / h[j - 1], k[j] / h[j]
        return np.asarray((lower * t[j - 1] + upper * t[j]) / (lower + upper))

    half = 0.5 * h / k
    top, bottom = surface(t[-1], half[-1], 0.06, 0.0), surface(t[0], half[0], 0.11, 20.0)
    board, metal = between(BOARD), between(METAL)
    d, g = 0.5 * (board[at_block - 1] + board[at_block]), edge(metal[at_block - 1], metal[at_block - 2])
    values = (top[0], top[-1], board[0], d, board[-1], metal[0], g, bottom[0], bottom[-1])
    return dict(zip(POINTS, map(float, values), strict=True))


def _judge_facade(runs: Sequence[Finished]) -> Judgement:
    """Nine temperatures within 0.1 K and the heat within 0.1 W/m, as the standard asks."""
    found = temperatures(runs[-1])
    checks = [Check(f"temperature at {name}", POINTS[name], found[name], 0.1, "degC") for name in POINTS]
    heat = Check("heat that passes", 9.5, runs[-1].heat("y_min"), 0.1, "W/m")
    return Judgement([heat, *checks], [beside(list(POINTS.values()), list(found.values()), "degC")])


def warmest(run: Finished) -> float:
    """Case 4: temperature in the middle of the bar's outer end, degC."""
    half = 0.5 * float(run.grid.sizes("z")[0]) / IRON
    return float(surface(float(run.temperature[0, 0, 0]), half, OUTSIDE, 0.0))


def _judge_bar(runs: Sequence[Finished]) -> Judgement:
    """The heat within 1 % and the temperature within 0.005 K, as the standard asks."""
    heat = -4.0 * runs[-1].heat("z_min")  # of four quarters
    checks = [
        Check("heat that passes", 0.540, heat, 0.0054, "W"),
        Check("warmest outside", 0.805, warmest(runs[-1]), 0.005, "degC"),
    ]
    spacings, found = np.array([1.0 / run.refined for run in runs]), np.array([warmest(run) for run in runs])
    curves = [
        Curve("ISO 10211", spacings, np.full(len(runs), 0.805)),
        Curve("heatsim", spacings, found, line=False),
    ]
    return Judgement(checks, [Panel("cell size, in that of the coarsest run", "warmest outside (°C)", curves)])


PROBLEMS = (
    Problem("iso-10211-2", f"{SOURCE}, case 2", _judge_facade, grids(1, 2, 4)),
    Problem("iso-10211-4", f"{SOURCE}, case 4", _judge_bar, grids(1, 2, 4), quick=False),
)
