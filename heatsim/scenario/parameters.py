"""`[parameters]`: numbers with a name, put into the values and expressions of a document before it is validated."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from math import isfinite
from typing import Any

from heatsim.scenario.language.expressions.expression import Expression, ExpressionError
from heatsim.scenario.language.expressions.parser import FUNCTIONS, VARIABLES
from heatsim.scenario.language.toml.messages import found, quote
from heatsim.scenario.language.toml.positions import KeyIssue
from heatsim.scenario.language.units import UnitError, convert, parse_unit, split_quantity, to_float

# Keys whose strings are names, words or files, and never formulas.
TEXTS = frozenset(
    [
        "title", "temperature_unit", "unit", "name", "material", "between", "map", "file", "dataset", "column",
        "path", "trace", "powers", "stl", "kind", "integrator", "method", "device", "precision", "kernel",
        "coordinates", "axis", "along", "fields", "target", "filter", "edges", "when", "of", "over", "parameters",
        "$schema",
    ]
)  # fmt: skip
RESERVED = frozenset({*VARIABLES, *FUNCTIONS, "pi", "if", "else", "and", "or", "not", "r"})
_WORD = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,59}")

Value = int | float


def substitute_parameters(document: dict[str, Any]) -> tuple[dict[str, Any], list[KeyIssue]]:
    """The document with the numbers of its parameters in place of their names, and what is wrong with parameters.

    A string that comes to a number becomes one; what is no formula stays as it is.
    """
    given = document.get("parameters")
    if not isinstance(given, dict) or not given:
        return document, []
    values: dict[str, Value] = {}
    issues: list[KeyIssue] = []
    unit = "degC" if document.get("temperature_unit") == "degC" else "K"
    for name, value in given.items():
        wrong = _add(values, name, value, unit)
        issues += [KeyIssue(("parameters", name), *wrong)] if wrong else []
    return {key: _put(value, key, values) for key, value in document.items()} | {"parameters": values}, issues


def _add(values: dict[str, Value], name: str, value: Any, unit: str) -> tuple[str, str] | None:
    """Add a parameter to those before it; or say what is wrong, and a hint."""
    if not _NAME.fullmatch(name):
        return "expected a name of letters, digits and _ for a parameter", "it stands in expressions"
    if name in RESERVED:
        return f"expected a name of its own, found {quote(name)}, which expressions know already", "choose another name"
    if isinstance(value, str):
        try:
            parts = split_quantity(value)
            number = _in_si(parts, unit) if parts else _evaluate(value, values)
        except (UnitError, ExpressionError) as error:
            return f"expected a number, found {quote(value)}", error.message
        if not isinstance(number, (int, float)):
            return f"expected a number, found {quote(value)}", "it may use the parameters above it"
        if not isfinite(number):
            return f"expected a finite number, found {quote(value)}, which is {number}", ""
        values[name] = number
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return f"expected a number, found {found(value)}", "also as text with a unit, or an expression in parameters"
    values[name] = value
    return None


def _in_si(parts: tuple[str, str], unit: str) -> float:
    """A number with a unit in SI; a temperature in the unit of the file."""
    if parse_unit(parts[1]).dimension == parse_unit("K").dimension:
        return convert(*parts, unit, absolute=True)
    return to_float(Fraction(parts[0]) * parse_unit(parts[1]).factor)


def _put(value: Any, key: str, values: Mapping[str, Value]) -> Any:
    if key in TEXTS:
        return value
    match value:
        case dict():
            return {name: _put(each, name, values) for name, each in value.items()}
        case list():
            return [_put(each, key, values) for each in value]
        case str() if not values.keys().isdisjoint(_WORD.findall(value)):
            try:
                return _evaluate(value, values)
            except ExpressionError:
                return value
    return value


def _evaluate(text: str, values: Mapping[str, Value]) -> Value | str:
    """A formula as a number, or with numbers in place of the parameters where it has variables.

    Raises:
        ExpressionError: it is none.
    """
    used = {name: values[name] for name in _WORD.findall(text) if name in values}
    numbers = _WORD.sub(lambda match: f"({used[match[0]]!r})" if match[0] in used else match[0], text)
    expression = Expression.parse(numbers, VARIABLES)
    if expression.names:
        return numbers
    result = float(expression())
    whole = result.is_integer() and all(isinstance(value, int) for value in used.values())
    return int(result) if whole else result
