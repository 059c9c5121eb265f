"""Where the keys of a scenario were given: at a line of the file, or by an override."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from heatsim.errors import Issue
from heatsim.scenario.toml.messages import quote, shorten
from heatsim.scenario.toml.scanner import Key, Position


def key_text(key: Key) -> str:
    """Write a key path as for --set: `sources.0.power`, `materials."steel 304".density`."""
    return ".".join(_part_text(part) for part in key)


def _part_text(part: str | int) -> str:
    if isinstance(part, int) or re.fullmatch("[A-Za-z0-9_-]+", part):
        return shorten(str(part))
    return quote(part)


@dataclass(frozen=True)
class SourcePositions:
    """The places of all keys. All are equal: a scenario is what it says, not where it says it."""

    path: Path | None = field(default=None, compare=False)
    lines: Mapping[Key, Position] = field(default_factory=dict, compare=False)
    overrides: Mapping[Key, str] = field(default_factory=dict, compare=False)

    def flaw(self, key: Key, message: str, hint: str = "") -> Issue:
        """Return a flaw at `key`, placed where it or the nearest table or array around it was given."""
        name = key_text(key)
        around = [key[:length] for length in range(len(key), -1, -1)]
        given = self._override(key, around)
        if given is not None:
            return Issue(message, "" if given == name else name, f"--set {given}", hint=hint)
        line, column = next((self.lines[near] for near in around if near in self.lines), (0, 0))
        return Issue(message, name, str(self.path or "scenario"), line, column, hint)

    def _override(self, key: Key, around: Iterable[Key]) -> str | None:
        """Return the override that gave the key or what is around it, or made it on the way."""
        within = [other for other in self.overrides if key and other[: len(key)] == key and key not in self.lines]
        return next((self.overrides[near] for near in [*around, *within] if near in self.overrides), None)


# What a check finds.


class KeyIssue(NamedTuple):
    """Something wrong: where, what, and what may help."""

    key: Key
    message: str
    hint: str = ""
