"""CUDA: tuples of registers, and operations on all of a tuple in one call.

A kernel that names each of its registers and multiply-adds in its source has Numba infer a type for each, which takes
minutes for a 9 x 9 mask. Here a tuple is one name, and loops over it run while the code is generated.
"""

from __future__ import annotations

from heatsim_kernels.cuda_api import SIMULATED, intrinsic
from heatsim_kernels.fma import fma

if not SIMULATED:
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils


def row_adder(meets: tuple[tuple[int, int], ...], width: int, columns: int):
    """The device function add(sums, values, mask).

    `sums` are rows of `columns` unfinished results, `meets` the pairs of a row of them and the row of the mask that it
    meets. `values` are the columns + width - 1 elements under the mask as it goes over the columns; `mask` has rows of
    `width` weights, one after another.
    """

    def added(sums, values, mask, multiply_add):
        new = list(sums)
        for s, m in meets:
            for k in range(width):
                for column in range(columns):
                    at = s * columns + column
                    new[at] = multiply_add(mask[m * width + k], values[column + k], new[at])
        return new

    if SIMULATED:
        return lambda sums, values, mask: tuple(added(sums, values, mask, fma))

    @intrinsic
    def add(typing_context, sums, values, mask):
        def codegen(context, builder, signature, args):
            unpacked = (cgutils.unpack_tuple(builder, each) for each in args)
            return context.make_tuple(builder, sums, added(*unpacked, builder.fma))

        return sums(sums, values, mask), codegen

    return add


def regrouped(pick):
    """The device function call(*tuples) that gives `pick(*tuples)`, where `pick` chooses from tuples and joins them."""
    if SIMULATED:
        return pick

    @intrinsic
    def call(typing_context, *tuples):
        result = types.UniTuple(tuples[0].dtype, len(pick(*((None,) * len(each) for each in tuples))))

        def codegen(context, builder, signature, args):
            packed = cgutils.unpack_tuple(builder, args[0], len(tuples))
            return context.make_tuple(builder, result, pick(*(tuple(cgutils.unpack_tuple(builder, p)) for p in packed)))

        return result(types.StarArgTuple.from_types(tuples)), codegen

    return call


def collected(count: int, function, real):
    """The device function call(*args) that gives the tuple of function(k, *args) for k below `count`, all `real`."""
    if SIMULATED:
        return lambda *args: tuple(function(k, *args) for k in range(count))

    @intrinsic
    def call(typing_context, *args):
        result = types.UniTuple(real, count)

        def codegen(context, builder, signature, values):
            unpacked = cgutils.unpack_tuple(builder, values[0], len(args))
            places = (ir.Constant(ir.IntType(64), k) for k in range(count))
            kind = real(types.int64, *args)
            return context.make_tuple(
                builder, result, [context.compile_internal(builder, function, kind, [k, *unpacked]) for k in places]
            )

        return result(types.StarArgTuple.from_types(args)), codegen

    return call


def mapped(function, real):
    """The device function call(items, *args) that gives the tuple of function(item, *args), all `real`."""
    if SIMULATED:
        return lambda items, *args: tuple(function(item, *args) for item in items)

    @intrinsic
    def call(typing_context, items, *args):
        result = types.UniTuple(real, len(items))

        def codegen(context, builder, signature, values):
            unpacked = cgutils.unpack_tuple(builder, values[1], len(args))
            kind = real(items.dtype, *args)
            found = [
                context.compile_internal(builder, function, kind, [item, *unpacked])
                for item in cgutils.unpack_tuple(builder, values[0])
            ]
            return context.make_tuple(builder, result, found)

        return result(items, types.StarArgTuple.from_types(args)), codegen

    return call
