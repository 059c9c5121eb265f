"""CUDA: an element of an array, or zero where there is none, without a branch.

Written as `x[i] if inside else 0` a load becomes a branch around it, or not, as the compiler likes; with branches each
load is waited for before the next one starts. This is one predicated instruction, so a thread's loads start together.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types

from heatsim_kernels.cuda_api import SIMULATED, inlined, intrinsic

if SIMULATED:

    @inlined
    def load_if(array, i, inside):
        """array[i] if `inside`, else 0."""
        return array[i] if inside else array.dtype.type(0)

else:
    _GLOBAL = 1  # address space

    @intrinsic
    def load_if(typing_context, array, i, inside):
        """array[i] if `inside`, else 0; i is uint64, and no thread of the launch writes to the array."""
        bits, letter = array.dtype.bitwidth, "f" if array.dtype.bitwidth == 32 else "d"

        def codegen(context, builder, signature, args):
            data = context.make_array(signature.args[0])(context, builder, args[0]).data
            address = builder.addrspacecast(builder.gep(data, [args[1]]), data.type.pointee.as_pointer(_GLOBAL))
            word, flag = ir.IntType(64), ir.IntType(32)
            load = ir.InlineAsm(
                ir.FunctionType(data.type.pointee, [word, flag]),
                f"{{ .reg .pred p; setp.ne.u32 p, $2, 0; mov.b{bits} $0, 0; @p ld.global.nc.f{bits} $0, [$1]; }}",
                f"={letter},l,r",
                side_effect=False,
            )
            return builder.call(load, (builder.ptrtoint(address, word), builder.zext(args[2], flag)))

        return array.dtype(array, types.uint64, types.boolean), codegen
