"""Regions with an initial temperature, sources in a material or in labelled cells, polygons, over the same by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.in_turn import in_turn
from helpers.scenario_texts import MINIMAL

from heatsim.errors import ScenarioError
from heatsim.problem import Problem, build_problem
from heatsim.problem.shapes.interface_areas import find_area_factors
from heatsim.problem.shapes.point_values import make_grid
from heatsim.problem.shapes.voxelise import covered_volume
from heatsim.scenario import loads

TWO = MINIMAL.replace(
    "[initial]",
    '[[regions]]\nmaterial = "tin"\nbox = { lower = [0.0, 0.0, 0.0], upper = [0.05, 0.1, 0.025] }\n[initial]',
).replace(
    "[[regions]]", "[materials.tin]\nconductivity = 67.0\ndensity = 7300.0\nheat_capacity = 230.0\n[[regions]]", 1
)


def problem(text: str, path: Path | None = None) -> Problem:
    return build_problem(loads(text, path))


def initial(of: Problem) -> np.ndarray:
    return np.stack(list(of.initial.planes()))


def heat(of: Problem) -> np.ndarray:
    """Heating rate of each cell, K/s, from sources uniform in space and others."""
    forcing = of.linear_forcing(np.zeros(1))
    rate = np.zeros(of.grid.shape) if forcing.heat_field is None else forcing.heat_field.astype(float)
    if forcing.heat_table is not None:
        classes = of.coefficients.class_ids
        rate = rate + (forcing.heat_table[0][0] if classes is None else forcing.heat_table[0][classes])
    return rate


def test_a_region_starts_at_its_own_temperature_where_it_stays() -> None:
    given = TWO.replace('material = "tin"\n', 'material = "tin"\ninitial = "400 + 100*x"\n')
    over = '[[regions]]\nmaterial = "copper"\nbox = { lower = [0.0, 0.0, 0.0], upper = [0.025, 0.1, 0.025] }\n[initial]'
    field = initial(problem(given.replace("[initial]", over)))
    x = (np.arange(8) + 0.5) / 80
    assert field[:2, :, 2:4] == pytest.approx(np.broadcast_to(400 + 100 * x[2:4], (2, 8, 2)))
    field[:2, :, 2:4] = 293.15
    assert (field == 293.15).all()


AMOUNTS = ("power = 3.0", 'power = "3 + t"', 'power_density = "1e4*(1 + 9*x)"', 'power_density = "1.2e4"')


@in_turn("amount", AMOUNTS)
def test_a_source_in_a_material_is_one_in_its_cells(amount: str) -> None:
    box = "region = { box = { lower = [0.0, 0.0, 0.0], upper = [0.05, 0.1, 0.025] } }"
    by_name = heat(problem(f'{TWO}[[sources]]\nmaterial = "tin"\n{amount}\n'))
    by_box = heat(problem(f"{TWO}[[sources]]\n{box}\n{amount}\n"))
    assert np.array_equal(by_name, by_box)
    assert by_name.any()


def test_one_of_several_solids_in_a_file_is_heated(tmp_path: Path) -> None:
    labels = np.zeros((8, 8, 8), np.uint8)
    labels[:2, :, :4], labels[6, 2, 3] = 3, 7
    np.save(tmp_path / "parts.npy", labels)
    region = 'region = { labelled = { file = "parts.npy", labels = [3, 7] } }'
    rate = heat(problem(f"{MINIMAL}[[sources]]\n{region}\npower = 1.0\n", tmp_path / "case.toml"))
    assert np.array_equal(rate > 0, labels > 0)


L_SHAPE = "[[0, 0], [0.1, 0], [0.1, 0.025], [0.05, 0.025], [0.05, 0.1], [0, 0.1]]"


@in_turn("axis", "xyz")
def test_a_polygon_covers_its_area_times_its_length(axis: str) -> None:
    polygon = f'polygon = {{ axis = "{axis}", points = {L_SHAPE}, from = 0.05 }}'
    scenario = loads(f"{MINIMAL}[[sources]]\nregion = {{ {polygon} }}\npower = 1.0\n")
    covered = covered_volume(scenario, ("sources", 0, "region"), scenario.sources[0].region, make_grid(scenario))
    assert covered == pytest.approx((0.1 * 0.025 + 0.05 * 0.075) * 0.05)


def test_the_inclined_side_of_a_polygon_has_its_true_area() -> None:
    text = MINIMAL.replace("cells = [8, 8, 8]", "cells = [40, 40, 1]").replace(
        "size = [0.1, 0.1, 0.1]", "size = [1.0, 1.0, 1.0]"
    )
    ambient = "[ambients.air]\ntemperature = 300.0\ncoefficient = 5.0\n"
    wedge = '[[regions]]\nmaterial = "air"\npolygon = { axis = "z", points = [[0, 1], [1, 1], [0, 0]] }\n[initial]'
    scenario = loads(text.replace("[initial]", ambient + wedge))
    of = build_problem(scenario)
    ids = np.array(of.zones.materials)[of.zones.ids] if of.zones.ids is not None else np.zeros(of.grid.shape, int)
    factors = find_area_factors(scenario, of.grid, ids, of.materials.contact, of.materials.solids)
    assert factors is not None
    assert factors.factors.max() == pytest.approx(2**0.5, rel=0.03)
    assert (factors.levels > 0).sum() / 40 / factors.factors.max() == pytest.approx(2**0.5, rel=0.01)


@pytest.mark.parametrize(
    "polygon", ['axis = "z", points = [[0, 0], [1, 1], [0.5, 0.5]]', 'axis = "z", points = [[0, 0]]']
)
def test_polygons_without_an_area_are_refused(polygon: str) -> None:
    with pytest.raises(ScenarioError):
        loads(f"{MINIMAL}[[sources]]\nregion = {{ polygon = {{ {polygon} }} }}\npower = 1.0\n")


def test_a_scenario_with_a_polygon_is_written_as_it_was_read() -> None:
    polygon = f'polygon = {{ axis = "z", points = {L_SHAPE}, from = 0.05, to = "6 cm" }}'
    scenario = loads(f"{MINIMAL}[[sources]]\nregion = {{ {polygon} }}\npower = 1.0\n")
    assert loads(scenario.to_toml()) == scenario
