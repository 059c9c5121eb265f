"""CUDA: the heat that enters in one or several steps, for the energy ledger: through the faces of the box, from the
ambients inside it, and by losses.

These are kernels of their own, so that no stencil kernel has to add it up. They read the cells concerned from the field
before a step; where several steps are fused, from the boundary trace that the fused kernel left. Each block owns one
slot of partial sums and always adds in the same order, so that the sums are the same in every run; a block has cells of
one plane, so that they are the same in slabs of planes (see `plane_sums`).
"""

from __future__ import annotations

from numba import float64, int32, int64, uint32, uint64

from heatsim_kernels.device.cuda.api import SIMULATED, cuda, inlined
from heatsim_kernels.explicit import physics
from heatsim_kernels.explicit.cuda_cell.configuration import StencilConfiguration
from heatsim_kernels.explicit.cuda_cell.held_heat import carry_field, carry_on
from heatsim_kernels.field.cuda.block_reduction import add, block_reduction
from heatsim_kernels.field.cuda.field_sums import build_sum_of_plane

BLOCKS = 2 if SIMULATED else 128  # of a face of z, at most
THREADS = 2 if SIMULATED else 128  # of a block, which has a line of cells, as a rule
MAX_STEPS = 4  # of a fused sweep; each is written out below

block_sum = block_reduction(add, THREADS)
ghost = inlined(physics.ghost)


def blocks_for(cells: int) -> int:
    """Blocks for so many cells beside a face of z."""
    return max(1, min(BLOCKS, -(-cells // THREADS)))


@inlined
def _first_and_strides(face, nz, ny, nx):
    """The first cell of a face of the box, its rows and columns of cells, and the strides from row to row and from
    column to column."""
    plane, upper = int64(ny) * int64(nx), face % 2 == 1
    if face < 2:
        return int64(nx - 1) if upper else int64(0), int64(nz), int64(ny), plane, int64(nx)
    if face < 4:
        return plane - nx if upper else int64(0), int64(nz), int64(nx), plane, int64(1)
    return plane * (nz - 1) if upper else int64(0), int64(ny), int64(nx), int64(nx), int64(1)


@inlined
def _cells_of_block(face, lines, columns, end_blocks):
    """The first cell of a thread among those beside a face, where those of its block end, and how far apart its cells
    are. A block has a line, which lies in a plane, or a part of a face of z."""
    block, thread = int64(cuda.blockIdx.x), int64(cuda.threadIdx.x)
    if face < 4:
        return block * columns + thread, min(lines, block + 1) * columns, int64(THREADS)
    end = lines * columns if block < end_blocks else int64(0)
    return block * THREADS + thread, end, int64(end_blocks) * THREADS


@inlined
def _warmer_beyond(c, a, b, row, w):
    """How much warmer the ghost value beyond a boundary face is than the cell."""
    return float64(ghost(c, a[row, w], b[row, w])) - float64(c)


@inlined
def _heat_of_steps(cells, steps, shares, a, b, row, w):
    """What each of four steps brings a cell, per J/K; 0 of those that are not taken, whose shares are 0."""
    return (
        shares[0] * _warmer_beyond(cells[0], a, b, row[0], w),
        shares[1] * _warmer_beyond(cells[1] if steps > 1 else cells[0], a, b, row[1], w),
        shares[2] * _warmer_beyond(cells[2] if steps > 2 else cells[0], a, b, row[2], w),
        shares[3] * _warmer_beyond(cells[3] if steps > 3 else cells[0], a, b, row[3], w),
    )


@inlined
def _left_of(one, two, three, four, steps, kept):
    """What is left, after so many steps, of what enters in each of them, if each keeps a share; 0 enters in steps that
    are not taken."""
    left = (kept if steps > 1 else float64(1.0)) * one + two
    left = (kept if steps > 2 else float64(1.0)) * left + three
    return (kept if steps > 3 else float64(1.0)) * left + four


def build(configuration: StencilConfiguration):
    """Build the kernel for a configuration, on blocks (columns of partial, faces) of THREADS.

    u: the field before step k. trace: (steps, boundary cells) flat, the cells beside the faces before each of several
    fused steps; `places` is where each face starts in a row of it. faces: the faces to enter, by number. a, b:
    (rows, values) of the boundary faces; the last row serves all later steps. offsets: where each face starts in
    these. classes: of the cells beside the faces, in the order of the trace. weights: J/K of a step through a face of
    each cell class, (6, count) flat. shares: the part of each step's heat to enter, for MAX_STEPS steps, 0 for those
    not taken. end_blocks: of a face of z. partial: (6 or more, columns) sums in J, added to: see `plane_sums`. kept,
    carried, held, lost: where the configuration carries heat: the share kept in a step, and what `carry_on` takes.
    """
    several, carries = configuration.class_dtype != "", configuration.carries_heat
    per_cell = configuration.boundary_per_cell

    def boundary_flux(
        u, trace, places, steps, k, nz, ny, nx, faces, a, b, rows, offsets, classes, count, weights, shares, end_blocks,
        kept, carried, held, lost, partial,
    ):  # fmt: skip
        face = int32(faces[cuda.blockIdx.y])
        first, lines, columns, line_stride, column_stride = _first_and_strides(face, nz, ny, nx)
        boundary = int64(2) * (int64(nz) * ny + int64(nz) * nx + int64(ny) * nx)
        total, left, place, offset = float64(0.0), float64(0.0), places[face], offsets[face]
        row = min(k, rows - 1), min(k + 1, rows - 1), min(k + 2, rows - 1), min(k + 3, rows - 1)
        position, end, apart = _cells_of_block(face, lines, columns, end_blocks)
        if position - cuda.threadIdx.x >= end:
            return  # all threads of the block alike: it has no cells
        while position < end:
            line = int64(uint32(position) // uint32(columns))
            i = first + line * line_stride + (position - line * columns) * column_stride
            cell_class = int64(classes[place + position]) if several else int64(0)
            w, weight = offset + (position if per_cell else cell_class), weights[face * count + cell_class]
            # Steps that are not taken read something too: without branches all reads are under way at once.
            c, at = trace[place + position] if steps > 1 else u[i], place + position + boundary
            one = trace[at if steps > 1 else int64(0)]
            two = trace[at + boundary if steps > 2 else int64(0)]
            three = trace[at + 2 * boundary if steps > 3 else int64(0)]
            heat = _heat_of_steps((c, one, two, three), steps, shares, a, b, row, w)
            total += weight * (heat[0] + heat[1] + heat[2] + heat[3])
            left += weight * _left_of(heat[0], heat[1], heat[2], heat[3], steps, kept)
            position += apart
        total = block_sum(total)
        left = block_sum(left) if carries else left
        if cuda.threadIdx.x == 0:
            partial[face, cuda.blockIdx.x] += total
            if carries:
                carry_on(uint32(face) * cuda.gridDim.x + cuda.blockIdx.x, total - left, left, carried, held, lost)
                if cuda.blockIdx.x == 0 and cuda.blockIdx.y == 0:
                    carry_field(carried, held, lost)

    return boundary_flux


def build_ambient_flux(variant):
    """Build the kernel (u, cells, beyond, places, firsts, weights, share, row, partial), on blocks (planes, ambients).

    u: the field before a step. Through ambient face j heat passes from cell beyond[j] to cells[j], flat indices, with
    weights[places[j]] J/K. Those of ambient o in plane z are firsts[p] <= j < firsts[p + 1], p = o * planes + z; their
    heat is added to partial[row + o, z].
    """

    def ambient_flux(u, cells, beyond, places, firsts, weights, share, row, partial):
        owner, total = cuda.blockIdx.y, float64(0.0)
        part = int64(owner) * cuda.gridDim.x + cuda.blockIdx.x
        j = int64(firsts[part]) + cuda.threadIdx.x
        while j < firsts[part + 1]:
            total += weights[places[j]] * (float64(u[beyond[j]]) - float64(u[cells[j]]))
            j += int64(THREADS)
        total = block_sum(total)
        if cuda.threadIdx.x == 0:
            partial[row + owner, cuda.blockIdx.x] += share * total

    return ambient_flux


def build_losses(several):
    """Build the kernel (u, classes, count, weights, share, plane, blocks, first, lost), on (planes * blocks, THREADS):
    takes a share of what the cells of u lose in a step off lost (1, n) from `first` on, with `blocks` for each `plane`
    of so many cells. weights: (7, count) J/K flat, those of the losses last; where there are not `several` classes, all
    cells are of class 0."""
    sum_of_plane = build_sum_of_plane(several)

    def losses(u, classes, count, weights, share, plane, blocks, first, lost):
        total = sum_of_plane(u, classes, weights, uint64(6) * uint64(count), plane, blocks)
        if cuda.threadIdx.x == 0:
            lost[0, first + cuda.blockIdx.x] -= share * total

    return losses
