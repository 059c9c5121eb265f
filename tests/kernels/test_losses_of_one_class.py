"""What a field of a single cell class loses follows from the heat that it holds; no kernel sums the cells."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from between_cases import SHAPE, window_sources
from heatsim_kernels.explicit import CUDA_STEPPERS, STEPPERS, ExplicitStepper
from heatsim_kernels.explicit.cpu.stepper import CpuStepper
from heatsim_kernels.explicit.heat_ledger import LossesOfOneClass
from helpers.arrays import same_bits
from helpers.kernel_cases import STEP, Case, Features, random_case

STEPS = 9


def case_with_losses() -> Case:
    return random_case(SHAPE, Features(table=True, losses=True), rows=STEPS, seed=3)


def test_sources_of_each_step_are_summed_over_all_cells() -> None:
    case = random_case(SHAPE, Features(table=True, field=True, losses=True), rows=STEPS, seed=3)
    forcing = replace(case.forcing, heat_scale=np.linspace(0.5, 2.0, STEPS - 2))
    assert forcing.heat_table is not None
    assert forcing.heat_field is not None
    scale = np.append(forcing.heat_scale, forcing.heat_scale[[-1, -1]])
    rates = np.prod(SHAPE) * forcing.heat_table[:, 0] + scale * forcing.heat_field.sum()
    found = LossesOfOneClass(case.coefficients, np.dtype(np.float64)).released(STEP, forcing)
    np.testing.assert_allclose(found, STEP * case.coefficients.capacity[0] * rates, rtol=1e-13)


def lost(stepper: ExplicitStepper) -> float:
    return -float(stepper.heat_entered()[-1])


@pytest.mark.parametrize("with_windows", [False, True], ids=["no windows", "windows"])
def test_losses_are_those_of_the_cells_before_each_step(with_windows: bool) -> None:
    case = case_with_losses()
    if with_windows:
        case = case._replace(forcing=replace(case.forcing, window_sources=window_sources(np.float64, 1.0)))
    assert case.coefficients.losses is not None
    share = STEP * float(case.coefficients.losses[0])

    one_by_one, expected = CpuStepper(case.coefficients, np.dtype(np.float64)), 0.0
    one_by_one.field.put(case.start)
    for step in range(STEPS):
        expected += share * one_by_one.field.stored()
        one_by_one.advance(STEP, 1, case.forcing.of_steps(step, 1))

    at_once = CpuStepper(case.coefficients, np.dtype(np.float64))
    at_once.field.put(case.start)
    at_once.advance(STEP, STEPS, case.forcing)
    np.testing.assert_allclose([lost(at_once), lost(one_by_one)], expected, rtol=1e-11)


def test_a_field_that_is_put_anew_loses_of_what_it_holds_then() -> None:
    case = case_with_losses()
    stepper = CpuStepper(case.coefficients, np.dtype(np.float64))
    stepper.field.put(case.start)
    stepper.advance(STEP, 2, case.forcing)
    before = lost(stepper)
    stepper.field.put(case.start)
    stepper.advance(STEP, 2, case.forcing)
    np.testing.assert_allclose(lost(stepper), 2.0 * before, rtol=1e-12)


def test_the_ledger_depends_neither_on_batches_nor_on_a_stop() -> None:
    case = case_with_losses()
    at_once = CpuStepper(case.coefficients, np.dtype(np.float32))
    at_once.field.put(case.start)
    at_once.advance(STEP, STEPS, case.forcing)

    first = CpuStepper(case.coefficients, np.dtype(np.float32))
    first.field.put(case.start)
    first.advance(STEP, 4, case.forcing.of_steps(0, 4))
    resumed = CpuStepper(case.coefficients, np.dtype(np.float32))
    resumed.field.put_state(first.field.state())
    saved = first.ledger_state()
    resumed.restore_ledger(saved)
    resumed.advance(STEP, STEPS - 4, case.forcing.of_steps(4, STEPS - 4))
    assert np.array_equal(resumed.heat_entered(), at_once.heat_entered())

    resumed.field.put_state(first.field.state())
    resumed.restore_ledger({**saved, "held": np.array([1.0, -1.0, *saved["held"]])})  # as a GPU has it
    resumed.advance(STEP, STEPS - 4, case.forcing.of_steps(4, STEPS - 4))
    np.testing.assert_allclose(resumed.heat_entered(), at_once.heat_entered(), rtol=1e-12)


@pytest.mark.gpu
@pytest.mark.parametrize("name", CUDA_STEPPERS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_kernel_of_a_gpu_keeps_the_ledger_of_the_cpu(name: str, dtype: type) -> None:
    for features in (Features(losses=True), Features(table=True, losses=True)):
        for rows, batches in ((1, (13,)), (13, (13,)), (13, (4, 9))):
            case = random_case((33, 130, 130), features, rows=rows, seed=5)
            found = []
            for way in ("cpu", name):
                stepper, first = STEPPERS[way](case.coefficients, np.dtype(dtype)), 0
                stepper.field.put(case.start)
                for count in batches:
                    stepper.advance(STEP, count, case.forcing.of_steps(first, count))
                    first += count
                found.append((np.array(stepper.field.host()), stepper.heat_entered()))
            assert same_bits(found[0][0], found[1][0])
            allowed = 1e-11 * np.abs(found[0][0].astype(np.float64)).sum()
            assert (np.abs(found[0][1] - found[1][1]) <= allowed).all(), (features, rows, batches)
