"""`integrator = "auto"`: what it takes, why, and that it is as accurate as was asked for."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.in_memory import Recording
from helpers.in_turn import in_turn
from helpers.scenario_texts import box, convection, fixed, material
from integrator_cases import case, equal_steps, field, run, state_of

from heatsim.base.evaluations import counted
from heatsim.base.threads import in_threads
from heatsim.errors import NotFiniteError
from heatsim.problem import Problem
from heatsim.problem.terms.undefined_times import undefined_time
from heatsim.scenario import Expression
from heatsim.simulation.run_warnings import slow_warnings
from heatsim.simulation.time_loop import Timings, simulate
from heatsim.solve.integrators import make_field
from heatsim.solve.integrators.auto import Recommendation, measure_step_cost, recommend, timed
from heatsim.solve.integrators.euler import EULER, with_explicit_steps
from heatsim.solve.integrators.implicit import IMPLICIT
from heatsim.solve.integrators.input_costs import (
    seconds_of_inputs,
    seconds_of_tangents,
    typical_seconds_of_inputs,
    typical_seconds_of_tangents,
)
from heatsim.solve.integrators.integrator import EstimateInputs, Integrator, IntegratorEstimate, StepCost
from heatsim.solve.integrators.rkl2 import RKL2
from heatsim.solve.integrators.tableaus import TR_BDF2
from heatsim.solve.state import State


def problem_of(text: str, **time: Any) -> Problem:
    return state_of(text, integrator="euler", kernel="cpu", **time).problem.with_integrator(
        "auto", time.get("tolerance")
    )


def advice(problem: Problem, refused: dict[str, str] | None = None, *, full: bool = True) -> Recommendation:
    return recommend(problem, "cpu", refused, full=full)


def stiff(end: float, cells: int = 4000, **time: Any) -> str:
    """Glue between metal: its cells take a microsecond of each step."""
    return case(
        [cells, 1, 1],
        end,
        size=[0.04, 0.01, 0.01],
        materials={"metal": material(200.0, 1.0, 1e4), "glue": material(0.2, 1.0, 1e4)},
        regions=[{"material": "glue", "where": "x > 0.019 and x < 0.021"}],
        boundary={"x_min": fixed(100.0), "x_max": convection(500.0, 20.0)},
        precision="float64",
        **time,
    )


def test_many_short_steps_are_left_to_super_steps_and_stiff_problems_to_solvers() -> None:
    mode = case([64, 64, 64], 0.5, initial="cos(pi*x)", boundary={"x_min": fixed(1.0)}, precision="float32")
    assert advice(problem_of(mode)).integrator == "rkl2"
    assert advice(problem_of(stiff(1e3))).integrator == "implicit"


def test_what_takes_hours_is_told_with_what_another_way_takes() -> None:
    mode = problem_of(case([64, 64, 64], 0.5, initial="cos(pi*x)", boundary={"x_min": fixed(1.0)}))
    estimates = (
        IntegratorEstimate("euler", 3000, 3000, 60.0, "has too few steps"),
        IntegratorEstimate("rkl2", 90_000, 900_000, 5000.0),
    )

    def told(seconds: float, others: tuple[IntegratorEstimate, ...] = estimates[:1]) -> list[str]:
        chosen = replace(estimates[1], seconds=seconds)
        taken = Recommendation("rkl2", "", 1e-3, (*others, chosen))
        return [str(each) for each in slow_warnings(mode, taken)]

    assert told(3000.0) == []
    assert told(5000.0, ()) == []
    assert "about 83.3 min (90000 steps" in told(5000.0)[0]
    assert "euler would take about 60 s but has too few steps" in told(5000.0)[0]
    assert "more than a day: auto takes rkl2, which is foretold to take about 5.7 years" in told(1.8e8, ())[0]


METAL = {"metal": material(2.0, 1.0, 1e6)}


def test_what_inputs_cost_is_timed_and_what_moves_is_followed() -> None:
    source = [{"power_density": "1e6*exp(-((x - 0.02*t)/0.001)**2)"}]
    text = case([40, 1, 1], 1.0, size=[0.04, 0.01, 0.01], materials=METAL, sources=source)
    problem = problem_of(text)
    assert seconds_of_inputs(problem) > 0.0
    assert problem.volume_sources.passages == [pytest.approx(0.001 / 2**0.5 / 0.02, rel=0.1)]
    steps = {each.integrator: each.steps for each in advice(problem).estimates}
    resting = problem_of(text.replace("0.02*t", "0.02 + 0*t"))
    assert steps["rkl2"] > 1.5 * {each.integrator: each.steps for each in advice(resting).estimates}["rkl2"]
    # An edge counts by the time in which it crosses a cell of 1 mm, whether or not one is met when it passes.
    edges = [{"power_density": "1e6*(abs(x - 0.02*t) < 0.003)"}]
    for end in (0.8, 1.0):
        moving = case([40, 1, 1], end, size=[0.04, 0.01, 0.01], materials=METAL, sources=edges)
        assert problem_of(moving).volume_sources.passages == [pytest.approx(0.001 / 0.02, rel=0.3)]


def test_tangents_to_faces_are_foretold_by_how_fast_their_inputs_change() -> None:
    """A stage of rkl2 makes them anew; explicit steps share them, unless inputs change from step to step."""

    def steps_a_tangent(ambient: str | float) -> float:
        text = case(
            [9, 1, 1], 1.0, size=[0.009, 0.001, 0.001], materials={"m": material("2 + 0.01*T", 1.0, 1e5)},
            boundary={"x_min": convection(1e4, ambient)},
        )  # fmt: skip
        problem = problem_of(text)
        assert seconds_of_tangents(problem) > 0.0
        seconds, steps = added(EULER, problem)
        assert added(RKL2, problem)[0] == pytest.approx(1e-3 * added(RKL2, problem)[1])
        return 1e-3 * steps / seconds

    def added(integrator: Integrator, problem: Problem) -> tuple[float, int]:
        """Seconds that tangents of a millisecond add, and sweeps."""
        assert integrator.estimate is not None
        inputs = EstimateInputs(problem, 1e-3, "cpu", StepCost(0.0, 0.0))
        without, found = (
            integrator.estimate(inputs._replace(cost=StepCost(0.0, 0.0, tangents=each))) for each in (0.0, 1e-3)
        )
        return found.seconds - without.seconds, found.sweeps

    assert steps_a_tangent(20.0) == pytest.approx(48.0)
    assert steps_a_tangent("20 + 10*sin(300*t)") == pytest.approx(1.0)
    assert seconds_of_tangents(problem_of(stiff(1.0))) == 0.0


def test_implicit_steps_at_a_source_that_switches_are_foretold_as_they_are_taken() -> None:
    """A front moves on on which a source jumps; each attempt at a step takes several solves."""
    density = [{"power_density": "exp(-x**2/400) if T < 0.5 else 0"}]
    text = case(
        [30, 1, 1], 1.0, size=[60.0, 1.0, 1.0], materials={"m": material(1.0, 1.0, 1.0)}, sources=density,
        boundary={}, precision="float64", integrator="implicit",
    )  # fmt: skip
    problem = state_of(text).problem
    taken = run(text)
    attempts = taken.step + taken.solver_statistics.rejected
    estimates = advice(problem.with_integrator("auto", None)).estimates
    foretold = next(each for each in estimates if each.integrator == "implicit")
    assert 0.4 < foretold.steps / attempts < 2.5
    measured = IMPLICIT.measure
    assert measured is not None
    assert measured(state_of(text), 0.1) > 0.0


def test_explicit_euler_stays_where_others_gain_nothing() -> None:
    """Outputs so close to each other that no step may grow."""
    text = case([64, 64, 64], 0.01, initial="cos(pi*x)", boundary={"x_min": fixed(1.0)})
    problem = problem_of(text, step=1e-7)
    found = advice(problem)
    assert found.integrator == "euler"
    assert "rkl2 about" in found.reason


def test_explicit_euler_is_not_taken_where_its_steps_are_too_few_for_the_tolerance() -> None:
    text = case([12, 1, 1], 0.1, initial="x", boundary={"x_min": fixed(3.0)})
    found = advice(problem_of(text, tolerance=1e-4))
    assert found.integrator in ("rkl2", "implicit")
    assert "too few steps" in found.estimates[0].refused
    assert found.tolerance == 1e-4
    assert advice(problem_of(text, tolerance=1e-1)).integrator == "euler"


@pytest.mark.parametrize("tolerance", [1e-2, 1e-3])
def test_explicit_euler_keeps_the_tolerance_where_it_is_allowed_to(tolerance: float) -> None:
    """On the rough start that its error is worst for, at the first time that is looked at."""
    n = next(n for n in range(8, 400, 8) if not _refused(n, tolerance))
    first = Recording([0.002], field)
    run(_rough(n), [first], integrator="euler", kernel="cpu")
    precise = field(run(_rough(n), end=0.002, integrator="rkl2", tolerance=1e-6))
    assert np.abs(first.seen[0] - precise).max() <= tolerance


def _rough(n: int) -> str:
    return case([n, 1, 1], 0.02, initial=0.0, boundary={"x_min": fixed(1.0)})


def _refused(n: int, tolerance: float) -> str:
    return advice(problem_of(_rough(n), tolerance=tolerance)).estimates[0].refused


def test_inputs_that_swing_ask_for_more_explicit_steps() -> None:
    still = case([30, 1, 1], 1.0, boundary={"x_min": fixed(1.0)})
    swinging = case([30, 1, 1], 1.0, boundary={"x_min": fixed("sin(30*t)")})
    assert not advice(problem_of(still)).estimates[0].refused
    assert "follow inputs" in advice(problem_of(swinging)).estimates[0].refused


def test_a_step_longer_than_is_stable_rules_explicit_euler_out() -> None:
    text = case([40, 1, 1], 1.0, initial="x")
    assert not advice(problem_of(text)).estimates[0].refused
    problem = state_of(text, step=0.05).problem.with_integrator("auto", None)
    assert "shorter steps to be stable" in advice(problem).estimates[0].refused


def test_what_cannot_be_had_is_not_advised() -> None:
    problem = problem_of(stiff(1e3))
    found = advice(problem, {"implicit": "cannot be had: it does not fit", "rkl2": "cannot be had: nor does it"})
    assert found.integrator == "euler"
    assert "nor does it" in found.reason


@in_turn(
    ("integrator", "method", "tolerance"),
    [
        ("implicit", "tr-bdf2", 1e-3),
        ("implicit", "tr-bdf2", 1e-6),
        ("implicit", "backward-euler", 1e-2),
        ("rkl2", "tr-bdf2", 1e-3),
    ],
)
def test_the_steps_foreseen_are_about_those_taken(integrator: str, method: str, tolerance: float) -> None:
    text = case(
        [24, 24, 1],
        0.5,
        initial=20.0,
        sources=[{"power": 50.0, "region": box([0.2, 0.2, 0], [0.5, 0.5, 1])}],
        boundary={"x_max": convection(3.0, 0.0)},
    )
    time = {"integrator": integrator, "method": method, "tolerance": tolerance}
    problem = state_of(text, **time).problem.with_integrator("auto", tolerance)
    foreseen = {each.integrator: each for each in advice(problem).estimates}[integrator]
    state = run(text, **time)
    taken = state.step + state.solver_statistics.rejected
    assert taken / 3 < foreseen.steps < 3 * taken
    assert (
        integrator == "implicit"
        or state.solver_statistics.stages / 3 < foreseen.sweeps < 3 * state.solver_statistics.stages
    )


@in_turn("integrator", ["implicit", "rkl2"])
def test_the_steps_foreseen_in_waves_are_about_those_taken(integrator: str) -> None:
    """Thirty waves, and a short pulse, which asks for no more steps than itself."""
    wave = {"x_min": fixed("20 + 10*sin(2*pi*t/0.1)"), "x_max": fixed("20 + 5*exp(-((t - 1)/0.002)**2)")}
    time: dict[str, Any] = {"integrator": integrator, "tolerance": 1e-3}
    for boundary, of_waves in ((wave, True), ({"x_max": wave["x_max"]}, False)):
        text = case([24, 1, 1], 3.0, initial=20.0, boundary=boundary)
        problem = state_of(text, **time).problem.with_integrator("auto", 1e-3)
        foreseen = next(each for each in advice(problem).estimates if each.integrator == integrator)
        state = run(text, **time)
        taken = state.step + state.solver_statistics.rejected
        assert (taken > 500) == of_waves
        assert taken / 3 < foreseen.steps < 3 * taken


@in_turn("inputs", ["jumps", "rows", "trace", "spots"])
def test_the_steps_foreseen_after_jumps_and_bends_are_about_those_taken(tmp_path: Path, inputs: str) -> None:
    """By how large they are, and whether cells follow them at once."""
    rng, end, more = np.random.default_rng(0), 1.0, dict[str, Any]()
    if inputs == "jumps":
        more = {"boundary": {"x_min": fixed("20 + 50*(t - 0.1*floor(t/0.1) < 0.02)")}}
    elif inputs == "rows":
        file = tmp_path / "air.csv"
        rows = (f"{0.01 * n:g},{20 + 8 * np.sin(n / 4) + rng.normal():.3f}" for n in range(101))
        file.write_text("\n".join(["time,T", *rows]))
        more = {"boundary": {"x_min": convection(10.0, {"file": str(file), "column": "T"})}}
    elif inputs == "trace":
        file = tmp_path / "power.csv"
        rows = (f"{0.05 * (n + part):.12f},{power:.3f}" for n, power in enumerate(50 + 5 * rng.normal(size=20))
                for part in (0.0, 1.0 - 1e-9))  # fmt: skip
        file.write_text("\n".join(rows))
        more = {"sources": [{"trace": str(file), "region": box([0.2, 0, 0], [0.5, 1, 1])}]}
    else:  # of a beam that jumps in no time from one cell to another, for about as long as a cell remembers
        file, end = tmp_path / "path.csv", 0.02
        rows = (f"{1e-3 * (n + part):.12g},{x:.4f},0.5" for n, x in enumerate(rng.uniform(0.1, 0.9, 20))
                for part in (0.0, 1.0 - 1e-7))  # fmt: skip
        file.write_text("\n".join(rows))
        beam = {"kind": "gaussian", "power": 100.0, "radius": 0.01, "depth": 0.5, "path": str(file)}
        more = {"sources": [{"beam": beam}]}
    text = case([24, 1, 1], end, initial=20.0, **more)
    foreseen = {each.integrator: each for each in advice(problem_of(text)).estimates}["rkl2"]
    state = run(text, integrator="rkl2", kernel="cpu")
    taken = state.step + state.solver_statistics.rejected
    assert taken / 1.7 < foreseen.steps < 1.7 * taken
    assert state.solver_statistics.stages / 1.7 < foreseen.sweeps < 1.7 * state.solver_statistics.stages


@in_turn("rows", [2, 400], ids=["straight", "curved"])
@in_turn("integrator", ["implicit", "rkl2"])
def test_the_steps_foreseen_under_a_moving_beam_are_about_those_taken(
    tmp_path: Path, integrator: str, rows: int
) -> None:
    """Whether its path is a few long lines or an arc of many short ones, none of which is a fresh start."""
    u = np.linspace(0.0, 1.0, rows)
    path = np.stack([8.0 * u, 0.02 + 0.04 * u, 0.02 + 0.01 * np.sin(np.pi * u)], axis=1)
    np.savetxt(tmp_path / "path.csv", path, delimiter=",", header="time,x,y", comments="")
    beam = {"kind": "gaussian", "power": 400.0, "radius": 2e-3, "depth": 1e-3, "path": str(tmp_path / "path.csv")}
    text = case(
        [80, 40, 1],
        8.0,
        size=[0.08, 0.04, 0.003],
        materials={"steel": material(40.0, 7800.0, 480.0)},
        sources=[{"beam": beam}],
    )
    foreseen = {each.integrator: each for each in advice(problem_of(text)).estimates}[integrator]
    state = run(text, integrator=integrator, kernel="cpu" if integrator == "rkl2" else "multigrid")
    taken = state.step + state.solver_statistics.rejected
    assert taken / 2 < foreseen.steps < 2 * taken
    assert (
        integrator == "implicit"
        or state.solver_statistics.stages / 2 < foreseen.sweeps < 2 * state.solver_statistics.stages
    )


def test_timings_foretell_but_do_not_choose() -> None:
    """Outputs so close to each other that no step may grow: rkl2 takes eleven times as long as Euler, whatever is timed
    on a machine under load."""
    problem = problem_of(case([64, 64, 64], 0.01, initial="cos(pi*x)", boundary={"x_min": fixed(1.0)}), step=1e-7)
    found = advice(problem)
    loaded = timed(found, problem, "cpu", lambda: StepCost(1.0, 1e-6))
    assert (found.integrator, loaded.integrator, loaded.step) == ("euler", "euler", None)
    assert loaded.seconds > 100.0 * min(each.seconds for each in loaded.estimates)
    assert [each.steps for each in loaded.estimates] == [each.steps for each in found.estimates]

    def never() -> StepCost:
        raise AssertionError("timed")

    short = problem_of(case([64, 1, 1], 1.0, initial="x"))
    assert timed(advice(short), short, "cpu", never) == advice(short)


METAL = {"metal": material(2.0, 1.0, 1e6)}


def test_what_inputs_cost_is_the_same_each_time_that_it_is_counted() -> None:
    """The choice of an integrator depends on it. benchmarks/compare_auto.py says how far it is off."""
    faces = {"x_min": convection("10 + 5*sin(300*t)", "20 + 10*sin(300*t)")}
    source = [{"power_density": "1e6*exp(-((x - 0.02*t)/0.001)**2)"}]
    materials = {"m": material("2 + 0.01*T", 1.0, 1e5)}
    problem = problem_of(
        case([900, 1, 1], 1.0, size=[0.9, 0.001, 0.001], materials=materials, boundary=faces, sources=source)
    )
    for typical in (typical_seconds_of_inputs, typical_seconds_of_tangents):
        assert typical(problem) == typical(problem) > 0.0


def test_what_another_thread_computes_is_not_counted() -> None:
    """As a run of its own does, whose choice of an integrator depends on counts too."""
    value = Expression.parse("sin(t)", frozenset("t"))
    with counted() as found, ThreadPoolExecutor(1) as other:
        other.submit(value, t=1.0).result()
        assert found == []
        assert len([*in_threads(lambda t: value(t=t), [1.0, 2.0, 3.0], 3)]) == len(found) == 3


def test_a_short_run_is_advised_the_same_where_all_is_estimated() -> None:
    """As a run and its dry run do."""
    problem = problem_of(case([64, 1, 1], 1.0, initial="x"))
    short, found = advice(problem, full=False), advice(problem)
    assert (short.integrator, short.estimates[0].steps) == ("euler", short.estimates[0].sweeps)
    assert (found.integrator, len(found.estimates)) == ("euler", 3)
    assert "no time" in found.reason


def test_a_run_ends_before_a_pole_of_an_input_and_is_warned_of_it() -> None:
    """Where no step would be short enough. Steps passed over it without a word, to whatever rounding made of it."""
    for power, pole in (("1/(t - 0.3)", 0.3), ("tan(2*t)", 0.25 * np.pi), ("1e3*sqrt(abs(t - 0.3))", None)):
        text = case([16, 1, 1], 1.0, boundary={"x_min": {"kind": "flux", "flux": power}})
        problem = problem_of(text)
        told = [str(each) for each in problem.warnings()]
        assert [f"no finite value at t = {pole:.9g} s" in each for each in told] == ([True] if pole else [])
        assert advice(problem).integrator != "euler"
        for integrator in ("euler", "implicit") if pole else ():
            state = state_of(text, integrator=integrator, kernel="cpu" if integrator == "euler" else "multigrid")
            with pytest.raises(NotFiniteError, match=r"boundary.x_min.flux.* has no finite value at t = 0\.[37]"):
                simulate(state, [], Timings())
            assert 0.0 < state.time < pole


@in_turn(
    ("text", "time"),
    [
        ("sqrt((t - 10)*(t - 20))", 10.0),
        ("where(t < 10, 1, 1/(t - 10))", 10.0),
        ("sqrt(abs(sin(t))) + 1/sqrt(abs(t - 2000.123))", 2000.123),
        ("exp(t)", 709.782712893384),
        ("where(t < 10, 1, sqrt(t - 10))", None),
        ("1/((t - 1000)**2 + 1e-12) + log(abs(t - 1000))", None),
        ("max(t - 5, 0.1)**-2*floor(t/7)", None),
    ],
)
def test_the_first_time_without_a_value_is_found(text: str, time: float | None) -> None:
    found = undefined_time(Expression.parse(text, frozenset("t")), 3600.0)
    assert found == (None if time is None else pytest.approx(time, rel=1e-11))


def following(cells: int, end: float = 20.0) -> str:
    """A bar that cools in air, whose heat capacity is given as a function of temperature."""
    return case(
        [cells, 1, 1],
        end,
        size=[0.03, 0.01, 0.01],
        materials={"bar": {"conductivity": 15.0, "density": 2000.0, "heat_capacity": "500 + 0*T"}},
        initial=600.0,
        boundary={"x_min": convection(400.0, 300.0)},
        precision="float64",
    )


def test_where_temperature_matters_explicit_steps_are_shortened_to_keep_the_tolerance() -> None:
    """At the stability limit, 24 steps to the first output, explicit Euler is twenty times as far off."""
    found = advice(problem_of(following(6), tolerance=1e-4), full=False)
    assert found.integrator == "euler"
    precise, errors = field(equal_steps(following(6, 2.0), 200, TR_BDF2)), []
    for step in (found.step, "auto"):
        first = field(run(following(6, 2.0), integrator="euler", step=step, kernel="cpu"))
        errors.append(np.abs(first - precise).max() / (600.0 - precise.min()))
    assert errors[0] <= 1e-4 < errors[1]


def test_where_temperature_matters_others_are_taken_if_explicit_steps_are_too_many() -> None:
    problem = problem_of(following(40), tolerance=1e-6)
    found = advice(problem, full=False)
    assert (found.integrator, found.step, found.tolerance) == ("rkl2", None, 1e-6)
    finer = problem_of(following(40), tolerance=1e-8)
    left = advice(finer, {"rkl2": "cannot be had"}, full=False)
    assert (left.integrator, left.step) == ("implicit", None)


def test_where_temperature_matters_enough_explicit_steps_stay_as_they_are() -> None:
    problem = problem_of(following(200))
    found = advice(problem, full=False)
    assert (found.integrator, found.step) == ("euler", None)


def cooling(end: float, precision: str) -> str:
    """Thin copper in still air: a step of Euler changes it by less than the last place of a float32."""
    return case(
        [10, 1, 1],
        end,
        size=[1e-3, 1e-2, 1e-2],
        materials={"copper": material(400.0, 8900.0, 382.0)},
        initial=400.0,
        boundary={"x_max": convection(1.0, 300.0)},
        precision=precision,
    )


def test_explicit_steps_are_left_where_rounding_would_cost_more_than_the_tolerance() -> None:
    found = advice(problem_of(cooling(100.0, "float32")))
    assert found.integrator == "implicit"
    euler, rkl2, _ = found.estimates
    assert "rounding in float32" in euler.refused
    assert "rounding in float32" in rkl2.refused
    assert found.hint == 'compute.precision = "float64" would make euler and rkl2 accurate enough'
    assert found.hint in found.reason
    assert not advice(problem_of(cooling(100.0, "float64"))).hint
    assert "rounding" not in advice(problem_of(cooling(100.0, "float64"))).reason
    assert found.estimates == advice(problem_of(cooling(100.0, "float32"))).estimates


def test_tens_of_thousands_of_steps_are_not_too_many_for_float32() -> None:
    found = advice(problem_of(cooling(2.5, "float32")))
    assert found.estimates[0].steps > 50_000
    assert not any("rounding" in each.refused for each in found.estimates)


def test_rounding_flows_out_with_the_heat() -> None:
    """A heated rod on a cold wall, through a hundred times as long as it remembers: 300 000 explicit steps."""
    rod = case(
        [1, 1, 64],
        5.0,
        size=[1e-4, 1e-4, 4e-3],
        materials={"copper": material(400.0, 8900.0, 385.0)},
        initial=20.0,
        boundary={"z_min": fixed(20.0)},
        sources=[{"power": 4e-3}],
        precision="float32",
    )
    _, rkl2, _ = advice(problem_of(rod)).estimates
    assert not rkl2.refused
    found, exact = (
        field(run(rod.replace("float32", precision), integrator="rkl2", kernel="cpu"))
        for precision in ("float32", "float64")
    )
    assert np.ptp(exact) > 1.0
    assert np.abs(found - exact).max() < rkl2.lost * np.ptp(exact) < 1e-3 * np.ptp(exact)


def test_where_nothing_is_accurate_enough_the_reason_says_so() -> None:
    found = advice(problem_of(cooling(100.0, "float32")), {"implicit": "cannot be had: it does not fit"})
    assert found.integrator == "rkl2"
    assert "though it may lose" in found.reason


@in_turn("end", [0.3, 100.0, 777.7])
@in_turn("integrator", ["euler", "rkl2", "implicit"])
def test_inputs_are_not_asked_for_after_the_end(integrator: str, end: float) -> None:
    """Neither by timings nor by steps, which rounding may carry beyond it."""
    ending = case(
        [40, 1, 1],
        end,
        size=[1600.0, 1.0, 1.0],
        boundary={"x_min": fixed(f"sqrt({end!r} - t)")},
        sources=[{"power": f"sqrt({end!r} - t)"}],
    )
    kernel = "multigrid" if integrator == "implicit" else "cpu"
    problem = state_of(ending, kernel=kernel, integrator=integrator).problem
    timed = with_explicit_steps(problem.with_integrator("auto", None))
    measure_step_cost(State(timed, make_field(timed, "cpu")))
    assert np.isfinite(problem.forcing(np.array([np.nextafter(end, np.inf)])).boundary_b).all()
    assert run(ending, kernel=kernel, integrator=integrator).time == end
