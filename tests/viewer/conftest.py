"""Runs that the viewer shows, each computed once."""

from __future__ import annotations

from pathlib import Path

import pytest

import heatsim
from heatsim.scenario import loads

HOT_BALL = """\
title = "A hot ball <in> a block"
grid = { cells = [24, 20, 16], size = [0.024, 0.020, 0.016] }
time = { end = 0.5, integrator = "euler" }
materials.steel = { conductivity = 15.0, density = 7900.0, heat_capacity = 500.0 }
ambients.air = { temperature = 280.0, coefficient = 50.0 }
regions = [{ material = "steel" }, { material = "air", where = "z > 0.014" }]
initial.temperature = "300 + 80*exp(-((x-0.006)**2 + (y-0.010)**2 + (z-0.008)**2)/0.003**2)"
output.snapshots = { count = 4 }
output.probes = [{ name = "ball", at = [0.006, 0.010, 0.008], every = 0.05 }]
"""


@pytest.fixture(scope="session")
def run_of_a_ball(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return heatsim.run(loads(HOT_BALL), tmp_path_factory.mktemp("runs") / "ball").path
