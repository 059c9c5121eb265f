from __future__ import annotations

import numba
import numpy as np
import pytest
from heatsim_kernels.explicit import CUDA_STEPPERS, STEPPERS, ExplicitStepper
from heatsim_kernels.explicit.coefficients import FACES, Forcing, StencilCoefficients
from helpers.arrays import FLOATS, same_bits
from helpers.in_turn import in_turn
from helpers.kernel_cases import FEATURES, random_case
from plain_reference import stored

SHAPE = (4, 5, 19)


def sweep_of(values: np.ndarray, dtype: type = np.float64) -> ExplicitStepper:
    sweep = STEPPERS["cpu"](StencilCoefficients(values.shape, np.ones((1, 6)), np.ones(1)), np.dtype(dtype))
    sweep.field.put(values)
    return sweep


@pytest.fixture
def values() -> np.ndarray:
    return np.random.default_rng(0).normal(size=SHAPE)


@pytest.mark.parametrize("dtype", FLOATS)
def test_the_field_is_what_was_put_in_rounded_to_the_precision(values: np.ndarray, dtype: type) -> None:
    assert same_bits(np.array(sweep_of(values, dtype).field.host()), values.astype(dtype))


def test_planes_may_come_one_by_one(values: np.ndarray) -> None:
    sweep = sweep_of(np.zeros(SHAPE))
    sweep.field.put(plane for plane in values)
    assert same_bits(np.array(sweep.field.host()), values)


@pytest.mark.parametrize("planes", [SHAPE[0] - 1, SHAPE[0] + 1])
def test_the_wrong_number_of_planes_is_refused(planes: int) -> None:
    sweep = sweep_of(np.zeros(SHAPE))
    with pytest.raises(ValueError, match="argument 2 is"):
        sweep.field.put(np.zeros((planes, *SHAPE[1:])))


@in_turn("axis", [0, 1, 2])
def test_a_plane_is_a_copy_of_the_right_cells(values: np.ndarray, axis: int) -> None:
    sweep = sweep_of(values)
    for index in (0, 2, SHAPE[axis] - 1):
        plane = sweep.field.plane(axis, index)
        assert same_bits(plane, values.take(index, axis))
        plane[:] = np.nan
    assert same_bits(np.array(sweep.field.host()), values)


def test_cells_are_found_by_flat_index_in_any_shape(values: np.ndarray) -> None:
    sweep = sweep_of(values)
    indices = np.random.default_rng(1).integers(0, values.size, (6, 8))
    chosen = sweep.field.cells(indices)
    assert same_bits(chosen, values.ravel()[indices])
    chosen[:] = np.nan
    assert same_bits(np.array(sweep.field.host()), values)
    assert sweep.field.cells(np.zeros((0, 8), np.int64)).shape == (0, 8)


@in_turn("dtype", FLOATS)
@in_turn("bad", [np.nan, np.inf, -np.inf])
def test_one_value_that_is_no_number_is_noticed_wherever_it_is(values: np.ndarray, bad: float, dtype: type) -> None:
    assert sweep_of(values, dtype).field.is_finite()
    for at in ((0, 0, 0), (3, 4, 18), (2, 1, 7)):
        spoilt = values.copy()
        spoilt[at] = bad
        assert not sweep_of(spoilt, dtype).field.is_finite()


def test_opposite_infinities_do_not_cancel(values: np.ndarray) -> None:
    values[0, 0, 0], values[0, 0, 1] = np.inf, -np.inf
    assert not sweep_of(values).field.is_finite()


def test_large_float32_values_are_finite_though_their_sum_is_beyond_float32() -> None:
    assert sweep_of(np.full(SHAPE, np.finfo(np.float32).max, np.float32), np.float32).field.is_finite()


@in_turn("dtype", FLOATS)
@in_turn("name", ["uniform", "materials", "ambients"])
def test_stored_energy_is_summed_in_float64(name: str, dtype: type) -> None:
    case = random_case((5, 6, 31), FEATURES[name], seed=3)
    sweep = STEPPERS["cpu"](case.coefficients, np.dtype(dtype))
    sweep.field.put(case.start + 1e4)
    expected = stored(np.array(sweep.field.host(), np.float64), case.coefficients)
    assert sweep.field.stored() == pytest.approx(expected, rel=1e-13)


def test_a_sweep_says_what_it_is() -> None:
    coefficients = StencilCoefficients(SHAPE, np.ones((1, 6)), np.ones(1))
    sweep = STEPPERS["cpu"](coefficients, np.dtype(np.float32))
    assert (sweep.name, sweep.field.device, sweep.dtype, sweep.coefficients) == ("cpu", "cpu", np.float32, coefficients)
    assert set(STEPPERS) == {"cpu", *CUDA_STEPPERS}
    assert sweep.heat_entered().shape == (len(FACES),)


def test_the_number_of_threads_is_the_same_after_an_advance(values: np.ndarray) -> None:
    before = numba.get_num_threads()
    sweep = sweep_of(values)
    sweep.advance(0.01, 1, Forcing.insulated(sweep.coefficients))
    assert numba.get_num_threads() == before


def test_the_caller_s_arrays_are_left_alone(values: np.ndarray) -> None:
    case = random_case(SHAPE, FEATURES["materials with heat a cell"], rows=2, seed=1)
    kept = [
        case.start.copy(),
        case.forcing.boundary_a.copy(),
        np.copy(case.forcing.heat_field),
        case.coefficients.rates.copy(),
    ]
    sweep = STEPPERS["cpu"](case.coefficients, np.dtype(np.float64))
    sweep.field.put(case.start)
    sweep.advance(0.05, 2, case.forcing)
    now = [case.start, case.forcing.boundary_a, np.asarray(case.forcing.heat_field), case.coefficients.rates]
    assert all(same_bits(one, other) for one, other in zip(now, kept, strict=True))
