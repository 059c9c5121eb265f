"""What is done to a field between the steps of a batch: windows are heated, and it is looked at."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import simulate_between_steps
from between_cases import (
    LINEAR,
    NONLINEAR,
    SHAPE,
    STEPS,
    linear,
    nonlinear,
    plainly_heated,
    results,
    statistics_request,
    window_sources,
)
from heatsim_kernels.explicit.coefficients import Forcing
from heatsim_kernels.explicit.cpu.stepper import CpuStepper
from heatsim_kernels.explicit.enthalpy.cpu.stepper import make_stepper
from heatsim_kernels.explicit.step_batches import split_steps
from heatsim_kernels.field.window_source import WindowSource, window_heating_rate, window_sources_of
from helpers import simulator
from helpers.arrays import same_bits
from helpers.kernel_cases import STEP
from stage_cases import COUNT, stages


def test_pieces_end_where_windows_are_heated() -> None:
    found = split_steps(window_sources(np.float64, 1.0), STEPS, one_by_one=False)
    assert [(piece.first, piece.steps, len(piece.window_sources)) for piece in found] == [
        (0, 2, 2),
        (2, 2, 1),
        (4, 1, 1),
        (5, 2, 0),
    ]
    assert [piece[:2] for piece in split_steps((), 3, one_by_one=True)] == [(0, 1), (1, 1), (2, 1)]
    assert [piece[:2] for piece in split_steps((), 3, one_by_one=False)] == [(0, 3)]


def test_windows_are_heated_after_their_step_and_between_fused_ones() -> None:
    case, dtype = linear(np.float64), np.dtype(np.float64)
    found = plainly_heated(CpuStepper(case.coefficients, dtype, fused=2), case)
    plain = CpuStepper(case.coefficients, dtype, fused=1)
    plain.field.put(case.start)
    for k in range(STEPS):
        row = case.forcing.of_steps(k, 1)
        plain.advance(STEP, 1, replace(row, window_sources=()))
        plain.field.put(
            plain.field.host() + STEP * window_heating_rate(window_sources_of(row.window_sources, 0), SHAPE)
        )
    np.testing.assert_allclose(found, plain.field.host(), rtol=0, atol=1e-14)


def test_a_watch_sees_every_step() -> None:
    case = linear(np.float64)
    sweep = CpuStepper(case.coefficients, np.dtype(np.float64))
    seen = statistics_request(sweep, case, LINEAR)
    assert same_bits(seen["field"], plainly_heated(CpuStepper(case.coefficients, np.dtype(np.float64)), case))
    frames = [case.start]
    single = CpuStepper(case.coefficients, np.dtype(np.float64))
    single.field.put(case.start)
    for k in range(STEPS):
        single.advance(STEP, 1, case.forcing.of_steps(k, 1))
        frames.append(np.array(single.field.host()))
    assert same_bits(seen["peak_temperature"], np.max(frames, axis=0))
    rates = np.full(SHAPE, np.nan)
    for before, after in pairwise(frames):
        fell = (before > 0) & (after <= 0)
        rates[fell] = ((before - after) / STEP)[fell]
    np.testing.assert_array_equal(seen["cooling_rate"], rates)
    assert 0 < np.isnan(rates).sum() < rates.size
    always, never = (np.all([f > 0.1 for f in frames], axis=0), np.all([f <= 0.1 for f in frames], axis=0))
    assert always.any()
    np.testing.assert_allclose(seen["time_above"][always], STEPS * STEP)
    assert not seen["time_above"][never].any()


def test_of_temperature_dependent_materials_the_temperature_is_watched() -> None:
    case = nonlinear(np.float64)
    sweep = make_stepper(case.coefficients, np.dtype(np.float64))
    seen = statistics_request(sweep, case, NONLINEAR, 1e-4)
    tables, material = case.coefficients.tables, case.coefficients.spread_over_cells(case.coefficients.material)
    single = make_stepper(case.coefficients, np.dtype(np.float64))
    single.field.put_state(case.start)
    frames = [tables.temperature(single.field.state(), material)]
    for k in range(STEPS):
        single.advance(1e-4, 1, case.forcing.of_steps(k, 1))
        frames.append(tables.temperature(single.field.state(), material))
    assert same_bits(seen["field"], np.array(single.field.state()))
    np.testing.assert_allclose(seen["peak_temperature"], np.max(frames, axis=0), rtol=0, atol=1e-10)
    assert not np.allclose(seen["peak_temperature"], np.max(single.field.state(), axis=0))


def test_stages_heat_windows_by_their_rates() -> None:
    """A window over the whole of an insulated box only shifts its temperature."""
    case, rate, size = linear(np.float64), 2.0, STEP
    heat_window = WindowSource((0, 0, 0), np.full(SHAPE, rate), 0.0)
    heating = replace(Forcing.insulated(case.coefficients), window_sources=((heat_window,),) * COUNT)
    fields, defects = [], []
    for forcing in (Forcing.insulated(case.coefficients), heating):
        sweep = CpuStepper(case.coefficients, np.dtype(np.float64))
        sweep.field.put(case.start)
        sweep.take_stages(size, stages("four", np.float64), 0, forcing)
        defects.append(sweep.defect(size, 0.3, forcing))
        sweep.accept()
        fields.append(np.array(sweep.field.host()))
    before, last, first = 0.0, 0.0, 0.0
    for j, stage in enumerate(stages("four", np.float64)):
        shift = stage.mu * last + stage.nu * before + stage.gamma * first + stage.rate * size * rate
        before, last, first = last, shift, shift if j == 0 else first
    np.testing.assert_allclose(fields[1] - fields[0], last, rtol=1e-12)
    assert defects[1].largest != defects[0].largest


@simulator.needs_numba_cuda
def test_simulated_sweeps_give_the_bits_of_the_cpu(tmp_path: Path) -> None:
    found = simulator.results(simulate_between_steps.__file__, tmp_path)
    for name, values in results(on_cuda=False):
        assert same_bits(found[name], values), name
    assert found["told of"].tolist() == [True, False]


@pytest.mark.gpu
def test_sweeps_on_the_gpu_give_the_bits_of_the_cpu() -> None:
    pytest.importorskip("numba_cuda")
    from heatsim_kernels.device.cuda.api import device_name

    try:
        device_name()
    except RuntimeError as reason:
        pytest.skip(str(reason))
    expected = dict(results(on_cuda=False))
    for name, values in results(on_cuda=True):
        assert same_bits(values, expected[name]), name
