"""CUDA: what the kernels of temperature-dependent problems share: the functions of `enthalpy.cell` with their
arguments, look-ups of 8 bytes, and what is done with a row of cells.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types, uint32, uint64

from heatsim_kernels.device.cuda.api import SIMULATED, inlined, intrinsic
from heatsim_kernels.device.cuda.register_tuples import each
from heatsim_kernels.device.cuda.vector_access import constant, load4, store4
from heatsim_kernels.device.fma import fma
from heatsim_kernels.explicit.cuda_cell.cell_update import build_start_and_finish
from heatsim_kernels.explicit.enthalpy import cell
from heatsim_kernels.explicit.enthalpy.pieces import PIECE_NUMBERS, PIECES


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
    paired: bool  # see `EnthalpyMedium`
    several: bool
    fours: bool  # whether rows are whole vectors of four cells
    periodic: tuple[bool, bool, bool]
    heat_field: bool = False
    stage: str = ""  # see `StencilConfiguration`
    pieces: int = PIECES  # that a potential has at most, a power of two


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


functions = cell.build(inlined, inlined, read=item)


@inlined
def material_of(medium, cell_class):
    """The material of a cell class."""
    return uint32(constant(medium.material, cell_class))


def build_potentials(configuration: EnthalpyConfiguration):
    """Build call(u, materials, medium): the potentials of cells at u, as `enthalpy.cell` finds them, in fewer
    instructions. u, materials: tuples, or one material for all."""
    halves, row = search_of(configuration.pieces), row_of(configuration.pieces)

    @inlined
    def at_piece(u, j, pieces):
        step = uint32(row)
        at_a, at_b = uint32(j + step), uint32(j + uint32(2) * step)
        at_c, at_e = uint32(j + uint32(3) * step), uint32(j + uint32(4) * step)
        d, e = u - constant(pieces, j), constant(pieces, at_e)
        return fma(fma(fma(e, d, constant(pieces, at_c)), d, constant(pieces, at_b)), d, constant(pieces, at_a))

    def on_piece(u, material, medium):
        j = uint32(material * uint32(PIECE_NUMBERS * row))
        for half in halves:
            if u >= constant(medium.pieces, uint32(j + uint32(half))):
                j = uint32(j + uint32(half))
        return at_piece(u, j, medium.pieces)

    def on_single_piece(u, material, medium):
        return at_piece(u, uint32(material * uint32(PIECE_NUMBERS * row)), medium.pieces)

    return each(on_piece if halves else on_single_piece, whole=1)


def row_of(pieces: int) -> int:
    """How many pieces a row has in which potentials have so many at most."""
    return max(PIECES, pieces)


def search_of(pieces: int) -> tuple[int, ...]:
    """By how many pieces a search in so many, a power of two, goes on, if it does: halves of what is left."""
    return tuple(pieces >> n for n in range(1, pieces.bit_length()))


@inlined
def rates_of_class(rates, cell_class):
    """The six rates of a cell class; `rates` has room for eight of each."""
    at = uint64(cell_class) * uint64(8)
    return load4(rates, at) + load2(rates, at, uint32(2))


def build_begin_and_finish(configuration: EnthalpyConfiguration):
    """Build begin(i, u, cell_class, sources): from what the new value of a cell at u starts, with its sources; and
    finish(new, i, u, sources): see `cell_update.build_start_and_finish`."""
    by_cell, (start_from, finish) = configuration.heat_field, build_start_and_finish(configuration)

    @inlined
    def begin(i, u, cell_class, sources):
        value = fma(sources.dt, constant(sources.table, uint64(cell_class)), start_from(u))
        if by_cell:
            value = fma(sources.gain, constant(sources.field, uint64(i)), value)
        return value

    return begin, finish


def build_add_heat(configuration: EnthalpyConfiguration):
    """Build add_heat(value, heat, sources): the value of a cell after a step or a stage with what it gets from other
    materials in a step."""
    of_stage = bool(configuration.stage)

    @inlined
    def add_heat(value, heat, sources):
        return fma(sources.rate, heat, value) if of_stage else value + heat

    return add_heat


class CellRowFunctions(NamedTuple):
    """Device functions for the cells that a thread has in a row, as tuples."""

    cell_count: int
    read: Callable[..., Any]
    write: Callable[..., Any]
    alike: Callable[..., Any]  # whether they are of one class: what they then share is looked up once
    materials: Callable[..., Any]  # of some classes
    start: Callable[..., Any]  # from what their new values start: see `build_begin_and_finish`
    finish: Callable[..., Any]  # their new values
    shift: Callable[..., Any]  # their neighbours to the left and to the right
    with_first: Callable[..., Any]  # the cells with another first one
    with_last: Callable[..., Any]


def four_cells(configuration):
    """Rows of four cells from a multiple of four on."""
    begin, finish_cell = build_begin_and_finish(configuration)

    @inlined
    def alike(k):
        return (k[0] == k[1]) & (k[2] == k[3]) & (k[0] == k[2])

    @inlined
    def materials(k, medium):
        one = two = three = four = material_of(medium, k[0])
        if not alike(k):
            two, three, four = material_of(medium, k[1]), material_of(medium, k[2]), material_of(medium, k[3])
        return one, two, three, four

    @inlined
    def start(i, u, k, sources):
        one, two, three = i + uint64(1), i + uint64(2), i + uint64(3)
        return (
            begin(i, u[0], k[0], sources),
            begin(one, u[1], k[1], sources),
            begin(two, u[2], k[2], sources),
            begin(three, u[3], k[3], sources),
        )

    @inlined
    def finish(new, i, u, sources):
        one, two, three = i + uint64(1), i + uint64(2), i + uint64(3)
        return (
            finish_cell(new[0], i, u[0], sources),
            finish_cell(new[1], one, u[1], sources),
            finish_cell(new[2], two, u[2], sources),
            finish_cell(new[3], three, u[3], sources),
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

    return CellRowFunctions(COLUMNS, load4, store4, alike, materials, start, finish, shift, with_first, with_last)


def one_cell(configuration):
    """Rows of a single cell, as tuples of one."""
    begin, finish_cell = build_begin_and_finish(configuration)

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
    def materials(classes, medium):
        return (material_of(medium, classes[0]),)

    @inlined
    def start(i, u, k, sources):
        return (begin(i, u[0], k[0], sources),)

    @inlined
    def finish(new, i, u, sources):
        return (finish_cell(new[0], i, u[0], sources),)

    @inlined
    def shift(c, left, right):
        return (left,), (right,)

    @inlined
    def with_end(c, value):
        return (value,)

    return CellRowFunctions(1, read, write, alike, materials, start, finish, shift, with_end, with_end)
