"""CUDA: a mask in constant memory.

Numba's own constant arrays are open to the compiler, which writes the weights of an unrolled loop into the instructions
and leaves constant memory empty. Here the memory is declared as what other code may write to, as a `__constant__`
array of CUDA C++ that `cudaMemcpyToSymbol` fills, so its weights are read from there: as operands c[3][..] of the
multiply-adds, or a few at a time into uniform registers, the same for all threads of a warp.
"""

from __future__ import annotations

import numpy as np

from heatsim_kernels.convolution.cuda_field import Variant
from heatsim_kernels.cuda_api import SIMULATED, intrinsic

CONSTANT = 4  # address space
NAME = "heatsim_mask"


def weights_of(variant: Variant):
    """The device function weight(k): weight k of the variant's mask, row by row; k is int64."""
    values = np.array(variant.weights, variant.dtype)
    if SIMULATED:
        return lambda k: values[k]

    from llvmlite import ir
    from numba import from_dtype, types

    real = from_dtype(values.dtype)

    @intrinsic
    def weight(typing_context, k):
        def codegen(context, builder, signature, args):
            memory = builder.module.globals.get(NAME) or declared(context, builder.module)
            return builder.load(builder.gep(memory, [ir.Constant(ir.IntType(64), 0), args[0]]))

        return real(types.int64), codegen

    def declared(context, module):
        kind = ir.ArrayType(context.get_value_type(real), values.size)
        memory = ir.GlobalVariable(module, kind, NAME, addrspace=CONSTANT)
        memory.initializer, memory.align = ir.Constant(kind, values.tolist()), values.itemsize
        return memory

    return weight
