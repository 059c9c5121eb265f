"""The problems of `heatsim verify`: for each scenario under scenarios/verify/ its answer, and how a run is judged.

Those of standards are in `standards`. Here are those with exact solutions, and all of them as `PROBLEMS`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import cosh, exp, log, pi, prod, sin, sqrt

import numpy as np

from heatsim.output.pictures.curve import ComparisonPanel, Curve
from heatsim.studies.verification import exact, standards
from heatsim.studies.verification.exact import FIXED, INSULATED, MaterialPhase, Solidification, decay, slab_mode
from heatsim.studies.verification.finished import FinishedRun
from heatsim.studies.verification.judgement import (
    ExactField,
    Judge,
    Judgement,
    ValueCheck,
    VerificationProblem,
    field_judge,
    limit_judge,
)
from heatsim.studies.verification.order import rms_over_volume
from heatsim.studies.verification.refinement import RefinementLevel, grids, steps

CARSLAW_JAEGER = "Carslaw and Jaeger 1959, section"
INCROPERA = "Incropera and DeWitt, Fundamentals of Heat and Mass Transfer, section"
CRANK = "Crank, The Mathematics of Diffusion, 2nd ed. 1975"
PENNES = "Pennes, J. Appl. Physiol. 1, 93 (1948)"
ROACHE = "Roache 1998, chapter 3"
SEMENOV = "Semenov, Z. Phys. 48, 571 (1928)"
GRIDS = grids(1, 2, 4)


def _field(
    name: str,
    source: str,
    solution: ExactField,
    tolerance: float,
    levels: Sequence[RefinementLevel] = GRIDS,
    order: float = 2.0,
    unit: str = "K",
    means: bool = False,
) -> VerificationProblem:
    """A problem whose field at the end is judged: see `field_judge`."""
    return VerificationProblem(name, source, field_judge(solution, tolerance, unit, order, means=means), levels)


# --- modes that decay without a change of shape, in slabs, plates and blocks


CAPACITY = 2e6  # rho c of all these scenarios, J/(m3 K)


def _slab(x: np.ndarray, y: np.ndarray, z: np.ndarray, t: float) -> np.ndarray:
    mode = slab_mode(0.1, 20.0, 5.0)
    return 100.0 * mode(x) * decay(1.0 / CAPACITY, mode, t)


def _plate(x: np.ndarray, y: np.ndarray, z: np.ndarray, t: float) -> np.ndarray:
    across, up = slab_mode(0.1, FIXED, FIXED), slab_mode(0.05, INSULATED, 40.0)
    left = decay(1.0 / CAPACITY, across, t) * decay(1.0 / CAPACITY, up, t)
    return np.asarray(100.0 * across(x) * up(y) * left)


def _block(x: np.ndarray, y: np.ndarray, z: np.ndarray, t: float) -> np.ndarray:
    modes = slab_mode(0.1, FIXED, INSULATED), slab_mode(0.1, INSULATED, INSULATED, 2), slab_mode(0.1, 40.0, 40.0)
    left = prod(decay(k / CAPACITY, mode, t) for k, mode in zip((2.0, 1.0, 0.5), modes, strict=True))
    return np.asarray(100.0 * modes[0](x) * modes[1](y) * modes[2](z) * left)


def _decay_of_the_grid(x: np.ndarray, y: np.ndarray, z: np.ndarray, t: float) -> np.ndarray:
    """The decay that a grid has: orders in time are found on a grid that stays."""
    cells = x.size
    eigenvalue = (2.0 * cells * sin(pi / (2.0 * cells))) ** 2
    return np.asarray(100.0 * np.cos(pi * x) * exp(-eigenvalue * t))


_MODES = (
    _field("mode-1d", f"{CARSLAW_JAEGER} 3.11", _slab, 0.002, grids(1, 2, 4, 8), means=True),
    _field("mode-2d", f"{CARSLAW_JAEGER}s 3.11 and 5.6", _plate, 0.005, means=True),
    _field("mode-3d", f"{CARSLAW_JAEGER}s 3.11 and 5.6", _block, 0.005, grids(1, 2, 3), means=True),
    _field("unequal-cells", f"{CARSLAW_JAEGER} 3.11", _slab, 0.05, means=True),
)
_TIME_ORDERS = tuple(
    _field(name, "the eigenvalue of the grid", _decay_of_the_grid, tolerance, steps(1, 2, 4, 8), order, means=True)
    for name, tolerance, order in (("time-euler", 0.05, 1.0), ("time-implicit", 0.01, 2.0), ("time-rkl2", 0.01, 2.0))
)


# --- free space, the semi-infinite solid, a heated slab; bodies of one temperature, which show the error in time alone


def _gaussian(x: np.ndarray, y: np.ndarray, z: np.ndarray, t: float) -> np.ndarray:
    along = [exact.spreading_gaussian(place, t, 0.01, k / 2e6) for place, k in ((x, 2.0), (y, 1.0), (z, 0.5))]
    return np.asarray(100.0 * along[0] * along[1] * along[2])


def _cooled(x: np.ndarray, y: np.ndarray, z: np.ndarray, t: float) -> np.ndarray:
    return np.array(100.0 * exact.lumped_convection(t, 8960.0 * 385.0 * 0.01 / (6.0 * 50.0)))


def _radiating(x: np.ndarray, y: np.ndarray, z: np.ndarray, t: float) -> np.ndarray:
    return np.array(exact.lumped_radiation(t, 1000.0, 0.9, 7200.0 * 500.0 * 0.01))


_TRANSIENTS = (
    _field("gaussian", f"{CARSLAW_JAEGER} 10.3", _gaussian, 0.005, grids(1, 2, 3), means=True),
    _field(
        "semi-infinite-step",
        f"{CARSLAW_JAEGER} 2.4",
        lambda x, y, z, t: 100.0 * exact.half_space_fixed_surface(x, t, 1e-6),
        0.01,
    ),
    _field(
        "semi-infinite-flux",
        f"{CARSLAW_JAEGER} 2.9",
        lambda x, y, z, t: exact.half_space_flux(x, t, 1e-6, 1.0, 2000.0),
        0.01,
    ),
    _field(
        "semi-infinite-convection",
        f"{CARSLAW_JAEGER} 2.7",
        lambda x, y, z, t: 100.0 * exact.half_space_convection(x, t, 1e-6, 50.0),
        0.01,
    ),
    _field(
        "heated-slab",
        f"{CARSLAW_JAEGER} 3.14",
        lambda x, y, z, t: exact.heated_slab(x, t, 0.1, 1.0, 1e6, 1e4),
        0.01,
    ),
    _field("lumped-cooling", f"{INCROPERA} 5.1", _cooled, 0.01, steps(1, 2, 4, 8)),
    VerificationProblem(
        "lumped-radiation",
        f"{INCROPERA} 5.3",
        field_judge(_radiating, 0.1, order=1.0),
        steps(1, 2, 4, 8),
        exact=True,  # beside so good a conductor float32 rounds away what passes the face
    ),
)


# --- steady states along one coordinate


LAYERS, CONTACTS = ((0.1, 0.7), (0.1, 0.04), (0.1, 1.5)), (0.05, 0.1)


def with_heat(judge: Judge, face: str, target: float) -> Judge:
    """The checks of a judge, and that of the heat (W) that enters through a face."""

    def both(runs: Sequence[FinishedRun]) -> Judgement:
        judged = judge(runs)
        heat = ValueCheck(f"heat through {face}", target, runs[-1].heat(face), 1e-7 * abs(target), "W")
        return Judgement([*judged.checks, heat], judged.panels)

    return both


def insulated_end(run: FinishedRun) -> float:
    """Temperature at x = 0, where it has no slope: from the parabola through the first two cells."""
    first, second = run.temperature[0, 0, :2]
    return float((9.0 * first - second) / 8.0)


_END = float(exact.heated_wall_of_varying_conductivity(np.array(0.0), 10.0, 2.0, 0.01, 5.0))
_STEADY = (
    VerificationProblem(
        "composite-wall",
        f"{INCROPERA} 3.1",
        with_heat(
            field_judge(lambda x, y, z, t: exact.layered_wall(x, LAYERS, CONTACTS, (20.0, -10.0)), 1e-7),
            "x_min",
            exact.layered_wall_flux(LAYERS, CONTACTS, 30.0),
        ),
        exact=True,
    ),
    _field(
        "fin",
        f"{INCROPERA} 3.6",
        lambda x, y, z, t: 100.0 * exact.fin(x, 0.1, (2.0 * 50.0 / (200.0 * 0.002)) ** 0.5),
        0.01,
    ),
    VerificationProblem(
        "cylinders",
        f"{INCROPERA} 3.3.1",
        with_heat(
            field_judge(lambda x, y, z, t: exact.concentric_cylinders(x, (0.05, 0.1), (100.0, 0.0)), 1e-6),
            "x_min",
            exact.concentric_cylinders_heat(1.0, 50.0, (0.05, 0.1), 100.0),
        ),
        exact=True,
    ),
    _field(
        "heated-cylinder",
        f"{INCROPERA} 3.5.2",
        lambda x, y, z, t: exact.heated_cylinder(x, 0.01, 0.5, 1e6, 50.0),
        0.1,
    ),
    _field(
        "spheres",
        f"{INCROPERA} 3.3.2",
        lambda x, y, z, t: exact.concentric_spheres(np.sqrt(x**2 + y**2 + z**2), (0.05, 0.25), (100.0, 0.0)),
        0.02,
    ),
    VerificationProblem(
        "nonlinear-conductivity",
        f"Kirchhoff's transformation, {CARSLAW_JAEGER} 1.6",
        limit_judge("T(0)", insulated_end, _END, 0.05, _END, 0.05, "degC", 2.0),
        GRIDS,
    ),
)


# --- the two-phase Stefan problem


WATER = Solidification(MaterialPhase(2.2, 2.0e6), MaterialPhase(0.6, 4.2e6), -10.0, 0.0, 5.0, 3.34e8)


def _front(run: FinishedRun) -> float:
    """Where the temperature passes the melting point, m."""
    x, temperature = run.grid.centres("x"), run.temperature[0, 0]
    above = int(np.argmax(temperature > WATER.melting))
    low, high = temperature[above - 1], temperature[above]
    return float(x[above - 1] + (WATER.melting - low) / (high - low) * (x[above] - x[above - 1]))


def judge_melting(runs: Sequence[FinishedRun]) -> Judgement:
    """The front within half a coarse cell, and the field."""
    run = runs[-1]
    x = run.grid.centres("x")
    expected = WATER.temperature(x, run.time)
    checks = [
        ValueCheck("place of the front", WATER.front(run.time), _front(run), 0.01 * WATER.front(run.time), "m"),
        ValueCheck("RMS error of the field", 0.0, rms_over_volume(run.temperature - expected, run.grid), 0.1, "K"),
    ]
    curves = [Curve("exact", x, expected), Curve("heatsim", x, run.temperature[0, 0], line=False)]
    return Judgement(checks, [ComparisonPanel("x (m)", "temperature (°C)", curves)])


# Latent heat makes a field of enthalpy large beside what a step adds to it: the ledger asks for float64.
_MELTING = VerificationProblem(
    "stefan", f"Neumann's solution, {CARSLAW_JAEGER} 11.2", judge_melting, grids(1, 4), exact=True
)


# --- Rosenthal's moving point source


BEAM_DIFFUSIVITY = 30.0 / (7500.0 * 500.0)  # m2/s
SPOT = (0.024, 0.006)  # x, y where the beam is at the end, m
BEAM_POINTS = ((-0.002, 0.0), (-0.003, 0.0), (-0.004, 0.0), (0.0, 0.0015), (0.0, 0.002))  # ahead, aside, m


def _beam_rise(ahead: np.ndarray, aside: np.ndarray) -> np.ndarray:
    """Rise (K) by 100 W at 10 mm/s on a body that conducts 30 W/(m K)."""
    return exact.rosenthal(ahead, aside, 100.0, 0.01, 30.0, BEAM_DIFFUSIVITY)


def _surface_at(run: FinishedRun, ahead: float, aside: float) -> float:
    """Temperature on top at a place relative to the source, by cubic interpolation in the two upper planes: where
    temperature falls so fast, a straight line is 1 % too high. The top is insulated but for the beam: no slope there.
    """
    x, y = (_cubic(run.grid.centres(axis), at) for axis, at in (("x", SPOT[0] + ahead), ("y", SPOT[1] + aside)))
    first, second = (float(y @ run.temperature[level] @ x) for level in (-1, -2))
    return (9.0 * first - second) / 8.0


def _cubic(places: np.ndarray, at: float) -> np.ndarray:
    """Weights (n,) of values at `places`: Lagrange's, of the four around `at`."""
    first = int(np.clip(np.searchsorted(places, at) - 2, 0, len(places) - 4))
    near = places[first : first + 4]
    weights = np.zeros(len(places))
    for number, place in enumerate(near):
        others = np.delete(near, number)
        weights[first + number] = np.prod((at - others) / (place - others))
    return weights


def judge_moving_source(runs: Sequence[FinishedRun]) -> Judgement:
    """Within 3 % at points some radii away: spot and cells are no point, and the block is no half-space."""
    run = runs[-1]
    checks = []
    for ahead, aside in BEAM_POINTS:
        target = float(_beam_rise(np.array(ahead), np.array(aside)))
        where = f"T {-ahead * 1e3:g} mm behind" if ahead else f"T {aside * 1e3:g} mm beside"
        checks.append(ValueCheck(where, target, _surface_at(run, ahead, aside), 0.03 * target, "K"))
    behind = np.linspace(-0.008, -0.001, 60)
    found = np.array([_surface_at(run, place, 0.0) for place in behind])
    curves = [Curve("Rosenthal", behind, _beam_rise(behind, np.zeros(60))), Curve("heatsim", behind, found, line=False)]
    return Judgement(checks, [ComparisonPanel("distance ahead of the source (m)", "rise (K)", curves)])


_MOVING = VerificationProblem(
    "rosenthal", "Rosenthal, Trans. ASME 68 (1946) 849", judge_moving_source, grids(2), quick=False
)


# --- sources that depend on temperature: Pennes' equation, and reactions that heat themselves


PERFUSION, BLOOD = 2000.0, 37.0  # W/(m3 K) and degC
TISSUE_CONDUCTIVITY, TISSUE_CAPACITY, TISSUE_LENGTH = 0.5, 3.6e6, 0.03  # W/(m K), J/(m3 K), m


def _tissue_mode(t: float, *waves: tuple[int, np.ndarray]) -> np.ndarray:
    """A mode of half waves n along places, after a time in which conduction and perfusion let it decay."""
    squares = sum(n * n for n, _ in waves)
    left = exp(-(PERFUSION + TISSUE_CONDUCTIVITY * squares * (pi / TISSUE_LENGTH) ** 2) / TISSUE_CAPACITY * t)
    return np.asarray(BLOOD + 8.0 * prod(np.cos(n * pi * place / TISSUE_LENGTH) for n, place in waves) * left)


def _tissue_slab(x: np.ndarray, y: np.ndarray, z: np.ndarray, t: float) -> np.ndarray:
    m = sqrt(PERFUSION / TISSUE_CONDUCTIVITY)
    return np.asarray(BLOOD + 8.0 * np.cosh(m * (TISSUE_LENGTH - x)) / cosh(m * TISSUE_LENGTH))


def _explosion(x: np.ndarray, y: np.ndarray, z: np.ndarray, t: float) -> np.ndarray:
    return np.array(-log(1.0 - 1e-3 * t))  # a = 1e-3 K/s


def _judge_rest(runs: Sequence[FinishedRun]) -> Judgement:
    """The state of rest below the critical number 1/e: the root of T exp(-T) = number that is below 1. The number, 0.3,
    is the heat of the reaction at 0 degC over what the surface takes off a kelvin."""
    target = 0.0
    for _ in range(200):
        target = 0.3 * exp(target)
    return Judgement([ValueCheck("temperature at rest", target, float(runs[-1].temperature[0, 0, 0]), 1e-6, "K")])


_BOX = f"{PENNES}: the mode of an insulated box"
_TEMPERATURE_SOURCES = (
    _field("pennes-1d", f"{PENNES}: a slab", _tissue_slab, 0.01),
    _field("pennes-2d", _BOX, lambda x, y, z, t: _tissue_mode(t, (1, x), (2, y)), 0.01),
    _field("pennes-3d", _BOX, lambda x, y, z, t: _tissue_mode(t, (1, x), (1, y), (2, z)), 0.02, grids(1, 2)),
    VerificationProblem("reaction-at-rest", SEMENOV, _judge_rest),
    _field("reaction-in-time", "dT/dt = a exp(T): T = -ln(1 - a t)", _explosion, 2e-3, steps(1, 2, 4)),
)


# --- diffusion of other quantities than heat: a membrane in which more dissolves than beside it, and decay on the way


OUTSIDE, AREA = 10.0, 1e-6  # mol/m3 and m2
THICKNESS, DIFFUSIVITY, SOLUBILITY = 1e-3, 1e-10, 4.0  # of a membrane: m, m2/s, 1
DISSOLVING_LAYERS = ((1e-3, 1e-9, 0.5), (0.5e-3, 2e-10, 3.0), (1.5e-3, 5e-10, 1.0))  # m, m2/s, 1
RATE, LENGTH = 2e-4, 2e-3  # of decay, 1/s, and of what it happens in, m


def passed_membrane(t: float) -> float:
    """Amount that has come through an empty membrane until t s, mol, from a fluid kept at OUTSIDE to one kept empty:
    Crank, equation (4.24), its concentration inside being that outside times the solubility."""
    n = np.arange(1, 200)
    left = (-1.0) ** n / n**2 * np.exp(-DIFFUSIVITY * (n * pi / THICKNESS) ** 2 * t)
    share = DIFFUSIVITY * t / THICKNESS**2 - 1.0 / 6.0 - 2.0 / pi**2 * float(left.sum())
    return AREA * THICKNESS * SOLUBILITY * OUTSIDE * share


def _judge_layers(runs: Sequence[FinishedRun]) -> Judgement:
    """Layers in series: the flux from the first face to the last, and the amount that the middle layer holds."""
    run, layers = runs[-1], DISSOLVING_LAYERS
    flux = 1e-6 * OUTSIDE / sum(length / (diffusivity * solubility) for length, diffusivity, solubility in layers)
    x = run.grid.centres("x")
    jump = float(run.last.fields["concentration"].values[0, 0, :][x > layers[0][0]][0])
    first = OUTSIDE - flux / 1e-6 * layers[0][0] / (layers[0][1] * layers[0][2])
    beyond = flux / 1e-6 / (layers[1][1] * layers[1][2]) * (x[x > layers[0][0]][0] - layers[0][0])
    return Judgement(
        [
            ValueCheck("amount through the layers", flux, run.heat("x_min"), 1e-9 * flux, "mol/s"),
            ValueCheck("concentration beyond the jump", layers[1][2] * (first - beyond), jump, 1e-6, "mol/m3"),
        ]
    )


def _catalyst(x: np.ndarray, y: np.ndarray, z: np.ndarray, t: float) -> np.ndarray:
    modulus = LENGTH * sqrt(RATE / DIFFUSIVITY)
    return np.asarray(OUTSIDE * np.cosh(modulus * (1.0 - x / LENGTH)) / cosh(modulus))


def _fading(x: np.ndarray, y: np.ndarray, z: np.ndarray, t: float) -> np.ndarray:
    rate = RATE + DIFFUSIVITY * 5.0 * (pi / LENGTH) ** 2
    mode = np.cos(pi * x / LENGTH) * np.cos(2.0 * pi * y / LENGTH)
    return np.asarray(OUTSIDE * exp(-RATE * t) + 2.0 * mode * exp(-rate * t))


_PASSED = passed_membrane(4000.0)
_DIFFUSION = (
    VerificationProblem(
        "membrane",
        f"{CRANK}, equation (4.24)",
        limit_judge("amount passed", lambda run: -run.heat("x_max"), _PASSED, 2e-11, _PASSED, 1e-11, "mol", 2.0),
        GRIDS,
    ),
    VerificationProblem("partition", f"{CRANK}, section 3.3: layers in series", _judge_layers, exact=True),
    _field("catalyst", "Thiele, Ind. Eng. Chem. 31, 916 (1939): a slab", _catalyst, 0.02, unit="mol/m3"),
    _field("decay", "c = c0 exp(-lambda t), and a mode above it", _fading, 0.01, unit="mol/m3"),
)


# --- manufactured solutions: a temperature is chosen, and the source that makes it one goes into the scenario


def _wave(x: np.ndarray, y: np.ndarray, z: np.ndarray, t: float) -> np.ndarray:
    """Through an anisotropic block."""
    return np.asarray(20.0 + np.sin(2.0 * x + y + 0.5 * z - t))


def composite(x: np.ndarray, y: np.ndarray, z: np.ndarray, t: float) -> np.ndarray:
    """Conductivity 1 left and 5 right of x = 0.5."""
    s = 2.0 * (x - 0.5)
    return np.asarray(20.0 + np.exp(-t) * (np.cos(s) + np.sin(s) / np.where(x < 0.5, 1.0, 5.0)))


def nonlinear(x: np.ndarray, y: np.ndarray, z: np.ndarray, t: float) -> np.ndarray:
    """Conductivity 1 + T/2."""
    return np.asarray(1.0 + 0.5 * np.sin(2.0 * x) * np.exp(-t))


_MANUFACTURED = (
    _field("manufactured-anisotropic", ROACHE, _wave, 1e-3, grids(1, 2, 3)),
    _field("manufactured-composite", ROACHE, composite, 1e-3),
    _field("manufactured-nonlinear", ROACHE, nonlinear, 1e-4),
)

PROBLEMS: tuple[VerificationProblem, ...] = (
    *standards.PROBLEMS,
    *_MODES,
    *_TRANSIENTS,
    *_STEADY,
    _MELTING,
    _MOVING,
    *_TEMPERATURE_SOURCES,
    *_DIFFUSION,
    *_MANUFACTURED,
    *_TIME_ORDERS,
)
