"""The values that a parameter takes in a sweep, from a text such as "h=5,10,20" or from a table `[sweep]`."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from heatsim.errors import InputFileError, RequestError
from heatsim.scenario.units import split_quantity

Value = float | str  # a number, or one with a unit as "2 mm"
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
        return SweepAxis(name, tuple(_value(each, text) for each in given.split(",")))
    if len(parts) != 3:
        raise RequestError(f"--vary {text}: expected FIRST:LAST:COUNT, found {given}")
    return _range(name, parts[0], parts[1], parts[2], text)


def axis_of_table(name: str, given: Any) -> SweepAxis:
    """An axis from a list of values, or from a table { from, to, count }. Raises RequestError."""
    where = f"sweep.vary.{name}"
    if isinstance(given, Mapping) and set(given) == {"from", "to", "count"}:
        return _range(name, str(given["from"]), str(given["to"]), str(given["count"]), where)
    if isinstance(given, Sequence) and not isinstance(given, str) and given:
        return SweepAxis(name, tuple(_value(str(each), where) for each in given))
    raise RequestError(f"{where}: expected a list of values, or {{ from, to, count }}")


def axes_of_file(path: Path) -> list[SweepAxis]:
    """An axis for each column of a CSV file with a line of names. Raises InputFileError."""
    try:
        rows = [row for row in csv.reader(path.read_text(encoding="utf-8-sig").splitlines()) if row]
    except (OSError, UnicodeDecodeError) as error:
        raise InputFileError(path, getattr(error, "strerror", None) or "is no UTF-8 text") from None
    if len(rows) < 2 or any(len(row) != len(rows[0]) for row in rows):
        raise InputFileError(path, "expected a line of names and, below it, as many values in each line")
    names = [name.strip() for name in rows[0]]
    return [
        SweepAxis(name, tuple(_value(row[column], str(path)) for row in rows[1:])) for column, name in enumerate(names)
    ]


def _range(name: str, first: str, last: str, count: str, where: str) -> SweepAxis:
    (low, unit), (high, other) = _number_and_unit(first, where), _number_and_unit(last, where)
    if unit != other:
        raise RequestError(f"{where}: expected both ends in one unit, found {first.strip()} and {last.strip()}")
    if not count.strip().isdigit() or not 2 <= int(count) <= MAX_VALUES:
        raise RequestError(f"{where}: expected a count of 2 to {MAX_VALUES} values, found {count.strip()}")
    if low == high:
        raise RequestError(f"{where}: expected a range, found {first.strip()} at both ends")
    values = (with_unit(float(each), unit) for each in np.linspace(low, high, int(count)))
    return SweepAxis(name, tuple(values), (low, high), unit)


def _value(text: str, where: str) -> Value:
    number, unit = _number_and_unit(text, where)
    return with_unit(number, unit)


def _number_and_unit(text: str, where: str) -> tuple[float, str]:
    text = text.strip()
    if _NUMBER.fullmatch(text):
        return float(text), ""
    spaced = re.sub(rf"^({_NUMBER.pattern})(?=[^\s\d.])", r"\1 ", text)
    parts = split_quantity(spaced)
    if parts is None:
        raise RequestError(f"{where}: expected a number, with or without a unit, found {text or 'nothing'}")
    return float(parts[0]), parts[1]


def with_unit(number: float, unit: str) -> Value:
    """A number to 12 digits, as a value."""
    rounded = float(f"{number:.12g}")
    return (
        f"{rounded:g} {unit}"
        if unit and float(f"{rounded:g}") == rounded
        else f"{rounded!r} {unit}"
        if unit
        else rounded
    )


def number_of(value: Value) -> float:
    """The number of a value, in its own unit."""
    return value if isinstance(value, float) else float(value.partition(" ")[0])


def unit_of(value: Value) -> str:
    """The unit of a value, "" where it has none."""
    return "" if isinstance(value, float) else value.partition(" ")[2]


def override_of(name: str, value: Value) -> str:
    """What --set is given for a parameter, or for the key of a value where the name has dots."""
    key = name if "." in name else f"parameters.{name}"
    return f'{key}="{value}"' if isinstance(value, str) else f"{key}={value!r}"
