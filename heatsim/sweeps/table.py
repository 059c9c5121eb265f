"""What came of the runs of a sweep: `sweep.csv`, an xarray Dataset, and pictures of the trends."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from heatsim.errors import InputFileError
from heatsim.quantity import Quantity
from heatsim.scenario.sweep_axes import number_of, unit_of
from heatsim.store import tables
from heatsim.store.tables import read_last_row
from heatsim.sweeps.points import Point

if TYPE_CHECKING:
    import xarray

    from heatsim.plots.charts import ValueMap
    from heatsim.store.folder import RunFolder

Row = dict[str, Any]
STATE, ERROR = "state", "error"


def values_of(folder: RunFolder, info: Mapping[str, Any]) -> Row:
    """The numbers of a finished run, by name and unit: its results, else its last probes, regions and heat."""
    found: Row = {}
    if "results" in info:
        header = [name for name in read_last_row(folder.results) if name != "time [s]"]
        return dict(zip(header, info["results"].values(), strict=True))
    if folder.probes.is_file():
        found |= {name: value for name, value in read_last_row(folder.probes).items() if name != "time [s]"}
    found |= {name: value for name, value in info.get("regions", {}).items() if not name.startswith("time")}
    heat = {**info["energy"]["faces"], **info["energy"]["ambients"]}
    solved = Quantity.of_run(info)
    what, unit = solved.in_own_words("heat"), solved.in_own_unit("W" if info["time"] is None else "J")
    found |= {f"{what} {name} [{unit}]": value for name, value in heat.items() if value != 0.0}
    return found


def write_table(path: Path, points: Sequence[Point], rows: Mapping[int, Row]) -> None:
    """Write `sweep.csv`: the number of each run, its parameters, its state and its values. Raises OSError."""
    names = [f"{name} [{unit}]" if (unit := unit_of(value)) else name for name, value in points[0].items()]
    values = list(dict.fromkeys(name for row in rows.values() for name in row if name not in (STATE, ERROR)))
    values += [ERROR] if any(ERROR in row for row in rows.values()) else []
    lines = []
    for number in sorted(rows):
        row = rows[number]
        given = [number_of(value) for value in points[number].values()]
        lines.append([f"{number:04d}", *given, row[STATE], *("" if row.get(v) is None else row[v] for v in values)])
    tables.write_whole_table(path, ["run", *names, STATE, *values], lines)


def read_sweep(path: Path) -> tuple[list[str], list[str], list[dict[str, str]]]:
    """The names of the parameters, those of the values, and the rows of a `sweep.csv`. Raises InputFileError."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            rows, header = list(reader), list(reader.fieldnames or ())
        at = header.index(STATE)
    except (OSError, ValueError, csv.Error):
        raise InputFileError(path, "is not the table of a sweep by heatsim") from None
    return header[1:at], [name for name in header[at + 1 :] if name != ERROR], rows


def open_sweep(folder: Path) -> xarray.Dataset:
    """The table of a sweep as a Dataset: a variable for each value and a coordinate for each parameter over `run`.

    Needs `pip install heatsim[xarray]`. Raises InputFileError.
    """
    import xarray

    parameters, values, rows = read_sweep(folder / "sweep.csv")

    def column(name: str) -> tuple[str, np.ndarray]:
        return "run", np.array([float(row[name]) if row[name] else np.nan for row in rows])

    def coordinate(name: str) -> tuple[str, np.ndarray]:
        return column(name) if _is_numeric(name, rows) else ("run", np.array([row[name] for row in rows]))

    coordinates = {"run": [row["run"] for row in rows], **{name: coordinate(name) for name in parameters}}
    return _with_units(xarray.Dataset({name: column(name) for name in values}, coordinates))


def _with_units(data: xarray.Dataset) -> xarray.Dataset:
    """With the units, which the heads of the table have in brackets, as attributes; where two heads differ in the unit
    alone, they keep it in their names."""
    bare = [name.partition(" [")[0] for name in map(str, data.variables)]
    names = {name: short for name, short in zip(map(str, data.variables), bare, strict=True) if bare.count(short) == 1}
    for name in map(str, data.variables):
        short, _, unit = name.partition(" [")
        data[name].attrs["long_name"] = short
        if unit:
            data[name].attrs["units"] = unit.removesuffix("]")
    return data.rename({name: short for name, short in names.items() if name != short})


def draw_trends(folder: Path, title: str = "Sweep") -> list[Path]:
    """Draw each value over the first parameter that is a number, or over the words of the first, a curve for each
    combination of the others; and as a map where two parameters take all combinations of three values each or more.
    Returns the pictures."""
    from heatsim.plots.charts import Chart, draw_charts, draw_map
    from heatsim.plots.curve import Curve

    parameters, values, rows = read_sweep(folder / "sweep.csv")
    first = next((name for name in parameters if _is_numeric(name, rows)), parameters[0])
    others, drawn = [name for name in parameters if name != first], []
    words = [] if _is_numeric(first, rows) else list(dict.fromkeys(row[first] for row in rows))
    axis = first + (f" ({', '.join(f'{number}: {word}' for number, word in enumerate(words))})" if words else "")

    def place(row: Mapping[str, str]) -> float:
        return float(words.index(row[first])) if words else float(row[first])

    for value in values:
        curves: dict[str, list[tuple[float, float]]] = {}
        for row in rows:
            if row[value]:
                label = ", ".join(f"{name} = {_label(name, row, rows)}" for name in others) or value
                curves.setdefault(label, []).append((place(row), float(row[value])))
        if not curves:
            continue
        lines = [Curve(name, *np.array(sorted(pairs)).T) for name, pairs in curves.items()]
        path = folder / "pictures" / f"{_file_name(value)}.png"
        path.parent.mkdir(exist_ok=True)
        draw_charts(path, [Chart(axis, value, lines[:MAX_CURVES])], title, value)
        drawn.append(path)
        shown = _map_of(parameters, value, rows)
        if shown is not None:
            drawn.append(path.with_name(f"{path.stem}_map.png"))
            draw_map(drawn[-1], shown, title, value)
    return drawn


def _map_of(parameters: Sequence[str], value: str, rows: Sequence[Mapping[str, str]]) -> ValueMap | None:
    """The values over two parameters that take all combinations; None where they do not."""
    from heatsim.plots.charts import ValueMap

    if len(parameters) != 2 or not all(_is_numeric(name, rows) for name in parameters):
        return None
    x, y = (np.unique([float(row[name]) for row in rows]) for name in parameters)
    if min(x.size, y.size) < 3 or x.size * y.size != len(rows):
        return None
    values = np.full((y.size, x.size), np.nan)
    for row in rows:
        place = np.searchsorted(y, float(row[parameters[1]])), np.searchsorted(x, float(row[parameters[0]]))
        values[place] = float(row[value]) if row[value] else np.nan
    return ValueMap(x, y, values, (parameters[0], parameters[1], value))


def _is_numeric(name: str, rows: Sequence[Mapping[str, str]]) -> bool:
    """Whether a parameter has numbers, and not words or lists."""
    try:
        for row in rows:
            float(row[name])
    except ValueError:
        return False
    return True


def _label(name: str, row: Mapping[str, str], rows: Sequence[Mapping[str, str]]) -> str:
    return f"{float(row[name]):.4g}" if _is_numeric(name, rows) else row[name]


MAX_CURVES = 24  # in a picture


def _file_name(value: str) -> str:
    return "".join(c if c.isalnum() or c in "-_" else "_" for c in value.partition(" [")[0])
