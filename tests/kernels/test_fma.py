from __future__ import annotations

import re
from fractions import Fraction
from importlib.util import find_spec

import numpy as np
import pytest
from heatsim_kernels.device.fma import exact_fma, fma, product
from helpers.arrays import FLOATS, same_bits
from helpers.in_turn import in_turn
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numba import config, njit, types

compiled = njit(lambda a, b, c: fma(a, b, c))


@njit
def multiply_add_each(a, b, c, out):  # type: ignore[no-untyped-def]
    for i in range(out.size):
        out[i] = fma(a[i], b[i], c[i])


def factors(width: int) -> st.SearchStrategy[float]:
    """Finite numbers whose product stays finite in their own precision; subnormal ones and products among them."""
    largest = 2.0 ** (60 if width == 32 else 500)
    return st.floats(-largest, largest, width=width)


def is_nearest(result: np.floating, exact: Fraction) -> bool:
    """Whether no neighbour of `result` lies closer to `exact`, and whether the even one won a tie."""
    error = abs(Fraction(float(result)) - exact)
    bits = int(result.view(np.uint32 if result.dtype == np.float32 else np.uint64))
    for towards in (-np.inf, np.inf):
        beside = abs(Fraction(float(np.nextafter(result, result.dtype.type(towards)))) - exact)
        if beside < error or (beside == error and bits % 2 == 1):
            return False
    return True


def check(kind: type, a: float, b: float, c: float) -> None:
    a, b, c = kind(a), kind(b), kind(c)
    plain = fma(a, b, c)
    assert type(plain) is kind
    assert same_bits(np.array(exact_fma(a, b, c)), np.array(plain))
    assert is_nearest(plain, Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c)))
    assert same_bits(np.array(kind(compiled(a, b, c))), np.array(plain))


@settings(max_examples=300)
@given(factors(64), factors(64), factors(64))
@example(1.0 + 2**-52, 1.0 - 2**-52, -1.0)  # the product rounds to 1, so an unfused form gives 0
@example(1.0 + 2**-52, 2**-53, 1.0 + 2**-52)  # just above a tie
@example(1.0, 2**-53, 1.0)  # a tie, to even below
@example(1.0, 2**-53, 1.0 + 2**-52)  # a tie, to even above
@example(5e-324, 0.5, 0.0)  # a tie between 0 and the least subnormal number
@example(-5e-324, 0.5, 0.0)
@example(3e-160, 1e-160, 5e-324)
@example(-0.0, 1.0, -0.0)
@example(0.0, -1.0, -0.0)
def test_float64_multiply_add_rounds_once_and_the_cpu_gives_the_same_bits(a: float, b: float, c: float) -> None:
    check(np.float64, a, b, c)


@settings(max_examples=300)
@given(factors(32), factors(32), factors(32))
@example(1.0 + 2**-23, 1.0 - 2**-23, -1.0)
@example(1.0, 2**-24, 1.0)
@example(1.0, 2**-24, 1.0 + 2**-23)
@example(1.0 + 2**-23, 2.0**-24, 1.0 + 2**-23)
@example(1.0 + 2**-12, (1.0 + 2**-12) * 2**-60, 1.0 + 2**-23)
@example(2.0**-24 + 2.0**-40, 1.0, 1.0)
@example(2.0**-12, 2.0**-12, 1.0)  # exactly a tie
@example(2.0**-12 * (1 + 2**-20), 2.0**-12 * (1 - 2**-20), 1.0)  # a tie only once rounded to float64: must go down
@example(2.0**-140, 0.25, 2.0**-149)
@example(2.0**-75, 2.0**-75, 0.0)  # a tie between 0 and the least subnormal number
@example(2.0**-75, -(2.0**-75) * (1 + 2**-23), 0.0)
@example(-0.0, 1.0, -0.0)
def test_float32_multiply_add_rounds_once_and_the_cpu_gives_the_same_bits(a: float, b: float, c: float) -> None:
    check(np.float32, a, b, c)


@pytest.mark.parametrize("kind", FLOATS)
def test_a_vectorised_loop_gives_the_bits_of_the_plain_form(kind: type) -> None:
    rng = np.random.default_rng(1)
    count = 1037  # whole vectors and a remainder
    a, b = rng.normal(size=(2, count)).astype(kind)
    c = (-a * b * rng.uniform(1 - 1e-6, 1 + 1e-6, count)).astype(kind)  # near cancellation, where fusing shows
    out = np.empty(count, kind)
    multiply_add_each(a, b, c, out)
    assert same_bits(out, np.array([fma(*each) for each in zip(a, b, c, strict=True)], kind))
    assert not same_bits(out, a * b + c)


@njit
def subtracted(a, b, c):  # type: ignore[no-untyped-def]
    return product(a, b) - c


@in_turn("other", FLOATS)
@in_turn("kind", FLOATS)
def test_a_product_is_rounded_before_it_is_added(kind: type, other: type) -> None:
    """(1 + e)^2 is rounded to 1 + 2 e; contracted to a multiply-add, the difference would be e^2."""
    wide = np.result_type(kind, other).type
    a, b = kind(1) + np.finfo(kind).eps, other(1) + np.finfo(other).eps
    assert type(product(a, b)) is wide
    assert subtracted(a, b, wide(a * b)) == 0


@pytest.mark.skipif(find_spec("numba_cuda") is None, reason="numba-cuda is not installed")
@pytest.mark.skipif(bool(config.ENABLE_CUDASIM), reason="the CUDA simulator compiles nothing")
@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_on_cuda_a_product_is_no_part_of_a_multiply_add(kind: str) -> None:
    from heatsim_kernels.device.cuda.api import cuda

    def kernel(x):  # type: ignore[no-untyped-def]
        x[0] = product(x[1], x[2]) + x[3]

    ptx = str(cuda.compile_ptx(kernel, types.void(getattr(types, kind)[::1]), cc=(9, 0))[0])
    assert re.search(r"mul\.rn\.f(32|64)", ptx)
    assert "fma.r" not in ptx
