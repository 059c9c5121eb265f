"""The temperatures that a run is made for: nothing in its inputs is too short, or too regular, to be seen."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.in_turn import in_turn

from heatsim.errors import Issue
from heatsim.problem import build_problem
from heatsim.scenario import load, loads
from heatsim.scenario.language.expressions.expression import Expression
from heatsim.scenario.language.expressions.ranges import range_of
from heatsim.simulation.run import resume_run, run_scenario

BODY = """
grid = { cells = [10, 1, 1], size = [0.1, 0.01, 0.01] }
time = { end = 1000.0 }
regions = [{ material = "m" }]
initial = { temperature = 300.0 }
materials.m = { density = 1000.0, conductivity = "1 + 0.01*T", heat_capacity = 1000.0 }
"""
PULSE = "300 + 500*exp(-((t - 777.7)/0.001)**2)"
WAVE = "300 + 50*sin(2*pi*t/31.25)"  # whose zeros are at 65 equally spaced times


@in_turn(
    ("inputs", "low", "high"),
    [
        (f'boundary.x_min = {{ kind = "fixed", temperature = "{PULSE}" }}', 300.0, 800.0),
        (f'boundary.x_min = {{ kind = "fixed", temperature = "{WAVE}" }}', 250.0, 350.0),
        (f'boundary.x_min = {{ kind = "convection", coefficient = 9.0, ambient = "{WAVE}" }}', 250.0, 350.0),
        ('boundary.x_min = { kind = "fixed", temperature = "900 if 501 < t < 501.1 else 300" }', 300.0, 900.0),
        (f'sources = [{{ perfusion = {{ coefficient = 10.0, temperature = "{PULSE}" }} }}]', 300.0, 800.0),
        ('boundary.x_min = { kind = "flux", flux = "1e3 if 501 < t < 501.1 else 0" }', 300.0, 4000.0),
        ('boundary.x_min = { kind = "flux", flux = "-1e3 if 501 < t < 501.1 else 0" }', 0.0, 300.0),
        # for 0.1 s into 1e6 J/(m3 K); the bound takes a part of 1/512 of the run for as long as it is
        ('sources = [{ power_density = "1e9 if 501 < t < 501.1 else 0" }]', 300.0, 400.0),
        ('sources = [{ power_density = "1e9*(T > 299)*(501 < t)*(t < 501.1)" }]', 300.0, 4000.0),
    ],
)
def test_what_is_short_or_regular_counts(inputs: str, low: float, high: float) -> None:
    tables = build_problem(loads(BODY + inputs)).tabulated
    assert tables is not None
    least, greatest = tables.bounds.reached
    assert least <= low
    assert greatest >= high
    assert low - least <= 0.02 * (greatest - low) + 1.0
    assert greatest <= max(4100.0, 1.05 * high)


def test_rows_of_files_count(tmp_path: Path) -> None:
    (tmp_path / "air.csv").write_text("time,air\n0,300\n501,300\n501.01,950\n501.02,300\n1000,300\n")
    (tmp_path / "power.csv").write_text("time,power\n0,0\n501,0\n501.01,1e6\n501.02,0\n1000,0\n")
    ambient = (
        'boundary.x_min = { kind = "convection", coefficient = 9.0, ambient = { file = "air.csv", column = "air" } }'
    )
    for inputs, high in ((ambient, 950.0), ('sources = [{ trace = "power.csv" }]', 1300.0)):  # 1e4 J into 10 J/K
        (tmp_path / "case.toml").write_text(BODY + inputs)
        tables = build_problem(load(tmp_path / "case.toml")).tabulated
        assert tables is not None
        assert high * (1 - 1e-9) <= tables.bounds.reached[1] <= 1.05 * high


@in_turn(
    ("text", "low", "high"),
    [
        (PULSE, 300.0, 800.0),
        (WAVE, 250.0, 350.0),
        ("x*(1 - x)*t", 0.0, 250.0),
        ("sqrt(t) if t < 4 else cos(t)", -1.0, 2.0),
        ("min(5, max(x, t - 999))*(y == 2)", 0.0, 1.0),
        ("floor(t/300)", 0.0, 3.0),
    ],
)
def test_ranges_of_expressions_are_close(text: str, low: float, high: float) -> None:
    expression = Expression.parse(text, frozenset("xyt"))
    found = range_of(expression, x=(0.0, 1.0), y=(0.0, 4.0), t=(0.0, 1000.0))
    np.testing.assert_allclose(found, (low, high), rtol=0, atol=0.01 * (high - low))
    assert found[0] <= low
    assert found[1] >= high - 1e-9


def test_a_run_that_gets_hotter_than_foreseen_starts_anew_and_ends_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """9e7 W/m2 into steel: beyond 4000 K within a second. A stopped and resumed run has the bits of the other, and so
    has one that looks at its range as often as it can: what it has reached by then is less."""
    scenario = loads("""
        grid = { cells = [10, 1, 1], size = [0.01, 0.01, 0.01] }
        time = { end = 2.0, integrator = "euler" }
        materials.m = { conductivity = "20 + 0.02*T", density = 8000.0, heat_capacity = "500 + 0.1*T" }
        regions = [{ material = "m" }]
        initial = { temperature = 300.0 }
        boundary.x_min = { kind = "flux", flux = 9e7 }
        boundary.x_max = { kind = "convection", coefficient = 100.0, ambient = 300.0, emissivity = 0.9 }
        output.snapshots = { every = 0.5 }
    """)
    told: list[Issue] = []
    whole = run_scenario(scenario, tmp_path / "whole", on_warnings=told.extend)
    assert any("starts anew" in str(issue) for issue in told)
    assert whole.info["largest_step_seconds"] < build_problem(scenario).largest_step
    run_scenario(scenario, tmp_path / "part", on_progress=lambda progress: progress.time < 1.2)
    resumed = resume_run(tmp_path / "part")
    assert resumed.finished
    seen: list[Issue] = []
    for share, name in ((1e9, "often"), (1e-12, "seldom")):
        monkeypatch.setattr("heatsim.simulation.range_watch.MAX_SHARE", share)
        run_scenario(scenario, tmp_path / name, on_warnings=seen.extend)
    assert len({str(issue) for issue in seen if "starts anew" in str(issue)}) == 2
    whole_bytes, *others = (
        [file.read_bytes() for file in sorted((tmp_path / name / "snapshots").glob("*.h5"))]
        for name in ("whole", "part", "often", "seldom")
    )
    assert all(other == whole_bytes for other in others)
