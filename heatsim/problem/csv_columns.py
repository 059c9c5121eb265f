"""Columns of numbers from a user's CSV file, with errors that name its line."""

from __future__ import annotations

from math import isfinite
from pathlib import Path
from typing import NamedTuple

import numpy as np

from heatsim.errors import Flaw, ScenarioError
from heatsim.problem.values import Key
from heatsim.scenario.places import key_text
from heatsim.scenario.wording import found

LARGEST_FILE = 2**26  # bytes: a million rows
SAME_LINE = 1  # column of a flaw that a line has as a whole


class Columns(NamedTuple):
    """names: of the columns in the first line, lower case and without units, or () where it holds numbers already;
    values: (rows, columns); lines: the line of each row, from 1; path, key: for `refuse`."""

    names: tuple[str, ...]
    values: np.ndarray
    lines: list[int]
    path: Path
    key: Key

    def refuse(self, row: int, message: str, hint: str = "") -> ScenarioError:
        """An error at the line of a row."""
        return _refusal(self.path, self.key, self.lines[row], SAME_LINE, message, hint)


def read_columns(path: Path, key: Key) -> Columns:
    """Read rows of numbers with commas between; the first line may name the columns. Empty lines, and lines that begin
    with #, are skipped.

    Raises `ScenarioError` for a file that is missing, too large or no text, holds no row, rows of unlike length, or a
    value that is no finite number. `key` says which key of the scenario names the file.
    """
    names: tuple[str, ...] = ()
    rows: list[list[float]] = []
    lines: list[int] = []
    for number, line in enumerate(_text(path, key).splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        fields = line.split(",")
        if not rows and not names and _number(fields[0]) is None:
            names = tuple(_name(field) for field in fields)
            continue
        count = len(rows[0]) if rows else len(names or fields)
        if len(fields) != count:
            raise _refusal(path, key, number, SAME_LINE, f"expected {count} values, found {len(fields)}")
        rows.append(_row(path, key, number, fields))
        lines.append(number)
    if not rows:
        raise _refusal(path, key, 0, 0, "expected rows of numbers, found none")
    return Columns(names, np.array(rows), lines, path, key)


def require_increasing(columns: Columns, times: np.ndarray) -> None:
    """Raise `ScenarioError` unless times start at 0 or later and increase from row to row."""
    if times[0] < 0:
        raise columns.refuse(0, f"expected a time >= 0 (s), found {times[0]:g}")
    wrong = np.flatnonzero(np.diff(times) <= 0)
    if wrong.size:
        row = int(wrong[0]) + 1
        raise columns.refuse(row, f"expected a time after {times[row - 1]:g} (s), found {times[row]:g}")


def _row(path: Path, key: Key, line: int, fields: list[str]) -> list[float]:
    values, column = [], 1
    for field in fields:
        value = _number(field)
        if value is None:
            raise _refusal(path, key, line, column, f"expected a number, found {found(field.strip())}")
        values.append(value)
        column += len(field) + 1
    return values


def _number(field: str) -> float | None:
    try:
        value = float(field)
    except ValueError:
        return None
    return value if isfinite(value) else None


def _name(field: str) -> str:
    """`"x [m]"` is x."""
    return field.strip().strip('"').partition("[")[0].strip().lower()


def _text(path: Path, key: Key) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
    except OSError as error:
        message = "no such file" if isinstance(error, FileNotFoundError) else f"cannot be read: {error.strerror}"
        raise _refusal(path, key, 0, 0, message) from None
    if len(content) > LARGEST_FILE:
        raise _refusal(path, key, 0, 0, f"expected at most {LARGEST_FILE // 2**20} MiB")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise _refusal(path, key, 0, 0, "expected UTF-8 text") from None


def _refusal(path: Path, key: Key, line: int, column: int, message: str, hint: str = "") -> ScenarioError:
    return ScenarioError([Flaw(message, key_text(key), str(path), line, column, hint)])
