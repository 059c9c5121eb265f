from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from helpers.in_turn import in_turn

from heatsim.store.tables import CsvTable


def read(path: Path) -> list[list[str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def test_every_row_is_in_the_file_as_soon_as_it_is_appended(tmp_path: Path) -> None:
    table = CsvTable(tmp_path / "probes.csv", ["time [s]", 'die "centre", top [K]'])
    assert read(tmp_path / "probes.csv") == [["time [s]", 'die "centre", top [K]']]
    table.append([0.5, 300.25])
    assert read(tmp_path / "probes.csv")[1] == ["0.5", "300.25"]
    table.close()
    table.close()


@in_turn("kind", [float, np.float64, np.float32])
def test_numbers_read_back_equal(tmp_path: Path, kind: type) -> None:
    numbers = [kind(value) for value in (0.1, 1 / 3, 1e-300 if kind is not np.float32 else 1e-30, 293.15)]
    table = CsvTable(tmp_path / "a.csv", list("abcd"))
    table.append(numbers)
    table.close()
    assert [kind(text) for text in read(tmp_path / "a.csv")[1]] == numbers


def test_a_row_of_the_wrong_length_is_refused(tmp_path: Path) -> None:
    table = CsvTable(tmp_path / "a.csv", ["time [s]", "T [K]"])
    with pytest.raises(ValueError, match="2 values"):
        table.append([1.0])
    table.close()
    assert len(read(tmp_path / "a.csv")) == 1
