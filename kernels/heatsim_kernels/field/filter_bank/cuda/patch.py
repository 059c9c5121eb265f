"""CUDA: a thread's patch of the response, every sum of it in a register.

                   filter w0   filter w1   ...          a weight read once meets every pixel of the patch,
    pixels row 0   s s s s     s s s s                  a pixel read once meets every filter of the patch;
    pixels row 1   s s s s     s s s s                  sliding along a mask row costs one pixel a tap

A patch of k filters x r rows x c columns makes k r c multiply-adds of k + r c values read, and of fewer where a mask is
slid along a row: c + width - 1 pixels serve all `width` taps. One thread and one sum need a read or two for each
multiply-add, and the load units, a quarter as wide as the arithmetic ones, set the pace. Sources: Volkov and Demmel,
Benchmarking GPUs to tune dense linear algebra, SC 2008; Volkov, Better performance at lower occupancy, GTC 2010.

Numba's own tuples and local arrays do not unroll by themselves, so the functions are written as LLVM instructions; the
simulator has the same in Python. Sum number (k * rows + y) * columns + x belongs to filter k and pixel (y, x).
"""

from __future__ import annotations

from typing import NamedTuple

from llvmlite import ir
from numba import types
from numba.core import cgutils

from heatsim_kernels.device.cuda.api import SIMULATED, inlined, intrinsic
from heatsim_kernels.device.fma import fma
from heatsim_kernels.field.filter_bank.pointwise import rectified

ACCESS = 16  # bytes that a thread reads or writes at once, at most
TAPS = 8  # of a mask row, taken at once: wide masks are cut so that their weights and pixels stay in registers


class Patch(NamedTuple):
    """Filters, and rows and columns of pixels, that a thread computes."""

    filters: int
    rows: int
    columns: int

    @property
    def sums(self) -> int:
        """Registers, for a float32 each."""
        return self.filters * self.rows * self.columns


class PatchWindow(NamedTuple):
    """How a patch reads its tile: taps of a mask row, image cells from a pixel to the next (y, x), and cells from a
    tile row to the next. `aligned`: a row of pixels starts on a 16-byte boundary."""

    taps: int
    stride: tuple[int, int]
    pitch: int
    aligned: bool

    def cell(self, row: int, column: int) -> int:
        """Place of a pixel's first tap, from that of the patch's first pixel."""
        return row * self.stride[0] * self.pitch + column * self.stride[1]


if SIMULATED:

    def functions(patch, window, relu):
        """`start(bias, k)`, `add(sums, tile, t, weights, w, step)`, `keep(array, i, plane, row, sums)` and
        `write(out, i, plane, row, room, sums)`: see the other definition."""
        places = [(k, y, x) for k in range(patch.filters) for y in range(patch.rows) for x in range(patch.columns)]

        @inlined
        def start(bias, k):
            return tuple(bias[k + place[0]] for place in places)

        @inlined
        def add(sums, tile, t, weights, w, step):
            for tap in range(window.taps):
                sums = tuple(
                    fma(weights[w + tap * step + k], tile[t + window.cell(y, x) + tap], total)
                    for (k, y, x), total in zip(places, sums, strict=True)
                )
            return sums

        @inlined
        def keep(array, i, plane, row, sums):
            for (k, y, x), value in zip(places, sums, strict=True):
                array[i + k * plane + y * row + x] = value

        @inlined
        def write(out, i, plane, row, room, sums):
            for (k, y, x), value in zip(places, sums, strict=True):
                if k < room[0] and y < room[1] and x < room[2]:
                    out[i + k * plane + y * row + x] = rectified(value, type(value)(0)) if relu else value

        return start, add, keep, write

else:

    def functions(patch, window, relu):
        """The four things done with a patch, whose sums are a tuple:

        - `start(bias, k)`: the sums as they begin, the bias of filters k, k + 1, ...
        - `add(sums, tile, t, weights, w, step)`: add a mask row, tap after tap; the first pixel's first tap is tile[t],
          the first filter's weight weights[w], the next tap's `step` further on
        - `keep(array, i, plane, row, sums)`: write all sums; filters are `plane` apart, rows of pixels `row`
        - `write(out, i, plane, row, room, sums)`: write those that have room, through a ReLU if `relu`; `room` is how
          many (filters, rows, columns) are left from the first on
        """
        return _start(patch), _add(patch, window), _keep(patch), _write(patch, relu)

    def _start(patch):
        @intrinsic
        def start(typing_context, bias, k):
            result = types.UniTuple(bias.dtype, patch.sums)

            def codegen(context, builder, signature, args):
                data = _data(context, builder, signature.args[0], args[0])
                values = _read(builder, data, args[1], patch.filters)
                return context.make_tuple(
                    builder, result, [v for v in values for _ in range(patch.sums // patch.filters)]
                )

            return result(bias, types.uint64), codegen

        return start

    def _add(patch, window):
        @intrinsic
        def add(typing_context, sums, tile, t, weights, w, step):
            word = types.uint64

            def codegen(context, builder, signature, args):
                pixels = _data(context, builder, signature.args[1], args[1])
                factors = _data(context, builder, signature.args[3], args[3])
                totals = cgutils.unpack_tuple(builder, args[0], patch.sums)
                for first in range(0, window.taps, TAPS):
                    taps = range(first, min(first + TAPS, window.taps))
                    _add_taps(builder, patch, window, taps, totals, (pixels, args[2]), (factors, args[4], args[5]))
                return context.make_tuple(builder, sums, totals)

            return sums(sums, tile, word, weights, word, word), codegen

        return add

    def _add_taps(builder, patch, window, taps, totals, pixels, weights):
        """Add some taps of a mask row to `totals`; each weight is read once, each row of pixels once."""
        (tile, t), (factors, w, step) = pixels, weights
        wide = _wide(tile.type.pointee) if window.aligned else 1
        weight = {}
        for y in range(patch.rows):
            count = (patch.columns - 1) * window.stride[1] + len(taps)
            row = _read(builder, tile, _after(builder, t, window.cell(y, 0) + taps[0]), count, wide)
            for tap in taps:
                if tap not in weight:
                    at = builder.add(w, builder.mul(step, _word(tap)))
                    weight[tap] = _read(builder, factors, at, patch.filters)
                for k in range(patch.filters):
                    for x in range(patch.columns):
                        i = (k * patch.rows + y) * patch.columns + x
                        value = row[x * window.stride[1] + tap - taps[0]]
                        totals[i] = builder.fma(weight[tap][k], value, totals[i])

    def _keep(patch):
        @intrinsic
        def keep(typing_context, array, i, plane, row, sums):
            def codegen(context, builder, signature, args):
                data = _data(context, builder, signature.args[0], args[0])
                for start, values in _rows(builder, patch, args[1:4], args[4]):
                    _put(builder, data, start, values, 1)
                return context.get_dummy_value()

            return types.void(array, types.uint64, types.uint64, types.uint64, sums), codegen

        return keep

    def _write(patch, relu):
        @intrinsic
        def write(typing_context, out, i, plane, row, room, sums):
            def codegen(context, builder, signature, args):
                data = _data(context, builder, signature.args[0], args[0])
                room = cgutils.unpack_tuple(builder, args[4], 3)
                whole = _is_whole(builder, patch, data, args[1:4], room[2])
                for number, (start, values) in enumerate(_rows(builder, patch, args[1:4], args[5])):
                    k, y = divmod(number, patch.rows)
                    values = [_rectified(builder, value) for value in values] if relu else values
                    inside = builder.and_(_less(builder, k, room[0]), _less(builder, y, room[1]))
                    with builder.if_then(inside):
                        _write_row(builder, data, start, values, whole, room[2])
                return context.get_dummy_value()

            word = types.uint64
            return types.void(out, word, word, word, types.UniTuple(types.uint32, 3), sums), codegen

        return write

    def _rectified(builder, value):
        """As `pointwise.rectified`."""
        zero = ir.Constant(value.type, 0.0)
        return builder.select(builder.fcmp_ordered("<=", value, zero), zero, value)

    def _write_row(builder, data, start, values, whole, room):
        """Write a row of pixels: in fours if `whole`, else those that there is room for."""
        with builder.if_else(whole) as (yes, no):
            with yes:
                wide = _wide(data.type.pointee)
                _put(builder, data, start, values, wide if len(values) % wide == 0 else 1)
            with no:
                for x, value in enumerate(values):
                    with builder.if_then(_less(builder, x, room)):
                        _put(builder, data, _after(builder, start, x), [value], 1)

    def _is_whole(builder, patch, data, places, room):
        """Whether rows of the patch have room and start on 16-byte boundaries."""
        low = builder.or_(builder.or_(places[0], places[1]), places[2])
        low = builder.and_(low, _word(_wide(data.type.pointee) - 1))
        fits = builder.icmp_unsigned(">=", room, ir.Constant(room.type, patch.columns))
        return builder.and_(fits, builder.icmp_unsigned("==", low, _word(0)))

    def _rows(builder, patch, places, sums):
        """Start and values of each row of pixels of each filter."""
        start, plane, row = places
        values = cgutils.unpack_tuple(builder, sums, patch.sums)
        for k in range(patch.filters):
            for y in range(patch.rows):
                first = (k * patch.rows + y) * patch.columns
                offset = builder.add(builder.mul(plane, _word(k)), builder.mul(row, _word(y)))
                yield builder.add(start, offset), values[first : first + patch.columns]

    def _read(builder, data, start, count, wide=None):
        """`count` elements from data[start] on, in pieces of `wide` elements (where they fit) or of all it can."""
        wide = wide or _wide(data.type.pointee)
        values = []
        while len(values) < count:
            lanes = min(wide, 1 << ((count - len(values)).bit_length() - 1))
            pointer = builder.gep(data, [_after(builder, start, len(values))])
            if lanes == 1:
                values.append(builder.load(pointer))
            else:
                vector = builder.load(_as_vector(builder, pointer, lanes), align=lanes * _bytes(data.type.pointee))
                values += [builder.extract_element(vector, ir.Constant(ir.IntType(32), i)) for i in range(lanes)]
        return values

    def _put(builder, data, start, values, wide):
        """Write values from data[start] on, `wide` at a time."""
        for first in range(0, len(values), wide):
            pointer = builder.gep(data, [_after(builder, start, first)])
            if wide == 1:
                builder.store(values[first], pointer)
                continue
            target = _as_vector(builder, pointer, wide)
            vector = ir.Constant(target.type.pointee, ir.Undefined)
            for i in range(wide):
                vector = builder.insert_element(vector, values[first + i], ir.Constant(ir.IntType(32), i))
            builder.store(vector, target, align=wide * _bytes(data.type.pointee))

    def _data(context, builder, array_type, array):
        return context.make_array(array_type)(context, builder, array).data

    def _as_vector(builder, pointer, lanes):
        return builder.bitcast(pointer, ir.VectorType(pointer.type.pointee, lanes).as_pointer(pointer.type.addrspace))

    def _after(builder, start, count):
        return builder.add(start, _word(count))

    def _less(builder, value, limit):
        return builder.icmp_unsigned("<", ir.Constant(limit.type, value), limit)

    def _word(value):
        return ir.Constant(ir.IntType(64), value)

    def _bytes(element):
        return 8 if isinstance(element, ir.DoubleType) else 4

    def _wide(element):
        return ACCESS // _bytes(element)


# CUDA: an element of an array, or zero where there is none, without a branch.
#
# Written as `x[i] if inside else 0` a load becomes a branch around it, or not, as the compiler likes; with branches
# each load is waited for before the next one starts. This is one predicated instruction, so a thread's loads start
# together.


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
