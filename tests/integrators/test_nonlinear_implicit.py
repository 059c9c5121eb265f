"""Implicit steps of materials and boundary faces that depend on temperature, melt, and are heated by beams."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tomli_w
from helpers.scenario_texts import box, convection, fixed, flux
from integrator_cases import ORDERS, case, equal_steps, field, run, state_of

from heatsim.errors import NotConvergedError
from heatsim.solve.integrators import ON_CUDA, nonlinear_implicit
from heatsim.solve.integrators.tableaus import BACKWARD_EULER, TR_BDF2, Tableau

FOLLOWING = {"conductivity": "1 + 0.02*T", "density": 1.0, "heat_capacity": "2 + 0.01*T"}
MELTING = {"conductivity": 2.0, "density": 1.0, "heat_capacity": 1.0, "latent": {"heat": 60.0}}
SMOOTH = case(
    [24, 1, 1],
    0.2,
    materials={"wall": FOLLOWING},
    initial="20 + 60*cos(pi*x)**2",
    boundary={"x_min": convection("0.1*(T + 20)", "20 + 10*sin(20*t)")},
)


@cache
def smooth_in_short_steps() -> np.ndarray:
    """The end of SMOOTH by so many steps that nothing else is as near."""
    return field(equal_steps(SMOOTH, 320, TR_BDF2))


def melting(solidus: float, liquidus: float, **others: Any) -> str:
    """A bar, molten from a hot end."""
    latent = {**MELTING["latent"], "solidus": solidus, "liquidus": liquidus}  # type: ignore[dict-item]
    settings = {"initial": 10.0, "boundary": {"x_min": fixed(100.0)}} | others
    return case([32, 1, 1], 0.15, materials={"ice": {**MELTING, "latent": latent}}, **settings)


@pytest.mark.parametrize("tableau", [BACKWARD_EULER, TR_BDF2], ids=lambda tableau: tableau.name)
def test_the_error_falls_with_the_order_of_the_method_where_all_follows_temperature(tableau: Tableau) -> None:
    counts = (16, 32) if ORDERS[tableau.name] == 2 else (40, 80)
    exact = smooth_in_short_steps()
    errors = [np.abs(field(equal_steps(SMOOTH, count, tableau)) - exact).max() for count in counts]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(ORDERS[tableau.name], abs=0.1)


@pytest.mark.parametrize(
    ("method", "tolerance"),
    [pytest.param("tr-bdf2", 1e-2, marks=pytest.mark.long), ("tr-bdf2", 1e-3), ("backward-euler", 1e-2)],
)
def test_errors_are_within_three_times_the_tolerance(method: str, tolerance: float) -> None:
    exact = smooth_in_short_steps()
    found = run(SMOOTH, tolerance=tolerance, method=method)
    assert np.abs(field(found) - exact).max() < 3 * tolerance * 60
    assert found.solver_statistics.iterations > found.step


@pytest.mark.parametrize(("solidus", "liquidus"), [(49.0, 51.0), (50.0, 50.0)], ids=["over a range", "at one point"])
def test_what_melts_is_where_explicit_steps_have_it_in_far_fewer(solidus: float, liquidus: float) -> None:
    text = melting(solidus, liquidus)
    explicit = run(text, kernel="cpu", integrator="euler", step="auto")
    found = run(text, tolerance=1e-3)
    assert 0.2 < found.melted_fraction().mean() < 0.8
    np.testing.assert_allclose(field(found), field(explicit), atol=0.3)
    np.testing.assert_allclose(found.melted_fraction().mean(), explicit.melted_fraction().mean(), atol=2e-3)
    assert abs(found.energy.relative_residual) < 1e-13
    assert found.step < explicit.step / 4


def test_energy_is_kept_to_rounding_with_all_that_brings_heat(tmp_path: Path) -> None:
    """Latent heat, radiation, a coefficient of the surface, an ambient, a contact, a source that swings, and a beam."""
    (tmp_path / "scan.csv").write_text("time, x, y, on\n0, 0.2, 0.4, 1\n0.5, 0.7, 0.4, 1\n")
    beam = {"kind": "gaussian", "power": 40.0, "radius": 0.2, "depth": 0.3, "path": str(tmp_path / "scan.csv")}
    metal = {**FOLLOWING, "latent": {"heat": 50.0, "solidus": 60.0, "liquidus": 70.0}}
    air = {"material": "air", **box([0.8, 0.8, 0.0], [1.0, 1.0, 1.0])}
    text = case(
        [10, 8, 6],
        0.5,
        materials={"metal": metal, "glass": {**FOLLOWING, "conductivity": 0.3}},
        regions=[{"material": "glass", "where": "x > 0.5"}, air],
        initial=20.0,
        boundary={
            "x_min": convection("0.1*max(T, 0)", 10.0),
            "z_max": {"kind": "radiation", "emissivity": 0.9, "ambient": 300.0},
            "y_min": flux("20*sin(9*t)"),
        },
        sources=[{"power": "30*t", "region": box([0.0, 0.0, 0.0], [0.3, 0.3, 0.3])}, {"beam": beam}],
    )
    document = tomllib.loads(text) | {
        "ambients": {"air": {"temperature": 5.0, "coefficient": 3.0}},
        "contacts": [{"between": ["metal", "glass"], "resistance": 0.1}],
    }
    found = run(tomli_w.dumps(document))
    energy = found.energy
    assert abs(energy.relative_residual) < 1e-12
    assert energy.sources > 10.0
    assert energy.ambients["air"] < 0.0
    assert min(abs(energy.faces[face]) for face in ("x_min", "z_max", "y_min")) > 0.01


def test_iterations_that_do_not_get_there_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nonlinear_implicit, "MAX_ITERATIONS", 1)
    integrator = nonlinear_implicit.NonlinearImplicit(state_of(melting(50.0, 50.0)))
    with pytest.raises(NotConvergedError, match="the implicit step from t = 0 s, in 1 iterations"):
        integrator.trial_step(0.1, 1e-6)


def test_the_same_run_gives_the_same_bits() -> None:
    assert field(run(SMOOTH)).tobytes() == field(run(SMOOTH)).tobytes()


@pytest.mark.gpu
@pytest.mark.parametrize("text", [SMOOTH, melting(49.0, 51.0)], ids=["smooth", "melting"])
def test_a_gpu_solves_to_the_same_within_the_tolerance(text: str) -> None:
    on_gpu, here = run(text, kernel=ON_CUDA, tolerance=1e-3), run(text, tolerance=1e-3)
    np.testing.assert_allclose(field(on_gpu), field(here), atol=0.1)
    assert abs(on_gpu.energy.relative_residual) < 1e-12
