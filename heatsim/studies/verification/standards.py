"""Problems of standards, with published answers: ISO 10211 and benchmarks of NAFEMS.

Temperatures on surfaces and between materials follow from those of the cells on both sides. Half a cell lies between a
centre and its face, with the resistance R_half = h/(2 k), and beyond the face the surface resistance R_s to an ambient:

    centre --- R_half --- surface --- R_s --- ambient

Towards an edge, where surfaces meet, the temperature of a surface is known half a cell from it only. Straight on from
the last two faces it is found on the edge itself, and so along both axes in a corner. Where the solid fills more than
half of the space around an edge, the gradient is singular there: this converges slowly, and is extrapolated over grids.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from math import inf
from typing import NamedTuple, TypeVar

import numpy as np

from heatsim.output.pictures.curve import ComparisonPanel, Curve
from heatsim.studies.verification.exact import radiating_end, rectangle_heated_side, slab_sinusoidal_face
from heatsim.studies.verification.finished import FinishedRun, grid_spacings
from heatsim.studies.verification.judgement import (
    Judgement,
    ValueCheck,
    VerificationProblem,
    error_panels,
    limit_judge,
    results_against_targets,
)
from heatsim.studies.verification.order import extrapolate_to_limit, observed_order
from heatsim.studies.verification.refinement import grids

SurfaceValues = TypeVar("SurfaceValues", float, np.ndarray)
ISO_10211 = "ISO 10211:2017, Annex C"
NAFEMS = "The Standard NAFEMS Benchmarks, TNSB Rev. 3, 1990"


def surface_temperature(centre: SurfaceValues, half: float, resistance: float, ambient: float) -> SurfaceValues:
    """Temperature of a surface in the middle of a cell's face; `half` and `resistance` in m2 K/W."""
    return (centre * resistance + ambient * half) / (resistance + half)


def extrapolate_to_edge(first: SurfaceValues, second: SurfaceValues) -> SurfaceValues:
    """Value on an edge from those half a cell and one and a half cells from it."""
    return 1.5 * first - 0.5 * second


def extrapolate_to_corner(faces: np.ndarray) -> float:
    """Temperature of a corner from those in the middle of faces, (2, 2) or more, of which [0, 0] is next to it."""
    along = extrapolate_to_edge(faces[0], faces[1])
    return float(extrapolate_to_edge(along[0], along[1]))


# --- ISO 10211:2017, Thermal bridges in building construction, Annex C, case 1: a square column


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


def judge_column(runs: Sequence[FinishedRun]) -> Judgement:
    """All 28 points within 0.1 degC of the standard, on the coarsest grid already, and near the exact series."""
    published, exact = np.concatenate([np.array(row) for row in PUBLISHED.values()]), exact_column()
    found = [np.array([run.probe(f"x {x} y {y}") for y in PUBLISHED for x in X]) for run in runs]
    errors = [float(np.sqrt(np.mean((values - exact) ** 2))) for values in found]
    spacings = grid_spacings(runs)
    checks = [
        ValueCheck("largest of 28 errors, coarsest", 0.0, _largest(found[0] - published), 0.1, "degC"),
        ValueCheck("largest of 28 errors, finest", 0.0, _largest(found[-1] - published), 0.1, "degC"),
        ValueCheck("RMS error from the series", 0.0, errors[-1], 0.005, "K", observed_order(spacings, errors), 2.0),
    ]
    agreement = results_against_targets(published.tolist(), found[0].tolist(), "degC")
    return Judgement(checks, [agreement, *error_panels(spacings, errors, "K", 2.0, "cell size")])


def _largest(errors: np.ndarray) -> float:
    return float(errors[np.argmax(np.abs(errors))])


# Case 2: aluminium through insulation. Case 4: an iron bar through insulation. The heat is what the run reports for its
# faces.

BLOCK, SHELF, SHEET = 0.015, 0.035, 0.0015  # m: width of the wooden block, underside of its shelf, thickness of metal
METAL, BOARD = 0.0365, 0.0415  # m: upper side of the shelf, underside of the board
POINTS = {"A": 7.1, "B": 0.8, "C": 7.9, "D": 6.3, "E": 0.8, "F": 16.4, "G": 16.3, "H": 16.8, "I": 18.3}  # degC
IRON, BAR_RESISTANCE = 50.0, 0.1  # W/(m K), m2 K/W outside


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
    return float(surface_temperature(float(run.temperature[0, 0, 0]), half, BAR_RESISTANCE, 0.0))


def _judge_bar(runs: Sequence[FinishedRun]) -> Judgement:
    """The heat within 1 % and the temperature within 0.005 K, as the standard asks."""
    heat = -4.0 * runs[-1].heat("z_min")  # of four quarters
    checks = [
        ValueCheck("heat that passes", 0.540, heat, 0.0054, "W"),
        ValueCheck("warmest outside", 0.805, warmest(runs[-1]), 0.005, "degC"),
    ]
    spacings, found = np.array(grid_spacings(runs)), np.array([warmest(run) for run in runs])
    curves = [
        Curve("ISO 10211", spacings, np.full(len(runs), 0.805)),
        Curve("heatsim", spacings, found, line=False),
    ]
    return Judgement(
        checks, [ComparisonPanel("cell size, in that of the coarsest run", "warmest outside (°C)", curves)]
    )


# Case 3, a balcony slab through two walls: heat that leaves two rooms, and their coldest corners.
#
# Both are read off the field alone, so that they test the solution and not the program's own sums. The coldest point of
# a room is the corner (200, 200) mm where its two inner leaves meet the slab above it, or the floor below it.


class BalconyAmbient(NamedTuple):
    """temperature in degC, surface resistance in m2 K/W."""

    temperature: float
    resistance: float


SOLID, OUTSIDE, LOWER, UPPER = 0, 1, 2, 3
AMBIENTS = {OUTSIDE: BalconyAmbient(0.0, 0.05), LOWER: BalconyAmbient(20.0, 0.2), UPPER: BalconyAmbient(15.0, 0.2)}
HEAT = {"heat from the lower room": (LOWER, 46.09), "heat from the upper room": (UPPER, 13.89)}
HEAT["heat from outside"] = (OUTSIDE, -59.98)
INNER, CEILING, FLOOR = 0.2, 1.0, 1.2  # m: surfaces of the rooms
SLAB_CONDUCTIVITY, FLOOR_CONDUCTIVITY = 2.5, 1.0  # W/(m K)
CORNERS = {"coldest in the lower room": 11.32, "coldest in the upper room": 11.11}  # degC


def conductivity_and_ambient(run: FinishedRun) -> tuple[np.ndarray, np.ndarray]:
    """Conductivity (0 in ambients) and number of the ambient (0 in solids) of each cell, (nz, ny, nx)."""
    x, y, z = run.points()
    room = (x > INNER) & (y > INNER)
    painted = (  # from outside in, later over earlier: where, conductivity, ambient
        ((x > -0.1) & (y > -0.1), 1.0, SOLID),
        ((x > 0.0) & (y > 0.0), 0.04, SOLID),
        ((x > 0.05) & (y > 0.05), 0.7, SOLID),
        (room & (z < CEILING), 0.0, LOWER),
        (room & (z > CEILING), 0.0, UPPER),
        (room & (z > 1.15) & (z < FLOOR), FLOOR_CONDUCTIVITY, SOLID),
        ((x > 0.05) & (y > -0.7) & (z > 1.0) & (z < 1.15), SLAB_CONDUCTIVITY, SOLID),
    )
    conductivity, ambient = np.zeros(run.grid.shape), np.full(run.grid.shape, OUTSIDE)
    for where, k, number in painted:
        inside = np.broadcast_to(where, run.grid.shape)
        conductivity[inside], ambient[inside] = k, number
    return conductivity, ambient


def heat_flows(run: FinishedRun) -> dict[int, float]:
    """Heat (W) that each ambient gives to the solid."""
    conductivity, ambient = conductivity_and_ambient(run)
    h = run.grid.spacing[0]
    flows = dict.fromkeys(AMBIENTS, 0.0)
    for axis in range(3):
        whole = [slice(None)] * 3
        low, high = list(whole), list(whole)
        low[axis], high[axis] = slice(0, -1), slice(1, None)
        for solid, beyond in ((tuple(low), tuple(high)), (tuple(high), tuple(low))):
            for number, (temperature, resistance) in AMBIENTS.items():
                faces = (ambient[solid] == SOLID) & (ambient[beyond] == number)
                path = 0.5 * h / conductivity[solid][faces] + resistance
                flows[number] += float(np.sum(h * h * (temperature - run.temperature[solid][faces]) / path))
    return flows


def coldest_corners(run: FinishedRun) -> tuple[float, float]:
    """Temperatures (degC) of the corners of the lower and the upper room.

    Of the three surfaces that meet in a corner the one before the best conductor varies least, so it is extrapolated:
    the slab below which the lower room lies, and the floor of the upper one.
    """
    h, (x0, y0, z0) = run.grid.spacing[0], run.grid.origin
    i, j = round((INNER - x0) / h), round((INNER - y0) / h)
    above, below = round((CEILING - z0) / h), round((FLOOR - z0) / h) - 1
    found = []
    for level, k, number in ((above, SLAB_CONDUCTIVITY, LOWER), (below, FLOOR_CONDUCTIVITY, UPPER)):
        temperature, resistance = AMBIENTS[number]
        behind = run.temperature[level, j : j + 2, i : i + 2]
        found.append(extrapolate_to_corner(surface_temperature(behind, 0.5 * h / k, resistance, temperature)))
    return found[0], found[1]


def _judge_balcony(runs: Sequence[FinishedRun]) -> Judgement:
    """Heat within 1 %, temperatures within 0.05 K, extrapolated over three grids each twice as fine as the last."""
    flows, corners = [heat_flows(run) for run in runs], [coldest_corners(run) for run in runs]
    checks, series = [], []
    for name, (number, target) in HEAT.items():
        series.append([flow[number] for flow in flows])
        checks.append(ValueCheck(name, target, extrapolate_to_limit(series[-1], 2.0), 0.01 * abs(target), "W"))
    for place, (name, target) in enumerate(CORNERS.items()):
        series.append([pair[place] for pair in corners])
        checks.append(ValueCheck(name, target, extrapolate_to_limit(series[-1], 2.0), 0.05, "degC"))
    limit = extrapolate_to_limit(series[3], 2.0)  # of the coldest corner of the lower room
    away = [abs(value - limit) for value in series[3]]
    return Judgement(checks, error_panels(grid_spacings(runs), away, "K", 1.0, "cell size", "distance"))


_ISO_10211_PROBLEMS = (
    VerificationProblem("iso-10211-1", f"{ISO_10211}, case 1", judge_column, grids(1, 2, 4)),
    VerificationProblem("iso-10211-3", f"{ISO_10211}, case 3", _judge_balcony, grids(1, 2, 4), quick=False),
    VerificationProblem("iso-10211-2", f"{ISO_10211}, case 2", _judge_facade, grids(1, 2, 4)),
    VerificationProblem("iso-10211-4", f"{ISO_10211}, case 4", _judge_bar, grids(1, 2, 4), quick=False),
)


# --- NAFEMS T2, T3 and T4


T3_PROBE = "0.08 m"


def t3(t: float) -> float:
    """Exact temperature 0.08 m from the cold end, degC."""
    diffusivity = 35.0 / (7200.0 * 440.5)
    return float(100.0 * slab_sinusoidal_face(np.array(0.08), t, 0.1, diffusivity, math.pi / 40.0))


def _judge_t3(runs: Sequence[FinishedRun]) -> Judgement:
    found = [run.probe(T3_PROBE) for run in runs]
    order = observed_order(grid_spacings(runs), [abs(each - t3(32.0)) for each in found])
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


_RATIO = 750.0 / 52.0  # of T4: coefficient/conductivity, 1/m
_T2 = radiating_end(0.1, 55.563, 0.98, 1000.0, 300.0)
_T4 = 100.0 * rectangle_heated_side(np.array([0.6]), np.array([0.2]), (0.6, 1.0), (0.0, _RATIO), _RATIO)

_NAFEMS_PROBLEMS = (
    VerificationProblem(
        "nafems-t2",
        f"{NAFEMS}, T2",
        limit_judge("T of the radiating end", radiating_surface, 926.97, 0.1, _T2, 1e-3, "K"),
    ),
    VerificationProblem("nafems-t3", f"{NAFEMS}, T3", _judge_t3, grids(1, 2, 4)),
    VerificationProblem(
        "nafems-t4",
        f"{NAFEMS}, T4",
        limit_judge("T at (0.6, 0.2) m", point_e, 18.25, 0.1, float(_T4[0]), 0.05, "degC", 2.0),
        grids(1, 2, 4),
    ),
)

PROBLEMS = (*_ISO_10211_PROBLEMS, *_NAFEMS_PROBLEMS)
