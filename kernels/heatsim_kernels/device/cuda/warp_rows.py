"""CUDA: rows of cells that a lane of a warp holds in registers, as one flat tuple; the next lane holds those beside.

        lane 0   lane 1   lane 2
    row [ a b ]  [ c d ]  [ e f ]     a lane holds `columns` neighbouring cells of several rows, and moves each
    row [ g h ]  [ i j ]  [ k l ]     row with accesses of up to 16 bytes, a warp a stretch of memory

Factories as in `device/cuda/register_tuples.py`. `aligned` tells that rows start on multiples of their length (up to 16
bytes); without it they move cell by cell.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from heatsim_kernels.device.cuda.api import SIMULATED, cuda, inlined, intrinsic
from heatsim_kernels.device.cuda.register_tuples import rows_of

WARP = 4 if SIMULATED else 32  # lanes
ACCESS = 16  # bytes of the widest load

if SIMULATED:

    def load_rows(columns: int, aligned: bool):
        """See below, as for all of these: they are what the CUDA simulator runs."""
        return lambda array, start, offsets: tuple(
            array[start + np.uint64(offset + k)] for offset in offsets for k in range(columns)
        )

    def store_rows(columns: int, aligned: bool):
        """Rows chosen by bits."""

        def call(array, start, offsets, cells, chosen):
            for number, (offset, row) in enumerate(zip(offsets, rows_of(cells, columns), strict=True)):
                if int(chosen) >> number & 1:
                    for k, value in enumerate(row):
                        array[start + np.uint64(offset + k)] = value

        return call

    store_field_rows = store_rows

    def load_bytes(count: int):
        """One from each element; what was never written may be no byte."""

        def byte(value):
            return np.uint32(value if 0 <= value < 256 else 0)

        return lambda board, at: tuple(byte(board[at + np.uint64(k)]) for k in range(count))

    def everywhere(flag):
        """A lane may go its own way."""
        return flag

    @inlined
    def thread_anew():
        """The thread's index."""
        return np.int32(cuda.threadIdx.x), np.int32(cuda.threadIdx.y)

    @inlined
    def anew(value):
        """As it is."""
        return value

    def from_neighbours(columns: int):
        """By way of shared memory."""

        @inlined
        def call(cells):
            held = cuda.shared.array((64, 2, 64), types.float64)
            x, rows, kind = cuda.threadIdx.x, rows_of(cells, columns), type(cells[0])
            me = cuda.threadIdx.y * WARP + x
            held[me, 0, : len(rows)] = [row[0] for row in rows]
            held[me, 1, : len(rows)] = [row[-1] for row in rows]
            cuda.syncthreads()  # the neighbours' ends are read, which they have put there
            left = held[me - (x > 0), 1, : len(rows)].copy()
            right = held[me + (x < WARP - 1), 0, : len(rows)].copy()
            cuda.syncthreads()  # the next call takes the same memory: all must have read their neighbours' ends
            return tuple(map(kind, left)), tuple(map(kind, right))

        return call

else:

    def load_rows(columns: int, aligned: bool):
        """call(array, start, offsets): the rows from each array[start + offset] on; start uint64, offsets uint32."""

        @intrinsic
        def call(typing_context, array, start, offsets):
            result = types.UniTuple(array.dtype, columns * len(offsets))

            def codegen(context, builder, signature, args):
                found = []
                for offset in cgutils.unpack_tuple(builder, args[2]):
                    for piece, width, align in row_pieces(context, builder, array, args, offset, columns, aligned):
                        vector = builder.load(piece, align=align)
                        found += [builder.extract_element(vector, _int32(k)) for k in range(width)]
                return context.make_tuple(builder, result, found)

            return result(array, types.uint64, offsets), codegen

        return call

    def store_rows(columns: int, aligned: bool):
        """call(array, start, offsets, cells, chosen): write row r where bit r of `chosen`, uint32, is set."""
        return _storing(columns, aligned, _place_of)

    def store_field_rows(columns: int, aligned: bool):
        """The same for an array in global memory. One address serves all rows, as the compiler is not to see: it would
        find each anew."""
        return _storing(columns, aligned, _opaque_place_of)

    def _storing(columns, aligned, place_of):
        """`store_rows`; place_of(context, builder, array, args): a pointer to array[start]."""

        @intrinsic
        def call(typing_context, array, start, offsets, cells, chosen):
            def codegen(context, builder, signature, args):
                first = place_of(context, builder, array, args)
                rows = rows_of(cgutils.unpack_tuple(builder, args[3]), columns)
                for number, offset in enumerate(cgutils.unpack_tuple(builder, args[2])):
                    bit = builder.and_(args[4], _int32(1 << number))
                    with builder.if_then(builder.icmp_unsigned("!=", bit, _int32(0))):
                        row = iter(rows[number])
                        for piece, width, align in _pieces(builder, first, array, offset, columns, aligned):
                            vector = ir.Constant(piece.type.pointee, ir.Undefined)
                            for k in range(width):
                                vector = builder.insert_element(vector, next(row), _int32(k))
                            builder.store(vector, piece, align=align)
                return context.get_dummy_value()

            return types.void(array, types.uint64, offsets, cells, types.uint32), codegen

        return call

    def load_bytes(count: int):
        """call(board, at): `count` bytes from board[at] on, uint32, whatever the type of its elements; a multiple of 8
        of them is read."""

        @intrinsic
        def call(typing_context, board, at):
            result = types.UniTuple(types.uint32, count)

            def codegen(context, builder, signature, args):
                words = _words_of_bytes(context, builder, board, args, count)
                found = [
                    builder.and_(builder.lshr(words[k // 4], _int32(8 * (k % 4))), _int32(0xFF)) for k in range(count)
                ]
                return context.make_tuple(builder, result, found)

            return result(board, types.uint64), codegen

        return call

    def _words_of_bytes(context, builder, board, args, count):
        """The words of 4 bytes that `count` bytes from an element of the board on lie in, in pairs."""
        start = builder.gep(context.make_array(board)(context, builder, args[0]).data, [args[1]])
        vector = ir.VectorType(ir.IntType(32), 2)
        pairs = builder.bitcast(start, vector.as_pointer(start.type.addrspace))
        words = []
        for number in range(-(-count // 8)):
            pair = builder.load(builder.gep(pairs, [_int32(number)]), align=8)
            words += [builder.extract_element(pair, _int32(k)) for k in range(2)]
        return words

    @inlined
    def everywhere(flag):
        """Whether it is true in all lanes of a warp, which must call it together."""
        return cuda.all_sync(0xFFFFFFFF, flag)

    def row_pieces(context, builder, array_type, args, offset, columns, aligned):
        """The accesses of a row of `array`, given (array, start, ...): pointer to a vector, its length, its bytes."""
        return _pieces(builder, _place_of(context, builder, array_type, args), array_type, offset, columns, aligned)

    def _pieces(builder, first, array_type, offset, columns, aligned):
        """`row_pieces` of a row that is so far from the element to which `first` points."""
        size = array_type.dtype.bitwidth // 8
        width = min(columns, ACCESS // size) if aligned else 1
        vector = ir.VectorType(first.type.pointee, width).as_pointer(first.type.addrspace)
        row = builder.gep(first, [builder.zext(offset, ir.IntType(64))])
        for k in range(0, columns, width):
            yield builder.bitcast(builder.gep(row, [ir.Constant(ir.IntType(64), k)]), vector), width, width * size

    def _place_of(context, builder, array_type, args):
        """A pointer to array[start], given (array, start, ...)."""
        return builder.gep(context.make_array(array_type)(context, builder, args[0]).data, [args[1]])

    def _opaque_place_of(context, builder, array_type, args):
        """The same to an element in global memory, of which the compiler does not see what it is made of."""
        place, long = _place_of(context, builder, array_type, args), ir.IntType(64)
        in_global = builder.addrspacecast(place, place.type.pointee.as_pointer(1))
        same = ir.InlineAsm(ir.FunctionType(long, [long]), "mov.u64 $0, $1;", "=l,l")
        return builder.inttoptr(builder.call(same, [builder.ptrtoint(in_global, long)]), in_global.type)

    @intrinsic
    def thread_anew(typing_context):
        """threadIdx.x and .y, int32, read here: the compiler keeps nothing made of them in registers until then."""
        result = types.UniTuple(types.int32, 2)

        def codegen(context, builder, signature, args):
            kind = ir.FunctionType(ir.IntType(32), [])
            read = [ir.InlineAsm(kind, f"mov.u32 $0, %tid.{axis};", "=r", side_effect=True) for axis in "xy"]
            return context.make_tuple(builder, result, [builder.call(each, []) for each in read])

        return result(), codegen

    @intrinsic
    def anew(typing_context, value):
        """A value, int32, that the compiler takes for another one: what is made of it is made here, not kept."""

        def codegen(context, builder, signature, args):
            word = ir.IntType(32)
            same = ir.InlineAsm(ir.FunctionType(word, [word]), "mov.u32 $0, $1;", "=r,r", side_effect=True)
            return builder.call(same, args)

        return types.int32(types.int32), codegen

    def from_neighbours(columns: int):
        """call(cells): for each row the cell that the lane to the left holds beside it, and the same for the right.

        The first and the last lane of a warp get some value. All lanes must call it together.
        """

        @intrinsic
        def call(typing_context, cells):
            side = types.UniTuple(cells.dtype, len(cells) // columns)
            result = types.UniTuple(side, 2)

            def codegen(context, builder, signature, args):
                rows = rows_of(cgutils.unpack_tuple(builder, args[0]), columns)
                left = [_shuffled(builder, row[-1], "up", 0) for row in rows]
                right = [_shuffled(builder, row[0], "down", 31) for row in rows]
                both = [context.make_tuple(builder, side, values) for values in (left, right)]
                return context.make_tuple(builder, result, both)

            return result(cells), codegen

        return call

    def _shuffled(builder, value, way, last):
        """What the next lane on one side has as `value`, a float or a double."""
        word = ir.IntType(32)
        name = f"llvm.nvvm.shfl.sync.{way}.i32"
        shuffle = cgutils.get_or_insert_function(builder.module, ir.FunctionType(word, [word] * 4), name)

        def moved(bits):
            return builder.call(shuffle, [_int32(0xFFFFFFFF), bits, _int32(1), _int32(last)])

        if value.type == ir.FloatType():
            return builder.bitcast(moved(builder.bitcast(value, word)), value.type)
        words = builder.bitcast(value, ir.VectorType(word, 2))
        for k in range(2):
            words = builder.insert_element(words, moved(builder.extract_element(words, _int32(k))), _int32(k))
        return builder.bitcast(words, value.type)

    def _int32(value):
        return ir.Constant(ir.IntType(32), value)
