"""The steady solver against closed solutions, and its ledger."""

from __future__ import annotations

import itertools
import tomllib
from pathlib import Path

import numpy as np
import pytest
import tomli_w
from heatsim_kernels.explicit import STEPPERS
from heatsim_kernels.explicit.coefficients import Forcing
from helpers.in_memory import Recording
from helpers.in_turn import in_turn
from helpers.scenario_texts import PERIODIC, box, convection, fixed, flux, material
from integrator_cases import case, field, run, steady

from heatsim.scenario import loads
from heatsim.simulation.run import run_scenario
from heatsim.solve.integrators.balance import Balance
from heatsim.solve.integrators.steady import MAX_ITERATIONS, TYPICAL_ITERATIONS, foreseen_iterations

AXES = ("x", "y", "z")


@in_turn("axis", AXES)
@in_turn("coefficient", [np.inf, 4.0], ids=["fixed", "convection"])
def test_a_layered_wall_obeys_series_resistances(axis: str, coefficient: float) -> None:
    """Cells end where layers do, so the harmonic mean makes the discrete solution exact (Patankar 1980, 4.2-3)."""
    along, hot, cold, layers = AXES.index(axis), 100.0, 20.0, ((0.8, 4), (0.001, 3), (150.0, 9))
    cells, size = [3, 2, 4], [0.3, 0.2, 0.4]
    cells[along], size[along] = 16, 1.0
    edges = (np.cumsum([0, *(n for _, n in layers)]) / 16).tolist()
    regions = [
        {"material": f"layer {i}", "where": f"{low!r} < {axis} and {axis} < {high!r}"}
        for i, (low, high) in enumerate(itertools.pairwise(edges))
    ]
    materials = {f"layer {i}": material(k) for i, (k, _) in enumerate(layers)}
    faces = [fixed(t) if coefficient == np.inf else convection(coefficient, t) for t in (hot, cold)]
    boundary = dict(zip((f"{axis}_min", f"{axis}_max"), faces, strict=True))
    state = steady(case(cells, size=size, materials=materials, regions=regions, boundary=boundary), tolerance=1e-9)

    heat_flux = (hot - cold) / (2 / coefficient + sum(n / 16 / k for k, n in layers))
    area = state.problem.grid.cell_volume * np.prod(cells)
    assert state.energy.faces[f"{axis}_min"] == pytest.approx(heat_flux * area, rel=1e-7)
    k = np.repeat([k for k, _ in layers], [n for _, n in layers])
    centres = hot - heat_flux * (1 / coefficient + np.cumsum(1 / 16 / k) - 0.5 / 16 / k)
    lines = np.moveaxis(field(state), 2 - along, 0).reshape(16, -1)
    np.testing.assert_allclose(lines, centres[:, None].repeat(lines.shape[1], axis=1), atol=1e-7)


def test_a_heated_slab_takes_its_parabola() -> None:
    """T = q x (1 - x)/(2k) between faces at 0; cell centres lie q h^2/(8k) above it, all by the same."""
    n, q, k = 300, 50.0, 2.0
    boundary = {"x_min": fixed(0.0), "x_max": fixed(0.0)}
    text = case([n, 1, 1], materials={"unit": material(k)}, sources=[{"power": q}], boundary=boundary)
    x = (np.arange(n) + 0.5) / n
    np.testing.assert_allclose(field(steady(text))[0, 0], q / (2 * k) * (x * (1 - x) + 0.25 / n**2), atol=1e-5)


def test_a_plate_with_one_warm_edge_approaches_its_series_with_second_order() -> None:
    """sin(pi x) sinh(pi y)/sinh(pi): Carslaw and Jaeger 1959, section 5.3."""
    errors = []
    for n in (32, 64):
        edges = {"x_min": fixed(0.0), "x_max": fixed(0.0), "y_min": fixed(0.0), "y_max": fixed("sin(pi*x)")}
        x = (np.arange(n) + 0.5) / n
        exact = np.sin(np.pi * x) * np.sinh(np.pi * x[:, None]) / np.sinh(np.pi)
        errors.append(np.abs(field(steady(case([n, n, 1], boundary=edges), tolerance=1e-9))[0] - exact).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)


def test_a_flux_through_a_convecting_bar_sets_both_ends() -> None:
    text = case([10, 3, 1], boundary={"x_min": flux(30.0), "x_max": convection(6.0, 20.0)})
    x = (np.arange(10) + 0.5) / 10
    expected = 20.0 + 30.0 / 6.0 + 30.0 * (1 - x)
    np.testing.assert_allclose(field(steady(text))[0], np.tile(expected, (3, 1)), atol=1e-4)


BLOCK = case(
    [20, 14, 9],
    materials={"metal": material(230.0), "wool": material(0.03)},
    regions=[{"material": "wool", "where": "x + y > 1.1"}],
    initial="20 + 50*x",
    boundary={"z_min": convection(25.0, 5.0), "x_max": fixed("40 + 3*z"), "y_min": PERIODIC, "y_max": PERIODIC},
    sources=[{"power": 70.0, "region": box([0, 0, 0], [0.4, 0.4, 0.4])}, {"power_density": "9*x"}],
)


def test_it_is_where_a_transient_goes() -> None:
    text = BLOCK.replace("conductivity = 0.03", "conductivity = 10.0")
    limit, late = steady(text, tolerance=1e-8), run(text, end=40.0, tolerance=1e-4)
    np.testing.assert_allclose(field(late), field(limit), atol=1e-3)


def test_what_is_solved_is_the_balance_of_explicit_steps() -> None:
    """A step of theirs from the steady state goes nowhere."""
    state = steady(BLOCK, tolerance=1e-10)
    problem, rise = state.problem, state.field.host()
    sweep = STEPPERS["cpu"](problem.coefficients, problem.dtype)
    sweep.field.put(rise)
    forcing = problem.forcing(np.zeros(1))
    assert isinstance(forcing, Forcing)
    sweep.advance(problem.stability_limit, 1, forcing)
    assert np.abs(sweep.field.host() - rise).max() < 1e-8 * np.ptp(rise)
    assert state.solver_statistics.residuals[-1] < 1e-9


@in_turn("precision", ["float32", "float64"])
@in_turn("tolerance", [1e-2, 1e-8])
def test_heat_in_is_heat_out_however_loose_the_tolerance(precision: str, tolerance: float) -> None:
    energy = steady(BLOCK.replace("float64", precision), tolerance=tolerance).energy
    assert energy.sources == pytest.approx(70.0 + 4.5, rel=1e-5)
    assert energy.stored == 0.0
    assert abs(energy.relative_residual) < 1e-9


@pytest.mark.parametrize("tolerance", [1e-3, 1e-6])
def test_grains_with_poor_contacts_have_the_temperatures_of_their_balances(tmp_path: Path, tolerance: float) -> None:
    """Neither the residual nor the corrections of the linear solver see how far off they are. Exact: A T = q."""
    np.save(tmp_path / "grains.npy", np.random.default_rng(1).integers(0, 2, (1, 16, 16), np.int32))
    grains = {
        "regions": [{"labels": {"file": str(tmp_path / "grains.npy"), "map": {"0": "a", "1": "b"}}}],
        "contacts": [{"between": ["a", "b"], "resistance": 10.0}],
    }
    text = case(
        [16, 16, 1],
        size=[0.16, 0.16, 0.01],
        materials={"a": material(10.0), "b": material(100.0)},
        initial=300.0,
        boundary={"x_min": fixed(300.0), "x_max": convection(10.0, "300 + 1000*y")},
        sources=[{"power": 0.01}],
    )
    document = tomllib.loads(text) | grains
    document["time"] |= {"integrator": "steady", "tolerance": tolerance}
    state = run(tomli_w.dumps(document))
    balance = Balance(state.problem, state.field)
    inputs, T = balance.inputs(0.0), balance.values.copy()

    def flow(values: np.ndarray) -> np.ndarray:
        return np.asarray(balance.flow(inputs, values, balance.exchange(values)))

    given = flow(0.0 * T)
    units = np.eye(T.size).reshape(-1, *T.shape)
    exact = np.linalg.solve(np.stack([(given - flow(unit)).reshape(-1) for unit in units], axis=1), given.reshape(-1))
    assert np.abs(T.reshape(-1) - exact).max() <= tolerance * np.ptp(exact)


def test_a_tighter_tolerance_comes_closer_to_the_limit() -> None:
    exact = field(steady(BLOCK, tolerance=1e-10))
    rise = exact.max() - exact.min()
    for tolerance in (1e-2, 1e-4, 1e-6):
        assert np.abs(field(steady(BLOCK, tolerance=tolerance)) - exact).max() < tolerance * rise


def test_the_initial_temperature_does_not_matter() -> None:
    one, other = (
        field(steady(BLOCK.replace("20 + 50*x", start), tolerance=1e-9)) for start in ("20 + 50*x", "300*y*z")
    )
    np.testing.assert_allclose(one, other, atol=1e-6)


def test_each_recorder_is_given_the_limit_once_whatever_its_times() -> None:
    recorders = [Recording(times, lambda state: state.time) for times in ([0.0, 0.5, 1.0], [0.3], [])]
    state = run(BLOCK, recorders, integrator="steady")
    assert [recorder.seen for recorder in recorders] == [[np.inf], [np.inf], []]
    assert state.solver_statistics.residuals[-1] < 1e-6
    assert 0 < state.solver_statistics.iterations < 40


def test_times_of_outputs_are_not_looked_at(tmp_path: Path) -> None:
    regions = [{"name": "all", "where": "x > 0", "every": 9.0}]
    output = {"snapshots": {"at": [20.0, 200.0]}, "energy": {"every": 1e-12}, "regions": regions}
    text = case([5, 1, 1], boundary={"x_min": fixed(20.0)}).replace('"implicit"', '"steady"')
    done = run_scenario(loads(text + tomli_w.dumps({"output": output})), tmp_path / "run")
    assert [path.name for path in (done.path / "snapshots").iterdir()] == ["000000.h5"]
    assert len((done.path / "regions.csv").read_text().splitlines()) == 2


def test_the_same_solve_gives_the_same_bits() -> None:
    first, second = steady(BLOCK), steady(BLOCK)
    assert field(first).tobytes() == field(second).tobytes()
    assert first.solver_statistics == second.solver_statistics


def test_a_body_at_rest_stays_as_it_is() -> None:
    state = steady(case([6, 5, 4], initial=20.0, boundary={"x_min": fixed(20.0)}))
    assert (field(state) == 20.0).all()


def test_iterations_are_foreseen_from_how_residuals_fall() -> None:
    """A solve of flat cells took 195 iterations where 15 were foreseen of any."""
    assert foreseen_iterations([1.0, *(0.3 * 0.9**n for n in range(8))]) == pytest.approx(120.7, abs=0.1)
    assert foreseen_iterations([1.0, *(0.1**n for n in range(1, 9))]) == 8  # was there by then
    assert foreseen_iterations([1.0, *(0.99**n for n in range(8))]) == MAX_ITERATIONS
    assert foreseen_iterations([1.0, 0.5]) == foreseen_iterations([1.0] * 9) == TYPICAL_ITERATIONS
