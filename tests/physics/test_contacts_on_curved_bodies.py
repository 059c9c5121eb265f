"""Contacts about bodies that lie obliquely in the grid: they act on the true area, from either side, and planes along
the grid keep theirs to the bit."""

from __future__ import annotations

import numpy as np
import pytest
from build_up_cases import Table, grid, material, run, scenario
from helpers.in_memory import problem_of
from helpers.in_turn import in_turn
from helpers.scenario_texts import fixed

RESISTANCE, POWER, RADIUS = 0.01, 5.0, 0.009
GOOD = material(1e5, 3.4e6)
BALL: Table = {"sphere": {"center": [0.01, 0.01, 0.01], "radius": RADIUS}}
SPHERE = 4 * np.pi * RADIUS**2


def cube(cells: int) -> Table:
    return grid((0.02, cells), (0.02, cells), (0.02, cells))


def in_a_block(around: Table, shape: Table, resistance: float = RESISTANCE, **sections: Table) -> str:
    """A body in a block whose lower end is held, both of them good conductors."""
    given = {
        "regions": [{"material": "block"}, {"material": "body", **shape}],
        "contacts": [{"between": ["body", "block"], "resistance": resistance}],
        "sources": [{"power": POWER, "region": shape}],
        "boundary": {"z_min": fixed(0.0)},
    }
    return scenario(around, {"block": GOOD, "body": GOOD}, "steady", **(given | sections))


@pytest.mark.parametrize(("cells", "error"), [(20, 0.03), (40, 0.01)])
def test_a_heated_ball_has_the_exact_rise(cells: int, error: float) -> None:
    """P R/(4 pi r2); the faces of its cells would have half as much area again."""
    state = run(in_a_block(cube(cells), BALL))
    assert state.temperature().max() == pytest.approx(POWER * RESISTANCE / SPHERE, rel=error)
    assert abs(state.energy.relative_residual) < 1e-9


@in_turn(
    ("shape", "area"),
    [
        ({"where": "(x - 0.01)**2 + (y - 0.01)**2 < 0.008**2"}, 2 * np.pi * 0.008 * 0.02),
        (
            {"cylinder": {"start": [0, 0.01, 0.01], "end": [0.02, 0.01, 0.01], "radius": 0.006}},
            2 * np.pi * 0.006 * 0.02,
        ),
        ({"where": "x + y < 0.0203"}, np.sqrt(2) * 0.0197 * 0.02),
    ],
)
def test_rods_and_slanted_planes_have_their_area(shape: Table, area: float) -> None:
    problem = problem_of(in_a_block(cube(40), shape))
    own, beyond = np.array(problem.zones.materials)[problem.cell_classes.zone], problem.cell_classes.beyond
    for side, other in ((0, 1), (1, 0)):
        between = (own == side)[:, None] & (beyond == other)
        faces = np.where(between, problem.cell_classes.faces.area / problem.cell_classes.slopes, 0.0)
        assert (faces * problem.cell_classes.count[:, None]).sum() == pytest.approx(area, rel=0.02)


def test_either_side_sees_the_same_exchange() -> None:
    """What passes from the ball to the block passes into the block: the rates times capacities are symmetric."""
    coefficients = problem_of(in_a_block(cube(20), BALL)).coefficients
    conductance = (coefficients.rates * coefficients.capacity[:, None])[coefficients.class_ids]
    for axis in range(3):
        along = np.moveaxis(conductance, 2 - axis, 0)
        np.testing.assert_allclose(along[:-1, ..., 2 * axis + 1], along[1:, ..., 2 * axis], rtol=1e-12)


def test_a_contact_along_the_grid_is_that_of_a_box_to_the_bit() -> None:
    box = {"box": {"lower": [0.004, 0.002, 0.006], "upper": [0.012, 0.014, 0.02]}}
    condition = {"where": "0.004 < x < 0.012 and 0.002 < y < 0.014 and z > 0.006"}
    one, other = (problem_of(in_a_block(cube(10), shape)).coefficients for shape in (box, condition))
    np.testing.assert_array_equal(one.rates, other.rates)
    np.testing.assert_array_equal(one.class_ids, other.class_ids)


def test_materials_that_touch_without_a_contact_stay_as_they_are() -> None:
    plain = problem_of(in_a_block(cube(20), BALL, contacts=[]))
    assert (plain.cell_classes.slopes == 1.0).all()
