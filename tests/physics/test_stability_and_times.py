"""The step stays within the limit of positivity, events are met exactly, and a run that blows up says so."""

from __future__ import annotations

from math import ceil, pi, sin, sqrt
from pathlib import Path

import numpy as np
import pytest
from helpers.in_memory import SAFETY, Recording, Run, both, case, problem_of
from helpers.in_turn import in_turn
from helpers.scenario_texts import box, convection, fixed, flux, material

from heatsim.errors import NotFiniteError, ScenarioError

MATERIALS = {"a": material([2.0, 1.0, 0.5], 2.0, 1.5), "b": material(0.4, 1.0, 0.5)}
REGIONS = [{"material": "b", "sphere": {"center": [0.5, 0.5, 0.5], "radius": 0.3}}]
CELLS = (7, 6, 5)
PERIODIC_BOX = {f"{axis}_{end}": {"kind": "periodic"} for axis in "xyz" for end in ("min", "max")}

# 1/limit of the fastest cell, 1/s, for cells of 0.1 x 0.2 x 0.25 m with k = 2, 1, 0.5 and rho c = 3
X, Y, Z = 2 / 0.1**2 / 3, 1 / 0.2**2 / 3, 0.5 / 0.25**2 / 3
LIMITS = {
    "insulated": ({}, 2 * X + 2 * Y + 2 * Z),
    "flux": ({"x_min": flux(1e3)}, 2 * X + 2 * Y + 2 * Z),
    "fixed at one end of x": ({"x_min": fixed(0.0)}, 3 * X + 2 * Y + 2 * Z),
    "fixed on all faces": ({"default": fixed(0.0)}, 3 * X + 3 * Y + 3 * Z),
    # U = 1/(1/hc + h/(2k)) = 1/(1/40 + 0.025) = 20 W/(m2 K), over rho c h = 0.3: less than X, so inner cells limit
    "weak convection": ({"x_max": convection(40.0, 0.0)}, 2 * X + 2 * Y + 2 * Z),
    # U = 1/(1/360 + 0.025) = 36 W/(m2 K): U/(rho c h) = 120 = 1.8 X
    "strong convection": ({"x_max": convection(360.0, 0.0)}, 2.8 * X + 2 * Y + 2 * Z),
    "convection that may grow in time": ({"x_max": convection("5 + t", 0.0)}, 3 * X + 2 * Y + 2 * Z),
    "periodic": (PERIODIC_BOX, 2 * X + 2 * Y + 2 * Z),
}


@in_turn(("boundary", "rate"), LIMITS.values(), ids=LIMITS)
def test_the_limit_is_heat_capacity_over_the_sum_of_conductances(boundary: dict, rate: float) -> None:
    text = case((8, 5, 4), 1.0, size=(0.8, 1.0, 1.0), materials=MATERIALS, boundary=boundary)
    problem = problem_of(text)
    assert problem.stability_limit == pytest.approx(1 / rate, rel=1e-12)
    assert problem.largest_step == pytest.approx(SAFETY / rate, rel=1e-12)


def test_an_axis_of_one_cell_between_insulated_faces_does_not_limit_the_step() -> None:
    problem = problem_of(case((8, 1, 1), 1.0, size=(0.8, 1e-3, 1e-3)))
    assert problem.stability_limit == pytest.approx(0.1**2 / 2, rel=1e-12)


BOUNDARIES = {
    "closed": {},
    "fixed": both("x", fixed(30.0)) | {"y_min": fixed(70.0)},
    "convection": {"x_min": convection(1e4, 30.0), "y_max": convection(20.0, 99.0), "z_min": convection(1e-3, 0.0)},
    "periodic": PERIODIC_BOX,
}


@pytest.mark.parametrize("body", [[], REGIONS], ids=["one material", "two materials"])
@pytest.mark.parametrize("boundary", BOUNDARIES.values(), ids=BOUNDARIES)
def test_just_below_the_limit_the_maximum_principle_holds_on_a_random_field(
    run: Run, tmp_path: Path, boundary: dict, body: list
) -> None:
    start = np.random.default_rng(4).choice([0.0, 100.0], CELLS[::-1])
    np.save(tmp_path / "start.npy", start)
    settings = {
        "materials": MATERIALS,
        "regions": body,
        "boundary": boundary,
        "initial": {"file": str(tmp_path / "start.npy")},
    }
    limit = problem_of(case(CELLS, 1.0, **settings)).stability_limit
    ranges = Recording((0.999 * limit, 30 * 0.999 * limit), lambda state: state.temperature())
    outcome = run(case(CELLS, 30 * 0.999 * limit, step=0.999 * limit, **settings), recorders=[ranges])
    assert outcome.state.step == 30
    for field in ranges.seen:
        assert field.min() >= -1e-12
        assert field.max() <= 100.0 + 1e-12


@pytest.mark.parametrize("boundary", [BOUNDARIES["closed"], BOUNDARIES["fixed"]], ids=["inner cell", "wall cell"])
def test_the_limit_is_sharp(run: Run, tmp_path: Path, boundary: dict) -> None:
    """A step at 0.999 of it leaves the fastest cell 0.1 % of its own heat, so no larger one could be allowed."""
    start = np.zeros(CELLS[::-1])
    start[2, 0 if boundary else 3, 0 if boundary else 3] = 100.0
    np.save(tmp_path / "start.npy", start)
    cold = {name: fixed(0.0) for name in boundary}
    settings = {"materials": MATERIALS, "boundary": cold, "initial": {"file": str(tmp_path / "start.npy")}}
    step = 0.999 * problem_of(case(CELLS, 1.0, **settings)).stability_limit
    outcome = run(case(CELLS, step, step=step, **settings))
    assert outcome.state.step == 1
    assert outcome.temperature[start > 0] == pytest.approx(0.1, rel=1e-6)


@pytest.mark.parametrize("excess", [1.001, 1e6])
def test_a_step_over_the_limit_is_refused_and_the_limit_named(excess: float) -> None:
    limit = problem_of(case(CELLS, 1.0, materials=MATERIALS)).stability_limit
    with pytest.raises(ScenarioError) as refusal:
        problem_of(case(CELLS, 1.0, materials=MATERIALS, step=excess * limit))
    message = str(refusal.value)
    assert "time.step" in message
    assert "stability limit" in message
    assert f"{limit:.6g} s" in message


@pytest.mark.parametrize("safe", [0.5, 1.0])
def test_a_step_up_to_the_limit_is_taken_as_given(run: Run, safe: float) -> None:
    step = safe * problem_of(case(CELLS, 1.0, materials=MATERIALS)).stability_limit
    assert run(case(CELLS, 40 * step, materials=MATERIALS, step=step)).state.step == 40


ODD_TIMES = (0.0, 1e-6, 0.1, 1 / 7, 0.5 / pi, sqrt(0.03), 0.1733, 0.17331)


def test_events_and_the_end_are_met_exactly_in_equal_steps(run: Run) -> None:
    """Each interval between events is cut into the fewest equal steps that are allowed."""
    n, end = 10, 0.1999
    clock = Recording(ODD_TIMES, lambda state: (state.time, state.step, state.temperature()))
    last = Recording((end,), lambda state: state.time)
    outcome = run(case([n, 1, 1], end, initial="cos(pi*x)"), recorders=[clock, last])
    times, steps, fields = zip(*clock.seen, strict=True)
    assert times == ODD_TIMES
    assert last.seen == [end]
    assert outcome.state.time == end

    largest = SAFETY / 2 / n**2
    eigenvalue = (2 * n * sin(pi / (2 * n))) ** 2
    assert steps[0] == 0
    factor = 1.0
    for i in range(1, len(times)):
        interval, count = times[i] - times[i - 1], steps[i] - steps[i - 1]
        assert count == ceil(interval / largest)
        factor *= (1 - interval / count * eigenvalue) ** count  # so the steps were equal
        np.testing.assert_allclose(fields[i], factor * outcome.initial, rtol=0, atol=1e-12)


def test_the_time_of_an_event_carries_no_rounding_of_the_steps_before_it(run: Run) -> None:
    """In floating point, 0.3, 0.6 and 1.2 differ from the event before plus n steps of equal length."""
    times = (0.1, 0.3, 0.6, 1.2)
    clock = Recording(times, lambda state: state.time)
    run(case([10, 1, 1], 1.5, initial="x"), recorders=[clock])
    assert tuple(clock.seen) == times


def test_recorders_that_share_a_time_are_served_at_the_same_step(run: Run) -> None:
    one = Recording((0.05, 0.1), lambda state: (state.time, state.step))
    two = Recording((0.1, 0.15), lambda state: (state.time, state.step))
    run(case([10, 1, 1], 0.15, initial="x"), recorders=[one, two])
    assert one.seen[1] == two.seen[0]
    assert [time for time, _ in one.seen + two.seen] == [0.05, 0.1, 0.1, 0.15]


def test_a_field_that_overflows_is_noticed_within_100_steps_and_earlier_records_are_kept(run: Run) -> None:
    """1e37 K/s in steps of a second: differences overflow from 1.7e38 on, half the largest float32, so in step 19."""
    text = case(
        CELLS,
        1000.0,
        materials={"thin": material(1e-10, 1.0, 1e-7)},
        sources=[{"power_density": 1e30}],
        precision="float32",
        step=1.0,
    )
    records = Recording((0.0, 10.0, 15.0, 500.0), lambda state: (state.step, state.temperature()))
    with pytest.raises(NotFiniteError, match="no longer finite") as stopped:
        run(text, recorders=[records])
    found = int(str(stopped.value).split("step ")[1].split(",")[0])
    assert 19 <= found <= 118
    assert [step for step, _ in records.seen] == [0, 10, 15]
    np.testing.assert_allclose(records.seen[2][1], 1.5e38, rtol=1e-5)


HEATER = {"power": 1.0, "region": box((0.1, 0.1, 0.1), (0.6, 0.6, 0.6))}
UNSEEN = "1/step(abs(t - 0.7031) - 0.01)"  # infinite between two of the times at which inputs are looked at before
WITHOUT_BOUND = {
    "uniform": [{"power_density": UNSEEN}, {"power_density": "x"}],
    "separable": [HEATER, {"power_density": f"{UNSEEN}*(1 + x)"}],
    "not separable": [HEATER, {"power_density": "exp(1e3*t*x)"}],
}


@in_turn(
    ("change", "key"),
    [
        ({"sources": [{"power_density": "exp(1e3*t)"}]}, "sources.0"),
        ({"sources": [{"power_density": "sqrt(1.5 - t)*x"}]}, "sources.0"),
        ({"boundary": {"x_min": {"kind": "fixed", "temperature": "100 - 400*t"}}}, "boundary.x_min.temperature"),
        ({"boundary": {"x_min": {"kind": "convection", "coefficient": "9 - 6*t*y", "ambient": 3.0}}}, "coefficient"),
    ],
)
def test_what_goes_bad_later_in_a_run_is_refused_before_it(change: dict, key: str) -> None:
    with pytest.raises(ScenarioError, match=key):
        problem_of(case(CELLS, 2.0, materials=MATERIALS, regions=REGIONS, **change))


@in_turn("precision", ["float64", "float32"])
@in_turn("sources", WITHOUT_BOUND.values(), ids=WITHOUT_BOUND)
def test_a_source_without_bound_stops_the_run_and_keeps_earlier_records(
    run: Run, sources: list, precision: str
) -> None:
    records = Recording(tuple(i / 50 for i in range(101)), lambda state: state.temperature())
    text = case(CELLS, 2.0, materials=MATERIALS, regions=REGIONS, sources=sources, precision=precision)
    with pytest.raises(NotFiniteError):
        run(text, recorders=[records])
    assert 3 < len(records.seen) < 101
    assert all(np.isfinite(field).all() for field in records.seen)
