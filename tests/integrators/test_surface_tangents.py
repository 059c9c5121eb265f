"""Faces that depend on temperature on a body that does not: tangents to their flux serve several steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from heatsim_kernels.explicit.enthalpy.cpu.stepper import entering
from heatsim_kernels.explicit.enthalpy.cpu.surface_tangents import CpuSurfaceTangents
from heatsim_kernels.explicit.enthalpy.lookup_tables import EnthalpyTables
from heatsim_kernels.explicit.heat_ledger import boundary_cells
from helpers.arrays import same_bits
from helpers.in_memory import observed_order
from helpers.scenario_texts import Face, convection, fixed, flux, material
from integrator_cases import case, run, state_of

from heatsim.solve.integrators import euler

RADIATING = {"kind": "radiation", "emissivity": 0.9, "ambient": 20.0}
COOLED = convection("200*(abs(T - 20)/100)**0.33", 20.0)
FACES: dict[str, Face] = {"x_max": RADIATING, "x_min": COOLED}


def bar(faces: dict[str, Face] = FACES, cells: tuple[int, int, int] = (24, 1, 1), **time: Any) -> str:
    """A hot bar that cools through its ends for 4 s."""
    steel = {"steel": material(20.0, 7800.0, 500.0)}
    given = {"integrator": "euler", **time}
    return case(list(cells), 4.0, size=[0.024, 0.01, 0.01], materials=steel, initial=900.0, boundary=faces, **given)


def test_a_tangent_has_the_flux_and_the_slope_of_the_surface_balance() -> None:
    state = state_of(bar({**FACES, "y_min": fixed(100.0), "z_max": flux(500.0)}, (6, 3, 2)), kernel="cpu")
    problem, nothing = state.problem, np.zeros(1)
    assert problem.explicit_form is not None
    assert problem.surfaces is not None
    faces, boundary = problem.explicit_form.faces, problem.surfaces.at(nothing)
    linear = problem.linear_forcing(nothing)
    assert len(faces.cells) == 2 * 3 * 2  # the ends alone
    state.field.put(np.linspace(-300.0, 200.0, 36).reshape(2, 3, 6))
    found = state.explicit_forcing(nothing)
    others = np.setdiff1d(np.arange(found.boundary_a.size), faces.entries)
    assert np.array_equal(found.boundary_a[:, others], linear.boundary_a[:, others])
    assert np.array_equal(found.boundary_b[:, others], linear.boundary_b[:, others])
    resistance, T = 0.004 / 20.0, state.field.cells(boundary_cells((2, 3, 6), 1))
    here = slice(*problem.coefficients.boundary_offsets[1:3])
    a, b = found.boundary_a[0, here], found.boundary_b[0, here]
    flows = [entering(problem.coefficients, 1, T + dT, np.zeros(6, int), boundary) for dT in (-0.01, 0.0, 0.01)]
    np.testing.assert_allclose((a * T + b) / resistance, flows[1], rtol=1e-12)
    np.testing.assert_allclose(a / resistance, (flows[2] - flows[0]) / 0.02, rtol=1e-5)


def test_beside_a_conductivity_in_T_a_tangent_is_one_in_the_potential() -> None:
    materials = {"steel": {**material(20.0, 7800.0, 500.0), "conductivity": "20 + 0.03*T"}}
    text = case(
        [6, 3, 2], 4.0, size=[0.024, 0.01, 0.01], materials=materials, initial=900.0, boundary=FACES, integrator="euler"
    )
    state, nothing = state_of(text, kernel="cpu"), np.zeros(1)
    problem: Any = state.problem
    state.field.put(np.linspace(-300.0, 200.0, 36).reshape(2, 3, 6))
    coefficients, boundary = problem.coefficients, problem.surfaces.at(nothing)
    given, found = np.zeros(6, int), state.explicit_forcing(nothing)
    T, here = state.field.cells(boundary_cells((2, 3, 6), 1)), coefficients.boundary_values_of(1)
    flows, potentials = [], []
    for dT in (-0.01, 0.0, 0.01):
        flows.append(entering(coefficients, 1, T + dT, given, boundary))
        potentials.append(coefficients.tables.potential_at(T + dT, given))
    resistance = (coefficients.area * (coefficients.own + coefficients.other))[0, 1]
    a, b = found.boundary_a[0, here], found.boundary_b[0, here]
    np.testing.assert_allclose((a * potentials[1] + b) / resistance, flows[1], rtol=1e-12)
    np.testing.assert_allclose(a / resistance, (flows[2] - flows[0]) / (potentials[2] - potentials[0]), rtol=1e-3)


@pytest.mark.parametrize("ambient", [20.0, "20 + 200*sin(3*t)"])
def test_the_error_of_tangents_is_of_second_order_in_the_steps_that_they_serve(
    ambient: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(euler, "MAX_TANGENT_ERROR", 1e9)  # they serve as many steps as they may
    text = bar({"x_max": {**RADIATING, "ambient": ambient}, "x_min": COOLED}, step=0.005)
    fields = []
    for steps in (1, 8, 16, 32):
        monkeypatch.setattr(euler, "MAX_TANGENT_STEPS", steps)
        fields.append(run(text, kernel="cpu").temperature())
    errors = [float(np.abs(field - fields[0]).max()) for field in fields[1:]]
    assert 1.8 < observed_order([8, 16, 32], errors) < 2.2


def test_tangents_serve_fewer_steps_where_they_would_be_off() -> None:
    """Also after a jump, at which the last tangents are right still."""
    jump = {"x_min": {**RADIATING, "ambient": "3000.0 if t > 2 and t < 3 else 900.0"}}
    for faces in (FACES, jump):
        text = bar(faces, step=0.02)
        exact, usual = (_steps_with(text, limit) for limit in (0.0, euler.MAX_TANGENT_ERROR))
        assert np.abs(usual - exact).max() < 1e-4 * np.ptp(exact)


def test_tangents_follow_ambients_in_time_without_being_made_anew_in_every_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    faces = {"x_max": {**RADIATING, "ambient": "20 + 20*sin(3*t)"}, "x_min": convection("200 + 50*cos(2*t)", 20.0)}
    text, made, applied = bar(faces, step=0.005), [0], CpuSurfaceTangents.applied

    def counted(self: Any, *args: Any) -> Any:
        made[0] += 1
        return applied(self, *args)

    monkeypatch.setattr(CpuSurfaceTangents, "applied", counted)
    usual = _steps_with(text, euler.MAX_TANGENT_ERROR)
    assert made[0] < 100  # of 800 steps
    exact = _steps_with(text, 0.0)
    assert made[0] > 800
    assert np.abs(usual - exact).max() < 1e-4 * np.ptp(exact)


@pytest.mark.parametrize("uneven", [False, True])
def test_given_faces_in_time_are_looked_up_once_for_many_steps(uneven: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    materials = {"steel": {**material(20.0, 7800.0, 500.0), "conductivity": "20 + 0.03*T"}}
    surface = fixed("50*sin(t)" + (" + 1000*y" if uneven else ""))
    text = case([6, 3, 2], 4.0, materials=materials, boundary={"x_min": surface, "x_max": flux("9*t")}, step=0.01)
    problem: Any = state_of(text, kernel="cpu").problem
    asked, found = [0], EnthalpyTables.potential_at

    def counted(self: Any, *args: Any) -> Any:
        asked[0] += 1
        return found(self, *args)

    monkeypatch.setattr(EnthalpyTables, "potential_at", counted)
    times = 0.01 * np.arange(300)
    together = problem.tangent_lines(times, None, None)
    assert asked[0] == 1
    one_by_one = [problem.tangent_lines(times[i : i + 1], None, None) for i in range(300)]
    assert same_bits(together.boundary_b, np.concatenate([each.boundary_b for each in one_by_one]))


def _steps_with(text: str, limit: float) -> np.ndarray:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(euler, "MAX_TANGENT_ERROR", limit)
        return run(text, kernel="cpu").temperature()


def test_the_field_does_not_depend_on_the_batches_of_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for most in (1, 7, 100):
        monkeypatch.setattr(euler, "CHECK_EVERY", {"cpu": most})
        monkeypatch.setattr(euler, "RESPONSE_SECONDS", 1e9)
        state = run(bar(step=0.02), kernel="cpu")
        found.append((state.temperature(), state.heat_entered()))
    assert all(same_bits(field, found[0][0]) for field, _ in found)
    np.testing.assert_allclose([heat for _, heat in found], [found[0][1]] * 3, rtol=1e-12)


def test_super_steps_with_tangents_are_of_second_order_and_close_the_ledger() -> None:
    text = bar({"x_max": {**RADIATING, "ambient": "20 + 200*sin(3*t)"}, "x_min": COOLED}, integrator="rkl2")
    exact = run(text, integrator="implicit", tolerance=1e-6).temperature()
    sizes, errors = (0.2, 0.1, 0.05), []
    for step in sizes:
        state = run(text, integrator="rkl2", step=step)
        errors.append(float(np.abs(state.temperature() - exact).max()))
        assert state.energy.relative_residual < 1e-13
    assert 1.9 < observed_order(sizes[1:], errors[1:]) < 2.4
    assert errors[-1] < 1e-6 * 900.0


def test_a_material_that_fills_no_region_does_not_make_a_problem_temperature_dependent() -> None:
    materials = {"steel": material(20.0), "unused": {**material(1.0), "conductivity": "1 + T"}}
    problem = state_of(case([4, 1, 1], materials=materials, integrator="euler"), kernel="cpu").problem
    assert not problem.temperature_dependent
