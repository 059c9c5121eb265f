"""CUDA: what the kernels of temperature-dependent problems share: the functions of `enthalpy.cell` with their
arguments, look-ups of 8 bytes, and what is done with a row of cells.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import int32, int64, types, uint32, uint64
from numba.core import cgutils

from heatsim_kernels.enthalpy import cell
from heatsim_kernels.runtime.cuda.api import SIMULATED, cuda, inlined, intrinsic
from heatsim_kernels.runtime.cuda.vector_access import constant, load4, store4
from heatsim_kernels.runtime.fma import fma


@inlined
def item(array, i):
    """array[i], of an array that the kernel does not write; i >= 0, of any integer type. As uint64 it is not tested for
    being negative, as Python's indices from the end would be."""
    return constant(array, uint64(i))


COLUMNS = 4  # cells of a row that a thread has, where rows are whole vectors


class EnthalpyConfiguration(NamedTuple):
    """What a kernel is compiled for; everything else is given by its arguments."""

    dtype: str
    uniform: bool
    several: bool
    fours: bool  # whether rows are whole vectors of four cells
    periodic: tuple[bool, bool, bool]
    heat_field: bool = False


class EnthalpyShape(NamedTuple):
    """Cells along each axis, uint32; a grid holds fewer than 2**32 cells."""

    nz: np.uint32
    ny: np.uint32
    nx: np.uint32


if SIMULATED:

    @inlined
    def load2(array, first, k):
        """The k-th pair of elements from array[first] on."""
        i = first + uint64(k) * uint64(2)
        return array[i], array[i + uint64(1)]

    def whole(value):
        """`value` without its fraction, int32: the nearest int32 beyond the range; for NaN, 0 or less."""
        return int32(min(max(value, -(2.0**31)), 2.0**31 - 1)) if value == value else int32(0)

else:

    @intrinsic
    def load2(typing_context, array, first, k):
        """The k-th pair of elements from array[first] on, of an array that the kernel does not write; `first`, uint64,
        is even, k is uint32. The address of array[first] is computed once for several k."""
        result = types.UniTuple(array.dtype, 2)

        def codegen(context, builder, signature, args):
            data = context.make_array(array)(context, builder, args[0]).data
            vector = ir.VectorType(data.type.pointee, 2).as_pointer(data.type.addrspace)
            start = builder.bitcast(builder.gep(data, [args[1]]), vector)
            pair = builder.load(
                builder.gep(start, [builder.zext(args[2], ir.IntType(64))]), align=2 * array.dtype.bitwidth // 8
            )
            pair.set_metadata("invariant.load", builder.module.add_metadata([]))
            items = [builder.extract_element(pair, ir.Constant(ir.IntType(32), k)) for k in range(2)]
            return context.make_tuple(builder, result, items)

        return result(array, types.uint64, types.uint32), codegen

    @intrinsic
    def whole(typing_context, value):
        """`value` without its fraction, int32: the nearest int32 beyond the range; for NaN, 0 or less."""
        name = {types.float32: "llvm.nvvm.f2i.rz", types.float64: "llvm.nvvm.d2i.rz"}[value]

        def codegen(context, builder, signature, args):
            function = ir.FunctionType(ir.IntType(32), [args[0].type])
            return builder.call(cgutils.get_or_insert_function(builder.module, function, name), args)

        return types.int32(value), codegen


@inlined
def place(s, last):
    """The segment that s lies in, as in `enthalpy.cell`. It is bounded as an integer: bounds of a float64 take five
    times as many instructions."""
    return min(max(whole(s), int32(0)), last)


@inlined
def last_segment(medium):
    """The last segment of a table, int32."""
    return int32(medium.segments - 1)


@inlined
def _place(s, medium):
    return place(s, last_segment(medium))


functions = cell.build(inlined, inlined, read=item, place=_place)
# The functions for boundaries whose heat is known (`KnownBoundaryDifferences`).
known_functions = cell.build(inlined, inlined, known=True, read=item, place=_place)


def on_line(value, lines, first, scale, shift, last):
    """The table's value at `value`, as in `enthalpy.cell`, in fewer instructions. first: where the lines of the
    material start, uint32."""
    a, b = load2(lines, uint64(first), uint32(place(fma(value, scale, shift), last)))
    return fma(b, value, a)


@inlined
def line_of(medium, material):
    """Where the lines of a material start."""
    return uint32(material * uint32(medium.segments) * uint32(2))


@inlined
def line_of_class(medium, cell_class):
    """Where the lines of the material of a cell class start."""
    return line_of(medium, constant(medium.material, cell_class))


@inlined
def rates_of_class(rates, cell_class):
    """The six rates of a cell class; `rates` has room for eight of each."""
    at = uint64(cell_class) * uint64(8)
    return load4(rates, at) + load2(rates, at, uint32(2))


def sources_of(configuration: EnthalpyConfiguration):
    """`enthalpy.cell.Functions.sources`, for the sources that a configuration has."""
    return cell.build_sources(inlined, constant, by_cell=configuration.heat_field)


class CellRowFunctions(NamedTuple):
    """Device functions for the cells that a thread has in a row, as tuples."""

    cell_count: int
    read: Callable[..., Any]
    write: Callable[..., Any]
    alike: Callable[..., Any]  # whether they are of one class: what they then share is looked up once
    lines: Callable[..., Any]  # where the lines of the materials of some classes start
    start: Callable[..., Any]  # the cells with the sources of a step
    shift: Callable[..., Any]  # their neighbours to the left and to the right
    with_first: Callable[..., Any]  # the cells with another first one
    with_last: Callable[..., Any]


def four_cells(configuration):
    """Rows of four cells from a multiple of four on."""
    sources = sources_of(configuration)

    @inlined
    def alike(k):
        return (k[0] == k[1]) & (k[2] == k[3]) & (k[0] == k[2])

    @inlined
    def lines(k, medium):
        one = two = three = four = line_of_class(medium, k[0])
        if not alike(k):
            two, three, four = line_of_class(medium, k[1]), line_of_class(medium, k[2]), line_of_class(medium, k[3])
        return one, two, three, four

    @inlined
    def start(i, u, k, heat):
        j = int64(i)
        return (
            sources(j, u[0], int64(k[0]), heat),
            sources(j + 1, u[1], int64(k[1]), heat),
            sources(j + 2, u[2], int64(k[2]), heat),
            sources(j + 3, u[3], int64(k[3]), heat),
        )

    @inlined
    def shift(c, left, right):
        return (left, c[0], c[1], c[2]), (c[1], c[2], c[3], right)

    @inlined
    def with_first(c, value):
        return value, c[1], c[2], c[3]

    @inlined
    def with_last(c, value):
        return c[0], c[1], c[2], value

    return CellRowFunctions(COLUMNS, load4, store4, alike, lines, start, shift, with_first, with_last)


def one_cell(configuration):
    """Rows of a single cell, as tuples of one."""
    sources = sources_of(configuration)

    @inlined
    def read(u, i):
        return (constant(u, i),)

    @inlined
    def write(v, i, values):
        v[i] = values[0]

    @inlined
    def alike(k):
        return True

    @inlined
    def lines(classes, medium):
        return (line_of_class(medium, classes[0]),)

    @inlined
    def start(i, u, k, heat):
        return (sources(int64(i), u[0], int64(k[0]), heat),)

    @inlined
    def shift(c, left, right):
        return (left,), (right,)

    @inlined
    def with_end(c, value):
        return (value,)

    return CellRowFunctions(1, read, write, alike, lines, start, shift, with_end, with_end)


# The temperature that each cell has, from its enthalpy; one thread a cell.


TEMPERATURE_THREADS = 4 if SIMULATED else 256  # a block

temperature = functions.temperature


def build_temperatures(variant):
    """Build the kernel (u, out, medium), u and out flat: temperature offsets in `out`, with the bits of the CPU."""

    def temperatures(u, out, medium):
        i = uint64(cuda.blockIdx.x) * uint64(TEMPERATURE_THREADS) + uint64(cuda.threadIdx.x)
        if i < uint64(u.size):
            cell_class = int64(medium.class_ids[i]) if medium.several != 0 else int64(0)
            out[i] = temperature(u[i], int64(medium.material[cell_class]) * medium.segments, medium)

    return temperatures
