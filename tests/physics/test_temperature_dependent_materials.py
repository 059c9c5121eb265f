"""Conductivity and heat capacity that depend on temperature, melting, radiating faces: physics with exact answers."""

from __future__ import annotations

import tomllib
from typing import Any

import numpy as np
import pytest
import tomli_w
from helpers import in_memory
from helpers.in_memory import Run, both, case
from helpers.scenario_texts import INSULATED, box, convection, fixed, flux, material

import heatsim.scenario
from heatsim.simulation import estimates, preparing
from heatsim.simulation.device_selection import DeviceChoice
from heatsim.solve.integrators import make_field
from heatsim.solve.state import State

KELVIN = 273.15
SIGMA = 5.670374419e-8
TABLE = {"T": [0.0, 100.0, 200.0], "value": [1.0, 3.0, 2.0]}


def taken_by(text: str, integrator: str, **time: float) -> str:
    document = tomllib.loads(text)
    document["time"] |= {"integrator": integrator, **time}
    return tomli_w.dumps(document)


def steady(text: str) -> str:
    return taken_by(text, "steady", tolerance=1e-8)


def radiation(emissivity: float | str, ambient: float | str) -> dict[str, Any]:
    return {"kind": "radiation", "emissivity": emissivity, "ambient": ambient}


def following(k: Any = 2.0, c: Any = 3.0, **others: Any) -> dict[str, Any]:
    return {"conductivity": k, "density": 10.0, "heat_capacity": c, **others}


def constant(value: float) -> dict[str, Any]:
    return {"T": [-50.0, 200.0], "value": [value, value]}


@pytest.mark.parametrize("integrator", ["euler", "rkl2"])
def test_explicit_steps_end_at_the_exact_temperatures_of_a_wall_between_fixed_faces(integrator: str) -> None:
    """Kirchhoff's potential is a straight line from face to face, through the half cells too."""
    text = case(
        [5, 1, 1], 200.0, materials={"wall": following(TABLE)}, boundary={"x_min": fixed(0.0), "x_max": fixed(200.0)}
    )
    found = in_memory.run(taken_by(text, integrator)).temperature[0, 0]
    T = np.linspace(0.0, 200.0, 4001)
    potential = np.where(T < 100, T + T**2 / 100, 200 + 3 * (T - 100) - (T - 100) ** 2 / 200)
    np.testing.assert_allclose(found, np.interp(450.0 * (np.arange(5) + 0.5) / 5, potential, T), atol=2e-3)


def test_given_faces_that_vary_in_time_and_place_agree_with_the_solver() -> None:
    """A temperature on a part of a face and a flux on the rest, both of which change."""
    patched = flux("200*(1 + y)") | {"patches": [fixed("50 + 20*sin(t)") | {"where": "y < 0.5"}]}
    faces = {"x_min": patched, "x_max": fixed("10*y + t"), "y_max": convection(5.0, 20.0)}
    text = case([8, 6, 1], 4.0, materials={"a": following(TABLE, constant(3.0))}, boundary=faces, initial=20.0)
    explicit, solved = in_memory.run(text), in_memory.run(taken_by(text, "implicit", tolerance=1e-5))
    np.testing.assert_allclose(explicit.temperature, solved.temperature, atol=0.25)
    assert abs(explicit.energy.relative_residual) < 1e-12
    assert explicit.energy.faces["x_min"] == pytest.approx(solved.energy.faces["x_min"], rel=5e-3)


def test_a_wall_passes_the_integral_of_its_conductivity_in_the_steady_state() -> None:
    text = case(
        [8, 1, 1], 1.0, materials={"wall": following(TABLE)}, boundary={"x_min": fixed(0.0), "x_max": fixed(200.0)}
    )
    done = in_memory.run(steady(text))
    assert done.energy.faces["x_max"] == pytest.approx(450.0, rel=1e-7)  # (200 + 250) W/m2 through 1 m2
    assert done.energy.faces["x_min"] == pytest.approx(-450.0, rel=1e-7)
    assert abs(done.energy.relative_residual) < 1e-10
    residuals = done.state.solver_statistics.residuals
    assert residuals[-1] < 1e-8 < residuals[0]


def test_a_plate_between_a_heated_and_a_radiating_face_finds_the_temperature_that_radiates_the_heat() -> None:
    text = case([4, 1, 1], 1.0, boundary={"x_min": flux(1000.0), "x_max": radiation(0.8, 20.0)}, initial=20.0)
    done = in_memory.run(steady(text))
    outside = ((1000.0 / (0.8 * SIGMA)) + (20.0 + KELVIN) ** 4) ** 0.25 - KELVIN
    assert done.temperature[0, 0] == pytest.approx(outside + 1000.0 * (1.0 - np.array([1, 3, 5, 7]) / 8), rel=1e-7)


def test_an_ambient_in_the_grid_takes_the_heat_of_a_temperature_dependent_body() -> None:
    text = case(
        [6, 1, 1],
        1.0,
        materials={"wall": following(TABLE)},
        regions=[{"material": "room", **box([0.5, 0.0, 0.0], [1.0, 1.0, 1.0])}],
        boundary={"x_min": fixed(100.0)},
    )
    room = {"ambients": {"room": {"temperature": 0.0, "coefficient": 4.0}}}
    done = in_memory.run(steady(text + tomli_w.dumps(room)))
    heat = -done.energy.ambients["room"]
    surface = heat / 4.0
    # k = 1 + T/50 over 0.5 m; of the half cell beside an ambient it is taken in the middle
    assert heat * 0.5 == pytest.approx((100.0 - surface) + (100.0**2 - surface**2) / 100.0, rel=5e-4)
    assert done.energy.faces["x_min"] == pytest.approx(heat, rel=1e-9)
    assert done.temperature[0, 0, 3:] == pytest.approx(0.0, abs=1e-12)


def test_a_body_heated_through_its_melting_point_stays_there_until_it_has_melted() -> None:
    melting = {"latent": {"heat": 100.0, "solidus": 30.0, "liquidus": 30.0}}
    share = []
    for end in (5.0, 15.0, 25.0, 45.0):  # 100 W into 10 kg, in 1 m3: 3 J/(kg K), 100 J/kg
        text = case([4, 2, 2], end, materials={"ice": following(**melting)}, sources=[{"power": 100.0}], step=0.25)
        done = in_memory.run(text)
        heat = 100.0 * end / 10.0  # J/kg
        expected = heat / 3.0 if heat < 90.0 else max(30.0, 30.0 + (heat - 190.0) / 3.0)
        assert done.temperature == pytest.approx(expected, abs=1e-6)
        melted = done.state.melted_fraction()
        assert melted == pytest.approx(min(max((heat - 90.0) / 100.0, 0.0), 1.0), abs=1e-6)
        assert done.energy.stored == pytest.approx(100.0 * end, rel=1e-10)
        share.append(float(melted.mean()))
    assert share[0] == 0.0
    assert 0.0 < share[1] < 1.0
    assert share[-1] == 1.0


@pytest.mark.parametrize("integrator", ["euler", "implicit"])
def test_two_bodies_melt_each_at_its_own_point(integrator: str) -> None:
    """Held apart, and each heated by 1 W/m3: all of their histories are known."""
    ice, wax = {"heat": 10.0, "solidus": 30.0, "liquidus": 30.0}, {"heat": 7.0, "solidus": 41.3, "liquidus": 43.7}
    text = case(
        [2, 1, 1],
        1300.0,
        materials={"ice": following(1.0, latent=ice), "wax": following(1.0, 5.0, latent=wax)},
        regions=[{"material": "wax", "where": "x > 0.5"}],
        initial=20.0,
        sources=[{"power_density": 1.0}],
    )
    apart = {"contacts": [{"between": ["ice", "wax"], "resistance": 1e12}]}
    recording = in_memory.Recording(
        tuple(np.arange(20.0, 1300.0, 20.0)), lambda state: state.temperature().copy().ravel()
    )
    done = in_memory.run(taken_by(text, integrator) + tomli_w.dumps(apart), recorders=[recording])
    heat = np.array(recording.times) / 10.0  # J/kg
    ice_then = np.interp(heat, [0, 30, 40, 130], [20, 30, 30, 60])
    wax_then = np.interp(heat, [0, 106.5, 125.5, 130], [20, 41.3, 43.7, 44.6])
    np.testing.assert_allclose(np.array(recording.seen), np.stack([ice_then, wax_then], axis=1), atol=1e-6)
    assert done.energy.stored == pytest.approx(1300.0, rel=1e-10)
    assert done.energy.sources == pytest.approx(1300.0, rel=1e-10)


def test_a_cell_that_radiates_cools_as_the_exact_solution_says(run: Run) -> None:
    text = case(
        [1, 1, 1],
        100.0,
        materials={"hot": material(1e6, 10.0, 30.0)},
        initial=700.0,
        boundary={"x_max": radiation(0.5, -KELVIN)},
        step=0.01,
    )
    done = run(text)
    start = 700.0 + KELVIN
    exact = start * (1.0 + 3.0 * 0.5 * SIGMA * start**3 * 100.0 / 300.0) ** (-1.0 / 3.0) - KELVIN
    assert float(done.temperature[0, 0, 0]) == pytest.approx(exact, abs=0.1)
    assert abs(done.energy.relative_residual) < 1e-12


EVERYTHING = case(
    [12, 8, 6],
    2.0,
    materials={
        "steel": following(TABLE, "3 + 0.01*T", latent={"heat": 50.0, "solidus": 60.0, "liquidus": 70.0}),
        "glass": following([1.0, 2.0, 0.5], {"T": [0.0, 50.0], "value": [2.0, 4.0]}),
    },
    regions=[
        {"material": "glass", **box([0.5, 0.0, 0.0], [1.0, 1.0, 0.5])},
        {"material": "room", **box([0.0, 0.0, 0.75], [0.3, 1.0, 1.0])},
    ],
    initial="20 + 40*x*y",
    boundary={
        "x_min": fixed("80 + 10*sin(t)"),
        "x_max": radiation("0.5 + 0.3*y", 300.0),
        "y_min": convection(5.0, 0.0),
        "y_max": flux("100*x"),
        "z_min": {**INSULATED, "patches": [{"where": "x < 0.5", **radiation(1.0, "500 + 100*t")}]},
    },
    sources=[{"power": "500*(1 + sin(t))", "region": box([0.2, 0.2, 0.2], [0.6, 0.6, 0.6])}],
) + tomli_w.dumps(
    {
        "ambients": {"room": {"temperature": 10.0, "coefficient": 20.0}},
        "contacts": [{"between": ["steel", "glass"], "resistance": 0.05}],
    }
)


@pytest.mark.parametrize(("precision", "tolerance"), [("float64", 1e-12), ("float32", 1e-5)])
def test_the_ledger_closes_with_everything_that_depends_on_temperature(
    run: Run, precision: str, tolerance: float
) -> None:
    done = run(EVERYTHING.replace("float64", precision))
    assert float(done.temperature.max()) > 70.0  # part of it has melted
    assert 0.0 < float(done.state.melted_fraction().mean()) < 1.0
    assert done.energy.ambients["room"] != 0.0
    assert all(done.energy.faces[face] != 0.0 for face in ("x_min", "x_max", "y_min", "y_max", "z_min"))
    assert abs(done.energy.relative_residual) < tolerance


LINEAR = {"boundary": {"x_min": fixed("50 + 5*t"), "x_max": convection("3 + y", 10.0), "z_max": flux("20*x")}}
GRIDS = {
    "equal": {},
    "unequal": {"x": {"edges": [0.0, 0.1, 0.3, 0.35, 0.6, 1.0]}, "z": {"edges": [0.0, 0.2, 0.5, 1.0]}},
}


@pytest.mark.parametrize("grid", GRIDS)
def test_a_table_of_one_value_gives_what_the_number_gives(grid: str) -> None:
    outcomes = []
    for value in (lambda number: number, constant):
        materials = {"a": following(value(2.0), value(3.0)), "b": following(value(0.5), 1.0)}
        text = case(
            [5, 4, 3],
            1.0,
            materials=materials,
            regions=[{"material": "b", **box([0.4, 0.0, 0.0], [1.0, 1.0, 0.6])}],
            initial="30*x*y*z",
            sources=[{"power_density": "5*x"}],
            step=0.01,
            **LINEAR,  # type: ignore[arg-type]
        )
        extra = "".join(f"{axis} = {{ edges = {given['edges']} }}\n" for axis, given in GRIDS[grid].items())
        outcomes.append(in_memory.run(text.replace("[grid]\n", f"[grid]\n{extra}")))
    linear, tabled = outcomes
    assert not linear.problem.temperature_dependent
    assert tabled.problem.temperature_dependent
    assert tabled.temperature == pytest.approx(linear.temperature, abs=1e-9)
    for face, heat in linear.energy.faces.items():
        assert tabled.energy.faces[face] == pytest.approx(heat, abs=1e-8)


def test_cylindrical_coordinates_hold_for_tables_too() -> None:
    outcomes = []
    for conductivity in (2.0, constant(2.0)):
        text = case(
            [6, 1, 2],
            0.5,
            size=[1.0, 2.0 * np.pi, 1.0],
            materials={"a": following(conductivity)},
            initial="30*x",
            boundary={"x_max": convection(7.0, 80.0), "z_min": fixed(10.0)},
            step=0.01,
        )
        outcomes.append(in_memory.run(text.replace("[grid]\n", '[grid]\ncoordinates = "cylindrical"\n')))
    assert outcomes[1].temperature == pytest.approx(outcomes[0].temperature, abs=1e-9)


def test_what_leaves_its_table_is_told_once_and_goes_on() -> None:
    text = case([4, 1, 1], 1.0, materials={"a": following(TABLE)}, boundary=both("x", fixed(250.0)), initial=150.0)
    problem = in_memory.problem_of(text)
    state = State(problem, make_field(problem, "cpu"))
    assert state.temperature().max() < 200.0
    assert state.warnings == []
    done = in_memory.run(text)
    for _ in range(2):
        assert done.temperature.max() > 200.0
    (warning,) = done.state.warnings
    assert warning.startswith("materials.a: ")
    assert float(warning.split()[1]) == pytest.approx(done.temperature.max(), rel=1e-5)
    assert "known from 0 to 200 degC" in warning


@pytest.mark.parametrize("integrator", ["euler", "steady"])
def test_what_a_run_would_take_is_estimated_where_something_follows_temperature(integrator: str) -> None:
    text = case([4, 1, 1], 1.0, materials={"a": following(TABLE)}, boundary=both("x", fixed(50.0)))
    text = taken_by(text, "auto" if integrator == "euler" else integrator)
    problem, _, advice = preparing.resolve_auto(
        in_memory.problem_of(text), DeviceChoice("cpu", "cpu", "cpu"), full=True
    )
    numbers = estimates.estimate_run(problem, DeviceChoice("cpu", "2 CPU threads", "cpu"), advice)
    assert numbers["seconds"] > 0
    steps = numbers["steps"]
    if integrator == "steady":
        assert steps == 1
    else:  # between snapshots no more than 0.27/tolerance, for which the whole range would have to leap at the start
        assert steps % 10 == 0
        assert 1000 < steps <= 2710


@pytest.mark.parametrize(("cells", "reason"), [(4, "for the tolerance"), (400, "steps are done in no time")])
def test_auto_takes_euler_where_something_follows_temperature(cells: int, reason: str) -> None:
    text = case([cells, 1, 1], 1.0, materials={"a": following(TABLE)}, boundary=both("x", fixed(50.0)))
    problem, _, taken = preparing.resolve_auto(
        in_memory.problem_of(taken_by(text, "auto")), DeviceChoice("cpu", "cpu", "cpu")
    )
    assert problem.scenario.time.integrator == "euler"
    assert taken is not None
    assert reason in taken.reason


def test_the_reach_of_an_expression_ends_where_it_fails() -> None:
    # 4 - T/50 is positive below 200 degC only; nothing but the source could take the body there
    text = case([4, 1, 1], 1.0, materials={"a": following("4 - T/50")}, sources=[{"power": 1e4}], initial=20.0)
    done = in_memory.run(text)
    assert np.isfinite(done.temperature).all()
    assert done.temperature.max() > 200.0
    assert len(done.state.warnings) == 1


def test_a_scenario_says_whether_anything_follows_temperature() -> None:
    load = heatsim.scenario.loads
    key = heatsim.scenario.find_temperature_dependence
    assert key(load(case([2, 1, 1], 1.0))) is None
    assert key(load(case([2, 1, 1], 1.0, materials={"a": following(c="3 + 0*T")}))) == (
        "materials",
        "a",
        "heat_capacity",
    )
    patched = {"x_min": {**INSULATED, "patches": [{"where": "y > 0", **radiation(1.0, 0.0)}]}}
    assert key(load(case([2, 1, 1], 1.0, boundary=patched))) == ("boundary", "x_min")
