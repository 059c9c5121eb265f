"""CPU: how far a step of several stages is from the trapezoidal rule; see `rk_stages.TrapezoidalDefect`."""

from __future__ import annotations

import numpy as np
from numba import prange

from heatsim_kernels.device.cpu.compilation import called, inlined, parallel_jit
from heatsim_kernels.device.cpu.pointers import load, load_written, pointer, store, widest_vectors
from heatsim_kernels.device.cpu.threads import limited, threads_for
from heatsim_kernels.device.fma import fma
from heatsim_kernels.explicit.rk_stages import TrapezoidalDefect

BLOCKS = 256
LANES = 64  # cells that are compared at once: LLVM would unroll a loop over few, and then not take it by vectors


def defect(start: np.ndarray, one: np.ndarray, end: np.ndarray, after: np.ndarray, rate: float) -> TrapezoidalDefect:
    """Of the step from `start` to `end`, flat; `one` and `after` are `rate` explicit steps from either on."""
    blocks = np.empty((min(BLOCKS, start.size), 3))
    with limited(threads_for(start.size)):
        _largest(start, one, end, after, -0.5 / rate, blocks)
    return TrapezoidalDefect(float(blocks[:, 0].max()), float(blocks[:, 1].min()), float(blocks[:, 2].max()))


# Cells are compared LANES at once, each with those of its own lane: a chain through all cells would wait for each
# comparison, and no loop would vectorise. found: (3 LANES,) the largest defects of the lanes, their least and their
# greatest values.


@inlined
def begin_comparison(found):
    """Nothing has been compared."""
    found[:LANES], found[LANES : 2 * LANES], found[2 * LANES :] = 0.0, np.inf, -np.inf


@inlined
def compare(found, lane, defect, value):
    """Compare a cell with those of its lane; found: a pointer."""
    least = load_written(found, LANES + lane)
    store(found, lane, greater(defect, load_written(found, lane)))
    store(found, LANES + lane, value if value < least else least)
    store(found, 2 * LANES + lane, greater(value, load_written(found, 2 * LANES + lane)))


@inlined
def end_comparison(found, blocks, block):
    """Put what all lanes have found into a row of `blocks`."""
    most, low, high = 0.0, np.inf, -np.inf
    for lane in range(LANES):
        most = greater(found[lane], most)
        low, high = min(low, found[LANES + lane]), greater(found[2 * LANES + lane], high)
    blocks[block, 0], blocks[block, 1], blocks[block, 2] = most, low, high


@inlined
def greater(value, most):
    """The greater of two; not a number if one is none."""
    return value if value > most or value != value else most


def build_comparison(compare_cell):
    """Build call(first, behind, found, given), which does compare_cell(i, lane, found, *given) for some cells."""

    @called
    def compare_cells(first, behind, found, given):
        widest_vectors()
        whole = first + (behind - first) // LANES * LANES
        for begin in range(first, whole, LANES):
            for lane in range(LANES):
                compare_cell(begin + lane, lane, found, *given)
        for i in range(whole, behind):
            compare_cell(i, i - whole, found, *given)

    return compare_cells


@inlined
def _compare_cell(i, lane, found, start, one, end, after, factor):
    y, z = np.float64(load(start, i)), np.float64(load(end, i))
    change = (np.float64(load(one, i)) - y) + (np.float64(load(after, i)) - z)
    compare(found, lane, abs(fma(factor, change, z - y)), z)


_compare_cells = build_comparison(_compare_cell)


@parallel_jit
def _largest(start, one, end, after, factor, blocks):
    """blocks (m, 3): largest defect, least and greatest value of `end` in the m-th part of the cells."""
    count = blocks.shape[0]
    for block in prange(count):
        found = np.empty(3 * LANES)
        begin_comparison(found)
        first, behind = np.int64(block * start.size // count), np.int64((block + 1) * start.size // count)
        given = pointer(start), pointer(one), pointer(end), pointer(after), factor
        _compare_cells(first, behind, pointer(found), given)
        end_comparison(found, blocks, block)
