"""Boundary values from a CSV file over time are those of the same expression."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.in_turn import in_turn
from helpers.scenario_texts import MINIMAL

import heatsim

FACE = """\
[boundary]
z_max = {{ kind = 'convection', coefficient = 500.0, ambient = {} }}
[compute]
precision = 'float64'
"""


@in_turn("integrator", ["euler", "rkl2", "implicit"])
def test_a_ramp_from_a_file_is_the_ramp_of_an_expression(tmp_path: Path, integrator: str) -> None:
    rows = "time [min],wind,air [degC]\n0,1,20\n0.1,2,80\n1,3,620\n"
    (tmp_path / "weather.csv").write_text(rows)
    text = MINIMAL.replace("end = 10.0", f"end = 10.0\nintegrator = '{integrator}'\ntolerance = 1e-6")
    text = text.replace("tolerance = 1e-6", "") if integrator == "euler" else text
    found = []
    for name, ambient in (("file", "{ file = 'weather.csv', column = 'air' }"), ("formula", "'293.15 + 10*t'")):
        (tmp_path / f"{name}.toml").write_text(text + FACE.format(ambient))
        scenario = heatsim.load(tmp_path / f"{name}.toml")
        found.append(heatsim.run(scenario, tmp_path / name).info["energy"]["faces"]["z_max"])
    assert found[0] == pytest.approx(found[1], rel=1e-9)
    assert found[0] > 1.0
    again = heatsim.load(tmp_path / "file" / "scenario.toml")
    assert again.boundary == heatsim.load(tmp_path / "file.toml").boundary
