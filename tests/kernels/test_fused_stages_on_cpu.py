"""Several stages a pass over memory against one a pass: the same bits, whatever the problem."""

from __future__ import annotations

import numpy as np
import pytest
from heatsim_kernels.device.cpu import threads
from heatsim_kernels.explicit.cpu import stepper, tile_plan
from heatsim_kernels.explicit.cpu.stepper import CpuStepper
from heatsim_kernels.explicit.rk_stages import RkStage
from helpers.arrays import same_bits
from helpers.in_turn import in_turn
from helpers.kernel_cases import FEATURES, STEP, Case, cut_rows, random_case
from hypothesis import given, settings
from hypothesis import strategies as st
from stage_cases import Staged, stages

PROBLEMS = [("uniform", np.float32), ("uniform with losses", np.float64), ("materials with heat a zone", np.float64)]


def step_of(count: int, dtype: type, seed: int) -> list[RkStage]:
    """A step whose stages read two fields, but for the last, which is a mean of its end and the start."""
    chosen = stages("two", dtype, seed, count)
    chosen[-1] = chosen[-1]._replace(mu=float(np.dtype(dtype).type(0.7)))
    return chosen


def two_steps(case: Case, dtype: type, fused: int, count: int) -> Staged:
    """A step that is rejected, one that is taken, and one of another number of stages."""
    sweep = CpuStepper(case.coefficients, np.dtype(dtype), fused)
    sweep.field.put(case.start)
    sweep.take_stages(2 * STEP, step_of(3, dtype, 1), 0, case.forcing)
    for size in (count, count + 2):
        chosen = step_of(size, dtype, size)
        sweep.take_stages(STEP, chosen, 0, case.forcing)
        defect = sweep.defect(STEP, chosen[0].rate, case.forcing)
        sweep.accept()
    return Staged(np.array(sweep.field.host()), sweep.heat_entered(), np.array(defect))


def assert_equal(found: Staged, single: Staged) -> None:
    assert same_bits(found.field, single.field)
    assert same_bits(found.defect, single.defect)
    np.testing.assert_allclose(found.heat_entered, single.heat_entered, rtol=1e-12, atol=1e-12 * single.field.size)


@in_turn(("name", "dtype"), PROBLEMS)
def test_fused_stages_have_the_bits_of_single_ones(name: str, dtype: type, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "uniform with losses":  # kernels for several threads take long to compile
        monkeypatch.setattr(threads, "CELLS_A_THREAD", 1)  # small grids would have one thread only
    monkeypatch.setattr(tile_plan, "MIN_SLAB", 5)  # and one slab
    for number, shape in enumerate(((1, 9, 1), (1, 40, 17), (9, 23, 7), (20, 30, 33))):
        case = random_case(shape, FEATURES[name], periodic=(number == 1, number == 2, number == 3), seed=number)
        single = two_steps(case, dtype, 1, 6)
        for fused, budget, parts in ((2, 1, 2), (3, 30_000, 3), (5, 2**30, 1)):
            monkeypatch.setattr(tile_plan, "L2_BUDGET", budget)
            cut_rows(monkeypatch, parts)
            assert_equal(two_steps(case, dtype, fused, 6), single)


@settings(max_examples=30)
@given(
    shape=st.tuples(st.integers(1, 30), st.integers(1, 30), st.integers(1, 70)),
    problem=st.sampled_from(PROBLEMS),
    periodic=st.tuples(st.booleans(), st.booleans(), st.booleans()),
    per_cell=st.booleans(),
    rows=st.sampled_from([1, 1, 4]),
    count=st.integers(3, 12),
    fused=st.integers(2, 8),
    parts=st.integers(1, 4),
)
def test_fused_stages_have_the_bits_of_single_ones_on_random_problems(
    shape: tuple[int, int, int],
    problem: tuple[str, type],
    periodic: tuple[bool, bool, bool],
    per_cell: bool,
    rows: int,
    count: int,
    fused: int,
    parts: int,
) -> None:
    name, dtype = problem
    case = random_case(shape, FEATURES[name], periodic=periodic, per_cell=per_cell, rows=rows, seed=count)
    with pytest.MonkeyPatch.context() as patch:
        cut_rows(patch, parts)
        assert_equal(two_steps(case, dtype, fused, count), two_steps(case, dtype, 1, count))


def test_both_last_stages_may_bypass_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    case = random_case((9, 23, 37), FEATURES["uniform"], seed=3)
    usual = two_steps(case, np.float64, 3, 7)
    monkeypatch.setattr(stepper, "STREAM_FROM", 0)
    assert_equal(two_steps(case, np.float64, 3, 7), usual)
