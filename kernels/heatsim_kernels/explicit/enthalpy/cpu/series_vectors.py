"""CPU: the exchange between cells of two materials, `enthalpy.cell.build_series`, in vectors of a cache line.

Rows are short here, often a single vector: loops that LLVM vectorises would do such rows cell by cell, as remainders.
"""

from __future__ import annotations

from contextlib import contextmanager

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from heatsim_kernels.device.cpu.pointers import CACHE_LINE, spread, vector_at, vector_fma


@intrinsic
def find_midway(typing_context, midway, midway1, T, T1, k, k1, numbers, half, lines):
    """The temperatures midway between the centres of cells and their interface, on both sides of it.

    Rows of so many cache lines: `midway` and `midway1`, to be written; T, T1 of the cells and of those beyond, and
    their conductivities. numbers: own, contact and other, see `build_series`.
    """

    def codegen(context, builder, signature, args):
        own, contact, other = _spread(context, builder, signature.args[0], args[6])
        half = spread(builder, args[7], _lanes(signature.args[0]))
        with _lines(builder, signature.args[0], args[8]) as at:
            T, T1, k, k1 = (_load(builder, row, at) for row in args[2:6])
            a, b = builder.fmul(own, k1), builder.fmul(other, k)
            resistance = _resistance(builder, own, contact, k, k1, b)
            halfway = builder.fmul(half, builder.fdiv(builder.fsub(T1, T), resistance))
            _store(builder, vector_fma(builder, halfway, a, T), args[0], at)
            _store(builder, vector_fma(builder, builder.fneg(halfway), b, T1), args[1], at)
        return context.get_dummy_value()

    row, real = midway, midway.dtype
    return types.void(row, row, row, row, row, row, types.UniTuple(real, 3), real, types.intp), codegen


@intrinsic
def fill_lines(typing_context, out, value, lines):
    """Put a number into all cells of so many cache lines."""

    def codegen(context, builder, signature, args):
        row = signature.args[0]
        everywhere = spread(builder, args[1], _lanes(row))
        with _lines(builder, row, args[2]) as at:
            _store(builder, everywhere, args[0], at)
        return context.get_dummy_value()

    return types.void(out, out.dtype, types.intp), codegen


@intrinsic
def add_exchange(typing_context, out, T, T1, k, k1, numbers, lines):
    """Add to `out` what passes between cells with these temperatures and conductivities midway: see `find_midway`."""

    def codegen(context, builder, signature, args):
        own, contact, other = _spread(context, builder, signature.args[0], args[5])
        with _lines(builder, signature.args[0], args[6]) as at:
            T, T1, k, k1, before = (_load(builder, row, at) for row in (*args[1:5], args[0]))
            resistance = _resistance(builder, own, contact, k, k1, builder.fmul(other, k))
            rate = builder.fdiv(builder.fmul(k, k1), resistance)
            _store(builder, vector_fma(builder, rate, builder.fsub(T1, T), before), args[0], at)
        return context.get_dummy_value()

    row = out
    return types.void(row, row, row, row, row, types.UniTuple(out.dtype, 3), types.intp), codegen


def _resistance(builder, own, contact, k, k1, b):
    """The resistances in series, times both conductivities."""
    return vector_fma(builder, builder.fmul(contact, k), k1, vector_fma(builder, own, k1, b))


def _spread(context, builder, row, numbers):
    """Vectors of three numbers."""
    return [spread(builder, value, _lanes(row)) for value in cgutils.unpack_tuple(builder, numbers, 3)]


def _lanes(row):
    return CACHE_LINE // (row.dtype.bitwidth // 8)


@contextmanager
def _lines(builder, row, count):
    """A loop over lines; gives where each starts, and its elements."""
    with cgutils.for_range(builder, count) as loop:
        yield builder.mul(loop.index, loop.index.type(_lanes(row))), _lanes(row)


def _load(builder, row, at):
    return builder.load(vector_at(builder, row, *at), align=_bytes(row))


def _store(builder, value, row, at):
    builder.store(value, vector_at(builder, row, *at), align=_bytes(row))


def _bytes(row):
    return 8 if isinstance(row.type.pointee, ir.DoubleType) else 4
