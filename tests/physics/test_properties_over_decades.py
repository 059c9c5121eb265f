"""Properties that vary over decades: copper from 4 K on, a crystal near absolute zero, exchange by small differences.

References: of steady states, integrals of the conductivity and roots of the balance; of transients, the method of lines
with the exact curves, solved by BDF on two grids.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.in_turn import in_turn
from scipy.optimize import brentq

from heatsim.problem import build_problem
from heatsim.scenario import loads
from heatsim.simulation.run import run_scenario

T = [4, 6, 8, 10, 15, 20, 30, 40, 60, 80, 100, 150, 200, 300]
K = [630, 940, 1240, 1540, 2100, 2430, 2300, 1500, 850, 560, 461, 418, 407, 396]
C = [0.09, 0.23, 0.47, 0.88, 2.83, 7.3, 27, 60, 137, 203, 254, 313, 356, 386]
COPPER = f"""
materials.cu.density = 8960.0
materials.cu.conductivity = {{ T = {T}, value = {K} }}
materials.cu.heat_capacity = {{ T = {T}, value = {C} }}
regions = [{{ material = "cu" }}]
grid = {{ cells = [100, 1, 1], size = [1.0, 0.01, 0.01] }}
"""


def results(text: str, tmp_path: Path) -> dict[str, Any]:
    """The results of a run."""
    found: dict[str, Any] = run_scenario(loads(text), tmp_path / "run").info["results"]
    return found


def test_a_steady_leak_of_heat_does_not_depend_on_the_heat_capacity(tmp_path: Path) -> None:
    found = results(
        COPPER
        + """
        time = { integrator = "steady" }
        initial = { temperature = 4.0 }
        boundary.x_min = { kind = "fixed", temperature = 4.0 }
        boundary.x_max = { kind = "fixed", temperature = 300.0 }
        output.results = [{ name = "leak", of = "heat('x_max')" }]
        """,
        tmp_path,
    )
    assert found["leak"] == pytest.approx(1e-4 * np.trapezoid(K, T), rel=1e-6)


def test_copper_at_4_K_is_warmed_by_a_small_flux(tmp_path: Path) -> None:
    found = results(
        COPPER
        + """
        time = { end = 10.0, integrator = "implicit", tolerance = 1e-4 }
        initial = { temperature = 4.2 }
        boundary.x_min = { kind = "fixed", temperature = 4.2 }
        boundary.x_max = { kind = "flux", flux = 500.0 }
        output.probes = [{ name = "end", at = [0.995, 0.005, 0.005], count = 1 }]
        output.results = [{ name = "end", of = "probe('end')" }]
        """,
        tmp_path,
    )
    assert found["end"] == pytest.approx(4.896, abs=1e-3)


@pytest.mark.parametrize("start", [0.05, 0.1])
def test_a_crystal_near_absolute_zero(start: float, tmp_path: Path) -> None:
    """k = 50 T^3: the integral of k over T from the fixed face on is 0.5 W/m2 times the distance. The state starts at
    the lowest temperature that there is, and falls below by no rounding."""
    run = run_scenario(
        loads(f"""
        grid = {{ cells = [10, 1, 1], size = [0.1, 0.01, 0.01] }}
        time = {{ end = 0.002, integrator = "implicit" }}
        regions = [{{ material = "si" }}]
        initial = {{ temperature = {start} }}
        materials.si = {{ density = 2330.0, conductivity = "50*T**3", heat_capacity = "0.0003*T**3" }}
        boundary.x_min = {{ kind = "fixed", temperature = {start} }}
        boundary.x_max = {{ kind = "flux", flux = 0.5 }}
        output.probes = [{{ name = "end", at = [0.095, 0.005, 0.005], count = 4 }}]
        output.regions = [{{ name = "all", material = "si", count = 4 }}]
        output.results = [{{ name = "end", of = "probe('end')" }}]
        """),
        tmp_path / "run",
    )
    exact = (start**4 + 4 * 0.5 * 0.095 / 50) ** 0.25
    assert run.info["results"]["end"] == pytest.approx(exact, rel=1e-3)
    rows = np.genfromtxt(run.path / "regions.csv", delimiter=",", names=True)
    lowest = [name for name in rows.dtype.names or () if "min" in name or "lowest" in name]
    assert rows[lowest[0]].min() >= start * (1 - 1e-6)


def test_a_crystal_radiates_down_to_absolute_zero(tmp_path: Path) -> None:
    """A steady balance of a flux with radiation to 0 K: T^4 = q/sigma."""
    found = results(
        """
        grid = { cells = [4, 1, 1], size = [0.01, 0.01, 0.01] }
        time = { integrator = "steady" }
        regions = [{ material = "si" }]
        initial = { temperature = 1.0 }
        materials.si = { density = 2330.0, conductivity = "50*T**3", heat_capacity = "0.0003*T**3" }
        boundary.x_min = { kind = "radiation", emissivity = 1.0, ambient = 0.0 }
        boundary.x_max = { kind = "flux", flux = 1e-6 }
        output.results = [{ name = "coldest", of = "min(T)" }]
        """,
        tmp_path,
    )
    assert found["coldest"] == pytest.approx((1e-6 / 5.670374419e-8) ** 0.25, rel=1e-4)


@in_turn("flux", [1e-3, 1.0, 500.0])
def test_a_coefficient_of_a_small_difference_beside_a_flux(flux: float, tmp_path: Path) -> None:
    """h = 1.42 (dT/L)^0.25 has an infinite slope at the ambient: from a thousandth of a kelvin on it is right."""
    found = results(
        f"""
        temperature_unit = "degC"
        compute.precision = "float64"
        grid = {{ cells = [4, 1, 1], size = [0.01, 0.1, 0.1] }}
        time = {{ integrator = "steady" }}
        regions = [{{ material = "m" }}]
        initial = {{ temperature = 25.0 }}
        materials.m = {{ density = 2330.0, conductivity = 1e5, heat_capacity = 700.0 }}
        boundary.x_min = {{ kind = "convection", coefficient = "1.42*(abs(T - 25)/0.1)**0.25", ambient = 25.0 }}
        boundary.x_max = {{ kind = "flux", flux = {flux} }}
        output.results = [{{ name = "mean", of = "mean(T)" }}]
        """,
        tmp_path,
    )
    exact = brentq(lambda rise: 1.42 * (rise / 0.1) ** 0.25 * rise - flux, 1e-9, 1e4)
    assert found["mean"] - 25.0 == pytest.approx(exact, rel=2e-4)


def test_a_table_may_have_no_point_between_the_temperatures_that_occur() -> None:
    tables = build_problem(
        loads("""
        grid = { cells = [4, 1, 1], size = [0.01, 0.1, 0.1] }
        time = { end = 1.0 }
        regions = [{ material = "m" }]
        initial = { temperature = 300.0 }
        materials.m = { density = 1.0, conductivity = { T = [200, 600], value = [2, 6] }, heat_capacity = 1.0 }
        """)
    ).tabulated
    assert tables is not None
    assert 1 / tables.materials.resistivity(np.zeros(1), 0) == pytest.approx(1.0)
    assert tables.materials.conductivity[0] == pytest.approx(3.0)


def test_what_float32_does_not_resolve_is_told() -> None:
    """Of two materials one has hardly any heat capacity where the other has most."""
    scenario = loads("""
        grid = { cells = [4, 1, 1], size = [0.01, 0.1, 0.1] }
        time = { end = 1.0 }
        regions = [{ material = "m" }, { material = "n", where = "x > 0.005" }]
        initial = { temperature = "10 + 20000*x" }
        materials.m.heat_capacity = { T = [10, 60, 61, 300], value = [1e-4, 1e-4, 1e3, 1e3] }
        materials.n.heat_capacity = { T = [10, 160, 161, 300], value = [1e3, 1e3, 1e-4, 1e-4] }
        materials.m.density = 1.0
        materials.n.density = 1.0
        materials.m.conductivity = 1.0
        materials.n.conductivity = 1.0
    """)
    told = [str(issue) for issue in build_problem(scenario).warnings()]
    assert any("float32 rounds temperatures at" in each and "materials." in each for each in told)
    finer = scenario.model_copy(update={"compute": scenario.compute.model_copy(update={"precision": "float64"})})
    assert not any("rounds temperatures" in str(issue) for issue in build_problem(finer).warnings())


@pytest.mark.parametrize("integrator", ["euler", "implicit", "steady"])
def test_a_given_temperature_is_exact_where_the_conductivity_leaps(integrator: str, tmp_path: Path) -> None:
    """Four cells from 627 to 300 K, k = 20 below 500 K and 5 above: in the steady state the heat is the integral of k
    over the length, with any number of cells, by any integrator."""
    time = 'integrator = "steady"' if integrator == "steady" else f'end = 2000.0, integrator = "{integrator}"'
    found = results(
        f"""
        grid = {{ cells = [4, 1, 1], size = [0.04, 0.01, 0.01] }}
        time = {{ {time} }}
        compute.precision = "float64"
        regions = [{{ material = "solid" }}]
        initial = {{ temperature = 300.0 }}
        materials.solid = {{ density = 5000.0, heat_capacity = 500.0, conductivity = "where(T < 500, 20, 5)" }}
        boundary.x_min = {{ kind = "fixed", temperature = 627.0 }}
        boundary.x_max = {{ kind = "fixed", temperature = 300.0 }}
        output.probes = [{{ name = "first", at = [0.005, 0.005, 0.005], count = 1 }}]
        output.results = [{{ name = "first", of = "probe('first')" }}]
        """,
        tmp_path,
    )
    assert found["first"] == pytest.approx(627.0 - 4635.0 / 8 / 5, abs=0.01)  # 20*200 + 5*127 W/m, an eighth of it


def test_no_spike_of_a_property_is_too_narrow_to_be_found(tmp_path: Path) -> None:
    """2 mK wide of 900 K: a leap of the enthalpy by 2e5 J/kg, and 0.27 W/m of conductivity times temperature."""
    found = results(
        """
        grid = { cells = [1, 1, 1], size = [0.1, 0.1, 0.1] }
        time = { end = 100.0, integrator = "implicit" }
        initial = { temperature = 300.0 }
        regions = [{ material = "m" }]
        sources = [{ power_density = 5e6 }]
        output.results = [{ name = "end", of = "max(T)" }]
        [materials.m]
        conductivity = "0.5 + 0.5"
        density = 1000.0
        heat_capacity = "1000 + 1e8*where(abs(T - 423.4567) < 0.001, 1, 0)"
        """,
        tmp_path,
    )
    assert found["end"] == pytest.approx(300.0 + (5e5 - 2e5) / 1000.0, abs=1.0)
    found = results(
        """
        grid = { cells = [20, 1, 1], size = [1.0, 1.0, 1.0] }
        time = { integrator = "steady" }
        initial = { temperature = 300.0 }
        regions = [{ material = "m" }]
        boundary.x_min = { kind = "fixed", temperature = 600.0 }
        boundary.x_max = { kind = "fixed", temperature = 300.0 }
        output.results = [{ name = "heat", of = "heat('x_min')" }]
        [materials.m]
        conductivity = "1 + 500*exp(-((T - 350.1)/3e-4)**2)"
        density = 1000.0
        heat_capacity = 1000.0
        """,
        tmp_path / "steady",
    )
    assert found["heat"] == pytest.approx(300.0 + 500 * 3e-4 * np.sqrt(np.pi), rel=1e-4)
