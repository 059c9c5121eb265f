"""The keys of SCENARIO.md whose features are not built yet. To build one, delete its line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from heatsim.scenario.toml.messages import quote
from heatsim.scenario.toml.positions import Key

# key pattern -> what it waits for. "*" stands for any name or index. With "=" only that value is
# refused, <table> being any table and <text> any string.
NOT_YET: dict[str, str] = {}


class Unsupported(NamedTuple):
    """A key that is refused: its path and the message."""

    key: Key
    message: str


def find_unsupported(document: dict[str, Any]) -> list[Unsupported]:
    """Return the keys of a document, which need not be valid, that wait for a feature."""
    refused = []
    for pattern, feature in NOT_YET.items():
        path, _, wanted = pattern.partition("=")
        for key, value in _matching(document, path.split("."), ()):
            if wanted in ("", value, _form(value)):
                subject = f"{quote(value)} is " if wanted and isinstance(value, str) else ""
                refused.append(Unsupported(key, f"{subject}not supported yet, waits for {feature}"))
    return refused


def _matching(node: Any, pattern: list[str], key: Key) -> Iterator[tuple[Key, Any]]:
    if not pattern:
        yield key, node
        return
    head, *rest = pattern
    children: Iterator[tuple[str | int, Any]] = iter(())
    if isinstance(node, dict):
        children = iter(node.items())
    elif isinstance(node, list):
        children = enumerate(node)
    for name, child in children:
        if head in ("*", name):
            yield from _matching(child, rest, (*key, name))


def _form(value: Any) -> str:
    return "<table>" if isinstance(value, dict) else "<text>" if isinstance(value, str) else "<other>"
