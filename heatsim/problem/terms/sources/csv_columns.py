"""Columns of numbers from a user's CSV file, with errors that name its line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from heatsim.errors import Issue, ScenarioError
from heatsim.scenario import Scenario
from heatsim.scenario.language.csv_file import COMMAS, CsvError, CsvRows, converted, number, read_csv
from heatsim.scenario.language.toml.messages import found, quote
from heatsim.scenario.language.toml.positions import Key, key_text

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
    table = _table(scenario, key, path)
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
        found[name] = _in_unit(columns, found[name], name, unit, units[name])
    return found


class BlockPowers(NamedTuple):
    """Powers (rows, blocks) W, of each row at `times` (rows,) s; one row, and None, where they are constant. rows: of
    the file, for `refuse`; of constant powers without values."""

    powers: np.ndarray
    times: np.ndarray | None
    rows: Columns


def read_block_powers(scenario: Scenario, key: Key, path: Path, blocks: Sequence[str]) -> BlockPowers:
    """Read a table with the power of each of some blocks: a line for each, of the columns block, power [W]; or a column
    for each behind one of times. Raises `ScenarioError` as `read_columns` does, for units other than of a power, and
    for blocks that are missing, twice there, or unknown."""
    table = _table(scenario, key, path)
    names = [name.lower() for name in table.names]
    if names != ["block", "power"]:
        columns = read_columns(scenario, key, path)
        if not names or names[0] not in ("time", "t"):
            found = ", ".join(table.names[:4]) or "none"
            raise columns.refuse(None, f"expected the columns block, power [W], or time [s] and blocks, found {found}")
        _require_blocks(columns, table.names[1:], blocks)
        values = columns.values.T.copy()
        for place, (unit, wanted) in enumerate(zip(table.units, ["s", *["W"] * len(blocks)], strict=True)):
            if unit:
                values[place] = _in_unit(columns, values[place], table.names[place], unit, wanted)
        places = {name: place for place, name in enumerate(table.names)}
        return BlockPowers(values[[places[name] for name in blocks]].T, values[0], columns)
    columns = Columns(tuple(names), table.units, table.head, np.zeros((0, 0)), table.lines, path, key)
    for line, fields in zip(table.lines, table.rows, strict=True):
        if len(fields) != 2:
            raise _refusal(path, key, line, SAME_LINE, f"expected 2 values, found {len(fields)}", COMMAS)
    given = [fields[0].strip() for fields in table.rows]
    _require_blocks(columns, given, blocks)
    of_lines = [_row(path, key, line, fields[1:])[0] for line, fields in zip(table.lines, table.rows, strict=True)]
    by_name = dict(zip(given, of_lines, strict=True))
    powers = np.array([by_name[name] for name in blocks])
    return BlockPowers(_in_unit(columns, powers, "power", table.units[1], "W")[None], None, columns)


def _table(scenario: Scenario, key: Key, path: Path) -> CsvRows:
    try:
        return read_csv(path).heard()
    except CsvError as error:
        if error.missing:
            raise ScenarioError([scenario.issue_at(key, f"{path}: no such file")]) from None
        raise _refusal(path, key, error.line, error.column, error.message, error.hint) from None


def _require_blocks(columns: Columns, given: Sequence[str], blocks: Sequence[str]) -> None:
    """Raise `ScenarioError` unless each block is given once, and no other."""
    twice = [name for name, count in Counter(given).items() if count > 1]
    here, known = set(given), set(blocks)
    missing, unknown = [name for name in blocks if name not in here], [name for name in given if name not in known]
    if twice:
        raise columns.refuse(None, f"block {quote(twice[0])} has more than one power")
    if missing:
        hint = f"unknown: {quote(unknown[0])}" if unknown else "0 is a power, too"
        raise columns.refuse(None, f"expected a power for block {quote(missing[0])}, found none", hint)
    if unknown:
        raise columns.refuse(None, f"block {quote(unknown[0])} is none of the floorplan")


def _in_unit(columns: Columns, values: np.ndarray, name: str, unit: str, wanted: str) -> np.ndarray:
    try:
        return converted(values, unit, wanted)
    except CsvError as error:
        raise columns.refuse(None, f"expected {name} in {wanted}, found {quote(unit)}", str(error)) from None


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
