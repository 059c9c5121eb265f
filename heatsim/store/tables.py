"""Tables `probes.csv` and `energy.csv` that grow by a row at a time."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path


class CsvTable:
    """A CSV file (RFC 4180) begun anew, with a header that carries units, such as `time [s]`."""

    def __init__(self, path: Path, header: Sequence[str]) -> None:
        self._columns = len(header)
        self._file = path.open("w", encoding="utf-8", newline="")
        self._writer = csv.writer(self._file)
        self.append(header)

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
