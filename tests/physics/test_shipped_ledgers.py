"""The energy ledger of every shipped scenario closes to rounding, over its first steps."""

from __future__ import annotations

from pathlib import Path

import pytest

from heatsim.integrators import make_field
from heatsim.problem import build_problem
from heatsim.scenario import load
from heatsim.simulation.state import State
from heatsim.simulation.time_loop import Timings, simulate

SCENARIOS = sorted((Path(__file__).parents[2] / "scenarios").glob("*.toml"))
STEPS = 300
OVERRIDES = {
    "melt_pool": ["grid.cells=[40, 20, 10]"],
    "window_frame": ["time.integrator=euler", "time.end=1"],  # on the way to its steady state
}


@pytest.mark.parametrize(("precision", "tolerance"), [("float64", 1e-10), ("float32", 1e-4)])
@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_the_energy_ledger_closes(path: Path, precision: str, tolerance: float) -> None:
    overrides = ["compute.device=cpu", f"compute.precision={precision}", *OVERRIDES.get(path.stem, [])]
    end = STEPS * build_problem(load(path, overrides)).largest_step
    problem = build_problem(load(path, [*overrides, f"time.end={end}"]))
    state = State(problem, make_field(problem, "cpu"))
    assert simulate(state, [], Timings())
    assert state.step >= STEPS
    assert state.energy.moved > 0
    assert abs(state.energy.relative_residual) < tolerance
