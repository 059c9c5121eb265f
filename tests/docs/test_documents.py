"""What documents say of what there is: commands, options, functions, and how many of anything."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path

import click
from helpers.in_turn import in_turn

import heatsim
from heatsim.cli.main import main
from heatsim.scenario.material_library import library
from heatsim.studies.verification.problems import PROBLEMS

ROOT = Path(__file__).parents[2]
WORDS = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def modules() -> int:
    folders = ROOT / "heatsim", ROOT / "kernels" / "heatsim_kernels"
    return sum(path.name != "__init__.py" for folder in folders for path in folder.rglob("*.py"))


COUNTS: list[tuple[str, str, Callable[[], int], int]] = [  # a count stands in a document, and may be so far off
    ("README.md", r"`heatsim verify` runs (\w+) problems", lambda: len(PROBLEMS), 0),
    ("README.md", r"\| (\w+) examples, each with", lambda: len(list((ROOT / "scenarios").glob("*.toml"))), 0),
    ("docs/guide/verification.md", r"`heatsim verify` runs (\w+) problems", lambda: len(PROBLEMS), 0),
    ("docs/guide/materials.md", r"the (\w+) materials of the library", lambda: len(library()), 0),
    ("docs/architecture.md", r"hold about (\w+) modules", modules, 40),
    (
        "docs/guide/sweeps.md",
        r"shapes a heat sink by these in (\w+) lines",
        lambda: len(read("docs/examples/shape_heat_sink.py").splitlines()),
        0,
    ),
]


@in_turn(("name", "pattern", "count", "slack"), COUNTS, ids=[f"{each[0]}-{n}" for n, each in enumerate(COUNTS)])
def test_a_count_in_a_document_is_right(name: str, pattern: str, count: Callable[[], int], slack: int) -> None:
    (found,) = re.findall(pattern, " ".join(read(name).split()))
    told = WORDS.index(found) if found in WORDS else int(found)
    assert abs(told - count()) <= slack, f"{name}: {told} in place of {count()}"


def test_every_function_has_its_place_in_the_reference() -> None:
    described = re.findall(r"^## `heatsim\.(\w+)\(", read("docs/reference/python.md"), re.MULTILINE)
    functions = {name for name in heatsim.__all__ if inspect.isfunction(getattr(heatsim, name))}
    assert functions <= set(described) <= set(heatsim.__all__)
    (row,) = (line for line in read("docs/index.md").splitlines() if "reference/python.md" in line)
    assert functions <= set(re.findall(r"`(?:heatsim\.)?(\w+)`", row))


def test_every_shipped_scenario_is_in_their_table() -> None:
    listed = re.findall(r"^\| `(\w+)\.toml` \|", read("scenarios/README.md"), re.MULTILINE)
    assert sorted(listed) == sorted(path.stem for path in (ROOT / "scenarios").glob("*.toml"))


def sections(document: str) -> dict[str, str]:
    """What the reference says of each command, by its name; of `bench` all its parts."""
    parts = re.split(r"^## `heatsim (\w+)[^\n]*$", document, flags=re.MULTILINE)
    found: dict[str, str] = {}
    for name, text in zip(parts[1::2], parts[2::2], strict=True):
        found[name] = found.get(name, "") + text.split("\n## ")[0]
    return found


def test_the_reference_has_every_command() -> None:
    assert sorted(sections(read("docs/reference/cli.md"))) == sorted(main.commands)


@in_turn("name", sorted(main.commands))
def test_the_reference_has_every_option(name: str) -> None:
    said, command = sections(read("docs/reference/cli.md"))[name], main.commands[name]
    commands = command.commands.values() if isinstance(command, click.Group) else [command]
    options = {
        option for each in commands for parameter in each.params for option in parameter.opts if option[:2] == "--"
    }
    options -= {"--help"}
    missing = [option for option in sorted(options) if not re.search(rf"{option}\b(?!-)", said)]
    assert not missing
    told = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", said))
    assert told <= options | {"--help"} | {f"--no-{option[2:]}" for option in options}
