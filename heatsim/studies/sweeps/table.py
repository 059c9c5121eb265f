"""What came of the runs of a sweep: `sweep.csv`, an xarray Dataset, and pictures of the trends."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from heatsim.base.quantity import Quantity, with_powers
from heatsim.errors import InputFileError
from heatsim.scenario.sweep import Point, number_of, unit_of
from heatsim.store import tables
from heatsim.store.tables import read_last_row

if TYPE_CHECKING:
    import xarray

    from heatsim.output.pictures.charts import ValueMap
    from heatsim.output.pictures.curve import Curve, CurveKey
    from heatsim.store.folder import RunFolder

Row = dict[str, Any]
STATE, ERROR = "state", "error"
PLAN, TABLE = "sweep.json", "sweep.csv"
MAX_CURVES = 200  # in a picture


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


def open_sweep(folder: Path | str) -> xarray.Dataset:
    """The table of a sweep as a Dataset: a variable for each value, with its unit in `attrs`, over a dimension for each
    parameter, `data.hottest.sel(fins=8, h=30)`. Where the runs are not all combinations of the parameters, as those of
    a Latin hypercube, or of a sweep that was stopped, over `run`, with a coordinate for each parameter.

    Needs `pip install heatsim[xarray]`. Raises InputFileError.
    """
    import xarray

    parameters, values, rows = read_sweep(Path(folder) / TABLE)
    columns = {name: _column(name, rows, _is_numeric(name, rows)) for name in parameters}
    units = {
        name: name.rpartition(" [")[2].rstrip("]") if name.endswith("]") else "" for name in (*parameters, *values)
    }
    axes = {name: list(dict.fromkeys(column.tolist())) for name, column in columns.items()}
    places = {row: tuple(axes[name].index(columns[name][row]) for name in parameters) for row in range(len(rows))}
    shape = tuple(len(axis) for axis in axes.values())
    is_grid = len(set(places.values())) == len(rows) == int(np.prod(shape))
    short = _without_units([*parameters, *values])
    dims = [short[name] for name in parameters] if is_grid else ["run"]
    found, coordinates = {}, {}
    for name in values:
        column = _column(name, rows, True)
        if is_grid:
            by_place = np.full(shape, np.nan)
            for row, place in places.items():
                by_place[place] = column[row]
            column = by_place
        found[short[name]] = (dims, column, _attributes(name, units[name]))
    for name in parameters:
        given = np.array(axes[name]) if is_grid else columns[name]
        along = short[name] if is_grid else "run"
        coordinates[short[name]] = (along, given, _attributes(name, units[name]))
    numbers = np.empty(shape if is_grid else len(rows), dtype=object)
    for row, place in places.items():
        numbers[place if is_grid else row] = rows[row]["run"]
    number = (dims, numbers.astype(str), {"long_name": "number of the run"})
    return xarray.Dataset(found, {"run": number, **coordinates})


def _column(name: str, rows: Sequence[Mapping[str, str]], numeric: bool) -> np.ndarray:
    if not numeric:
        return np.array([row[name] for row in rows])
    return np.array([float(row[name]) if row[name] else np.nan for row in rows])


def _attributes(name: str, unit: str) -> dict[str, str]:
    return {"long_name": name.rpartition(" [")[0] or name} | ({"units": with_powers(unit)} if unit else {})


def _without_units(names: Sequence[str]) -> dict[str, str]:
    """Names of columns without their units, where that leaves them different, and none the number of the run."""
    short = {name: name.rpartition(" [")[0] or name for name in names}
    taken = [*short.values(), "run"]
    return {name: each if taken.count(each) == 1 else name for name, each in short.items()}


def describe_sweep(folder: Path) -> dict[str, Any]:
    """What the folder of a sweep holds: `scenario` and `overrides`, how many runs are `planned`, the values of each of
    its `parameters`, and of each of its `runs` that was taken the row of the table. Raises InputFileError."""
    try:
        plan = json.loads((folder / PLAN).read_text(encoding="utf-8"))
        planned = len(plan["points"])
    except (OSError, ValueError, KeyError, TypeError):
        raise InputFileError(folder / PLAN, "is not the plan of a sweep by heatsim") from None
    rows = read_sweep(folder / TABLE)[2] if (folder / TABLE).is_file() else []
    given = {
        name: list(dict.fromkeys(map(str, (point[name] for point in plan["points"])))) for name in plan["points"][0]
    }
    return {
        "scenario": plan["scenario"],
        "overrides": plan["overrides"],
        "planned": planned,
        "parameters": given,
        "runs": rows,
    }


def is_sweep(folder: Path) -> bool:
    """Whether a folder holds a sweep."""
    return (folder / PLAN).is_file()


def title_of(folder: Path) -> str:
    """The title of the scenario of a sweep, or the name of its file."""
    about = describe_sweep(folder)
    for path in sorted(folder.glob("[0-9]*/run.json")):
        with suppress(OSError, ValueError, AttributeError):
            return str(json.loads(path.read_text(encoding="utf-8")).get("title") or Path(about["scenario"]).stem)
    return Path(about["scenario"]).stem


def draw_trends(folder: Path, title: str = "Sweep") -> list[Path]:
    """Draw each value over the first parameter that is a number, or over the words of the first: a colour for each
    value of the second, a dash and marker for each combination of the others; and as a map where two parameters take
    all combinations of three values each or more. Returns the pictures."""
    from heatsim.output.pictures.charts import Chart, draw_charts, draw_map

    parameters, values, rows = read_sweep(folder / TABLE)
    first = next((name for name in parameters if _is_numeric(name, rows)), parameters[0])
    others, drawn = [name for name in parameters if name != first], []
    words = [] if _is_numeric(first, rows) else list(dict.fromkeys(row[first] for row in rows))
    axis = first + (f" ({', '.join(f'{number}: {word}' for number, word in enumerate(words))})" if words else "")
    for value in values:
        pairs: dict[tuple[str, ...], list[tuple[float, float]]] = {}
        for row in rows:
            if row[value]:
                place = float(words.index(row[first])) if words else float(row[first])
                pairs.setdefault(tuple(row[name] for name in others), []).append((place, float(row[value])))
        if not pairs:
            continue
        curves, keys = _styled(pairs, others, rows, value)
        name = "".join(c if c.isalnum() or c in "-_" else "_" for c in value.partition(" [")[0])
        path = folder / "pictures" / f"{name}.png"
        path.parent.mkdir(exist_ok=True)
        left_out = f", the first {MAX_CURVES} of {len(curves)} curves" if len(curves) > MAX_CURVES else ""
        draw_charts(path, [Chart(axis, value, curves[:MAX_CURVES], keys=keys)], title, f"{value}{left_out}")
        drawn.append(path)
        shown = _map_of(parameters, value, rows)
        if shown is not None:
            drawn.append(path.with_name(f"{path.stem}_map.png"))
            draw_map(drawn[-1], shown, title, value)
    return drawn


def _styled(
    pairs: Mapping[tuple[str, ...], list[tuple[float, float]]],
    others: Sequence[str],
    rows: Sequence[Mapping[str, str]],
    value: str,
) -> tuple[list[Curve], list[CurveKey]]:
    """The curves of the combinations of other parameters, and what their colours and dashes mean."""
    from heatsim.output.pictures.charts import sequential_colours
    from heatsim.output.pictures.curve import Curve, CurveKey

    if not others:
        return [Curve(value, *np.array(sorted(points)).T) for points in pairs.values()], []
    numeric = {name: _is_numeric(name, rows) for name in others}
    firsts = list(dict.fromkeys(combination[0] for combination in pairs))
    firsts = sorted(firsts, key=float) if numeric[others[0]] else firsts
    rests = list(dict.fromkeys(combination[1:] for combination in pairs))
    colours = dict(zip(firsts, sequential_colours(len(firsts)), strict=True))
    curves = []
    for combination, points in pairs.items():
        x, y = np.array(sorted(points)).T
        curves.append(Curve("", x, y, colour=colours[combination[0]], dash=rests.index(combination[1:])))
    keys = [CurveKey(f"{others[0]} = {_shown(each, numeric[others[0]])}", colours[each]) for each in firsts]
    if len(rests) > 1:
        texts = [zip(others[1:], rest, strict=True) for rest in rests]
        keys += [
            CurveKey(", ".join(f"{name} = {_shown(each, numeric[name])}" for name, each in text), None, number)
            for number, text in enumerate(texts)
        ]
    return curves, keys


def _map_of(parameters: Sequence[str], value: str, rows: Sequence[Mapping[str, str]]) -> ValueMap | None:
    """The values over two parameters that take all combinations; None where they do not."""
    from heatsim.output.pictures.charts import ValueMap

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


def _shown(text: str, numeric: bool) -> str:
    return f"{float(text):.4g}" if numeric else text
