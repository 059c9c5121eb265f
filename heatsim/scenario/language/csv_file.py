"""CSV files of a user: the only reader of heads with units and rows of numbers.

A file may name its columns in the first line, with units as in `time [h]` or `x (mm)`: numbers are converted to the
unit that is wanted, and are in it where the head has none. Empty lines, and lines that begin with #, are skipped.
"""

from __future__ import annotations

import csv
from math import isfinite
from pathlib import Path
from typing import NamedTuple

import numpy as np

from heatsim.scenario.language.toml.messages import did_you_mean, found, one_of, quote
from heatsim.scenario.language.units import UnitError, convert, is_unit

MAX_CSV_FILE_BYTES = 2**26  # bytes: a million rows
COMMAS = "commas separate values, and decimals have a point: 2.5"


class CsvError(Exception):
    """Why a file cannot be used; line and column count from 1, and are 0 for the file as a whole.

    missing: whether there is no such file.
    """

    def __init__(self, message: str, line: int = 0, column: int = 0, hint: str = "", *, missing: bool = False) -> None:
        super().__init__(message if not line else f"row {line}: {message}")
        self.message, self.line, self.column, self.hint, self.missing = message, line, column, hint, missing


class CsvRows(NamedTuple):
    """names, units: of the columns, units "" where none is given; both () where the first line holds numbers already;
    head: the line of the names, from 1; rows: texts; lines: that of each row."""

    names: tuple[str, ...]
    units: tuple[str, ...]
    head: int
    rows: list[list[str]]
    lines: list[int]

    def headed(self) -> CsvRows:
        """The table with the first row as names of columns, whatever the row holds."""
        names, units = zip(*map(name_and_unit, self.rows[0]), strict=True)
        return CsvRows(names, units, self.lines[0], self.rows[1:], self.lines[1:])

    def place(self, name: str) -> int:
        """Where a column stands: by its name as it is written, with or without the unit, or in other case.

        Raises `CsvError` for one that is not there, or there twice.
        """
        if not self.names:
            raise CsvError("expected a first line with names")
        wanted, _ = name_and_unit(name)
        in_lower_case = tuple(head.lower() for head in self.names)
        for wording, heads in ((wanted, self.names), (wanted.lower(), in_lower_case)):
            places = [place for place, head in enumerate(heads) if head == wording]
            if len(places) == 1:
                return places[0]
            if places:
                raise CsvError(f"expected one column {quote(wanted)}, found {len(places)}", self.head)
        raise CsvError(f"expected {one_of(self.names)}", hint=did_you_mean(wanted, list(self.names)))

    def numbers(self, place: int, unit: str, *, absolute: bool = False) -> np.ndarray:
        """(rows,) the numbers of a column in a unit; absolute: whether they are temperatures, and no differences.

        Raises `CsvError` for a unit that does not fit, and for what is no finite number.
        """
        given = self.units[place] if self.units else ""
        values = [self._number(row, line, place) for row, line in zip(self.rows, self.lines, strict=True)]
        return converted(np.array(values), given, unit, absolute=absolute)

    def _number(self, row: list[str], line: int, place: int) -> float:
        text = row[place].strip() if place < len(row) else ""
        value = number(text)
        if value is None:
            hint = COMMAS if ";" in text or "\t" in text else ""
            raise CsvError(f"expected a number, found {found(text) if text else 'a gap'}", line, hint=hint)
        return value


def read_csv(path: Path) -> CsvRows:
    """The table in a file. Raises `CsvError` for a file that is missing, no file, too large or no text."""
    return parse_csv(_text(path))


def parse_csv(text: str) -> CsvRows:
    """The table in a text: the first line has names where it begins with what is no number."""
    rows: list[list[str]] = []
    lines: list[int] = []
    for line, content in enumerate(text.splitlines(), start=1):
        if content.strip() and not content.lstrip().startswith("#"):
            try:
                rows.append(next(csv.reader([content], skipinitialspace=True)))
            except csv.Error as error:
                raise CsvError(str(error), line) from None
            lines.append(line)
    table = CsvRows((), (), 0, rows, lines)
    return table.headed() if rows and number(rows[0][0]) is None else table


def name_and_unit(cell: str) -> tuple[str, str]:
    """`air [degC]` is air, degC, and so is `air (degC)`; brackets that hold no unit are a part of the name."""
    text = cell.strip().strip('"').strip()
    for opening, closing in ("[]", "()"):
        name, bracket, rest = text.partition(opening)
        if bracket and rest.endswith(closing) and (opening == "[" or is_unit(rest[:-1])):
            unit = rest[:-1].strip()
            return name.strip(), "" if unit in ("-", "") else unit
    return text, ""


def converted(values: np.ndarray, given: str, unit: str, *, absolute: bool = False) -> np.ndarray:
    """Numbers of some unit in another; as they are where one of the two is "". Raises `CsvError`."""
    if not given or not unit or given == unit:
        return values
    try:
        zero, one = (convert(each, given, unit, absolute) for each in ("0", "1"))
    except UnitError as error:
        raise CsvError(f"expected {unit}: {error.message}") from None
    return np.asarray(zero + (one - zero) * values)


def number(text: str) -> float | None:
    """The finite number that a text is, or None."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if isfinite(value) else None


def _text(path: Path) -> str:
    if path.exists() and not path.is_file():  # a pipe would be waited for, a device read without end
        raise CsvError("is not a file")
    try:
        with path.open("rb") as file:
            content = file.read(MAX_CSV_FILE_BYTES + 1)
    except OSError as error:
        reason = (error.strerror or "cannot be read").lower()
        raise CsvError(reason, missing=isinstance(error, FileNotFoundError)) from None
    if len(content) > MAX_CSV_FILE_BYTES:
        raise CsvError(f"expected at most {MAX_CSV_FILE_BYTES // 2**20} MiB")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise CsvError("expected UTF-8 text") from None
