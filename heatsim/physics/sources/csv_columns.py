"""Columns of numbers from a user's CSV file, with errors that name its line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from heatsim.errors import Issue, ScenarioError
from heatsim.scenario import Scenario
from heatsim.scenario.csv_file import COMMAS, CsvError, converted, number, read_csv
from heatsim.scenario.toml.messages import found, quote
from heatsim.scenario.toml.positions import Key, key_text

SAME_LINE = 1  # column of a flaw that a line has as a whole


class Columns(NamedTuple):
    """names, units: of the columns in the first line, names in lower case, units "" where none is given; or () where it
    holds numbers already; head: the line of the names, from 1; values: (rows, columns); lines: that of each row; path,
    key: for `refuse`."""

    names: tuple[str, ...]
    units: tuple[str, ...]
    head: int
    values: np.ndarray
    lines: list[int]
    path: Path
    key: Key

    def refuse(self, row: int | None, message: str, hint: str = "") -> ScenarioError:
        """An error at the line of a row, or of the names."""
        line = self.head if row is None else self.lines[row]
        return _refusal(self.path, self.key, line, SAME_LINE, message, hint)


def read_columns(scenario: Scenario, key: Key, path: Path) -> Columns:
    """Read rows of numbers with commas between; the first line may name the columns. Empty lines, and lines that begin
    with #, are skipped.

    Raises `ScenarioError` for a file that is missing, too large or no text, holds no row, rows of unlike length, or a
    value that is no finite number. `key` says which key of the scenario names the file.
    """
    try:
        table = read_csv(path)
    except CsvError as error:
        if error.missing:
            raise ScenarioError([scenario.issue_at(key, f"{path}: no such file")]) from None
        raise _refusal(path, key, error.line, error.column, error.message, error.hint) from None
    if not table.rows:
        raise _refusal(path, key, 0, 0, "expected rows of numbers, found none")
    count = len(table.names or table.rows[0])
    values = []
    for line, fields in zip(table.lines, table.rows, strict=True):
        if len(fields) != count:
            hint = COMMAS if len(fields) > count else ""
            raise _refusal(path, key, line, SAME_LINE, f"expected {count} values, found {len(fields)}", hint)
        values.append(_row(path, key, line, fields))
    names = tuple(name.lower() for name in table.names)
    return Columns(names, table.units, table.head, np.array(values), table.lines, path, key)


def select_columns(
    columns: Columns, units: Mapping[str, str], needed: int, layouts: Sequence[Sequence[str]]
) -> dict[str, np.ndarray]:
    """Columns by their names in the first line, in any order; without names, as the layout of so many columns has them.

    `units`: of all columns that there may be, "" for none; the first `needed` of them have to be there. Time may be
    called t. What has another unit in the first line is converted. Raises `ScenarioError` for other names, units that
    do not fit, or where no layout has as many columns.
    """
    count = columns.values.shape[1]
    in_words = " or ".join(f"{len(layout)} columns ({', '.join(layout)})" for layout in layouts)
    names = columns.names or next((tuple(layout) for layout in layouts if len(layout) == count), ())
    heading = ", ".join(f"{name} [{unit}]" if unit else name for name, unit in units.items())
    if not names:
        raise columns.refuse(0, f"expected {in_words}, found {count}", f"or named in the first line: {heading}")
    names = tuple("time" if name == "t" else name for name in names)
    known, optional = list(units), list(units)[needed:]
    if set(names) - set(known) or len(set(names)) < count or not set(known[:needed]).issubset(names):
        perhaps = f" and perhaps {', '.join(optional)}" if optional else ""
        message = f"expected the columns {', '.join(known[:needed])}{perhaps}, found {', '.join(columns.names)}"
        raise columns.refuse(None, message, f"name them as in: {heading}")
    found = dict(zip(names, columns.values.T.copy(), strict=True))
    for name, unit in zip(names, columns.units, strict=False):
        try:
            found[name] = converted(found[name], unit, units[name])
        except CsvError as error:
            raise columns.refuse(None, f"expected {name} in {units[name]}, found {quote(unit)}", str(error)) from None
    return found


def require_increasing(columns: Columns, times: np.ndarray, hint: str = "") -> None:
    """Raise `ScenarioError` unless times start at 0 or later and increase from row to row; `hint`: on equal times."""
    if times[0] < 0:
        raise columns.refuse(0, f"expected a time >= 0 (s), found {times[0]:g}")
    wrong = np.flatnonzero(np.diff(times) <= 0)
    if wrong.size:
        row = int(wrong[0]) + 1
        message = f"expected a time after {times[row - 1]:g} (s), found {times[row]:g}"
        raise columns.refuse(row, message, hint if times[row] == times[row - 1] else "")


def _row(path: Path, key: Key, line: int, fields: list[str]) -> list[float]:
    values, column = [], 1
    for field in fields:
        value = number(field)
        if value is None:
            hint = COMMAS if any(sign in field for sign in ",;\t") else ""
            raise _refusal(path, key, line, column, f"expected a number, found {found(field.strip())}", hint)
        values.append(value)
        column += len(field) + 1
    return values


def _refusal(path: Path, key: Key, line: int, column: int, message: str, hint: str = "") -> ScenarioError:
    return ScenarioError([Issue(message, key_text(key), str(path), line, column, hint)])
