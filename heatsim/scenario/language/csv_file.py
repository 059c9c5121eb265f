"""CSV files of a user: the only reader of heads with units and rows of numbers.

A file may name its columns in the first line, with units as in `time [h]`, `x (mm)`, `time/h` or `time_h`: numbers are
converted to the unit that is wanted, and are in it where the head has none. Empty lines, and lines that begin with #,
are skipped. Values stand between commas; or between semicolons or tabs, if each line has as many, and then decimals may
have commas, as a German spreadsheet writes them.
"""

from __future__ import annotations

import codecs
import csv
import re
from math import isfinite
from pathlib import Path
from typing import NamedTuple

import numpy as np

from heatsim.scenario.language.toml.messages import did_you_mean, found, one_of, quote
from heatsim.scenario.language.units import UnitError, convert, is_unit

MAX_CSV_FILE_BYTES = 2**26  # bytes: a million rows
_COLUMNS = {"time": "s", "t": "s", "x": "m", "y": "m", "z": "m", "power": "W"}  # that have one meaning everywhere
_SEPARATED = re.compile(r"(.+?)(?:_|,\s*|\s+(?:in\s+)?)(\S+)")  # a name, and what may be its unit
_DECIMAL_COMMA = re.compile(r"\s*[+-]?\d*,\d*(?:[eE][+-]?\d+)?\s*")
_GROUPED = re.compile(r"\s*[+-]?\d{1,3}(?:\.\d{3})+\s*")  # a thousand, or a decimal point
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

    def heard(self) -> CsvRows:
        """The table with the units of names such as `time_h` heard, of columns that have one meaning everywhere."""
        pairs = [
            (name, unit) if unit else unit_in_name(name) for name, unit in zip(self.names, self.units, strict=True)
        ]
        return self._replace(names=tuple(name for name, _ in pairs), units=tuple(unit for _, unit in pairs))

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
        if self.names and not given:
            name = self.names[place]
            given = name if unit == "s" and _measures(name, "s") else unit_in_name(name, unit)[1]
            if unit == "s" and not given and name.endswith(")"):
                raise CsvError(f"expected a unit of time in brackets, found {quote(name)}", self.head)
        for row, line in zip(self.rows, self.lines, strict=True):
            if self.names and any(field.strip() for field in row[len(self.names) :]):
                raise CsvError(f"expected {len(self.names)} values, found {len(row)}", line, hint=COMMAS)
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
    found = [(line, each) for line, each in enumerate(text.splitlines(), start=1) if each.strip()]
    found = [(line, each) for line, each in found if not each.lstrip().startswith("#")]
    separator = _separator([each for _, each in found])
    lines, rows, decimal_comma = [line for line, _ in found], [], False
    for line, content in found:
        try:
            row = next(csv.reader([content], delimiter=separator, skipinitialspace=separator != "\t"))
        except csv.Error as error:
            raise CsvError(str(error), line) from None
        if separator != ",":
            decimal_comma = decimal_comma or any(map(_is_decimal_comma, row))
            row = [field.replace(",", ".") if _is_decimal_comma(field) else field for field in row]
        rows.append(row)
    if decimal_comma:
        _require_no_groups(found, separator)
    table = CsvRows((), (), 0, rows, lines)
    return table.headed() if rows and number(rows[0][0]) is None else table


def _separator(contents: list[str]) -> str:
    """A semicolon or tab, if each line has as many; a comma else."""
    for separator in (";", "\t"):
        counts = {content.count(separator) for content in contents}
        if len(counts) == 1 and counts != {0}:
            return separator
    return ","


def _is_decimal_comma(field: str) -> bool:
    return _DECIMAL_COMMA.fullmatch(field) is not None and number(field.replace(",", ".")) is not None


def _require_no_groups(found: list[tuple[int, str]], separator: str) -> None:
    """Raise `CsvError` for 1.234 in a file with decimal commas, which may be a thousand or a little over one."""
    for line, content in found:
        for field in content.split(separator):
            if _GROUPED.fullmatch(field):
                message = f"decimals have commas here: {quote(field.strip())} may be thousands or have a decimal point"
                raise CsvError(message, line, hint="write it without the point")


def unit_in_name(name: str, wanted: str = "") -> tuple[str, str]:
    """`time_h` is time, h, where h measures what is wanted; by default, what a column of that name measures."""
    match = _SEPARATED.fullmatch(name)
    measured = wanted or (_COLUMNS.get(match[1].strip().lower(), "") if match else "")
    return (match[1].strip(), match[2]) if match and _measures(match[2], measured) else (name, "")


def _measures(unit: str, wanted: str) -> bool:
    """Whether a unit measures what another does."""
    try:
        convert("1", unit, wanted, absolute=True)
    except UnitError:
        return False
    return is_unit(wanted) and unit != "1"


def name_and_unit(cell: str) -> tuple[str, str]:
    """`air [degC]` is air, degC, and so are `air (degC)` and `air/degC`; what is no unit is a part of the name."""
    text = cell.strip().strip('"').strip()
    for opening, closing in ("[]", "()"):
        name, bracket, rest = text.partition(opening)
        if bracket and rest.endswith(closing) and (opening == "[" or is_unit(rest[:-1])):
            unit = rest[:-1].strip()
            return name.strip().removesuffix("/"), "" if unit in ("-", "") else unit
    name, slash, unit = (part.strip() for part in text.partition("/"))
    return (name, unit) if slash and name and unit != "1" and is_unit(unit) else (text, "")


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
    is_utf16 = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))  # as spreadsheets write "Unicode text"
    try:
        return content.decode("utf-16" if is_utf16 else "utf-8-sig")
    except UnicodeDecodeError:
        raise CsvError("expected UTF-8 text") from None
