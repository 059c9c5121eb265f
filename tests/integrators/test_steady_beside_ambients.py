"""A steady state that depends on temperature, beside an ambient in the grid: its cells keep their temperature."""

from __future__ import annotations

import numpy as np
from helpers.in_turn import in_turn

from heatsim.problem import build_problem
from heatsim.scenario import loads
from heatsim.simulation.time_loop import Timings, simulate
from heatsim.solve.integrators import make_field
from heatsim.solve.state import State

WALL = """
grid = {{ cells = [{n}, 1, 1], size = [0.02, 0.1, 0.1] }}
time = {{ integrator = "steady" }}
compute = {{ precision = "float64", device = "cpu" }}
materials.A = {{ conductivity = "{k}", density = 1000.0, heat_capacity = 1000.0 }}
ambients.gas = {{ temperature = 600.0, coefficient = 150.0 }}
regions = [{{ material = "A" }}, {{ material = "gas", where = "x < 0.01" }}]
initial = {{ temperature = 500.0 }}
boundary.x_max = {{ kind = "fixed", temperature = 300.0 }}
"""


@in_turn("n", [60, 240, 640])
def test_cells_of_an_ambient_keep_their_temperature(n: int) -> None:
    """Conductivity 8 + T/50, whose mean from 300 K to T_s is that at the middle: q = 150 (600 - T_s) = k_m (T_s -
    300)/0.01 is a quadratic equation for the surface."""
    problem = build_problem(loads(WALL.format(n=n, k="8 + T/50")))
    state = State(problem, make_field(problem, "multigrid"))
    simulate(state, [], Timings())
    temperature = state.temperature()[0, 0]
    np.testing.assert_array_equal(temperature[: n // 2], 600.0)
    surface = np.roots([1.0, 800.0 + 150.0, -(300.0 * 800.0 + 300.0**2) - 150.0 * 600.0]).max()
    inner = temperature[n // 2 :]
    centres = (np.arange(n // 2) + 0.5) / (n // 2)
    potential = (8 * inner + inner**2 / 100) - (8 * 300 + 300**2 / 100)
    expected = 150.0 * (600.0 - surface) * 0.01 * (1.0 - centres)
    np.testing.assert_allclose(potential, expected, rtol=0, atol=2.0 / n)
