"""Runs that start from the state that repeats with their inputs, against exact solutions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.in_turn import in_turn

import heatsim
from heatsim.errors import NotSettledError, ScenarioError
from heatsim.problem import build_problem
from heatsim.scenario import loads
from heatsim.simulation.time_loop import Progress

DAY = 86400.0
OMEGA = 2 * np.pi / DAY
DIFFUSIVITY = 0.8 / (1700.0 * 900.0)
WALL = """\
temperature_unit = "degC"
[grid]
cells = [{cells}, 1, 1]
size = [{thickness}, 1.0, 1.0]
[time]
end = "1 d"
periodic = "1 d"
integrator = "{integrator}"
[compute]
device = "cpu"
precision = "{precision}"
[materials.brick]
conductivity = 0.8
density = 1700.0
heat_capacity = 900.0
[[regions]]
material = "brick"
[initial]
temperature = 3.0
[boundary]
x_min = {face}
[output]
snapshots = {{ at = [0.0, 21600.0, 86400.0] }}
energy = {{ every = "1 d" }}
"""
FACE = '{ kind = "fixed", temperature = "20 + 10*sin(2*pi*t/86400)" }'


def wall(
    integrator: str = "rkl2", thickness: float = 0.3, precision: str = "float32", face: str = FACE, cells: int = 60
) -> str:
    return WALL.format(integrator=integrator, thickness=thickness, precision=precision, face=face, cells=cells)


def exact(thickness: float, t: float, cells: int = 60) -> np.ndarray:
    """The slab that is insulated behind: the real part of a wave of complex wavenumber."""
    x = (np.arange(cells) + 0.5) * thickness / cells
    q = np.sqrt(1j * OMEGA / DIFFUSIVITY)
    depth = np.cosh(q * (thickness - x)) / np.cosh(q * thickness)
    return np.asarray(20.0 + 10.0 * (np.exp(1j * OMEGA * t) * depth).imag)


@in_turn(("integrator", "precision"), [("rkl2", "float32"), ("implicit", "float64"), ("euler", "float64")])
def test_a_run_starts_from_the_wave_that_repeats(integrator: str, precision: str, tmp_path: Path) -> None:
    run = heatsim.run(loads(wall(integrator, precision=precision)), tmp_path / "run")
    found = heatsim.open(run.path).temperature.values[:, 0, 0]
    for temperature, t in zip(found, (0.0, DAY / 4, DAY), strict=True):
        np.testing.assert_allclose(temperature, exact(0.3, t), atol=0.05)
    assert np.abs(found[2] - found[0]).max() < 0.03
    assert (
        abs(run.info["energy"]["faces"]["x_min"]) < 0.02 * run.info["energy"]["stored"] + 2e4
    )  # J: what enters, leaves


def test_a_body_that_forgets_slowly_settles_in_few_periods(tmp_path: Path) -> None:
    """Its slowest mode falls by 2.8 % a day: from 17 K to 0.02 K in 240 days, one after another."""
    run = heatsim.run(loads(wall(thickness=2.0, cells=240)), tmp_path / "run")
    np.testing.assert_allclose(heatsim.open(run.path).temperature.values[0, 0, 0], exact(2.0, 0.0, 240), atol=0.03)
    changes = run.info["periodic"]["changes"]
    assert len(changes) < 25
    assert changes[-1] < 0.02


def test_a_radiating_face_repeats_too(tmp_path: Path) -> None:
    face = '{ kind = "radiation", emissivity = 0.9, ambient = "10 + 20*sin(2*pi*t/86400)" }'
    run = heatsim.run(loads(wall("implicit", precision="float64", face=face)), tmp_path / "run")
    found = heatsim.open(run.path).temperature.values[:, 0, 0]
    assert np.abs(found[2] - found[0]).max() < 0.02
    assert np.ptp(found[:, 0]) > 3.0


def test_it_may_be_stopped_before_it_has_settled_and_keeps_the_periods_that_were_taken(tmp_path: Path) -> None:
    told: list[str] = []

    def stop_in_third_period(progress: Progress) -> bool:
        told.append(progress.phase)
        return "period 3" not in progress.phase

    whole = heatsim.run(loads(wall()), tmp_path / "whole")
    stopped = heatsim.run(loads(wall()), tmp_path / "run", on_progress=stop_in_third_period)
    assert not stopped.finished
    assert "missed its start by" in told[-1]
    again: list[str] = []
    resumed = heatsim.resume(tmp_path / "run", on_progress=lambda progress: again.append(progress.phase) is None)
    assert resumed.finished
    assert again[0].startswith("periodic state: period 3")
    assert resumed.info["periodic"]["changes"] == whole.info["periodic"]["changes"]


def test_a_body_that_only_warms_has_no_state_that_repeats(tmp_path: Path) -> None:
    text = wall(face='{ kind = "flux", flux = 50.0 }', cells=4)
    with pytest.raises(NotSettledError, match="can all heat leave"):
        heatsim.run(loads(text), tmp_path / "run")


@in_turn(
    ("text", "key", "words"),
    [
        (wall("steady"), "time.periodic", "has no time"),
        (wall().replace('periodic = "1 d"', 'periodic = "2 d"'), "time.periodic", "expected at most end = 86400 s"),
        (
            wall().replace(
                "heat_capacity = 900.0", "heat_capacity = 900.0\nlatent = { heat = 1e3, solidus = 5, liquidus = 6 }"
            ),
            "time.periodic",
            "latent heat",
        ),
    ],
    ids=["steady", "longer than the run", "melting"],
)
def test_what_has_no_such_state_is_refused(text: str, key: str, words: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        build_problem(loads(text))
    assert key in str(refused.value)
    assert words in str(refused.value)
