"""Layers and edges: cells of unequal size."""

from __future__ import annotations

import numpy as np
import pytest
from build_up_cases import box, grid, layers, material, observed_order, run, scenario
from helpers.in_memory import problem_of
from helpers.in_turn import in_turn
from helpers.scenario_texts import convection, fixed

from heatsim.errors import ScenarioError

ENDS = {"x_min": fixed(0.0), "x_max": fixed(0.0), "z_min": fixed(0.0), "z_max": fixed(0.0)}


def stretched(n: int) -> dict[str, list[float]]:
    """n cells on 0..1, smoothly finer towards 0 by a factor of five."""
    s = np.arange(n + 1) / n
    return {"edges": (s - 0.66 * s * (1 - s)).tolist()}


def test_the_order_in_space_is_two_on_a_stretched_grid() -> None:
    counts, errors = (8, 16, 32, 64), []
    source = {"power_density": "2*pi**2*sin(pi*x)*sin(pi*z)"}
    for n in counts:
        text = scenario(
            grid(stretched(n), (1.0, 1), stretched(n)), {"unit": material(1.0)}, boundary=ENDS, sources=[source]
        )
        state = run(text)
        x, z = (state.problem.grid.centres(axis) for axis in "xz")
        exact = np.sin(np.pi * z)[:, None] * np.sin(np.pi * x)
        volume = np.outer(state.problem.grid.sizes("z"), state.problem.grid.sizes("x"))
        errors.append(float(np.sqrt((volume * (state.temperature()[:, 0] - exact) ** 2).sum())))
    assert observed_order(counts, errors) == pytest.approx(2.0, abs=0.1)


def test_anisotropic_conduction_is_of_order_two_on_a_stretched_grid_in_time_too() -> None:
    """A mode that decays between fixed walls; explicit steps follow the smallest cell, so time converges along."""
    counts, errors = (8, 16, 32), []
    rate = np.pi**2 * (2.0 + 0.5)
    for n in counts:
        state = run(
            scenario(
                grid(stretched(n), (1.0, 1), (1.0, n)),
                {"unit": material([2.0, 1.0, 0.5], 1.0)},
                "euler",
                0.05,
                boundary=ENDS,
                initial={"temperature": "sin(pi*x)*sin(pi*z)"},
            )
        )
        x, z = (state.problem.grid.centres(axis) for axis in "xz")
        exact = np.exp(-rate * 0.05) * np.sin(np.pi * z)[:, None] * np.sin(np.pi * x)
        errors.append(float(np.abs(state.temperature()[:, 0] - exact).max()))
    assert observed_order(counts, errors) == pytest.approx(2.0, abs=0.15)


@in_turn("axis", "xyz")
def test_a_wall_of_layers_is_exact_however_it_is_cut(axis: str) -> None:
    cut = layers((0.02, 2), (0.003, 5), (0.05, 3))
    axes = [cut if name == axis else (0.5, 1) for name in "xyz"]
    low, high = ([value if name == axis else 9.0 * sign for name in "xyz"] for value, sign in ((0.02, -1), (0.023, 1)))
    top = [0.073 if name == axis else 9.0 for name in "xyz"]
    bottom = [0.023 if name == axis else -9.0 for name in "xyz"]
    regions = [{"material": "brick"}, box("foam", low, high), box("steel", bottom, top)]
    state = run(
        scenario(
            grid(*axes),
            {"brick": material(0.8), "foam": material(0.03), "steel": material(50.0)},
            regions=regions,
            boundary={f"{axis}_min": fixed(20.0), f"{axis}_max": convection(25.0, -10.0)},
        )
    )
    through = 30.0 * 0.25 / (0.02 / 0.8 + 0.003 / 0.03 + 0.05 / 50.0 + 1 / 25.0)
    assert state.energy.faces[f"{axis}_min"] == pytest.approx(through, rel=1e-8)
    assert state.energy.faces[f"{axis}_max"] == pytest.approx(-through, rel=1e-8)
    foam = state.temperature().reshape(-1)[4]  # the middle of it
    assert foam == pytest.approx(20.0 - through / 0.25 * (0.02 / 0.8 + 0.0015 / 0.03), rel=1e-8)


def test_equal_cells_given_by_their_edges_change_nothing() -> None:
    def field(x: dict[str, list[float]] | tuple[float, int]) -> np.ndarray:
        text = scenario(
            grid(x, (0.5, 4), (1.0, 3)),
            {"unit": material(1.0, 1.0)},
            "euler",
            0.02,
            initial={"temperature": "20 + x - y*z"},
            boundary={"x_min": fixed(0.0), "y_max": convection(2.0, 50.0)},
            sources=[{"power": 3.0, "region": {"box": {"lower": [0, 0, 0], "upper": [0.5, 0.3, 0.5]}}}],
        )
        return run(text).temperature()

    edges = {"edges": (np.arange(9) / 8).tolist()}
    np.testing.assert_allclose(field(edges), field((1.0, 8)), rtol=1e-12)


@in_turn("integrator", ["euler", "implicit", "steady"])
def test_the_ledger_closes_on_unequal_cells(integrator: str) -> None:
    state = run(
        scenario(
            grid(stretched(7), layers((0.3, 2), (0.1, 4)), stretched(5)),
            {"a": material(1.0, 2.0), "b": material([0.2, 3.0, 1.0], 1.0)},
            integrator,
            0.02,
            regions=[{"material": "a"}, box("b", [0.2, 0.1, 0.2], [0.7, 0.35, 1.0])],
            boundary={"x_min": fixed(5.0), "y_max": convection(3.0, 40.0), "z_max": {"kind": "flux", "flux": -7.0}},
            sources=[
                {"power": 11.0, "region": {"box": {"lower": [0, 0, 0], "upper": [0.5, 0.4, 0.5]}}},
                {"power_density": "30*x"},
            ],
        )
    )
    energy = state.energy
    volumes = sum(state.problem.grid.volumes(z).sum() for z in range(5))
    assert volumes == pytest.approx(0.4)
    assert abs(energy.relative_residual) < 1e-11
    x = state.problem.grid.centres("x") @ state.problem.grid.sizes("x")  # the integral of x, by the midpoints of cells
    seconds = 1.0 if integrator == "steady" else 0.02
    assert energy.sources == pytest.approx(seconds * (11.0 + 30 * 0.4 * x), rel=1e-9)


def test_the_smallest_cell_sets_the_stable_step() -> None:
    cells = grid(layers((0.1, 10), (0.001, 1), (0.1, 10)), (1.0, 1), (1.0, 1))
    limit = problem_of(scenario(cells, {"unit": material(1.0, 1.0)}, "euler")).stability_limit
    assert limit == pytest.approx(0.001 / (2 / (0.0005 + 0.005)), rel=1e-9)


def test_smoothing_is_refused_where_cells_are_unequal() -> None:
    text = scenario(
        grid(stretched(8), (1.0, 1), (1.0, 1)),
        {"unit": material(1.0)},
        "euler",
        smoothing=[{"target": "initial", "filter": "gaussian", "sigma": 0.3}],
    )
    with pytest.raises(ScenarioError, match="equal cells"):
        problem_of(text)
