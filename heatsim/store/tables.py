"""Tables `probes.csv`, `energy.csv` and `regions.csv` that grow by a row at a time."""

from __future__ import annotations

import csv
import io
import os
from collections import deque
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from heatsim.base.atomic import write_atomically
from heatsim.base.quantity import Quantity
from heatsim.errors import InputFileError, RunFolderError


class CsvTable:
    """A CSV file (RFC 4180), with a header that carries units, such as `time [s]`."""

    def __init__(self, path: Path, header: Sequence[str], *, goes_on: bool = False) -> None:
        """Begin a table anew, or go on with one that is there; then call `cut_back` next."""
        self._columns = len(header)
        self._file = path.open("r+" if goes_on else "w", encoding="utf-8", newline="")
        self._writer = csv.writer(self._file)
        if not goes_on:
            self.append(header)

    def saved_size(self) -> int:
        """Bytes of the table, all of which are on the disk now."""
        self._file.flush()
        os.fsync(self._file.fileno())
        return os.fstat(self._file.fileno()).st_size

    def cut_back(self, size: int) -> None:
        """Forget all rows after those of `saved_size`. Raises RunFolderError for a table that is shorter."""
        if os.fstat(self._file.fileno()).st_size < size:
            raise RunFolderError(f"{self._file.name}: is shorter than at the checkpoint, so the run cannot go on in it")
        self._file.truncate(size)
        self._file.seek(0, os.SEEK_END)

    def append(self, row: Sequence[float | int | str]) -> None:
        """Add a row and hand it to the operating system, so that a killed run keeps it.

        Floats are written with as many digits as they need to read back equal. Raises ValueError when the
        row has not as many values as the header.
        """
        if len(row) != self._columns:
            raise ValueError(f"a row of {self._columns} values was expected, not {len(row)}")
        self._writer.writerow(row)
        self._file.flush()

    def close(self) -> None:
        """Close the file; closing twice is harmless."""
        self._file.close()


def write_whole_table(path: Path, header: Sequence[str], rows: Iterable[Sequence[float | int | str]]) -> None:
    """Write a whole table (RFC 4180) atomically. Raises OSError."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(header)
    writer.writerows(rows)
    write_atomically(path, text.getvalue().encode())


def read_last_row(path: Path) -> dict[str, float]:
    """The last row of a table of numbers by the names of its columns; empty where there is none yet.

    Raises InputFileError when the file is missing or no such table.
    """
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = csv.reader(file)
            header = next(rows)
            last = next(iter(deque(rows, maxlen=1)), None)
        return dict(zip(header, map(float, last), strict=True)) if last else {}
    except (OSError, ValueError, StopIteration, csv.Error):
        raise InputFileError(path, "is not a table of numbers by heatsim") from None


def read_table(path: Path) -> tuple[list[str], np.ndarray]:
    """The header of a table of numbers, and its rows (n, columns); a last row that is being written is left out.

    Raises InputFileError when the file is missing or no such table.
    """
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file))
        header, numbers = rows[0], rows[1:]
        if numbers and len(numbers[-1]) != len(header):
            del numbers[-1]
        return header, np.array(numbers, np.float64).reshape(len(numbers), len(header))
    except (OSError, ValueError, IndexError, csv.Error):
        raise InputFileError(path, "is not a table of numbers by heatsim") from None


# The table of hot spots, `hotspots.csv`: one row a spot, with units in its header.


class HotSpot(NamedTuple):
    """A hot spot in a slice: time in s, place and scale in m, temperature in the run's unit, rise in K."""

    slice: str
    time: float
    x: float
    y: float
    z: float
    scale: float
    temperature: float
    rise: float


def write_hotspots(path: Path, spots: Sequence[HotSpot], solved: Quantity) -> None:
    """Write the table (RFC 4180) atomically; solved: in whose name and unit. Raises OSError."""
    units = {"time": "s", "temperature": solved.unit, "rise": solved.difference_unit}
    titles = (f"{solved.in_own_words(name)} [{units.get(name, 'm')}]" for name in HotSpot._fields[1:])
    write_whole_table(path, ["slice", *titles], spots)


def read_hotspots(path: Path) -> list[HotSpot]:
    """Read back what `write_hotspots` wrote. Raises InputFileError when the file is missing or no such table."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file))[1:]
        return [HotSpot(name, *map(float, numbers)) for name, *numbers in rows]
    except (OSError, ValueError, TypeError, csv.Error):
        raise InputFileError(path, "is not a table of hot spots by heatsim") from None
