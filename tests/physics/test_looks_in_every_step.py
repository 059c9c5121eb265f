"""Results over time and the end of a run by a condition: no step passes over what they ask for."""

from __future__ import annotations

from math import exp, log, pi, sin, sqrt
from pathlib import Path
from typing import Any

import pytest
from helpers.in_turn import in_turn
from helpers.scenario_texts import case, convection, material

import heatsim
from heatsim.scenario import loads
from heatsim.simulation.over_time import Sample, top_of_parabola
from heatsim.simulation.run import Run

DAY = 86400.0
CAPACITY, FILM = 1e6 * 1e-3, 50.0 * 0.01  # J/K, W/K, of a cube of 0.1 m
PERIOD = CAPACITY / FILM  # s
POWER, START, WIDTH = 1000.0, 43000.0, 300.0
PULSE = f"{POWER} if t > {START} and t < {START + WIDTH} else 0"
METHODS = ["euler", "rkl2", "implicit"]


def cube(integrator: str, power: str, end: float, results: str, **keys: Any) -> str:
    """A cube that is so good a conductor that it is even, and loses heat to a film at 0."""
    step = {"step": 10.0} if integrator == "euler" else {"tolerance": 1e-3}
    return case(
        (2, 1, 1), end, size=(0.1, 0.1, 0.1), materials={"m": material(10.0, 1000.0, 1000.0)}, initial=0.0,
        boundary={"x_min": convection(50.0, 0.0)}, sources=[{"power": power}], integrator=integrator, **step, **keys,
    ) + results  # fmt: skip


def run(text: str, folder: Path) -> Run:
    return heatsim.run(loads(text), folder / "run")


HOTTEST = '\n[output]\nresults = [{ name = "hottest", of = "mean(T)", over = "time" }, '
HOTTEST += '{ name = "most", of = "max(T)", over = "time" }]\n'


@in_turn("integrator", METHODS)
def test_the_peak_of_a_short_pulse_is_found(integrator: str, tmp_path: Path) -> None:
    """Of all looks each 432 s of a day none is near it. The mean over the day is energy times resistance."""
    done = run(cube(integrator, PULSE, DAY, HOTTEST), tmp_path)
    rise = POWER / FILM * (1.0 - exp(-WIDTH / PERIOD))
    assert done.info["results"]["most"] == pytest.approx(rise, rel=0.05)
    assert done.info["result_times"]["most"] == pytest.approx(START + WIDTH, abs=10.0)
    mean = POWER * WIDTH * (1.0 / FILM + 0.1 / (3.0 * 10.0 * 0.01)) / DAY
    assert done.info["results"]["hottest"] == pytest.approx(mean, rel=0.03)


@in_turn("integrator", METHODS)
def test_a_pulse_shorter_than_a_step_warms_as_any(integrator: str, tmp_path: Path) -> None:
    done = run(cube(integrator, "3e7 if abs(t - 40000.05) < 0.005 else 0", DAY, HOTTEST), tmp_path)
    assert done.info["results"]["most"] == pytest.approx(3e5 / CAPACITY, rel=0.03)


@in_turn("integrator", METHODS)
def test_a_row_shorter_than_a_step_warms_as_any(integrator: str, tmp_path: Path) -> None:
    """A triangle of a hundredth of a second, in a file of a day."""
    (tmp_path / "power.csv").write_text("time,power\n0,0\n40000,0\n40000.005,6e7\n40000.01,0\n86400,0\n")
    text = cube(integrator, "1", DAY, HOTTEST).replace(
        '{ power = "1" }', f"{{ power = {{ file = '{tmp_path}/power.csv', column = 'power' }} }}"
    )
    assert "power.csv" in text
    done = run(text, tmp_path)
    assert done.info["results"]["most"] == pytest.approx(3e5 / CAPACITY, rel=0.03)


@in_turn("integrator", METHODS)
def test_a_smooth_bump_shorter_than_a_step_warms_as_any(integrator: str, tmp_path: Path) -> None:
    bump = f"{3e5 / sqrt(pi)}*exp(-(t - 40000.3)**2)"
    done = run(cube(integrator, bump, DAY, HOTTEST), tmp_path)
    assert done.info["results"]["most"] == pytest.approx(3e5 / CAPACITY, rel=0.03)


@in_turn("integrator", METHODS)
def test_the_top_of_a_wave_between_steps_is_found(integrator: str, tmp_path: Path) -> None:
    """P sin(w t) after the start has faded: the amplitude of a lumped body."""
    frequency = 2.0 * pi / 7200.0
    done = run(cube(integrator, "1000*sin(2*pi*t/7200)", DAY, HOTTEST), tmp_path)
    amplitude = 1000.0 / (FILM * sqrt(1.0 + (frequency * PERIOD) ** 2))
    start = 1.0 + exp(-1.5 * 7200.0 / PERIOD / 4)  # the first top has what the start leaves
    assert amplitude * 0.9 < done.info["results"]["most"] < amplitude * start * 1.6


@in_turn("integrator", METHODS)
def test_a_run_ends_where_its_condition_begins_to_hold(integrator: str, tmp_path: Path) -> None:
    """Heated evenly and insulated: T = P t/C."""
    text = cube(integrator, "100", DAY, '\n[stop]\nwhen = "mean(T) > 1234.5 and max(T) > 3"\n')
    text = text.replace('kind = "convection"', 'kind = "flux"').replace("coefficient = 50.0", "flux = 0.0")
    text = text.replace("ambient = 0.0\n", "")
    done = run(text, tmp_path)
    event = done.info["stop"]
    assert event["time"] == pytest.approx(1234.5 * CAPACITY / 100.0, rel=1e-6)
    assert event["between"][0] <= event["time"] <= event["between"][1] == done.info["time"]
    assert event["between"][1] - event["between"][0] < 1.0
    assert event["shift"] == pytest.approx(1e-3 * event["time"], rel=3e-2)


def test_a_condition_that_holds_for_a_moment_ends_a_run(tmp_path: Path) -> None:
    """A pulse of 300 s and what it leaves; the next look of a 200th of the run would be too late."""
    limit = 0.95 * POWER / FILM * (1.0 - exp(-WIDTH / PERIOD))
    done = run(cube("implicit", PULSE, 20 * DAY, f'\n[stop]\nwhen = "max(T) > {limit}"\n'), tmp_path)
    assert START < done.info["stop"]["time"] < START + WIDTH


def test_an_explicit_run_ends_in_the_step_of_its_event(tmp_path: Path) -> None:
    """Looks are up to a hundred steps apart where all goes evenly; what switches by T is still caught in its step."""
    text = cube("euler", "1e5 if T < 800 else 1.4e5", DAY, '\n[stop]\nwhen = "max(T) > 801"\n')
    text = text.replace("power =", "power_density =").replace("coefficient = 50.0", "coefficient = 1e-9")
    event = run(text, tmp_path).info["stop"]
    assert event["time"] == pytest.approx(8000.0 + 1.0 / 0.14, abs=4.0)
    assert event["between"][1] - event["between"][0] <= 10.0


def test_a_wave_that_comes_back_at_each_look_is_no_steady_state(tmp_path: Path) -> None:
    text = cube("implicit", "1000*sin(2*pi*t/7200)", 20 * 7200.0, "\n[stop]\nsteady_rate = 1e-4\nevery = 7200.0\n")
    assert "stop" not in run(text, tmp_path).info


def test_the_top_of_a_parabola_is_exact_for_one() -> None:
    looks = [Sample(t, 5.0 - 2.0 * (t - 1.3) ** 2) for t in (0.0, 1.0, 3.0)]
    assert top_of_parabola(looks) == pytest.approx((1.3, 5.0))
    assert top_of_parabola([Sample(t, -v) for t, v in looks], -1.0) == pytest.approx((1.3, -5.0))
    assert top_of_parabola([Sample(t, sin(t)) for t in (0.0, 1.0, 1.2)]) is None


def test_a_resumed_run_finds_the_same_event(tmp_path: Path) -> None:
    text = cube("euler", "100", DAY, '\n[stop]\nwhen = "mean(T) > 150"\n').replace("step = 10.0", "step = 5.0")
    whole = run(text, tmp_path / "whole")
    folder = tmp_path / "parts" / "run"
    heatsim.run(loads(text), folder, on_progress=lambda progress: progress.time < 2000.0)
    rest = heatsim.resume(folder)
    assert rest.info["stop"] == whole.info["stop"]
    assert rest.info["stop"]["time"] == pytest.approx(PERIOD * log(4.0), rel=0.2)
