"""CUDA: rows of cells copied from memory to shared memory while the lanes of a warp go on (`cp.async`, capability 8.0).

A lane that later reads what it asked for itself needs no barrier: it waits for its own fetches, and sees what came.
Factories as in `device/cuda/register_tuples.py`; rows as in `device/cuda/warp_rows.py`.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from heatsim_kernels.device.cuda.api import SIMULATED, intrinsic

ACCESS = 16  # bytes of the widest copy
SHARED = 3  # the address space of shared memory

if SIMULATED:

    def fetch_rows(columns: int, aligned: bool, stride: int):
        """See below, as for all of these: they are what the CUDA simulator runs. Here at once."""

        def call(board, at, array, start, offsets):
            for number, offset in enumerate(offsets):
                for k in range(columns):
                    board[at + np.uint64(number * stride + k)] = array[start + np.uint64(offset + k)]

        return call

    def fetch_bytes(count: int):
        """At once, into as many elements."""

        def call(board, at, array, start):
            for k in range(count):
                board[at + np.uint64(k)] = array[start + np.uint64(k)]

        return call

    def wait_for_fetches(pending: int):
        """Nothing to wait for."""
        return lambda: None

    def end_fetch():
        """Nothing to do."""

else:
    from heatsim_kernels.device.cuda.warp_rows import row_pieces

    def fetch_rows(columns: int, aligned: bool, stride: int):
        """call(board, at, array, start, offsets): have row r, from array[start + offset] on, copied to shared memory at
        board[at + r * stride], without waiting for it (`cp.async`); `at` and `start` are uint64, offsets uint32."""

        @intrinsic
        def call(typing_context, board, at, array, start, offsets):
            def codegen(context, builder, signature, args):
                shared = context.make_array(board)(context, builder, args[0]).data
                first = builder.gep(shared, [args[1]])
                kind = ir.FunctionType(ir.VoidType(), [ir.IntType(32), ir.IntType(64)])
                for number, offset in enumerate(cgutils.unpack_tuple(builder, args[4])):
                    target = builder.gep(first, [ir.Constant(ir.IntType(64), number * stride)])
                    pieces = row_pieces(context, builder, array, args[2:4], offset, columns, aligned)
                    for part, (source, width, size) in enumerate(pieces):
                        to = builder.gep(target, [ir.Constant(ir.IntType(64), part * width)])
                        copy = ir.InlineAsm(
                            kind, f"cp.async.ca.shared.global [$0], [$1], {size};", "r,l", side_effect=True
                        )
                        builder.call(copy, [shared_address(builder, to), builder.ptrtoint(source, ir.IntType(64))])
                return context.get_dummy_value()

            return types.void(board, types.uint64, array, types.uint64, offsets), codegen

        return call

    def fetch_bytes(count: int):
        """call(board, at, array, start): the same for so many bytes from array[start] on, a multiple of 8 of them."""

        @intrinsic
        def call(typing_context, board, at, array, start):
            def codegen(context, builder, signature, args):
                bytes_ = ir.IntType(8).as_pointer
                to = builder.gep(context.make_array(board)(context, builder, args[0]).data, [args[1]])
                source = builder.gep(context.make_array(array)(context, builder, args[2]).data, [args[3]])
                kind = ir.FunctionType(ir.VoidType(), [ir.IntType(32), ir.IntType(64)])
                size = ACCESS if count % ACCESS == 0 else 8
                for first in range(0, count, size):
                    offset = [ir.Constant(ir.IntType(64), first)]
                    target = builder.gep(builder.bitcast(to, bytes_(to.type.addrspace)), offset)
                    origin = builder.ptrtoint(builder.gep(source, offset), ir.IntType(64))
                    copy = ir.InlineAsm(kind, f"cp.async.ca.shared.global [$0], [$1], {size};", "r,l", side_effect=True)
                    builder.call(copy, [shared_address(builder, target), origin])
                return context.get_dummy_value()

            return types.void(board, types.uint64, array, types.uint64), codegen

        return call

    def shared_address(builder, pointer):
        """A pointer as instructions take it, which tell shared memory by 32 bits."""
        inside = pointer if pointer.type.addrspace == SHARED else builder.addrspacecast(pointer, _in_shared(pointer))
        return builder.ptrtoint(inside, ir.IntType(32))

    def _in_shared(pointer):
        return pointer.type.pointee.as_pointer(SHARED)

    def _statement(text, clobbers=""):
        """A device function without arguments that is one instruction."""

        @intrinsic
        def call(typing_context):
            def codegen(context, builder, signature, args):
                kind = ir.FunctionType(ir.VoidType(), [])
                builder.call(ir.InlineAsm(kind, text, clobbers, side_effect=True), [])
                return context.get_dummy_value()

            return types.void(), codegen

        return call

    end_fetch = _statement("cp.async.commit_group;")  # what was fetched since the last one counts as one fetch

    def wait_for_fetches(pending: int):
        """call(): wait until no more than so many fetches of this thread are under way; it then sees what came."""
        return _statement(f"cp.async.wait_group {pending};", "~{memory}")
