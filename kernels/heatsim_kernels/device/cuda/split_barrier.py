"""CUDA: a barrier of a block in two halves, in shared memory (`mbarrier`, capability 8.0).

    arrive(...)      what this warp has written is there for all
    ...              work that needs nothing of the other warps
    wait_for(...)    all warps have arrived

So a warp that comes late keeps others waiting only if they have nothing else to do. The barrier counts its phases: one
ends each time that all warps have arrived. A warp waits for a phase by whether its number is even or odd; it must not
be two phases behind.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types, uint32

from heatsim_kernels.device.cuda.api import SIMULATED, cuda, inlined, intrinsic

if SIMULATED:

    @inlined
    def make_barrier(board, at, warps):
        """See below, as for all of these: they are what the CUDA simulator runs. Nothing to do."""

    @inlined
    def arrive(board, at):
        """Nothing: all arrive where they wait."""

    @inlined
    def wait_for(board, at, odd):
        """A barrier of its own."""
        cuda.syncthreads()

else:
    from heatsim_kernels.device.cuda.async_copy import shared_address

    def _statement(text):
        """A device function (board, at, number): a statement about the barrier at board[at], uint64, and a number,
        uint32, which it may leave aside."""

        @intrinsic
        def call(typing_context, board, at, number):
            def codegen(context, builder, signature, args):
                place = builder.gep(context.make_array(board)(context, builder, args[0]).data, [args[1]])
                given = [shared_address(builder, place), args[2]]
                kind = ir.FunctionType(ir.VoidType(), [value.type for value in given])
                builder.call(ir.InlineAsm(kind, text, "r,r,~{memory}", side_effect=True), given)
                return context.get_dummy_value()

            return types.void(board, types.uint64, types.uint32), codegen

        return call

    _make = _statement("mbarrier.init.shared.b64 [$0], $1;")
    _arrive = _statement("{ .reg .b64 state; mbarrier.arrive.shared.b64 state, [$0]; }")
    _wait = _statement("{ .reg .pred ended; again: mbarrier.test_wait.parity.shared.b64 ended, [$0], $1;"
                       " @!ended bra again; }")  # fmt: skip

    @inlined
    def make_barrier(board, at, warps):
        """Make the barrier at board[at] for so many warps, the first of which does so before all meet once."""
        if cuda.threadIdx.x == 0 and cuda.threadIdx.y == 0:
            _make(board, at, uint32(warps))

    @inlined
    def arrive(board, at):
        """Say that this warp, whose lanes must call it together, has come so far."""
        cuda.syncwarp()
        if cuda.threadIdx.x == 0:
            _arrive(board, at, uint32(0))

    @inlined
    def wait_for(board, at, odd):
        """Wait until the last phase has ended whose number is odd (1) or even (0), as uint32 says."""
        _wait(board, at, odd)
