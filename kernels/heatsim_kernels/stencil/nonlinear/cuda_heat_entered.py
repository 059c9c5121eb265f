"""CUDA: the heat that enters through walls and taps in a step, for the energy ledger.

It reads the field before the step and does again what the sweep does at these faces, so no sweep has to add it up. Each
block owns a slot of partial sums and always adds in the same order.
"""

from __future__ import annotations

from numba import float64, int64

from ...cuda_api import SIMULATED, cuda
from ..cuda_block_sum import THREADS, block_sum
from .cuda_cell import functions

BLOCKS = 2 if SIMULATED else 256  # an account; many, since each waits for memory between its few rounds

passing, phi = functions.passing, functions.phi


def build(variant):
    """The kernel (u, cells, faces, starts, capacity, box, medium, walls, partial), on (BLOCKS, accounts).

    cells, faces, starts: see `Ledger`. partial: (accounts, BLOCKS) sums in J, added to.
    """

    def heat_entered(u, cells, faces, starts, capacity, box, medium, walls, partial):
        account = int64(cuda.blockIdx.y)
        total = float64(0.0)
        entry = starts[account] + int64(cuda.blockIdx.x) * THREADS + int64(cuda.threadIdx.x)
        while entry < starts[account + 1]:
            i, face = cells[entry], int64(faces[entry])
            x, y, z = i % box.nx, i // box.nx % box.ny, i // (box.nx * box.ny)
            kind = int64(medium.kinds[i]) if medium.several != 0 else int64(0)
            potential = phi(u[i], int64(medium.material[kind]) * medium.segments, medium)
            rate, difference = passing(u, i, x, y, z, face, kind, potential, box, medium, walls)
            total += capacity[kind] * (float64(rate) * float64(difference))
            entry += int64(BLOCKS) * THREADS
        total = block_sum(total)
        if cuda.threadIdx.x == 0:
            partial[account, cuda.blockIdx.x] += total

    return heat_entered
