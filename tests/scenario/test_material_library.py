"""The library of materials: every number has a source, a licence and a range; names lead to properties in any unit."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.in_turn import in_turn
from helpers.scenario_texts import MINIMAL

from heatsim.errors import ScenarioError
from heatsim.scenario import find_warnings, loads
from heatsim.scenario.material_library import CHOICES, PROPERTIES, SYNONYMS, find_name, library, shipped_folder
from heatsim.scenario.materials import ConductivityTable

LICENCES = {"public domain", "CC0", "BSD", "MIT", "measured constants, cited"}
FILES = sorted(shipped_folder("materials").glob("*.toml"))
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


@in_turn("file", FILES, ids=[file.stem for file in FILES])
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


@in_turn("name", sorted(library()))
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


BARE = MINIMAL.replace(COPPER, "")


@in_turn(
    ("name", "known"),
    [
        ("aluminum", "aluminium"),
        ("Aluminum", "aluminium"),
        ("Copper", "copper"),
        ("FR-4", "FR4"),
        ("Si", "silicon"),
        ("carbon steel", "carbon_steel"),
        ("PMMA", "acrylic"),
        ("mold compound", "mould_compound"),
    ],
)
def test_one_thing_by_another_name_is_that_of_the_library(name: str, known: str) -> None:
    found = loads(BARE.replace('"copper"', f'"{name}"'))
    assert found.materials[name] == loads(BARE.replace('"copper"', f'"{known}"')).materials[known]
    assert find_warnings(found) == []


@in_turn(("name", "known"), [("steel", "carbon_steel"), ("Wood", "softwood"), ("air", "air_still")])
def test_a_name_of_several_things_is_one_of_them_with_a_warning(name: str, known: str) -> None:
    found = loads(BARE.replace('"copper"', f'"{name}"'))
    assert found.materials[name] == loads(BARE.replace('"copper"', f'"{known}"')).materials[known]
    (warning,) = find_warnings(found)
    assert f'"{name}" is taken for {known} of the library' in warning.message
    named = loads(MINIMAL.replace(COPPER, f'[materials]\ncopper = "{name}"\n'))
    assert [each.key for each in find_warnings(named)] == ["materials.copper"]


def test_every_alias_is_of_a_material_and_none_is_two() -> None:
    aliases = SYNONYMS | CHOICES
    assert set(aliases.values()) <= set(library())
    assert all(find_name(alias, library()) == known for alias, known in aliases.items())
    assert not SYNONYMS.keys() & CHOICES.keys()


def test_what_is_defined_goes_before_the_library() -> None:
    with pytest.raises(ScenarioError, match=r'found "Copper" \(did you mean "copper"\?\)'):
        loads(MINIMAL.replace('material = "copper"', 'material = "Copper"'))


@in_turn(
    ("more", "message"),
    [
        (
            'sources = [{ material = "x", power_density = 1e3 }]',
            r'sources.0.material: .* found "x" \(known here: copper',
        ),
        ('sources = [{ material = "silver", power = 1.0 }]', "a region has to paint it"),
        (
            'contacts = [{ between = ["copper", "silver"], resistance = 1e-4 }]',
            "contacts.0.between.1: .*has to paint it",
        ),
        (
            'output.regions = [{ name = "a", material = "zinc", count = 1 }]',
            "output.regions.0.material: .*has to paint it",
        ),
    ],
)
@in_turn("defined", [False, True])
def test_a_material_that_no_region_has_is_told_at_its_line(more: str, message: str, defined: bool) -> None:
    with pytest.raises(ScenarioError, match=message):
        loads(f"{more}\n{MINIMAL if defined else BARE}")


def test_without_materials_what_is_wrong_with_their_names_is_told() -> None:
    with pytest.raises(ScenarioError) as raised:
        loads(BARE.replace('"copper"', '"unobtainium"'))
    (flaw,) = raised.value.issues
    assert (flaw.key, 'found "unobtainium"' in flaw.message) == ("regions.0.material", True)
