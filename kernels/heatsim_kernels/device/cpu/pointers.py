"""Memory access for the CPU kernels, as Numba intrinsics on raw pointers.

Plain Numba arrays carry a reference count, which inner functions raise and lower atomically, wrap negative indices, and
may alias, so LLVM guards or gives up on a stencil loop. A pointer has none of that: flat index, no wrap, no bounds
check, and loads and stores declared disjoint (LLVM alias scopes), so a row loop vectorises. The caller answers for the
indices and keeps the array alive. Where an argument is None the result is None, so that absent terms stay absent.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

CACHE_LINE = 64


def padded(count: int, dtype: np.dtype) -> np.ndarray:
    """A flat array of `count` elements that starts a cache line, with a readable line before and after it."""
    dtype = np.dtype(dtype)
    line = CACHE_LINE // dtype.itemsize
    raw = np.zeros(count + 3 * line, dtype)
    start = line + (-raw.ctypes.data % CACHE_LINE) // dtype.itemsize
    return raw[start : start + count]


def alias_scopes(module):
    """Two alias scopes, one for what kernels read and one for what they write."""
    domain = module.add_metadata(["heatsim"])
    return (module.add_metadata([module.add_metadata([name, domain])]) for name in ("read", "written"))


def send_past_cache(builder, stored):
    """Have a store, whose alignment is its size, leave past the cache."""
    stored.set_metadata("nontemporal", builder.module.add_metadata([ir.Constant(ir.IntType(32), 1)]))


def word(value):
    """An index, for code that is being generated."""
    return ir.Constant(ir.IntType(64), value)


def vector_at(builder, start, offset, lanes):
    """A pointer to the vector of `lanes` elements at start[offset]."""
    vector = ir.VectorType(start.type.pointee, lanes).as_pointer()
    return builder.bitcast(builder.gep(start, [offset]), vector)


def spread(builder, value, lanes):
    """A vector of one value in all lanes."""
    vector = ir.VectorType(value.type, lanes)
    one = builder.insert_element(ir.Constant(vector, ir.Undefined), value, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(ir.IntType(32), lanes), None))


def vector_fma(builder, a, b, c):
    """`a*b + c` of vectors, rounded once; llvmlite's own takes scalars alone."""
    bits = 64 if isinstance(a.type.element, ir.DoubleType) else 32
    kind = ir.FunctionType(a.type, [a.type] * 3)
    function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.fma.v{a.type.count}f{bits}")
    return builder.call(function, [a, b, c])


def _nothing(context, builder, signature, args):
    return context.get_dummy_value()


@intrinsic
def pointer(typing_context, array):
    """The address of the first element of a contiguous array."""
    if isinstance(array, types.NoneType):
        return types.none(array), _nothing

    def codegen(context, builder, signature, args):
        return context.make_array(signature.args[0])(context, builder, args[0]).data

    return types.CPointer(array.dtype)(array), codegen


@intrinsic
def row_pointer(typing_context, array, row):
    """The address of a row of a contiguous 2-D array; rows after the last are the last."""
    if isinstance(array, types.NoneType):
        return types.none(array, row), _nothing

    def codegen(context, builder, signature, args):
        values = context.make_array(signature.args[0])(context, builder, args[0])
        rows, columns = cgutils.unpack_tuple(builder, values.shape)
        last = builder.sub(rows, rows.type(1))
        index = builder.select(builder.icmp_signed("<", args[1], last), args[1], last)
        return builder.gep(values.data, [builder.mul(index, columns)])

    return types.CPointer(array.dtype)(array, types.intp), codegen


@intrinsic
def shifted(typing_context, start, count):
    """The pointer `count` elements further on."""
    if isinstance(start, types.NoneType):
        return types.none(start, count), _nothing

    def codegen(context, builder, signature, args):
        return builder.gep(args[0], [args[1]])

    return start(start, types.intp), codegen


def _load(own_scope):
    """Code that loads start[index] in one of the `alias_scopes`, and so not in the other."""

    def codegen(context, builder, signature, args):
        value, scopes = builder.load(builder.gep(args[0], [args[1]])), tuple(alias_scopes(builder.module))
        value.set_metadata("alias.scope", scopes[own_scope])
        value.set_metadata("noalias", scopes[1 - own_scope])
        return value

    return codegen


@intrinsic
def load(typing_context, start, index):
    """`start[index]`, which no `store` of the same loop writes."""
    return start.dtype(start, types.intp), _load(0)


@intrinsic
def load_written(typing_context, start, index):
    """`start[index]`, in a row to which the same loop writes with `store`, and that `load` does not read."""
    return start.dtype(start, types.intp), _load(1)


@intrinsic
def store(typing_context, start, index, value):
    """`start[index] = value`, which no `load` of the same loop reads."""

    def codegen(context, builder, signature, args):
        instruction = builder.store(args[2], builder.gep(args[0], [args[1]]))
        read, written = alias_scopes(builder.module)
        instruction.set_metadata("alias.scope", written)
        instruction.set_metadata("noalias", read)
        return context.get_dummy_value()

    return types.void(start, types.intp, start.dtype), codegen


@intrinsic
def prefetch(typing_context, start, index):
    """Ask for the cache line of `start[index]` to be brought into L2; any address will do."""

    def codegen(context, builder, signature, args):
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        address = builder.bitcast(builder.gep(args[0], [args[1]]), byte)
        builder.call(function, [address, word(0), word(2), word(1)])  # read, L2, data
        return context.get_dummy_value()

    return types.void(start, types.intp), codegen


@intrinsic
def widest_vectors(typing_context):
    """Let LLVM use 512-bit vectors in the calling function, where the CPU has them (x86 stops at 256 by itself)."""

    def codegen(context, builder, signature, args):
        set.add(builder.function.attributes, '"prefer-vector-width"="512"')
        return context.get_dummy_value()

    return types.void(), codegen


@intrinsic
def elements_to_line(typing_context, start):
    """Elements from `start` up to the next cache line, 0 if it starts one."""

    def codegen(context, builder, signature, args):
        word = ir.IntType(64)
        bytes_left = builder.and_(builder.neg(builder.ptrtoint(args[0], word)), word(CACHE_LINE - 1))
        return builder.udiv(bytes_left, word(signature.args[0].dtype.bitwidth // 8))

    return types.intp(start), codegen


def _line_copy(past_cache):
    """Code that copies so many vectors of a cache line."""

    def codegen(context, builder, signature, args):
        size = signature.args[0].dtype.bitwidth // 8
        with cgutils.for_range(builder, args[2]) as loop:
            offset = builder.mul(loop.index, loop.index.type(CACHE_LINE // size))
            source, target = (vector_at(builder, args[k], offset, CACHE_LINE // size) for k in (1, 0))
            stored = builder.store(builder.load(source, align=size), target, align=CACHE_LINE if past_cache else size)
            if past_cache:
                send_past_cache(builder, stored)
        return context.get_dummy_value()

    return codegen


@intrinsic
def stream_lines(typing_context, target, source, lines):
    """Copy `lines` whole cache lines past the cache; `target` starts a line."""
    return types.void(target, source, types.intp), _line_copy(True)


@intrinsic
def lines_of(typing_context, row, count):
    """How many cache lines so many elements of a row fill, whole or in part."""
    per_line = CACHE_LINE // (row.dtype.bitwidth // 8)

    def codegen(context, builder, signature, args):
        return builder.udiv(builder.add(args[1], word(per_line - 1)), word(per_line))

    return types.intp(row, types.intp), codegen


@intrinsic
def copy_lines(typing_context, target, source, lines):
    """Copy as many elements as `lines` cache lines have; they may start anywhere."""
    return types.void(target, source, types.intp), _line_copy(False)
