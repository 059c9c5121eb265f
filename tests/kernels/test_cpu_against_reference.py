from __future__ import annotations

from dataclasses import replace

import numba
import numpy as np
import plain_reference
import pytest
from heatsim_kernels.device.cpu import threads as cpu_threads
from heatsim_kernels.explicit import STEPPERS
from heatsim_kernels.explicit.coefficients import Forcing, StencilCoefficients
from heatsim_kernels.explicit.cpu import stepper, tile_plan
from heatsim_kernels.field.window_source import WindowSource, heat_window
from helpers.arrays import same_bits
from helpers.in_turn import in_turn
from helpers.kernel_cases import CHOSEN, FEATURES, STEP, Case, outcome, random_case, row_of
from hypothesis import given, settings
from hypothesis import strategies as st

SHAPES = (
    (1, 1, 1), (1, 1, 2), (1, 1, 40), (1, 9, 1), (7, 1, 1),  # 1-D
    (1, 5, 15), (1, 16, 16), (2, 1, 17), (11, 6, 1),  # 2-D, rows around a cache line
    (2, 2, 2), (3, 3, 3), (3, 4, 33), (9, 23, 7), (5, 11, 31), (13, 2, 18),  # 3-D
    (7, 9, 210), (6, 8, 131), (5, 9, 200), (1, 1, 300),  # rows that blocks of zones fill and leave
)  # fmt: skip
PERIODS = ((False, False, False), (True, False, False), (False, True, False), (False, False, True), (True, True, True))
TOLERANCE = {np.float32: 3e-6, np.float64: 2e-13}
NEVER = 2**60


def assert_agrees_with_reference(case: Case, dtype: type, steps: int = 3) -> None:
    found = outcome(STEPPERS["cpu"](case.coefficients, np.dtype(dtype)), case, steps)
    expected, entered = case.start, np.zeros(case.coefficients.ledger_size)
    counted = ~np.array([*case.coefficients.closed, *[False] * (entered.size - 6)])
    for k in range(steps):
        expected, more = plain_reference.explicit_step(expected, case.coefficients, STEP, row_of(case.forcing, k))
        entered += more * counted
    tolerance = TOLERANCE[dtype]
    stored = plain_reference.stored(expected, case.coefficients)
    assert found.field.dtype == dtype
    np.testing.assert_allclose(found.field, expected, rtol=0, atol=tolerance)
    np.testing.assert_allclose(found.heat_entered, entered, rtol=0, atol=tolerance * expected.size)
    np.testing.assert_allclose(found.stored, stored, rtol=0, atol=tolerance * expected.size)


@in_turn(("name", "dtype"), CHOSEN)
def test_steps_agree_with_a_plain_reference_on_many_shapes(name: str, dtype: type) -> None:
    for number, shape in enumerate(SHAPES):
        periodic = PERIODS[number % len(PERIODS)]
        for per_cell in (False, True):
            case = random_case(shape, FEATURES[name], periodic=periodic, per_cell=per_cell, rows=3, seed=number)
            assert_agrees_with_reference(case, dtype)


@settings(max_examples=60)
@given(
    shape=st.tuples(st.integers(1, 12), st.integers(1, 20), st.integers(1, 160)),
    problem=st.sampled_from(CHOSEN),
    periodic=st.tuples(st.booleans(), st.booleans(), st.booleans()),
    per_cell=st.booleans(),
    rows=st.integers(1, 4),
    seed=st.integers(0, 2**16),
)
def test_steps_agree_with_a_plain_reference_on_random_problems(
    shape: tuple[int, int, int],
    problem: tuple[str, type],
    periodic: tuple[bool, bool, bool],
    per_cell: bool,
    rows: int,
    seed: int,
) -> None:
    name, dtype = problem
    case = random_case(shape, FEATURES[name], periodic=periodic, per_cell=per_cell, rows=rows, seed=seed)
    assert_agrees_with_reference(case, dtype)


def test_classes_may_be_counted_in_four_bytes() -> None:
    """`FEATURES` has problems with one byte and with two."""
    case = random_case((6, 11, 40), FEATURES["more than 256 kinds"], rows=2, seed=4)
    assert case.coefficients.class_ids.dtype == np.uint16
    class_ids = case.coefficients.class_ids.astype(np.uint32)
    assert_agrees_with_reference(
        case._replace(coefficients=replace(case.coefficients, class_ids=class_ids)), np.float64
    )


def test_prescribed_cells_keep_their_temperature_to_the_bit() -> None:
    case = random_case((6, 9, 40), FEATURES["ambients"], periodic=(True, False, False), rows=3, seed=6)
    prescribed = plain_reference.is_prescribed(case.coefficients)
    assert 0.2 < prescribed.mean() < 0.8
    found = outcome(STEPPERS["cpu"](case.coefficients, np.dtype(np.float32)), case, steps=9)
    assert same_bits(found.field[prescribed], case.start[prescribed].astype(np.float32))
    assert (found.field[~prescribed] != case.start[~prescribed]).all()
    assert abs(found.heat_entered[6:]).min() > 0.01


@in_turn("boundary", ["fixed", "flux", "convection"])
def test_each_kind_of_wall_agrees_with_its_physical_formula(boundary: str) -> None:
    """One cell of size h and conductivity k, heated through x_min alone: half a cell of metal, then the boundary
    face."""
    k, h, side, capacity, dt = 3.0, 0.2, 0.2, 5.0, 0.01
    area, cell, outside, coefficient, flux = side * side, 20.0, 80.0, 7.0, 1500.0
    whole = 1 / (1 / coefficient + h / (2 * k))
    a, b, power = {
        "fixed": (-2.0, 2 * outside, area * k / (h / 2) * (outside - cell)),
        "flux": (0.0, flux * h / k, area * flux),
        "convection": (-whole * h / k, whole * h / k * outside, area * whole * (outside - cell)),
    }[boundary]
    closed = (False, True, True, True, True, True)
    coefficients = StencilCoefficients(
        (1, 1, 1), np.full((1, 6), k * area / h / capacity), np.array([capacity]), closed=closed
    )
    insulated = Forcing.insulated(coefficients)
    boundary_a, boundary_b = insulated.boundary_a.copy(), insulated.boundary_b.copy()
    boundary_a[0, 0], boundary_b[0, 0] = a, b
    sweep = STEPPERS["cpu"](coefficients, np.dtype(np.float64))
    sweep.field.put(np.full((1, 1, 1), cell))
    sweep.advance(dt, 1, Forcing(boundary_a, boundary_b))
    np.testing.assert_allclose(sweep.field.host()[0, 0, 0], cell + dt * power / capacity, rtol=1e-14)
    np.testing.assert_allclose(sweep.heat_entered(), [dt * power, 0, 0, 0, 0, 0], rtol=1e-13)


@in_turn(("name", "dtype"), CHOSEN)
def test_results_that_bypass_the_cache_have_the_same_bits(
    name: str, dtype: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, shape in enumerate((*SHAPES, (3, 5, 32), (2, 3, 64), (2, 3, 65))):
        case = random_case(shape, FEATURES[name], periodic=PERIODS[number % len(PERIODS)], seed=number)
        monkeypatch.setattr(stepper, "STREAM_FROM", 0)
        streamed = outcome(STEPPERS["cpu"](case.coefficients, np.dtype(dtype)), case)
        monkeypatch.setattr(stepper, "STREAM_FROM", NEVER)
        stored = outcome(STEPPERS["cpu"](case.coefficients, np.dtype(dtype)), case)
        assert same_bits(streamed.field, stored.field)
        assert same_bits(streamed.heat_entered, stored.heat_entered)


@pytest.mark.parametrize("shape", [(9, 23, 17), (3, 41, 150), (1, 40, 40), (20, 1, 9)])
@pytest.mark.parametrize(
    ("name", "dtype"),
    # Kernels for several threads take long to compile; those of one material are also in test_cpu_temporal.
    [pytest.param("uniform", np.float64, marks=pytest.mark.long), ("ambients", np.float32)],
)
def test_neither_threads_nor_tiles_change_the_bits(
    name: str, shape: tuple[int, int, int], dtype: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = random_case(shape, FEATURES[name], periodic=(False, True, False), per_cell=True, seed=5)
    monkeypatch.setattr(cpu_threads, "CELLS_A_THREAD", 1)  # small grids would have one thread only
    first: np.ndarray | None = None
    for budget in (1, 3 * 7 * 17 * 4, 2**30):
        monkeypatch.setattr(tile_plan, "L2_BUDGET", budget)
        ledger: np.ndarray | None = None
        for threads in (1, 2, 4):
            numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))
            found = outcome(STEPPERS["cpu"](case.coefficients, np.dtype(dtype)), case, steps=5)
            first = found.field if first is None else first
            ledger = found.heat_entered if ledger is None else ledger
            assert same_bits(found.field, first)
            assert same_bits(found.heat_entered, ledger)  # bands, and so sums, depend on the tiles but on no thread


@in_turn(
    ("name", "dtype"),
    [
        ("uniform with both sources", np.float64),
        ("materials with heat a zone", np.float32),
        ("materials with heat a cell", np.float64),
        ("ambients", np.float32),
    ],
)
def test_several_steps_at_once_equal_single_steps(name: str, dtype: type, monkeypatch: pytest.MonkeyPatch) -> None:
    """With windows that are heated after each step, too; those of step 3 are too many to be heated in a pass."""
    counts, rng = (1, 2, 0, stepper.MOST_WINDOWS + 1, 3), np.random.default_rng(7)
    for rows in (1, 3, 5):  # with fewer rows than steps the last one stays
        if rows == 5:
            monkeypatch.setattr(tile_plan, "L2_BUDGET", 1)
        case = random_case((4, 6, 19), FEATURES[name], per_cell=rows == 3, rows=rows, seed=rows)
        together, singly = (STEPPERS["cpu"](case.coefficients, np.dtype(dtype)) for _ in range(2))
        windows = tuple(
            tuple(WindowSource(corner, rng.normal(size=(2, 3, 7)).astype(dtype), 0.0) for corner in corners.tolist())
            for corners in (rng.integers(0, (3, 4, 13), (count, 3)) for count in counts)
        )
        together.field.put(case.start)
        together.advance(STEP, 5, replace(case.forcing, window_sources=windows))
        singly.field.put(case.start)
        for k in range(5):
            singly.advance(STEP, 1, row_of(case.forcing, k))
            for corner, rates, _ in windows[k]:
                heat_window(singly.field.now.reshape(4, 6, 19), corner, rates, STEP)
        assert same_bits(together.field.host(), singly.field.host())
        assert same_bits(together.heat_entered(), singly.heat_entered())
