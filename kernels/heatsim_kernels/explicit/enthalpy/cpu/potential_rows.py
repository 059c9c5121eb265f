"""CPU: Kirchhoff's potentials of a row of cells, from pieces in vector registers (see `pieces`).

    knots [ k0 k1 k2 ... k15 ]     u >= k8 ?  then u >= the knot 4 on ?  2 on ?  1 on ?     the piece j of each cell
    a, b, c, e likewise            d = u - k[j],   phi = fma(fma(fma(e[j], d, c[j]), d, b[j]), d, a[j])

A register of 16 numbers is a table that one instruction reads at as many places at once, where the CPU has such an
instruction for its vectors: AVX-512 for both precisions. That of AVX2 reads a table of eight words of 32 bits: a table
takes one to four of these, and a number of float64 is two words. Elsewhere numbers are gathered from memory, and so are
those of curves of more than 16 pieces. In float64, and there, a vector whose cells all lie on the piece of the cell
before them takes the numbers of that, without a look-up. The operations on each cell are those of `enthalpy.cell`, so
the bits are the same.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from heatsim_kernels.device.cpu.pointers import CACHE_LINE, spread, vector_fma, word
from heatsim_kernels.explicit.enthalpy.pieces import PIECE_NUMBERS, PIECES

WORD = ir.IntType(32)
WORDS = 8  # of 32 bits, in a vector of AVX2


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
                _loop_of_powers(context, builder, signature, args, 4)
            with otherwise, builder.if_else(some) as (then_some, otherwise_all):
                with then_some:
                    _loop_of_powers(context, builder, signature, args, 8)
                with otherwise_all:
                    _loop(context, builder, signature, args, PIECES, True)
        return context.get_dummy_value()

    return types.void(out, u, types.intp, pieces), codegen


@intrinsic
def look_up_many(typing_context, out, u, vectors, pieces, count):
    """`look_up_vectors` of a material with so many pieces, a power of two, which are searched in memory."""

    def codegen(context, builder, signature, args):
        rows = _ManyPieces(context, builder, signature, args)
        piece = _LastPiece(builder, args[3], rows.vector, PIECE_NUMBERS, args[4])
        with cgutils.for_range(builder, args[2]) as loop:
            _look_up_with(piece, rows, rows.states(loop.index), builder, loop.index)
        return context.get_dummy_value()

    return types.void(out, u, types.intp, pieces, types.int64), codegen


def _loop_of_powers(context, builder, signature, args, count):
    """The loop of quadratics where no piece is a cubic, as of a conductivity on straight lines; its bits are the same,
    as fma(0, d, c) is c."""
    third = builder.gep(args[3], [ir.Constant(ir.IntType(64), PIECES * (PIECE_NUMBERS - 1))])
    vector = ir.VectorType(args[3].type.pointee, count)
    numbers = builder.load(builder.bitcast(third, vector.as_pointer()), align=1)
    cubic = builder.fcmp_unordered("!=", numbers, ir.Constant(vector, [0.0] * count))
    any_cubic = builder.icmp_unsigned("!=", builder.bitcast(cubic, ir.IntType(count)), ir.IntType(count)(0))
    with builder.if_else(any_cubic) as (then, otherwise):
        with then:
            _loop(context, builder, signature, args, count, True)
        with otherwise:
            _loop(context, builder, signature, args, count, False)


def _loop(context, builder, signature, args, count, cubic):
    rows = _PieceRows(context, builder, signature, args, count, cubic)
    # Where vectors are many and pieces few, a look-up less is worth more than a branch that was not foreseen.
    piece = None
    if signature.args[0].dtype.bitwidth == 64 and count < PIECES:
        numbers, row = PIECE_NUMBERS if cubic else PIECE_NUMBERS - 1, ir.Constant(ir.IntType(64), PIECES)
        piece = _LastPiece(builder, args[3], rows.vector, numbers, row)
    with cgutils.for_range(builder, args[2]) as loop:
        u = rows.states(loop.index)
        if piece is None:
            rows.put(u, rows.numbers_at(rows.pieces_of(u)), loop.index)
        else:
            _look_up_with(piece, rows, u, builder, loop.index)


def _look_up_with(piece, rows, u, builder, index):
    """Look up vector `index`, on that piece if it can."""
    with builder.if_else(piece.holds(u), likely=True) as (then, otherwise):
        with then:
            rows.put(u, piece.numbers(), index)
        with otherwise:
            j = rows.pieces_of(u)
            rows.put(u, rows.numbers_at(j), index)
            piece.take(builder.extract_element(j, WORD(rows.vector.count - 1)))


class _LastPiece:
    """Generates the code that keeps the numbers of one piece in registers, that of the last cell of the last vector
    that was looked up: along a row, many vectors mostly lie on one piece."""

    def __init__(self, builder, pieces, vector, count, row):
        """count: of the numbers of a piece; row: how many pieces a row has, int64."""
        self._builder, self._pieces, self._vector, self._row = builder, pieces, vector, row
        # From which state on the piece holds, up to which it does not, and its numbers. It holds for none yet.
        self._low, self._high, *self._numbers = (cgutils.alloca_once(builder, vector) for _ in range(2 + count))
        for place in (self._low, self._high, *self._numbers):
            builder.store(ir.Constant(vector, [float("inf")] * vector.count), place)

    def holds(self, u):
        """Whether all cells of a vector lie on the piece."""
        b, bits = self._builder, ir.IntType(self._vector.count)
        above, below = b.fcmp_ordered(">=", u, b.load(self._low)), b.fcmp_ordered("<", u, b.load(self._high))
        return b.icmp_unsigned("==", b.bitcast(b.and_(above, below), bits), bits(-1))

    def numbers(self):
        """The knot of the piece, a, b, c, and e where pieces are cubics, in all lanes."""
        return [self._builder.load(place) for place in self._numbers]

    def take(self, j):
        """Go on with piece j. The first one has no lower end, and the last one no upper."""
        b, infinite, word64 = self._builder, float("inf"), ir.IntType(64)
        j = j if j.type == word64 else b.zext(j, word64)
        places = [b.add(j, b.mul(self._row, word64(n))) for n in range(len(self._numbers))]
        numbers = [b.load(b.gep(self._pieces, [place])) for place in places]
        real = numbers[0].type
        low = b.select(b.icmp_unsigned("==", j, word64(0)), ir.Constant(real, -infinite), numbers[0])
        last = b.icmp_unsigned("==", j, b.sub(self._row, word64(1)))
        following = b.load(b.gep(self._pieces, [b.add(j, word64(1))]))
        high = b.select(last, ir.Constant(real, infinite), following)
        for value, place in zip((low, high, *numbers), (self._low, self._high, *self._numbers), strict=True):
            b.store(spread(b, value, self._vector.count), place)


class _Rows:
    """Generates the code that reads states and writes potentials, vector by vector."""

    def __init__(self, context, builder, signature, args):
        self._builder, (self._out, self._u) = builder, args[:2]
        self._bytes = signature.args[0].dtype.bitwidth // 8
        self._lanes, self._real = CACHE_LINE // self._bytes, context.get_value_type(signature.args[0].dtype)
        self.vector = ir.VectorType(self._real, self._lanes)
        self._index = ir.VectorType(ir.IntType(8 * self._bytes), self._lanes)

    def states(self, index):
        """Vector `index` of the row."""
        return self._builder.load(self._place(self._u, index), align=self._bytes)

    def put(self, u, numbers, index):
        """Write vector `index` of the potentials, from the numbers of the piece of each cell."""
        knot, *powers, value = numbers
        d = self._builder.fsub(u, knot)
        for number in reversed(powers):
            value = vector_fma(self._builder, value, d, number)
        self._builder.store(value, self._place(self._out, index), align=self._bytes)

    def _place(self, start, index):
        at = self._builder.gep(start, [self._builder.mul(index, index.type(self._lanes))])
        return self._builder.bitcast(at, self.vector.as_pointer())

    def _constant(self, number):
        return ir.Constant(self._index, [number] * self._lanes)

    def _gathered(self, start, j):
        """The numbers at the places j from a pointer on."""
        b, found = self._builder, ir.Constant(self.vector, ir.Undefined)
        for lane in range(self._lanes):
            number = b.load(b.gep(start, [b.extract_element(j, WORD(lane))]))
            found = b.insert_element(found, number, WORD(lane))
        return found


class _ManyPieces(_Rows):
    """Generates the code of a row of a material whose pieces are searched in memory."""

    def __init__(self, context, builder, signature, args):
        super().__init__(context, builder, signature, args)
        self._pieces, self._count = args[3:]

    def pieces_of(self, u):
        """The piece of each cell."""
        b, word64 = self._builder, ir.IntType(64)
        place = cgutils.alloca_once_value(b, self._constant(0))
        halvings = b.cttz(self._count, ir.IntType(1)(1))
        with cgutils.for_range(b, halvings) as loop:
            half = b.lshr(self._count, b.add(loop.index, word64(1)))
            half = half if self._bytes == 8 else b.trunc(half, WORD)
            j = b.load(place)
            ahead = b.add(j, spread(b, half, self._lanes))
            b.store(b.select(b.fcmp_ordered(">=", u, self._gathered(self._pieces, ahead)), ahead, j), place)
        return b.load(place)

    def numbers_at(self, j):
        """The numbers of the pieces j."""
        b, word64 = self._builder, ir.IntType(64)
        starts = [b.gep(self._pieces, [b.mul(self._count, word64(n))]) for n in range(PIECE_NUMBERS)]
        return [self._gathered(start, j) for start in starts]


class _PieceRows(_Rows):
    """Generates the code of a row of a material with at most `count` pieces; cubic: whether one is a cubic."""

    def __init__(self, context, builder, signature, args, count, cubic):
        super().__init__(context, builder, signature, args)
        pieces, self._count = args[3], count
        self._features = context.codegen().magic_tuple()[2]
        self._knots = {
            n: spread(builder, builder.load(builder.gep(pieces, [word(n)])), self._lanes)
            for n in (count // 4, count // 2, 3 * count // 4)
        }
        self._tables = [self._table(pieces, number) for number in range(PIECE_NUMBERS if cubic else PIECE_NUMBERS - 1)]

    def numbers_at(self, j):
        """The numbers of the pieces j."""
        return [self._at(table, j) for table in self._tables]

    def pieces_of(self, u):
        """The piece of each cell."""
        b = self._builder
        middle, half = self._count // 2, self._count // 4
        reached = b.fcmp_ordered(">=", u, self._knots[middle])
        # The second of the knots is one of two, which is chosen sooner than it is looked up.
        second = b.select(reached, self._knots[middle + half], self._knots[half])
        j = b.select(reached, self._constant(middle), self._constant(0))
        j = b.select(b.fcmp_ordered(">=", u, second), b.add(j, self._constant(half)), j)
        while half > 1:
            half //= 2
            ahead = b.add(j, self._constant(half))
            j = b.select(b.fcmp_ordered(">=", u, self._at(self._tables[0], ahead)), ahead, j)
        return j

    def _table(self, pieces, number):
        """A table in registers, or a pointer to it where the CPU cannot read registers at a vector of places."""
        b = self._builder
        start = b.gep(pieces, [ir.Constant(ir.IntType(64), PIECES * number)])
        if "+avx512f" in self._features:
            size = PIECES if self._bytes == 4 else max(8, self._count)
        elif "+avx2" in self._features and not (self._bytes == 8 and self._count > WORDS):
            size = max(WORDS * 4 // self._bytes, self._count)
        else:
            return start
        return b.load(b.bitcast(start, ir.VectorType(self._real, size).as_pointer()), align=self._bytes)

    def _at(self, table, j):
        """The numbers of a table at the places j."""
        if isinstance(table.type, ir.PointerType):
            return self._gathered(table, j)
        if "+avx512f" not in self._features:
            return self._by_words(table, j)
        if self._bytes == 4:
            return self._call("llvm.x86.avx512.permvar.sf.512", [table, j])
        if table.type.count == 8:
            return self._call("llvm.x86.avx512.permvar.df.512", [table, j])
        low, high = self._halves(table)
        return self._call("llvm.x86.avx512.vpermi2var.pd.512", [low, j, high])

    def _by_words(self, table, j):
        """A table of words read by AVX2, eight places at once."""
        b = self._builder
        if self._bytes == 8:  # words 2 j and 2 j + 1
            low = b.shl(j, self._constant(1))
            high = b.shl(b.add(low, self._constant(1)), self._constant(32))
            j = b.bitcast(b.or_(low, high), ir.VectorType(WORD, 16))
        registers = self._registers(
            b.bitcast(table, ir.VectorType(ir.FloatType(), table.type.count * self._bytes // 4))
        )
        if len(registers) == 1 and self._bytes == 4 and self._count <= WORDS // 2:
            # Within each half of a register, which is half the work.
            twice = ir.Constant(ir.VectorType(WORD, WORDS), [0, 1, 2, 3] * 2)
            table = b.shuffle_vector(registers[0], registers[0], twice)
            found = [self._call("llvm.x86.avx.vpermilvar.ps.256", [table, places]) for places in self._halves(j)]
        else:
            found = [self._chosen(registers, places) for places in self._halves(j)]
        whole = b.shuffle_vector(*found, ir.Constant(ir.VectorType(WORD, 16), list(range(16))))
        return whole if self._bytes == 4 else b.bitcast(whole, self.vector)

    def _registers(self, table):
        """A table of words in registers of eight."""
        return (
            [table]
            if table.type.count == WORDS
            else [register for half in self._halves(table) for register in self._registers(half)]
        )

    def _chosen(self, registers, places):
        """The words at some places, of the first or the second half of the registers. AVX2 looks at the lowest three
        bits of a place alone."""
        b = self._builder
        if len(registers) == 1:
            return self._call("llvm.x86.avx2.permps", [registers[0], places])
        middle = len(registers) // 2
        size = WORDS * middle
        low, high = (self._chosen(half, places) for half in (registers[:middle], registers[middle:]))
        bit = b.and_(places, ir.Constant(places.type, [size] * WORDS))
        return b.select(b.icmp_signed("!=", bit, ir.Constant(places.type, [0] * WORDS)), high, low)

    def _halves(self, vector):
        b, count = self._builder, vector.type.count // 2
        masks = (ir.Constant(ir.VectorType(WORD, count), list(range(k, k + count))) for k in (0, count))
        return [b.shuffle_vector(vector, vector, mask) for mask in masks]

    def _call(self, name, args):
        kind = ir.FunctionType(args[0].type, [each.type for each in args])
        return self._builder.call(cgutils.get_or_insert_function(self._builder.module, kind, name), args)
