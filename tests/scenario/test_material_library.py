"""The library of materials: every number has a source, a licence and a range; names lead to properties in any unit."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.scenario_texts import MINIMAL

from heatsim.scenario import loads
from heatsim.scenario.material_library import PROPERTIES, library, library_folder
from heatsim.scenario.materials import ConductivityTable

LICENCES = {"public domain", "CC0", "BSD", "MIT", "measured constants, cited"}
FILES = sorted(library_folder().glob("*.toml"))
COPPER = MINIMAL[MINIMAL.index("[materials.copper]") : MINIMAL.index("[[regions]]")]


def content(file: Path) -> dict[str, Any]:
    return tomllib.loads(file.read_text(encoding="utf-8"))


def test_there_are_forty_materials_of_all_kinds() -> None:
    assert len(library()) >= 40
    assert sum(len(content(file)) - 1 for file in FILES) == len(library())  # no name twice
    wanted = (
        "copper concrete FR4 solder_SnPb mould_compound TIM soil mineral_wool Ti-6Al-4V IN625 316L AlSi10Mg water ice"
    )
    assert set(wanted.split()) <= set(library())


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_every_number_has_a_source_a_licence_and_a_range(file: Path) -> None:
    tables = content(file)
    references = tables.pop("references")
    assert all(len(each["text"]) > 20 and each["licence"] in LICENCES for each in references.values())
    used = set()
    for name, table in tables.items():
        given = [key for key in PROPERTIES if key in table]
        assert sorted(table) == sorted([*given, "about", "data"]), name
        assert sorted(table["data"]) == sorted(given), name
        for key, data in table["data"].items():
            low, high = data["range"]
            assert 50.0 <= low <= high <= 4000.0, (name, key)
            used.add(data["source"])
            if isinstance(table[key], dict) and "T" in table[key]:
                assert low <= min(table[key]["T"])
                assert high >= max(table[key]["T"])
    assert used == set(references)


@pytest.mark.parametrize("name", sorted(library()))
def test_every_material_is_one_and_physical(name: str) -> None:
    text = MINIMAL.replace(COPPER, "").replace('"copper"', f'"{name}"')
    material = loads(text).materials[name]
    table = library()[name]
    k = table["conductivity"]["value"] if isinstance(table["conductivity"], dict) else table["conductivity"]
    c = table["heat_capacity"]["value"] if isinstance(table["heat_capacity"], dict) else [table["heat_capacity"]]
    assert 0.01 < np.min(k) <= np.max(k) < 500.0
    assert 500.0 < material.density * min(c) <= material.density * max(c) < 1e7  # J/(m3 K), air to iron at 1000 K


def test_names_stand_for_properties_and_temperatures_come_in_the_unit_of_the_file() -> None:
    text = MINIMAL.replace(COPPER, '[materials]\ncopper = "copper"\n')
    kelvin = loads(text).materials["copper"]
    celsius = loads('temperature_unit = "degC"\n' + text.replace("293.15", "20.0")).materials["copper"]
    assert isinstance(kelvin.conductivity, ConductivityTable)
    assert isinstance(celsius.conductivity, ConductivityTable)
    assert pytest.approx([T - 273.15 for T in kelvin.conductivity.T]) == celsius.conductivity.T
    assert celsius.conductivity.value == kelvin.conductivity.value
    assert kelvin.latent is not None
    assert celsius.latent is not None
    assert celsius.latent.solidus == pytest.approx(kelvin.latent.solidus - 273.15)


def test_properties_at_one_temperature_are_constants() -> None:
    text = MINIMAL.replace(COPPER, '[materials]\ncopper = { name = "copper", at = 350.0 }\n')
    copper = loads(text).materials["copper"]
    assert copper.temperature_dependent_keys() == []
    assert copper.conductivity == pytest.approx((401.0 + 393.0) / 2)
    assert loads(loads(text).to_toml()).materials["copper"] == copper


def test_a_file_of_ones_own_is_a_library(tmp_path: Path) -> None:
    own = 'temperature_unit = "degC"\n[mine]\nconductivity = "2 + 0.01*T"\ndensity = "1 g/cm3"\nheat_capacity = 900.0\n'
    (tmp_path / "own.toml").write_text(own)
    text = MINIMAL.replace(COPPER, '[materials]\ncopper = { file = "own.toml" }\n')
    mine = loads(text, tmp_path / "case.toml").materials["copper"]
    assert mine.density == 1000.0
    assert float(mine.conductivity(T=283.15)) == pytest.approx(2.1)  # type: ignore[operator]
