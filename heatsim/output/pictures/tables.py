"""Charts of the tables that a run keeps: probes, regions, energy, melt pool."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np

from heatsim.base.quantity import Quantity
from heatsim.errors import RequestError
from heatsim.output.pictures.charts import Chart
from heatsim.output.pictures.curve import Curve
from heatsim.output.pictures.units import length_unit, scaled_unit, time_unit, value_label
from heatsim.store.folder import RunFolder
from heatsim.store.tables import read_table

_STATISTICS = {"min": "Lowest temperature", "max": "Highest temperature", "mean": "Mean temperature"}
_COLUMN = re.compile(r"(?P<name>.*) \[(?P<unit>[^\]]*)\]")


class RecordedColumn(NamedTuple):
    """A column of a table: its name, unit, and values."""

    name: str
    unit: str
    values: np.ndarray


def table_charts(folder: RunFolder, table: str, log: bool = False) -> list[Chart]:
    """The charts of a table, such as "probes", over time. Raises RequestError where there is none."""
    path = folder.path / f"{table}.csv"
    if not path.is_file():
        raise RequestError(f"{folder.path}: the run has no {path.name}; ask for it under [output] in the scenario")
    time, columns = _read_columns(path)
    finite = np.isfinite(time)
    if not finite.any() or len(time) < 2:
        raise RequestError(f"{path}: has {len(time)} times, and a curve needs two")
    solved = folder.read_quantity()
    groups: dict[tuple[str, str], list[RecordedColumn]] = {}
    for column in columns:
        if table == "energy" and not column.values.any():  # a face that is closed
            continue
        label, name = _group(table, column, solved)
        groups.setdefault((label, column.unit), []).append(column._replace(name=name))
    shown = time > 0 if log else np.isfinite(time)
    scale, symbol = (1.0, "s") if log else time_unit(float(time[np.isfinite(time)].max()))
    charts = []
    for (label, unit), members in groups.items():
        largest = max(float(np.nanmax(np.abs(member.values))) for member in members)
        factor, unit = length_unit(largest or 1.0) if unit == "m" else scaled_unit(largest, unit)
        curves = [Curve(member.name, time[shown] / scale, member.values[shown] / factor) for member in members]
        charts.append(Chart(f"Time ({symbol})", value_label(label, unit), curves, log, over_time=True))
    return charts


def _group(table: str, column: RecordedColumn, solved: Quantity) -> tuple[str, str]:
    """The label of the chart that a column belongs to, and its name there."""
    if table == "energy":
        total, rate = ("Energy", "Power") if solved.is_temperature else ("Amount", "Amount a second")
        return total if column.unit == solved.in_own_unit("J") else rate, column.name
    if table == "probes":
        return solved.in_own_words("Temperature"), column.name
    name, _, statistic = column.name.rpartition(" ")
    if table == "regions" and name:
        return solved.in_own_words(_STATISTICS.get(statistic, statistic.capitalize())), name
    if column.name == "max":
        return solved.in_own_words(_STATISTICS["max"]), ""
    return ("Size", column.name) if column.unit == "m" else (column.name.capitalize(), "")


def _read_columns(path: Path) -> tuple[np.ndarray, list[RecordedColumn]]:
    """Time in s, and the other columns; those without a dimension, as the share of a residual, are left out."""
    header, values = read_table(path)
    columns = []
    for title, column in zip(header, values.T, strict=True):
        found = _COLUMN.fullmatch(title)
        name, unit = (found["name"], found["unit"]) if found else (title, "1")
        columns.append(RecordedColumn(name, unit, column))
    return columns[0].values, [column for column in columns[1:] if column.unit != "1"]
