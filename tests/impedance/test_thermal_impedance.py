"""Thermal impedances against exact answers of layered walls, and what follows from them."""

from __future__ import annotations

import csv
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from helpers.in_turn import in_turn

import heatsim
from heatsim.cli.main import main
from heatsim.errors import RequestError, ScenarioError
from heatsim.scenario import loads
from heatsim.studies.impedance.networks import FosterNetwork, fit_foster, netlist
from heatsim.studies.impedance.responses import ThermalImpedance

AREA, END = 1e-4, 1.0
EDGES = [0.0, *np.geomspace(2e-7, 4e-4, 60).tolist(), *np.linspace(4e-4, 4e-3, 61)[1:].tolist()]
DIE, PLATE = (150.0, 2330.0, 710.0, 4e-4), (390.0, 8960.0, 385.0, 3.6e-3)  # k, rho, c, thickness
LAYERED = f"""
temperature_unit = "degC"
grid = {{ x = {{ edges = {EDGES} }}, y = {{ edges = [0.0, 0.01] }}, z = {{ edges = [0.0, 0.01] }} }}
time = {{ end = {END} }}
initial = {{ temperature = 25.0 }}
boundary.x_max = {{ kind = "fixed", temperature = 40.0 }}
materials.die = {{ conductivity = 150.0, density = 2330.0, heat_capacity = 710.0 }}
materials.plate = {{ conductivity = 390.0, density = 8960.0, heat_capacity = 385.0 }}
regions = [
  {{ material = "plate" }},
  {{ material = "die", box = {{ lower = [0.0, 0.0, 0.0], upper = [4e-4, 1.0, 1.0] }} }},
]
output = {{ probes = [{{ name = "junction", at = [1e-7, 5e-3, 5e-3], count = 1 }}] }}

[[sources]]
region = {{ box = {{ lower = [0.0, 0.0, 0.0], upper = [2e-7, 1.0, 1.0] }} }}
power = "3 + sin(t)"
"""


def of_layers(s: complex) -> complex:
    """The impedance of the layers in s, K/W, a fixed temperature behind them: each is a line in front of the next."""
    behind = 0.0 + 0.0j
    for conductivity, density, capacity, thickness in (PLATE, DIE):
        q = np.sqrt(s * density * capacity / conductivity)
        own, tangent = 1.0 / (conductivity * q * AREA), np.tanh(q * thickness)
        behind = own * (behind + own * tangent) / (own + behind * tangent)
    return complex(behind)


def exact(t: float, terms: int = 32) -> float:
    """The step response at t, by Talbot's inversion of the Laplace transform (Abate and Valko 2004)."""
    theta = np.arange(1, terms) * np.pi / terms
    cot = 1.0 / np.tan(theta)
    nodes = [2.0 * terms / 5.0 / t, *(2.0 * terms / 5.0 / t * theta * (cot + 1j))]
    weights = [0.5 * np.exp(nodes[0] * t)]
    weights += list((1.0 + 1j * theta * (1.0 + cot**2) - 1j * cot) * np.exp(np.array(nodes[1:]) * t))
    values = [weight * of_layers(s) / s for weight, s in zip(weights, nodes, strict=True)]
    return 2.0 / 5.0 / t * float(np.real(sum(values)))


@pytest.fixture(scope="module")
def layered() -> ThermalImpedance:
    return heatsim.zth(loads(LAYERED), per_decade=8)


def test_a_layered_wall_has_the_exact_impedance_over_six_decades(layered: ThermalImpedance) -> None:
    assert layered.values.shape == (1, 1, 49)
    assert (layered.times[0], layered.times[-1]) == pytest.approx((1e-6, END))
    expected = [exact(float(t)) for t in layered.times]
    np.testing.assert_allclose(layered.values[0, 0], expected, rtol=0.01)


@pytest.mark.lowest
def test_networks_have_the_step_response_they_are_fitted_to(layered: ThermalImpedance) -> None:
    network = fit_foster(layered.times, layered.values[0, 0])
    assert network.error < 0.02
    assert (network.resistances > 0).all()
    np.testing.assert_allclose(network(layered.times), layered.values[0, 0], rtol=0.02)


def test_a_ladder_has_the_impedance_of_its_foster_network() -> None:
    network = FosterNetwork(np.array([0.1, 0.3, 0.05, 1.0]), np.array([1e-5, 1e-3, 2e-2, 5.0]), 0.0)
    ladder = network.ladder
    assert ladder is not None
    assert ladder.resistances.sum() == pytest.approx(network.resistances.sum(), rel=1e-12)
    for s in (1e-3j, 1j, 1e3j, 1e6j):
        behind = 0.0 + 0.0j
        for resistance, capacity in zip(ladder.resistances[::-1], ladder.capacities[::-1], strict=True):
            behind = 1.0 / (s * capacity + 1.0 / (resistance + behind))
        assert behind == pytest.approx(complex((network.resistances / (1.0 + s * network.time_constants)).sum()))
    lines = netlist("die", ladder).splitlines()
    assert lines[1] == ".SUBCKT die source ambient"
    assert lines[-2].startswith("R4 n3 ambient ")


def test_a_place_that_does_not_warm_has_a_network_without_elements() -> None:
    network = fit_foster(np.geomspace(1e-3, 1.0, 20), np.zeros(20))
    assert network.ladder is None
    assert (network(np.array([0.1, 1.0])) == 0.0).all()


TWO_SOURCES = """
grid = { cells = [24, 12, 6], size = [0.06, 0.03, 0.006] }
time = { end = 60.0, integrator = "implicit", tolerance = 1e-4 }
compute = { precision = "float64" }
initial = { temperature = 300.0 }
boundary.z_min = { kind = "convection", coefficient = 2000.0, ambient = 300.0 }
materials.m = { conductivity = 20.0, density = 3000.0, heat_capacity = 800.0 }
regions = [{ material = "m" }]

[[sources]]
name = "die"
region = { box = { lower = [0.01, 0.01, 0.004], upper = [0.02, 0.02, 0.006] } }
power = "5 + 0.5*t"

[[sources]]
region = { box = { lower = [0.04, 0.01, 0.004], upper = [0.05, 0.02, 0.006] } }
power = "20 - 0.25*t"

[[output.regions]]
name = "left"
count = 30
box = { lower = [0.01, 0.01, 0.004], upper = [0.02, 0.02, 0.006] }

[[output.regions]]
name = "right"
count = 1
box = { lower = [0.04, 0.01, 0.004], upper = [0.05, 0.02, 0.006] }
"""


def test_superposition_gives_what_a_full_run_does(tmp_path: Path) -> None:
    scenario = loads(TWO_SOURCES)
    impedance = heatsim.zth(scenario, first=0.01)
    assert impedance.values[0, 1, -1] == pytest.approx(impedance.values[1, 0, -1], rel=1e-3)  # reciprocity
    heatsim.run(scenario, tmp_path / "full")
    with (tmp_path / "full" / "regions.csv").open() as table:
        rows = [{name: float(value) for name, value in row.items()} for row in csv.DictReader(table)]
    times = np.array([row["time [s]"] for row in rows])
    rises = impedance.rises(times, np.array([5.0 + 0.5 * times, 20.0 - 0.25 * times]))
    for place, name in enumerate(("left", "right")):
        full = np.array([row[f"{name} mean [K]"] for row in rows]) - 300.0
        np.testing.assert_allclose(rises[place], full, atol=0.005 * full.max())
    with pytest.raises(RequestError, match="powers"):
        impedance.rises(times, np.ones((3, len(times))))


def test_the_command_writes_table_networks_netlists_and_picture(tmp_path: Path) -> None:
    (tmp_path / "case.toml").write_text(TWO_SOURCES)
    words = ["zth", str(tmp_path / "case.toml"), "--output", str(tmp_path / "z"), "--per-decade", "4", "--json"]
    done = CliRunner().invoke(main, words, catch_exceptions=False)
    assert done.exit_code == 0, done.stderr
    found = {(each["place"], each["source"]): each for each in json.loads(done.stdout)["impedances"]}
    own = found["left mean", "die"]
    assert own["error"] < 0.02
    assert sum(own["cauer"]["resistances [K/W]"]) == pytest.approx(own["last [K/W]"], rel=0.02)
    names = {path.name for path in (tmp_path / "z").iterdir()}
    assert {
        "zth.csv",
        "zth.png",
        "networks.json",
        "left_mean_from_die.cir",
        "right_mean_from_source_2.cir",
    } <= names
    header = (tmp_path / "z" / "zth.csv").read_text().splitlines()[0]
    assert header.startswith("time [s],left mean from die [K/W],left mean from source 2 [K/W]")


@in_turn(
    ("old", "new", "key"),
    [
        ("conductivity = 20.0", "conductivity = { T = [300, 400], value = [20.0, 15.0] }", "materials.m.conductivity"),
        ("coefficient = 2000.0", 'coefficient = "2000 + t"', "boundary.z_min"),
        ('power = "5 + 0.5*t"', 'power_density = "1e6*t"', "sources.0"),
        ('integrator = "implicit", tolerance = 1e-4', 'integrator = "steady"', "time.integrator"),
    ],
)
def test_what_has_no_impedance_is_refused_at_its_key(old: str, new: str, key: str) -> None:
    with pytest.raises(ScenarioError, match=re.escape(key)):
        heatsim.zth(loads(TWO_SOURCES.replace(old, new)))


def test_a_first_time_after_the_end_is_refused_and_so_are_networks_without_scipy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "case.toml").write_text(TWO_SOURCES)
    late = CliRunner().invoke(main, ["zth", str(tmp_path / "case.toml"), "--from", "2min"], catch_exceptions=False)
    assert late.exit_code == 2
    assert "between 0 and time.end = 60 s, found 120" in late.stderr
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    without = CliRunner().invoke(main, ["zth", str(tmp_path / "case.toml")], catch_exceptions=False)
    assert without.exit_code == 2
    assert "pip install 'heatsim[zth]'" in without.stderr
