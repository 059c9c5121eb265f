"""CPU: a step or a two-term stage of a row of whole vectors, in vector instructions of our own.

before   [ a b c d ]            For the row loop of `rows`, LLVM loads the vectors of neighbours in x once more, and the
cells    [ e f g h ]  next ...  results go by way of L1 to where they leave past the cache. Here cells are loaded once,
xm = [ d e f g ]                as vectors of a cache line; their neighbours in x are cut out of two of them; and
xp = [ f g h i ]                results leave at once.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from heatsim_kernels.device.cpu.pointers import CACHE_LINE, send_past_cache, spread, vector_at, vector_fma
from heatsim_kernels.explicit.cpu.rows import NU, RATE


def _row(past_cache):
    """Build call(out, vectors, base, c, ym, yp, zm, zp, low, high, cell_class, by_axis, rates, dt, table, losses,
    before, numbers, width, paired): one explicit step, or a two-term stage, of whole vectors of cells.

    base: the cells, where c and the rows beside it are potentials, down whose slope heat flows; None where c are the
    cells. low, high: values beyond the two ends of the row, of at least one vector; None where they lie before and
    behind c. by_axis: three rates, for `physics.second_difference`, or for `physics.axis_differences` of potentials;
    unless `rates` has six for each class, for `physics.face_differences`, or if `paired` for
    `physics.layer_differences`. cell_class: of all cells; or a pointer to the class of each, and then `rates` has six
    for each cell, `width` apart, as the columns of `CpuExchange`. table: heating rate of each class, K/s, or None.
    losses: the share of its value that a cell of each class loses in a step, or None. past_cache: results are written
    past the cache, and `out` must start a cache line. A vector behind each row must be readable. before, numbers: of a
    stage, see `rows.RowOperands`, and None for a step; `out` may be `before`.
    """

    @intrinsic
    def row(
        typing_context, out, vectors, base, c, ym, yp, zm, zp, low, high, cell_class, by_axis, rates, dt, table, losses,
        before, numbers, width, paired,
    ):  # fmt: skip
        def codegen(context, builder, signature, args):
            step = _Step(context, builder, signature, args, past_cache)
            for paired in step.either(not step.absent(12), builder.trunc(args[19], ir.IntType(1))):
                for heated in step.either(*step.is_heated()):
                    step.take_all(paired, heated)
            return context.get_dummy_value()

        real, fields, beyond = c.dtype, (c, ym, yp, zm, zp), (low, high)
        of_class = types.UniTuple(real, 3), rates, real, table, losses
        class_of = cell_class if isinstance(cell_class, types.CPointer) else types.intp
        stage = before, numbers, types.intp, types.boolean
        return types.void(out, types.intp, base, *fields, *beyond, class_of, *of_class, *stage), codegen

    return row


class _RowCode:
    """What the code for a row is generated with. Arguments are known by number; rows start at any element."""

    def __init__(self, context, builder, args, dtype):
        self._builder, self._args = builder, args
        self._real, self._bytes = context.get_value_type(dtype), dtype.bitwidth // 8
        self._lanes = CACHE_LINE // self._bytes
        self._vector = ir.VectorType(self._real, self._lanes)

    def load(self, number, index):
        """Vector `index` of the row that is argument `number`: an unaligned load."""
        return self._builder.load(self._place(number, index), align=self._bytes)

    def _place(self, number, index):
        start = self._builder.gep(self._args[number], [self._builder.mul(index, index.type(self._lanes))])
        return self._builder.bitcast(start, self._vector.as_pointer())

    def _cut(self, first, second, start):
        """A vector out of two, from an element of the first on."""
        places = ir.Constant(ir.VectorType(ir.IntType(32), self._lanes), [start + k for k in range(self._lanes)])
        return self._builder.shuffle_vector(first, second, places)


class _Step(_RowCode):
    """Generates the code for a row; what is handed on from vector to vector is kept in variables."""

    def __init__(self, context, builder, signature, args, past_cache):
        super().__init__(context, builder, args, signature.args[3].dtype)
        self._past_cache, self._types = past_cache, signature.args
        self._by_cell, self._dt = isinstance(self._types[10], types.CPointer), self._spread(args[13])
        self._heat = self._losses = self._rates = []
        if not self._by_cell:
            by_face = self._entries(12, 6)
            self._rates = by_face or [self._spread(rate) for rate in cgutils.unpack_tuple(builder, args[11], 3)]
            self._heat, self._losses = self._entries(14, 1), self._entries(15, 1)
        self._nu, self._rate = (self._number(place) for place in (NU, RATE))
        before = self.load(3, args[1].type(-1)) if self.absent(8) else self.lane(args[8], self._lanes - 1)
        self._before = cgutils.alloca_once_value(builder, before)
        self._cells = cgutils.alloca_once_value(builder, self.load(3, args[1].type(0)))

    def absent(self, number):
        """Whether an argument is None."""
        return isinstance(self._types[number], types.NoneType)

    def either(self, chosen, flag):
        """Generate what follows for a flag that is set, and for one that is not; or once, with the flag False."""
        if not chosen:
            yield False
        else:
            with self._builder.if_else(flag) as (if_set, otherwise):
                with if_set:
                    yield True
                with otherwise:
                    yield False

    def is_heated(self):
        """Whether it is known before the row if its cells have sources; and whether they have."""
        if self._by_cell or not self._heat:
            return False, None
        heat = self._builder.extract_element(self._heat[0], ir.IntType(32)(0))
        return True, self._builder.fcmp_unordered("!=", heat, ir.Constant(self._real, 0.0))

    def _spread(self, value):
        return spread(self._builder, value, self._lanes)

    def _number(self, place):
        """A vector of one of the numbers of a stage; nothing for a step."""
        if self.absent(17):
            return None
        b = self._builder
        return self._spread(b.load(b.gep(self._args[17], [ir.Constant(ir.IntType(64), place)])))

    def _entries(self, number, count):
        """Vectors of the `count` numbers of the class in the table that is argument `number`; none without a table."""
        if self.absent(number):
            return []
        b, table, cell_class = self._builder, self._args[number], self._args[10]
        first = b.mul(cell_class, cell_class.type(count))
        return [self._spread(b.load(b.gep(table, [b.add(first, first.type(k))]))) for k in range(count)]

    def _look_up(self, index):
        """Have the rates of vector `index`, and the entries of its classes, cell by cell."""
        b, width = self._builder, self._args[18]
        first = b.mul(index, index.type(self._lanes))
        places = [b.add(b.mul(width, width.type(k)), first) for k in range(6)]
        self._rates = [b.load(vector_at(b, self._args[12], place, self._lanes), align=self._bytes) for place in places]
        self._heat, self._losses = self._entries_of_cells(14, index), self._entries_of_cells(15, index)

    def _entries_of_cells(self, number, index):
        """A vector of the entries of the cells in the table that is argument `number`; none without a table."""
        if self.absent(number):
            return []
        b, found = self._builder, ir.Constant(self._vector, ir.Undefined)
        first = b.mul(index, index.type(self._lanes))
        for lane in range(self._lanes):
            cell_class = b.zext(b.load(b.gep(self._args[10], [b.add(first, first.type(lane))])), first.type)
            entry = b.load(b.gep(self._args[number], [cell_class]))
            found = b.insert_element(found, entry, ir.IntType(32)(lane))
        return [found]

    def lane(self, value, at):
        """A vector with a value in one lane."""
        return self._builder.insert_element(ir.Constant(self._vector, None), value, ir.IntType(32)(at))

    def take_all(self, paired, heated):
        """Take one step of all vectors. heated: whether they have sources; looked up for vectors by cell."""
        kept = self._heat
        if not heated:
            self._heat = []
        b, vectors, one = self._builder, self._args[1], self._args[1].type(1)
        last = vectors if self.absent(9) else b.sub(vectors, one)
        with cgutils.for_range(b, last) as loop:
            self._take(loop.index, self.load(3, b.add(loop.index, one)), paired)
        if not self.absent(9):
            self._take(last, self.lane(self._args[9], 0), paired)
        self._heat = kept

    def _take(self, index, behind, paired):
        """Take one step of vector `index`. behind: the vector of cells after it."""
        b, lanes = self._builder, self._lanes
        if self._by_cell:
            self._look_up(index)
        before, cells = b.load(self._before), b.load(self._cells)
        xm = self._cut(before, cells, lanes - 1)
        xp = self._cut(cells, behind, 1)
        beside = [xm, xp, *(self.load(number, index) for number in range(4, 8))]
        own = cells if self.absent(2) else self.load(2, index)
        new = self._start(own, cells)
        for rate, difference in self._exchange(cells, beside, paired):
            new = vector_fma(b, rate, difference, new)
        if not self.absent(16):  # `physics.staged_of_two`
            left = vector_fma(b, b.fneg(self._nu), b.fsub(own, self.load(16, index)), own)
            new = vector_fma(b, self._rate, new, left)
        # A row past the cache starts a cache line, as such stores must; other rows start anywhere.
        stored = b.store(new, self._place(0, index), align=CACHE_LINE if self._past_cache else self._bytes)
        if self._past_cache:
            send_past_cache(b, stored)
        b.store(cells, self._before)
        b.store(behind, self._cells)

    def _exchange(self, cells, beside, paired):
        """Pairs of a rate and a difference, in the order in which `physics` adds their products."""
        b, by_face = self._builder, len(self._rates) == len(beside)
        if by_face and not paired:
            return [(rate, b.fsub(each, cells)) for rate, each in zip(self._rates, beside, strict=True)]
        xm, xp, ym, yp, zm, zp = beside
        rx, ry, rz = self._rates[::2] if by_face else self._rates
        if not (by_face or self.absent(2)):
            dx, dy = (b.fadd(b.fsub(low, cells), b.fsub(high, cells)) for low, high in ((xm, xp), (ym, yp)))
            return [(rz, b.fsub(zm, cells)), (rx, dx), (ry, dy), (rz, b.fsub(zp, cells))]
        twice = b.fadd(cells, cells)
        dx, dy = b.fsub(b.fadd(xm, xp), twice), b.fsub(b.fadd(ym, yp), twice)
        if by_face:
            return [(rx, dx), (ry, dy), (rz, b.fsub(zm, cells)), (self._rates[-1], b.fsub(zp, cells))]
        return [(rx, dx), (ry, dy), (rz, b.fadd(b.fsub(zm, twice), zp))]

    def _start(self, own, cells):
        """What is stored of the cells, or for a stage nothing, with their sources and losses."""
        b, new = self._builder, own if self.absent(16) else ir.Constant(self._vector, [0.0] * self._lanes)
        for heat in self._heat:
            new = vector_fma(b, self._dt, heat, new)
        for loss in self._losses:
            new = vector_fma(b, b.fneg(loss), cells, new)
        return new


row_in_cache, row_past_cache = _row(False), _row(True)


SUM_LANES = 16  # of the vectors that are summed: runs of one class are as long, or multiples of it


@intrinsic
def sum_of_vectors(typing_context, row, vectors):
    """The sum of the cells of some whole vectors of SUM_LANES, in the precision of the row."""

    def codegen(context, builder, signature, args):
        vector = ir.VectorType(context.get_value_type(row.dtype), SUM_LANES)
        total = cgutils.alloca_once_value(builder, ir.Constant(vector, [0.0] * SUM_LANES))
        with cgutils.for_range(builder, args[1]) as loop:
            place = vector_at(builder, args[0], builder.mul(loop.index, loop.index.type(SUM_LANES)), SUM_LANES)
            cells = builder.load(place, align=row.dtype.bitwidth // 8)
            builder.store(builder.fadd(builder.load(total), cells), total)
        return _sum_of_lanes(builder, builder.load(total))

    return row.dtype(row, types.intp), codegen


def _sum_of_lanes(builder, vector):
    """The sum of the lanes of a vector, in halves."""
    lanes = vector.type.count
    while lanes > 1:
        lanes //= 2
        places = (ir.Constant(ir.VectorType(ir.IntType(32), lanes), list(range(k, k + lanes))) for k in (0, lanes))
        vector = builder.fadd(*(builder.shuffle_vector(vector, vector, each) for each in places))
    return builder.extract_element(vector, ir.IntType(32)(0))
