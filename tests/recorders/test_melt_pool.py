"""The size of what lies above an isotherm, against bodies whose size is known."""

from __future__ import annotations

import csv
from math import pi
from pathlib import Path

import numpy as np
import pytest

from heatsim.base.grid import CellGrid
from heatsim.output.recorders.melt_pool import measure_pool
from heatsim.scenario import loads
from heatsim.simulation.run import run_scenario

ISOTHERM = 1700.0
SEMI_AXES = np.array([0.31, 0.17, 0.12])  # m, of the ellipsoid
PLACE = np.array([0.512, 0.493, 0.6])  # of its middle: on the upper face of the box, off all cells otherwise
SCENARIO = """
grid = { cells = [30, 12, 10], size = [0.3, 0.12, 0.1] }
time = { end = 1.0, integrator = "euler" }
compute = { device = "cpu", precision = "float64" }
materials.a = { conductivity = 1e-6, density = 1000.0, heat_capacity = 1000.0 }
regions = [{ material = "a" }]
initial = { temperature = "300 + 1400*(1 + (0.04 - abs(y - 0.06))/0.04*0.25) if z > 0.0755 and x < 0.2 else 300" }
output.melt_pool = { temperature = 1700.0, every = 1.0, along = "y" }
"""


def box(n: int, edges: bool = False) -> CellGrid:
    """Cells of 1 x 1 x 0.6 m; edges: unequal along x."""
    spacing = (1.0 / n, 1.0 / n, 0.6 / n)
    places = np.linspace(0.0, 1.0, n + 1)
    unequal = tuple((places * (0.6 + 0.4 * places)).tolist()) if edges else None
    return CellGrid((n, n, n), (0.0, 0.0, 0.0), spacing, (unequal, None, None))


def ellipsoid(grid: CellGrid) -> np.ndarray:
    """A field that is above ISOTHERM within the lower half of an ellipsoid, and falls faster and faster outwards."""
    z, y, x = np.meshgrid(*(grid.centres(axis) for axis in "zyx"), indexing="ij")
    r2 = sum(((at - mid) / a) ** 2 for at, mid, a in zip((x, y, z), PLACE, SEMI_AXES, strict=True))
    return np.asarray(ISOTHERM + 900.0 * (np.exp(-r2) - np.exp(-1.0)))


@pytest.mark.parametrize("edges", [False, True])
def test_the_errors_of_extents_and_volume_fall_with_the_square_of_the_cells(edges: bool) -> None:
    exact = np.array([2.0, 2.0, 1.0]) * SEMI_AXES
    volume = 2.0 / 3.0 * pi * SEMI_AXES.prod()
    errors = []
    for n in (24, 48, 96):
        grid = box(n, edges)
        pool = measure_pool(ellipsoid(grid), ISOTHERM, grid)
        errors.append([np.abs(np.array(pool.extents) / exact - 1).max(), abs(pool.volume / volume - 1)])
        assert pool.highest == pytest.approx(ISOTHERM + 900.0 * (1 - np.exp(-1.0)), rel=0.05)
    assert (np.array(errors[1]) < [0.01, 0.01]).all()
    assert (np.array(errors[2]) < 0.36 * np.array(errors[0])).all()
    assert (np.array(errors[2]) < [3e-3, 2e-3]).all()


def test_a_plane_at_any_angle_cuts_off_the_exact_volume() -> None:
    grid, rng = box(6), np.random.default_rng(4)
    z, y, x = np.meshgrid(*(grid.centres(axis) for axis in "zyx"), indexing="ij")
    for _ in range(20):
        slope = rng.normal(size=3)
        height = slope @ [0.5, 0.5, 0.3] + 0.2 * rng.normal()
        field = slope[0] * x + slope[1] * y + slope[2] * z - height
        points = rng.random((200_000, 3)) * [1.0, 1.0, 0.6]
        expected = 0.6 * np.mean(points @ slope > height)
        assert measure_pool(field, 0.0, grid).volume == pytest.approx(expected, abs=0.005)


def test_an_ambient_bounds_the_pool_and_is_no_part_of_it() -> None:
    grid = box(10)
    field = np.where(np.arange(10) < 5, 2000.0, 300.0)[None, None, :] * np.ones(grid.shape)
    solid = np.ones(grid.shape, bool)
    solid[:, :, 5:] = False
    pool = measure_pool(np.where(solid, field, 9000.0), ISOTHERM, grid, solid)
    assert pool.extents == pytest.approx((0.5, 1.0, 0.6))
    assert pool.volume == pytest.approx(0.3)
    assert pool.highest == 2000.0


def test_a_run_writes_the_size_over_time(tmp_path: Path) -> None:
    path = tmp_path / "pool.toml"
    path.write_text(SCENARIO)
    run_scenario(loads(SCENARIO, path), tmp_path / "run")
    with (tmp_path / "run" / "melt_pool.csv").open() as file:
        rows = list(csv.DictReader(file))
    found = {name: [float(row[name]) for row in rows] for name in rows[0]}
    assert list(found) == ["time [s]", "length [m]", "width [m]", "depth [m]", "volume [m3]", "max [K]"]
    # The roof 300 + 1400 (1.25 - |y - 0.06| / 0.16) crosses 1700 K at 0.04 m to both sides. In x and z the pool ends in
    # a jump between the centres of two cells, 306 K over the isotherm and 1400 K below.
    beyond = 0.01 * (306.25 / 1706.25)
    assert found["length [m]"][0] == pytest.approx(0.08, rel=1e-6)
    assert found["width [m]"][0] == pytest.approx(0.195 + beyond, rel=1e-6)
    # In z the jump lies within a cell, which starts from its mean: the pool ends within a fifth of a cell of that.
    assert found["depth [m]"][0] == pytest.approx(0.015 + beyond, abs=0.002)
    assert found["max [K]"][1] < found["max [K]"][0] == pytest.approx(300 + 1400 * (1.25 - 0.005 / 0.16))


def test_a_body_that_stays_cold_has_no_pool() -> None:
    grid = box(4)
    pool = measure_pool(np.full(grid.shape, 300.0), ISOTHERM, grid)
    assert pool == ((0.0, 0.0, 0.0), 0.0, 300.0)


def test_a_steady_state_has_one_row(tmp_path: Path) -> None:
    """A wall at 2000 K, the other at 1000 K: the isotherm of 1700 K lies at 0.3 of its thickness."""
    ends = {"x_min": 2000, "x_max": 1000}
    faces = "".join(f"boundary.{face} = {{ kind = 'fixed', temperature = {T} }}\n" for face, T in ends.items())
    text = SCENARIO.replace('"euler"', '"steady"').replace("every = 1.0", "every = 1e-12") + faces
    run_scenario(loads(text, tmp_path / "pool.toml"), tmp_path / "run")
    with (tmp_path / "run" / "melt_pool.csv").open() as file:
        (row,) = csv.DictReader(file)
    assert float(row["width [m]"]) == pytest.approx(0.09, rel=1e-6)
