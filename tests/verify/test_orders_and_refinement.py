"""Observed orders, extrapolation, restriction, and scenarios on finer grids."""

from __future__ import annotations

from math import pi

import numpy as np
import pytest

from heatsim.base.grid import CellGrid
from heatsim.errors import ScenarioError
from heatsim.scenario import loads
from heatsim.studies.verification.order import (
    extrapolate_to_limit,
    observed_order,
    restrict_field,
    rms_over_volume,
    why_no_order,
)
from heatsim.studies.verification.refinement import (
    RefinementLevel,
    grids,
    overrides,
    require_refinable,
    split_cells,
    steps,
)

BAR = """
grid = { cells = [10, 6, 1], size = [0.1, 0.1, 0.1] }
time = { integrator = "euler", end = 10.0 }
materials.steel = { conductivity = 35.0, density = 7200.0, heat_capacity = 440.5 }
regions = [{ material = "steel" }]
initial = { temperature = 300.0 }
"""


def test_an_order_is_the_slope_in_log_log_and_unknown_without_errors() -> None:
    h = [1.0, 0.5, 0.25]
    assert observed_order(h, [3.0 * each**1.7 for each in h]) == pytest.approx(1.7)
    assert observed_order(h[:1], [1.0]) is None
    assert observed_order(h, [1.0, 0.0, 0.1]) is None
    assert observed_order(h, [1.0, float("nan"), 0.1]) is None


def test_values_that_approach_a_limit_are_extrapolated_to_it() -> None:
    values = [7.0 + 0.3 * h**1.5 for h in (1.0, 0.5, 0.25)]
    assert extrapolate_to_limit(values, 2.0) == pytest.approx(7.0, rel=1e-12)
    assert extrapolate_to_limit(values, 2.0, 1.5) == pytest.approx(7.0, rel=1e-12)
    assert extrapolate_to_limit([1.0, 2.0, 4.0], 2.0) == 4.0
    assert extrapolate_to_limit([1.0, 1.0, 1.0], 2.0) == 1.0


def test_errors_that_change_sign_or_do_not_fall_tell_no_order() -> None:
    assert why_no_order([4.0, 1.0, 0.2]) is None
    assert why_no_order([-4.0, -1.0, -0.2]) is None
    assert why_no_order([0.21, -0.1]) == "change sign"
    assert why_no_order([4.0, -1.0, -0.2]) == "change sign"
    assert why_no_order([1.0, 1.0]) == "do not fall"
    assert why_no_order([-1.0, -0.5, -0.6]) == "do not fall"


CYLINDRICAL = CellGrid((4, 1, 6), (0.1, 0.0, 0.0), (0.1, 2 * pi, 0.5), coordinates="cylindrical")
UNEQUAL = CellGrid((4, 2, 6), (0.0, 0.0, 0.0), (0.5, 0.5, 0.5), ((0.0, 0.1, 0.3, 0.7, 1.0, 2.0, 3.0), None, None))


@pytest.mark.parametrize("grid", [CYLINDRICAL, UNEQUAL], ids=["cylindrical", "unequal"])
def test_restriction_keeps_the_integral_over_each_coarse_cell(grid: CellGrid) -> None:
    fine = np.random.default_rng(3).normal(size=grid.shape)
    volume = grid.measure("z")[:, None, None] * grid.measure("y")[:, None] * grid.measure("x")
    coarse = restrict_field(fine, grid, 2)
    ny = max(1, grid.shape[1] // 2)
    assert coarse.shape == (2, ny, 3)
    for k, j, i in np.ndindex(coarse.shape):
        part = slice(2 * k, 2 * k + 2), slice(2 * j, 2 * j + 2), slice(2 * i, 2 * i + 2)
        assert coarse[k, j, i] == pytest.approx(float(np.sum(fine[part] * volume[part]) / np.sum(volume[part])))


def test_a_mean_square_is_weighted_by_volume() -> None:
    error = np.zeros(UNEQUAL.shape)
    error[:, :, -1] = 3.0  # a third of the volume
    assert rms_over_volume(error, UNEQUAL) == pytest.approx(3.0 * (1 / 3) ** 0.5)


def test_levels_refine_the_grid_or_the_step() -> None:
    assert grids(1, 2) == (RefinementLevel(1, 1), RefinementLevel(2, 1))
    assert steps(1, 4) == (RefinementLevel(1, 1), RefinementLevel(1, 4))


def test_axes_of_one_cell_stay_and_a_given_step_shrinks_with_the_square_of_the_spacing() -> None:
    assert overrides(loads(BAR), RefinementLevel(grid=2)) == ["grid.cells=[20, 12, 1]"]
    fixed = loads(BAR, overrides=["time.step=0.4"])
    assert overrides(fixed, RefinementLevel(grid=2)) == ["grid.cells=[20, 12, 1]", "time.step=0.1"]
    assert overrides(fixed, RefinementLevel(step=4)) == ["time.step=0.1"]
    assert overrides(fixed, RefinementLevel()) == []
    assert overrides(loads(BAR, overrides=["time.integrator=auto"]), RefinementLevel()) == ["time.integrator=euler"]
    adaptive = loads(BAR, overrides=["time.integrator=implicit", "time.tolerance=1e-4"])
    assert overrides(adaptive, RefinementLevel(grid=10))[1] == "time.tolerance=1e-06"


def test_unequal_cells_are_split_where_they_are() -> None:
    assert split_cells((0.0, 0.1, 0.3), 2) == pytest.approx([0.0, 0.05, 0.1, 0.2, 0.3])


def test_an_array_that_belongs_to_one_grid_is_refused() -> None:
    text = BAR.replace("temperature = 300.0", 'temperature = { file = "start.npy" }')
    with pytest.raises(ScenarioError, match=r"initial\.temperature: an array has one value a cell"):
        overrides(loads(text), RefinementLevel(grid=2))


def test_a_single_cell_cannot_be_refined() -> None:
    with pytest.raises(ScenarioError, match="nothing to refine"):
        require_refinable(loads(BAR.replace("[10, 6, 1]", "[1, 1, 1]")))
