"""`[sweep]`: the values that parameters take in a family of runs."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self

import numpy as np
import tomli_w
from pydantic import Field, model_validator

from heatsim.errors import InputFileError, RequestError
from heatsim.scenario.language.base_model import ScenarioBlock
from heatsim.scenario.language.csv_file import CsvError, read_csv
from heatsim.scenario.language.toml.messages import found, validation_error, validation_error_at
from heatsim.scenario.language.units import split_quantity
from heatsim.scenario.language.value_types import Number, ValidationContext, ValueType, file_name, quantity

# A number, one with a unit as "2 mm", a word such as the name of a material, or a list: of these last two only where
# the name is a key with dots.
Value = float | int | bool | str | list[Any]
MAX_VALUES = 100_000
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")


class SweepAxis(NamedTuple):
    """A parameter of a sweep and its values; span: its first and last number where it is a range, else None."""

    name: str
    values: tuple[Value, ...]
    span: tuple[float, float] | None = None
    unit: str = ""


def axis_of_text(text: str) -> SweepAxis:
    """An axis from "h=5,10,20", or from "thickness=1mm:5mm:5": first, last and how many, in equal steps.

    Raises RequestError.
    """
    name, equals, given = (part.strip() for part in text.partition("="))
    if not equals or not name or not given:
        raise RequestError(f"--vary {text}: expected NAME=VALUES, such as h=5,10,20 or thickness=1mm:5mm:5")
    parts = given.split(":")
    if len(parts) == 1:
        return SweepAxis(name, tuple(_value(name, each, text) for each in _split(given)))
    if "." in name and not _NUMBER.match(parts[0].strip()):  # a word or a list with colons inside
        return SweepAxis(name, tuple(_value(name, each, text) for each in _split(given)))
    if len(parts) != 3:
        raise RequestError(f"--vary {text}: expected FIRST:LAST:COUNT, found {given}")
    return _range(name, parts[0], parts[1], parts[2], text)


def axis_of_table(name: str, given: Any) -> SweepAxis:
    """An axis from a list of values, or from a table { from, to, count }. Raises RequestError."""
    where = f"sweep.vary.{name}"
    if isinstance(given, Mapping) and set(given) == {"from", "to", "count"}:
        return _range(name, str(given["from"]), str(given["to"]), str(given["count"]), where)
    if isinstance(given, Sequence) and not isinstance(given, str) and given:
        return SweepAxis(name, tuple(_value(name, each, where) for each in given))
    raise RequestError(f"{where}: expected a list of values, or {{ from, to, count }}")


def axes_of_file(path: Path) -> list[SweepAxis]:
    """An axis for each column of a CSV file with a line of names; a unit in the head of a column is that of its
    numbers. Raises InputFileError."""
    try:
        table = read_csv(path)
        if not table.names:
            table = table.headed()
    except CsvError as error:
        raise InputFileError(path, str(error)) from None
    if not table.rows or any(len(row) != len(table.names) for row in table.rows):
        raise InputFileError(path, "expected a line of names and, below it, as many values in each line")
    heads = zip(table.names, table.units, strict=True)
    return [
        SweepAxis(name, tuple(_value(name, row[column], str(path), unit) for row in table.rows))
        for column, (name, unit) in enumerate(heads)
    ]


def _range(name: str, first: str, last: str, count: str, where: str) -> SweepAxis:
    (low, unit), (high, other) = _number_and_unit(first, where), _number_and_unit(last, where)
    if unit != other:
        raise RequestError(f"{where}: expected both ends in one unit, found {first.strip()} and {last.strip()}")
    if not count.strip().isdigit() or not 2 <= int(count) <= MAX_VALUES:
        raise RequestError(f"{where}: expected a count of 2 to {MAX_VALUES} values, found {count.strip()}")
    if low == high:
        raise RequestError(f"{where}: expected a range, found {first.strip()} at both ends")
    spread = np.linspace(low, high, int(count))
    whole = isinstance(low, int) and isinstance(high, int)
    values = (with_unit(int(each) if whole and float(each).is_integer() else float(each), unit) for each in spread)
    return SweepAxis(name, tuple(values), (low, high), unit)


def _split(given: str) -> list[str]:
    """The values between commas, but for commas in brackets and quotes."""
    found, depth, quoted = [""], 0, ""
    for character in given:
        quoted = ("" if character == quoted else quoted) if quoted else character if character in "\"'" else ""
        depth += 0 if quoted else (character in "([{") - (character in ")]}")
        if character == "," and not quoted and depth <= 0:
            found.append("")
        else:
            found[-1] += character
    return found


def _value(name: str, given: Any, where: str, unit: str = "") -> Value:
    """A value as it is written, of a parameter a number; unit: of numbers that are given without one."""
    text = str(given).strip()
    if not isinstance(given, str):
        if isinstance(given, (bool, list)) and "." in name:
            return given
        text = repr(given)
    if "." in name and text and not _is_quantity(text):
        return _word(text, where)
    number, own = _number_and_unit(text, where)
    return with_unit(number, own or unit)


def _word(text: str, where: str) -> Value:
    """A list, true or false, or any other text, with or without quotes."""
    if text[0] in "[\"'{" or text in ("true", "false"):
        try:
            parsed: Value = tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError as error:
            raise RequestError(f"{where}: expected a TOML value, found {text}: {error}") from None
        return parsed
    return text


def _is_quantity(text: str) -> bool:
    """Whether a text is a number with or without a unit."""
    try:
        _number_and_unit(text, "")
    except RequestError:
        return False
    return True


def _number_and_unit(text: str, where: str) -> tuple[float | int, str]:
    """A number, whole if it is written so, and its unit."""
    text = text.strip()
    if _NUMBER.fullmatch(text):
        return _number(text), ""
    spaced = re.sub(rf"^({_NUMBER.pattern})(?=[^\s\d.])", r"\1 ", text)
    parts = split_quantity(spaced)
    if parts is None:
        raise RequestError(f"{where}: expected a number, with or without a unit, found {text or 'nothing'}")
    return _number(parts[0]), parts[1]


def _number(text: str) -> float | int:
    return int(text) if re.fullmatch(r"[+-]?\d{1,15}", text) else float(text)


def with_unit(number: float | int, unit: str) -> Value:
    """A number to 12 digits, as a value."""
    if isinstance(number, int):
        return f"{number} {unit}" if unit else number
    rounded = float(f"{number:.12g}")
    if not unit:
        return rounded
    return f"{rounded:g} {unit}" if float(f"{rounded:g}") == rounded else f"{rounded!r} {unit}"


def number_of(value: Value) -> float | str:
    """The number of a value, in its own unit; of a word or a list what the table says of it."""
    if isinstance(value, (bool, list)):
        return toml_value(value)
    if not isinstance(value, str):
        return value
    parts = split_quantity(value)
    return value if parts is None else float(parts[0])


def unit_of(value: Value) -> str:
    """The unit of a value, "" where it has none."""
    parts = split_quantity(value) if isinstance(value, str) else None
    return "" if parts is None else parts[1]


def toml_value(value: Any) -> str:
    """A value as TOML has it, on one line."""
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(toml_value, value))}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{toml_value(str(key))} = {toml_value(each)}' for key, each in value.items())}}}"
    return tomli_w.dumps({"a": value}).removeprefix("a = ").strip()


def override_of(name: str, value: Value) -> str:
    """The text after --set that gives a parameter a value, or the key of a value where the name has dots."""
    key = name if "." in name else f"parameters.{name}"
    return f"{key}={toml_value(value)}"


def _check(value: Any, context: ValidationContext) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise validation_error(f"expected a table of parameters, found {found(value)}", "vary = { h = [5.0, 10.0] }")
    for name, given in value.items():
        try:
            axis_of_table(name, given)
        except RequestError as error:
            message = str(error).partition(": ")[2]
            raise validation_error_at((name,), message, "such as [5, 10] or { from = 1, to = 9, count = 5 }") from None
    return value


VARY = ValueType(_check, {"type": "object"})


class Sweep(ScenarioBlock):
    """The runs of `heatsim sweep FILE`; other commands take the parameters as they stand."""

    vary: Annotated[dict[str, Any], VARY] = Field(
        {}, description="Values of each parameter, or of a key with dots: a list, or { from, to, count }"
    )
    file: Annotated[Path | None, file_name("the name of a .csv file")] = Field(
        None, description="CSV file with a line of names, a run in each further line"
    )
    method: Literal["product", "zip", "latin_hypercube"] = Field(
        "product", description="All combinations; values side by side; or a Latin hypercube of ranges"
    )
    samples: Annotated[int | None, quantity(Number("1", least=1, whole=True))] = Field(
        None, description="Runs of a Latin hypercube [1]"
    )
    seed: Annotated[int, quantity(Number("1", least=0, whole=True))] = Field(
        0, description="Seed of a Latin hypercube [1]"
    )

    @model_validator(mode="after")
    def _has_something_to_vary(self) -> Self:
        if bool(self.vary) == (self.file is not None):
            raise validation_error("expected one of vary and file", "vary = { h = [5.0, 10.0] }")
        return self


# --- the points of a sweep


Point = dict[str, Value]
MAX_POINTS = 100_000


def points_of(
    axes: Sequence[SweepAxis], method: str = "product", samples: int | None = None, seed: int = 0
) -> list[Point]:
    """The points of a sweep: all combinations, the last axis fastest; values side by side; or a Latin hypercube, in
    which each of `samples` equal parts of each range holds one point (McKay, Beckman and Conover, Technometrics 21,
    1979). Raises RequestError.
    """
    if not axes:
        raise RequestError("a sweep needs parameters: --vary h=5,10,20, or a table [sweep] in the scenario")
    twice = next((axis.name for axis in axes if [each.name for each in axes].count(axis.name) > 1), None)
    if twice:
        raise RequestError(f"{twice}: is varied twice")
    if method == "latin_hypercube":
        return _hypercube(axes, samples, seed)
    if samples is not None:
        raise RequestError(f'expected samples with method "latin_hypercube" alone, found "{method}"')
    lengths = {axis.name: len(axis.values) for axis in axes}
    if method == "zip" and len(set(lengths.values())) > 1:
        found = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise RequestError(f'expected equally many values of each parameter with method "zip", found {found}')
    if method == "product" and np.prod([float(length) for length in lengths.values()]) > MAX_POINTS:
        raise RequestError(f"expected at most {MAX_POINTS} runs, found {np.prod(list(lengths.values()))}")
    values = (
        zip(*(axis.values for axis in axes), strict=True) if method == "zip" else product(*(a.values for a in axes))
    )
    return [dict(zip(lengths, each, strict=True)) for each in values]


def _hypercube(axes: Sequence[SweepAxis], samples: int | None, seed: int) -> list[Point]:
    if samples is None or not 1 <= samples <= MAX_POINTS:
        raise RequestError(f"a Latin hypercube needs samples, 1 to {MAX_POINTS}")
    rng, columns = np.random.default_rng(seed), {}
    for axis in axes:
        if axis.span is None:
            raise RequestError(f"{axis.name}: a Latin hypercube needs a range, such as {axis.name}=1:5:2")
        low, high = axis.span
        shares = (rng.permutation(samples) + rng.random(samples)) / samples
        columns[axis.name] = [with_unit(low + share * (high - low), axis.unit) for share in shares]
    return [dict(zip(columns, each, strict=True)) for each in zip(*columns.values(), strict=True)]
