"""The JSON schema of scenario files, by which editors complete and check them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from heatsim.scenario.model import Scenario
from heatsim.scenario.unsupported import NOT_YET

FILE_NAME = "heatsim.schema.json"  # shipped scenarios name it in their first line


def json_schema() -> dict[str, Any]:
    """Return the JSON schema of a scenario file; what is not built yet is in it and says so."""
    body: dict[str, Any] = _without_null(Scenario.model_json_schema())
    body["title"] = "heatsim scenario"
    for pattern in NOT_YET:
        path, _, value = pattern.partition("=")
        note = f"{value.strip('<>')}: not supported yet." if value else "Not supported yet."
        for node in _nodes(body, body, path.split(".")):
            description = str(node.get("description", "")).removesuffix(".")
            if note.removesuffix(".") not in description and node.get("const", value) == value:
                node["description"] = f"{description}. {note}"
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "urn:heatsim:scenario"}
    return head | body


def _without_null(node: Any) -> Any:
    """Leave out the nulls that pydantic has for None: TOML has none."""
    if isinstance(node, dict):
        return {key: _without_null(value) for key, value in node.items() if value is not None}
    if isinstance(node, list):
        return [_without_null(item) for item in node if item != {"type": "null"}]
    return node


def _nodes(node: dict[str, Any], root: dict[str, Any], path: list[str]) -> Iterator[dict[str, Any]]:
    """Yield the schemas of the keys that match `path`, where "*" is any name or index."""
    if not path:
        yield node
        return
    if "$ref" in node:
        yield from _nodes(root["$defs"][node["$ref"].rsplit("/", 1)[-1]], root, path)
    for branch in [*node.get("anyOf", ()), *node.get("oneOf", ()), *node.get("allOf", ())]:
        yield from _nodes(branch, root, path)
    head, *rest = path
    children = dict(node.get("properties", {}))
    for each in (node.get("items"), node.get("additionalProperties")):
        if isinstance(each, dict):
            children["*"] = each
    for name, child in children.items():
        if head in ("*", name):
            yield from _nodes(child, root, rest)
