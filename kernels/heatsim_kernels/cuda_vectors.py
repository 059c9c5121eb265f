"""CUDA: memory access that Numba's indexing does not give.

Four neighbouring cells of a flat array move 16 bytes at a time: `ld.global.v4.f32` or two `ld.global.v2.f64`, and the
same for stores, so a warp asks for 512 bytes with one instruction. `constant` reads what the kernel never writes
(`ld.global.nc`): the compiler may then read it once for several uses, whatever is stored in between.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types, uint32

from .cuda_api import SIMULATED, inlined, intrinsic

CELLS = 4
ACCESS = 16  # bytes

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
    def load4_bytes(array, i):
        """The four bytes from array[i] on as one number, the first lowest."""
        return uint32(
            uint32(array[i])
            | uint32(array[i + 1]) << uint32(8)
            | uint32(array[i + 2]) << uint32(16)
            | uint32(array[i + 3]) << uint32(24)
        )

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
        """The four elements from array[i] on, as a tuple; i is uint64."""
        result = types.UniTuple(array.dtype, CELLS)

        def codegen(context, builder, signature, args):
            pieces, width = _pieces(context, builder, signature.args[0], *args)
            vectors = [builder.load(piece, align=ACCESS) for piece in pieces]
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
    def load4_bytes(typing_context, array, i):
        """The four bytes from array[i] on as one number, the first lowest; a 4-byte boundary, never written; i is
        uint64."""

        def codegen(context, builder, signature, args):
            address = builder.gep(_data(context, builder, signature.args[0], args[0]), [args[1]])
            word = ir.IntType(32).as_pointer(address.type.addrspace)
            return _invariant(builder, builder.load(builder.bitcast(address, word), align=CELLS))

        return types.uint32(array, types.uint64), codegen
