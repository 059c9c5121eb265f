"""The effective conductivity of media whose conductivity is known, and bounds that hold however far a solve went."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse.linalg
from helpers.in_turn import in_turn
from multigrid_cases import matrix

import heatsim
from heatsim.errors import RequestError
from heatsim.studies.homogenisation import conductivity as module
from heatsim.studies.homogenisation.conductivity import SIDES, find_conductivity
from heatsim.studies.homogenisation.devices import on_device
from heatsim.studies.homogenisation.fluxes import LINES, find_streamlines
from heatsim.studies.homogenisation.media import Networks, make_medium

VOXEL = (1e-6, 2e-6, 3e-6)


def packing(size: int, void: float, seed: int = 0, radius: float = 0.15) -> np.ndarray:
    """Balls that overlap, at random places of a periodic box, 1, with void between them, 0."""
    rng = np.random.default_rng(seed)
    centres = (np.arange(size) + 0.5) / size
    solid = np.zeros((size,) * 3, np.uint8)
    while 1.0 - solid.mean() > void:
        off = [((centres - at + 0.5) % 1.0 - 0.5) ** 2 for at in rng.uniform(size=3)]
        solid |= off[0][:, None, None] + off[1][:, None] + off[2] < radius**2
    return solid


@in_turn("sides", SIDES)
def test_a_laminate_conducts_in_series_and_in_parallel(sides: str) -> None:
    image = np.zeros((6, 8, 10), int)
    image[:, :, ::2] = 7
    found = heatsim.effective(image, {0: 0.5, 7: 2.0}, sides=sides, voxel=VOXEL, tolerance=1e-8)
    series, parallel = 2.0 / (1.0 / 0.5 + 1.0 / 2.0), 1.25
    np.testing.assert_allclose(found.conductivity, np.diag([series, parallel, parallel]), rtol=1e-6, atol=2e-6)
    np.testing.assert_allclose(found.tortuosity, [parallel / series, 1.0, 1.0], rtol=1e-6)
    assert found.mean == pytest.approx(parallel)


@in_turn("sides", SIDES)
@in_turn("residual", [0.3, 1e-2, 1e-9])
def test_bounds_hold_whatever_the_solver_leaves(sides: str, residual: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against a direct solution in SciPy, between 40 % void and grains of which one conducts ten times as well."""
    image = packing(12, 0.4) + (packing(12, 0.7, seed=1) & packing(12, 0.4))
    medium = make_medium(image, {0: 0.0, 1: 1.0, 2: 10.0}, VOXEL)
    tolerance = 0.99 if residual > 1e-9 else 1e-10
    monkeypatch.setattr(module, "FIRST_RESIDUAL", residual / tolerance)
    device = on_device("cpu")
    networks = Networks(medium, *device)
    for axis in range(3):
        problem = module._make_problem(medium, networks, axis, sides, device)
        assert problem is not None
        exact = scipy.sparse.linalg.spsolve(matrix(problem.operator).tocsc(), problem.heat.reshape(-1))
        best = problem.bounds(exact.reshape(image.shape))
        assert best[1] - best[0] == pytest.approx(0.0, abs=1e-9 * best[1])
        _, (lower, upper), _ = module._solve(problem, tolerance)
        assert lower * (1 - 1e-9) <= best[0] <= upper * (1 + 1e-9)
        assert (upper - lower < 1e-8 * upper) == (residual < 1e-3)


def test_the_tensor_of_a_medium_without_ends_is_symmetric() -> None:
    image = packing(20, 0.5, seed=3)
    found = find_conductivity(make_medium(image, {0: 0.1, 1: 1.0}), sides="all-periodic", tolerance=1e-9).conductivity
    np.testing.assert_allclose(found, found.T, atol=1e-6 * found.max())
    assert np.abs(found - np.diag(np.diagonal(found))).max() > 1e-4
    shifted = find_conductivity(
        make_medium(np.roll(image, (3, 5, 7), (0, 1, 2)), {0: 0.1, 1: 1.0}), sides="all-periodic", tolerance=1e-9
    ).conductivity
    np.testing.assert_allclose(found, shifted, atol=1e-6 * found.max())


@in_turn("sides", SIDES)
def test_a_single_layer_conducts_in_parallel_across_itself(sides: str) -> None:
    image = packing(12, 0.5)[:1] + 1
    found = find_conductivity(make_medium(image, {1: 1.0, 2: 5.0}), "zx", sides=sides, tolerance=1e-8)
    assert found.conductivity[2, 2] == pytest.approx(found.mean, rel=1e-6)
    assert found.mean > found.conductivity[0, 0] > 1.0


@in_turn(("share", "ratio"), [(0.1, 10.0), (0.25, 10.0), (0.25, 0.0)])
def test_a_cubic_array_of_spheres_conducts_as_rayleigh_found(share: float, ratio: float) -> None:
    """Rayleigh, Philosophical Magazine 34 (1892) 481, with the term of McPhedran and McKenzie (1978)."""
    size = 48
    centres = (np.arange(size) + 0.5) / size - 0.5
    off = centres[:, None, None] ** 2 + centres[:, None] ** 2 + centres**2
    image = (off < np.sort(off.reshape(-1))[round(share * size**3)]).astype(np.uint8)
    found = heatsim.effective(image, {0: 1.0, 1: ratio}, "z", sides="all-periodic")
    beta = (2.0 + ratio) / (1.0 - ratio)
    third = share ** (10 / 3) * 0.523 * (1.0 - ratio) / (4.0 / 3.0 + ratio)
    rayleigh = 1.0 - 3.0 * share / (beta + share - third)
    assert found.conductivity[2, 2] == pytest.approx(rayleigh, rel=0.02)
    # The bounds of Hashin and Shtrikman, Journal of Applied Physics 33 (1962) 3125.
    ends = [k for k in sorted((1.0, ratio)) if k > 0]
    best = [1.0 / ((1.0 - share) / (1.0 + 2.0 * k) + share / (ratio + 2.0 * k)) - 2.0 * k for k in ends]
    assert best[-1] * 1.005 > found.conductivity[2, 2] > (best[0] * 0.995 if ratio else 0.0)


def test_islands_and_dead_ends_take_no_part() -> None:
    image = np.zeros((8, 8, 8), np.uint8)
    image[:, 2, 2] = 1  # leads through along z
    image[:3, 6, 6], image[5:7, 5, 5] = 1, 1  # a dead end, and an island
    medium = make_medium(image, {0: 0.0, 1: 3.0})
    found = find_conductivity(medium, "zx", tolerance=1e-9)
    assert found.conductivity[2, 2] == pytest.approx(3.0 / 64.0, rel=1e-6)
    assert found.along["z"].unconnected == pytest.approx(5.0 / 13.0)
    assert found.conductivity[0, 0] == 0.0
    assert found.tortuosity[0] == np.inf
    assert np.isnan(found.conductivity[1, 1])
    assert find_conductivity(medium, "x", sides="all-periodic").conductivity[0, 0] == 0.0
    assert find_conductivity(make_medium(image * 0, {0: 2.0}), "y").conductivity[1, 1] == pytest.approx(2.0, rel=1e-6)


@pytest.mark.parametrize("void", [0.5, 0.6])
def test_iterations_do_not_grow_with_the_size_of_a_porous_medium(void: float) -> None:
    iterations = []
    for size in (24, 48, 96):
        medium = make_medium(packing(size, void, radius=0.12), {0: 0.0, 1: 1.0})
        iterations.append(find_conductivity(medium, "z", tolerance=1e-4).along["z"].iterations)
    assert 0 < iterations[-1] <= iterations[0] < 10


def test_a_contrast_of_a_million_is_solved() -> None:
    medium = make_medium(packing(40, 0.6), {0: 1e-4, 1: 100.0})
    found = find_conductivity(medium, "y", tolerance=1e-4)
    assert found.along["y"].iterations < 40
    low, high = found.along["y"].bounds
    assert 1e-4 < low <= high < 100.0


@pytest.mark.parametrize("depth", [1, 12])
def test_streamlines_run_along_layers_by_how_much_these_conduct(depth: int, tmp_path: Path) -> None:
    pytest.importorskip("vtkmodules")
    image = np.zeros((20, depth, 12), np.uint8)
    image[:, :, 6:] = 1
    medium = make_medium(image, {0: 1.0, 1: 3.0}, VOXEL)
    temperature = find_conductivity(medium, "z", keep=True).along["z"].temperature
    assert temperature is not None
    lines = find_streamlines(medium, temperature, 2, tmp_path / "lines.vtp")
    assert len(lines) == LINES
    assert (tmp_path / "lines.vtp").stat().st_size > 1000
    well = 0
    for line in lines:
        np.testing.assert_allclose(line.points[:, :2] - line.points[0, :2], 0.0, atol=1e-9)
        assert line.points[-1, 2] > 19.0 * VOXEL[2]
        conducting = line.points[0, 0] > 6 * VOXEL[0]
        np.testing.assert_allclose(line.flux, 1.5 if conducting else 0.5, rtol=1e-3)
        well += conducting
    assert well == pytest.approx(0.75 * LINES, rel=0.15)


def test_parts_are_cubes_that_do_not_overlap() -> None:
    medium = make_medium(packing(64, 0.4), {0: 1.0, 1: 5.0})
    cubes = module.find_in_parts(medium, "x", sides="periodic", tolerance=1e-3)
    assert [each.size for each in cubes] == [16, 32]
    assert [each.values.shape for each in cubes] == [(8, 1), (8, 1)]
    assert cubes[1].means.mean() == pytest.approx(medium.mean)
    assert (cubes[0].values.max() - cubes[0].values.min()) > (cubes[1].values.max() - cubes[1].values.min())


@in_turn(
    ("image", "phases", "message"),
    [
        (np.zeros((2, 2, 2, 3), int), {0: 1.0}, "an image in colours"),
        (np.full((2, 2, 2), 0.5), {0: 1.0}, "whole numbers as labels"),
        (np.arange(8).reshape(2, 2, 2) % 3, {0: 1.0}, r"phases without a conductivity: 1 \(0.375 of the volume\), 2"),
        (np.zeros((2, 2, 2), int), {0: -1.0}, "phase 0: expected a conductivity >= 0"),
        (np.zeros((2, 2, 2), int), {0: 0.0}, "no phase conducts"),
        (np.arange(343).reshape(7, 7, 7), dict.fromkeys(range(343), 1.0), "at most 256 phases"),
        (np.zeros((0, 2, 2), int), {0: 1.0}, "no voxels"),
    ],
)
def test_what_is_no_image_of_phases_is_refused(image: np.ndarray, phases: dict[int, float], message: str) -> None:
    with pytest.raises(RequestError, match=message):
        heatsim.effective(image, phases)


@pytest.mark.gpu
@pytest.mark.parametrize("sides", SIDES)
def test_a_gpu_finds_the_same(sides: str) -> None:
    medium = make_medium(packing(48, 0.6), {0: 0.0, 1: 1.0})
    found, expected = (find_conductivity(medium, "xz", sides=sides, device=device) for device in ("cuda", "cpu"))
    np.testing.assert_allclose(found.conductivity, expected.conductivity, rtol=2e-4, atol=1e-3)
