"""A face that convects and radiates settles where both together carry the heat away."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.in_turn import in_turn
from helpers.scenario_texts import MINIMAL
from scipy.optimize import brentq

import heatsim
from heatsim.scenario import loads

FLUX, FILM, EMISSIVITY, AMBIENT, SIGMA = 2e4, 15.0, 0.8, 293.15, 5.670374419e-8
FACES = f"""\
[boundary]
x_min = {{ kind = "flux", flux = {FLUX} }}
x_max = {{ kind = "convection", coefficient = {FILM}, emissivity = {EMISSIVITY}, ambient = {AMBIENT} }}
[output]
snapshots = {{ count = 1 }}
[compute]
precision = "float64"
"""


def bar(time: str) -> str:
    return MINIMAL.replace("cells = [8, 8, 8]", "cells = [8, 1, 1]").replace("end = 10.0", time)


def test_the_surface_balances_flux_convection_and_radiation(tmp_path: Path) -> None:
    text = bar("integrator = 'steady'\ntolerance = 1e-8")
    done = heatsim.run(loads(text + FACES), tmp_path / "run")

    def lost(T: float) -> float:
        return FILM * (T - AMBIENT) + EMISSIVITY * SIGMA * (T**4 - AMBIENT**4) - FLUX

    surface = brentq(lost, 300.0, 2000.0)
    last = float(heatsim.open(done.path)["temperature"].values[-1].reshape(-1)[-1])
    assert last == pytest.approx(surface + FLUX * (0.1 / 16) / 398.0, abs=1e-3)
    assert abs(done.info["energy"]["relative_residual"]) < 1e-6


@in_turn("integrator", ["euler", "rkl2", "implicit"])
def test_it_is_the_same_as_a_coefficient_in_temperature(tmp_path: Path, integrator: str) -> None:
    text = bar(f"end = 10.0\nintegrator = '{integrator}'").replace("293.15", "900.0")
    radiating = f"{FILM} + {EMISSIVITY}*{SIGMA}*(T**2 + {AMBIENT}**2)*(T + {AMBIENT})"
    other = FACES.replace(f"coefficient = {FILM}, emissivity = {EMISSIVITY}", f'coefficient = "{radiating}"')
    both = [heatsim.run(loads(text + faces), tmp_path / name) for name, faces in (("a", FACES), ("b", other))]
    heats = [done.info["energy"]["faces"]["x_max"] for done in both]
    assert heats[0] == pytest.approx(heats[1], rel=1e-4)
    assert heats[0] < -100.0
