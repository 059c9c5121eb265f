"""CUDA: memory access that Numba's indexing does not give.

Neighbouring cells of a flat array move 16 bytes at a time: `ld.global.v4.f32` or `ld.global.v2.f64`, and the same for
stores, so a warp asks for 512 bytes with one instruction. What a kernel never writes is read as such (`ld.global.nc`):
the compiler may then read it early, and once for several uses, whatever is stored in between.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types, uint32

from heatsim_kernels.device.cuda.api import SIMULATED, inlined, intrinsic

CELLS = 4
ACCESS = 16  # bytes


def vector_length(dtype: Any) -> int:
    """Elements of 16 bytes."""
    return ACCESS // np.dtype(dtype).itemsize


if SIMULATED:

    @inlined
    def load4(array, i):
        """The four elements from array[i] on, as a tuple."""
        return array[i], array[i + 1], array[i + 2], array[i + 3]

    @inlined
    def store4(array, i, values):
        """Write a tuple of four to array[i] on."""
        for k in range(CELLS):
            array[i + k] = values[k]

    @inlined
    def constant(array, i):
        """array[i]."""
        return array[i]

    @inlined
    def constant6(array, i):
        """The six elements from array[i] on, as a tuple."""
        return array[i], array[i + 1], array[i + 2], array[i + 3], array[i + 4], array[i + 5]

    def load_vector(array, i):
        """The elements from array[i] on that make 16 bytes, as a tuple."""
        return tuple(array[i + k] for k in range(vector_length(array.dtype)))

    def store_vector(array, i, values):
        """Write a tuple to array[i] on."""
        for k, value in enumerate(values):
            array[i + k] = value

    def integers(count: int):
        """load(array, i) and parted(words): so many integers from array[i] on, and each of them."""
        return lambda array, i: tuple(array[i + k] for k in range(count)), lambda words, like: tuple(map(uint32, words))

else:

    def _data(context, builder, array_type, array):
        return context.make_array(array_type)(context, builder, array).data

    def _pieces(context, builder, array_type, array, i):
        """Pointers to the 16-byte pieces of four elements, each to a vector, and the length of these."""
        data = _data(context, builder, array_type, array)
        element = data.type.pointee
        width = ACCESS * 8 // array_type.dtype.bitwidth
        vector = ir.VectorType(element, width).as_pointer(data.type.addrspace)
        first = builder.gep(data, [i])
        starts = [builder.gep(first, [ir.Constant(ir.IntType(64), k)]) for k in range(0, CELLS, width)]
        return [builder.bitcast(start, vector) for start in starts], width

    def _lane(k):
        return ir.Constant(ir.IntType(32), k)

    @intrinsic
    def load4(typing_context, array, i):
        """The four elements from array[i] on, of an array that the kernel does not write, as a tuple; i is uint64."""
        result = types.UniTuple(array.dtype, CELLS)

        def codegen(context, builder, signature, args):
            pieces, width = _pieces(context, builder, signature.args[0], *args)
            vectors = [_invariant(builder, builder.load(piece, align=ACCESS)) for piece in pieces]
            values = [builder.extract_element(vector, _lane(k)) for vector in vectors for k in range(width)]
            return context.make_tuple(builder, result, values)

        return result(array, types.uint64), codegen

    @intrinsic
    def store4(typing_context, array, i, values):
        """Write a tuple of four to array[i] on; i is uint64."""

        def codegen(context, builder, signature, args):
            pieces, width = _pieces(context, builder, signature.args[0], args[0], args[1])
            for number, piece in enumerate(pieces):
                vector = ir.Constant(piece.type.pointee, ir.Undefined)
                for k in range(width):
                    value = builder.extract_value(args[2], number * width + k)
                    vector = builder.insert_element(vector, value, _lane(k))
                builder.store(vector, piece, align=ACCESS)
            return context.get_dummy_value()

        return types.void(array, types.uint64, types.UniTuple(array.dtype, CELLS)), codegen

    def _invariant(builder, load):
        load.set_metadata("invariant.load", builder.module.add_metadata([]))
        return load

    @intrinsic
    def constant(typing_context, array, i):
        """array[i], of an array that the kernel does not write; i is unsigned."""

        def codegen(context, builder, signature, args):
            index = context.cast(builder, args[1], signature.args[1], types.uint64)
            address = builder.gep(_data(context, builder, signature.args[0], args[0]), [index])
            return _invariant(builder, builder.load(address))

        return array.dtype(array, i), codegen

    @intrinsic
    def constant6(typing_context, array, i):
        """The six elements from array[i] on, of an array that the kernel does not write; i, uint64, is a multiple of
        eight."""
        result = types.UniTuple(array.dtype, 6)

        def codegen(context, builder, signature, args):
            first = builder.gep(_data(context, builder, array, args[0]), [args[1]])
            width = ACCESS * 8 // array.dtype.bitwidth
            values = []
            for k in range(0, 6, width):
                vector = ir.VectorType(first.type.pointee, min(width, 6 - k)).as_pointer(first.type.addrspace)
                piece = builder.bitcast(builder.gep(first, [ir.Constant(ir.IntType(64), k)]), vector)
                loaded = _invariant(builder, builder.load(piece, align=min(width, 6 - k) * ACCESS // width))
                values += [builder.extract_element(loaded, _lane(n)) for n in range(vector.pointee.count)]
            return context.make_tuple(builder, result, values)

        return result(array, types.uint64), codegen

    @intrinsic
    def load_vector(typing_context, array, i):
        """The elements from array[i] on that make 16 bytes, of an array that the kernel does not write, as a tuple; i,
        uint64, is a multiple of their number."""
        result = types.UniTuple(array.dtype, vector_length(array.dtype.name))

        def codegen(context, builder, signature, args):
            pieces, width = _pieces(context, builder, array, *args)
            vector = _invariant(builder, builder.load(pieces[0], align=ACCESS))
            return context.make_tuple(
                builder, result, [builder.extract_element(vector, _lane(k)) for k in range(width)]
            )

        return result(array, types.uint64), codegen

    @intrinsic
    def store_vector(typing_context, array, i, values):
        """Write a tuple of 16 bytes to array[i] on; i, uint64, is a multiple of their number."""

        def codegen(context, builder, signature, args):
            pieces, width = _pieces(context, builder, array, args[0], args[1])
            vector = ir.Constant(pieces[0].type.pointee, ir.Undefined)
            for k in range(width):
                vector = builder.insert_element(vector, builder.extract_value(args[2], k), _lane(k))
            builder.store(vector, pieces[0], align=ACCESS)
            return context.get_dummy_value()

        return types.void(array, types.uint64, values), codegen

    def integers(count: int):
        """load(array, i) and parted(words): so many unsigned integers from array[i] on, of an array that the kernel
        does not write, packed into registers as they are in memory, and each of them as uint32. i, uint64, is a
        multiple of `count`."""

        @intrinsic
        def load(typing_context, array, i):
            bits = array.dtype.bitwidth * count
            result = types.UniTuple(types.uint32, -(-bits // 32))

            def codegen(context, builder, signature, args):
                first = builder.gep(_data(context, builder, array, args[0]), [args[1]])
                if bits < 32:
                    word = builder.bitcast(first, ir.IntType(bits).as_pointer(first.type.addrspace))
                    loaded = _invariant(builder, builder.load(word, align=bits // 8))
                    return context.make_tuple(builder, result, [builder.zext(loaded, ir.IntType(32))])
                vector = ir.VectorType(ir.IntType(32), bits // 32).as_pointer(first.type.addrspace)
                loaded = _invariant(builder, builder.load(builder.bitcast(first, vector), align=bits // 8))
                words = [builder.extract_element(loaded, _lane(k)) for k in range(bits // 32)]
                return context.make_tuple(builder, result, words)

            return result(array, types.uint64), codegen

        @intrinsic
        def parted(typing_context, words, like):
            bits, result = like.dtype.bitwidth, types.UniTuple(types.uint32, count)

            def codegen(context, builder, signature, args):
                found = []
                for k in range(count):
                    word, shift = divmod(k * bits, 32)
                    value = builder.lshr(builder.extract_value(args[0], word), _lane(shift))
                    found.append(builder.and_(value, _lane(2**bits - 1)))
                return context.make_tuple(builder, result, found)

            return result(words, like), codegen

        return load, parted
