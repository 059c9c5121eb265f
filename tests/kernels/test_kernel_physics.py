from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from heatsim_kernels.explicit import STEPPERS, ExplicitStepper
from heatsim_kernels.explicit.coefficients import Forcing, StencilCoefficients
from heatsim_kernels.explicit.time_step_limit import stable_step
from helpers.arrays import FLOATS, same_bits
from helpers.in_turn import in_turn
from helpers.kernel_cases import FEATURES, STEP, Case, outcome, random_case

DOUBLE = np.dtype(np.float64)


def cpu(coefficients: StencilCoefficients, dtype: type | np.dtype = DOUBLE) -> ExplicitStepper:
    return STEPPERS["cpu"](coefficients, np.dtype(dtype))


def with_boundary(coefficients: StencilCoefficients, a: float, b: float) -> Forcing:
    return Forcing(np.full((1, coefficients.boundary_size), a), np.full((1, coefficients.boundary_size), b))


@in_turn("dtype", FLOATS)
@in_turn("name", ["uniform", "materials"])
@in_turn("boundary", ["insulated", "fixed", "periodic"])
def test_a_constant_field_stays_constant_to_the_bit(boundary: str, name: str, dtype: type) -> None:
    periodic = (boundary == "periodic",) * 3
    coefficients = random_case((6, 7, 21), FEATURES[name], periodic=periodic, seed=2).coefficients
    for value in (293.15, -0.1, 1e-30):
        value = float(dtype(value))
        forcing = (
            with_boundary(coefficients, -2.0, 2 * value) if boundary == "fixed" else Forcing.insulated(coefficients)
        )
        if name == "materials" and dtype == np.float32:  # sources of nothing: other tests compile that kernel too
            forcing = replace(forcing, heat_table=np.zeros((1, coefficients.class_count)))
        sweep = cpu(coefficients, dtype)
        sweep.field.put(np.full(coefficients.shape, value))
        sweep.advance(0.9 * stable_step(coefficients, forcing.boundary_a[0]), 1000, forcing)
        assert (sweep.field.host() == dtype(value)).all()
        assert (sweep.heat_entered() == 0).all()


def test_an_insulated_box_of_mixed_materials_conserves_energy() -> None:
    case = random_case((7, 9, 20), FEATURES["materials"], seed=4)
    coefficients, forcing = case.coefficients, Forcing.insulated(case.coefficients)
    sweep = cpu(coefficients)
    sweep.field.put(case.start + 10)
    before = sweep.field.stored()
    sweep.advance(stable_step(coefficients, forcing.boundary_a[0]), 500, forcing)
    assert sweep.field.stored() == pytest.approx(before, rel=1e-12)
    assert np.ptp(sweep.field.host()) < 0.5 * np.ptp(case.start)  # and heat did move


@in_turn("name", ["uniform", "materials"])
@in_turn("a", [-2.0, -0.6])  # fixed temperature, convection
def test_values_stay_between_the_extremes_at_the_stable_step(name: str, a: float) -> None:
    coefficients = replace(random_case((5, 8, 17), FEATURES[name], seed=6).coefficients, closed=(False,) * 6)
    outside = 0.25
    forcing = with_boundary(coefficients, a, -a * outside)
    extremes = (
        np.indices(coefficients.shape).sum(axis=0) % 2.0
    )  # a chessboard of 0 and 1, the mode an explicit step hits hardest
    sweep = cpu(coefficients)
    sweep.field.put(extremes)
    for _ in range(50):
        sweep.advance(stable_step(coefficients, forcing.boundary_a[0]), 1, forcing)
        assert sweep.field.host().min() >= -1e-14
        assert sweep.field.host().max() <= 1 + 1e-14


@in_turn("name", sorted(FEATURES.keys() - {"a rate a face"}))  # whose neighbours disagree
@in_turn("per_cell", [False, True])
def test_stored_energy_changes_by_what_entered_and_what_sources_gave(name: str, per_cell: bool) -> None:
    case = random_case((6, 5, 18), FEATURES[name], periodic=(False, False, True), per_cell=per_cell, rows=4, seed=7)
    coefficients, forcing, steps = case.coefficients, case.forcing, 9
    sources, everywhere = 0.0, np.ones(coefficients.shape)
    for k in (min(step, 3) for step in range(steps)):
        if forcing.heat_table is not None:
            sources += (
                STEP
                * (coefficients.spread_over_cells(coefficients.capacity * forcing.heat_table[k]) * everywhere).sum()
            )
        if forcing.heat_field is not None:
            sources += (
                STEP
                * forcing.heat_scale[k]
                * (coefficients.spread_over_cells(coefficients.capacity) * forcing.heat_field).sum()
            )
    sweep = cpu(coefficients)
    sweep.field.put(case.start)
    before = sweep.field.stored()
    sweep.advance(STEP, steps, forcing)
    change = sweep.field.stored() - before
    turnover = np.abs(sweep.heat_entered()).sum() + abs(sources)
    assert turnover > 1
    assert abs(change - sweep.heat_entered().sum() - sources) < 1e-12 * turnover


@in_turn(
    ("name", "dtype"), [("uniform", np.float32), ("materials", np.float64), ("materials with heat a cell", np.float64)]
)
@in_turn("axis", [0, 1, 2])
def test_a_periodic_box_equals_two_of_it_side_by_side(axis: int, name: str, dtype: type) -> None:
    def twice(values: np.ndarray | None) -> np.ndarray | None:
        return None if values is None else np.concatenate([values, values], axis)

    periodic = tuple(axis == 2 - direction for direction in range(3))
    case = random_case((4, 5, 11), FEATURES[name], periodic=periodic, seed=8)
    doubled_start = np.concatenate([case.start, case.start], axis)
    doubled = Case(
        replace(case.coefficients, shape=doubled_start.shape, class_ids=twice(case.coefficients.class_ids)),
        replace(case.forcing, heat_field=twice(case.forcing.heat_field)),
        doubled_start,
    )
    once = outcome(cpu(case.coefficients, dtype), case, steps=7).field
    both = outcome(cpu(doubled.coefficients, dtype), doubled, steps=7).field
    assert same_bits(both, np.concatenate([once, once], axis))


def test_kinds_of_one_material_agree_with_a_uniform_one() -> None:
    dtype = np.float64
    uniform = random_case((5, 9, 16), FEATURES["uniform"], seed=9)
    class_ids = np.random.default_rng(9).integers(0, 3, uniform.coefficients.shape).astype(np.uint8)
    rates, capacity = uniform.coefficients.rates.repeat(3, axis=0), uniform.coefficients.capacity.repeat(3)
    coefficients = replace(uniform.coefficients, rates=rates, capacity=capacity, class_ids=class_ids)
    boundary = (np.repeat(values, 3, axis=1) for values in (uniform.forcing.boundary_a, uniform.forcing.boundary_b))
    # With sources, for whose kernels other tests wait anyway.
    several = Case(coefficients, Forcing(*boundary, np.full((1, 3), 0.5)), uniform.start)
    uniform = uniform._replace(forcing=replace(uniform.forcing, heat_table=np.full((1, 1), 0.5)))
    one, other = outcome(cpu(uniform.coefficients, dtype), uniform, 20), outcome(cpu(coefficients, dtype), several, 20)
    np.testing.assert_allclose(other.field, one.field, rtol=0, atol=100 * np.finfo(dtype).eps)
    np.testing.assert_allclose(other.heat_entered, one.heat_entered, rtol=0, atol=1e5 * np.finfo(dtype).eps)


def test_a_cosine_decays_in_an_insulated_box_by_the_factor_of_the_scheme() -> None:
    """cos(pi (i + 1/2) / n) is an eigenvector of the insulated second difference, with -4 sin^2(pi / 2n)."""
    shape, steps = (6, 10, 24), 200
    coefficients = StencilCoefficients(shape, np.repeat([[0.9, 0.5, 0.3]], 2, axis=1), np.ones(1))
    waves = [np.cos(np.pi * (np.arange(n) + 0.5) / n) for n in shape]
    mode = waves[0][:, None, None] * waves[1][:, None] * waves[2]
    sweep = cpu(coefficients)
    sweep.field.put(mode)
    sweep.advance(0.25, steps, Forcing.insulated(coefficients))
    rate = sum(
        e * 4 * np.sin(np.pi / (2 * n)) ** 2 for e, n in zip(coefficients.rates[0, ::2], reversed(shape), strict=True)
    )
    np.testing.assert_allclose(sweep.field.host(), mode * (1 - 0.25 * rate) ** steps, rtol=0, atol=1e-13)


def test_a_straight_profile_between_fixed_walls_is_steady() -> None:
    """Boundary faces lie half a cell beyond the outermost centres; with 0 and 1 there, cell i holds (i + 1/2)/n."""
    n = 33
    closed = (False, False, True, True, True, True)
    coefficients = StencilCoefficients((2, 3, n), np.ones((1, 6)), np.ones(1), closed=closed)
    insulated = Forcing.insulated(coefficients)
    boundary_a, boundary_b = insulated.boundary_a.copy(), insulated.boundary_b.copy()
    boundary_a[0, :2], boundary_b[0, 1] = -2.0, 2.0
    profile = np.broadcast_to((np.arange(n) + 0.5) / n, coefficients.shape)
    sweep = cpu(coefficients)
    sweep.field.put(profile)
    sweep.advance(0.1, 100, Forcing(boundary_a, boundary_b))
    np.testing.assert_allclose(sweep.field.host(), profile, rtol=0, atol=1e-14)
    through = 100 * 0.1 * 6 / n  # J: time * cells * exchange * difference between neighbours
    np.testing.assert_allclose(sweep.heat_entered(), [-through, through, 0, 0, 0, 0], rtol=1e-12)
