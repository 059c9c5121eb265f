"""CPU: values as wide as a vector register, for loops that LLVM does not vectorise by itself.

A sum over a mask is a chain of multiply-adds, and LLVM vectorises innermost loops alone, which here would be that
chain. So the vector is written out: a `Vector` is one register of neighbouring elements, and `taps` adds one element of
a mask to a block of them, `rows` x `columns` vectors that stay in registers while a loop goes over the mask.
"""

from __future__ import annotations

import llvmlite.binding
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model

from heatsim_kernels.device.cpu.pointers import CACHE_LINE, alias_scopes, spread, vector_at, vector_fma, word

VECTOR_BYTES = 64 if llvmlite.binding.get_host_cpu_features().get("avx512f") else 32


class Vector(types.Type):
    """Neighbouring elements of one type, a register full."""

    def __init__(self, dtype):
        self.dtype, self.lanes = dtype, VECTOR_BYTES * 8 // dtype.bitwidth
        super().__init__(f"Vector({dtype} x {self.lanes})")


@register_model(Vector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, ir.VectorType(manager[kind.dtype].get_value_type(), kind.lanes))


def zeros(count):
    """An intrinsic zero(start): `count` vectors of zeros, of the type that the pointer points to."""

    @intrinsic
    def zero(typing_context, start):
        result = types.UniTuple(Vector(start.dtype), count)

        def codegen(context, builder, signature, args):
            return context.make_tuple(builder, result, [context.get_constant_null(result.dtype)] * count)

        return result(start), codegen

    return zero


def taps(rows, columns, first, last):
    """An intrinsic tap(sums, source, weight, below) that adds one element of a mask to a block of sums.

    `sums` are rows x columns vectors, row by row. `source` points to the elements under the block's first row as the
    mask lies there, `weight` to the weight for row `first`; each further row, up to `last`, takes the weight `below`
    elements before, since the mask lies a row higher for it.
    """

    @intrinsic
    def tap(typing_context, sums, source, weight, below):
        kind = sums.dtype

        def codegen(context, builder, signature, args):
            values, start, weights, step = args
            read, written = alias_scopes(builder.module)
            vectors = []
            for column in range(columns):
                vector = builder.load(
                    vector_at(builder, start, word(column * kind.lanes), kind.lanes), align=_align(kind)
                )
                vector.set_metadata("alias.scope", read)
                vector.set_metadata("noalias", written)
                vectors.append(vector)
            new = [builder.extract_value(values, number) for number in range(rows * columns)]
            for row in range(first, last + 1):
                factor = builder.load(builder.gep(weights, [builder.mul(step, word(first - row))]))
                splat = spread(builder, factor, kind.lanes)
                for column, vector in enumerate(vectors):
                    number = row * columns + column
                    new[number] = vector_fma(builder, splat, vector, new[number])
            return context.make_tuple(builder, sums, new)

        return sums(sums, source, weight, types.intp), codegen

    return tap


def puts(columns, row):
    """An intrinsic put(sums, target, stream): write one row of a block of vectors to where `target` points.

    With `stream` it goes past the cache, and `target` starts a cache line.
    """

    @intrinsic
    def put(typing_context, sums, target, stream):
        kind = sums.dtype

        def codegen(context, builder, signature, args):
            vectors = [builder.extract_value(args[0], row * columns + column) for column in range(columns)]
            hint = builder.module.add_metadata([ir.Constant(ir.IntType(32), 1)])
            read, written = alias_scopes(builder.module)
            with builder.if_else(cgutils.as_bool_bit(builder, args[2])) as (streamed, stored):
                for branch, streaming in ((streamed, True), (stored, False)):
                    with branch:
                        for column, vector in enumerate(vectors):
                            place = vector_at(builder, args[1], word(column * kind.lanes), kind.lanes)
                            done = builder.store(vector, place, align=CACHE_LINE if streaming else _align(kind))
                            done.set_metadata("alias.scope", written)
                            done.set_metadata("noalias", read)
                            if streaming:
                                done.set_metadata("nontemporal", hint)
            return context.get_dummy_value()

        return types.void(sums, target, types.boolean), codegen

    return put


def _align(kind):
    return kind.dtype.bitwidth // 8


@intrinsic
def at_address(typing_context, address, like):
    """A pointer of the type of `like` to an address."""

    def codegen(context, builder, signature, args):
        return builder.inttoptr(args[0], context.get_value_type(signature.return_type))

    return like(types.int64, like), codegen


@intrinsic
def address_of(typing_context, start):
    """Where a pointer points, as a number."""

    def codegen(context, builder, signature, args):
        return builder.ptrtoint(args[0], ir.IntType(64))

    return types.int64(start), codegen


@intrinsic
def zero(typing_context, like):
    """Zero, of the type that a pointer points to."""

    def codegen(context, builder, signature, args):
        return context.get_constant_null(signature.return_type)

    return like.dtype(like), codegen
