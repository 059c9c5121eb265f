"""The same scenario gives the same bits: again, with any number of threads, and in batches of any size."""

from __future__ import annotations

from collections.abc import Iterator

import numba
import numpy as np
import pytest
from helpers import in_memory
from helpers.in_memory import Run, case
from helpers.in_turn import in_turn
from helpers.scenario_texts import box, convection, fixed, flux, material

from heatsim.solve.integrators import euler

MATERIALS = {"a": material([2.0, 1.0, 0.5], 2.0, 1.5), "b": material(0.4, 1.0, 0.5)}
SHAPES = {"block": (9, 10, 11), "plate": (21, 40, 1), "rod": (60, 1, 1), "upright plate": (1, 20, 21)}


def problem(cells: tuple[int, int, int], precision: str = "float64") -> str:
    return case(
        cells,
        0.05,
        materials=MATERIALS,
        regions=[{"material": "b", "where": "sin(9*x) + cos(7*y) + sin(5*z) > 0.5"}],
        initial="20 + 50*exp(-x*y) + 30*z",
        boundary={
            "x_min": fixed("60*sin(30*t) + 20*y"),
            "x_max": convection(5.0, 40.0),
            "y_max": flux(100.0),
            "z_min": convection("3 + x", "30 + 20*x*t"),
        },
        sources=[{"power": 4.0, "region": box((0, 0, 0), (0.7, 0.7, 0.7))}, {"power_density": "90*x*exp(-5*t)"}],
        precision=precision,
    )


@pytest.fixture
def threads() -> Iterator[int]:
    """The most threads; their number is put back after the test."""
    before = numba.get_num_threads()
    yield numba.config.NUMBA_NUM_THREADS
    numba.set_num_threads(before)


@in_turn("precision", ["float64", "float32"])
@in_turn("cells", SHAPES.values(), ids=SHAPES)
def test_two_runs_give_the_same_bits(run: Run, cells: tuple[int, int, int], precision: str) -> None:
    one, two = (run(problem(cells, precision)) for _ in range(2))
    assert np.array_equal(one.temperature, two.temperature)
    assert one.energy.faces == two.energy.faces
    assert one.energy.stored == two.energy.stored


@in_turn("cells", SHAPES.values(), ids=SHAPES)
def test_any_number_of_threads_gives_the_same_bits(threads: int, cells: tuple[int, int, int]) -> None:
    if threads == 1:
        pytest.skip("one thread is all there is")
    outcomes = []
    for count in range(1, threads + 1):
        numba.set_num_threads(count)
        outcomes.append(in_memory.run(problem(cells)))
    for other in outcomes[1:]:
        assert np.array_equal(other.temperature, outcomes[0].temperature)
        assert other.energy.faces == outcomes[0].energy.faces
        assert other.energy.stored == outcomes[0].energy.stored


def test_batches_of_any_size_give_the_same_bits(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """How many steps go into a batch depends on how fast the machine is just then; results must not."""
    outcomes = []
    for response in (0.0, 1e-4, 10.0):
        monkeypatch.setattr(euler, "RESPONSE_SECONDS", response)
        outcomes.append(run(problem((9, 10, 11))))
    assert outcomes[0].state.step > 20
    for other in outcomes[1:]:
        assert np.array_equal(other.temperature, outcomes[0].temperature)
        assert other.energy.faces == outcomes[0].energy.faces
        assert other.energy.stored == outcomes[0].energy.stored
        assert other.energy.sources == outcomes[0].energy.sources


def test_single_precision_follows_double_to_its_rounding(run: Run) -> None:
    """A few roundings of the largest rise a step at most: 1e-4 of it after some hundred steps would be a mistake."""
    double, single = (run(problem((9, 10, 11), precision)) for precision in ("float64", "float32"))
    assert single.temperature.dtype == np.float32
    difference = np.abs(single.temperature - double.temperature).max()
    assert 0.0 < difference < 1e-4 * np.ptp(double.temperature)
