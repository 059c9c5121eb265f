"""CPU: some pixels of a row for some filters, every sum in a vector register.

              pixels: 3 vectors            a weight, spread over a vector, meets 3 vectors of pixels;
    weight 0  s s s                        a vector of pixels meets up to 8 weights: 24 multiply-adds
    weight 1  s s s                        for 3 loads of pixels and 8 of weights, enough that
    ...                                    the loads keep up, with 24 of AVX-512's 32 registers

LLVM vectorises the innermost loop alone and keeps no such patch in registers by itself, so the instructions are
written out. Source: Goto and van de Geijn, Anatomy of high-performance matrix multiplication, ACM TOMS 2008; the pixels
are read where they lie (offsets), as in Dukhan, The indirect convolution algorithm, 2019.
"""

from __future__ import annotations

from llvmlite import binding, ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

_WIDE = bool(binding.get_host_cpu_features().get("avx512f"))
VECTOR = 64 if _WIDE else 32  # bytes
FILTERS = 8 if _WIDE else 4  # in a patch, at most: a power of two
VECTORS = 3  # of pixels in a patch, side by side


def lanes(itemsize: int) -> int:
    """Pixels in a vector."""
    return VECTOR // itemsize


@intrinsic(prefer_literal=True)
def respond(typing_context, target, plane, pixels, offsets, weights, bias, depth, filters, vectors):
    """Write bias[k] + sum over t < depth of weights[t filters + k] pixels[offsets[t] + i], in the order of t, to
    target[k plane + i], for all k < filters and i < vectors lanes. `filters` and `vectors` are literal numbers."""
    if not (isinstance(filters, types.IntegerLiteral) and isinstance(vectors, types.IntegerLiteral)):
        return None
    size = filters.literal_value, vectors.literal_value

    def codegen(context, builder, signature, args):
        target, plane, pixels, offsets, weights, bias, depth, _, _ = args
        sums = _begin(builder, bias, size)
        with cgutils.for_range(builder, depth) as loop:
            first = builder.gep(pixels, [builder.load(builder.gep(offsets, [loop.index]))])
            factors = builder.gep(weights, [builder.mul(loop.index, _word(size[0]))])
            row = [builder.load(_vector_at(builder, first, v), align=_bytes(first)) for v in range(size[1])]
            for k, line in enumerate(sums):
                factor = _spread(builder, builder.load(builder.gep(factors, [_word(k)])))
                for total, value in zip(line, row, strict=True):
                    builder.store(_fma(builder, factor, value, builder.load(total)), total)
        for k, line in enumerate(sums):
            first = builder.gep(target, [builder.mul(plane, _word(k))])
            for v, total in enumerate(line):
                builder.store(builder.load(total), _vector_at(builder, first, v), align=_bytes(first))
        return context.get_dummy_value()

    word = types.intp
    return types.void(target, word, pixels, offsets, weights, bias, word, filters, vectors), codegen


def _begin(builder, bias, size):
    """The sums, [filter][vector], at their bias; variables that LLVM keeps in registers."""
    sums = []
    for k in range(size[0]):
        start = _spread(builder, builder.load(builder.gep(bias, [_word(k)])))
        line = [cgutils.alloca_once(builder, start.type) for _ in range(size[1])]
        for total in line:
            builder.store(start, total)
        sums.append(line)
    return sums


def _spread(builder, value):
    """A vector of one value."""
    kind = ir.VectorType(value.type, VECTOR // _bytes_of(value.type))
    one = builder.insert_element(ir.Constant(kind, ir.Undefined), value, ir.Constant(ir.IntType(32), 0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), kind.count), None)
    return builder.shuffle_vector(one, ir.Constant(kind, ir.Undefined), zeros)


def _fma(builder, a, b, c):
    bits = 8 * _bytes_of(a.type.element)
    name = f"llvm.fma.v{a.type.count}f{bits}"
    return builder.call(
        cgutils.get_or_insert_function(builder.module, ir.FunctionType(a.type, [a.type] * 3), name), (a, b, c)
    )


def _vector_at(builder, start, number):
    """Pointer to vector `number` from `start` on."""
    element = start.type.pointee
    kind = ir.VectorType(element, VECTOR // _bytes_of(element))
    return builder.bitcast(builder.gep(start, [_word(number * kind.count)]), kind.as_pointer())


def _bytes(pointer):
    return _bytes_of(pointer.type.pointee)


def _bytes_of(element):
    return 8 if isinstance(element, ir.DoubleType) else 4


def _word(value):
    return ir.Constant(ir.IntType(64), value)
