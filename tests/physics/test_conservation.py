"""Energy is conserved, the ledger closes, and nothing gets hotter or colder than what it started from."""

from __future__ import annotations

from itertools import combinations
from math import pi, prod

import numpy as np
import pytest
from helpers.in_memory import AXES, Recording, Run, RunOutcome, both, case
from helpers.in_turn import in_turn
from helpers.scenario_texts import INSULATED, PERIODIC, box, convection, fixed, flux, material

CELLS, SIZE = (7, 6, 5), (0.7, 0.5, 0.4)
MATERIALS = {"a": material([2.0, 1.0, 0.5], 2.0, 1.5), "b": material(0.4, 1.0, 0.5)}
REGIONS = [{"material": "b", "sphere": {"center": [0.2, 0.2, 0.1], "radius": 0.25}}]
HOT_SPOT = "20 + 60*exp(-((x-0.5)**2 + (y-0.1)**2 + (z-0.3)**2)/0.02)"
HEATERS = [
    {"power": 3.0, "region": box((0.1, 0.1, 0.1), (0.45, 0.35, 0.25))},
    {"power_density": "40*x"},
]
TOLERANCE = {"float64": 1e-10, "float32": 1e-4}  # of the energy moved


def body(end: float = 0.02, **changes: object) -> str:
    """A box of two materials with a hot spot and two heaters."""
    settings = {"materials": MATERIALS, "regions": REGIONS, "initial": HOT_SPOT, "sources": HEATERS}
    return case(CELLS, end, size=SIZE, **{**settings, **changes})


FACES_OF_A_KIND = {
    "insulated": (INSULATED, INSULATED),
    "fixed": (fixed(15.0), fixed("70*sin(40*t) + 30*z*x + 10*y")),
    "flux": (flux(-250.0), flux("400*cos(100*t)*(x + y + z)")),
    "convection": (convection(30.0, -5.0), convection("20 + 30*x + 20*y", "20*exp(-30*t)")),
    "periodic": (PERIODIC, PERIODIC),
}


def on_axes(**kinds: str) -> dict:
    boundary = {}
    for axis, kind in kinds.items():
        boundary[f"{axis}_min"], boundary[f"{axis}_max"] = FACES_OF_A_KIND[kind]
    return boundary


ALONE = {f"{kind} along {axis}": on_axes(**{axis: kind}) for kind in FACES_OF_A_KIND for axis in AXES}
PAIRS = {
    f"{first} along {a}, {second} along {b}": on_axes(**{a: first, b: second})
    for (first, second), (a, b) in zip(
        combinations(FACES_OF_A_KIND, 2), [("x", "y"), ("y", "z"), ("z", "x")] * 4, strict=False
    )
}
EVERYWHERE = {f"{kind} on all faces": on_axes(x=kind, y=kind, z=kind) for kind in FACES_OF_A_KIND}
THREE_KINDS = {"fixed, flux and convection": on_axes(x="fixed", y="flux", z="convection")}
BOUNDARIES = {**ALONE, **PAIRS, **EVERYWHERE, **THREE_KINDS}


@in_turn("precision", TOLERANCE)
@in_turn("boundary", BOUNDARIES.values(), ids=BOUNDARIES)
def test_the_ledger_closes_with_every_kind_of_boundary(run: Run, boundary: dict, precision: str) -> None:
    energy = run(body(boundary=boundary, precision=precision)).energy
    assert abs(energy.relative_residual) < TOLERANCE[precision]
    open_faces = {name for name, face in boundary.items() if face["kind"] not in ("insulated", "periodic")}
    assert {name for name, heat in energy.faces.items() if heat != 0.0} == open_faces


SOURCES = {
    "power in time": [{"power": "3 + 2*sin(300*t)", "region": HEATERS[0]["region"]}, HEATERS[1]],
    "density in a region": [{"power_density": 55.0, "region": HEATERS[0]["region"]}, HEATERS[1]],
    "density in x and in time": [HEATERS[0], {"power_density": "90*x*y*exp(-50*t)"}],
    "a sum of two products": [HEATERS[0], {"power_density": "90*x*exp(-50*t) - 50*z*cos(9*t)"}],
    "a moving spot": [HEATERS[0], {"power_density": "500*exp(-((x - 20*t)**2 + (y - 0.25)**2)/0.01)"}],
    "two fields": [HEATERS[0], {"power_density": "30*y"}, {"power_density": "8*z*t", "region": HEATERS[0]["region"]}],
    "overlapping regions": [*HEATERS, {"power": -4.0, "region": box((0.2, 0.2, 0.0), (0.7, 0.5, 0.3))}],
}


@in_turn("precision", TOLERANCE)
@in_turn("sources", SOURCES.values(), ids=SOURCES)
def test_the_ledger_closes_with_every_kind_of_source(run: Run, sources: list, precision: str) -> None:
    energy = run(body(sources=sources, boundary=THREE_KINDS["fixed, flux and convection"], precision=precision)).energy
    assert abs(energy.relative_residual) < TOLERANCE[precision]
    assert energy.sources != 0.0


@pytest.mark.parametrize("precision", TOLERANCE)
def test_the_ledger_closes_at_every_moment(run: Run, precision: str) -> None:
    ledger = Recording((0.0, 0.001, 0.0077, 0.02), lambda state: state.energy)
    run(body(boundary=THREE_KINDS["fixed, flux and convection"], precision=precision), recorders=[ledger])
    assert len(ledger.seen) == 4
    assert all(abs(energy.relative_residual) < TOLERANCE[precision] for energy in ledger.seen)


def test_the_ledger_holds_what_the_scenario_says_enters(run: Run) -> None:
    """Constant power and flux: the heat is known without a simulation, to rounding."""
    boundary = {"x_min": flux(250.0), "y_max": flux(-70.0), "z_min": flux(33.0)}
    energy = run(body(boundary=boundary, sources=HEATERS)).energy
    lx, ly, lz = SIZE
    assert energy.faces["x_min"] == pytest.approx(250.0 * ly * lz * 0.02, rel=1e-10)
    assert energy.faces["y_max"] == pytest.approx(-70.0 * lx * lz * 0.02, rel=1e-10)
    assert energy.faces["z_min"] == pytest.approx(33.0 * lx * ly * 0.02, rel=1e-10)
    assert energy.sources == pytest.approx((3.0 + 40.0 * prod(SIZE) * lx / 2) * 0.02, rel=1e-12)


def test_single_precision_loses_heat_to_the_air_as_double_does(run: Run) -> None:
    """An aluminium plate with cells of 2 mm in air: a cell's Biot number is 8e-5, its loss 1e-4 K a step of 40 K."""
    lost = []
    for precision in TOLERANCE:
        text = case(
            (8, 1, 1),
            20.0,
            size=(0.016, 0.1, 0.1),
            materials={"aluminium": material(237.0, 2700.0, 900.0)},
            initial=100.0,
            boundary={"x_max": convection(10.0, 20.0)},
            precision=precision,
        )
        lost.append(run(text).energy.faces["x_max"])
    assert lost[0] < 0.0
    assert lost[1] == pytest.approx(lost[0], rel=1e-3)


def heat_capacities(outcome: RunOutcome) -> np.ndarray:
    """(nz, ny, nx) J/K of each cell, from the painted materials."""
    values = np.array([m["density"] * m["heat_capacity"] for m in MATERIALS.values()])
    return values[outcome.problem.material_ids()] * prod(SIZE) / prod(CELLS)


def test_stored_energy_is_heat_capacity_times_rise(run: Run) -> None:
    outcome = run(body(boundary=on_axes(x="fixed", y="flux")))
    rise = outcome.temperature - outcome.initial
    assert outcome.energy.stored == pytest.approx((heat_capacities(outcome) * rise).sum(), rel=1e-11)


@pytest.mark.parametrize("boundary", [on_axes(), on_axes(x="periodic", z="periodic")], ids=["insulated", "periodic"])
def test_an_insulated_box_of_two_materials_keeps_its_energy(run: Run, boundary: dict) -> None:
    outcome = run(body(end=0.5, boundary=boundary, sources=[]))
    capacity = heat_capacities(outcome)
    before, after = ((capacity * field).sum() for field in (outcome.initial, outcome.temperature))
    assert outcome.state.step > 100
    assert np.ptp(outcome.temperature) < 0.1 * np.ptp(outcome.initial)  # heat did move
    assert after == pytest.approx(before, rel=1e-12)


def test_an_insulated_body_of_one_material_keeps_its_mean_and_ends_at_it(run: Run) -> None:
    outcome = run(case(CELLS, 0.6, size=SIZE, initial=HOT_SPOT))
    mean = outcome.initial.mean()
    assert outcome.temperature.mean() == pytest.approx(mean, rel=1e-12)
    # the slowest mode decays at (pi/L)^2 of the longest side
    left = np.ptp(outcome.initial) * np.exp(-0.6 * (pi / max(SIZE)) ** 2)
    assert np.abs(outcome.temperature - mean).max() < left


@in_turn(
    "boundary", [ALONE["insulated along x"], on_axes(x="periodic"), on_axes(x="periodic", y="periodic", z="periodic")]
)
def test_extremes_never_grow_in_a_closed_box(run: Run, boundary: dict) -> None:
    extremes = Recording(
        tuple(np.linspace(0, 0.05, 20)), lambda state: (state.temperature().min(), state.temperature().max())
    )
    run(body(end=0.05, boundary=boundary, sources=[]), recorders=[extremes])
    lows, highs = np.array(extremes.seen).T
    rounding = 1e-13 * highs[0]
    assert (np.diff(lows) > -rounding).all()
    assert (np.diff(highs) < rounding).all()
    assert highs[-1] - lows[-1] < 0.5 * (highs[0] - lows[0])


def test_temperatures_stay_between_those_of_the_start_and_the_surroundings(run: Run) -> None:
    boundary = {"x_min": fixed("10 + 50*sin(200*t)"), "y_max": convection(200.0, -30.0), "z_max": convection(5.0, 90.0)}
    outcome = run(body(end=0.1, boundary=boundary, sources=[]))
    assert outcome.temperature.min() >= -40.0
    assert outcome.temperature.max() <= 90.0
    assert outcome.temperature.min() < 20.0  # colder than anything at the start


@in_turn("axis", AXES)
def test_heat_flows_in_at_the_hot_face_and_out_at_the_cold_one(run: Run, axis: str) -> None:
    energy = run(
        body(
            end=0.1,
            initial=50.0,
            sources=[],
            boundary={f"{axis}_min": fixed(90.0), f"{axis}_max": convection(9.0, 10.0)},
        )
    ).energy
    assert energy.faces[f"{axis}_min"] > 0.0 > energy.faces[f"{axis}_max"]


def test_joining_opposite_faces_by_a_period_lets_heat_pass_between_them(run: Run) -> None:
    start = "100 if x < 0.1 else 0"
    closed = run(body(initial=start, sources=[], boundary=both("x", INSULATED)))
    joined = run(body(initial=start, sources=[], boundary=both("x", PERIODIC)))
    assert joined.temperature[:, :, -1].min() > 20.0 * closed.temperature[:, :, -1].max()
