"""claims.toml lists the numbers of README.md and of the heads of the reports, and claims.py judges them."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from helpers.in_turn import in_turn

ROOT = Path(__file__).parents[2]
REPORTS = sorted((ROOT / "docs" / "reports").glob("*.md"))

# What has digits and claims nothing: code, links, names, sizes of what a claim is about, how something is measured.
NO_CLAIM = (
    r"`[^`]*`|\]\([^)]*\)|float\d\d|10⁹|[HI]\d{3}|ISO \d+|2³²|- 1 cells|\d+³|Python 3\.\d+|42a2600|0\.05 L²",
    r"\(2 cores|\b2 cores|20 x 4 cells|error 1e-4|within 1e-4|differ by 3 %|7-point|TauFactor [\d.]+|PoreSpy [\d.]+",
    r"\(1024³ cells each\)|conductivities 1000 and 1\b|AVX-512|\(Zen 4\)",
)


@pytest.fixture
def claims(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return import_module("claims")


def normal(text: str) -> str:
    return " ".join(text.split())


def head(path: Path) -> str:
    """A report to the end of the first table where that is in the first section, or to this; README without code."""
    lines = path.read_text(encoding="utf-8").splitlines()
    if path.name == "README.md":
        text = re.sub(r"(?s)```.*?```", "", "\n".join(lines))
        text = re.sub(r"(?s)\| I want.*?\n\n", "\n", text)
        return "\n".join(line for line in text.splitlines() if not line.startswith("    "))
    sections = [number for number, line in enumerate([*lines, "## ", "## "]) if line.startswith("## ")]
    first, end = next(number for number, line in enumerate(lines) if line.startswith("|")), sections[0]
    if first < sections[1]:
        end = next(number for number, line in enumerate([*lines, ""]) if number > first and not line.startswith("|"))
    return "\n".join(line for line in lines[:end] if not line.startswith("    "))


def test_the_words_of_each_claim_stand_in_its_document_and_name_its_values(claims: Any) -> None:
    machines, found = claims.read_claims()
    texts = {each.document: normal((ROOT / each.document).read_text(encoding="utf-8")) for each in found}
    for each in found:
        assert normal(each.text) in texts[each.document], each.text
        assert each.machine in machines
        numbers = [float(number) for number in re.findall(r"\d+(?:\.\d+)?(?:e-\d+)?", each.text.replace(",000", "000"))]
        words = {2.5: "two hours and a half"}
        assert all(value in numbers or words.get(value, "?") in each.text for value in each.values), each.text
        assert bool(each.repeat) == bool(each.find)


@in_turn("path", [ROOT / "README.md", *REPORTS], ids=lambda path: path.stem)
def test_every_number_is_listed(claims: Any, path: Path) -> None:
    text = normal(head(path))
    for each in claims.read_claims()[1]:
        if each.document == path.relative_to(ROOT).as_posix():
            text = text.replace(normal(each.text), " ")
    for pattern in NO_CLAIM:
        text = re.sub(pattern, " ", text)
    assert [text[max(0, found.start() - 60) : found.end() + 40] for found in re.finditer(r"\d+", text)] == []


@in_turn(
    ("output", "failure", "told", "holds"),
    [
        ("heatsim over the fastest of C: 1.90 (C)", "", "repeats", True),
        ("heatsim over the fastest of C: 1.50 (C)", "", "DOES NOT REPEAT", False),
        ("heatsim over the fastest of C: 2.60 (C)", "", "DOES NOT REPEAT", False),
        ("heatsim over the fastest of C: no ratio; C: a round took 0.4 s", "", "no ratio; C: a round took", False),
        ("heatsim over the fastest of C: 2.00 (C)", "exit code 1: x FAILED", "not measured: exit code 1", False),
    ],
)
def test_a_claim_that_does_not_repeat_within_a_fifth_fails(
    claims: Any, output: str, failure: str, told: str, holds: bool
) -> None:
    claim = claims.Claim("README.md", "2.0 times", [2.0], "any", "x", "x", [r"fastest of [^:]*: ([\d.]+)"])
    said, held = claims.verdict(claim, output, failure)
    assert told in said
    assert held is holds
