"""The points of a sweep, from the command line, a table or a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.in_turn import in_turn

from heatsim.errors import HeatsimError, RequestError
from heatsim.scenario.sweep import axes_of_file, axis_of_table, axis_of_text, number_of, override_of, points_of


def test_values_are_those_written() -> None:
    assert axis_of_text("h=5, 10,2e1").values == (5.0, 10.0, 20.0)
    assert axis_of_text("thickness=1mm:5mm:5").values == ("1 mm", "2 mm", "3 mm", "4 mm", "5 mm")
    assert axis_of_text("t=0:1:3").values == (0.0, 0.5, 1.0)
    assert axis_of_table("T", ["20 degC", "30 degC"]).values == ("20 degC", "30 degC")
    assert axis_of_table("x", {"from": 0.1, "to": 0.3, "count": 3}).values == (0.1, 0.2, 0.3)
    assert override_of("h", 5.0) == "parameters.h=5.0"
    assert override_of("materials.steel.conductivity", "5 W/(m K)") == 'materials.steel.conductivity="5 W/(m K)"'


def test_keys_take_whole_numbers_names_and_lists() -> None:
    assert axis_of_text("grid.cells.2=5,10").values == (5, 10)
    assert [type(value) for value in axis_of_text("grid.cells.2=5:15:3").values] == [int, int, int]
    assert axis_of_text("compute.precision=float32, float64").values == ("float32", "float64")
    assert axis_of_text("grid.cells=[5, 5, 5],[10, 10, 10]").values == ([5, 5, 5], [10, 10, 10])
    assert axis_of_text("initial.temperature=300 + 100*x,max(300, 400*x)").values == ("300 + 100*x", "max(300, 400*x)")
    assert axis_of_table("output.melted", [True, False]).values == (True, False)
    assert axis_of_table("grid.cells", [[5, 5, 5], [9, 9, 9]]).values == ([5, 5, 5], [9, 9, 9])
    assert override_of("grid.cells.2", 5) == "grid.cells.2=5"
    assert override_of("grid.cells", [5, 5, 5]) == "grid.cells=[5, 5, 5]"
    assert override_of("regions.0.material", 'a "b"') == 'regions.0.material="a \\"b\\""'
    assert override_of("a.b", True) == "a.b=true"


def test_points_are_all_combinations_or_values_side_by_side() -> None:
    axes = [axis_of_text("a=1,2"), axis_of_text("b=3,4")]
    assert [tuple(point.values()) for point in points_of(axes)] == [(1.0, 3.0), (1.0, 4.0), (2.0, 3.0), (2.0, 4.0)]
    assert [tuple(point.values()) for point in points_of(axes, "zip")] == [(1.0, 3.0), (2.0, 4.0)]


def test_a_latin_hypercube_has_one_point_in_each_part_of_each_range() -> None:
    axes = [axis_of_text("a=0:10:2"), axis_of_text("b=1mm:3mm:2")]
    points = points_of(axes, "latin_hypercube", 20, seed=4)
    assert points == points_of(axes, "latin_hypercube", 20, seed=4)
    assert points != points_of(axes, "latin_hypercube", 20, seed=5)
    for name, low, width in (("a", 0.0, 0.5), ("b", 1.0, 0.1)):
        parts = [int((number_of(point[name]) - low) / width) for point in points]
        assert sorted(parts) == list(range(20))
    assert abs(np.corrcoef(*([number_of(point[name]) for point in points] for name in "ab"))[0, 1]) < 0.6


def test_a_file_has_a_run_in_each_line(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text("h,L\n5,1 mm\n10,2 mm\n")
    assert points_of(axes_of_file(path), "zip") == [{"h": 5.0, "L": "1 mm"}, {"h": 10.0, "L": "2 mm"}]
    path.write_text("h,L\n5\n")
    with pytest.raises(HeatsimError, match=r"runs\.csv: expected a line of names"):
        axes_of_file(path)


@in_turn(
    ("text", "message"),
    [
        ("h", "expected NAME=VALUES"),
        ("h=", "expected NAME=VALUES"),
        ("h=1,two", "expected a number, with or without a unit, found two"),
        ("h=1,,2", "found nothing"),
        ("h=1:2", "expected FIRST:LAST:COUNT"),
        ("h=1:2:1", "expected a count of 2 to"),
        ("h=1:1:3", "expected a range"),
        ("h=1mm:2cm:3", "expected both ends in one unit"),
    ],
)
def test_bad_values_are_refused(text: str, message: str) -> None:
    with pytest.raises(RequestError, match=message):
        axis_of_text(text)


def test_bad_combinations_are_refused() -> None:
    axes = [axis_of_text("a=1,2"), axis_of_text("b=3,4,5")]
    for given, message in (
        (([],), "needs parameters"),
        ((axes, "zip"), "equally many values"),
        (([axes[0], axes[0]],), "a: is varied twice"),
        ((axes, "latin_hypercube", 5), "a: a Latin hypercube needs a range"),
        ((axes, "latin_hypercube"), "needs samples"),
        ((axes, "product", 5), "expected samples with"),
        (([axis_of_text(f"{name}=0:1:999") for name in "ab"],), "expected at most"),
    ):
        with pytest.raises(RequestError, match=message):
            points_of(*given)  # type: ignore[arg-type]
