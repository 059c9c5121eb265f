"""The events of a run: the run, its dry run and the choice of an integrator take the same ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from helpers.scenario_texts import fixed
from integrator_cases import case, run, state_of

from heatsim.cli.main import main
from heatsim.output.recorders import make_recorders
from heatsim.output.recorders.writer import Writer
from heatsim.simulation.device_selection import DeviceChoice
from heatsim.simulation.estimates import estimate_run
from heatsim.simulation.time_loop import Timings, simulate
from heatsim.solve.integrators.auto import recommend
from heatsim.solve.integrators.step_control import count_steps
from heatsim.store.folder import RunFolder

END = 0.02
REGIONS = '\n[[output.regions]]\nname = "all"\nmaterial = "unit"\ncount = 1000\n'
OUTPUTS = """
[hotspots]
scales = [0.1]
threshold = 1.0
[output]
snapshots = { at = [0.0011] }
energy = { every = 0.0013 }
slices = [{ axis = "z", at = 0.5, every = 0.0017 }]
probes = [{ name = "middle", at = [0.5, 0.5, 0.5], every = 0.0019 }]
[[output.regions]]
name = "all"
material = "unit"
every = 0.0023
"""


def rough(more: str = "", **time: Any) -> str:
    """A surface that is suddenly hot."""
    return case([40, 1, 1], END, boundary={"x_min": fixed(1.0)}, **time) + more


@pytest.mark.parametrize("time", [{"integrator": "euler"}, {"integrator": "implicit", "step": 0.01}])
def test_a_dry_run_counts_the_steps_that_the_run_takes_to_the_statistics_of_regions(
    tmp_path: Path, time: dict[str, Any]
) -> None:
    path, folder = tmp_path / "case.toml", tmp_path / "run"
    path.write_text(rough(REGIONS, **time))
    found = []
    for options in (["--dry-run"], ["--output", str(folder)]):
        done = CliRunner().invoke(main, ["run", str(path), "--json", *options])
        assert done.exit_code == 0, done.output
        found.append(json.loads(done.stdout)["steps"])
    assert found[0] == found[1]
    assert found[0] >= 1000


def test_equal_super_steps_are_counted_as_long_as_the_most_stages_are_stable() -> None:
    text = case([400, 1, 1], END, initial="x", precision="float32") + "\n[output]\nsnapshots = { count = 1 }\n"
    state = state_of(text, integrator="rkl2", step=END, kernel="cpu")
    foreseen = estimate_run(state.problem, DeviceChoice("cpu", "CPU", "cpu"), None)["steps"]
    assert simulate(state, [], Timings())
    assert foreseen == state.step
    assert foreseen > 1


def test_the_choice_of_explicit_euler_looks_at_the_first_statistics_of_regions() -> None:
    """So soon after the start its few steps are not as accurate as at the end."""

    def refused(more: str) -> str:
        problem = state_of(rough(more), integrator="euler", kernel="cpu").problem.with_integrator("auto", 1e-2)
        return recommend(problem, "cpu", full=True).estimates[0].refused

    assert refused("\n[output]\nsnapshots = { count = 1 }\n") == ""
    assert "before t = 2e-05 s" in refused("\n[output]\nsnapshots = { count = 1 }\n" + REGIONS)


def test_the_events_that_a_scenario_foresees_are_those_of_its_recorders(tmp_path: Path) -> None:
    problem = state_of(case([8, 8, 1], END) + OUTPUTS, integrator="euler", kernel="cpu").problem
    writer = Writer()
    recorders = make_recorders(problem, RunFolder.create(tmp_path / "run"), writer)
    times = {time for recorder in recorders for time in recorder.times}
    for recorder in recorders:
        recorder.close(finished=False)
    writer.close()
    assert problem.scenario.output.times(END) == tuple(sorted(times))
    assert problem.events() == problem.events(times)
    assert 0.0 in times
    assert 0.0 not in problem.events().after_start
    assert count_steps(problem) >= len(problem.events().after_start)


def test_explicit_euler_takes_no_step_to_the_kinks_of_a_trace(tmp_path: Path) -> None:
    """It takes means over its steps, whatever the inputs do within one; long steps of others end there."""
    trace = tmp_path / "power.csv"
    trace.write_text("".join(f"{number * END / 999!r}, {number % 2}\n" for number in range(1000)))
    text = case([4, 1, 1], END, sources=[{"trace": str(trace)}]) + "\n[output]\nsnapshots = { count = 1 }\n"
    explicit = state_of(text, integrator="euler", kernel="cpu").problem
    assert count_steps(explicit) == run(text, integrator="euler", kernel="cpu").step
    assert count_steps(explicit) < 10
    opened = explicit.with_integrator("auto", None)
    foreseen = {each.integrator: each for each in recommend(opened, "cpu", full=True).estimates}
    assert foreseen["euler"].steps == count_steps(explicit)
    assert min(foreseen[name].steps for name in ("rkl2", "implicit")) >= 998
