"""From a file to a plain TOML document with the positions of its keys; nothing here knows what a scenario is.

Overrides from the command line, `--set time.end=10`, are put into the document before it is validated.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heatsim.errors import Issue, ScenarioError
from heatsim.scenario.language.toml.messages import name_character, quote, shorten
from heatsim.scenario.language.toml.positions import (
    Key,
    Position,
    ScanError,
    SourcePositions,
    first_repeat,
    key_text,
    scan,
    split_key,
)

MAX_FILE_BYTES = 4 * 2**20  # bytes
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Document:
    """A parsed TOML text with overrides applied."""

    data: dict[str, Any]
    positions: SourcePositions


def read_text(path: Path) -> str:
    """Return the text of a scenario file.

    Raises:
        ScenarioError: there is no such file, or it is no UTF-8 text of at most 4 MiB.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except FileNotFoundError:
        raise _refusal(path, "no such file", _near_file(path)) from None
    except IsADirectoryError:
        raise _refusal(path, "expected a scenario file, found a directory") from None
    except OSError as error:
        raise _refusal(path, f"cannot be read: {error.strerror}") from None
    if len(content) > MAX_FILE_BYTES:
        raise _refusal(path, "expected at most 4 MiB", "arrays belong in files of their own")
    content = content.removeprefix(BYTE_ORDER_MARK)  # one at most: "utf-8-sig" would count the bytes of errors after it
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        before = content[: error.start]
        line = before.count(b"\n") + 1
        column = len(before[before.rfind(b"\n") + 1 :].decode()) + 1
        message = f"expected UTF-8 text, found byte 0x{content[error.start]:02x}"
        raise ScenarioError([Issue(message, file=str(path), line=line, column=column)]) from None


def parse_document(text: str, path: Path | None, overrides: Sequence[str] = ()) -> Document:
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
        raise ScenarioError([Issue(error.message, "", file, *error.place)]) from None
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError([_syntax_issue(error, text, lines, file)]) from None
    if not data:
        raise ScenarioError([Issue("expected a scenario, found nothing", file=file, hint="see heatsim init")])
    known = list(parameters) if isinstance(parameters := data.get("parameters"), dict) else []
    given, issues = apply_overrides(data, overrides)
    issues += [
        Issue(
            "expected a parameter of the file", name, f"--set {name}", hint=f"known there: {', '.join(known) or 'none'}"
        )
        for key, name in given.items()
        if key[0] == "parameters" and len(key) == 2 and key[1] not in known
    ]
    if issues:
        raise ScenarioError(issues)
    return Document(data, SourcePositions(path, lines, given))


def require_text(text: str, path: Path) -> None:
    """Raise ScenarioError if the text of a file to be written is larger than one that is read."""
    if len(text.encode()) > MAX_FILE_BYTES:
        raise _refusal(path, "expected at most 4 MiB")
    parse_document(text, path)


def _syntax_issue(error: tomllib.TOMLDecodeError, text: str, positions: Mapping[Key, Position], file: str) -> Issue:
    """The error of the parser as an issue; in plain words for a key that is given twice, and a look-alike character."""
    message = re.sub(r" \(at .*\)$", "", str(error))
    if match := re.search(r"\(at line (\d+), column (\d+)\)$", str(error)):
        line, column = int(match[1]), int(match[2])
    else:  # at end of document
        line, column = text.count("\n") + 1, len(text) - text.rfind("\n")
    repeat = first_repeat(text)
    if repeat and repeat[1] <= (line, column):
        key, (line, column) = repeat
        return Issue(
            f"given in line {positions[key][0]} already", key_text(key), file, line, column, "leave one of them out"
        )
    if odd := re.match(r"[^\"'#]*?([^\x00-\x7f])", (text.split("\n")[line - 1])[column - 1 :]):
        found, hint = name_character(odd[1])
        return Issue(f"not TOML: found {found}", "", file, line, column + odd.start(1), hint)
    return Issue(f"not TOML: {message}", file=file, line=line, column=column)


def _refusal(path: Path, message: str, hint: str = "") -> ScenarioError:
    return ScenarioError([Issue(message, file=str(path), hint=hint)])


def _near_file(path: Path) -> str:
    try:
        names = [other.name for other in path.parent.glob("*.toml")]
    except OSError:
        return ""
    near = difflib.get_close_matches(path.name, names, n=1)
    return f"did you mean {path.parent / near[0]}?" if near else ""


# --- overrides


class OverrideError(Exception):
    """An override cannot be applied."""


def apply_overrides(document: dict[str, Any], overrides: Sequence[str]) -> tuple[dict[Key, str], list[Issue]]:
    """Put each "a.b.c=value" into `document`, in order.

    A value is TOML where it parses as such and a plain string where it does not, so that words and
    expressions need no quotes. Tables on the way are made; items of arrays must be there
    (`sources.0.power=3`: the first's).

    Returns the keys given so, each with its text after --set, and the issues of those that cannot be applied.
    """
    given: dict[Key, str] = {}
    issues: list[Issue] = []
    for override in overrides:
        name, equals, text = override.partition("=")
        name = name.strip()
        try:
            if not equals:
                raise OverrideError("expected KEY=VALUE, such as time.end=10")
            given[_put(document, name, _value(text.strip()))] = name
        except OverrideError as error:
            issues.append(Issue(str(error), shorten(name), f"--set {shorten(name)}"))
    return given, issues


def _value(text: str) -> Any:
    try:
        scan(f"value = {text}")
        parsed = tomllib.loads(f"value = {text}")
    except ScanError as error:
        raise OverrideError(error.message) from None
    except (ValueError, RecursionError) as error:
        if re.match(r"[\[{\"']", text):
            raise OverrideError(f"expected a TOML value, found {quote(text)}: {error}") from None
        return text
    return parsed["value"] if parsed.keys() == {"value"} else text


def _put(document: dict[str, Any], name: str, value: Any) -> Key:
    """Set the value and return the key path, with whole numbers for places in arrays."""
    parts = split_key(name)
    if parts is None:
        raise OverrideError(f"expected a key such as time.end, found {quote(name)}")
    node: Any = document
    key: Key = ()
    for depth, part in enumerate(parts):
        place = _place_in(node, part, ".".join(parts[:depth]))
        key = (*key, place)
        if depth == len(parts) - 1:
            node[place] = value
        else:
            node = node.setdefault(place, {}) if isinstance(node, dict) else node[place]
    return key


def _place_in(node: Any, part: str, name: str) -> str | int:
    if isinstance(node, dict):
        return part
    if not isinstance(node, list):
        raise OverrideError(f"expected {name} to be a table or an array, found a single value")
    if not re.fullmatch("[0-9]{1,9}", part) or int(part) >= len(node):
        raise OverrideError(f"expected an index under {len(node)} after {name}, found {quote(part)}")
    return int(part)
