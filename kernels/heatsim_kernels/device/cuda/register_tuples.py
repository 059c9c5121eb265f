"""CUDA: operations on tuples, whose loops run while code is generated.

A kernel that names each of its registers has Numba infer a type for each name: minutes for a few hundred cells in
registers. Here a whole tuple is one name, and the compiler behind Numba sees plain scalars, with no loop left.

Each factory takes what is known beforehand and returns a device function; on the simulator, a Python function.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from heatsim_kernels.device.cuda.api import SIMULATED, intrinsic
from heatsim_kernels.device.fma import fma


def rows_of(cells: Any, columns: int) -> list[Any]:
    """A flat tuple or list cut into rows of `columns`."""
    return [cells[start : start + columns] for start in range(0, len(cells), columns)]


def _entered_left(cells: Any, entering: Any, columns: int) -> list[Any]:
    rows = zip(entering, rows_of(cells, columns), strict=True)
    return list(chain.from_iterable([new, *row[:-1]] for new, row in rows))


def _entered_right(cells: Any, entering: Any, columns: int) -> list[Any]:
    rows = zip(entering, rows_of(cells, columns), strict=True)
    return list(chain.from_iterable([*row[1:], new] for new, row in rows))


if SIMULATED:

    def once(function: Callable[..., Any], result: Callable[..., Any]):
        """See below, as for all of these: they are what the CUDA simulator runs."""
        return function

    def each(function: Callable[..., Any], whole: int = 0):
        """Of tuples, item by item."""

        def call(*args):
            own, given = args[: len(args) - whole], args[len(args) - whole :]
            count = max(len(a) for a in own if isinstance(a, tuple))
            lists = [a if isinstance(a, tuple) else (a,) * count for a in own]
            return tuple(function(*one, *given) for one in zip(*lists, strict=True))

        return call

    def order_of(value):
        """As it is."""
        return value

    def least_and_greatest(cells):
        """Of those that are numbers."""
        numbers = [cell for cell in cells if cell == cell] or cells
        return min(numbers), max(numbers)

    def zipped(one, other):
        """As Python's zip."""
        return tuple(zip(one, other, strict=True))

    def unzipped(pairs):
        """Two tuples."""
        return tuple(zip(*pairs, strict=True))

    def cascade(function: Callable[..., Any]):
        """Through all states."""

        def call(states, value, *others):
            done = []
            for number, state in enumerate(states):
                state, value = function(number, state, value, *others)
                done.append(state)
            return tuple(done), value

        return call

    def part(cut: slice):
        """A slice."""
        return lambda cells: cells[cut]

    def repeated(count: int):
        """So many times."""
        return lambda value: (value,) * count

    def cycled(count: int):
        """One after another."""
        return lambda cells: cells * count

    def counted(count: int):
        """An arithmetic sequence."""
        return lambda first, step: tuple(type(first)(first + step * k) for k in range(count))

    def _shift(columns, moved):
        return lambda cells, entering: tuple(moved(cells, entering, columns))

else:

    def once(function: Callable[..., Any], result: Callable[..., Any]):
        """The device function itself, but typed once for its argument types rather than at each place of call.

        `result` gives the type of what it returns from the types of its arguments. All of it is inlined in the end.
        """

        @intrinsic
        def call(typing_context, *args):
            def codegen(context, builder, signature, values):
                unpacked = cgutils.unpack_tuple(builder, values[0], len(args))
                return context.compile_internal(builder, function, result(*args)(*args), unpacked)

            return result(*args)(types.StarArgTuple.from_types(args)), codegen

        return call

    def each(function: Callable[..., Any], whole: int = 0):
        """call(*args): the tuple of `function` of the first items, of the second items, ...; a scalar serves all, and
        so do the last `whole` arguments, whatever they are.

        The result has the item type of the first tuple.
        """

        @intrinsic
        def call(typing_context, *args):
            own, given = args[: len(args) - whole], args[len(args) - whole :]
            first = next(a for a in own if isinstance(a, types.BaseTuple))
            result, one = first, first.dtype(*(_item(a) for a in own), *given)

            def codegen(context, builder, signature, values):
                unpacked = cgutils.unpack_tuple(builder, values[0], len(args))
                lists = [_items(builder, a, value, len(first)) for a, value in zip(own, unpacked, strict=False)]
                rest = unpacked[len(own) :]
                found = [
                    context.compile_internal(builder, function, one, [*items, *rest])
                    for items in zip(*lists, strict=True)
                ]
                return context.make_tuple(builder, result, found)

            return result(types.StarArgTuple.from_types(args)), codegen

        return call

    def _order(builder, value):
        """A float32 that grows where the value does: of a float64 the upper half, whose bits are so laid out."""
        if value.type == ir.FloatType():
            return value
        upper = builder.lshr(builder.bitcast(value, ir.IntType(64)), ir.Constant(ir.IntType(64), 32))
        return builder.bitcast(builder.trunc(upper, ir.IntType(32)), ir.FloatType())

    @intrinsic
    def order_of(typing_context, value):
        """A float32 that is greater or equal for a greater value. None is for infinite float64 and those that are no
        numbers: no comparison with it is true. In float64 a comparison takes four times as many instructions."""
        return types.float32(value), lambda context, builder, signature, args: _order(builder, args[0])

    @intrinsic
    def least_and_greatest(typing_context, cells):
        """`order_of` the least and the greatest of some cells; of those that are numbers, if one is."""
        result = types.UniTuple(types.float32, 2)

        def codegen(context, builder, signature, args):
            found = []
            kind = ir.FunctionType(ir.FloatType(), [ir.FloatType()] * 2)
            for name in ("fmin", "fmax"):
                items = [_order(builder, cell) for cell in cgutils.unpack_tuple(builder, args[0])]
                pick = cgutils.get_or_insert_function(builder.module, kind, f"llvm.nvvm.{name}.f")
                while len(items) > 1:  # in halves: in a chain each would wait for the last
                    odd = items[len(items) // 2 * 2 :]
                    items = [builder.call(pick, pair) for pair in zip(items[::2], items[1::2], strict=False)] + odd
                found += items
            return context.make_tuple(builder, result, found)

        return result(cells), codegen

    @intrinsic
    def zipped(typing_context, one, other):
        """The tuple of pairs of items of two tuples of one type."""
        pair = types.UniTuple(one.dtype, 2)
        result = types.UniTuple(pair, len(one))

        def codegen(context, builder, signature, args):
            items = zip(*(cgutils.unpack_tuple(builder, a) for a in args), strict=True)
            return context.make_tuple(builder, result, [context.make_tuple(builder, pair, each) for each in items])

        return result(one, other), codegen

    @intrinsic
    def unzipped(typing_context, pairs):
        """Two tuples, of the first and of the second items of pairs."""
        one = types.UniTuple(pairs.dtype.dtype, len(pairs))
        result = types.UniTuple(one, 2)

        def codegen(context, builder, signature, args):
            items = [cgutils.unpack_tuple(builder, pair) for pair in cgutils.unpack_tuple(builder, args[0])]
            both = [context.make_tuple(builder, one, values) for values in zip(*items, strict=True)]
            return context.make_tuple(builder, result, both)

        return result(pairs), codegen

    def _item(typ):
        return typ.dtype if isinstance(typ, types.BaseTuple) else typ

    def _items(builder, typ, value, count):
        return cgutils.unpack_tuple(builder, value, count) if isinstance(typ, types.BaseTuple) else [value] * count

    def cascade(function: Callable[..., Any]):
        """call(states, value, *others): the new states, and the value that comes out at the end of

        `state, value = function(number, state, value, *others)` for each state in turn, `number` counting them.
        """

        @intrinsic
        def call(typing_context, *args):
            states, value, *others = args
            result, both = types.Tuple((states, value)), types.Tuple((states.dtype, value))
            one = both(types.int32, states.dtype, value, *others)

            def codegen(context, builder, signature, values):
                old, now, *rest = cgutils.unpack_tuple(builder, values[0], len(args))
                new = []
                for number, state in enumerate(cgutils.unpack_tuple(builder, old, len(states))):
                    count = ir.Constant(ir.IntType(32), number)
                    pair = context.compile_internal(builder, function, one, [count, state, now, *rest])
                    state, now = cgutils.unpack_tuple(builder, pair, 2)
                    new.append(state)
                return context.make_tuple(builder, result, [context.make_tuple(builder, states, new), now])

            return result(types.StarArgTuple.from_types(args)), codegen

        return call

    def part(cut: slice):
        """call(cells): cells[cut]."""

        @intrinsic
        def call(typing_context, cells):
            result = types.UniTuple(cells.dtype, len(range(len(cells))[cut]))

            def codegen(context, builder, signature, args):
                return context.make_tuple(builder, result, cgutils.unpack_tuple(builder, args[0])[cut])

            return result(cells), codegen

        return call

    def repeated(count: int):
        """call(value): the value, `count` times."""

        @intrinsic
        def call(typing_context, value):
            result = types.UniTuple(value, count)

            def codegen(context, builder, signature, args):
                return context.make_tuple(builder, result, [args[0]] * count)

            return result(value), codegen

        return call

    def cycled(count: int):
        """call(cells): the items of a tuple, one after another, `count` times."""

        @intrinsic
        def call(typing_context, cells):
            result = types.UniTuple(cells.dtype, count * len(cells))

            def codegen(context, builder, signature, args):
                return context.make_tuple(builder, result, cgutils.unpack_tuple(builder, args[0]) * count)

            return result(cells), codegen

        return call

    def counted(count: int):
        """call(first, step): first, first + step, ..., `count` of them; integers of one type."""

        @intrinsic
        def call(typing_context, first, step):
            result = types.UniTuple(first, count)

            def codegen(context, builder, signature, args):
                found = [args[0]]
                while len(found) < count:
                    found.append(builder.add(found[-1], args[1]))
                return context.make_tuple(builder, result, found)

            return result(first, first), codegen

        return call

    def _shift(columns, moved):
        @intrinsic
        def call(typing_context, cells, entering):
            def codegen(context, builder, signature, args):
                old, new = (cgutils.unpack_tuple(builder, a) for a in args)
                return context.make_tuple(builder, cells, moved(old, new, columns))

            return cells(cells, entering), codegen

        return call


def entering_left(columns: int):
    """call(cells, entering): rows of `columns` moved right by one, with one value for each row entering at its left."""
    return _shift(columns, _entered_left)


def entering_right(columns: int):
    """call(cells, entering): rows moved left by one, with one value for each row entering at its right."""
    return _shift(columns, _entered_right)


# CUDA: tuples of registers, and operations on all of a tuple in one call.
#
# A kernel that names each of its registers and multiply-adds in its source has Numba infer a type for each, which takes
# minutes for a 9 x 9 mask. Here a tuple is one name, and loops over it run while the code is generated.


if not SIMULATED:
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils


def row_adder(meets: tuple[tuple[int, int], ...], width: int, columns: int):
    """The device function add(sums, values, mask).

    `sums` are rows of `columns` unfinished results, `meets` the pairs of a row of them and the row of the mask that it
    meets. `values` are the columns + width - 1 elements under the mask as it goes over the columns; `mask` has rows of
    `width` weights, one after another.
    """

    def added(sums, values, mask, multiply_add):
        new = list(sums)
        for s, m in meets:
            for k in range(width):
                for column in range(columns):
                    at = s * columns + column
                    new[at] = multiply_add(mask[m * width + k], values[column + k], new[at])
        return new

    if SIMULATED:
        return lambda sums, values, mask: tuple(added(sums, values, mask, fma))

    @intrinsic
    def add(typing_context, sums, values, mask):
        def codegen(context, builder, signature, args):
            unpacked = (cgutils.unpack_tuple(builder, each) for each in args)
            return context.make_tuple(builder, sums, added(*unpacked, builder.fma))

        return sums(sums, values, mask), codegen

    return add


def regrouped(pick):
    """The device function call(*tuples) that gives `pick(*tuples)`, where `pick` chooses from tuples and joins them."""
    if SIMULATED:
        return pick

    @intrinsic
    def call(typing_context, *tuples):
        result = types.UniTuple(tuples[0].dtype, len(pick(*((None,) * len(each) for each in tuples))))

        def codegen(context, builder, signature, args):
            packed = cgutils.unpack_tuple(builder, args[0], len(tuples))
            return context.make_tuple(builder, result, pick(*(tuple(cgutils.unpack_tuple(builder, p)) for p in packed)))

        return result(types.StarArgTuple.from_types(tuples)), codegen

    return call


def collected(count: int, function, real):
    """The device function call(*args) that gives the tuple of function(k, *args) for k below `count`, all `real`."""
    if SIMULATED:
        return lambda *args: tuple(function(k, *args) for k in range(count))

    @intrinsic
    def call(typing_context, *args):
        result = types.UniTuple(real, count)

        def codegen(context, builder, signature, values):
            unpacked = cgutils.unpack_tuple(builder, values[0], len(args))
            places = (ir.Constant(ir.IntType(64), k) for k in range(count))
            kind = real(types.int64, *args)
            return context.make_tuple(
                builder, result, [context.compile_internal(builder, function, kind, [k, *unpacked]) for k in places]
            )

        return result(types.StarArgTuple.from_types(args)), codegen

    return call


def mapped(function, real):
    """The device function call(items, *args) that gives the tuple of function(item, *args), all `real`."""
    if SIMULATED:
        return lambda items, *args: tuple(function(item, *args) for item in items)

    @intrinsic
    def call(typing_context, items, *args):
        result = types.UniTuple(real, len(items))

        def codegen(context, builder, signature, values):
            unpacked = cgutils.unpack_tuple(builder, values[1], len(args))
            kind = real(items.dtype, *args)
            found = [
                context.compile_internal(builder, function, kind, [item, *unpacked])
                for item in cgutils.unpack_tuple(builder, values[0])
            ]
            return context.make_tuple(builder, result, found)

        return result(items, types.StarArgTuple.from_types(args)), codegen

    return call
