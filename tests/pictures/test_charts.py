"""Charts: ticks of hours, maps of many curves, and what colours and dashes of a sweep mean."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from helpers.in_turn import in_turn
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.figure import Figure

from heatsim.output.pictures.charts import Chart, _all_short, _short, draw_chart
from heatsim.output.pictures.curve import Curve
from heatsim.output.pictures.pages import LIGHT
from heatsim.studies.sweeps.table import _styled, draw_trends, read_sweep, write_table


def drawn(chart: Chart) -> Axes:
    axes = Figure(figsize=(8, 4)).add_subplot()
    draw_chart(axes, chart, LIGHT)
    return axes


@in_turn(
    ("unit", "end", "step"), [("h", 48, 6), ("h", 24, 3), ("h", 72, 12), ("h", 12, 2), ("min", 120, 15), ("min", 30, 5)]
)
def test_hours_and_minutes_have_ticks_of_the_clock(unit: str, end: float, step: float) -> None:
    axes = drawn(Chart(f"Time ({unit})", "T", [Curve("a", np.array([0.0, end]), np.array([1.0, 2.0]))]))
    ticks = [tick for tick in axes.get_xticks() if 0.0 <= tick <= end]
    np.testing.assert_allclose(ticks, np.arange(0.0, end + 1.0, step))


def test_many_curves_over_time_are_a_map() -> None:
    times = np.linspace(0.0, 10.0, 11)
    curves = [Curve(f"unit {n}", times, n + times) for n in range(30)]
    assert not drawn(Chart("Time (s)", "T", curves[:14], over_time=True)).findobj(QuadMesh)
    assert not drawn(Chart("x (mm)", "T", curves)).findobj(QuadMesh)
    axes = drawn(Chart("Time (s)", "T", curves, over_time=True))
    (shown,) = axes.findobj(QuadMesh)
    np.testing.assert_array_equal(shown.get_array(), [curve.y for curve in curves])
    assert [text.get_text() for text in axes.get_yticklabels()] == [curve.name for curve in curves]
    assert axes.get_ylim() == (29.5, -0.5)  # the first at the top


def test_a_sweep_has_a_colour_for_one_parameter_and_a_dash_for_the_others(tmp_path: Path) -> None:
    points = [
        {"h": h, "power": power, "metal": metal} for h in (1.0, 2.0) for power in (5.0, 3.0) for metal in ("cu", "al")
    ]
    rows = {n: {"state": "finished", "T": float(n)} for n in range(len(points))}
    write_table(tmp_path / "sweep.csv", points, rows)
    read = read_sweep(tmp_path / "sweep.csv")[2]
    pairs: dict[tuple[str, ...], list[tuple[float, float]]] = {}
    for row in read:
        pairs.setdefault((row["power"], row["metal"]), []).append((float(row["h"]), float(row["T"])))
    curves, keys = _styled(pairs, ["power", "metal"], read, "T")
    assert [key.name for key in keys] == ["power = 3", "power = 5", "metal = cu", "metal = al"]
    look = dict(zip(pairs, ((curve.colour, curve.dash) for curve in curves), strict=True))
    assert look["5.0", "cu"] == (keys[1].colour, keys[2].dash)
    assert look["3.0", "al"] == (keys[0].colour, keys[3].dash)
    assert len(set(look.values())) == 4
    assert [path.name for path in draw_trends(tmp_path)] == ["T.png"]


def test_of_a_long_key_the_legend_keeps_the_value() -> None:
    """Curves of a sweep over materials were all called "regions.0.material = ..."."""
    assert _short("regions.0.material = copper") == "…ons.0.material = copper"
    of_two = ["boundary.z_min.coefficient = 10", "regions.0.material = alu"]
    assert _all_short(of_two) == ["z_min.coefficient = 10", "material = alu"]
    assert _all_short(["a = 1", "b.c = 2"]) == ["a = 1", "b.c = 2"]
    alike = [f"sources.{number}.region.power = 1" for number in (0, 1)]  # one name would be left of two
    assert len(set(_all_short(alike))) == 2
    assert _short("the temperature at the middle") == "the temperature at the …"
