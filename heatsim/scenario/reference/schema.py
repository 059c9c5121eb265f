"""The JSON schema of scenario files, by which editors complete and check them, and the reference page made from it.

The page lists all keys of a scenario: docs/reference/scenario.md, from the schema and the examples.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import tomli_w

from heatsim.scenario.language.expressions.parser import FUNCTIONS
from heatsim.scenario.language.units import ALONE, WITH_PREFIX
from heatsim.scenario.material_library import library
from heatsim.scenario.model import Scenario
from heatsim.scenario.reference.examples import SECTIONS, ReferenceSection

FILE_NAME = "heatsim.schema.json"  # shipped scenarios name it in their first line


_ZERO = {"type": ["number", "string"], "minimum": 0, "maximum": 0, "pattern": r"^\s*[+-]?0+(\.0*)?([eE]\S+)?(\s.*)?$"}
_VOID = {
    "description": "Void: its cells are not solved, and no heat passes them.\n\nOther keys of a material are not used.",
    "properties": {
        "conductivity": {"description": "Thermal conductivity [W/(m K)]", **_ZERO},
        "diffusivity": {"description": "Or: diffusivity of a quantity [m2/s]", **_ZERO},
    },
    "anyOf": [{"required": ["conductivity"]}, {"required": ["diffusivity"]}],
    "type": "object",
}


def json_schema() -> dict[str, Any]:
    """Return the JSON schema of a scenario file. With a table [quantity] the name of that stands for `temperature`."""
    whole: dict[str, Any] = _with_parameters(_with_quantities(temperature_schema()))
    return whole


def temperature_schema() -> dict[str, Any]:
    """The JSON schema of a file about temperature, of which the reference page is made."""
    body: dict[str, Any] = _without_null(Scenario.model_json_schema())
    body["title"] = "heatsim scenario"
    body["required"].remove("materials")  # regions may name those of the library
    materials = body["properties"]["materials"]["additionalProperties"]
    materials["anyOf"] = materials.pop("oneOf")  # void is a material, too
    materials["anyOf"].insert(1, {"$ref": "#/$defs/Void"})
    body["$defs"]["Void"] = _VOID
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "urn:heatsim:scenario"}
    return head | body


def _with_parameters(node: Any) -> Any:
    """With a text wherever a whole number stands: the name of a parameter, or an expression of some."""
    if isinstance(node, dict):
        told = {key: _with_parameters(each) for key, each in node.items()}
        return told | {"type": ["integer", "string"]} if node.get("type") == "integer" else told
    return [_with_parameters(each) for each in node] if isinstance(node, list) else node


_NAME_OF_QUANTITY = "^(?!temperature$)[a-z][a-z0-9_]{0,39}$"
_OF_QUANTITY = "OfQuantity"


def _with_quantities(whole: dict[str, Any]) -> dict[str, Any]:
    """The schema with a second form of the tables in which the name of a quantity stands for `temperature`."""
    tables = whole["$defs"]
    changed = {name for name, table in tables.items() if "temperature" in table["properties"]} | {"Output"}
    while more := {name for name in tables.keys() - changed if changed & set(_references(tables[name]))}:
        changed |= more
    others = {f"{name}{_OF_QUANTITY}": _of_quantity(_renamed(tables[name], changed)) for name in sorted(changed)}
    others[f"Output{_OF_QUANTITY}"]["properties"]["fields"]["items"] = {"type": "string"}
    top = {key: field for key, field in whole["properties"].items() if changed & set(_references(field))}
    told = {
        key: {part: field[part] for part in ("description", "default") if part in field} for key, field in top.items()
    }
    either = {key: told[key] | {"anyOf": [field, _renamed(field, changed)]} for key, field in top.items()}
    return whole | {
        "properties": whole["properties"] | either,
        "if": {"required": ["quantity"]},
        "then": {"properties": {key: _renamed(field, changed) for key, field in top.items()}},
        "else": {"properties": top},
        "$defs": tables | others,
    }


def _of_quantity(table: dict[str, Any]) -> dict[str, Any]:
    """A table in which the quantity has its own name in place of `temperature`."""
    value = table["properties"].get("temperature")
    if value is None:
        return table
    properties = {key: field for key, field in table["properties"].items() if key != "temperature"}
    needed = table.get("required", [])
    return table | {
        "properties": properties,
        "patternProperties": {_NAME_OF_QUANTITY: {key: each for key, each in value.items() if key != "title"}},
        "required": [key for key in needed if key != "temperature"],
        "minProperties": len(needed),
    }


def _references(node: Any) -> Iterator[str]:
    """The names of the tables that a schema refers to."""
    if isinstance(node, dict):
        if "$ref" in node:
            yield node["$ref"].removeprefix("#/$defs/")
        for each in node.values():
            yield from _references(each)
    elif isinstance(node, list):
        for each in node:
            yield from _references(each)


def _renamed(node: Any, names: set[str]) -> Any:
    """With the second form of the tables of these names."""
    if isinstance(node, dict):
        told = {key: _renamed(each, names) for key, each in node.items()}
        if node.get("$ref", "").removeprefix("#/$defs/") in names:
            told["$ref"] += _OF_QUANTITY
        return told
    return [_renamed(each, names) for each in node] if isinstance(node, list) else node


def _without_null(node: Any) -> Any:
    """Leave out the nulls that pydantic has for None: TOML has none."""
    if isinstance(node, dict):
        return {key: _without_null(value) for key, value in node.items() if value is not None}
    if isinstance(node, list):
        return [_without_null(item) for item in node if item != {"type": "null"}]
    return node


# --- the reference page

_HEAD = """\
# Keys of a scenario

`heatsim schema --markdown > docs/reference/scenario.md` writes this page from `heatsim/scenario/`; do not edit it.

Behind each key stand the kind, the unit and the range of its value, or the words that it may be, and the default. A
link is a table with keys of its own. Points and sizes are [x, y, z]. File names are relative to the scenario file.
Each example but the first stands in the first, and those of a diffusivity in that of `[quantity]`: its tables replace
those of the same name there.

Units are SI. A number that has a unit may also be a string with another one: `"2 mm"`, `"1 h"`, `"25 degC"`,
`"5 W/(m K)"`, `"50 %"`. Known are {units}, with the prefixes
f p n u m c d k M G T where they make sense. A space multiplies, `m2` is a square metre, and what a `/` divides by
stands in brackets if it is more than one unit. Temperatures are in the file's `temperature_unit`, for which "K or degC"
stands; none is below absolute zero.

Where an expression may depend on t, a **CSV column** may stand: `{{ file = "weather.csv", column = "air" }}`. The
column `time` or `t`, else the first, is in s; a unit in the head of a column, such as `time [h]` or `air [degC]`, is
converted. Values lie on straight lines between the rows, and are constant before the first and after the last.

**Expressions** are strings such as `"20 + 5*sin(2*pi*t/60)"`. They know the place x, y, z (m), the time t since the
start (s), and the temperature T (K or degC), each where the table below names it; numbers, `pi`, `+ - * / **`,
comparisons, `and`, `or`, `not`, `a if c else b`; and the functions {functions}.
`step(u)` is 0 below u = 0 and 1 from there on; `where(c, a, b)` is a where c is true, else b. In cylindrical
coordinates x is the radius r (m), y the angle phi (rad) and z the height (m): these are the names in expressions and
boxes there too, and `r` is not known. A **condition** is an expression that is true where it is not 0.
"""
_UNIT = re.compile(r" \[([^\],]+)\]")


def markdown() -> str:
    """The reference as Markdown."""
    whole = temperature_schema()
    tables = {"Scenario": whole, **whole["$defs"]}
    units = " ".join(unit for unit in (*WITH_PREFIX, *ALONE) if unit not in ("1", "l"))
    head = _HEAD.format(functions=", ".join(f"`{name}`" for name in FUNCTIONS), units=units)
    told: dict[str, str] = {}
    sections = ["\n".join(_section(section, tables[section.name], told)) for section in SECTIONS]
    return "\n".join([head, *sections, *_library()])


def _library() -> Iterator[str]:
    yield "## Materials of the library\n"
    yield "With the source, the licence and the range of temperatures of each number in `scenarios/materials/`.\n"
    yield "| name | what it is | k at 300 K [W/(m K)] | depends on T |"
    yield "|---|---|---|---|"
    for name, table in library().items():
        k = table["conductivity"]
        varies = [isinstance(table[key], dict) for key in ("conductivity", "heat_capacity")]
        values = np.atleast_1d(np.interp(300.0, k["T"], k["value"]) if isinstance(k, dict) else k)
        shown = ", ".join(f"{each:.4g}" for each in values.tolist())
        about = re.sub(r" \((EN 12524|ASHRAE|VDI)\)$", "", table["about"].replace("|", "/"))
        in_t = "yes, melts" if "latent" in table else "yes" if any(varies) else ""
        yield f"| {name} | {about} | {shown} | {in_t} |"
    yield ""


def _section(section: ReferenceSection, table: dict[str, Any], told: dict[str, str]) -> Iterator[str]:
    """A table of the scenario. Of rows that an earlier section has word for word, by `told`, it names the keys."""
    yield f"## {section.heading}\n"
    for paragraph in table["description"].split("\n\n"):
        yield " ".join(paragraph.split()) + "\n"
    yield f"```toml\n{section.example}```\n"
    needed = table.get("required") or table.get("anyOf", [{}])[0].get("required", ())
    rows = {key: _row(key, field, key in needed) for key, field in table["properties"].items()}
    shared: dict[str, list[str]] = {}
    for key, row in rows.items():
        if row in told:
            shared.setdefault(told[row], []).append(key)
    shared = {heading: keys for heading, keys in shared.items() if len(keys) > 1}
    for heading, keys in shared.items():
        yield f"As in {_link_to(heading)}: {', '.join(f'`{key}`' for key in keys)}.\n"
    own = [row for row in rows.values() if told.get(row) not in shared]
    yield from own
    yield ""
    told |= dict.fromkeys(own, section.heading)


def _row(key: str, field: dict[str, Any], needed: bool) -> str:
    description, kind = field["description"], _kind(field)
    unit = _UNIT.search(description) if "number" in kind else None
    if unit:
        description = _UNIT.sub("", description, count=1)
    limits = list(dict.fromkeys(_limits(field)))
    parts = [kind, unit[1] if unit and unit[1] != "1" else "", *limits]
    if kind == "word":
        parts = [" or ".join(limits)]
    default = "needed" if needed else _default(field)
    return f"- `{key}` ({', '.join(filter(None, parts))}; {default}): {description}"


def _kind(field: dict[str, Any]) -> str:
    """What the value is, in words."""
    match field:
        case {"$ref": target}:
            return _link(target) or "table"
        case {"const": _} | {"enum": _}:
            return "word"
        case {"oneOf": [{"$ref": first}, _, *_, {"$ref": last}]}:
            return f"{_link(first)} to {_link(last)}"
        case {"oneOf": branches} | {"anyOf": branches}:
            return " or ".join(dict.fromkeys(map(_kind, branches)))
        case {"type": "array", "items": items}:
            count = f"{field['minItems']} " if field.get("minItems") == field.get("maxItems", 0) else ""
            many = re.sub("(table|number|word|array|text)", r"\1s", _kind(items), count=1)
            return f"array of {count}{many}"
        case {"type": "array"}:
            return "array of 2 texts"
        case {"type": "object", "additionalProperties": values}:
            return f"{_kind(values)} by name"
        case {"format": "series"}:
            return "CSV column"
        case {"type": ["number", "string"]}:  # the page says once that a string may name another unit
            return "number"
        case {"type": "integer"}:
            return "whole number"
        case {"format": "path"}:
            return "file name"
        case {"format": "condition"}:
            return "condition in x, y, z"
        case {"type": "string"}:
            words = str(field.get("description", ""))
            return words[0].lower() + words[1:] if words.startswith("Expression") else "text"
    return str(field["type"])


def _link(target: str) -> str:
    """The heading of a table's section, as a link to it; nothing for a table that has none yet."""
    headings = (section.heading for section in SECTIONS if target == f"#/$defs/{section.name}")
    return next(map(_link_to, headings), "")


def _link_to(heading: str) -> str:
    anchor = re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
    return f"[{heading}](#{anchor})"


def _default(field: dict[str, Any]) -> str:
    value = field.get("default")
    if isinstance(value, dict) and len(value) != 1 and value:
        return "its defaults"
    return f"default `{_toml(value)}`" if value not in (None, "", [], {}) else "optional"


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(each)}" for key, each in value.items() if each != []) + " }"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return tomli_w.dumps({"_": value}).removeprefix("_ = ").strip()


def _limits(field: dict[str, Any]) -> Iterator[str]:
    """The range of a value, or the words that it may be."""
    words = [field["const"]] if "const" in field else field.get("enum", [])
    yield from (f'`"{word}"`' for word in words)
    if bounds := _bounds(field):
        yield bounds
    for branch in (*field.get("anyOf", ()), *field.get("oneOf", ())):
        yield from _limits(branch)
    if isinstance(field.get("items"), dict):
        yield from _limits(field["items"])
    least, most = field.get("minItems", 1), field.get("maxItems")
    if least > 1 and least != most:
        yield f"at least {least} of them"


def _bounds(number: dict[str, Any]) -> str:
    if "minimum" in number and "maximum" in number:
        return f"{number['minimum']} to {number['maximum']}"
    signs = (("exclusiveMinimum", ">"), ("minimum", ">="), ("maximum", "<="))
    return " and ".join(f"{sign} {number[name]}" for name, sign in signs if name in number)
