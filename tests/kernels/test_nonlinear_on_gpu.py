"""The CUDA sweeps of materials that depend on temperature on a real device against the CPU."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from heatsim_kernels.explicit.enthalpy import NONLINEAR_STEPPERS
from helpers.arrays import FLOATS, same_bits
from nonlinear_cases import (
    ALLOY,
    GRADED,
    PURE,
    STEEL,
    SteppedEnthalpy,
    affine_case,
    affine_outcome,
    forcing_with_tangents,
    outcome,
    random_case,
    staged,
    steps_at_once,
    with_one_tangent,
)
from stage_cases import Staged

pytestmark = pytest.mark.gpu
PLACES: tuple[tuple[tuple[int, int, int], dict[str, Any]], ...] = (
    (
        (37, 50, 132),
        {"several": False, "closed": (False, True, True, False, True, False), "follow": True},
    ),
    ((37, 50, 131), {"periodic": (True, False, True)}),
    ((66, 21, 128), {"closed": (False, False, True, True, True, True), "follow": True, "by_cell": False}),
    ((1, 40, 260), {"several": False, "periodic": (False, True, False)}),
    ((37, 50, 132), {"layers": True, "closed": (False, False, True, False, False, False), "by_cell": False}),
)


@pytest.mark.parametrize("movement", ["basic", "register"])
def test_a_gpu_gives_the_bits_of_the_cpu_for_temperature_dependent_materials(movement: str) -> None:
    for (shape, options), dtype in product(PLACES, FLOATS):
        check_bits(movement, shape, options, dtype)


def check_bits(movement: str, shape: tuple[int, int, int], options: dict[str, Any], dtype: type) -> None:
    case = random_case(shape, seed=7, **options)
    sweeps = [NONLINEAR_STEPPERS[name](case.coefficients, np.dtype(dtype)) for name in ("cpu", movement)]
    expected, found = (outcome(sweep, case, steps=5) for sweep in sweeps)
    assert_alike(found, expected, (shape, dtype))
    np.testing.assert_allclose(found.stored, expected.stored, rtol=1e-12)
    for axis in range(3):
        assert same_bits(*(sweep.field.plane(axis, 0) for sweep in sweeps))
    assert all(sweep.field.is_finite() and sweep.field.was_finite() for sweep in sweeps)


def assert_alike(found: SteppedEnthalpy | Staged, expected: SteppedEnthalpy | Staged, of: object) -> None:
    """The same bits, and the same heat but for the order of sums; of: what they are of."""
    assert same_bits(found.field, expected.field), of
    size = np.abs(expected.heat_entered).sum() + 1e-3
    np.testing.assert_allclose(found.heat_entered, expected.heat_entered, rtol=0, atol=1e-9 * size)


# Tiles of 64 x 64 or 64 x 32 cells; kinks, a latent heat at one temperature and cubics; each is taken by other ends.
AT_ONCE: tuple[tuple[tuple[int, int, int], type, dict[str, Any]], ...] = (
    ((37, 130, 132), np.float32, {"material": ALLOY}),
    ((9, 100, 131), np.float64, {"material": PURE, "uneven": (True, False, True), "heated": False}),
    ((40, 66, 150), np.float32, {"material": GRADED, "periodic": (False, True, True)}),
    ((21, 70, 129), np.float64, {"material": STEEL, "periodic": (True, False, False), "uneven": (False, True, False)}),
)


def test_several_steps_at_once_on_a_gpu_give_the_bits_of_the_cpu_for_temperature_dependent_materials() -> None:
    for shape, dtype, options in AT_ONCE:
        case = affine_case(shape, **options)
        sweeps = [NONLINEAR_STEPPERS[name](case.coefficients, np.dtype(dtype)) for name in ("cpu", "temporal")]
        assert steps_at_once(sweeps[1], case.forcing) > 2
        expected, found = (affine_outcome(sweep, case, steps=9) for sweep in sweeps)
        assert_alike(found, expected, (shape, dtype))


def test_several_steps_with_one_tangent_on_a_gpu_give_the_bits_of_the_cpu() -> None:
    options: dict[str, Any] = {"several": False, "by_cell": False, "follow": True}
    for shape, dtype in (((23, 70, 130), np.float32), ((40, 66, 131), np.float64)):
        case = random_case(shape, closed=(False, False, True, False, False, False), seed=3, **options)
        sweeps = [NONLINEAR_STEPPERS[name](case.coefficients, np.dtype(dtype)) for name in ("cpu", "temporal")]
        assert steps_at_once(sweeps[1], case.linear_forcing()) > 2
        expected, found = (with_one_tangent(sweep, case, steps=9) for sweep in sweeps)
        assert_alike(found, expected, (shape, dtype))


@pytest.mark.parametrize("movement", ["basic", "register"])
def test_stages_on_a_gpu_give_the_bits_of_the_cpu_for_temperature_dependent_materials(movement: str) -> None:
    for (shape, options), dtype, form in product(PLACES, FLOATS, ("two", "four")):
        case = random_case(shape, seed=8, **options)
        expected, found = (
            staged(NONLINEAR_STEPPERS[name](case.coefficients, np.dtype(dtype)), case, form)
            for name in ("cpu", movement)
        )
        assert_alike(found, expected, (shape, dtype, form))
        assert same_bits(found.defect, expected.defect), (shape, dtype, form)


@pytest.mark.parametrize(("kernel", "spoilt"), [("register", np.nan), ("temporal", -np.inf), ("temporal", np.inf)])
def test_an_infinite_cell_is_noticed_on_a_gpu(kernel: str, spoilt: float) -> None:
    case = random_case((9, 66, 132), several=False, by_cell=False)
    sweep = NONLINEAR_STEPPERS[kernel](case.coefficients, np.dtype(np.float32))
    start = case.start.copy()
    start[2, 3, 4] = spoilt
    sweep.field.put_state(start)
    assert not sweep.field.is_finite()
    sweep.advance(1e-3, 4, forcing_with_tangents(sweep, case))  # ends, whatever the search for a piece meets
    assert not np.isfinite(np.array(sweep.field.state())[2, 3, 5])
