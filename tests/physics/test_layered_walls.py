"""Walls of several layers, marched until nothing changes: heat flow and temperatures follow from series resistances.

Cells end where layers do, so the harmonic mean makes the discrete solution exact (Patankar, Numerical Heat Transfer
and Fluid Flow, 1980, section 4.2-3).
"""

from __future__ import annotations

import numpy as np
import pytest
from helpers.in_memory import AXES, Recording, Run, RunOutcome, case
from helpers.in_turn import in_turn
from helpers.scenario_texts import convection, fixed, flux, material

HOT, COLD = 100.0, 20.0
CELLS = 8  # along the wall, which is 1 m thick
END = 20.0  # s; the slowest of the walls below decays at 2.9 a second, so exp(-58) is left
LAYERS = {  # conductivity and cells of each layer, from the hot side
    "one": ((2.0, 8),),
    "two": ((2.0, 3), (0.25, 5)),
    "three": ((0.8, 2), (0.1, 3), (1.5, 3)),
}
SIDES = {"fixed": np.inf, "convection": 4.0}  # surface coefficient, W/(m2 K)


def wall(layers: tuple, axis: str, boundary: dict) -> str:
    """A wall, two cells by three in the other directions. rho c = k, so all layers diffuse alike."""
    along = AXES.index(axis)
    cells, size = [2, 2, 2], [0.2, 0.2, 0.2]
    cells[along - 1], size[along - 1] = 3, 0.3
    cells[along], size[along] = CELLS, 1.0
    edges = np.cumsum([0, *(n for _, n in layers)]) / CELLS
    regions = [
        {"material": f"layer {i}", "where": f"{low!r} < {axis} and {axis} < {high!r}"}
        for i, (low, high) in enumerate(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))
    ]
    materials = {f"layer {i}": material(k, 2.0, k / 2.0) for i, (k, _) in enumerate(layers)}
    return case(cells, END, size=size, materials=materials, regions=regions, initial=40.0, boundary=boundary)


def profile(outcome: RunOutcome, axis: str) -> np.ndarray:
    """(CELLS,) along the wall, the same on every line through it."""
    lines = np.moveaxis(outcome.temperature, 2 - AXES.index(axis), 0).reshape(CELLS, -1)
    np.testing.assert_allclose(lines, lines[:, :1].repeat(6, axis=1), rtol=1e-13)
    return lines[:, 0]


@in_turn("axis", AXES)
@in_turn("side", SIDES)
@in_turn("layers", LAYERS.values(), ids=LAYERS)
def test_a_composite_wall_obeys_series_resistances(run: Run, layers: tuple, side: str, axis: str) -> None:
    coefficient, h = SIDES[side], 1 / CELLS
    faces = (fixed(t) if side == "fixed" else convection(coefficient, t) for t in (HOT, COLD))
    boundary = dict(zip((f"{axis}_min", f"{axis}_max"), faces, strict=True))
    ledger = Recording((END - 1.0, END), lambda state: state.energy.faces)
    outcome = run(wall(layers, axis, boundary), recorders=[ledger])

    resistances = [1 / coefficient, *(n * h / k for k, n in layers), 1 / coefficient]  # m2 K/W
    heat_flux = (HOT - COLD) / sum(resistances)
    before, after = ledger.seen
    area = outcome.problem.grid.cell_volume * 6 / h
    assert (after[f"{axis}_min"] - before[f"{axis}_min"]) / area == pytest.approx(heat_flux, rel=1e-9)
    assert (after[f"{axis}_max"] - before[f"{axis}_max"]) / area == pytest.approx(-heat_flux, rel=1e-9)

    temperatures = profile(outcome, axis)
    interfaces = HOT - heat_flux * np.cumsum(resistances)[:-1]
    first = 0
    for (k, n), above, below in zip(layers, interfaces[:-1], interfaces[1:], strict=True):
        drop = heat_flux * h / (2 * k)
        assert temperatures[first] + drop == pytest.approx(above, abs=1e-9 * (HOT - COLD))
        assert temperatures[first + n - 1] - drop == pytest.approx(below, abs=1e-9 * (HOT - COLD))
        first += n


@in_turn("axis", AXES)
def test_a_flux_through_a_wall_sets_its_gradient(run: Run, axis: str) -> None:
    boundary = {f"{axis}_min": flux(30.0), f"{axis}_max": fixed(COLD)}
    temperatures = profile(run(wall(((2.0, 3), (0.5, 5)), axis, boundary)), axis)
    conductivity = np.array([2.0] * 3 + [0.5] * 5)
    faces = COLD + 30.0 * np.append(np.cumsum((1 / CELLS / conductivity)[::-1])[::-1], 0.0)
    np.testing.assert_allclose(temperatures, (faces[:-1] + faces[1:]) / 2, atol=1e-8)


def test_a_heated_slab_takes_its_parabola(run: Run) -> None:
    """T = q x (1 - x)/(2k) between faces at 0; cell centres lie q h^2/(8k) above it, all by the same."""
    n, q, k = 10, 50.0, 2.0
    text = case(
        [n, 1, 1],
        2.0,
        materials={"unit": material(k)},
        sources=[{"power": q}],  # in 1 m3
        boundary={"x_min": fixed(0.0), "x_max": fixed(0.0)},
    )
    x = (np.arange(n) + 0.5) / n
    np.testing.assert_allclose(run(text).temperature[0, 0], q / (2 * k) * (x * (1 - x) + 0.25 / n**2), atol=1e-10)


def test_iso_10211_case_1_within_a_tenth_of_a_degree(run: Run) -> None:
    """Half of a square column: left and bottom 0 C, top 20 C, right a plane of symmetry (ISO 10211:2017, A.2)."""
    published = np.array(
        [
            [9.7, 13.4, 14.7, 15.1],
            [5.3, 8.6, 10.3, 10.8],
            [3.2, 5.6, 7.0, 7.5],
            [2.0, 3.6, 4.7, 5.0],
            [1.3, 2.3, 3.0, 3.2],
            [0.7, 1.4, 1.8, 1.9],
            [0.3, 0.6, 0.8, 0.9],
        ]
    )  # rows y = 0.7 ... 0.1, columns x = 0.1 ... 0.4
    boundary = {"x_min": fixed(0.0), "y_min": fixed(0.0), "y_max": fixed(20.0)}
    # slowest mode (pi/0.8)^2 + (pi/0.8)^2 = 30.8: at 0.3 s less than 20 exp(-9.2) = 0.002 C is missing
    field = run(case([40, 80, 1], 0.3, size=[0.4, 0.8, 0.01], boundary=boundary)).temperature[0]
    mirrored = np.pad(field, ((0, 0), (0, 1)), mode="edge")
    corners = 0.25 * (mirrored[:-1, :-1] + mirrored[1:, :-1] + mirrored[:-1, 1:] + mirrored[1:, 1:])
    computed = corners[[69, 59, 49, 39, 29, 19, 9]][:, [9, 19, 29, 39]]
    assert np.abs(computed - published).max() <= 0.1
