"""`fma(a, b, c)`, a*b + c rounded once, and `product(a, b)`, a*b rounded by itself: the same bits on every target.

Compilers may or may not contract `a*b + c` to one multiply-add: NVVM does, LLVM on the CPU does not. A kernel that is
to give the same bits on both says which of the two it means. `fma` becomes LLVM's `llvm.fma`, which vectorises to
packed FMA instructions on the CPU. Called as plain Python, which is what the CUDA simulator does, it is that of the C
library, or computed exactly and then rounded. `product` is an ordinary multiplication on the CPU, and on CUDA PTX's
`mul.rn`, which is never contracted.
"""

import ctypes
import sys
from contextlib import suppress
from fractions import Fraction
from math import isfinite

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import lower_builtin, type_callable

_LARGEST = Fraction(sys.float_info.max)


def _functions_of_c():
    """C's multiply-adds by type, of the library that Python itself is linked to; none where that has no name."""
    found = {}
    with suppress(AttributeError, OSError, TypeError):
        library = ctypes.CDLL(None)
        for kind, name, real in ((np.float32, "fmaf", ctypes.c_float), (np.float64, "fma", ctypes.c_double)):
            function = getattr(library, name)
            function.argtypes, function.restype = (real,) * 3, real
            found[kind] = function
    return found


_OF_C = _functions_of_c()


def fma(a, b, c):
    """Return a*b + c with a single rounding; `a`, `b`, `c` are floats of one type, float32 or float64."""
    kind = type(c)
    if kind in _OF_C:
        return kind(_OF_C[kind](float(a), float(b), float(c)))
    return exact_fma(a, b, c)


def exact_fma(a, b, c):
    """As `fma`, by fractions."""
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


def product(a, b):
    """Return a*b, which no compiler contracts with an addition; of the wider type of the two, as in `a * b`."""
    return a * b


@type_callable(product)
def _type_product(context):
    def typer(a, b):
        if isinstance(a, types.Float) and isinstance(b, types.Float):
            return a if a.bitwidth >= b.bitwidth else b
        return None

    return typer


def _lower_product(context, builder, signature, args):
    kind = signature.return_type
    a, b = (context.cast(builder, value, given, kind) for value, given in zip(args, signature.args, strict=True))
    if "nvptx" not in builder.module.triple:
        return builder.fmul(a, b)
    name = {types.float32: "llvm.nvvm.mul.rn.f", types.float64: "llvm.nvvm.mul.rn.d"}[kind]
    function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(a.type, [a.type] * 2), name)
    return builder.call(function, [a, b])


# For both targets. Not overloads: what the CPU inlines is inlined into CUDA kernels too, which then lost an operand.
for _kind in (types.float32, types.float64):
    lower_builtin(fma, _kind, _kind, _kind)(_lower_fma)
    for _other in (types.float32, types.float64):
        lower_builtin(product, _kind, _other)(_lower_product)
