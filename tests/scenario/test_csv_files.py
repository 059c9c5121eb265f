"""Units in the heads of columns are heard wherever a CSV file is read, and a file is read in one way."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.in_turn import in_turn

from heatsim.errors import HeatsimError, ScenarioError
from heatsim.problem import build_problem
from heatsim.scenario import loads
from heatsim.scenario.language.csv_file import CsvError, name_and_unit, parse_csv, read_csv
from heatsim.scenario.sweep import axes_of_file

TEXT = """
temperature_unit = "degC"
grid = {{ cells = [6, 4, 3], size = [0.06, 0.04, 0.03] }}
time = {{ end = 360.0, integrator = "euler" }}
materials.a = {{ conductivity = 20.0, density = 7900.0, heat_capacity = 500.0 }}
regions = [{{ material = "a" }}]
initial = {{ temperature = 22.0 }}
{more}
"""


def scenario(folder: Path, file: str, more: str) -> object:
    (folder / "data.csv").write_text(file)
    return loads(TEXT.format(more=more), folder / "case.toml")


@in_turn("column", ["", ', column = "time"', ', column = "time [h]"', ', column = "Time"'])
@in_turn("key", ["output.probes = [{{ name = 'a', at = [0, 0, 0], times = {} }}]", "output.energy = {{ times = {} }}"])
def test_times_of_outputs_are_heard_in_hours(tmp_path: Path, key: str, column: str) -> None:
    table = f'{{ file = "data.csv"{column} }}'
    found = loads_times(tmp_path, key.format(table))
    assert found == pytest.approx((0.0, 180.0, 360.0))


def loads_times(folder: Path, more: str) -> tuple[float, ...]:
    output = scenario(folder, "time [h],near [degC]\n0,22\n0.05,30\n0.1,40\n", more).output  # type: ignore[attr-defined]
    recorded = output.probes[0] if output.probes else output.energy
    return tuple(recorded.times(360.0))


def test_traces_paths_and_columns_over_time_are_converted(tmp_path: Path) -> None:
    problem = build_problem(
        scenario(tmp_path, "time [min],power (kW)\n0,1\n2,1\n", 'sources = [{ trace = "data.csv" }]')
    )  # type: ignore[arg-type]
    assert sum(problem.volume_sources.table(np.array([60.0]))[0] * problem.coefficients.capacity) == pytest.approx(  # type: ignore[index]
        1000.0 / problem.grid.cells
    )
    beam = 'kind = "gaussian", power = 1.0, absorptivity = 1.0, radius = 1e-3, depth = 1e-3, path = "data.csv"'
    beam = f"sources = [{{ beam = {{ {beam} }} }}]"
    problem = build_problem(scenario(tmp_path, "time [ms],x (mm),y [cm]\n0,10,1\n1000,20,2\n", beam))  # type: ignore[arg-type]
    path = problem.volume_sources.beams[0].path
    np.testing.assert_allclose(path.times, [0.0, 1.0])
    np.testing.assert_allclose(path.places[:, :2], [[0.01, 0.01], [0.02, 0.02]])
    face = 'boundary.x_min = { kind = "flux", flux = { file = "data.csv", column = "sun [kW/m2]" } }'
    series = scenario(tmp_path, "# a file\nTime (h), sun [kW/m2]\n0, 1\n\n0.1, 2\n", face).boundary.x_min.flux  # type: ignore[attr-defined]
    np.testing.assert_allclose([*series.times, *series.values], [0.0, 360.0, 1000.0, 2000.0])


def test_the_columns_of_a_sweep_have_units(tmp_path: Path) -> None:
    (tmp_path / "runs.csv").write_text("L [mm],grid.cells.0,regions.0.material\n5,10,copper\n6 cm,20,a b\n")
    values = {axis.name: axis.values for axis in axes_of_file(tmp_path / "runs.csv")}
    assert values == {"L": ("5 mm", "6 cm"), "grid.cells.0": (10, 20), "regions.0.material": ("copper", "a b")}


def test_heads_are_names_with_units() -> None:
    heads = ("T [degC]", "T (degC)", '"x [mm]"', "T (probe 1)", "share [-]", "plain", "a [b] c")
    found = [name_and_unit(head) for head in heads]
    more = [name_and_unit(head) for head in ("time/h", "T / K", "q/(kW/m2)", "in/out", "w/h ratio")]
    assert more == [("time", "h"), ("T", "K"), ("q", "kW/m2"), ("in/out", ""), ("w/h ratio", "")]
    assert found[:3] == [("T", "degC"), ("T", "degC"), ("x", "mm")]
    assert found[3:] == [("T (probe 1)", ""), ("share", ""), ("plain", ""), ("a [b] c", "")]


def test_what_cannot_be_read_is_told_with_its_line(tmp_path: Path) -> None:
    table = parse_csv("t [h],v [kg]\n\n1,2\n3;4,5\n")
    with pytest.raises(CsvError, match=r"row 4: expected a number, found"):
        table.numbers(0, "s")
    with pytest.raises(CsvError, match=r"expected m: .kg. is a mass"):
        parse_csv("t [h],v [kg]\n1,2\n").numbers(1, "m")
    with pytest.raises(CsvError, match="found 2"):
        parse_csv("a,A,a\n1,2,3\n").place("a")
    for file, message in (("time [kg]\n1\n", "is a mass"), ("time [h]\n-1\n", "expected a time >= 0"), ("", "1 to")):
        with pytest.raises(ScenarioError, match=message):
            scenario(tmp_path, file, 'output.energy = { times = { file = "data.csv" } }')
    (tmp_path / "runs.csv").write_text("h,L\n5\n")
    with pytest.raises(HeatsimError, match=r"runs\.csv: expected a line of names"):
        axes_of_file(tmp_path / "runs.csv")


@in_turn("head", ["time/h", "time / h", "time_h", "time in h", "Time, h", "hours"])
def test_units_are_heard_without_brackets(tmp_path: Path, head: str) -> None:
    """A unit behind a name counts where it measures what is wanted: `T_in` stays a name."""
    quoted = f'"{head}"'
    face = 'boundary.x_min = { kind = "fixed", temperature = { file = "data.csv", column = "T_in" } }'
    series = scenario(tmp_path, f"{quoted},T_in,air_K\n0,20,293.15\n0.1,30,303.15\n", face).boundary.x_min.temperature  # type: ignore[attr-defined]
    np.testing.assert_allclose([*series.times, *series.values], [0.0, 360.0, 20.0, 30.0])
    face = face.replace("T_in", "air_K")
    series = scenario(tmp_path, f"{quoted},T_in,air_K\n0,20,293.15\n0.1,30,303.15\n", face).boundary.x_min.temperature  # type: ignore[attr-defined]
    np.testing.assert_allclose(series.values, [20.0, 30.0])
    if head != "hours":
        problem = build_problem(
            scenario(tmp_path, f"{quoted},power_kW\n0,1\n0.1,1\n", 'sources = [{ trace = "data.csv" }]')
        )  # type: ignore[arg-type]
        trace = problem.volume_sources.traces[0]
        np.testing.assert_allclose([*trace.times, *trace.powers], [0.0, 360.0, 1000.0, 1000.0])


@in_turn("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be"])
@in_turn("separator", [";", "\t"])
def test_tables_of_german_spreadsheets_are_read(tmp_path: Path, encoding: str, separator: str) -> None:
    lines = ["time [h]", "air [degC]"], ["0", "20,5"], ["0,1", "3,05e1"]
    text = "\ufeff" * (encoding == "utf-16-be") + "\r\n".join(map(separator.join, lines))
    (tmp_path / "data.csv").write_bytes(text.encode(encoding))
    table = read_csv(tmp_path / "data.csv")
    np.testing.assert_allclose(table.numbers(0, "s"), [0.0, 360.0])
    np.testing.assert_allclose(table.numbers(1, "degC"), [20.5, 30.5])


def test_commas_that_may_mean_two_things_are_refused() -> None:
    with pytest.raises(CsvError, match=r"row 2: expected 2 values, found 4"):
        parse_csv("time,air\n0,5,20,5\n").numbers(0, "s")
    with pytest.raises(CsvError, match=r"row 3: decimals have commas here: .1\.234. may be thousands"):
        parse_csv("time;air\n0;20,5\n1;1.234\n")
    with pytest.raises(CsvError, match=r"expected a unit of time in brackets, found .time \(Std\)."):
        parse_csv("time (Std),air\n0,20\n").numbers(0, "s")
