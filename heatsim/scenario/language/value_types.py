"""The values in a scenario: numbers with units and ranges, expressions, words, file names.

Each factory returns an annotation for a pydantic field, such as `Annotated[float, quantity(Number("m", above=0))]`. It
checks a TOML value in full, says in one message what was expected and found, and gives its JSON schema. What a check
needs of the rest of the file is in the `ValidationContext`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationError
from pydantic_core import CoreSchema, InitErrorDetails, PydanticCustomError, core_schema

from heatsim.base.quantity import Quantity
from heatsim.scenario.language.expressions.expression import Expression, ExpressionError
from heatsim.scenario.language.expressions.time_series import TimeSeries, read_series
from heatsim.scenario.language.toml.messages import did_you_mean, found, validation_error, validation_error_at
from heatsim.scenario.language.units import UnitError, convert, split_quantity


@dataclass(frozen=True)
class ValidationContext:
    """Passed to every validator.

    Attributes:
        directory: what relative file names are relative to.
        quantity: what the scenario is about, such as temperature in "K" or "degC".
        materials: the names of materials and ambients that the document defines, None = not known.
        painted: the names of the library by which regions paint: they are materials, too.
        library: gives the names of the library of materials.
        find_in_library: the name in the library that a name stands for, None if it is none.
        sections: filled during validation with the top-level values that are valid, so that the checks across
            sections run on what there is.
        trusted: whether files may lie outside the directory.
    """

    directory: Path = field(default_factory=Path)
    quantity: Quantity = field(default_factory=Quantity)
    materials: frozenset[str] | None = None
    library: Callable[[], Iterable[str]] = tuple
    find_in_library: Callable[[str], str | None] = lambda name: None
    painted: frozenset[str] = frozenset()
    sections: dict[str, Any] = field(default_factory=dict)
    trusted: bool = True

    def own(self, number: Number) -> Number:
        """A number of heat conduction in the unit of the scenario's quantity."""
        unit = self.quantity.in_own_unit(number.unit)
        return number if unit == number.unit else replace(number, unit=unit)

    @property
    def value(self) -> Number:
        """A value of the scenario's quantity."""
        return Number(self.quantity.unit, least=self.quantity.zero, absolute=True)


# Products of a few numbers, and their squares, must stay finite in float64; no physical value is near these.
MIN_MAGNITUDE, MAX_MAGNITUDE = 1e-30, 1e30

Check = Callable[[Any, ValidationContext], Any]
Schema = dict[str, Any]


@dataclass(frozen=True, eq=False)  # eq=False: hashed by identity, as unions of annotations need
class ValueType:
    """A pydantic annotation made of a check of the TOML value and the value's JSON schema.

    number: of a quantity, its unit and range; `TEMPERATURE` of a temperature.
    """

    check: Check
    schema: Mapping[str, Any]
    number: Number | None = None

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Validate by the check alone, whatever the annotated type is."""

        def validate(value: Any, info: core_schema.ValidationInfo[Any]) -> Any:
            return self.check(value, info.context or ValidationContext())

        return core_schema.with_info_plain_validator_function(
            validate, serialization=core_schema.plain_serializer_function_ser_schema(to_plain)
        )

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> Schema:
        """Return the JSON schema as given."""
        return dict(self.schema)


def to_plain(value: Any) -> Any:
    """Return a value as TOML has it: expressions and paths as strings."""
    match value:
        case TimeSeries():
            return {"file": str(value.file), "column": value.column}
        case Expression():
            return value.text
        case Path():
            return str(value)
        case tuple():
            return [to_plain(item) for item in value]
        case _:
            return value


@dataclass(frozen=True)
class Number:
    """A finite number in a unit ("1" = none) and a range: over `above`, or from `least`, to `most`.

    absolute: whether it is a temperature, with a zero that its unit sets, and no difference of two.
    """

    unit: str
    above: float | None = None
    least: float | None = None
    most: float | None = None
    whole: bool = False
    absolute: bool = False

    def __str__(self) -> str:
        words = "whole number" if self.whole else "number"
        if self.least is not None and self.most is not None:
            return f"{words} from {self.least} to {self.most}"
        limits = ((">", self.above), (">=", self.least), ("<=", self.most))
        ranges = " and ".join(f"{sign} {limit:g}" for sign, limit in limits if limit is not None)
        return f"{words} {ranges}" if ranges else words

    @property
    def in_unit(self) -> str:
        """Return ` (m)`, or nothing for a pure number."""
        return "" if self.unit == "1" else f" ({self.unit})"

    def holds(self, value: Any) -> bool:
        """Say whether `value` is a number of this kind. Booleans are not numbers."""
        if isinstance(value, bool) or not isinstance(value, int if self.whole else (int, float)):
            return False
        in_range = (
            (self.above is None or value > self.above)
            and (self.least is None or value >= self.least)
            and (self.most is None or value <= self.most)
        )
        is_sane = abs(value) <= MAX_MAGNITUDE and (self.above != 0 or value >= MIN_MAGNITUDE)  # and NaN is not
        return in_range and is_sane

    def hint(self, value: Any) -> str:
        """Explain the refusal of a number that is not finite, or in range but of no physical size."""
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return ""
        if not math.isfinite(value):
            return "it has to be finite"
        if abs(value) > MAX_MAGNITUDE or 0 < value < MIN_MAGNITUDE:
            return f"sizes from {MIN_MAGNITUDE:g} to {MAX_MAGNITUDE:g} can be computed with"
        return ""

    def schema(self) -> Schema:
        """Return the JSON schema of the number."""
        limits = {"exclusiveMinimum": self.above, "minimum": self.least, "maximum": self.most}
        bounds = {name: limit for name, limit in limits.items() if limit is not None}
        return ({"type": "integer"} if self.whole else dict(WITH_UNIT)) | bounds


SERIES: Schema = {
    "type": "object",
    "format": "series",
    "properties": {"file": {"type": "string"}, "column": {"type": "string"}},
    "required": ["file", "column"],
}  # a column of a CSV file over time
WITH_UNIT: Schema = {"type": ["number", "string"]}  # a string is a number with a unit, such as "2 mm"
TEMPERATURE = Number("K or degC", absolute=True)  # from absolute zero on in the file's unit


def quantity(number: Number, variables: str = "", words: tuple[str, ...] = ()) -> ValueType:
    """Return the annotation of a number, one of `words`, or an expression in `variables` ("xyzt")."""

    def check(value: Any, context: ValidationContext) -> Any:
        if isinstance(value, dict) and "t" in variables:
            return _series(value, context.own(number), context)
        return _quantity(value, context.own(number), variables, words)

    return ValueType(check, _quantity_schema(number.schema(), variables, words), number)


def temperature(variables: str = "") -> ValueType:
    """Return the annotation of a temperature from absolute zero up in the file's unit, or expression."""

    def check(value: Any, context: ValidationContext) -> Any:
        if isinstance(value, dict) and "t" in variables:
            return _series(value, context.value, context)
        return _quantity(value, context.value, variables, ())

    return ValueType(check, _quantity_schema(dict(WITH_UNIT), variables, ()), TEMPERATURE)


def temperatures(least: int) -> ValueType:
    """Return the annotation of an array of at least so many increasing temperatures from absolute zero up."""

    def check(value: Any, context: ValidationContext) -> Any:
        return numbers(context.value, least=least, increasing=True).check(value, context)

    return ValueType(check, {"type": "array", "items": dict(WITH_UNIT), "minItems": least})


def _quantity_schema(number: Schema, variables: str, words: tuple[str, ...]) -> Schema:
    choices = [number]
    if words:
        choices.append({"enum": list(words)})
    if variables:
        text = f"Expression in {_listed(variables)}"
        choices.append({"type": "string", "description": text})
        if "t" in variables:
            choices.append(dict(SERIES))
    return {"anyOf": choices} if len(choices) > 1 else number


def _quantity(value: Any, number: Number, variables: str, words: tuple[str, ...]) -> Any:
    if isinstance(value, Expression) or (isinstance(value, str) and value in words):
        return value
    kinds = [f'"{word}"' for word in words] + [f"a {number}"]
    kinds += [f"an expression in {_listed(variables)}"] if variables else []
    expected = f"expected {' or '.join(kinds)}{number.in_unit}, found {found(value)}"
    if isinstance(value, str) and not number.whole and (parts := split_quantity(value)):
        return _with_unit(parts, number, expected)
    if variables and isinstance(value, str):
        return _expression(value, variables, expected, number)
    if not number.holds(value):
        raise validation_error(expected, did_you_mean(value, words) or number.hint(value))
    return value if number.whole else float(value)


def _series(table: dict[str, Any], number: Number, context: ValidationContext) -> TimeSeries:
    """Values over time from a file, all of them in the range of the key."""
    series = read_series(table, context.directory, number.unit, number.absolute)
    bad = next((value for value in series.values.tolist() if not number.holds(value)), None)
    if bad is not None:
        message = f"{series.file.name}: expected a {number}{number.in_unit} in column {series.column}, found {bad:g}"
        raise validation_error_at(("column",), message)
    return series


def _with_unit(parts: tuple[str, str], number: Number, expected: str) -> float:
    """A number with a unit in the unit of the key."""
    try:
        converted = convert(*parts, number.unit, number.absolute)
    except UnitError as error:
        raise validation_error(expected, error.message) from None
    if not number.holds(converted):
        raise validation_error(f"{expected}, which is {converted:g}", number.hint(converted))
    return converted


def condition(variables: str = "xyz") -> ValueType:
    """Return the annotation of an expression that is true where something applies."""
    expected = f"expected a condition in {_listed(variables)}"

    def check(value: Any, context: ValidationContext) -> Any:
        if isinstance(value, Expression):
            return value
        message = f"{expected}, found {found(value)}"
        if not isinstance(value, str):
            raise validation_error(message, 'such as "x > 0.01 and z < 0.002"')
        return _expression(value, variables, message)

    return ValueType(check, {"type": "string", "format": "condition"})


def _expression(text: str, variables: str, expected: str, number: Number | None = None) -> Expression:
    try:
        expression = Expression.parse(text, frozenset(variables))
    except ExpressionError as error:
        raise validation_error(f"{expected}: at character {error.offset + 1}: {error.message}") from None
    if number and not expression.names and not number.holds(float(expression())):
        raise validation_error(f"{expected}, which is {float(expression()):g}")
    return expression


def _listed(variables: str) -> str:
    return ", ".join(variables)


def numbers(
    number: Number, length: int | None = None, least: int = 1, most: int = 100_000, increasing: bool = False
) -> ValueType:
    """Return the annotation of an array of numbers: `length` of them, or from `least` to `most`."""
    count = f"{length}" if length else f"at least {least}" if least > 1 else ""
    head, _, tail = str(number).partition("number")
    kind = " ".join(f"an array of {count} {'increasing ' if increasing else ''}{head}numbers{tail}".split())
    low, high = (length, length) if length else (least, most)

    def check(value: Any, context: ValidationContext) -> Any:
        own = context.own(number)
        expected = f"expected {kind}{own.in_unit}"
        if not isinstance(value, (list, tuple)) or not low <= len(value) <= high:
            raise validation_error(f"{expected}, found {found(value)}")
        items = _items(value, lambda item: _quantity(item, own, "", ()))
        if increasing and any(b <= a for a, b in pairwise(items)):
            raise validation_error(f"{expected}, found a number that does not exceed the one before it")
        return items

    return ValueType(check, {"type": "array", "items": number.schema(), "minItems": low, "maxItems": high})


def point_pairs(number: Number, least: int, most: int = 10_000) -> ValueType:
    """Return the annotation of an array of pairs of numbers, from `least` to `most` of them."""
    pair = numbers(number, length=2)
    expected = f"expected an array of at least {least} pairs of numbers{number.in_unit}"

    def check(value: Any, context: ValidationContext) -> Any:
        if not isinstance(value, (list, tuple)) or not least <= len(value) <= most:
            raise validation_error(f"{expected}, found {found(value)}")
        return _items(value, lambda item: pair.check(item, context))

    schema = {"type": "array", "items": dict(pair.schema), "minItems": least, "maxItems": most}
    return ValueType(check, schema)


def _items(value: Any, check: Callable[[Any], Any]) -> tuple[Any, ...]:
    """Check each item, so that every bad one is reported, each at its own place."""
    items: list[Any] = []
    errors: list[InitErrorDetails] = []
    for index, item in enumerate(value):
        try:
            items.append(check(item))
        except PydanticCustomError as error:
            errors.append({"type": error, "loc": (index,), "input": None})
        except ValidationError as error:  # of an array in the array
            inner = error.errors(include_url=False)
            errors += [
                {"type": validation_error(**each["ctx"]), "loc": (index, *each["loc"]), "input": None} for each in inner
            ]
    if errors:
        raise ValidationError.from_exception_data("array", errors)
    return tuple(items)


def text(expected: str, pattern: str, hint: str = "") -> ValueType:
    """Return the annotation of a string that matches `pattern` in full."""

    def check(value: Any, context: ValidationContext) -> Any:
        if not isinstance(value, str) or not re.fullmatch(pattern, value):
            raise validation_error(f"expected {expected}, found {found(value)}", hint)
        return value

    return ValueType(check, {"type": "string"})


def file_name(expected: str) -> ValueType:
    """Return the annotation of a file name; the value is its absolute `Path`. Nothing is opened here."""

    def check(value: Any, context: ValidationContext) -> Any:
        if not isinstance(value, (str, Path)) or not str(value) or "\0" in str(value):
            raise validation_error(f"expected {expected}, found {found(value)}")
        path = Path(context.directory, value).absolute()
        if not (context.trusted or _is_within(path, context.directory)):
            raise validation_error(
                f"expected a file within the folder of the scenario, found {found(str(value))}",
                "--trust allows it: only for a scenario from someone that you trust",
            )
        return path

    return ValueType(check, {"type": "string", "format": "path"})


def _is_within(path: Path, directory: Path) -> bool:
    """Whether a file lies in a directory, wherever links on the way lead."""
    try:
        return path.resolve().is_relative_to(directory.resolve())
    except (OSError, RuntimeError):  # a loop of links, or a name that is too long
        return False


def _known_material(value: Any, context: ValidationContext) -> str:
    if isinstance(value, str) and (context.materials is None or value in context.materials | context.painted):
        return value
    known, library = sorted((context.materials or frozenset()) | context.painted), list(context.library())
    if isinstance(value, str) and context.find_in_library(value) in library and not did_you_mean(value, known):
        hint = f"a region has to paint it; known here: {', '.join(known[:20]) or 'none'}"
    else:
        hint = did_you_mean(value, [*known, *library])
        hint = hint or (f"known here: {', '.join(known[:20])}" if known else "the library: docs/reference/scenario.md")
    raise validation_error(f"expected the name of a material, found {found(value)}", hint)


def _label(value: Any, context: ValidationContext) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if not isinstance(value, str) or not re.fullmatch(r"0|-?[1-9][0-9]{0,17}", value):
        raise validation_error(f"expected a label (whole number), found {found(value)}")
    return int(value)


def _flag(value: Any, context: ValidationContext) -> bool:
    if not isinstance(value, bool):
        raise validation_error(f"expected true or false, found {found(value)}")
    return value


FLAG = ValueType(_flag, {"type": "boolean"})
MATERIAL = ValueType(_known_material, {"type": "string"})  # the name of a material or ambient of this file
LABEL = ValueType(_label, {"type": "string"})  # a whole number as a key, which in TOML is a string
NAME = text(
    "a name of 1 to 60 letters, digits, spaces and _ - + . that starts with a letter, digit or _",
    r"\w(?:[\w .+-]{0,58}[\w+-])?",
    "it names a file or a column",
)
