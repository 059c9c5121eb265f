"""Where the keys of a scenario were given: at a line of the file, or by an override.

tomllib gives values without their positions, so the scanner walks over the same text and notes the position of every
key and array item. It checks no syntax: where the text is not TOML it stops, and tomllib says what is wrong. What would
make tomllib itself fail (nesting without end, numbers of thousands of digits) it refuses.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from heatsim.base.quantity import Quantity
from heatsim.errors import Issue
from heatsim.scenario.language.toml.messages import quote, shorten

Key = tuple[str | int, ...]  # in terms of heat conduction, whatever quantity a scenario names
Position = tuple[int, int]  # line and column, from 1

MAX_NESTING = 32  # keys and indices on top of each other; a scenario needs 8
MAX_ENTRIES = 100_000  # keys and values of a file: a second's work
MAX_NUMBER_CHARACTERS = 200  # characters

_BLANK = re.compile(r"[ \t]*")
_BLANK_LINES = re.compile(r"(?:[ \t\n]|#[^\n]*)*")
_REST_OF_LINE = re.compile(r"[^\n]*\n?")
_KEY_PART = re.compile(r"""[A-Za-z0-9_-]+|"(?:\\.|[^"\\\n])*"|'[^'\n]*'""")
_STRING = re.compile(
    r'"""(?:\\[\s\S]|[^\\])*?"""(?:"{0,2})|'
    r"'''[\s\S]*?'''(?:'{0,2})|"
    r'"(?:\\.|[^"\\\n])*"|'
    r"'[^'\n]*'"
)
_BARE = re.compile(r"[^,\]}#\n]+")


class ScanError(Exception):
    """The text holds what no scenario needs and no parser should be given."""

    def __init__(self, message: str, place: Position) -> None:
        super().__init__(message)
        self.message = message
        self.place = place


class _NotToml(Exception):
    """The scanner is lost; the parser will say why."""


def scan(text: str) -> dict[Key, Position]:
    r"""Return the place of every key and array item of a TOML text whose lines end in "\n".

    Keys are paths such as ("regions", 0, "box", "lower", 2). The first mention of a path counts. Of a
    text that is not TOML, the part before the error is covered.

    Raises:
        ScanError: the text is nested too deep, has too many values or a number of too many digits.
    """
    scanner = _Scanner(text)
    with suppress(_NotToml):
        scanner.document()
    return scanner.positions


def first_repeat(text: str) -> tuple[Key, Position] | None:
    """Return the first key, or table, that a TOML text gives a second time, and where it does so."""
    scanner = _Scanner(text)
    with suppress(_NotToml):
        scanner.document()
    return scanner.repeat


def split_key(text: str) -> list[str] | None:
    """Split a dotted key, `materials."steel 304".density`, into its parts; None if it is not a key."""
    scanner = _Scanner(text)
    try:
        parts = [part for part, _ in scanner.dotted_key()]
    except (_NotToml, ScanError):
        return None
    return parts if scanner.at == len(text) else None


class _Scanner:
    """A recursive descent over the text; recursion ends at MAX_NESTING, as every level lengthens the key path."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.positions: dict[Key, Position] = {(): (1, 1)}
        self.repeat: tuple[Key, Position] | None = None
        self._given: set[Key] = set()  # that may not be given again
        self._line_starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self._array_lengths: dict[Key, int] = {}  # of the arrays of tables

    def document(self) -> None:
        table: Key = ()
        self._skip(_BLANK_LINES)
        while self.at < len(self.text):
            if self._accept("[["):
                table = self._header(is_array=True)
            elif self._accept("["):
                table = self._header(is_array=False)
            else:
                self._key_and_value(table)
            self._skip(_REST_OF_LINE)
            self._skip(_BLANK_LINES)

    def dotted_key(self) -> Iterator[tuple[str, int]]:
        """Yield the parts of a dotted key, each with its offset."""
        for count in range(MAX_NESTING):
            self._skip(_BLANK)
            offset = self.at
            yield _unquoted(self._take(_KEY_PART)), offset
            self._skip(_BLANK)
            if not self._accept("."):
                return
            if count == MAX_NESTING - 1:
                raise ScanError(f"nested more than {MAX_NESTING} deep", self._place(self.at))

    def _header(self, is_array: bool) -> Key:
        parts = list(self.dotted_key())
        path: Key = ()
        for index, (part, offset) in enumerate(parts):
            path = self._note((*path, part), offset)
            is_last = index == len(parts) - 1
            if is_last and is_array:
                self._array_lengths[path] = self._array_lengths.get(path, 0) + 1
            if path in self._array_lengths:
                path = self._note((*path, self._array_lengths[path] - 1), offset)
        if not self._accept("]]" if is_array else "]"):
            raise _NotToml
        if not is_array:
            self._give(path, parts[0][1])
        return path

    def _key_and_value(self, table: Key) -> None:
        path, start = table, self.at
        for part, offset in self.dotted_key():
            path = self._note((*path, part), offset)
        if not self._accept("="):
            raise _NotToml
        self._give(path, start)
        self._skip(_BLANK)
        self._value(path)

    def _value(self, path: Key) -> None:
        start = self.at
        if self._accept("["):
            self._array(path)
        elif self._accept("{"):
            self._inline_table(path)
        elif self.text[start : start + 1] in ('"', "'"):
            self._take(_STRING)
        elif len(self._take(_BARE)) > MAX_NUMBER_CHARACTERS and self.text[start] in "+-0123456789":
            raise ScanError(f"a number of more than {MAX_NUMBER_CHARACTERS} characters", self._place(start))

    def _array(self, path: Key) -> None:
        index = 0
        self._skip(_BLANK_LINES)
        while not self._accept("]"):
            self._value(self._note((*path, index), self.at))
            index += 1
            self._skip(_BLANK_LINES)
            self._comma_before("]")

    def _inline_table(self, path: Key) -> None:
        self._skip(_BLANK_LINES)
        while not self._accept("}"):
            self._key_and_value(path)
            self._skip(_BLANK_LINES)
            self._comma_before("}")

    def _comma_before(self, closing: str) -> None:
        if self._accept(","):
            self._skip(_BLANK_LINES)
        elif self.text[self.at : self.at + 1] != closing:
            raise _NotToml

    def _give(self, path: Key, offset: int) -> None:
        if path in self._given and self.repeat is None:
            self.repeat = path, self._place(offset)
        self._given.add(path)

    def _note(self, path: Key, offset: int) -> Key:
        place = self._place(offset)
        if len(path) > MAX_NESTING:
            raise ScanError(f"nested more than {MAX_NESTING} deep", place)
        if len(self.positions) > MAX_ENTRIES:
            raise ScanError(f"more than {MAX_ENTRIES} values; arrays belong in files of their own", place)
        self.positions.setdefault(path, place)
        return path

    def _place(self, offset: int) -> Position:
        line = bisect_right(self._line_starts, offset)
        return line, offset - self._line_starts[line - 1] + 1

    def _accept(self, token: str) -> bool:
        is_next = self.text.startswith(token, self.at)
        self.at += len(token) if is_next else 0
        return is_next

    def _skip(self, pattern: re.Pattern[str]) -> None:
        if match := pattern.match(self.text, self.at):
            self.at = match.end()

    def _take(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self.at)
        if match is None:
            raise _NotToml
        self.at = match.end()
        return match.group()


def _unquoted(part: str) -> str:
    if part[0] == "'":
        return part[1:-1]
    if part[0] != '"':
        return part
    if "\\" not in part:
        return part[1:-1]
    try:
        return str(tomllib.loads(f"key = {part}")["key"])
    except tomllib.TOMLDecodeError:
        raise _NotToml from None


def key_text(key: Key) -> str:
    """Write a key path as for --set: `sources.0.power`, `materials."steel 304".density`."""
    plain = re.compile("[A-Za-z0-9_-]+")
    return ".".join(shorten(part) if plain.fullmatch(part) else quote(part) for part in map(str, key))


@dataclass(frozen=True)
class SourcePositions:
    """The positions of all keys. All are equal: a scenario is what it says, not where it says it.

    quantity: what the scenario computes; messages have its words and units.
    """

    path: Path | None = field(default=None, compare=False)
    lines: Mapping[Key, Position] = field(default_factory=dict, compare=False)
    overrides: Mapping[Key, str] = field(default_factory=dict, compare=False)
    quantity: Quantity = field(default=Quantity(), compare=False)

    def issue_at(self, key: Key, message: str, hint: str = "") -> Issue:
        """Return an issue at `key`, placed where it or the nearest table or array around it was given."""
        key = key if key in self.lines else self.quantity.key_in_file(key)
        message, hint = (self.quantity.in_own_words(each) for each in (message, hint))
        name = key_text(key)
        around = [key[:length] for length in range(len(key), -1, -1)]
        given = self._override(key, around)
        if given is not None:
            return Issue(message, name, f"--set {given}", hint=hint)
        line, column = next((self.lines[near] for near in around if near in self.lines), (0, 0))
        return Issue(message, name, str(self.path or "scenario"), line, column, hint)

    def _override(self, key: Key, around: Iterable[Key]) -> str | None:
        """Return the override that gave the key or what is around it, or made it on the way."""
        within = [other for other in self.overrides if key and other[: len(key)] == key and key not in self.lines]
        return next((self.overrides[near] for near in [*around, *within] if near in self.overrides), None)


class KeyIssue(NamedTuple):
    """Something wrong: where, what, and what may help."""

    key: Key
    message: str
    hint: str = ""


@dataclass(frozen=True)
class ScenarioOrigin:
    """The text that a scenario was made of, with the overrides that came on top. All are equal, as `SourcePositions`.

    text: None of one that was put together in Python. trust: see `loading.load`. warnings: those that only the text
    gives.
    """

    text: str | None = field(default=None, compare=False)
    path: Path | None = field(default=None, compare=False)
    overrides: tuple[str, ...] = field(default=(), compare=False)
    trust: bool = field(default=True, compare=False)
    warnings: tuple[KeyIssue, ...] = field(default=(), compare=False)
