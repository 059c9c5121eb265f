"""The table of hot spots, `hotspots.csv`: one row a spot, with units in its header."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from heatsim.errors import InputFileError
from heatsim.store.atomic import write_atomically


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


def write_hotspots(path: Path, spots: Sequence[HotSpot], unit: str) -> None:
    """Write the table (RFC 4180) atomically; `unit` is that of temperatures. Raises OSError."""
    units = {"time": "s", "temperature": unit, "rise": "K"}
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(name if name == "slice" else f"{name} [{units.get(name, 'm')}]" for name in HotSpot._fields)
    writer.writerows(spots)
    write_atomically(path, text.getvalue().encode())


def read_hotspots(path: Path) -> list[HotSpot]:
    """Read back what `write_hotspots` wrote. Raises InputFileError when the file is missing or no such table."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file))[1:]
        return [HotSpot(name, *map(float, numbers)) for name, *numbers in rows]
    except (OSError, ValueError, TypeError, csv.Error):
        raise InputFileError(path, "is not a table of hot spots by heatsim") from None
