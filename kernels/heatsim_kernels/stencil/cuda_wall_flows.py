"""CUDA: the heat that enters through the boundary faces in one step, for the energy ledger.

A kernel of its own, so that no sweep has to know of the ledger: it reads the boundary cells of the field before the
step. Each block owns one slot of partial sums and always adds in the same order, so the result has no races in it.
"""

from __future__ import annotations

from numba import float64, int32, int64

from ..cuda_api import SIMULATED, cuda, inlined
from . import physics
from .cuda_block_sum import THREADS, block_sum
from .structure import Structure

BLOCKS = 2 if SIMULATED else 64  # a face

ghost = inlined(physics.ghost)


def build(structure: Structure):
    """The kernel of a structure: `kernel[(BLOCKS, faces), THREADS](u, ..., partial)`; partial (6, BLOCKS) sums in J."""
    zones, per_cell = structure.zones, structure.wall_per_cell

    def wall_flows(u, nz, ny, nx, faces, a, b, walls, zone_of, count, weights, partial):
        face = int32(faces[cuda.blockIdx.y])
        axis, upper = face // 2, face % 2
        plane = int64(ny) * int64(nx)
        if axis == 0:
            rows, columns, row_stride, column_stride, far = (
                int64(nz),
                int64(ny),
                plane,
                int64(nx),
                int64(nx - 1),
            )
        elif axis == 1:
            rows, columns, row_stride, column_stride, far = int64(nz), int64(nx), plane, int64(1), plane - nx
        else:
            rows, columns, row_stride, column_stride, far = (
                int64(ny),
                int64(nx),
                int64(nx),
                int64(1),
                plane * (nz - 1),
            )
        first = far if upper == 1 else int64(0)
        total = float64(0.0)
        position = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
        while position < rows * columns:
            i = first + (position // columns) * row_stride + (position % columns) * column_stride
            zone = int64(zone_of[i]) if zones else int64(0)
            w = walls[face] + (position if per_cell else zone)
            c = u[i]
            beyond = ghost(c, a[w], b[w])
            total += weights[face * count + zone] * (float64(beyond) - float64(c))
            position += int64(BLOCKS) * THREADS
        total = block_sum(total)
        if cuda.threadIdx.x == 0:
            partial[face, cuda.blockIdx.x] += total

    return wall_flows
