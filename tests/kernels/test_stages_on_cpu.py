"""Steps of several stages on the CPU against plain NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from heatsim_kernels.explicit.coefficients import Forcing
from heatsim_kernels.explicit.cpu.stepper import CpuStepper
from heatsim_kernels.explicit.rk_stages import RkStage, StageFields
from helpers.arrays import same_bits
from helpers.in_turn import in_turn
from helpers.kernel_cases import FEATURES, STEP, random_case
from stage_cases import plain, staged, stages

CASES = [  # a row with a remainder, in blocks of cell classes; periods; boundary faces by cell
    ("uniform", (4, 9, 37), (False, False, False), False, np.float32, "two"),
    ("uniform", (4, 9, 37), (True, False, True), True, np.float64, "four"),
    ("materials with heat a zone", (5, 6, 71), (False, True, False), True, np.float64, "four"),
    ("ambients", (4, 9, 37), (True, False, False), False, np.float64, "four"),
]


@in_turn(("name", "shape", "periodic", "per_cell", "dtype", "form"), CASES)
def test_stages_are_those_of_the_text(
    name: str,
    shape: tuple[int, int, int],
    periodic: tuple[bool, bool, bool],
    per_cell: bool,
    dtype: type,
    form: str,
) -> None:
    case = random_case(shape, FEATURES[name], periodic=periodic, per_cell=per_cell, rows=8, seed=3)
    expected, found = plain(case, form), staged(CpuStepper(case.coefficients, np.dtype(dtype)), case, form)
    near = 1e-14 if dtype is np.float64 else 2e-6
    np.testing.assert_allclose(found.field, expected.field, rtol=0, atol=near)
    np.testing.assert_allclose(found.defect, expected.defect, rtol=0, atol=5 * near)
    np.testing.assert_allclose(found.heat_entered, expected.heat_entered, rtol=0, atol=1e4 * near)


def test_results_past_the_cache_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    case = random_case((4, 9, 37), FEATURES["uniform"], rows=8, seed=3)
    usual = staged(CpuStepper(case.coefficients, np.dtype(np.float64)), case, "four")
    monkeypatch.setattr("heatsim_kernels.explicit.cpu.stepper.STREAM_FROM", 0)
    past = staged(CpuStepper(case.coefficients, np.dtype(np.float64)), case, "four")
    assert same_bits(past.field, usual.field)


@pytest.mark.parametrize(("form", "dtype"), [("two", np.float32), ("four", np.float64)])
def test_a_constant_field_stays_constant_to_the_bit_through_stages(form: str, dtype: type) -> None:
    case = random_case((4, 9, 37), FEATURES["uniform"])
    sweep = CpuStepper(case.coefficients, np.dtype(dtype))
    sweep.field.put(np.full((4, 9, 37), 21.3))
    before = np.array(sweep.field.host())
    sweep.take_stages(STEP, stages(form, dtype), 0, Forcing.insulated(case.coefficients))
    sweep.accept()
    assert same_bits(np.array(sweep.field.host()), before)


def test_what_is_not_finite_shows_in_the_defect() -> None:
    case = random_case((4, 9, 37), FEATURES["uniform"])
    spoilt = case.start.copy()
    spoilt[1, 2, 3] = np.nan
    sweep = CpuStepper(case.coefficients, np.dtype(np.float64))
    sweep.field.put(spoilt)
    sweep.take_stages(STEP, stages("four", np.float64), 0, case.forcing)
    defect = sweep.defect(STEP, 0.3, case.forcing)
    assert np.isnan(defect.largest)
    assert np.isnan(defect.high)


def test_four_fields_hold_any_number_of_stages() -> None:
    fields = StageFields("u", ["v", "p", "q"])
    made = {"u": 0}
    for j in range(1, 9):
        target = fields.target
        assert target not in {fields.start, fields.last}
        assert j == 1 or target != fields.one
        if j > 1:
            assert made[fields.before] == j - 2
        made[target] = j
        fields.taken()
        assert (made[fields.start], made[fields.one], made[fields.last]) == (0, 1, j)
    assert sorted([fields.last, *fields.others()]) == ["p", "q", "u", "v"]


def test_a_stage_of_two_fields_is_told_from_one_of_four() -> None:
    assert RkStage(1.4, -0.4, 0.0, 0.1, 0.0).form == "two"
    assert RkStage(1.4, -0.4, 0.1, 0.1, 0.0).form == RkStage(0.7, -0.2, 0.0, 0.1, 0.0).form == "four"
