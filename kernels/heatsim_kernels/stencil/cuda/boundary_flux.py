"""CUDA: the heat that enters in one or several steps, for the energy ledger: through the faces of the box, and from
ambients inside it.

Kernels of their own, so that no sweep has to add it up: they read the cells concerned of the field before a step. Where
several steps are fused, they come from the trace that the sweep left. Each block owns one slot of partial sums and
always adds in the same order, so the result has no races in it.
"""

from __future__ import annotations

from numba import float64, int32, int64, uint32

from heatsim_kernels.field.cuda.block_reduction import THREADS, block_sum
from heatsim_kernels.runtime.cuda.api import SIMULATED, cuda, inlined
from heatsim_kernels.stencil import physics
from heatsim_kernels.stencil.cuda.configuration import StencilConfiguration

BLOCKS = 2 if SIMULATED else 128  # a face, at most
MAX_STEPS = 4  # that a sweep takes at once, each of which is written out below

ghost = inlined(physics.ghost)


def blocks_for(cells: int) -> int:
    """Blocks for so many cells, or faces of cells."""
    return max(1, min(BLOCKS, -(-cells // THREADS)))


@inlined
def _first_and_strides(face, nz, ny, nx):
    """The first cell of a face, its columns, and the way from row to row and from column to column."""
    plane, upper = int64(ny) * int64(nx), face % 2 == 1
    if face < 2:
        return int64(nx - 1) if upper else int64(0), int64(nz), int64(ny), plane, int64(nx)
    if face < 4:
        return plane - nx if upper else int64(0), int64(nz), int64(nx), plane, int64(1)
    return plane * (nz - 1) if upper else int64(0), int64(ny), int64(nx), int64(nx), int64(1)


@inlined
def _warmer_beyond(c, a, b, row, w):
    """How much warmer the ghost beyond a wall is than a cell."""
    return float64(ghost(c, a[row, w], b[row, w])) - float64(c)


def build(structure: StencilConfiguration):
    """The kernel of a structure: (u, trace, places, steps, k, shape, faces, walls..., partial), blocks (any, faces).

    u: the field before step k. trace: (steps, boundary cells) flat, the cells beside walls before each step, if there
    are several; `places` is where each face starts in a row of it. a, b: (rows, wall values), of which the last row
    serves all later steps. weights: J/K of a step through a face of each kind, (6, count) flat; shares: the part of
    each heat that is entered, for MOST_STEPS, 0 of those not taken. partial: (6 or more, BLOCKS) sums in J, added to.
    """
    several, per_cell = structure.kinds != "", structure.wall_per_cell

    def wall_flows(
        u, trace, places, steps, k, nz, ny, nx, faces, a, b, rows, offsets, kinds, count, weights, shares, partial
    ):
        face = int32(faces[cuda.blockIdx.y])
        first, lines, columns, line_stride, column_stride = _first_and_strides(face, nz, ny, nx)
        boundary = int64(2) * (int64(nz) * ny + int64(nz) * nx + int64(ny) * nx)
        total, place, offset = float64(0.0), places[face], offsets[face]
        row = min(k, rows - 1), min(k + 1, rows - 1), min(k + 2, rows - 1), min(k + 3, rows - 1)
        position = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
        while position < lines * columns:
            line = int64(uint32(position) // uint32(columns))
            i = first + line * line_stride + (position - line * columns) * column_stride
            kind = int64(kinds[i]) if several else int64(0)
            w = offset + (position if per_cell else kind)
            weight = weights[face * count + kind]
            # Something is read for steps that are not taken too: all reads are under way at once.
            at = place + position
            c = trace[at] if steps > 1 else u[i]
            one = trace[at + boundary if steps > 1 else int64(0)]
            two = trace[at + 2 * boundary if steps > 2 else int64(0)]
            three = trace[at + 3 * boundary if steps > 3 else int64(0)]
            heat = shares[0] * _warmer_beyond(c, a, b, row[0], w)
            heat += shares[1] * _warmer_beyond(one if steps > 1 else c, a, b, row[1], w)
            heat += shares[2] * _warmer_beyond(two if steps > 2 else c, a, b, row[2], w)
            heat += shares[3] * _warmer_beyond(three if steps > 3 else c, a, b, row[3], w)
            total += weight * heat
            position += int64(cuda.gridDim.x) * THREADS
        total = block_sum(total)
        if cuda.threadIdx.x == 0:
            partial[face, cuda.blockIdx.x] += total

    return wall_flows


def build_ambient_flux(variant):
    """The kernel (u, cells, beyond, places, firsts, weights, share, row, partial), blocks (any, owners).

    u: the field before a step. Tap j lets heat from cell beyond[j] into cells[j], flat indices, with weights[places[j]]
    J/K; those of owner o are firsts[o] <= j < firsts[o + 1], and what they let in is added to row `row` + o of partial.
    """

    def tap_flows(u, cells, beyond, places, firsts, weights, share, row, partial):
        owner, total = cuda.blockIdx.y, float64(0.0)
        j = int64(firsts[owner]) + int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
        while j < firsts[owner + 1]:
            total += weights[places[j]] * (float64(u[beyond[j]]) - float64(u[cells[j]]))
            j += int64(cuda.gridDim.x) * THREADS
        total = block_sum(total)
        if cuda.threadIdx.x == 0:
            partial[row + owner, cuda.blockIdx.x] += share * total

    return tap_flows
