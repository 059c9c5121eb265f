"""docs/reference/scenario.md, the reference of all keys, says what the models say, and its examples are scenarios."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import tomli_w
from helpers.in_turn import in_turn

from heatsim.scenario import loads
from heatsim.scenario.reference.examples import SECTIONS, ReferenceSection
from heatsim.scenario.reference.schema import markdown, temperature_schema

REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "scenario.md"


def test_the_reference_is_up_to_date() -> None:
    assert REFERENCE.read_text() == markdown(), "run: heatsim schema --markdown > docs/reference/scenario.md"


def test_the_reference_has_every_table_that_a_scenario_may_have() -> None:
    told = [section.name for section in SECTIONS]
    assert sorted(told) == sorted({"Scenario", *temperature_schema()["$defs"]})


def test_every_key_stands_in_the_reference_with_its_type_and_description() -> None:
    rows = [line for line in markdown().splitlines() if line.startswith("- `")]
    whole = re.compile(r"- `\w+` \(.+; (needed|optional|its defaults|default .+)\): .{3,}")
    assert [row for row in rows if not whole.fullmatch(row)] == []
    tables = {"Scenario": temperature_schema(), **temperature_schema()["$defs"]}
    for section, text in zip(SECTIONS, re.split(r"(?m)^## ", markdown())[1:], strict=False):
        told = re.findall(r"^- `(\w+)` ", text, re.MULTILINE)
        for line in re.findall(r"^As in .*", text, re.MULTILINE):  # keys with the row of an earlier section
            told += re.findall(r"`(\w+)`", line.partition("): ")[2])
        assert sorted(told) == sorted(tables[section.name]["properties"]), section.name


@in_turn("section", SECTIONS, ids=[section.name for section in SECTIONS])
def test_every_example_is_part_of_a_valid_scenario(section: ReferenceSection) -> None:
    own = tomllib.loads(section.example)
    base = next(
        each.example for each in SECTIONS if each.name == "QuantitySection" or "diffusivity" not in section.example
    )
    loads(tomli_w.dumps(tomllib.loads(base) | own))


def test_links_lead_to_headings() -> None:
    headings = {
        re.sub(r"[^\w -]", "", line[3:].lower()).replace(" ", "-")
        for line in markdown().splitlines()
        if line.startswith("## ")
    }
    links = set(re.findall(r"\(#([^)]+)\)", markdown()))
    assert links
    assert links <= headings
