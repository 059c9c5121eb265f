"""Symmetries of the physics: periods, mirror planes, and axes that are all alike."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from helpers.in_memory import AXES, Run, both, case
from helpers.in_turn import in_turn
from helpers.scenario_texts import PERIODIC, box, convection, fixed, flux, material

MATERIALS = {"a": material([2.0, 1.0, 0.5], 2.0, 1.5), "b": material([0.2, 0.6, 0.4], 1.0, 0.5)}
RNG_SEED = 20


def from_arrays(folder: Path, temperature: np.ndarray, labels: np.ndarray | None, size: list, boundary: dict) -> str:
    """A case whose initial temperature and materials are arrays (nz, ny, nx) in files."""
    np.save(folder / "temperature.npy", temperature)
    regions = []
    if labels is not None:
        np.save(folder / "labels.npy", labels)
        regions = [{"labels": {"file": str(folder / "labels.npy"), "map": {"0": "a", "1": "b"}}}]
    return case(
        temperature.shape[::-1],
        0.02,
        size=size,
        materials=MATERIALS,
        regions=regions,
        initial={"file": str(folder / "temperature.npy")},
        boundary=boundary,
    )


@pytest.mark.parametrize("materials", [1, 2], ids=["one material", "two materials"])
@pytest.mark.parametrize("axis", AXES)
def test_a_period_equals_two_periods_to_the_bit(run: Run, tmp_path: Path, axis: str, materials: int) -> None:
    rng = np.random.default_rng(RNG_SEED)
    temperature = rng.uniform(0, 100, (5, 6, 7))
    labels = rng.integers(0, 2, temperature.shape) if materials == 2 else None
    i = AXES.index(axis)
    others = [other for other in AXES if other != axis]
    boundary = {
        **both(axis, PERIODIC),
        f"{others[0]}_min": fixed(50.0),
        f"{others[1]}_max": convection(3.0, 10.0),
    }
    size = [1.0, 0.5, 0.25]
    doubled_size = [2 * length if n == i else length for n, length in enumerate(size)]
    single = run(from_arrays(tmp_path, temperature, labels, size, boundary)).temperature
    twice = [np.concatenate((a, a), 2 - i) if a is not None else None for a in (temperature, labels)]
    double = run(from_arrays(tmp_path, twice[0], twice[1], doubled_size, boundary)).temperature
    assert np.array_equal(double, np.concatenate((single, single), 2 - i))
    assert np.ptp(single) < 0.5 * np.ptp(temperature)


@pytest.mark.parametrize("materials", [1, 2], ids=["one material", "two materials"])
@pytest.mark.parametrize("side", ["min", "max"])
@pytest.mark.parametrize("axis", AXES)
def test_a_half_with_an_insulated_face_equals_the_symmetric_whole(
    run: Run, tmp_path: Path, axis: str, side: str, materials: int
) -> None:
    rng = np.random.default_rng(RNG_SEED)
    half = rng.uniform(0, 100, (5, 6, 7))
    labels = rng.integers(0, 2, half.shape) if materials == 2 else None
    i = AXES.index(axis)

    def mirrored(array: np.ndarray) -> np.ndarray:
        pair = (np.flip(array, 2 - i), array)
        return np.concatenate(pair if side == "min" else pair[::-1], 2 - i)

    outer = {"min": "max", "max": "min"}[side]
    size = [1.0, 0.5, 0.25]
    whole_size = [2 * length if n == i else length for n, length in enumerate(size)]
    surface = convection(3.0, 10.0)
    expected = run(from_arrays(tmp_path, half, labels, size, {f"{axis}_{outer}": surface})).temperature
    whole_labels = None if labels is None else mirrored(labels)
    whole = run(from_arrays(tmp_path, mirrored(half), whole_labels, whole_size, both(axis, surface))).temperature
    np.testing.assert_allclose(whole, mirrored(expected), rtol=0, atol=1e-12 * 100)


def permuted(order: tuple[str, str, str]) -> str:
    """Every kind of face, two materials and two heaters; what a user would put along x lies along order[0]."""
    u, v, w = order

    def placed(values: tuple) -> list:
        return [values[order.index(axis)] for axis in AXES]

    def solid(name: str) -> dict:
        source = MATERIALS[name]
        return material(placed(source["conductivity"]), source["density"], source["heat_capacity"])

    return case(
        placed((7, 6, 5)),
        0.05,
        size=placed((1.0, 0.7, 0.5)),
        materials={name: solid(name) for name in MATERIALS},
        regions=[{"material": "b", **box(placed((0.3, 0.1, 0.0)), placed((0.8, 0.6, 0.3)))}],
        initial=f"20 + 50*exp(-{u}) + 30*{v}*{w}",
        boundary={
            f"{u}_min": fixed(f"60*sin(30*t) + 20*{v}"),
            f"{u}_max": convection(f"5 + 3*{w}", f"40*{v}"),
            f"{v}_min": flux(f"100*{u}*cos(20*t)"),
            f"{v}_max": fixed(33.0),
            **both(w, PERIODIC),
        },
        sources=[
            {"power": "4*exp(-t)", "region": box(placed((0.1, 0.2, 0.1)), placed((0.6, 0.5, 0.4)))},
            {"power_density": f"90*{u}*{v}*exp(-5*t)"},
        ],
    )


@in_turn("order", list(permutations(AXES))[1:], ids="".join)
def test_axes_are_treated_alike(run: Run, order: tuple[str, str, str]) -> None:
    original, turned = run(permuted(AXES)), run(permuted(order))
    arrays_axes = [2 - AXES.index(axis) for axis in reversed(order)]  # where z, y, x of the original went
    back = turned.temperature.transpose(arrays_axes)
    np.testing.assert_allclose(back, original.temperature, rtol=0, atol=1e-12 * 100)
    for here, there in zip(AXES, order, strict=True):
        for side in ("min", "max"):
            heat = original.energy.faces[f"{here}_{side}"]
            assert turned.energy.faces[f"{there}_{side}"] == pytest.approx(heat, rel=1e-11)
    assert turned.energy.stored == pytest.approx(original.energy.stored, rel=1e-11)


def test_the_sum_of_two_problems_is_the_problem_of_the_sum(run: Run) -> None:
    """Conduction is linear: rises over 0 from start, faces and sources add up."""

    def part(start: float, wall: float, entering: float, power: float) -> np.ndarray:
        text = case(
            (7, 6, 5),
            0.05,
            materials=MATERIALS,
            regions=[{"material": "b", "sphere": {"center": [0.5, 0.5, 0.5], "radius": 0.3}}],
            initial=f"{start}*x*y",
            boundary={"x_min": fixed(wall), "y_max": flux(entering), "z_min": convection(2.0, 3 * wall)},
            sources=[
                {"power": power, "region": box((0.1, 0.1, 0.1), (0.6, 0.6, 0.6))},
                {"power_density": f"{power}*x"},
            ],
        )
        return run(text).temperature

    one, two = part(100.0, 0.0, 50.0, 0.0), part(0.0, 40.0, 0.0, 7.0)
    np.testing.assert_allclose(part(100.0, 40.0, 50.0, 7.0), one + two, rtol=0, atol=1e-12 * 100)
    assert np.abs(two).max() > 1.0
