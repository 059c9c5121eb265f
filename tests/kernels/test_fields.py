"""A field is read alike wherever it lies, and whatever it stores."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import simulate_fields
from heatsim_kernels.explicit.enthalpy.cpu.stepper import enthalpy_field
from helpers import simulator
from helpers.arrays import same_bits
from simulate_fields import INDICES, TIME_STEP, linear, nonlinear, readings, results, solver_field, starts_of

SUMS = ("stored", "totals")


def require_same(found: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> None:
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        if name.endswith(SUMS):
            np.testing.assert_allclose(found[name], values, rtol=1e-12, err_msg=name)
        else:
            assert same_bits(np.asarray(found[name]), values), name


@simulator.needs_numba_cuda
def test_simulated_fields_are_read_as_those_of_the_cpu(tmp_path: Path) -> None:
    require_same(simulator.results(simulate_fields.__file__, tmp_path), dict(results(on_cuda=False)))


@pytest.mark.gpu
def test_fields_on_the_gpu_are_read_as_those_of_the_cpu() -> None:
    pytest.importorskip("numba_cuda")
    from heatsim_kernels.device.cuda.api import device_name

    try:
        device_name()
    except RuntimeError as reason:
        pytest.skip(str(reason))
    require_same(dict(results(on_cuda=True)), dict(results(on_cuda=False)))


def test_a_field_may_store_more_digits_than_it_hands_out() -> None:
    case = linear()
    before, after = starts_of(case)
    found = dict(readings(solver_field(case, False, np.float32), [before, after]))
    rounded = after.astype(np.float32)
    assert same_bits(found["state"], after)
    assert same_bits(found["host"], rounded)
    for axis in range(3):
        assert same_bits(found[f"plane {axis}"], rounded.take(1, axis))
    assert same_bits(found["cells"], after.reshape(-1)[INDICES])  # means of cells are rounded once
    assert same_bits(found["peak_temperature"], np.maximum(before, after))
    assert same_bits(found["melted"], np.zeros_like(rounded))
    fell = (before > 0) & (after <= 0)
    np.testing.assert_allclose(found["cooling_rate"][fell], ((before - after) / TIME_STEP)[fell])
    assert not found["out of range"].size


def test_a_field_of_enthalpy_is_read_as_temperatures() -> None:
    case = nonlinear()
    coefficients = case.coefficients
    tables, material = coefficients.tables, coefficients.spread_over_cells(coefficients.material)
    offsets = 40.0 * starts_of(case)[0]
    field = enthalpy_field(coefficients, np.dtype(np.float32), np.dtype(np.float64))
    field.put(offsets)
    u = field.state()
    assert same_bits(u, tables.state_of(offsets, material))
    expected = tables.temperature(u, material).astype(np.float32)
    np.testing.assert_allclose(expected, offsets, atol=1e-4)
    assert same_bits(field.host(), expected)
    assert same_bits(field.plane(1, 2), expected[:, 2])
    assert same_bits(field.cells(INDICES), expected.reshape(-1)[INDICES])
    assert same_bits(field.melted_fraction(), tables.melted_fraction(u, material).astype(np.float32))
    field.put_state(u + 1.0)
    assert same_bits(field.state(), tables.state_of(offsets, material) + 1.0)


def test_how_far_a_material_was_beyond_its_range_is_noted() -> None:
    coefficients = nonlinear().coefficients
    everywhere = ((-np.inf, np.inf),) * len(coefficients.tables.conductivity)
    number = int(np.bincount(coefficients.material[coefficients.class_ids].reshape(-1)).argmax())
    ranges = tuple((-50.0, 30.0) if n == number else each for n, each in enumerate(everywhere))
    field = enthalpy_field(replace(coefficients, ranges=ranges), np.dtype(np.float64), np.dtype(np.float64))
    for warmest, noted in ((29.0, None), (31.0, 31.0), (35.0, 35.0), (32.0, 35.0), (-54.0, 35.0), (-56.0, -56.0)):
        offsets = np.full(coefficients.shape, warmest)
        offsets[0] = np.clip(offsets[0], -51.0, 30.5)  # the furthest is not in the first plane
        field.put(offsets)
        field.plane(0, 0)
        field.host()
        assert field.out_of_range() == pytest.approx({number: noted} if noted else {})
