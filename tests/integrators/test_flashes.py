"""What a tolerance of the range means behind a flash, as docs/guide/time.md says it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import heatsim
from heatsim.scenario import loads
from heatsim.store.tables import read_table

FLASH = """
grid = {{ cells = [100, 1, 1], size = [0.002, 0.01, 0.01] }}
time = {{ end = 0.4, integrator = "{integrator}", tolerance = {tolerance} }}
compute.precision = "float64"
materials.steel = {{ conductivity = 15.0, density = 8000.0, heat_capacity = 500.0 }}
regions = [{{ material = "steel" }}]
initial.temperature = 300.0
boundary.x_min = {{ kind = "flux", flux = "1e7*step(0.011 - t)*step(t - 0.01)" }}
[output]
snapshots.count = 1
probes = [
    {{ name = "rear", at = [0.00199, 0.005, 0.005], times = [0.011, 0.1, 0.2, 0.4] }},
    {{ name = "front", at = [0.00001, 0.005, 0.005], times = [0.011, 0.1, 0.2, 0.4] }},
]
"""


def rises(folder: Path, integrator: str, tolerance: float) -> np.ndarray:
    run = heatsim.run(loads(FLASH.format(integrator=integrator, tolerance=tolerance)), folder / f"{tolerance}")
    return read_table(run.path / "probes.csv")[1][:, 1:] - 300.0


@pytest.mark.parametrize("integrator", ["implicit", "rkl2"])
def test_the_error_behind_a_flash_is_the_tolerance_of_its_peak(tmp_path: Path, integrator: str) -> None:
    exact = rises(tmp_path, "implicit", 1e-6)
    peak, end = exact[0, 1], exact[-1, 0]
    assert (peak, end) == (pytest.approx(40.0, rel=0.02), pytest.approx(1.2, rel=0.02))
    for tolerance in (1e-3, 3e-5):
        error = np.abs(rises(tmp_path, integrator, tolerance) - exact).max()
        assert error < tolerance * peak
    assert error < 1e-3 * end
