"""From a file to a plain TOML document with the places of its keys; nothing here knows what a scenario is."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heatsim.errors import Flaw, ScenarioError
from heatsim.scenario.overrides import apply_overrides
from heatsim.scenario.places import Places, key_text
from heatsim.scenario.scanner import Key, Place, ScanError, first_repeat, scan
from heatsim.scenario.wording import name_character

LARGEST_FILE = 2**20  # bytes


@dataclass(frozen=True)
class Document:
    """A parsed TOML text with overrides applied."""

    data: dict[str, Any]
    places: Places


def read_text(path: Path) -> str:
    """Return the text of a scenario file.

    Raises:
        ScenarioError: there is no such file, or it is no UTF-8 text of at most 1 MiB.
    """
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
    except FileNotFoundError:
        raise _refusal(path, "no such file", _near_file(path)) from None
    except IsADirectoryError:
        raise _refusal(path, "expected a scenario file, found a directory") from None
    except OSError as error:
        raise _refusal(path, f"cannot be read: {error.strerror}") from None
    if len(content) > LARGEST_FILE:
        raise _refusal(path, "expected at most 1 MiB", "arrays belong in files of their own")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = content[: error.start]
        line = before.count(b"\n") + 1
        column = len(before[before.rfind(b"\n") + 1 :].decode()) + 1
        message = f"expected UTF-8 text, found byte 0x{content[error.start]:02x}"
        raise ScenarioError([Flaw(message, file=str(path), line=line, column=column)]) from None


def parse(text: str, path: Path | None, overrides: Sequence[str] = ()) -> Document:
    """Parse a TOML text and apply overrides to it; `path` is named in messages.

    Raises:
        ScenarioError: the text is empty or not TOML, or an override cannot be applied.
    """
    file = str(path or "scenario")
    text = text.replace("\r\n", "\n")
    try:
        lines = scan(text)
        data = tomllib.loads(text)
    except ScanError as error:
        raise ScenarioError([Flaw(error.message, "", file, *error.place)]) from None
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError([_syntax_flaw(error, text, lines, file)]) from None
    if not data:
        raise ScenarioError([Flaw("expected a scenario, found nothing", file=file, hint="see heatsim init")])
    given, flaws = apply_overrides(data, overrides)
    if flaws:
        raise ScenarioError(flaws)
    return Document(data, Places(path, lines, given))


def _syntax_flaw(error: tomllib.TOMLDecodeError, text: str, places: Mapping[Key, Place], file: str) -> Flaw:
    """What is wrong in plain words, where it is a key that is given twice or a character that only looks right."""
    message = re.sub(r" \(at .*\)$", "", str(error))
    if match := re.search(r"\(at line (\d+), column (\d+)\)$", str(error)):
        line, column = int(match[1]), int(match[2])
    else:  # at end of document
        line, column = text.count("\n") + 1, len(text) - text.rfind("\n")
    repeat = first_repeat(text)
    if repeat and repeat[1] <= (line, column):
        key, (line, column) = repeat
        return Flaw(
            f"given in line {places[key][0]} already", key_text(key), file, line, column, "leave one of them out"
        )
    if odd := re.match(r"[^\"'#]*?([^\x00-\x7f])", (text.split("\n")[line - 1])[column - 1 :]):
        found, hint = name_character(odd[1])
        return Flaw(f"not TOML: found {found}", "", file, line, column + odd.start(1), hint)
    return Flaw(f"not TOML: {message}", file=file, line=line, column=column)


def _refusal(path: Path, message: str, hint: str = "") -> ScenarioError:
    return ScenarioError([Flaw(message, file=str(path), hint=hint)])


def _near_file(path: Path) -> str:
    try:
        names = [other.name for other in path.parent.glob("*.toml")]
    except OSError:
        return ""
    near = difflib.get_close_matches(path.name, names, n=1)
    return f"did you mean {path.parent / near[0]}?" if near else ""
