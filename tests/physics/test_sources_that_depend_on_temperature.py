"""Sources that depend on temperature, against exact solutions: perfusion, reactions, and what runs away."""

from __future__ import annotations

from functools import partial
from math import exp, log, pi
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from helpers.in_memory import observed_order, run
from helpers.in_turn import in_turn
from helpers.scenario_texts import case, material

import heatsim
from heatsim.cli.main import main
from heatsim.errors import RunawayError, ScenarioError
from heatsim.problem import build_problem
from heatsim.scenario import loads

COEFFICIENT, BLOOD = 2000.0, 37.0
TISSUE = material(0.5, density=1000.0, heat_capacity=3600.0)
PERFUSION = {"perfusion": {"coefficient": COEFFICIENT, "temperature": BLOOD}}
RATE = COEFFICIENT / 3.6e6  # 1/s
POINT = partial(case, (1, 1, 1), size=(0.01, 0.01, 0.01))


def pennes(**keys: Any) -> str:
    """A mode over two axes in perfused tissue: it decays by conduction and by perfusion."""
    initial = f"{BLOOD} + 8*cos(pi*x/0.03)*cos(2*pi*y/0.03)"
    return case(
        (24, 24, 1), 400.0, size=(0.03, 0.03, 0.01), materials={"tissue": TISSUE}, initial=initial,
        sources=[PERFUSION], **keys,
    )  # fmt: skip


def test_a_mode_in_perfused_tissue_decays_as_pennes_equation_says() -> None:
    """In float32 by explicit steps; `heatsim verify` has the other integrators."""
    found = run(pennes(integrator="euler", precision="float32"))
    x, y, _ = found.points()
    rate = RATE + 0.5 / 3.6e6 * (1 + 4) * (pi / 0.03) ** 2
    of_cells = np.sinc(0.5 / 24) * np.sinc(1 / 24)  # means over these, to values at their centres
    exact = BLOOD + 8 * of_cells * np.cos(pi * x / 0.03) * np.cos(2 * pi * y / 0.03) * exp(-rate * 400.0)
    without = BLOOD + (exact - BLOOD) * exp(RATE * 400.0)
    assert np.abs(found.temperature - exact).max() < 6e-3 < 0.1 * np.abs(without - exact).max()
    assert abs(found.energy.relative_residual) < 1e-5


@pytest.mark.parametrize("integrator", ["euler", "implicit"])
def test_a_source_in_t_heats_what_has_a_heat_capacity_in_t(integrator: str) -> None:
    """q = a (T - T0) with rho c = b (T - T0): T rises evenly by a/b a second."""
    stuff = material(1.0, density=1000.0) | {"heat_capacity": "10*(T + 100)"}
    found = run(POINT(50.0, materials={"stuff": stuff}, initial=20.0, sources=[{"power_density": "1e3*(T + 100)"}],
                      integrator=integrator))  # fmt: skip
    assert found.temperature[0, 0, 0] == pytest.approx(25.0, abs=0.02)  # tables to 5000 K, as nothing bounds it
    assert abs(found.energy.relative_residual) < 1e-12


@pytest.mark.gpu
@pytest.mark.parametrize("kernel", ["register", "temporal"])
def test_it_decays_so_on_a_gpu_to_the_last_bit(kernel: str) -> None:
    text = pennes(integrator="euler", precision="float32")
    assert np.array_equal(run(text, kernel).temperature, run(text).temperature)


@in_turn(("integrator", "order"), [("euler", 1.0), ("implicit", 2.0), ("backward-euler", 1.0), ("rkl2", 2.0)])
def test_errors_in_time_have_the_order_of_the_method(integrator: str, order: float) -> None:
    """A body without gradients cools to what pervades it."""
    keys: dict[str, Any] = {"integrator": integrator}
    if integrator == "backward-euler":
        keys = {"integrator": "implicit", "method": "backward-euler"}
    errors = []
    for step in (200.0, 100.0, 50.0):
        text = POINT(1000.0, materials={"tissue": TISSUE}, initial=57.0, sources=[PERFUSION], step=step, **keys)
        found = run(text)
        errors.append(abs(float(found.temperature[0, 0, 0]) - BLOOD - 20.0 * exp(-RATE * 1000.0)))
        assert abs(found.energy.relative_residual) < 1e-12
    assert abs(observed_order([4, 2, 1], errors) - order) < 0.15


HEATING = 1e-3  # K/s of the reaction at 0 degC, of a body whose capacity is 1 J/(m3 K)
REACTION = {"power_density": f"{HEATING}*exp(T)"}


def test_a_reaction_without_losses_heats_itself_as_the_exact_solution_does() -> None:
    """dT/dt = a exp(T): T = -ln(1 - a t), which has no end before t = 1/a."""
    found = run(POINT(900.0, initial=0.0, sources=[REACTION], integrator="euler", step=0.25))
    assert float(found.temperature[0, 0, 0]) == pytest.approx(-log(1.0 - HEATING * 900.0), rel=2e-3)
    assert abs(found.energy.relative_residual) < 1e-12


def semenov(number: float, **keys: Any) -> str:
    """A body that a reaction heats and its surface cools, `number` times as much at 0 degC as the surface takes off a
    kelvin: it has a state of rest where number <= 1/e (Semenov, Z. Phys. 48, 571, 1928)."""
    coefficient = HEATING / number * 0.01 / 2  # of two faces 0.01 m apart
    face = {"kind": "convection", "coefficient": coefficient, "ambient": 0.0}
    return case(
        (1, 1, 1), 20_000.0, size=(0.01, 0.01, 0.01), initial=0.0, sources=[REACTION],
        boundary={"x_min": face, "x_max": face}, **keys,
    )  # fmt: skip


def test_below_the_critical_number_a_reaction_comes_to_rest() -> None:
    """T exp(-T) = number, in the branch below 1."""
    number, exact = 0.3, 0.0
    for _ in range(200):
        exact = number * exp(exact)
    found = run(semenov(number, integrator="implicit", tolerance=1e-5))
    assert float(found.temperature[0, 0, 0]) == pytest.approx(exact, rel=1e-4)


def test_above_the_critical_number_it_runs_away_and_the_run_says_where(tmp_path: Path) -> None:
    with pytest.raises(
        RunawayError, match=r"runs away at t = \d+\.?\d* s: .* degC at x, y, z = 0\.005, 0\.005, 0\.005 m"
    ):
        run(semenov(0.4, integrator="implicit"))
    path = tmp_path / "fuel.toml"
    path.write_text(semenov(0.4, integrator="implicit"))
    ended = CliRunner().invoke(main, ["run", str(path), "--output", str(tmp_path / "run")])
    assert ended.exit_code == 3
    assert "earlier results are kept" in ended.output + ended.stderr


def test_an_explicit_step_in_which_a_source_grows_by_half_ends_the_run() -> None:
    with pytest.raises(RunawayError, match="it grows by over 50% in a step of 50 s"):
        run(POINT(2000.0, initial=0.0, sources=[REACTION], integrator="euler", step=50.0))


def test_a_source_in_a_region_beside_others_heats_that_region_alone() -> None:
    """Insulated from each other, a hot half cools as perfused, and the other warms as its own source says."""
    halves = {"a": {**TISSUE, "conductivity": 1e-9}, "b": {**TISSUE, "conductivity": 1e-9}}
    text = case(
        (4, 1, 1), 500.0, size=(0.04, 0.01, 0.01), materials=halves, initial="57*(x < 0.02) + 20*(x > 0.02)",
        regions=[{"material": "b", "where": "x > 0.02"}], integrator="euler", step=1.0,
        sources=[{**PERFUSION, "material": "a"}, {"power_density": "3600*(1 + 0*x)", "material": "b"}],
    )  # fmt: skip
    found = run(text)
    cooled = BLOOD + 20.0 * exp(-RATE * 500.0)
    assert found.temperature[0, 0] == pytest.approx([cooled, cooled, 20.5, 20.5], abs=2e-3)
    assert abs(found.energy.relative_residual) < 1e-12


def test_a_material_that_depends_on_temperature_is_perfused_too() -> None:
    """c(T) = c0 (1 + b (T - 37)): both integrators agree with each other and their ledgers close."""
    curved = {**TISSUE, "conductivity": "0.4 + 0.002*T", "heat_capacity": "3600*(1 + 0.005*(T - 37))"}
    found = [
        run(
            case(
                (8, 4, 1), 300.0, size=(0.02, 0.01, 0.01), materials={"tissue": curved}, initial="37 + 1000*x",
                sources=[PERFUSION], **keys,
            )
        )
        for keys in ({"integrator": "euler", "step": 0.25}, {"integrator": "implicit", "tolerance": 1e-5})
    ]  # fmt: skip
    assert np.abs(found[0].temperature - found[1].temperature).max() < 2e-3
    assert all(abs(each.energy.relative_residual) < 1e-11 for each in found)


@pytest.mark.parametrize("integrator", ["euler", "implicit"])
def test_a_loss_is_the_source_that_it_stands_for(integrator: str) -> None:
    """Blood that warms, in one of two tissues in air: as coefficients of the cells, and as an expression of x."""
    found = []
    for coefficient in (COEFFICIENT, f"{COEFFICIENT} + 0*x"):
        blood = {"coefficient": coefficient, "temperature": "37 + 2*sin(0.01*t) + 100*y"}
        text = case(
            (8, 6, 3), 300.0, size=(0.04, 0.03, 0.01), materials={"tissue": TISSUE, "tumour": TISSUE}, initial=30.0,
            regions=[{"material": "tumour", "where": "x > 0.018"}, {"material": "air", "where": "y > 0.02"}],
            integrator=integrator, step=2.0,
            sources=[{"perfusion": blood, "material": "tumour"}, {"power_density": 5e3}],
        )  # fmt: skip
        found.append(run(text + "[ambients.air]\ntemperature = 20.0\ncoefficient = 25.0\n"))
    assert np.abs(found[0].temperature - found[1].temperature).max() < 1e-7
    assert found[0].energy.sources == pytest.approx(found[1].energy.sources, rel=1e-7)
    assert found[0].energy.ambients["air"] == pytest.approx(found[1].energy.ambients["air"], rel=1e-7)
    assert all(abs(each.energy.relative_residual) < 1e-9 for each in found)


@pytest.mark.parametrize("coefficient", [COEFFICIENT, f"{COEFFICIENT} + 0*x"])
def test_what_pervades_a_closed_body_gives_it_a_steady_state(coefficient: float | str) -> None:
    sources = [{"perfusion": {"coefficient": coefficient, "temperature": BLOOD}}, {"power_density": 4e3}]
    found = run(case((3, 2, 2), 1.0, size=(0.03, 0.02, 0.02), materials={"tissue": TISSUE}, initial=30.0,
                     integrator="steady", sources=sources))  # fmt: skip
    assert found.temperature == pytest.approx(np.full((2, 2, 3), BLOOD + 4e3 / COEFFICIENT), abs=1e-6)


def test_a_strong_sink_takes_its_share_of_the_stable_step() -> None:
    problem = build_problem(loads(POINT(1.0, materials={"tissue": TISSUE}, initial=57.0, sources=[PERFUSION])))
    assert problem.stability_limit == pytest.approx(1.0 / RATE, rel=1e-6)


def test_super_time_stepping_refuses_it_and_says_what_takes_it() -> None:
    with pytest.raises(
        ScenarioError, match=r"rkl2 takes no source that depends on temperature \(integrator = \"implicit\""
    ):
        build_problem(loads(semenov(0.3, integrator="rkl2")))


def test_implicit_steps_pass_a_source_that_switches_at_a_temperature(tmp_path: Path) -> None:
    """A body that rests at the switch: its source is on for as much of the time as holds it there."""
    text = (
        "grid = { cells = [24, 1, 1], size = [120.0, 1.0, 1.0], origin = [-60.0, 0.0, 0.0] }\n"
        'time = { end = 1.3, integrator = "implicit" }\nmaterials.m = { conductivity = 1.0, density = 1.0, '
        'heat_capacity = 1.0 }\nregions = [{ material = "m" }]\ninitial = { temperature = 300.0 }\n'
        'sources = [{ region = { where = "abs(x) <= 20" }, power_density = "exp(-x**2/400) if T < 301 else 0" }]\n'
    )
    found = heatsim.run(loads(text + "output.snapshots.at = [1.3]\n"), tmp_path / "run")
    field = heatsim.open(found.path).temperature[-1].values
    assert found.info["rejected_steps"] < 200
    assert field.max() == pytest.approx(301.0, abs=1e-3)
