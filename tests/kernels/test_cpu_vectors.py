"""Rows of whole vectors, written in vector instructions, have the bits of the row loop."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from heatsim_kernels.device.cpu.compilation import parallel_jit
from heatsim_kernels.device.cpu.pointers import CACHE_LINE, pointer
from heatsim_kernels.device.fma import fma
from heatsim_kernels.explicit.cpu import class_runs
from heatsim_kernels.explicit.cpu.stepper import CpuStepper
from heatsim_kernels.explicit.enthalpy import NONLINEAR_STEPPERS
from heatsim_kernels.explicit.enthalpy.cpu.potential_rows import look_up_vectors
from heatsim_kernels.explicit.enthalpy.material import EnthalpyMaterial
from heatsim_kernels.explicit.enthalpy.pieces import PIECE_NUMBERS, PIECES
from helpers.arrays import same_bits
from helpers.in_turn import in_turn
from helpers.kernel_cases import FEATURES, ledger_tolerance, outcome, random_case
from nonlinear_cases import ALLOY, GRADED, STEP, affine_case, with_one_tangent
from nonlinear_cases import random_case as nonlinear_case
from numba import njit, prange
from stage_cases import staged_at_once, stages


@in_turn("periodic", [(False, False, False), (True, True, True)], ids=["boundary", "periodic"])
@in_turn("fused", [1, 3])
@in_turn("nx", [16, 48, 64])
@in_turn(
    ("name", "dtype"),
    [
        ("uniform", np.float64),
        ("zones that differ in sources alone", np.float64),
        ("materials", np.float64),
        ("materials with heat a zone", np.float32),
    ],
)
def test_rows_of_whole_vectors_have_the_bits_of_the_row_loop(
    name: str, dtype: type, nx: int, fused: int, periodic: tuple[bool, bool, bool]
) -> None:
    """A source by cell of nothing sends the same problem by the row loop. Rows are as short as zones are wide."""
    case = random_case((7, 9, nx), FEATURES[name], periodic=periodic, rows=3, seed=nx + 1)
    if case.forcing.heat_table is not None:
        case.forcing.heat_table[:, ::2] = 0.0  # rows without sources go by a loop of their own
    outcomes = []
    for field in (None, np.zeros(case.start.shape)):
        sweep = CpuStepper(case.coefficients, np.dtype(dtype), fused)
        outcomes.append(outcome(sweep, case._replace(forcing=replace(case.forcing, heat_field=field)), steps=5))
    by_vectors, by_loop = outcomes
    assert same_bits(by_vectors.field, by_loop.field)
    assert not same_bits(by_vectors.field, case.start.astype(dtype))
    tolerance = ledger_tolerance(by_loop.field, case.coefficients)
    assert (np.abs(by_vectors.heat_entered - by_loop.heat_entered) <= tolerance).all()


@pytest.mark.parametrize(
    ("name", "dtype"),
    [pytest.param("uniform", np.float32, marks=pytest.mark.long), ("materials with heat a zone", np.float64)],
)
@in_turn("fused", [1, 3])
def test_two_term_stages_of_whole_vectors_have_the_bits_of_the_row_loop(name: str, dtype: type, fused: int) -> None:
    """As above; the last stage reads four fields, and goes by the row loop anyway."""
    case = random_case((7, 9, 48), FEATURES[name], rows=3, seed=5)
    found = []
    for field in (None, np.zeros(case.start.shape)):
        sweep = CpuStepper(case.coefficients, np.dtype(dtype), fused)
        found.append(
            staged_at_once(sweep, case._replace(forcing=replace(case.forcing, heat_field=field)), count=7, begun=3)
        )
    assert same_bits(found[0].field, found[1].field)
    assert same_bits(found[0].defect, found[1].defect)
    assert not same_bits(found[0].field, case.start.astype(dtype))


@in_turn(
    ("name", "dtype"),
    [("materials", np.float64), ("materials with heat a zone", np.float32), ("more than 256 kinds", np.float64)],
)
@in_turn("nx", [75, 80], ids=["with a rest", "whole vectors"])
def test_rows_with_patterns_have_the_bits_of_rows_cut_into_runs(
    name: str, dtype: type, nx: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    case, found = random_case((7, 9, nx), FEATURES[name], seed=6), []
    for rows in (1, 1000):
        monkeypatch.setattr(class_runs, "LEAST_ROWS", rows)
        sweep = CpuStepper(case.coefficients, np.dtype(dtype), fused=3)
        assert sweep._patterns is not None
        assert (sweep._patterns.of_rows >= 0).any() == (rows == 1)
        found.append(outcome(sweep, case, steps=5))
    assert same_bits(found[0].field, found[1].field)
    assert np.array_equal(found[0].heat_entered, found[1].heat_entered)


@in_turn("nx", [75, 80], ids=["with a rest", "whole vectors"])
def test_rows_with_patterns_have_the_bits_of_rows_cut_into_runs_beside_enthalpies(
    nx: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    case, found = nonlinear_case((6, 7, nx), by_cell=False, seed=4), []
    for rows in (1, 1000):
        monkeypatch.setattr(class_runs, "LEAST_ROWS", rows)
        found.append(with_one_tangent(NONLINEAR_STEPPERS["cpu"](case.coefficients, np.dtype(np.float64)), case, 5))
    assert same_bits(found[0].field, found[1].field)


def test_rows_of_the_same_classes_share_a_pattern(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(class_runs, "LEAST_ROWS", 1)
    rng, short = np.random.default_rng(2), np.zeros(64, np.uint8)
    often, seldom = rng.integers(1, 5, (2, 64)).astype(np.uint8)
    rows = np.array([short, often, seldom, often, short, often])
    coefficients: Any = SimpleNamespace(class_ids=rows.reshape(2, 3, 64), several=True, shape=(2, 3, 64))
    found = class_runs.find_row_patterns(coefficients, class_runs.find_class_runs(coefficients))
    assert found is not None
    assert found.of_rows.tolist() == [-1, 0, 1, 0, -1, 0]
    assert np.array_equal(found.classes, [often, seldom])


@pytest.mark.parametrize(
    ("material", "dtype"), [(ALLOY, np.float64), pytest.param(GRADED, np.float32, marks=pytest.mark.long)]
)
def test_stages_of_potentials_in_whole_vectors_have_the_bits_of_the_row_loop(
    material: EnthalpyMaterial, dtype: type
) -> None:
    case = affine_case((7, 9, 48), material, seed=5)
    chosen, found = stages("two", dtype), []
    for field in (None, np.zeros(case.start.shape)):
        sweep = NONLINEAR_STEPPERS["cpu"](case.coefficients, np.dtype(dtype))
        sweep.field.put_state(case.start)
        sweep.take_stages(STEP, chosen, 0, replace(case.forcing, heat_field=field))
        sweep.accept()
        found.append(np.array(sweep.field.state()))
    assert same_bits(*found)
    assert not same_bits(found[0], case.start.astype(dtype))


@parallel_jit
def _look_up(out: np.ndarray, u: np.ndarray, vectors: int, pieces: np.ndarray) -> None:
    for _ in prange(1):
        look_up_vectors(pointer(out), pointer(u), vectors, pointer(pieces))


@njit
def _piece_by_piece(out: np.ndarray, u: np.ndarray, pieces: np.ndarray) -> None:
    for i in range(len(u)):
        j = 0
        while j + 1 < pieces.shape[1] and u[i] >= pieces[0, j + 1]:
            j += 1
        d = u[i] - pieces[0, j]
        out[i] = fma(fma(fma(pieces[4, j], d, pieces[3, j]), d, pieces[2, j]), d, pieces[1, j])


@in_turn("dtype", [np.float32, np.float64])
@in_turn("cubic", [False, True])
def test_potentials_looked_up_in_registers_have_the_bits_of_those_piece_by_piece(cubic: bool, dtype: type) -> None:
    """With as many pieces as take each of the loops, without cubics and with one; vectors on several pieces and on one,
    states at knots, far away and not a number among them."""
    generator = np.random.default_rng(5)
    rising, level = np.linspace(-2.0, 12.0, 400), np.repeat(generator.uniform(-2.0, 12.0, 8), 32)
    odd = np.repeat([np.nan, 1.0, 1e30, 11.0, -1e30, -1.0], 16)
    u = np.concatenate((generator.uniform(-2.0, 12.0, 1000), np.arange(24), rising, rising[::-1], level, odd))
    u = u.astype(dtype)
    for count in (1, 3, 4, 5, 8, 9, 16):
        pieces = generator.uniform(0.5, 1.5, (PIECE_NUMBERS, PIECES)).astype(dtype)
        pieces[0] = np.where(np.arange(PIECES) < count, np.arange(PIECES) * 10.0 / count, np.inf)
        pieces[4] = 0.0
        if cubic:
            pieces[4, count - 1] = 0.01
        found, expected = np.zeros_like(u), np.zeros_like(u)
        _look_up(found, u, len(u) * u.itemsize // CACHE_LINE, pieces.reshape(-1))
        _piece_by_piece(expected, u, pieces)
        assert same_bits(found, expected), count
