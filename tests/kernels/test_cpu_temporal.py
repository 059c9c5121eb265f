"""Several steps a pass over memory against one step a pass: the same bits, whatever the problem."""

from __future__ import annotations

from pathlib import Path

import numba
import numpy as np
import pytest
from heatsim_kernels.device.cpu import threads as cpu_threads
from heatsim_kernels.explicit.coefficients import Forcing, StencilCoefficients
from heatsim_kernels.explicit.cpu import stepper, tile_plan
from heatsim_kernels.explicit.cpu.stepper import CpuStepper
from helpers.arrays import FLOATS, same_bits
from helpers.in_turn import in_turn
from helpers.kernel_cases import (
    CHOSEN,
    FEATURES,
    STEP,
    Case,
    SteppedField,
    cut_rows,
    ledger_tolerance,
    outcome,
    random_case,
)
from hypothesis import given, settings
from hypothesis import strategies as st

SHAPES = ((1, 1, 1), (1, 9, 1), (7, 1, 1), (2, 2, 2), (1, 40, 17), (9, 23, 7), (20, 30, 33), (37, 3, 16), (12, 13, 130))
PERIODS = (
    (False, False, False),
    (True, False, False),
    (False, True, False),
    (False, False, True),
    (True, True, True),
)
BUDGETS = (1, 30_000, 2**30)  # bytes of L2: bands of four rows, of some, all rows in one
THREADED = [("uniform", np.float32)]  # on several threads, by kernels of their own, which take long to compile


def run(case: Case, dtype: type, fused: int, steps: int) -> SteppedField:
    return outcome(CpuStepper(case.coefficients, np.dtype(dtype), fused), case, steps)


def assert_equal(found: SteppedField, single: SteppedField, case: Case) -> None:
    assert same_bits(found.field, single.field)
    tolerance = ledger_tolerance(single.field, case.coefficients) + 1e-12 * np.abs(single.heat_entered)
    assert (np.abs(found.heat_entered - single.heat_entered) <= tolerance).all()


def allow_a_thread_for_every_slab(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu_threads, "CELLS_A_THREAD", 1)  # small grids would have one thread only
    monkeypatch.setattr(tile_plan, "MIN_SLAB", 5)  # and one slab


@in_turn(("name", "dtype"), CHOSEN)
def test_fused_steps_have_the_bits_of_single_sweeps(name: str, dtype: type, monkeypatch: pytest.MonkeyPatch) -> None:
    if (name, dtype) in THREADED:
        allow_a_thread_for_every_slab(monkeypatch)
    for number, shape in enumerate(SHAPES):
        for periodic in PERIODS:
            rows = (1, 3, 9)[number % 3]  # boundary values, heating and its scale that change every step, some or none
            case = random_case(
                shape, FEATURES[name], periodic=periodic, per_cell=number % 2 == 0, rows=rows, seed=number
            )
            single = run(case, dtype, 1, 7)
            for fused, budget, parts in ((2, BUDGETS[0], 3), (4, BUDGETS[1], 2), (5, BUDGETS[2], 1)):
                monkeypatch.setattr(tile_plan, "L2_BUDGET", budget)
                cut_rows(monkeypatch, parts)
                assert_equal(run(case, dtype, fused, 7), single, case)


@settings(max_examples=60)
@given(
    shape=st.tuples(st.integers(1, 40), st.integers(1, 40), st.integers(1, 70)),
    problem=st.sampled_from(CHOSEN),
    periodic=st.tuples(st.booleans(), st.booleans(), st.booleans()),
    per_cell=st.booleans(),
    rows=st.integers(1, 4),
    cuts=st.tuples(st.integers(1, 9), st.integers(2, 8), st.integers(1, 5)),
    seed=st.integers(0, 2**16),
)
def test_fused_steps_have_the_bits_of_single_sweeps_on_random_problems(
    shape: tuple[int, int, int],
    problem: tuple[str, type],
    periodic: tuple[bool, bool, bool],
    per_cell: bool,
    rows: int,
    cuts: tuple[int, int, int],
    seed: int,
) -> None:
    (name, dtype), (steps, fused, parts) = problem, cuts
    case = random_case(shape, FEATURES[name], periodic=periodic, per_cell=per_cell, rows=rows, seed=seed)
    with pytest.MonkeyPatch.context() as patch:
        cut_rows(patch, parts)
        assert_equal(run(case, dtype, fused, steps), run(case, dtype, 1, steps), case)


@in_turn("steps", range(10))
def test_any_number_of_steps_may_be_asked_for(steps: int) -> None:
    case = random_case((9, 12, 20), FEATURES["uniform"], rows=4, seed=1)
    single = run(case, np.float64, 1, steps)
    for fused in (2, 3, 4, 8):
        assert_equal(run(case, np.float64, fused, steps), single, case)


@pytest.mark.parametrize(("name", "dtype"), THREADED)
def test_the_ledger_depends_neither_on_threads_nor_on_batches(
    name: str, dtype: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    allow_a_thread_for_every_slab(monkeypatch)
    cut_rows(monkeypatch, 2)
    case = random_case((31, 23, 17), FEATURES[name], periodic=(False, True, False), per_cell=True, rows=11, seed=5)
    first: np.ndarray | None = None
    for threads in (1, 2, 3, 4):
        numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))
        for batches in ((11,), (4, 7), (1, 2, 3, 5)):
            sweep = CpuStepper(case.coefficients, np.dtype(dtype), 4)
            sweep.field.put(case.start)
            for start, steps in zip(np.cumsum((0, *batches)), batches, strict=False):
                sweep.advance(STEP, steps, Forcing(case.forcing.boundary_a[start:], case.forcing.boundary_b[start:]))
            first = sweep.heat_entered() if first is None else first
            assert same_bits(sweep.heat_entered(), first)


@pytest.mark.parametrize("dtype", FLOATS)
def test_fused_results_that_bypass_the_cache_have_the_same_bits(dtype: type, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, shape in enumerate((*SHAPES, (3, 5, 32), (2, 3, 65))):
        cut_rows(monkeypatch, 1 + number % 2)
        case = random_case(shape, FEATURES["uniform"], periodic=PERIODS[number % len(PERIODS)], seed=number)
        monkeypatch.setattr(stepper, "STREAM_FROM", 0)
        streamed = run(case, dtype, 3, 6)
        monkeypatch.setattr(stepper, "STREAM_FROM", 2**60)
        stored = run(case, dtype, 3, 6)
        assert same_bits(streamed.field, stored.field)
        assert same_bits(streamed.heat_entered, stored.heat_entered)


def test_several_steps_are_fused_where_the_planes_of_a_tile_fit_into_cache() -> None:
    def chosen(shape: tuple[int, int, int], periodic: bool = False) -> int:
        coefficients = StencilCoefficients(shape, np.ones((1, 6)), np.ones(1), periodic=(periodic,) * 3)
        return CpuStepper(coefficients, np.dtype(np.float32)).fused_steps

    assert chosen((64, 64, 64)) > 1
    assert chosen((40, 300, 300)) > 1
    assert chosen((1, 9, 9), periodic=True) == 1  # around such short periods most of the work would be overlap
    assert chosen((4, 4, 200_000)) > 1  # rows are cut
    assert chosen((4, 4, 200_000), periodic=True) == 1  # they cannot be, and three planes fill the cache


def test_long_rows_are_cut_so_that_bands_may_be_high() -> None:
    def parts(*cells: int) -> int:
        return tile_plan.best_cut(tile_plan.TilingShape(cells, (False,) * 3, 8), None).parts

    assert parts(512, 512, 512) == 1  # half rows would be computed faster, and fetched slower
    assert parts(1024, 1024, 1024) > 1
    assert parts(1, 1, 1_000_000) > 100


def test_the_size_of_a_cache_is_read_where_it_is_told(tmp_path: Path) -> None:
    size = tmp_path / "size"
    assert tile_plan._cache_bytes(size) == 0
    for text, expected in (("2048K\n", 2**21), ("512K", 2**19), ("", 0), ("unknown\n", 0)):
        size.write_text(text)
        assert tile_plan._cache_bytes(size) == expected


@pytest.mark.parametrize("fused", [1, 4])
def test_tiles_cover_every_cell_once(fused: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, budget in enumerate(BUDGETS):
        monkeypatch.setattr(tile_plan, "L2_BUDGET", budget)
        cut_rows(monkeypatch, 1 + number)
        for cells in ((1, 1, 1), (1, 40, 9), (7, 3, 5), (9, 23, 17), (64, 5, 100)):
            shape = tile_plan.TilingShape(cells, (False,) * 3, 8)
            blocks = {threads: _covered_blocks(shape, fused, threads) for threads in (1, 2, 3, 4, 64)}
            assert len(set(blocks.values())) == 1  # the sums of the energy ledger must not depend on the threads


def _covered_blocks(shape: tile_plan.TilingShape, fused: int, threads: int) -> tuple[tuple[int, ...], ...]:
    """The blocks of a tiling, (block, first row, end, first column, end)."""
    covered = np.zeros(shape.cells, int)
    tiles = tile_plan.tiling(shape, tile_plan.best_cut(shape, fused), threads)
    for z0, z1, y0, y1, x0, x1, _, seam in tiles:
        assert seam == y1  # one block a tile
        covered[z0:z1, y0:y1, x0:x1] += 1
    assert (covered == 1).all()
    return tuple(sorted({(int(block), *map(int, sides)) for _, _, *sides, block, _ in tiles}))


def test_slabs_are_as_many_as_give_the_busiest_thread_the_least_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tile_plan, "L2_BUDGET", 832 * 1024)

    def efficiency(n: int, per_line: int, threads: int) -> float:
        shape = tile_plan.TilingShape((n, n, n), (False,) * 3, per_line)
        cut = tile_plan.best_cut(shape, None)
        return n**3 / threads / tile_plan.work_of_busiest(shape, cut, tile_plan.tiling(shape, cut, threads), threads)

    assert efficiency(64, 16, 8) > 0.6  # 0.40 with slabs of 16 planes, of which half the threads have none
    assert efficiency(256, 16, 16) > 0.82  # 0.75 with a slab for each thread
    assert efficiency(256, 8, 16) > 0.86  # 0.78
    assert efficiency(512, 16, 32) > 0.88  # 0.77
    shape = tile_plan.TilingShape((64, 64, 64), (False,) * 3, 16)
    cut = tile_plan.best_cut(shape, 5)
    tiles = tile_plan.tiling(shape, cut, 2)  # of 5 steps, 0 to 4 planes overlap: 2 in the mean
    assert tile_plan.work_of_busiest(shape, cut, tiles, 2) == (32 + 2) * 64 * 64
