"""Moving beams: exact power in every cell, along any path, in steps of any length."""

from __future__ import annotations

from itertools import pairwise
from math import cos, exp, pi, sin
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from heatsim_kernels.field.window_source import window_heating_rate
from helpers.in_memory import Run, case, problem_of
from helpers.in_turn import in_turn
from helpers.scenario_texts import box, material

from heatsim.base.grid import CellGrid
from heatsim.errors import ScenarioError
from heatsim.problem.terms.sources.beam import beam_window
from heatsim.problem.terms.sources.beam_path import BeamStop
from heatsim.scenario.sources import GaussianBeam, GoldakBeam
from heatsim.simulation.time_loop import Timings, simulate
from heatsim.solve.integrators import make_field
from heatsim.solve.state import State

GAUSSIAN = {"kind": "gaussian", "power": 3.0, "radius": 0.06, "depth": 0.1, "absorptivity": 0.5}
GOLDAK = {"kind": "goldak", "power": 2.0, "a": 0.06, "b": 0.1, "cf": 0.05, "cr": 0.1, "efficiency": 0.75}
SLOW = {"slow": material(0.02)}
STRETCHED = tuple(np.linspace(0.0, 2.0, 31) ** 2)
GRIDS = {
    "equal": CellGrid((20, 40, 40), (0.0, 0.0, 0.0), (0.1, 0.1, 0.05)),
    "unequal": CellGrid((20, 40, 30), (0.0, 0.0, 0.0), (4 / 30, 0.1, 0.05), (STRETCHED, None, None)),
    "coarse": CellGrid((1, 4, 4), (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)),
}


def gaussian(radius: float = 0.3, depth: float = 0.1) -> GaussianBeam:
    return GaussianBeam(kind="gaussian", power=1.0, path=Path("a.csv"), radius=radius, depth=depth)


def goldak(**more: float) -> GoldakBeam:
    return GoldakBeam(
        kind="goldak", power=1.0, path=Path("a.csv"), **{"a": 0.4, "b": 0.3, "cf": 0.3, "cr": 0.8, **more}
    )


def watts(grid: CellGrid, beam: Any, place: tuple[float, float, float], degrees: float = 0.0) -> np.ndarray:
    """Power of every cell, (nz, ny, nx), of a beam of 1 W."""
    angle = degrees * pi / 180
    window = beam_window(grid, beam, BeamStop(1.0, 0.0, place, (cos(angle), sin(angle))))
    density = np.zeros(grid.shape)
    density[window.cells] = window.density
    x, y, z = (grid.measure(axis) for axis in "xyz")
    return np.asarray(density * z[:, None, None] * y[:, None] * x)


@in_turn("grid", GRIDS.values(), ids=GRIDS)
@in_turn("degrees", [0, 90, 180, 270, 33.0, 135.0])
@in_turn("beam", [gaussian(), gaussian(0.02, 1e-4), goldak(), goldak(a=0.04, ff=1.7)])
def test_the_power_of_a_beam_in_the_box_is_exact(grid: CellGrid, degrees: float, beam: Any) -> None:
    for place in ((1.7, 2.0, 1.0), (1.4321, 1.789, 0.93), (1.5, 1.5, 0.0)):
        assert watts(grid, beam, place, degrees).sum() == pytest.approx(1.0, rel=1e-12)


def test_what_falls_beside_the_box_is_lost() -> None:
    grid = GRIDS["equal"]
    assert watts(grid, gaussian(), (0.0, 2.0, 1.0)).sum() == pytest.approx(0.5, rel=1e-12)
    assert watts(grid, gaussian(), (4.0, 0.0, 1.0)).sum() == pytest.approx(0.25, rel=1e-12)
    assert watts(grid, goldak(), (0.0, 2.0, 1.0), 180.0).sum() == pytest.approx(0.8 / 1.1, rel=1e-12)  # its rear
    assert watts(grid, goldak(), (0.0, 2.0, 1.0), 179.0).sum() == pytest.approx(0.8 / 1.1, abs=5e-3)


def test_a_gaussian_has_its_radius_at_one_over_e_squared_and_its_depth_at_one_over_e() -> None:
    fine = CellGrid((50, 101, 101), (0.0, 0.0, 0.0), (0.02, 0.02, 0.01))
    power = watts(fine, gaussian(), (1.01, 1.01, 0.5))
    middle = power[:, 50, 50]
    assert power[-1, 50, 65] / middle[-1] == pytest.approx(exp(-2), rel=5e-3)
    assert power[-1, 65, 50] / middle[-1] == pytest.approx(exp(-2), rel=5e-3)
    assert middle[-11] / middle[-1] == pytest.approx(exp(-1), rel=1e-6)
    density = 2 / (pi * 0.3**2) / 0.1 * exp(-0.05)  # 2P/(pi R^2) exp(-s/d)/d at s = d/20
    assert middle[-1] / (0.02 * 0.02 * 0.01) == pytest.approx(density, rel=1e-2)


@in_turn("degrees", [0.0, 90.0, 40.0, 217.0])
def test_a_goldak_source_is_the_double_ellipsoid_of_the_paper(degrees: float) -> None:
    """q = 6 sqrt(3) f P / (a b c pi sqrt(pi)) exp(-3 x^2/c^2 - 3 y^2/a^2 - 3 s^2/b^2), ahead and behind."""
    fine = CellGrid((40, 120, 120), (0.0, 0.0, 0.0), (0.025, 0.025, 0.025))
    beam, angle = goldak(), degrees * pi / 180
    power = watts(fine, beam, (1.5, 1.5, 1.0), degrees)
    x, y = fine.centres("x")[None, None, :] - 1.5, fine.centres("y")[None, :, None] - 1.5
    s = 1.0 - fine.centres("z")[:, None, None]
    along, across = x * cos(angle) + y * sin(angle), y * cos(angle) - x * sin(angle)
    c, f = np.where(along > 0, beam.cf, beam.cr), np.where(along > 0, beam.ff, beam.fr)
    shape = np.exp(-3 * (along / c) ** 2 - 3 * (across / beam.a) ** 2 - 3 * (s / beam.b) ** 2)
    density = 6 * 3**0.5 * f / (beam.a * beam.b * c * pi**1.5) * shape
    np.testing.assert_allclose(power / fine.cell_volume, density, rtol=0, atol=0.02 * density.max())


@in_turn("grid", GRIDS.values(), ids=GRIDS)
@in_turn("degrees", [1e-7, 33.0, 51.0, 89.0, 217.0])
def test_a_round_bell_is_the_same_whatever_its_heading(grid: CellGrid, degrees: float) -> None:
    """In the middle of the box and at its rim, where a part of it is lost."""
    for place in ((1.4321, 1.789, 0.93), (0.1, 1.9, 1.0)):
        along, slanting = (watts(grid, goldak(cf=0.4, cr=0.4), place, angle) for angle in (0.0, degrees))
        np.testing.assert_allclose(slanting, along, rtol=0, atol=1e-9 * along.max())


def test_the_shares_of_cells_change_smoothly_as_a_slanting_beam_moves() -> None:
    """Second differences over steps twice as long are four times as large: shares that jump make steps under error
    control as short as the jumps are."""
    angle = 33.0 * pi / 180

    def second_difference(step: float) -> float:
        way = [(1.4 + s * cos(angle), 1.7 + s * sin(angle), 1.0) for s in np.arange(0.0, 0.2, step)]
        return float(abs(np.diff([watts(GRIDS["unequal"], goldak(), place, 33.0) for place in way], 2, axis=0)).max())

    assert second_difference(8e-3) / second_difference(4e-3) == pytest.approx(4.0, rel=0.05)


PATH = "time, x, y, on\n0, 0.3, 0.5, 1\n0.5, 0.7, 0.5, 1\n0.7, 0.7, 0.5, 0\n0.8, 0.4, 0.4, 1\n1, 0.6, 0.6, 0\n"
ON = 0.9  # s of this path
PULSE = "time, x, y, on\n0.3, 0.5, 0.5, 1\n0.511, 0.5, 0.5, 0\n2, 0, 0, 0\n"


def with_path(tmp_path: Path, beam: dict[str, Any], path: str = PATH) -> dict[str, Any]:
    file = tmp_path / "scan.csv"
    file.write_text(path)
    return {"beam": {**beam, "path": str(file)}}


@pytest.mark.parametrize("beam", [GAUSSIAN, GOLDAK], ids=["gaussian", "goldak"])
@pytest.mark.parametrize("step", ["auto", 0.08, 0.0037])
def test_a_moving_beam_releases_its_power_for_the_time_it_is_on(
    run: Run, tmp_path: Path, beam: dict[str, Any], step: float | str
) -> None:
    outcome = run(case([11, 10, 8], 1.0, materials=SLOW, sources=[with_path(tmp_path, beam)], step=step))
    assert outcome.energy.sources == pytest.approx(1.5 * ON, rel=2e-4)  # 6e-5 of a bell is beyond its reach at most
    assert outcome.energy.stored == pytest.approx(outcome.energy.sources, rel=1e-12)
    assert abs(outcome.energy.relative_residual) < 1e-9


def test_the_energy_of_a_path_well_inside_is_exact_in_unlike_steps(run: Run, tmp_path: Path) -> None:
    small = {**GAUSSIAN, "radius": 0.02}
    for step in (0.08, 0.0083):
        outcome = run(case([11, 10, 8], 1.0, materials=SLOW, sources=[with_path(tmp_path, small)], step=step))
        assert outcome.energy.sources == pytest.approx(1.5 * ON, rel=1e-12)


@pytest.mark.parametrize("integrator", ["implicit", pytest.param("rkl2", marks=pytest.mark.long)])
def test_the_energy_of_a_beam_that_goes_on_and_off_is_exact_under_error_control(
    tmp_path: Path, integrator: str
) -> None:
    source = with_path(tmp_path, {**GAUSSIAN, "radius": 0.05}, PULSE)
    text = case([8, 8, 8], 1.0, materials=SLOW, sources=[source])
    problem = problem_of(text.replace('integrator = "euler"', f'integrator = "{integrator}"'))
    state = State(problem, make_field(problem, "cpu"))
    simulate(state, [], Timings())
    assert state.energy.sources == pytest.approx(1.5 * 0.211, rel=1e-7)


@pytest.mark.parametrize(
    ("others", "power"),
    [
        ([{"power": 2.0, "region": box((0.2, 0.2, 0.2), (0.6, 0.6, 0.6))}, {"power_density": "2*x"}], 3.0),
        ([{"power_density": "x*step(0.51 - t)"}], 0.255),  # steps end at the jump
        ([{"power_density": "step(x + 1 + t)"}], 1.0),
    ],
    ids=["still", "scaled in time", "moving"],
)
def test_beams_share_the_box_with_all_other_sources(
    run: Run, tmp_path: Path, others: list[dict[str, Any]], power: float
) -> None:
    small = with_path(tmp_path, {**GAUSSIAN, "radius": 0.02})
    materials = {"slow": material(0.02), "heavy": material(0.02, 3.0)}
    regions = [{"material": "heavy", "where": "x > 0.5"}]
    text = case([8, 8, 8], 1.0, materials=materials, regions=regions, sources=[small, *others, small], step=0.02)
    energy = run(text).energy
    assert abs(energy.relative_residual) < 1e-12
    assert energy.sources == pytest.approx(3.0 * ON + power, rel=1e-8)


def test_in_float32_the_ledger_counts_what_was_rounded(run: Run, tmp_path: Path) -> None:
    source = with_path(tmp_path, GOLDAK)
    energy = run(case([8, 8, 8], 1.0, materials=SLOW, sources=[source], step=0.02, precision="float32")).energy
    assert abs(energy.relative_residual) < 1e-6


def test_a_beam_on_its_way_through_a_step_is_spread_over_the_way(tmp_path: Path) -> None:
    """A step in which the beam goes from 0.3 to 0.7 heats all places between alike."""
    problem = problem_of(
        case(
            [50, 1, 1], 1.0, materials=SLOW, sources=[with_path(tmp_path, {**GAUSSIAN, "radius": 0.03})], step=0.5
        ).replace('integrator = "euler"', 'integrator = "implicit"')
    )
    field = window_heating_rate(problem.forcing(np.zeros(1), 0.5).window_sources[0], problem.grid.shape)
    row = field[0, 0] / field.sum()
    np.testing.assert_allclose(row[18:32], 0.02 / 0.4, rtol=2e-3)
    assert row[:12].sum() < 1e-3
    assert problem.forcing(np.array([0.75]), 0.01).window_sources == ((),)  # off


def test_steps_are_short_enough_to_see_a_beam_move(tmp_path: Path) -> None:
    """At most half a radius: 0.8 m/s with the beam on, 1.6 m/s (not counted) with it off; sqrt(2) m/s in the end."""
    source = with_path(tmp_path, {**GAUSSIAN, "radius": 0.02})
    for integrator in ("euler", "implicit"):
        text = case([4, 4, 4], 1.0, materials={"slow": material(1e-6)}, sources=[source])
        problem = problem_of(text.replace('integrator = "euler"', f'integrator = "{integrator}"'))
        assert problem.largest_step == pytest.approx(0.5 * 0.02 / 2**0.5)
    slow = "0, 0.3, 0.5\n1, 0.300001, 0.5\n"
    resting = problem_of(case([4, 4, 4], 1.0, materials=SLOW, sources=[with_path(tmp_path, GAUSSIAN, slow)]))
    assert resting.largest_step == pytest.approx(0.9 * resting.stability_limit)


def test_jumps_with_the_power_on_do_not_limit_the_steps_and_bring_their_heat(tmp_path: Path) -> None:
    """Spots 0.4 m apart, between which the beam jumps in 1 ns without going off."""
    spots = "0, 0.3, 0.5\n0.5, 0.3, 0.5\n0.500000001, 0.7, 0.5\n1, 0.7, 0.5\n"
    text = case([10, 10, 4], 1.0, materials=SLOW, sources=[with_path(tmp_path, {**GAUSSIAN, "radius": 0.02}, spots)])
    problem = problem_of(text)
    assert problem.largest_step == pytest.approx(0.9 * problem.stability_limit)
    dt, energy = 0.05, 0.0
    for step in range(20):
        energy += dt * sum(window.power for window in problem.forcing(np.array([dt * step]), dt).window_sources[0])
    assert energy == pytest.approx(1.5, rel=1e-6)
    along = "0, 0.3, 0.5\n0.5, 0.3, 0.5\n0.501, 0.7, 0.5\n1, 0.7, 0.5\n"  # 1 ms is more than is left out
    text = case([10, 10, 4], 1.0, materials=SLOW, sources=[with_path(tmp_path, {**GAUSSIAN, "radius": 0.02}, along)])
    assert problem_of(text).largest_step == pytest.approx(0.5 * 0.02 * 0.001 / 0.4)


def test_the_power_may_follow_a_formula_in_time(run: Run, tmp_path: Path) -> None:
    beam = {**GAUSSIAN, "power": "4*t", "radius": 0.02}
    path = "".join(f"{t}, {0.5}, {0.5}\n" for t in (0, 1))
    outcome = run(case([8, 8, 8], 1.0, materials=SLOW, sources=[with_path(tmp_path, beam, path)], step=0.01))
    assert outcome.energy.sources == pytest.approx(1.0, rel=1e-9)  # the middle of each step


def test_a_path_goes_up_and_down_with_its_surface(tmp_path: Path) -> None:
    path = "y, x, time, on, z\n0.5, 0.5, 0, 1, 0.5\n0.5, 0.5, 1, 1, 0.5\n"
    beam = {**GAUSSIAN, "depth": 0.05}
    problem = problem_of(case([8, 8, 8], 1.0, materials=SLOW, sources=[with_path(tmp_path, beam, path)]))
    field = window_heating_rate(problem.forcing(np.zeros(1)).window_sources[0], problem.grid.shape)
    layers = field.sum(axis=(1, 2))
    assert not layers[4:].any()
    assert all(low < high for low, high in pairwise(layers[:4]))


def test_places_outside_the_grid_do_no_harm_with_the_beam_off(tmp_path: Path) -> None:
    path = "time, x, y, on\n0, 0.5, 0.5, 1\n0.5, 0.6, 0.5, 0\n0.7, 9, 9, 0\n1, -5, 0.5, 0\n"
    assert problem_of(case([4, 4, 4], 1.0, sources=[with_path(tmp_path, GAUSSIAN, path)])).volume_sources.varies


def test_a_power_below_zero_is_refused(tmp_path: Path) -> None:
    text = case([4, 4, 4], 1.0, sources=[with_path(tmp_path, {**GAUSSIAN, "power": "0.5 - t"})])
    with pytest.raises(ScenarioError, match=r"sources\.0\.beam\.power: expected at least 0 W"):
        problem_of(text)
