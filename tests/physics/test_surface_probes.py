"""Probes on faces of the box read the temperature at which the heat through the surface balances."""

from __future__ import annotations

from math import log
from pathlib import Path

import numpy as np
import pytest
from helpers.scenario_texts import MINIMAL

import heatsim
from heatsim.scenario import loads

INNER, OUTER, CELLS, CONDUCTIVITY, FILM = 0.01, 0.03, 12, 0.5, 20.0
PIPE = f"""\
time = {{ integrator = "steady", tolerance = 1e-9 }}
compute = {{ precision = "float64" }}
materials.foam = {{ conductivity = {CONDUCTIVITY}, density = 30.0, heat_capacity = 1000.0 }}
regions = [{{ material = "foam" }}]
initial = {{ temperature = 300.0 }}
[grid]
cells = [{CELLS}, 1, 1]
size = [{OUTER - INNER}, 6.283185307179586, 1.0]
origin = [{INNER}, 0.0, 0.0]
coordinates = "cylindrical"
[boundary]
x_min = {{ kind = "fixed", temperature = 360.0 }}
x_max = {{ kind = "convection", coefficient = {FILM}, ambient = 290.0 }}
[output]
probes = [
  {{ name = "inner", at = [{INNER}, 0.0, 0.5], count = 1 }},
  {{ name = "outer", at = [{OUTER}, 0.0, 0.5], count = 1 }},
]
"""


def probes(text: str, folder: Path) -> dict[str, float]:
    done = heatsim.run(loads(text), folder / "run")
    header, *_, last = (done.path / "probes.csv").read_text().splitlines()
    return dict(zip(header.split(","), map(float, last.split(",")), strict=True))


def test_a_pipe_of_twelve_cells_has_its_surface_temperatures(tmp_path: Path) -> None:
    inside, film = log(OUTER / INNER) / CONDUCTIVITY, 1.0 / (FILM * OUTER)  # resistances, 2 pi m K/W
    outer = 290.0 + 70.0 * film / (inside + film)
    found = probes(PIPE, tmp_path)
    assert found["inner [K]"] == pytest.approx(360.0, abs=1e-6)
    assert found["outer [K]"] == pytest.approx(outer, abs=1e-5)


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_a_surface_follows_a_temperature_in_time_and_space(tmp_path: Path, precision: str) -> None:
    face = "[boundary]\nz_max = { kind = 'fixed', temperature = '300 + 100*x + t' }\n"
    output = "[output]\nprobes = [{ name = 'top', at = [0.04, 0.05, 0.1], every = 0.5 }]\n"
    found = probes(MINIMAL + face + output + f"[compute]\nprecision = '{precision}'\n", tmp_path)
    assert found["top [K]"] == pytest.approx(314.0, abs=1e-3 if precision == "float32" else 1e-9)


def test_a_flux_raises_the_surface_over_its_cell(tmp_path: Path) -> None:
    """Half a cell of 12.5 mm under 4e4 W/m2: q h/(2k) over the cell's own temperature."""
    text = MINIMAL + "[boundary]\nz_max = { kind = 'flux', flux = 4e4 }\n[output]\nsnapshots = { at = [10.0] }\n"
    text += "probes = [{ name = 'top', at = [0.05, 0.05, 0.1], count = 1 }]\n"
    found = probes(text, tmp_path)
    cell = float(heatsim.open(tmp_path / "run")["temperature"].values[-1][-1].max())
    assert found["top [K]"] - cell == pytest.approx(4e4 * 0.00625 / 398.0, abs=1e-3)
    assert np.isfinite(found["top [K]"])
