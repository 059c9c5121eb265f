from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from helpers.in_turn import in_turn

from heatsim.scenario import json_schema, loads, starter
from heatsim.scenario.reference.schema import FILE_NAME

SCENARIOS = Path(__file__).parents[2] / "scenarios"


def fields(whole: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, table in [("Scenario", whole), *whole["$defs"].items()]:
        for key, field in table["properties"].items():
            yield f"{name}.{key}", field


def meaning(whole: dict[str, Any]) -> dict[str, Any]:
    """Return what a schema says, apart from the wording that differs between versions of pydantic."""
    limits = ("description", "minimum", "maximum", "exclusiveMinimum", "minItems", "maxItems", "items")
    told: dict[str, Any] = {name: table.get("required") for name, table in whole["$defs"].items()}
    return told | {name: [field.get(limit) for limit in limits] for name, field in fields(whole)}


def test_the_shipped_schema_is_up_to_date() -> None:
    shipped = json.loads((SCENARIOS / FILE_NAME).read_text())
    assert meaning(shipped) == meaning(json_schema()), f"run: heatsim schema > scenarios/{FILE_NAME}"


def test_shipped_scenarios_name_the_schema_in_their_first_line() -> None:
    for path in SCENARIOS.glob("*.toml"):
        assert path.read_text().startswith(f"#:schema ./{FILE_NAME}\n"), path


def test_the_schema_has_a_name_and_says_which_keys_are_needed() -> None:
    whole = json_schema()
    assert (whole["$id"], whole["title"]) == ("urn:heatsim:scenario", "heatsim scenario")
    assert whole["required"] == ["grid", "time", "regions", "initial"]


@in_turn(("name", "field"), list(fields(json_schema())))
def test_every_key_is_described_and_every_number_has_a_unit(name: str, field: dict[str, Any]) -> None:
    assert field.get("description"), name
    kinds = [field, *field.get("anyOf", ()), field.get("items", {})]
    if any(kind.get("type") in (["number", "string"], "integer") for kind in kinds):
        assert "[" in field["description"], name


@pytest.mark.skipif(find_spec("check_jsonschema") is None, reason="check-jsonschema is not installed")
def test_editors_take_every_shipped_scenario_and_the_starter_and_mark_mistakes(tmp_path: Path) -> None:
    right = [
        *SCENARIOS.glob("*.toml"),
        *SCENARIOS.glob("verify/*.toml"),
        tmp_path / "starter.toml",
        tmp_path / "p.toml",
    ]
    right[-2].write_text(starter("plate"))
    counted = "grid = { cells = ['n', 1, '2*n'], size = [1.0, 1.0, 1.0] }\nparameters = { n = 4, k = 2.0 }\n"
    slab = counted + "time = { end = 'n' }\nregions = [{ material = 'a' }]\ninitial = { temperature = 'n' }\n"
    right[-1].write_text(slab + "materials.a = { conductivity = 'k', density = 1.0, heat_capacity = 1.0 }\n")
    loads(right[-1].read_text())

    def check(*paths: Path) -> str:
        schema = str(SCENARIOS / FILE_NAME)
        command = [sys.executable, "-m", "check_jsonschema", "-o", "json", "--schemafile", schema, *map(str, paths)]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout

    assert json.loads(check(*right))["status"] == "ok", check(*right)
    diffusing = (SCENARIOS / "verify" / "decay.toml").read_text()
    wrong = {
        "conductivty": right[-1].read_text().replace("conductivity = 'k'", "conductivty = 'k'"),
        "temperature": diffusing.replace("solute = ", "temperature = ", 1),
        "solute": right[-1].read_text().replace("temperature = 'n'", "solute = 'n'"),
    }
    for number, text in enumerate(wrong.values()):
        (tmp_path / f"wrong{number}.toml").write_text(text)
    found = json.loads(check(*(tmp_path / f"wrong{number}.toml" for number in range(3))))
    assert {Path(error["filename"]).name for error in found["errors"]} == {f"wrong{number}.toml" for number in range(3)}


def test_the_schema_knows_no_null_as_toml_has_none() -> None:
    assert "null" not in json.dumps(json_schema())


@in_turn("title", ["My plate", 'quotes " and \\ backslashes', "τ ≠ 0"])
def test_the_starter_is_a_small_commented_scenario_that_loads(title: str) -> None:
    text = starter(title)
    scenario = loads(text)
    assert scenario.title == title
    assert text.startswith(f"#:schema ./{FILE_NAME}\n")
    assert text.count("#") > 20
    assert scenario.output.slices[0].name == "z_0.001"
    cells, size = scenario.grid.cells, scenario.grid.size
    aluminium = scenario.materials["aluminium"]
    assert isinstance(aluminium.conductivity, float)
    assert isinstance(aluminium.heat_capacity, float)
    diffusivity = aluminium.conductivity / aluminium.density / aluminium.heat_capacity
    step = 0.25 * (size[0] / cells[0]) ** 2 / diffusivity
    assert cells[0] * cells[1] * cells[2] * scenario.time.end / step < 5e9  # cell updates: seconds
