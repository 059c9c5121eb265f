"""The energy ledger of every shipped scenario closes to rounding, over its first steps."""

from __future__ import annotations

from pathlib import Path

from helpers.in_turn import in_turn

from heatsim.problem import build_problem
from heatsim.scenario import load
from heatsim.simulation.time_loop import Timings, simulate
from heatsim.solve.integrators import make_field
from heatsim.solve.state import State

SCENARIOS = sorted((Path(__file__).parents[2] / "scenarios").glob("*.toml"))
STEPS = 300
TOLERANCE = {"float64": 1e-10, "float32": 1e-4}
# All in float64, where rounding hides least; in float32 one each of a plain body, a composite, a beam and what melts.
SINGLE = ("quick_start", "chip_under_lid", "laser_scan", "melt_pool")
RUNS = [
    (path, precision) for path in SCENARIOS for precision in TOLERANCE if precision == "float64" or path.stem in SINGLE
]
OVERRIDES = {
    "melt_pool": ["grid.cells=[40, 20, 10]"],
    "laser_track": ["grid.cells=[60, 20, 10]"],
    "window_frame": ["time.integrator=euler", "time.end=1"],  # on the way to its steady state
    "chiplets": ["time.integrator=euler", "time.end=1"],
    "heat_sink": ["time.integrator=euler", "time.end=1"],
    "quench": ["time.integrator=euler"],
    "mosfet": ["time.integrator=euler", "time.step=5e-4"],
    "moist_wall": ["time.integrator=euler", "time.periodic=1"],
    "casting": ["time.integrator=euler", "grid.cells=[25, 15, 18]"],
    "hyperthermia": ["grid.cells=[20, 20, 20]", "time.step=2.5"],
}


@in_turn(("path", "precision"), RUNS, ids=lambda value: getattr(value, "stem", value))
def test_the_energy_ledger_closes(path: Path, precision: str) -> None:
    overrides = ["compute.device=cpu", f"compute.precision={precision}", *OVERRIDES.get(path.stem, [])]
    end = STEPS * build_problem(load(path, overrides)).largest_step
    problem = build_problem(load(path, [*overrides, f"time.end={end}"]))
    state = State(problem, make_field(problem, "cpu"))
    assert simulate(state, [], Timings())
    assert state.step >= STEPS
    assert state.energy.moved > 0
    assert abs(state.energy.relative_residual) < TOLERANCE[precision]
