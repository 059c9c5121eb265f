"""`fma(a, b, c)`: a*b + c rounded once, on every target.

Compilers may or may not contract `a*b + c`; writing the multiply-add out is what makes all kernels give the same bits.
It becomes LLVM's `llvm.fma` on the CPU, which vectorises to packed FMA instructions, and on CUDA; called as plain
Python, which is what the CUDA simulator does, it is computed exactly and then rounded.
"""

import sys
from fractions import Fraction
from math import isfinite

import numpy as np
from numba import types
from numba.extending import lower_builtin, type_callable

_LARGEST = Fraction(sys.float_info.max)


def fma(a, b, c):
    """Return a*b + c with a single rounding; `a`, `b`, `c` are floats of one type, float32 or float64."""
    if not (isfinite(a) and isfinite(b) and isfinite(c)):
        return a * b + c  # what is not finite has no rounding
    exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    if exact == 0:
        return a * b + c  # exact too, and with the sign that a zero has and a fraction has not
    return _round(exact, type(c))


def _round(exact, kind):
    """Round a fraction to `kind` (float64 or float32) once: to nearest, ties to even."""
    if abs(exact) > _LARGEST:
        return kind(np.inf if exact > 0 else -np.inf)
    nearest = float(exact)  # int / int is correctly rounded in Python
    if kind is not np.float32:
        return kind(nearest)
    if Fraction(nearest) != exact and np.float64(nearest).view(np.uint64) & np.uint64(1) == 0:
        # Round to odd first, so that rounding to float32 afterwards does not round twice.
        nearest = np.nextafter(nearest, np.inf if exact > Fraction(nearest) else -np.inf)
    return np.float32(nearest)


@type_callable(fma)
def _type_fma(context):
    def typer(a, b, c):
        return a if isinstance(a, types.Float) and a == b == c else None

    return typer


def _lower_fma(context, builder, signature, args):
    return builder.fma(*args)


# For both targets. Not an overload: what the CPU inlines is inlined into CUDA kernels too, which then lost an operand.
for _kind in (types.float32, types.float64):
    lower_builtin(fma, _kind, _kind, _kind)(_lower_fma)
