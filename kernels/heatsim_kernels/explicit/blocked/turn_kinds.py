"""Kinds of turns of a march of `temporal`, by what the classes of the cells of a band are like.

A level takes the rates of its cells from shared memory. How many it has to look up is known before a march, for each
band of each column. In turn k levels work on the planes k - steps to k - 1. The kinds of a turn are:

    STILL    In these planes all rows of a lane are of one material. Planes have the same classes, and cells one rate
             through both faces in z. So the rates of one plane serve all levels.
    BY_ROW   Rows are of one material, but planes may differ: each level looks up the rates of its plane.
    BY_CELL  Others: each cell looks up its own.

Rows are of one material where they have the rates of the first, but through the outer faces in y of the first and of
the last row; those between have one class. So the surfaces of a material may lie anywhere in x, in y between bands.
"""

from __future__ import annotations

import numpy as np
from numba import int32, uint32, uint64

from heatsim_kernels.device.cuda.api import cuda, inlined
from heatsim_kernels.device.cuda.arrays import Array, empty
from heatsim_kernels.device.cuda.launch import kernel
from heatsim_kernels.device.cuda.warp_rows import WARP
from heatsim_kernels.explicit.blocked.cell_classes import lane_bytes
from heatsim_kernels.explicit.blocked.plan import TemporalTile

BY_CELL, BY_ROW, STILL = range(3)
KIND_BITS = 2  # before the count of turns in what `classify_turns` gives
FACES_IN_Y, FACES_IN_Z, FACES_BUT_IN_Y = ((2, 3), (4, 5), (0, 1, 4, 5))  # numbers of FACES


def classify_turns(laid_out: Array, rates: Array, tile: TemporalTile, planes: int, wraps: bool) -> Array:
    """For each column of the plan, each turn k of a march through its planes, 0 <= k < planes, and each band: the kind
    of the turn, and from bit KIND_BITS on for how many turns, k the first of them, it stays the same; (columns, planes,
    bands) int32, flat.

    laid_out: the classes as `lay_out_classes` gives them. rates: (classes, 6) the exchange rates of each, flat. wraps:
    whether the axis z is periodic. Turns in which a plane of a level lies at an end of the grid are BY_CELL.
    """
    bands = laid_out.shape[0] // (planes * WARP * lane_bytes(tile))  # of all columns
    result = empty(bands * planes, np.int32)
    args = (laid_out, rates, np.int32(planes), result)
    kernel(build_kinds, (tile, wraps), args)((bands, 1, 1), (WARP, 1, 1), args)
    return result


def build_kinds(variant: tuple[TemporalTile, bool]):
    """Build the kernel (laid_out, rates, planes, result) of `classify_turns`, a block for each band of a column."""
    tile, wraps = variant
    steps, bands, stride = tile.steps, tile.bands, lane_bytes(tile)
    of_one_material, even_in_z, same_classes = _of_one_material(tile), _even_in_z(tile), _same_classes(tile)

    def classify(laid_out, rates, planes, result):
        column, band, lane = cuda.blockIdx.x // bands, uint64(cuda.blockIdx.x % bands), uint64(cuda.threadIdx.x)
        left, last_kind, in_rows, still, above = planes, int32(BY_CELL), int32(0), int32(0), uint64(0)
        # From the last plane downwards, around a period twice: what comes after a turn is known then.
        for number in range(2 * planes if wraps else int32(planes + int32(steps))):
            z = int32(planes - int32(1) - (number % planes if wraps else number))
            plane = uint64(column) * uint64(planes) + uint64(max(z, int32(0)))
            at = ((plane * uint64(bands) + band) * uint64(WARP) + lane) * uint64(stride)
            one = cuda.syncthreads_and(int32(of_one_material(laid_out, rates, at)))
            even = cuda.syncthreads_and(int32(even_in_z(laid_out, rates, at)))
            same = cuda.syncthreads_and(int32(number > 0 and same_classes(laid_out, at, above)))
            in_rows = int32(in_rows + int32(1)) if one else int32(0)
            still = (int32(still + int32(1)) if same else int32(1)) if one and even else int32(0)
            turn, above, kind = int32(z + int32(steps)), at, int32(BY_CELL)
            if wraps or (z > 0 and turn < planes):
                kind = int32(STILL) if still >= steps else (int32(BY_ROW) if in_rows >= steps else int32(BY_CELL))
            left = min(int32(left + int32(1)), planes) if kind == last_kind else int32(1)
            last_kind = kind
            if lane == 0 and (wraps or turn < planes):
                place = (uint64(column) * uint64(planes) + uint64(turn % planes)) * uint64(bands) + band
                result[place] = int32(int32(left << int32(KIND_BITS)) | kind)

    return classify


@inlined
def _rate(rates, cell_class, face):
    return rates[uint32(uint32(cell_class) * uint32(6) + uint32(face))]


def _of_one_material(tile):
    """Build call(laid_out, rates, at): whether the rows of a lane are of one material; its classes begin at `at`."""
    columns, rows, (ym, yp), others = tile.columns, tile.rows, FACES_IN_Y, FACES_BUT_IN_Y

    @inlined
    def of_one_material(laid_out, rates, at):
        found = True
        for column in range(columns):
            first, inner = laid_out[at + uint64(column)], laid_out[at + uint64(column + columns)]
            between = _rate(rates, first, yp)
            for row in range(1, rows):
                own = laid_out[at + uint64(column + row * columns)]
                for face in others:
                    found = found and _rate(rates, own, face) == _rate(rates, first, face)
                found = found and _rate(rates, own, ym) == between
                found = found and (row == rows - 1 or (own == inner and _rate(rates, own, yp) == between))
        return found

    return of_one_material


def _even_in_z(tile):
    """Build call(laid_out, rates, at): whether the cells of a lane's first row have one rate through both faces in
    z."""
    columns, (zm, zp) = tile.columns, FACES_IN_Z

    @inlined
    def even_in_z(laid_out, rates, at):
        found = True
        for column in range(columns):
            first = laid_out[at + uint64(column)]
            found = found and _rate(rates, first, zm) == _rate(rates, first, zp)
        return found

    return even_in_z


def _same_classes(tile):
    """Build call(laid_out, at, other): whether a lane's cells have the same classes in two planes."""
    cells = tile.columns * tile.rows

    @inlined
    def same_classes(laid_out, at, other):
        found = True
        for cell in range(cells):
            found = found and laid_out[at + uint64(cell)] == laid_out[other + uint64(cell)]
        return found

    return same_classes


def moving_turns(kinds: Array, planes: int, bands: int) -> np.ndarray:
    """(columns, planes) whether a turn is not STILL in some band; kinds: see `classify_turns`."""
    of_bands = kinds.host().reshape(-1, planes, bands) & ((1 << KIND_BITS) - 1)
    return np.asarray((of_bands < STILL).any(axis=2))
