"""Cells of ambients are no part of the field in which hot spots are searched for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from helpers.in_turn import in_turn
from helpers.scenario_texts import case, material
from spot_cases import spot

import heatsim
from heatsim.cli.main import main
from heatsim.output.hotspots import find_spots
from heatsim.output.hotspots.finder import fill_ambients
from heatsim.scenario import loads
from heatsim.store.tables import read_hotspots

SCALES = (3.0, 5.0, 8.0)


def test_cells_are_filled_with_what_the_nearest_solid_one_has() -> None:
    frames = np.array([[[1.0, 0.0, 0.0, 0.0, 7.0], [2.0, 0.0, 0.0, 0.0, 8.0]]])
    solid = frames[0] > 0
    assert fill_ambients(frames, solid, (1.0, 1.0))[0, 0].tolist() in ([1, 1, 1, 7, 7], [1, 1, 7, 7, 7])
    one = np.zeros((37, 50), bool)
    one[5, 40] = True
    assert (fill_ambients(np.arange(37.0 * 50).reshape(1, 37, 50), one, (1.0, 1.0)) == 5 * 50 + 40).all()


@pytest.mark.parametrize("spacing", [(1.0, 1.0), (2.0, 0.5)])
def test_the_nearest_is_meant_in_metres(spacing: tuple[float, float]) -> None:
    rng = np.random.default_rng(0)
    solid, places = rng.random((40, 60)) < 0.03, np.indices((40, 60)).astype(float)
    far = (fill_ambients(places, solid, spacing) - places) * np.array(spacing)[:, None, None]
    y, x = np.nonzero(solid)
    apart = np.hypot((places[0][..., None] - y) * spacing[0], (places[1][..., None] - x) * spacing[1]).min(axis=-1)
    assert np.mean(np.hypot(*far) > apart + 1e-9) < 0.02
    assert np.hypot(*far) == pytest.approx(apart, abs=2.0)


@in_turn("air", [-200.0, 300.0, 900.0])
@in_turn("near", [12.0, 30.0])
def test_a_plate_with_a_hole_of_air_has_the_one_spot_that_was_planted(air: float, near: float) -> None:
    """A round hole of radius 20 cells, a spot of 10 K so near its edge."""
    y, x = np.mgrid[:120, :160]
    solid = np.hypot(y - 60, x - 60) > 20
    frames = np.where(solid, spot(120, 160, 60.0, 80.0 + near, 5.0) + 0.02 * x, air)
    (found,) = find_spots(frames, (1.0, 1.0), SCALES, 2.0, solid=solid)
    assert (found.row, found.column) == pytest.approx((60.0, 80.0 + near), abs=0.5)
    assert found.rise == pytest.approx(10.0, rel=0.1)


def test_no_spot_is_told_within_an_ambient_or_where_all_is_one() -> None:
    frames = spot(80, 80, 40.0, 40.0, 5.0)
    y, x = np.mgrid[:80, :80]
    for radius in (4, 9, 15):
        solid = np.hypot(y - 40, x - 40) > radius
        for each in find_spots(frames, (1.0, 1.0), SCALES, 1.0, solid=solid):
            assert solid[round(each.row), round(each.column)]
    assert find_spots(frames, (1.0, 1.0), SCALES, 1.0, solid=np.zeros((80, 80), bool)) == []


def test_a_spot_on_the_last_row_is_told_beside_an_ambient() -> None:
    frames = spot(60, 60, 59.5, 30.0, 5.0)
    solid = np.ones((60, 60), bool)
    solid[:10] = False
    (found,) = find_spots(frames, (1.0, 1.0), SCALES, 1.0, solid=solid)
    assert (found.row, found.column) == pytest.approx((59.5, 30.0), abs=0.5)


@pytest.mark.parametrize("axis", ["z", "x"])
def test_a_run_tells_the_heated_place_alone_and_not_the_fins_in_cold_air(tmp_path: Path, axis: str) -> None:
    """A heated plate with fins above; in the first layer, which the slice does not cut, air lies below it."""
    cells, size = {"z": ([60, 40, 3], [0.06, 0.04, 0.003]), "x": ([3, 60, 40], [0.003, 0.06, 0.04])}[axis]
    u, v, w = {"z": "xyz", "x": "yzx"}[axis]
    air = [
        f"({v} > 0.02 and {u}/0.02 - floor({u}/0.02) > 0.3)",
        f"({w} < 0.001 and ({u}-0.03)**2 + ({v}-0.012)**2 < 0.004**2)",
    ]
    place = f"exp(-(({u}-0.03)**2 + ({v}-0.012)**2)/(2*0.003**2))"
    text = case(
        cells, 1.0, size=size, integrator="steady", materials={"steel": material(20.0)}, initial=20.0,
        regions=[{"material": "air", "where": " or ".join(air)}], sources=[{"power_density": f"2e7*{place}"}],
    )  # fmt: skip
    text += f"""
[ambients.air]
temperature = 20.0
coefficient = 5.0
[hotspots]
scales = [0.003, 0.005]
threshold = 5.0
[[output.slices]]
axis = "{axis}"
at = 0.0015
count = 1
"""
    heatsim.run(loads(text), tmp_path / "run")
    (found,) = read_hotspots(tmp_path / "run" / "hotspots.csv")
    assert (getattr(found, u), getattr(found, v)) == pytest.approx((0.03, 0.012), abs=1e-3)
    done = CliRunner().invoke(main, ["hotspots", str(tmp_path / "run")], catch_exceptions=False)
    assert done.exit_code == 0
    assert read_hotspots(tmp_path / "run" / "hotspots.csv") == [found]
