"""Grids and beams from few keys: what is left out follows. (What is wrong with them: tests/golden.)"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from helpers.in_turn import in_turn

from heatsim.scenario import loads

Messages = Callable[..., list[str]]


def test_cells_size_and_origin_follow_from_axes_that_are_all_given(minimal: str) -> None:
    layers = "[{ thickness = 0.01, cells = 2 }, { thickness = 0.03, cells = 1 }]"
    axes = f"x = {{ edges = [-1, 0, 3] }}\ny = {{ edges = [0, 1] }}\nz = {{ layers = {layers} }}"
    grid = loads(minimal.replace("cells = [8, 8, 8]\nsize = [0.1, 0.1, 0.1]", axes)).grid
    assert (grid.cells, grid.size, grid.origin) == ((2, 1, 3), (4.0, 1.0, 0.04), (-1.0, 0.0, 0.0))
    assert grid.edges[:2] == ((-1.0, 0.0, 3.0), None)
    assert grid.edges[2] == pytest.approx((0.0, 0.005, 0.01, 0.04))


def test_an_axis_in_layers_beside_equal_cells_begins_at_the_origin(minimal: str) -> None:
    layers = "{ layers = [{ thickness = 0.025, cells = 1 }, { thickness = 0.075, cells = 7 }] }"
    grid = loads(minimal.replace("[grid]", f"[grid]\norigin = [0, 0, 1]\nz = {layers}")).grid
    assert grid.edges[:2] == (None, None)
    assert grid.edges[2] is not None
    assert grid.edges[2][0] == 1.0
    assert grid.edges[2][-1] == grid.upper[2]


def test_layers_of_equal_cells_are_an_ordinary_axis(minimal: str) -> None:
    layers = "{ layers = [{ thickness = 0.07, cells = 7 }, { thickness = 0.03, cells = 3 }] }"
    grid = loads(minimal.replace("cells = [8, 8, 8]", f"cells = [8, 8, 10]\nz = {layers}")).grid
    assert grid.unequal == ()
    assert grid.edges == (None, None, None)


GOLDAK = "[[sources]]\nbeam = {{ kind = 'goldak', path = 'a.csv', power = 1, a = 1, b = 1, cf = 1, cr = 3{} }}"


@in_turn(("given", "expected"), [("", (0.5, 1.5)), (", ff = 0.6", (0.6, 1.4)), (", fr = 1.2, ff = 0.8", (0.8, 1.2))])
def test_fractions_that_are_left_out_have_no_jump_in_the_middle(
    minimal: str, given: str, expected: tuple[float, float]
) -> None:
    scenario = loads(minimal + GOLDAK.format(given))
    beam = scenario.sources[0].beam
    assert beam is not None
    assert beam.kind == "goldak"
    assert (beam.ff, beam.fr) == pytest.approx(expected)
    assert loads(scenario.to_toml()) == scenario
