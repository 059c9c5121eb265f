"""CPU: Kirchhoff's potentials of a row of cells, from pieces in vector registers (see `pieces`).

    knots [ k0 k1 k2 ... k15 ]     u >= k8 ?  then u >= the knot 4 on ?  2 on ?  1 on ?     the piece j of each cell
    a, b, c, e likewise            d = u - k[j],   phi = fma(fma(fma(e[j], d, c[j]), d, b[j]), d, a[j])

A register of 16 numbers is a table that one instruction reads at as many places at once, where the CPU has such an
instruction for its vectors: AVX-512 for both precisions, AVX2 for float32. Elsewhere numbers are gathered from memory.
The operations on each cell are those of `enthalpy.cell`, so the bits are the same.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from heatsim_kernels.enthalpy.pieces import PIECE_NUMBERS, PIECES
from heatsim_kernels.runtime.cpu.pointers import CACHE_LINE, vector_fma

WORD = ir.IntType(32)


@intrinsic
def look_up_vectors(typing_context, out, u, vectors, pieces):
    """Write the potentials of so many whole vectors of a cache line, from u on. pieces: of their material,
    (PIECE_NUMBERS, PIECES) flat."""

    def codegen(context, builder, signature, args):
        # Few pieces are found sooner, and fewer numbers fit into one register: which loop, is decided once a row.
        infinite = ir.Constant(args[3].type.pointee, float("inf"))
        few, some = (
            builder.fcmp_ordered("==", builder.load(builder.gep(args[3], [ir.Constant(ir.IntType(64), n)])), infinite)
            for n in (4, 8)
        )
        with builder.if_else(few) as (then, otherwise):
            with then:
                _loop(context, builder, signature, args, 4)
            with otherwise, builder.if_else(some) as (then_some, otherwise_all):
                with then_some:
                    _loop(context, builder, signature, args, 8)
                with otherwise_all:
                    _loop(context, builder, signature, args, PIECES)
        return context.get_dummy_value()

    return types.void(out, u, types.intp, pieces), codegen


def _loop(context, builder, signature, args, count):
    rows = _PieceRows(context, builder, signature, args, count)
    with cgutils.for_range(builder, args[2]) as loop:
        rows.look_up(loop.index)


class _PieceRows:
    """Generates the code of a row of a material with at most `count` pieces."""

    def __init__(self, context, builder, signature, args, count):
        self._builder, (self._out, self._u, _, pieces), self._count = builder, args, count
        self._bytes = signature.args[0].dtype.bitwidth // 8
        self._lanes, self._real = CACHE_LINE // self._bytes, context.get_value_type(signature.args[0].dtype)
        self._vector = ir.VectorType(self._real, self._lanes)
        self._index = ir.VectorType(ir.IntType(8 * self._bytes), self._lanes)
        self._features = context.codegen().magic_tuple()[2]
        self._tables = [self._table(pieces, number) for number in range(PIECE_NUMBERS)]

    def look_up(self, index):
        """Look up vector `index`."""
        b = self._builder
        u = b.load(self._place(self._u, index), align=self._bytes)
        j, half = self._constant(0), self._count // 2
        while half:
            ahead = b.add(j, self._constant(half))
            reached = b.fcmp_ordered(">=", u, self._at(self._tables[0], ahead))
            j, half = b.select(reached, ahead, j), half // 2
        knot, a, first, second, third = (self._at(table, j) for table in self._tables)
        d = b.fsub(u, knot)
        value = vector_fma(b, vector_fma(b, vector_fma(b, third, d, second), d, first), d, a)
        b.store(value, self._place(self._out, index), align=self._bytes)

    def _place(self, start, index):
        at = self._builder.gep(start, [self._builder.mul(index, index.type(self._lanes))])
        return self._builder.bitcast(at, self._vector.as_pointer())

    def _constant(self, number):
        return ir.Constant(self._index, [number] * self._lanes)

    def _table(self, pieces, number):
        """A table in registers, or a pointer to it where the CPU cannot read registers at a vector of places."""
        b = self._builder
        start = b.gep(pieces, [ir.Constant(ir.IntType(64), PIECES * number)])
        if not ("+avx512f" in self._features or ("+avx2" in self._features and self._bytes == 4)):
            return start
        size = PIECES if self._bytes == 4 else max(8, self._count)
        return b.load(b.bitcast(start, ir.VectorType(self._real, size).as_pointer()), align=self._bytes)

    def _at(self, table, j):
        """The numbers of a table at the places j."""
        b = self._builder
        if isinstance(table.type, ir.PointerType):
            found = ir.Constant(self._vector, ir.Undefined)
            for lane in range(self._lanes):
                number = b.load(b.gep(table, [b.extract_element(j, WORD(lane))]))
                found = b.insert_element(found, number, WORD(lane))
            return found
        if "+avx512f" not in self._features:
            return self._by_eights(table, j)
        if self._bytes == 4:
            return self._call("llvm.x86.avx512.permvar.sf.512", [table, j])
        if table.type.count == 8:
            return self._call("llvm.x86.avx512.permvar.df.512", [table, j])
        low, high = self._halves(table)
        return self._call("llvm.x86.avx512.vpermi2var.pd.512", [low, j, high])

    def _by_eights(self, table, j):
        """Eight cells at once, each from one half of the table."""
        b, parts = self._builder, []
        for places in self._halves(j):
            low, high = (self._call("llvm.x86.avx2.permps", [half, places]) for half in self._halves(table))
            upper = b.icmp_signed(">", places, ir.Constant(places.type, [7] * 8))
            parts.append(b.select(upper, high, low))
        return b.shuffle_vector(*parts, ir.Constant(ir.VectorType(WORD, 16), list(range(16))))

    def _halves(self, vector):
        b, count = self._builder, vector.type.count // 2
        masks = (ir.Constant(ir.VectorType(WORD, count), list(range(k, k + count))) for k in (0, count))
        return [b.shuffle_vector(vector, vector, mask) for mask in masks]

    def _call(self, name, args):
        kind = ir.FunctionType(args[0].type, [each.type for each in args])
        return self._builder.call(cgutils.get_or_insert_function(self._builder.module, kind, name), args)
