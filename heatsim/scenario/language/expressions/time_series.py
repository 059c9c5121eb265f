"""Values over time from a column of a CSV file, such as a weather file, in place of an expression in t."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heatsim.base import evaluations
from heatsim.scenario.language.csv_file import CsvError, CsvRows, read_csv
from heatsim.scenario.language.expressions.expression import Expression
from heatsim.scenario.language.expressions.intervals import Interval
from heatsim.scenario.language.expressions.parser import VariableNode
from heatsim.scenario.language.toml.messages import found, validation_error, validation_error_at

OPERATIONS_OF_A_SERIES = 10  # that take as long as to find a place among its rows


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
        found = np.asarray(np.interp(np.asarray(values["t"], np.float64), self.times, self.values))
        evaluations.count(OPERATIONS_OF_A_SERIES, found.size)
        return found

    def enclose(self, **ranges: Interval) -> Interval:
        """Bounds of the values between times, s: of the rows there, and at these times."""
        first, last = (np.asarray(end, np.float64) for end in ranges["t"])
        ends = self(t=first), self(t=last)
        low, high = (np.array(pick(*ends)) for pick in (np.minimum, np.maximum))
        starts, stops = np.searchsorted(self.times, first), np.searchsorted(self.times, last, side="right")
        for place in zip(*np.nonzero(np.atleast_1d(stops > starts)), strict=True):
            at = place if low.ndim else ()
            rows = self.values[starts[at] : stops[at]]
            low[at], high[at] = min(low[at], rows.min()), max(high[at], rows.max())
        return low, high

    def split_time(self) -> list[tuple[Expression | None, Expression | None]]:
        """The series itself as the factor in time: a series depends on time alone."""
        return [(None, self)]

    def split_temperature(self) -> tuple[Expression | None, Expression | None]:
        """The series itself as the factor without T: a series does not depend on temperature."""
        return self, None

    def jumps(self) -> list[Expression]:
        """No jumps: straight lines lie between the rows."""
        return []

    def comparisons(self) -> list[tuple[Expression, Expression]]:
        """No comparisons: a series has no jumps."""
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
    table_of_file = _read(file)
    try:
        place = table_of_file.place(column)
    except CsvError as error:
        message = f"{error} in {file.name}, found {found(column)}"
        raise validation_error_at(("column",), message, error.hint) from None
    heads = [head.lower() for head in table_of_file.heard().names]
    at = next((i for i, head in enumerate(heads) if head in ("time", "t")), 0)
    times = _column(file, table_of_file, at, "s", False)
    values = _column(file, table_of_file, place, unit, absolute)
    wrong = np.flatnonzero(np.diff(times) <= 0)
    if wrong.size:
        row = table_of_file.lines[int(wrong[0]) + 1]
        raise validation_error_at(("file",), f"{file.name}: row {row}: expected times that increase")
    return TimeSeries(file, table_of_file.names[place], times, values)


def _read(file: Path) -> CsvRows:
    try:
        table = read_csv(file)
    except CsvError as error:
        raise validation_error_at(("file",), f"{file.name}: {error}") from None
    if not table.names or len(table.rows) < 2:
        raise validation_error_at(("file",), f"{file.name}: expected names of columns and at least two rows of numbers")
    return table


def _column(file: Path, table: CsvRows, place: int, unit: str, absolute: bool) -> NDArray[np.float64]:
    try:
        return table.numbers(place, unit, absolute=absolute)
    except CsvError as error:
        where = "file" if error.line else "column"
        raise validation_error_at((where,), f"{file.name}: {error}") from None
