"""What the functions of `heatsim` take, how they refuse, and what Python hears of a run."""

from __future__ import annotations

import copy
import logging
import os
import pickle
import signal
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.in_turn import in_turn

import heatsim
from heatsim import errors
from heatsim.errors import Issue
from heatsim.simulation import arguments
from heatsim.simulation.time_loop import LiveValues
from heatsim.studies.impedance.responses import ThermalImpedance

# A slab in air, whose film is a parameter.
SLAB = """\
grid = { cells = [20, 1, 1], size = [0.02, 0.001, 0.001] }
time = { end = 4.0, integrator = "euler" }
compute = { device = "cpu" }
parameters = { h = 10.0 }
materials.steel = { conductivity = 15.0, density = 7900.0, heat_capacity = 500.0 }
regions = [{ material = "steel" }]
initial = { temperature = 300.0 }
boundary.x_max = { kind = "convection", coefficient = "h", ambient = 280.0 }
[output]
slices = [{ axis = "z", at = 0.0005, every = 1.0 }]
probes = [{ name = "end", at = [0.0195, 0.0005, 0.0005], every = 1.0 }]
"""


@pytest.fixture
def slab(tmp_path: Path) -> Path:
    path = tmp_path / "slab.toml"
    path.write_text(SLAB)
    return path


@in_turn(
    ("given", "ends"), [(None, False), (0, False), ("", False), (True, False), (False, True), (np.bool_(False), True)]
)
def test_only_false_ends_a_run(given: object, ends: bool, slab: Path, tmp_path: Path) -> None:
    run = heatsim.run(slab, tmp_path / "run", on_progress=lambda progress: given)
    assert run.finished is not ends


def test_overrides_are_a_mapping_or_texts_wherever_a_scenario_is_taken(slab: Path, tmp_path: Path) -> None:
    told = {"time.end": np.float64(2.0), "grid.cells": (10, 1, 1), "materials.steel": {"conductivity": 20.0}}
    with pytest.raises(errors.ScenarioError, match="density"):
        heatsim.load(slab, told)
    told["materials.steel"] = {"conductivity": 20.0, "density": 7900, "heat_capacity": "500 J/(kg K)"}
    texts = ["time.end=2", "grid.cells=[10,1,1]", "materials.steel.conductivity=20"]
    scenario = heatsim.load(str(slab), told)
    assert scenario == heatsim.load(slab, texts)
    assert scenario.grid.cells == (10, 1, 1)
    run = heatsim.run(str(slab), tmp_path / "run", overrides=told)
    assert run.info["cells"] == [10, 1, 1]
    assert heatsim.resume(str(run.path), {"time.end": 3.0}).info["time"] == 3.0
    found = heatsim.evaluate(slab, {"h": 20}, overrides=told)
    assert found == heatsim.evaluate(scenario, ["h=20"])
    assert found == heatsim.evaluate(scenario, {"h": np.int64(20)})
    steady = {"time": {"integrator": "steady"}, "output.slices": []}
    assert heatsim.gradient(slab, "probe('end')", "h", overrides=steady).derivatives.keys() == {"h"}


@in_turn(
    ("call", "words"),
    [
        (lambda p: heatsim.load(None), "path: expected a path, found None"),
        (lambda p: heatsim.load(p, "time.end=10"), "overrides: expected .* found str 'time.end=10'"),
        (lambda p: heatsim.load(p, [1]), "overrides: expected .* found int 1 in it"),
        (lambda p: heatsim.load(p, ["time.end"]), "override time.end: expected KEY=VALUE"),
        (lambda p: heatsim.load(p, {"time.end": None}), "time.end: expected a number, a text, .* found None"),
        (lambda p: heatsim.load(p, {1: 2}), "expected a key such as 'time.end', found int 1"),
        (lambda p: heatsim.run(3), "scenario: expected a path, or what heatsim.load gives, found int 3"),
        (lambda p: heatsim.run(p, 3), "output: expected a path, found int 3"),
        (lambda p: heatsim.run(p, p.parent), "force=True|not a heatsim run folder"),
        (lambda p: heatsim.run(p, on_progress=3), "on_progress: expected a function of the progress, found int 3"),
        (lambda p: heatsim.resume(3), "run: expected a Run, or the path of a run folder, found int 3"),
        (lambda p: heatsim.open(None), "run: expected a Run, .* found None"),
        (lambda p: heatsim.evaluate(p, {"h": None}), "h: expected a number, .* found None"),
        (lambda p: heatsim.evaluate(p, {"h": float("nan")}), "h: expected a number, found nan"),
        (lambda p: heatsim.evaluate(p, "h=3"), "parameters: expected .* found str 'h=3'"),
        (lambda p: heatsim.evaluate(p, {"q": 1}), "override parameters.q: expected a parameter of the file"),
        (lambda p: heatsim.gradient(p, 3), "of: expected a text, found int 3"),
        (lambda p: heatsim.gradient(p, "max(T)", 3), "with_respect_to: expected .* found int 3"),
        (lambda p: heatsim.zth(p, "1 s"), "first: expected a number, found str '1 s'"),
        (lambda p: heatsim.zth(p, per_decade=0), "per_decade: expected a whole number > 0, found int 0"),
        (lambda p: heatsim.zth(None), "scenario: expected a path, or .* found None"),
        (lambda p: heatsim.open_sweep(3), "folder: expected a path, found int 3"),
        (lambda p: heatsim.effective({}, {0: 1}), "image: expected a path, or an array .* found dict"),
        (lambda p: heatsim.effective(np.zeros((2, 2, 2), int), 3), "phases: expected .* found int 3"),
        (lambda p: heatsim.effective(np.zeros((2, 2, 2), int), {"a": 3}), "phases: expected whole numbers"),
        (lambda p: heatsim.effective(np.ones((2, 2, 2), int), {0: 3}), r"give each one, as \{1: 0.5\}"),
        (lambda p: heatsim.effective(np.zeros((2, 2, 2), int), {0: 3}, "xq"), "directions: expected some of x, y, z"),
        (lambda p: heatsim.effective(np.zeros((2, 2, 2), int), {0: 3}, voxel=1.0), "voxel: expected its edges"),
        (lambda p: heatsim.effective(np.zeros((2, 2, 2), int), {0: 3}, device=1), "device: expected a text"),
    ],
)
def test_what_is_of_a_wrong_kind_is_refused_in_words_of_python(
    call: Callable[[Any], object], words: str, slab: Path
) -> None:
    with pytest.raises(errors.HeatsimError, match=words) as refused:
        call(slab)
    assert "--" not in str(refused.value)
    assert "\n".join(map(str, refused.value.issues)) == str(refused.value)


ERRORS = [
    errors.HeatsimError("a"),
    errors.ScenarioError([Issue("one", "time.end", "a.toml", 3, 4, "hint"), Issue("two")]),
    errors.InputFileError(Path("a.npy"), "no such file"),
    errors.RunFolderError("a"),
    errors.RequestError("a"),
    errors.NotFiniteError.at(3, 4.0, (1.0, 2.0, 3.0)),
    errors.RunawayError.of(3.0, "K", (1.0, 2.0, 3.0), 1.0, "why"),
    errors.NoSteadyStateError("why"),
    errors.EnergyLostError(1.0, 2.0, "J", "why"),
    errors.NotConvergedError("the solver", [1.0, 0.5]),
    errors.NotSettledError(3.0, [1.0, 0.5]),
    errors.NoGpuError("a"),
]


@in_turn("error", ERRORS, ids=lambda error: type(error).__name__)
def test_errors_come_back_from_another_process_as_they_were(error: errors.HeatsimError) -> None:
    error.reword(arguments.in_words_of_python)
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert (type(again), str(again), again.__dict__) == (type(error), str(error), error.__dict__)
        assert again.issues == error.issues


def test_scenarios_are_keys_of_caches_and_results_with_arrays_compare(slab: Path) -> None:
    scenario = heatsim.load(slab)
    assert {scenario: 1}[pickle.loads(pickle.dumps(scenario))] == 1
    impedance = ThermalImpedance(np.array([1.0, 2.0]), ("a",), ("b",), np.ones((1, 1, 2)))
    assert impedance == impedance
    assert impedance != copy.deepcopy(impedance)
    progress = heatsim.Progress(1.0, 2.0, 3, 4, look=lambda: LiveValues(1.0, 2.0, 3.0))
    assert pickle.loads(pickle.dumps(progress)) == progress


def test_an_override_that_is_wrong_has_its_key(slab: Path) -> None:
    for overrides in ({"time.end": -1}, {"parameters.q": 1}):
        with pytest.raises(errors.ScenarioError) as refused:
            heatsim.load(slab, overrides)
        (issue,) = refused.value.issues
        assert (issue.key, issue.file) == (*overrides, f"override {next(iter(overrides))}")
        assert str(issue).count(issue.key) == 1


def test_ctrl_c_saves_the_run_and_the_run_goes_on_from_there(slab: Path, tmp_path: Path) -> None:
    looks = []

    def look(progress: heatsim.Progress) -> None:
        looks.append(progress.time)
        if len(looks) == 3:
            os.kill(os.getpid(), signal.SIGINT)

    long = {"time.end": 40000.0, "output.probes.0.every": 100.0, "output.slices": []}
    with pytest.raises(KeyboardInterrupt):
        heatsim.run(slab, tmp_path / "run", overrides=long, on_progress=look)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert (tmp_path / "run" / "checkpoint.h5").is_file()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = heatsim.resume(tmp_path / "run", on_progress=lambda progress: looks.append(progress.time) or False)
    assert 0.0 < looks[2] <= again.info["time"] == looks[-1] < 40000.0


def test_what_a_run_warns_of_reaches_python_and_the_run(slab: Path, tmp_path: Path) -> None:
    ball = {"sphere": {"center": [0.01, 0.0005, 0.0005], "radius": 0.0012}}  # which cells cannot hold
    told = {"regions": [{"material": "steel"}, {"material": "copper", **ball}]}
    with pytest.warns(heatsim.HeatsimWarning) as heard:
        run = heatsim.run(slab, tmp_path / "run", overrides=told)
    assert run.warnings == tuple(str(each.message) for each in heard)
    assert all(each.filename == __file__ for each in heard)
    (tmp_path / "run" / "checkpoint.h5").unlink()
    info = run.path / "run.json"
    info.write_text(info.read_text().replace('"finished"', '"stopped"'))
    with pytest.warns(heatsim.HeatsimWarning, match="has no checkpoint, so the run starts anew"):
        again = heatsim.resume(run)
    assert "starts anew" in again.warnings[0]


def test_a_run_leaves_a_program_as_it_was(slab: Path, tmp_path: Path) -> None:
    logger = logging.getLogger("heatsim")
    before = logger.level, logger.propagate, logging.getLogger().level, list(logger.handlers)
    heatsim.run(slab, tmp_path / "run")
    assert (logger.level, logger.propagate, logging.getLogger().level, list(logger.handlers)) == before
    assert "GOMP_SPINCOUNT" not in os.environ
    log = (tmp_path / "run" / "run.log").read_text()
    assert "finished at t = 4 s" in log


def test_threads_run_without_the_handler_of_signals(slab: Path, tmp_path: Path) -> None:
    done: list[heatsim.Run] = []
    thread = threading.Thread(target=lambda: done.append(heatsim.run(slab, tmp_path / "run")))
    thread.start()
    thread.join()
    assert done[0].finished


def test_evaluate_has_the_bits_of_the_run_and_neither_pictures_nor_fields(
    slab: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshots = {"output.snapshots": {"every": 0.7}, "output.pictures": {"overview": True}}
    kept = heatsim.evaluate(slab, {"h": 12.5}, tmp_path / "kept", overrides=snapshots)
    assert len(list((tmp_path / "kept").rglob("*.png"))) > 1

    def refuse(*given: object) -> None:
        raise AssertionError("a field, a picture or a checkpoint was written")

    assert (tmp_path / "kept" / "checkpoint.h5").is_file()
    names = (
        "output.recorders.snapshots.write_snapshot",
        "output.pictures.frames.draw_frames",
        "simulation.checkpointing.fingerprint",
    )
    for name in (*(f"heatsim.{each}" for each in names), "os.fsync"):  # it does not wait for the disk either
        monkeypatch.setattr(name, refuse)
    assert heatsim.evaluate(slab, {"h": 12.5}, overrides=snapshots) == kept
