"""Quantities other than temperature: the same numbers by other names, units and words."""

from __future__ import annotations

import json
import re
from pathlib import Path

import h5py
import numpy as np
import pytest
from click.testing import CliRunner
from helpers.in_turn import in_turn

import heatsim
from heatsim.base.quantity import Quantity
from heatsim.cli.main import main
from heatsim.errors import ScenarioError
from heatsim.scenario import loads

REST = """\
[grid]
cells = [24, 6, 1]
size = ["6 mm", "2 mm", "1 mm"]
[time]
end = 400.0
integrator = "{integrator}"
[compute]
precision = "{precision}"
[[regions]]
material = "gel"
[[regions]]
material = "polymer"
where = "x > 2e-3"
initial = 2.0
[[contacts]]
between = ["gel", "polymer"]
resistance = 2e5
[[sources]]
material = "polymer"
power_density = 1e-4
[output]
fields = {fields}
snapshots = {{ at = [400.0] }}
energy = {{ count = 2 }}
slices = [{{ axis = "z", at = 5e-4, name = "plane", every = 400.0 }}]
results = [{{ name = "most", of = "max(T, 'polymer')" }}, {{ name = "entered", of = "heat('x_min')" }}]
[[output.probes]]
name = "inside"
at = [3e-3, 1e-3, 5e-4]
every = 100.0
[[output.regions]]
name = "part"
material = "polymer"
every = 200.0
[hotspots]
scales = [1e-3]
threshold = 1e-6
"""
MOISTURE = """\
quantity = { name = "moisture", unit = "mol/m3" }
initial = { moisture = 1.0 }
materials.gel = { diffusivity = 1e-9, solubility = 0.5 }
materials.polymer = { diffusivity = 2e-10, solubility = 3.0 }
boundary.x_min = { kind = "fixed", moisture = "7 + t/400" }
boundary.x_max = { kind = "convection", coefficient = 1e-6, ambient = 0.5 }
"""
HEAT = """\
initial = { temperature = 1.0 }
materials.gel = { conductivity = 5e-10, density = 1.0, heat_capacity = 0.5 }
materials.polymer = { conductivity = 6e-10, density = 1.0, heat_capacity = 3.0 }
boundary.x_min = { kind = "fixed", temperature = "7 + t/400" }
boundary.x_max = { kind = "convection", coefficient = 1e-6, ambient = 0.5 }
"""
FIELDS = '["flux", "gradient", "peak_moisture"]'
HEAT_FIELDS = '["heat_flux", "gradient", "peak_temperature"]'
WORDS_OF_HEAT = re.compile(r"(?i)temperature|\bheat\b|energy|\bK\b|\bJ\b|\bW\b|hottest")


def text(integrator: str = "euler", precision: str = "float64", head: str = MOISTURE) -> str:
    fields = FIELDS if "quantity" in head else HEAT_FIELDS
    return head + REST.format(integrator=integrator, precision=precision, fields=fields)


@in_turn(("integrator", "precision"), [("euler", "float32"), ("rkl2", "float64"), ("implicit", "float64")])
def test_a_quantity_has_the_numbers_of_the_temperature_in_its_place(
    tmp_path: Path, integrator: str, precision: str
) -> None:
    heads = {"moisture": MOISTURE, "heat": HEAT}
    both = [heatsim.run(loads(text(integrator, precision, head)), tmp_path / name) for name, head in heads.items()]
    first, second = (run.path / "snapshots/000000.h5" for run in both)
    with h5py.File(first) as own, h5py.File(second) as heat:
        names = {"moisture": "temperature", "flux_x": "heat_flux_x", "gradient_y": "gradient_y"}
        names |= {"peak_moisture": "peak_temperature"}
        for name, other in names.items():
            np.testing.assert_array_equal(own[name][()], heat[other][()])
    for key in ("stored", "sources", "faces", "residual"):
        assert both[0].info["energy"][key] == both[1].info["energy"][key]
    assert both[0].info["results"] == both[1].info["results"]
    assert abs(both[0].info["energy"]["relative_residual"]) < (1e-4 if precision == "float32" else 1e-12)


def test_every_label_column_and_attribute_says_the_quantity_and_its_unit(tmp_path: Path) -> None:
    file, folder = tmp_path / "wall.toml", tmp_path / "run"
    file.write_text(text())
    told = CliRunner().invoke(main, ["run", str(file), "--output", str(folder)])
    assert told.exit_code == 0
    seen = told.stdout.replace(str(tmp_path), "")
    for table in folder.glob("*.csv"):
        seen += table.read_text().splitlines()[0] + "\n"
    for part in (folder / "snapshots/000000.h5", folder / "run.vtkhdf", folder / "slices/plane/000000.h5"):
        with h5py.File(part) as data:
            for name, values in data.items():
                seen += f"{name} " + " ".join(str(values.attrs.get(key, "")) for key in ("units", "long_name")) + "\n"
    for word in ("[mol]", "[mol/m3]", "mol/(m2 s)", "mol/m4", "moisture entered", "amount residual"):
        assert word in seen
    assert not WORDS_OF_HEAT.search(seen), WORDS_OF_HEAT.findall(seen)
    assert heatsim.open(folder).moisture.attrs["units"] == "mol/m^3"


def test_pictures_page_and_table_show_it_as_they_show_temperature(tmp_path: Path) -> None:
    run, invoke = heatsim.run(loads(text()), tmp_path / "run"), CliRunner().invoke
    line = ["--line", "0,1e-3,5e-4", "6e-3,1e-3,5e-4"]
    for command in (["plot", "--field", "flux"], ["plot", *line], ["plot", "--table", "probes"]):
        assert invoke(main, [command[0], str(run.path), *command[1:]]).exit_code == 0
    assert invoke(main, ["view", str(run.path), "--output", str(tmp_path / "page.html")]).exit_code == 0
    about = (tmp_path / "page.html").read_text()
    assert '"field": "moisture"' in about
    assert '"unit": "mol/m\\u00b3"' in about
    packed = invoke(main, ["pack", str(run.path)])
    assert packed.exit_code == 0, packed.stdout
    assert "moisture" in invoke(main, ["info", str(run.path)]).stdout


def test_a_resolved_scenario_loads_again_to_the_same_one() -> None:
    scenario = loads(text())
    again = loads(scenario.to_toml())
    assert again == scenario
    assert again.solved == Quantity("moisture", "mol/m3")


def test_concentration_jumps_where_the_quantity_does_not(tmp_path: Path) -> None:
    changed = text("steady").replace('"flux", "gradient", "peak_moisture"', '"concentration"')
    changed = changed.replace("7 + t/400", "7").replace("resistance = 2e5", "resistance = 1e-3")
    changed = re.sub(r"\[time\]\nend = 400.0\n", "[time]\n", changed).replace("at = [400.0]", "count = 1")
    run = heatsim.run(loads(re.sub(r"every = [0-9.]+", "count = 1", changed)), tmp_path / "run")
    data = heatsim.open(run)
    solubility = np.where(data.x.values > 2e-3, 3.0, 0.5)
    np.testing.assert_allclose(data.concentration.values[-1, 0, 0], solubility * data.moisture.values[-1, 0, 0])


def test_decay_takes_the_same_share_of_everything(tmp_path: Path) -> None:
    """Whatever the solubility, and in cells that are tied to nothing."""
    head = MOISTURE.replace("fixed", "insulated").replace(', moisture = "7 + t/400"', "")
    head = head.replace("1e-6, ambient = 0.5", "0.0, ambient = 0.5")
    decaying = re.sub(r"initial = 2.0\n", "", text("implicit", head=head)).replace(
        'material = "polymer"\npower_density = 1e-4', "decay = 1e-3"
    )
    run = heatsim.run(loads(decaying), tmp_path / "run")
    np.testing.assert_allclose(heatsim.open(run).moisture.values[-1], np.exp(-0.4), rtol=1e-3)
    assert abs(run.info["energy"]["relative_residual"]) < 1e-12
    assert run.info["energy"]["sources"] == pytest.approx(run.info["energy"]["stored"])


def test_units_follow_from_that_of_the_quantity() -> None:
    by_volume, pressure = Quantity("moisture", "mol/m3"), Quantity("vapour", "Pa")
    found = {unit: (by_volume.in_own_unit(unit), pressure.in_own_unit(unit)) for unit in ("J", "W/m2", "W/(m2 K)", "K")}
    assert found == {
        "J": ("mol", "Pa m3"),
        "W/m2": ("mol/(m2 s)", "Pa m/s"),
        "W/(m2 K)": ("m/s", "m/s"),
        "K": ("mol/m3", "Pa"),
    }
    scenario = loads(text().replace("power_density = 1e-4", 'power_density = "0.1 mmol/(m3 s)"'))
    assert scenario.sources[0].power_density == 1e-4


def test_run_json_names_the_quantity(tmp_path: Path) -> None:
    run = heatsim.run(loads(text()), tmp_path / "run")
    told = json.loads((run.path / "run.json").read_text())
    assert told["quantity"] == {"name": "moisture", "unit": "mol/m3"}


def test_a_quantity_has_no_mass() -> None:
    rest = REST.format(integrator="implicit", precision="float64", fields=FIELDS).replace("max(T, 'polymer')", "mass()")
    assert "mass()" in rest
    with pytest.raises(ScenarioError, match="expected no mass of materials that have a diffusivity"):
        loads(MOISTURE + rest)


@in_turn("name", ["exp(x**2)", "[", "a{b}", "(peak", "*"])
def test_a_name_that_is_none_is_told(name: str) -> None:
    """The names of its fields were looked up by it as a pattern: a traceback."""
    rest = REST.format(integrator="implicit", precision="float64", fields=FIELDS)
    with pytest.raises(ScenarioError, match="expected a name of lower-case letters"):
        loads(MOISTURE.replace('"moisture"', f'"{name}"') + rest)
