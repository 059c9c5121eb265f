"""Values over time from a column of a CSV file, such as a weather file, in place of an expression in t."""

from __future__ import annotations

import csv
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heatsim.scenario.expressions.expression import Expression
from heatsim.scenario.expressions.parser import VariableNode
from heatsim.scenario.toml.messages import did_you_mean, found, one_of, validation_error, validation_error_at
from heatsim.scenario.units import UnitError, convert

MAX_FILE_BYTES = 2**26


class TimeSeries(Expression):
    """Straight lines between the rows of a file, constant before the first and after the last.

    Attributes:
        file, column: where the values are from.
        times: (n,) s, increasing; values: (n,) in the unit of the key.
    """

    __slots__ = ("column", "file", "times", "values")

    def __init__(self, file: Path, column: str, times: NDArray[np.float64], values: NDArray[np.float64]) -> None:
        super().__init__(f"{file} {column}", frozenset("t"), VariableNode("t"))
        self.file, self.column, self.times, self.values = file, column, times, values

    def __call__(self, **values: ArrayLike) -> NDArray[np.float64]:
        """The value at times t, s."""
        return np.asarray(np.interp(np.asarray(values["t"], np.float64), self.times, self.values))

    def split_time(self) -> list[tuple[Expression | None, Expression | None]]:
        """It depends on time alone."""
        return [(None, self)]

    def split_temperature(self) -> tuple[Expression | None, Expression | None]:
        """It does not depend on temperature."""
        return self, None

    def jumps(self) -> list[Expression]:
        """None."""
        return []

    def comparisons(self) -> list[tuple[Expression, Expression]]:
        """None: it has no jumps."""
        return []


def read_series(table: dict[str, Any], directory: Path, unit: str, absolute: bool) -> TimeSeries:
    """The series that a table { file, column } names, in the unit of its key; a unit in the file's head is converted.

    Raises pydantic errors, placed at the keys of the table, for what cannot be used.
    """
    for key in table.keys() - {"file", "column"}:
        raise validation_error_at((key,), "unknown key", "known here: file, column")
    name, column = table.get("file"), table.get("column")
    if not isinstance(name, str) or not name or "\0" in name or not isinstance(column, str):
        raise validation_error('expected { file = "weather.csv", column = "air" }')
    file = Path(directory, name).absolute()
    rows = _rows(file)
    heads = [_name_and_unit(cell) for cell in rows[0]]
    names = [head for head, _ in heads]
    if column not in names:
        hint = did_you_mean(column, names)
        raise validation_error_at(("column",), f"expected {one_of(names)} in {file.name}, found {found(column)}", hint)
    at = next((i for i, head in enumerate(names) if head in ("time", "t")), 0)
    times = _column(file, rows, at, heads[at][1] or "s", "s", False)
    values = _column(file, rows, names.index(column), heads[names.index(column)][1] or unit, unit, absolute)
    wrong = np.flatnonzero(np.diff(times) <= 0)
    if wrong.size:
        row = int(wrong[0]) + 3
        raise validation_error_at(("file",), f"{file.name}: row {row}: expected times that increase")
    return TimeSeries(file, column, times, values)


def _rows(file: Path) -> list[list[str]]:
    try:
        if file.stat().st_size > MAX_FILE_BYTES:
            raise validation_error_at(("file",), f"{file.name}: expected at most {MAX_FILE_BYTES // 2**20} MiB")
        rows = [row for row in csv.reader(file.read_text(encoding="utf-8-sig").splitlines()) if row]
    except (OSError, UnicodeDecodeError) as error:
        reason = (error.strerror or "").lower() if isinstance(error, OSError) else "is no UTF-8 text"
        raise validation_error_at(("file",), f"{file.name}: {reason}") from None
    if len(rows) < 3:
        raise validation_error_at(("file",), f"{file.name}: expected names of columns and at least two rows of numbers")
    return rows


def _column(
    file: Path, rows: list[list[str]], place: int, given: str, unit: str, absolute: bool
) -> NDArray[np.float64]:
    values = []
    try:
        zero, one = (convert(number, given, unit, absolute) for number in ("0", "1"))
    except UnitError as error:
        raise validation_error_at(("column",), f"{file.name}: expected {unit}: {error.message}") from None
    for number, row in enumerate(rows[1:], start=2):
        text = row[place].strip() if place < len(row) else ""
        try:
            value = float(text)
        except ValueError:
            value = np.nan
        if not isfinite(value):
            what = found(text) if text else "a gap"
            raise validation_error_at(("file",), f"{file.name}: row {number}: expected a number, found {what}")
        values.append(zero + (one - zero) * value if given != unit else value)
    return np.array(values)


def _name_and_unit(cell: str) -> tuple[str, str]:
    """`air [degC]` is air, degC."""
    name, _, unit = cell.strip().partition("[")
    return name.strip(), unit.strip(" ]")
