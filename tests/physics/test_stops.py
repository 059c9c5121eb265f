"""Runs that end when something has happened, at the time at which it did."""

from __future__ import annotations

from math import exp, log
from pathlib import Path

import pytest
from helpers.in_turn import in_turn
from helpers.scenario_texts import MINIMAL

import heatsim
from heatsim.scenario import loads
from heatsim.scenario.stop import ConditionError, parse_condition
from heatsim.simulation.run import Run

CONDUCTIVITY, DENSITY, CAPACITY, FILM = 398.0, 8960.0, 385.0, 10.0
SIZE = 0.1
PERIOD = DENSITY * CAPACITY * SIZE / FILM  # of the decay of a thin plate, cooled on one side, s
END = "end = 40000.0\nintegrator = 'implicit'\ntolerance = 1e-5"
COOLED = (
    MINIMAL.replace("cells = [8, 8, 8]", "cells = [4, 1, 1]").replace("end = 10.0", END)
    + f"[boundary]\nx_max = {{ kind = 'convection', coefficient = {FILM}, ambient = 193.15 }}\n"
)


def run(folder: Path, stop: str) -> Run:
    return heatsim.run(loads(COOLED + stop), folder / "run")


def test_a_cooling_plate_stops_at_the_time_of_its_exponential(tmp_path: Path) -> None:
    """A lumped plate falls by 1/e in rho c d / h; its inner resistance makes the time longer by Bi/3 or so, 8e-4."""
    done = run(tmp_path, "[stop]\nwhen = \"mean(T, 'copper') < 243.15\"\nevery = 1000.0\n")
    stopped = done.info["stop"]["time"]
    assert stopped == pytest.approx(PERIOD * log(2.0), rel=2e-3)
    assert done.finished
    assert 0.0 <= done.info["time"] - stopped <= 1000.0
    assert list(heatsim.open(done.path)["time"].values)[-1] == done.info["time"]


def test_a_steady_state_is_one_that_changes_slowly_enough(tmp_path: Path) -> None:
    done = run(tmp_path, "[stop]\nsteady_rate = 1e-3\nevery = 500.0\n")
    start = 100.0 / PERIOD  # K/s
    assert done.info["stop"]["time"] == pytest.approx(PERIOD * log(start / 1e-3), abs=750.0)
    assert exp(-done.info["time"] / PERIOD) * start < 1.1e-3


def test_a_condition_that_is_never_met_is_told(tmp_path: Path) -> None:
    done = run(tmp_path, '[stop]\nwhen = "max(T) > 300 and min(T) < 1"\n')
    assert done.finished
    assert "stop" not in done.info
    assert done.info["time"] == 40000.0
    assert any("never met" in warning for warning in done.info["warnings"])


def test_alternatives_hold_if_one_of_them_does() -> None:
    [first, second] = parse_condition("max(T, 'a') < 5e2 and min(T)>=1 or mean( T ) <= -3")
    assert [clause.part for clause in first] == ["a", None]
    assert (second[0].statistic, second[0].comparison, second[0].limit) == ("mean", "<=", -3.0)


@in_turn("text", ["", "T < 5", "max(T)", "max(T) < x", "max(T) < 5 and", "max(T, a) < 5", "1 < max(T)"])
def test_what_is_no_condition_is_refused(text: str) -> None:
    with pytest.raises(ConditionError):
        parse_condition(text)
