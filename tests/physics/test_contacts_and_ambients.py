"""Contact resistance between materials, and regions that are ambients: held, not solved."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from build_up_cases import INTEGRATORS, Table, box, grid, layers, material, run, scenario
from heatsim_kernels.explicit.coefficients import Forcing
from helpers import in_memory
from helpers.in_memory import problem_of
from helpers.in_turn import in_turn
from helpers.scenario_texts import convection, fixed

import heatsim
from heatsim.errors import RunawayError, ScenarioError
from heatsim.scenario import loads

ROOM = {"temperature": 60.0, "coefficient": 8.0}
EVERYWHERE = [-9.0, -9.0, -9.0]


def test_a_composite_wall_with_contacts_is_exact() -> None:
    """Temperature falls by q R at a contact and is straight in between."""
    state = run(
        scenario(
            grid((0.1, 10), (0.2, 2), (0.3, 1)),
            {"copper": material(400.0), "glass": material(1.0), "steel": material(16.0)},
            regions=[
                {"material": "copper"},
                box("glass", [0.03, -9, -9], [0.06, 9, 9]),
                box("steel", [0.06, -9, -9], [9, 9, 9]),
            ],
            contacts=[
                {"between": ["glass", "copper"], "resistance": 0.02},
                {"between": ["glass", "steel"], "resistance": 0.005},
            ],
            boundary={"x_min": fixed(100.0), "x_max": fixed(0.0)},
        )
    )
    q = 100.0 / (0.03 / 400 + 0.02 + 0.03 / 1.0 + 0.005 + 0.04 / 16.0)
    assert state.energy.faces["x_min"] == pytest.approx(q * 0.06, rel=1e-8)
    centres = state.problem.grid.centres("x")
    copper = 100.0 - q * centres[:3] / 400
    glass = 100.0 - q * (0.03 / 400 + 0.02 + (centres[3:6] - 0.03) / 1.0)
    steel = q * (0.1 - centres[6:]) / 16.0
    np.testing.assert_allclose(state.temperature()[0, 1], np.concatenate((copper, glass, steel)), rtol=1e-8)


# A ball, which has oblique contacts, across a periodic face; and rings.
BALL: Table = {
    "grid": grid((1.0, 8), (1.0, 9), (1.0, 7)),
    "materials": {"a": material(1.0, 20.0), "b": material([0.2, 3.0, 0.7], 30.0)},
    "regions": [{"material": "a"}, {"material": "b", "sphere": {"center": [0.5, 0.1, 0.5], "radius": 0.4}}],
    "initial": {"temperature": "20 + 30*x*y"},
    "boundary": {"y_min": {"kind": "periodic"}, "y_max": {"kind": "periodic"}, "x_max": fixed(90.0)},
}
RINGS: Table = {
    "grid": grid((0.4, 8), (2 * np.pi, 1), (0.5, 4), origin=(0.1, 0.0, 0.0), coordinates="cylindrical"),
    "materials": {"a": material(1.0, 20.0), "b": material(3.0, 30.0)},
    "regions": [{"material": "a"}, {"material": "b", "where": "x > 0.25 and z < 0.3"}],
    "initial": {"temperature": "20 + 30*x*z"},
    "boundary": {"x_max": fixed(90.0), "z_min": fixed(10.0)},
}


@in_turn("integrator", INTEGRATORS)
@in_turn("body", [BALL, RINGS], ids=["ball", "rings"])
def test_a_contact_in_temperature_and_time_is_that_of_a_number(body: Table, integrator: str) -> None:
    """Heat that passes from cell to cell as the resistance of the moment has it, against a conductance of the grid."""
    number, state = (
        run(scenario(**body, integrator=integrator, end=0.1, contacts=[{"between": ["a", "b"], "resistance": value}]))
        for value in (0.2, "0.2 + 0*T" if integrator == "steady" else "0.2 + 0*(T + t)")
    )
    assert state.problem.temperature_dependent > number.problem.temperature_dependent
    field, accuracy = number.temperature(), 1e-9 if integrator == "euler" else 1e-6
    np.testing.assert_allclose(state.temperature(), field, rtol=accuracy)
    assert abs(state.energy.relative_residual) < 1e-10
    problems = state.problem, number.problem
    fluxes = [problem.flux_and_gradient(field - problem.reference, 0.0)[0] for problem in problems]
    np.testing.assert_allclose(*fluxes, rtol=1e-9, atol=1e-9)


def test_a_contact_takes_the_mean_temperature_of_its_surfaces() -> None:
    """Two slabs in balance: (T1 - T2) = q R(Tm) between the surfaces that the heat through the half slabs leaves."""
    state = run(
        scenario(
            grid((0.1, 8), (1.0, 1), (1.0, 1)),
            {"a": material(10.0), "b": material(2.0)},
            regions=[{"material": "a"}, box("b", [0.05, -9, -9], [9, 9, 9])],
            contacts=[{"between": ["a", "b"], "resistance": "1e-3*(1 + (T/20)**2)"}],
            boundary={"x_min": fixed(100.0), "x_max": fixed(0.0)},
        )
    )
    q = state.energy.faces["x_min"]
    warm, cold = 100.0 - q * 0.05 / 10.0, q * 0.05 / 2.0
    assert warm - cold == pytest.approx(q * 1e-3 * (1.0 + ((warm + cold) / 40.0) ** 2), rel=1e-8)
    assert warm - cold > 20.0


@pytest.mark.parametrize("integrator", ["euler", "implicit"])
def test_two_bodies_settle_through_a_contact_that_closes(integrator: str) -> None:
    """Of good conductors, G(t) = A/(R0/(1 + t)): their difference falls as exp(-(1/C1 + 1/C2) A/R0 (t + t^2/2))."""
    state = run(
        scenario(
            grid((0.02, 2), (1.0, 1), (1.0, 1)),
            {"a": material(1e9, 1e5), "b": material(1e9, 3e5)},
            integrator,
            2.0,
            regions=[{"material": "a"}, box("b", [0.01, -9, -9], [9, 9, 9])],
            contacts=[{"between": ["a", "b"], "resistance": "5e-3/(1 + t)"}],
            initial={"temperature": "100 - 3000*x"},
            time={"end": 2.0, "integrator": integrator, "step": 0.002 if integrator == "euler" else 0.02},
        )
    )
    cold, warm = sorted(state.temperature().ravel().tolist())
    decay = np.exp(-(1e-3 + 1e-3 / 3.0) / 5e-3 * (2.0 + 2.0))
    assert warm - cold == pytest.approx(30.0 * decay, rel=2e-3 if integrator == "euler" else 1e-5)
    assert abs(state.energy.relative_residual) < 1e-10


def test_an_explicit_step_heeds_contacts_that_close() -> None:
    """Two cells with nothing but a contact in between, whose resistance is all but gone at the end."""
    text = scenario(
        grid((0.02, 2), (1.0, 1), (1.0, 1)),
        {"a": material(50.0, 1e6), "b": material(50.0, 3e6)},
        "euler",
        100.0,
        regions=[{"material": "a"}, box("b", [0.01, -9, -9], [9, 9, 9])],
        contacts=[{"between": ["a", "b"], "resistance": "1e-2*exp(-t)"}],
        initial={"temperature": "40 - 2000*x"},
    )
    closed, state = problem_of(text.replace('"1e-2*exp(-t)"', "1e-30")), run(text)
    assert state.problem.stability_limit == pytest.approx(closed.stability_limit, rel=1e-6)
    np.testing.assert_allclose(state.temperature()[0, 0], (30.0 + 3.0 * 10.0) / 4.0, rtol=1e-6)


def test_what_passes_through_a_contact_does_not_hide_that_a_source_runs_away() -> None:
    """In 0.1 s the source grows a hundredfold, and still releases far less than what passes."""
    problem = problem_of(
        scenario(
            grid((0.02, 2), (1.0, 1), (1.0, 1)),
            {"a": material(50.0, 1e6), "b": material(50.0, 3e6)},
            "euler",
            regions=[{"material": "a"}, box("b", [0.01, -9, -9], [9, 9, 9])],
            contacts=[{"between": ["a", "b"], "resistance": "1e-2*(1 + t)"}],
            sources=[{"power_density": "1e3*exp(T - 20)", "material": "a"}],
        )
    )
    nothing = np.zeros((1, problem.coefficients.boundary_size))
    offset = np.array([20.0, 5000.0]).reshape(1, 1, 2) - problem.reference
    with pytest.raises(RunawayError, match="grows by over 50%"):
        problem.with_temperature_sources(Forcing(nothing, nothing), offset, 0.0, 0.1)


@pytest.mark.gpu
@pytest.mark.parametrize("kernel", ["register", "temporal"])
def test_a_contact_that_changes_has_the_same_bits_on_a_gpu(kernel: str) -> None:
    contacts = [{"between": ["a", "b"], "resistance": "0.2*(1 + t)*(1 + 0.01*T)"}]
    text = scenario(**BALL, integrator="euler", end=0.1, contacts=contacts)
    found, expected = (in_memory.run(text, name) for name in (kernel, "cpu"))
    assert np.array_equal(found.temperature, expected.temperature)


@in_turn(
    ("resistance", "integrator", "message"),
    [
        ("1e-3*(T - 25)", "euler", "contacts.0.resistance: expected at least 0 m2 K/W, found -0.005"),
        ("1e-3/(t - 0.5)**2", "implicit", "contacts.0.resistance: expected finite values"),
        ("1e-3*(1 + t)", "rkl2", "time.integrator: rkl2 takes no contact whose resistance depends on t or T"),
        ("1e-3*(1 + t)", "steady", "time.integrator: a steady state needs"),
        ("1e-3*x", "euler", "contacts.0.resistance: expected"),
    ],
)
def test_contacts_that_cannot_be_are_refused(resistance: str, integrator: str, message: str) -> None:
    text = scenario(
        grid((0.02, 4), (1.0, 1), (1.0, 1)),
        {"a": material(50.0, 1e6), "b": material(50.0, 3e6)},
        integrator,
        1.0,
        regions=[{"material": "a"}, box("b", [0.01, -9, -9], [9, 9, 9])],
        contacts=[{"between": ["a", "b"], "resistance": resistance}],
        boundary={"x_min": fixed(20.0)},
    )
    with pytest.raises(ScenarioError) as error:
        run(text)
    assert message in str(error.value)


def test_contacts_between_materials_that_never_touch_are_told() -> None:
    text = scenario(
        grid((0.4, 4), (1.0, 1), (1.0, 1)),
        {"a": material(1.0), "b": material(1.0), "c": material(1.0)},
        "euler",
        regions=[
            {"material": "a"},
            box("b", [0.1, -9, -9], [0.3, 9, 9]),
            box("c", [0.3, -9, -9], [9, 9, 9]),
        ],
        contacts=[{"between": ["c", "b"], "resistance": 1.0}, {"between": ["a", "c"], "resistance": 1.0}],
    )
    (warning,) = problem_of(text).warnings()
    assert warning.key == "contacts.1.between"
    assert "never touch" in warning.message


def bar(integrator: str, cells: Table | None = None, **sections: Any) -> str:
    return scenario(
        cells or grid((1.0, 10), (0.2, 2), (0.3, 3)),
        {"brick": material(0.7, 10.0)},
        integrator,
        0.5,
        **({"boundary": {"x_min": fixed(0.0)}, "sources": [{"power": 3.0}]} | sections),
    )


@in_turn("integrator", INTEGRATORS)
@in_turn("held", [{"coefficient": 8.0}, {"resistance": 0.125}])
def test_an_ambient_beyond_the_end_of_a_bar_is_convection_at_its_end(integrator: str, held: Table) -> None:
    at_face = run(bar(integrator, boundary={"x_min": fixed(0.0), "x_max": convection(8.0, 60.0)}))
    within = run(
        bar(
            integrator,
            grid(layers((1.0, 10), (0.3, 2)), (0.2, 2), (0.3, 3)),
            ambients={"room": {"temperature": 60.0, **held}},
            regions=[{"material": "brick"}, box("room", [1.0, -9, -9], [9, 9, 9])],
        )
    )
    assert within.problem.stability_limit == pytest.approx(at_face.problem.stability_limit, rel=1e-12)
    field = within.temperature()
    assert (field[..., 10:] == 60.0).all()
    np.testing.assert_allclose(field[..., :10], at_face.temperature(), rtol=1e-9)
    assert within.energy.ambients["room"] == pytest.approx(at_face.energy.faces["x_max"], rel=1e-8)
    assert within.energy.stored == pytest.approx(at_face.energy.stored, rel=1e-8, abs=1e-12)
    assert within.energy.faces["x_max"] == 0.0
    assert abs(within.energy.relative_residual) < 1e-10


def hollow_block(integrator: str) -> str:
    """Materials with a contact and an anisotropic one about a hollow, periodic along y, with ambients on all sides."""
    return scenario(
        grid(layers((0.1, 2), (0.3, 5), (0.1, 1)), (0.4, 6), (0.5, 5)),
        {"a": material(1.0, 20.0), "b": material([0.2, 3.0, 0.7], 30.0)},
        integrator,
        0.3,
        ambients={
            "room": ROOM,
            "hollow": {"temperature": -20.0, "resistance": 0.3},
            "unused": {"temperature": 900.0, "coefficient": 1.0},
        },
        regions=[
            {"material": "a"},
            box("b", [0.2, -9, -9], [9, 9, 9]),
            box("hollow", [0.1, 0.1, 0.15], [0.35, 0.2, 0.35]),
            box("room", [-9, -9, 0.39], [0.3, 9, 9]),
            box("room", [0.4, 0.3, -9], [9, 9, 9]),
        ],
        contacts=[{"between": ["a", "b"], "resistance": 0.2}],
        initial={"temperature": "20 + 30*x"},
        boundary={
            "default": convection(5.0, 10.0),
            "y_min": {"kind": "periodic"},
            "y_max": {"kind": "periodic"},
            "x_max": {"kind": "flux", "flux": 25.0},
        },
        sources=[{"power": 5.0, "region": {"box": {"lower": [0, 0, 0], "upper": [0.5, 0.4, 0.25]}}}],
    )


@in_turn("integrator", INTEGRATORS)
def test_the_ledger_closes_with_ambients_on_all_sides(integrator: str) -> None:
    state = run(hollow_block(integrator))
    energy, problem = state.energy, state.problem
    assert abs(energy.relative_residual) < 1e-10
    assert energy.ambients["room"] > 0.1 > -0.1 > energy.ambients["hollow"]
    assert energy.ambients["unused"] == 0.0
    assert energy.sources == pytest.approx(5.0 * (1.0 if integrator == "steady" else 0.3), rel=1e-9)
    assert next(iter(problem.initial_planes())).shape == (6, 8)
    materials, field = problem.material_ids(), state.temperature()
    assert materials is not None
    assert set(np.unique(materials)) == {0, 1, 2, 3}  # a, b, room, hollow
    assert np.allclose(field[materials == 2], 60.0)
    assert np.allclose(field[materials == 3], -20.0)
    solid = materials < 2
    capacity = np.array([20.0, 30.0])[materials[solid]] * np.stack([problem.grid.volumes(z) for z in range(5)])[solid]
    x = np.broadcast_to(problem.grid.centres("x"), field.shape)[solid]
    if integrator != "steady":
        assert (capacity * (field[solid] - 20.0 - 30.0 * x)).sum() == pytest.approx(energy.stored, rel=1e-9)


def test_long_explicit_and_implicit_runs_end_in_the_steady_state() -> None:
    limit = run(hollow_block("steady")).temperature()
    for integrator in ("euler", "implicit"):
        text = hollow_block(integrator).replace("end = 0.3", "end = 20.0")
        np.testing.assert_allclose(run(text).temperature(), limit, atol=1e-6)


def test_a_power_is_released_in_the_solid_part_of_its_region() -> None:
    state = run(
        bar(
            "euler",
            ambients={"room": ROOM},
            regions=[{"material": "brick"}, box("room", [0.5, -9, -9], [9, 9, 9])],
            sources=[{"power": 7.0, "region": {"box": {"lower": [0.3, -9, -9], "upper": [0.8, 9, 9]}}}],
        )
    )
    assert state.energy.sources == pytest.approx(7.0 * 0.5, rel=1e-12)


def test_a_steady_state_may_be_tied_to_an_ambient_alone() -> None:
    room: dict[str, Any] = {
        "ambients": {"room": ROOM},
        "regions": [{"material": "brick"}, box("room", [0.8, -9, -9], [9, 9, 9])],
    }
    state = run(bar("steady", boundary={}, **room))
    assert state.energy.ambients["room"] == pytest.approx(-3.0, rel=1e-9)
    with pytest.raises(ScenarioError, match="no steady state"):
        problem_of(bar("steady", boundary={}))


def test_a_box_of_ambients_alone_is_refused() -> None:
    with pytest.raises(ScenarioError, match="ambients alone"):
        problem_of(bar("euler", ambients={"room": ROOM}, regions=[{"material": "room"}]))


def test_every_cell_may_be_of_a_kind_of_its_own() -> None:
    """Cells unequal along all axes: more kinds than tables are made for, so boundary faces come cell by cell."""
    rng = np.random.default_rng(0)
    edges = [{"edges": np.concatenate(([0], np.cumsum(rng.uniform(1, 2, n)))).tolist()} for n in (18, 17, 16)]
    sections: Table = {
        "boundary": {"default": fixed(10.0), "z_max": convection(2.0, 30.0), "x_max": {"kind": "flux", "flux": 4.0}},
        "sources": [{"power": 100.0}],
        "ambients": {"room": ROOM},
        "regions": [{"material": "brick"}, box("room", [5, 5, 5], [9, 9, 9])],
    }
    state = run(bar("euler", grid(*edges), **sections))
    assert state.problem.coefficients.class_count > 4096
    assert state.problem.coefficients.boundary_per_cell
    assert abs(state.energy.relative_residual) < 1e-11
    assert min(abs(heat) for heat in [*state.energy.faces.values(), *state.energy.ambients.values()]) > 0


def test_iso_10211_case_3_on_a_coarse_grid() -> None:
    """Wall corner with balcony (EN ISO 10211, A.4): heat flows 46.09, 13.89 and -59.98 W."""
    mm = 1e-3
    near = [(0.01, 1), (0.1, 2), (0.05, 2), (0.15, 3), (0.1, 2), (0.3, 3), (0.6, 2)]
    y = layers((0.01, 1), (0.3, 2), (0.2, 2), (0.1, 3), *near[1:])
    z = layers((0.6, 2), (0.3, 3), (0.1, 3), (0.15, 4), (0.05, 2), (0.1, 3), (0.25, 3), (0.6, 2))

    def filled(name: str, x0: float, y0: float, z0: float = 0.0, z1: float = 2150.0) -> Table:
        return box(name, [x0 * mm, y0 * mm, z0 * mm], [1200 * mm, 1200 * mm, z1 * mm])

    state = run(
        scenario(
            grid(layers(*near), y, z, origin=(-0.11, -0.71, 0.0)),
            {
                "external": material(1.0),
                "insulation": material(0.04),
                "internal": material(0.7),
                "slab": material(2.5),
                "floor": material(1.0),
            },
            ambients={
                "outside": {"temperature": 0.0, "resistance": 0.05},
                "lower": {"temperature": 20.0, "resistance": 0.2},
                "upper": {"temperature": 15.0, "resistance": 0.2},
            },
            regions=[
                {"material": "outside"},
                filled("external", -100, -100),
                filled("insulation", 0, 0),
                filled("internal", 50, 50),
                filled("lower", 200, 200),
                filled("upper", 200, 200, 1150),
                filled("floor", 200, 200, 1150, 1200),
                filled("slab", 50, -700, 1000, 1150),
            ],
        )
    )
    flows = state.energy.ambients
    assert flows["lower"] == pytest.approx(46.09, rel=0.02)
    assert flows["upper"] == pytest.approx(13.89, rel=0.02)
    assert flows["outside"] == pytest.approx(-59.98, rel=0.02)
    assert sum(flows.values()) == pytest.approx(0.0, abs=1e-6)


def test_the_energy_table_has_a_column_for_each_ambient(tmp_path: Path) -> None:
    text = bar(
        "steady",
        boundary={},
        ambients={"room": ROOM, "attic": ROOM},
        regions=[{"material": "brick"}, box("room", [0.8, -9, -9], [9, 9, 9])],
        output={"energy": {"every": 1.0}, "snapshots": {"count": 1}},
    )
    heatsim.run(loads(text), tmp_path / "run")
    with (tmp_path / "run" / "energy.csv").open(encoding="utf-8") as file:
        (row,) = csv.DictReader(file)
    assert float(row["room [W]"]) == pytest.approx(-3.0, rel=1e-9)
    assert float(row["attic [W]"]) == 0.0
    told = json.loads((tmp_path / "run" / "run.json").read_text(encoding="utf-8"))["energy"]["ambients"]
    assert told == {"room": float(row["room [W]"]), "attic": 0.0}


@pytest.mark.parametrize("kernel", ["cpu", pytest.param("register", marks=pytest.mark.gpu)])
def test_compiling_ahead_brings_no_heat_from_ambients(kernel: str, tmp_path: Path) -> None:
    """A run makes a step of no length first, which a body with k(T) must not feel."""
    text = hollow_block("euler").replace("conductivity = 1.0", 'conductivity = "1 + 0.001*T"')
    where = [f"compute.kernel={kernel}", f"compute.device={'cpu' if kernel == 'cpu' else 'cuda'}"]
    energy = heatsim.run(loads(text, None, where), tmp_path / "run").info["energy"]
    assert abs(energy["relative_residual"]) < 1e-10
    assert energy["ambients"]["room"] > 0.1
