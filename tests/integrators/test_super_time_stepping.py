"""RKL2: its coefficients, order, stability, ledger and error control."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.in_memory import Recording
from helpers.in_turn import in_turn
from helpers.scenario_texts import box, convection, fixed
from integrator_cases import ORDER_PROBLEMS, VARIED_PROBLEMS, case, exact, field, run, state_of

from heatsim.solve.integrators import rkl2
from heatsim.solve.integrators.rkl2 import Rkl2, Rkl2Scheme, max_stages, rkl2_scheme, stages_for, two_term_scheme
from heatsim.solve.state import State

SCHEMES = [rkl2_scheme(3), rkl2_scheme(8), rkl2_scheme(21), two_term_scheme(3), two_term_scheme(8), two_term_scheme(21)]
scheme_names = in_turn("scheme", SCHEMES, ids=["c3", "c8", "c21", "b3", "b8", "b21"])


def rkl2_state(text: str, **time: object) -> State:
    return state_of(text, integrator="rkl2", **time)


def growth(scheme: Rkl2Scheme, z: float) -> float:
    """What a step makes of 1, where dt L(Y) = z Y."""
    stages = list(zip(scheme.mu, scheme.nu, scheme.mu_tilde, scheme.gamma_tilde, strict=True))
    Y = [1.0, 1.0]
    for mu, nu, mu_tilde, gamma_tilde in stages:
        Y = [Y[1], (1 - mu - nu) + mu * Y[1] + nu * Y[0] + mu_tilde * z * Y[1] + gamma_tilde * z]
    return Y[1]


@scheme_names
def test_a_step_matches_the_exponential_to_second_order(scheme: Rkl2Scheme) -> None:
    z = np.array([1e-2, 2e-2])
    errors = np.array([growth(scheme, -each) - np.exp(-each) for each in z])
    assert np.log2(errors[1] / errors[0]) == pytest.approx(3.0, abs=0.1)


@scheme_names
def test_a_step_is_stable_up_to_the_limit_and_not_beyond(scheme: Rkl2Scheme) -> None:
    inside = np.array([growth(scheme, z) for z in np.linspace(-2 * scheme.limit, 0.0, 1001)])
    assert np.abs(inside).max() <= 1 + 1e-9
    assert inside.min() >= -1e-9
    assert scheme.limit == (scheme.stages**2 + scheme.stages - 2) / 4
    assert scheme.stages == 3 or abs(growth(scheme, -2.2 * scheme.limit)) > 1.0


@scheme_names
def test_weights_of_the_stages_meet_both_order_conditions(scheme: Rkl2Scheme) -> None:
    weights = np.array([stage.weight for stage in scheme.rounded(np.dtype(np.float64))])
    assert weights.sum() == pytest.approx(1.0, abs=1e-13)
    assert weights @ np.array(scheme.c[:-1]) == pytest.approx(0.5, abs=1e-13)
    assert scheme.c[-1] == pytest.approx(1.0, abs=1e-13)


def test_consistent_stages_are_at_the_times_of_the_paper() -> None:
    scheme, s = rkl2_scheme(9), 9
    np.testing.assert_allclose(scheme.c[2:], [(j * j + j - 2) / (s * s + s - 2) for j in range(2, s + 1)])
    assert scheme.c[1] == pytest.approx(scheme.c[2] / 3)


@scheme_names
def test_the_defect_from_the_trapezoidal_rule_tells_the_error(scheme: Rkl2Scheme) -> None:
    z = 1e-2
    end = growth(scheme, -z)
    defect = end - 1.0 + 0.5 * z * (1.0 + end)
    assert abs(end - np.exp(-z)) == pytest.approx(scheme.share_of_defect * abs(defect), rel=1e-2)


@in_turn("steps", [0.1, 2.5, 2.6, 7.0, 1000.0, 3e4])
def test_the_stages_taken_are_the_fewest_that_are_stable(steps: float) -> None:
    stages = stages_for(steps)
    assert stages % 2 == 1
    assert rkl2_scheme(stages).limit >= steps * (1 - 1e-9)
    assert stages == 3 or rkl2_scheme(stages - 2).limit < steps


def test_rounding_sets_a_limit_to_the_stages() -> None:
    single, double = (max_stages(np.dtype(kind), 1e-4, False) for kind in ("float32", "float64"))
    assert 15 < single < 60 < double
    assert max_stages(np.dtype(np.float32), 1e-4, True) < single


def test_rounding_is_not_taken_for_an_error() -> None:
    """In float32, of a body that is barely warmed: no step is short enough to mend an error below rounding."""
    source = {"power": 1e-3, "region": box([0, 0, 0], [0.5, 1, 1])}
    text = case([16, 4, 1], 1.0, initial=300.0, boundary={"x_max": convection(1e-3, 290.0)}, sources=[source])
    state = run(text.replace("float64", "float32"), integrator="rkl2", tolerance=1e-4)
    assert state.step + state.solver_statistics.rejected < 200


@in_turn("text", ORDER_PROBLEMS.values(), ids=ORDER_PROBLEMS)
def test_the_error_of_super_steps_falls_with_second_order(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With as many stages for the shorter step, as the constant of the error depends on them."""
    monkeypatch.setattr(rkl2, "stages_for", lambda steps: 7)
    errors = []
    for count in (64, 128):
        state = rkl2_state(text)
        integrator, end = Rkl2(state, 1e-3), state.problem.scenario.time.end
        for number in range(1, count + 1):
            integrator.advance(end / count, end * number / count)
        assert state.solver_statistics.stages == 7 * count
        errors.append(np.abs(field(state) - exact(text)).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)


def test_rough_fields_decay_at_the_limit_of_stability() -> None:
    """The shortest wave of the grid, over steps that take their stages to the limit."""
    rough = case([32, 1, 1], 1.0, initial="where(floor(32*x) - 2*floor(16*x) > 0, 1, -1) + 0.5*cos(17*pi*x)")
    state = rkl2_state(rough)
    integrator, dt = Rkl2(state, 1e-3), state.problem.stability_limit * rkl2_scheme(11).limit
    sizes = [np.abs(field(state)).max()]
    for number in range(1, 13):
        integrator.advance(dt, number * dt)
        sizes.append(np.abs(field(state)).max())
    assert state.solver_statistics.stages == 12 * 11
    assert (np.diff(sizes) <= 1e-12).all()
    assert sizes[-1] < 1e-2 * sizes[0]


@in_turn("text", VARIED_PROBLEMS.values(), ids=VARIED_PROBLEMS)
def test_super_steps_keep_the_error_within_three_times_the_tolerance(text: str) -> None:
    start = state_of(text)
    end = start.problem.scenario.time.end
    times = [end * (i + 1) / 6 for i in range(6)]

    def seen(**time: object) -> list[np.ndarray]:
        watcher = Recording(times, field)
        run(text, [watcher], **time)
        return watcher.seen

    fine = seen(step=end / 300)
    everything = [field(start), *fine]
    rise = max(each.max() for each in everything) - min(each.min() for each in everything)
    for tolerance in (1e-2, 1e-3):
        fields = seen(integrator="rkl2", tolerance=tolerance)
        error = max(np.abs(mine - theirs).max() for mine, theirs in zip(fields, fine, strict=True))
        assert error <= 3 * tolerance * rise


@pytest.mark.parametrize("name", ["convection", "a wall that swings"], ids=["bare", "consistent"])
def test_the_kernels_take_the_super_steps_of_plain_numpy(name: str) -> None:
    """But for rounding, which the estimate of an error passes on to the size of the next step."""
    text = VARIED_PROBLEMS[name]
    plain, fused = (run(text, integrator="rkl2", kernel=kernel) for kernel in ("multigrid", "cpu"))
    assert fused.solver_statistics == plain.solver_statistics
    np.testing.assert_allclose(field(fused), field(plain), rtol=0, atol=1e-7)
    assert fused.energy.faces["x_min"] == pytest.approx(plain.energy.faces["x_min"], rel=1e-7)
    assert abs(fused.energy.relative_residual) < 1e-11


def test_super_steps_take_far_fewer_sweeps_than_explicit_steps() -> None:
    text = case([128, 1, 1], 0.1, initial="cos(pi*x)", boundary={"x_min": fixed(1.0)})
    state = run(text, integrator="rkl2")
    assert state.solver_statistics.stages < 0.15 * 0.1 / state.problem.stability_limit


def test_super_steps_under_a_moving_beam_are_few_and_right(tmp_path: Path) -> None:
    (tmp_path / "scan.csv").write_text("time, x, y, on\n0, 0.2, 0.4, 1\n1, 0.8, 0.6, 1\n")
    beam = {"kind": "gaussian", "power": 40.0, "radius": 0.3, "depth": 0.5, "path": str(tmp_path / "scan.csv")}
    text = case([16, 16, 16], 1.0, sources=[{"beam": beam}], boundary={"z_min": fixed(0.0)})
    explicit = run(text, kernel="cpu", integrator="euler", step="auto")
    found = run(text, kernel="cpu", integrator="rkl2", tolerance=1e-3)
    assert found.step < explicit.step / 8
    assert np.abs(field(found) - field(explicit)).max() < 3e-3 * np.ptp(field(explicit))
    assert abs(found.energy.relative_residual) < 1e-12


def test_events_between_super_steps_are_hit_exactly() -> None:
    times = [0.0, 0.1, 0.3, 1 / 3, 0.7, 1.0]
    watcher = Recording(times, lambda state: state.time)
    run(case([16, 1, 1], 1.0, initial="x", boundary={"x_min": fixed(3.0)}), [watcher], integrator="rkl2")
    assert watcher.seen == times


def test_a_step_given_is_taken_with_as_many_stages_as_it_needs() -> None:
    text = case([16, 1, 1], 1.0, initial="x", boundary={"x_min": fixed(3.0)})
    state = run(text, integrator="rkl2", step=0.04)
    assert (state.step, state.solver_statistics.rejected) == (25, 0)
    assert state.solver_statistics.stages == 25 * stages_for(0.04 / state.problem.stability_limit)


def test_a_constant_stays_constant_to_the_bit() -> None:
    text = case([7, 5, 3], 2.0, initial=21.3, boundary={"x_min": convection("3 + sin(t)", 21.3)}, precision="float32")
    state = rkl2_state(text)
    before = field(state)
    Rkl2(state, 1e-3).advance(0.5, 0.5)
    assert field(state).tobytes() == before.tobytes()


@in_turn("tolerance", [1e-1, 1e-3])
@in_turn("wall", ["5*cos(t)", 5.0], ids=["consistent", "bare"])
def test_the_energy_ledger_of_super_steps_closes(tolerance: float, wall: float | str) -> None:
    text = case(
        [12, 10, 6],
        2.0,
        initial="300 + 10*x",
        boundary={"z_max": convection(4.0, wall), "x_min": fixed(290.0)},
        sources=[{"power_density": "40*sin(t)**2*x" if wall == "5*cos(t)" else "40*x"}, {"power": 3.0}],
    )
    state = run(text, integrator="rkl2", tolerance=tolerance)
    assert state.solver_statistics.rejected > 0 or tolerance == 1e-1
    assert abs(state.energy.relative_residual) < 1e-12
    assert state.energy.sources > 0
    assert state.energy.faces["z_max"] < 0


def test_the_same_super_steps_give_the_same_bits() -> None:
    text = VARIED_PROBLEMS["contrast in three dimensions"]
    first, second = (run(text, integrator="rkl2") for _ in range(2))
    assert field(first).tobytes() == field(second).tobytes()
    assert (first.step, first.solver_statistics) == (second.step, second.solver_statistics)
