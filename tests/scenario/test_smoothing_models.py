"""[[smoothing]] and [hotspots] in a scenario: what is taken, what is refused, what is warned of."""

from __future__ import annotations

from collections.abc import Callable
from typing import get_args

import pytest
from heatsim_kernels.field.convolution import EDGES, LINE_KERNELS, PLANE_KERNELS, masks
from helpers.in_turn import in_turn

from heatsim.scenario import find_warnings, loads
from heatsim.scenario.smoothing import MAX_MASK_WIDTH, Kernel, Smoothing

Messages = Callable[..., list[str]]

SLICE = "[[output.slices]]\naxis = 'z'\nat = 0.05\nevery = 1\n"


def smoothing(**keys: object) -> str:
    given = {"target": "'initial'", "filter": "'gaussian'", "sigma": 0.02, **keys}
    return "[[smoothing]]\n" + "".join(f"{key} = {value}\n" for key, value in given.items() if value is not None)


def mask(rows: str, **keys: object) -> str:
    return smoothing(filter=None, sigma=None, mask=rows, **keys)


def test_a_scenario_names_the_kernels_the_edges_and_the_widest_mask_that_there_are() -> None:
    assert set(get_args(Kernel)) == {"auto", *LINE_KERNELS, *PLANE_KERNELS}
    assert set(PLANE_KERNELS) - set(LINE_KERNELS) == {"output_tiled"}
    assert get_args(Smoothing.model_fields["edges"].annotation) == EDGES
    assert masks.MAX_MASK_WIDTH == MAX_MASK_WIDTH


@in_turn(
    "text",
    [
        smoothing(),
        smoothing(filter="'box'", edges="'wrap'", kernel="'tiled'"),
        smoothing(filter="'binomial'", target="'slices'") + SLICE,
        mask("[[1, 2, 1], [2, 4, 2], [1, 2, 1]]", kernel="'output_tiled'"),
        mask("[[1, 2, 1]]") + smoothing(),
        "[hotspots]\nscales = [0.0125, 0.05]\nthreshold = 5\nframes = 3\n" + SLICE,
    ],
)
def test_what_scenarios_say_of_smoothing_and_hot_spots_is_taken_and_written_out_again(minimal: str, text: str) -> None:
    scenario = loads(minimal + text)
    assert loads(scenario.to_toml()) == scenario
    assert find_warnings(scenario) == []


def test_a_filter_may_have_many_cells_but_not_any_number(messages: Messages, minimal: str) -> None:
    fine = minimal.replace("[8, 8, 8]", "[800, 1, 1]")
    assert loads(fine + smoothing(sigma=64 * 0.1 / 800))
    (told,) = messages(fine + smoothing(sigma=0.01))
    assert "expected at most 64 cells along x, 0.008 m, found 0.01" in told
    (told,) = messages(fine + smoothing(filter="'box'", sigma=0.002))
    assert told.endswith("(a gaussian may be wider)")


def test_a_mask_lies_in_the_axes_that_a_flat_problem_has(messages: Messages, minimal: str) -> None:
    """Five columns fit the eight cells along z or x, not the three along the other axis of the field."""
    upright = minimal.replace("[8, 8, 8]", "[8, 1, 3]")
    assert loads(upright + mask("[[1, 1, 1, 1, 1], [1, 1, 1, 1, 1], [1, 1, 1, 1, 1]]"))
    (told,) = messages(upright + mask("[[1], [1], [1], [1], [1]]"))
    assert "at most the 3 cells of the field along z, found 5" in told
    line = minimal.replace("[8, 8, 8]", "[1, 8, 1]")
    (told,) = messages(line + mask("[[1], [1], [1]]"))
    assert "expected one row for a line along y, found 3" in told


def test_a_sigma_below_a_third_of_a_cell_is_warned_of(minimal: str) -> None:
    thin = minimal.replace("[8, 8, 8]", "[8, 80, 1]")
    (told,) = find_warnings(loads(thin + smoothing(sigma=0.004), "plate.toml"))
    assert str(told) == (
        "plate.toml:17:1: smoothing.0.sigma: 0.004 m is 0.32 of a cell along x, below a third: "
        "it hardly reaches the next cell"
    )


UNEQUAL = "cells = [8, 8, 8]\nx = { layers = [{ thickness = 0.05, cells = 6 }, { thickness = 0.05, cells = 2 }] }"
CYLINDER = "coordinates = 'cylindrical'\ncells = [8, 1, 8]\nsize = [0.1, 6.283185307179586, 0.1]"


@pytest.mark.parametrize(
    ("cells", "found"), [(UNEQUAL, "unequal cells along x"), (CYLINDER, "cylindrical coordinates")]
)
def test_smoothing_takes_equal_cells_in_cartesian_coordinates(
    messages: Messages, minimal: str, cells: str, found: str
) -> None:
    old = "cells = [8, 8, 8]" if cells == UNEQUAL else "cells = [8, 8, 8]\nsize = [0.1, 0.1, 0.1]"
    (told,) = messages(minimal.replace(old, cells) + smoothing())
    assert told.endswith(f"smoothing.0: expected equal cells in Cartesian coordinates to smooth, found {found}")


def test_smoothed_sources_have_no_ambients_beside_them(messages: Messages, minimal: str) -> None:
    text = "[[sources]]\npower = 1\n[ambients.room]\ntemperature = 300\ncoefficient = 5\n"
    (told,) = messages(minimal + text + smoothing(target="'sources'"))
    assert "expected no ambients where sources are smoothed" in told


def test_hot_spots_take_slices_whose_own_cells_are_equal(messages: Messages, minimal: str) -> None:
    text = minimal.replace("cells = [8, 8, 8]", UNEQUAL) + "[hotspots]\nscales = [0.02]\nthreshold = 5\n"
    assert loads(text + SLICE.replace("'z'", "'x'"))
    (told,) = messages(text + SLICE)
    assert told.endswith(
        "output.slices.0.axis: expected equal cells in the plane of a slice to search for hot spots, "
        "found unequal cells along x"
    )
