"""Overrides from the command line, `--set time.end=10`, put into a document before it is validated."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from typing import Any

from heatsim.errors import Flaw
from heatsim.scenario.scanner import Key, ScanError, scan, split_key
from heatsim.scenario.wording import quote, shorten


class OverrideError(Exception):
    """An override cannot be applied."""


def apply_overrides(document: dict[str, Any], overrides: Sequence[str]) -> tuple[dict[Key, str], list[Flaw]]:
    """Put each "a.b.c=value" into `document`, in order.

    A value is TOML where it parses as such and a plain string where it does not, so that words and
    expressions need no quotes. Tables on the way are made; items of arrays must be there
    (`sources.0.power=3`: the first's).

    Returns the keys given so, each with its text after --set, and the flaws of those that cannot be applied.
    """
    given: dict[Key, str] = {}
    flaws: list[Flaw] = []
    for override in overrides:
        name, equals, text = override.partition("=")
        name = name.strip()
        try:
            if not equals:
                raise OverrideError("expected KEY=VALUE, such as time.end=10")
            given[_put(document, name, _value(text.strip()))] = name
        except OverrideError as error:
            flaws.append(Flaw(str(error), file=f"--set {shorten(name)}"))
    return given, flaws


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
