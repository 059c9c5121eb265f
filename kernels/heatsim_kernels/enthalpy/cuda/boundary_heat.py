"""CUDA: what passes walls in a step, found once: for the sweep, which reads it there, and for the energy ledger.

Radiation and coefficients that follow a surface take hundreds of instructions, one after another. In the sweep a single
lane at a wall would have its whole warp wait for them; here every lane has a wall of its own. What ambients inside the
box let in, through taps, is only entered: the sweep finds it on its way. Each block owns a slot of partial sums and
always adds in the same order.
"""

from __future__ import annotations

from numba import float64, int64, uint32, uint64

from heatsim_kernels.enthalpy.cell import NUMBERS
from heatsim_kernels.enthalpy.cuda.cell import functions, item
from heatsim_kernels.field.cuda.block_reduction import add, block_reduction
from heatsim_kernels.runtime.cuda.api import SIMULATED, cuda
from heatsim_kernels.stencil.terms import FACES

BLOCKS = 2 if SIMULATED else 512  # an account; many, since each waits for memory between its few rounds
THREADS = 4 if SIMULATED else 128  # small blocks: five of them share a multiprocessor's registers in float64
WALLS = len(FACES)  # accounts that are walls, the first ones

at_wall, passing, phi = functions.at_wall, functions.passing, functions.phi
block_sum = block_reduction(add, THREADS)


def build(variant):
    """The kernel (u, differences, cells, faces, starts, capacity, box, medium, walls, partial), on (BLOCKS, accounts).

    cells, faces, starts: see `Ledger`. differences: of phi for each of the cells at walls, in the order of these,
    written. partial: (accounts, BLOCKS) sums in J, added to.
    """

    def walls_of_a_step(u, differences, cells, faces, starts, capacity, box, medium, walls, partial):
        account, total = int64(cuda.blockIdx.y), float64(0.0)
        start, end = item(starts, account), item(starts, account + 1)
        entry = start + int64(cuda.blockIdx.x) * THREADS + int64(cuda.threadIdx.x)
        while entry < end:
            i = item(cells, entry)
            kind = int64(item(medium.kinds, i)) if medium.several != 0 else int64(0)
            if account < WALLS:
                rate = item(medium.numbers, (kind * 6 + account) * NUMBERS)
                difference = at_wall(item(u, i), kind, account, entry - start, medium, walls)
                differences[uint64(entry)] = difference
            else:
                face, row, nx, ny = int64(item(faces, entry)), uint32(uint32(i) // uint32(box.nx)), box.nx, box.ny
                x, y, z = i - int64(row) * nx, int64(row) % ny, int64(uint32(row) // uint32(ny))
                potential = phi(item(u, i), int64(item(medium.material, kind)) * medium.segments, medium)
                rate, difference = passing(u, i, x, y, z, face, kind, potential, box, medium, walls)
            total += item(capacity, kind) * (float64(rate) * float64(difference))
            entry += int64(BLOCKS) * THREADS
        total = block_sum(total)
        if cuda.threadIdx.x == 0:
            partial[account, cuda.blockIdx.x] += total

    return walls_of_a_step
