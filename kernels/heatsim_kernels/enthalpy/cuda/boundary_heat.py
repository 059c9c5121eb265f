"""CUDA: the heat through boundary faces in a step, found once: for the kernel of the step and for the energy ledger.

Radiation and coefficients that follow the surface temperature take hundreds of instructions, one after another. In the
kernel of the step a single lane at a boundary would have its whole warp wait for them; here every lane has a face of
its own. Heat from ambients inside the box is only entered here: the step finds it by itself. Each block owns a slot of
partial sums and always adds in the same order.
"""

from __future__ import annotations

from numba import float64, int64, uint32, uint64

from heatsim_kernels.enthalpy.cell import NUMBERS
from heatsim_kernels.enthalpy.cuda.cell import functions, item
from heatsim_kernels.field.cuda.block_reduction import add, block_reduction
from heatsim_kernels.runtime.cuda.api import SIMULATED, cuda
from heatsim_kernels.stencil.coefficients import FACES

BLOCKS = 2 if SIMULATED else 512  # of an account: many, because each waits for memory between its few rounds
THREADS = 4 if SIMULATED else 128  # of a block: five such blocks share the registers of a multiprocessor in float64
BOUNDARY_ACCOUNTS = len(FACES)  # accounts of the ledger for the faces of the box, the first ones; then the ambients

at_boundary, passing, phi = functions.at_boundary, functions.passing, functions.phi
block_sum = block_reduction(add, THREADS)


def build(variant):
    """Build the kernel (u, differences, cells, faces, starts, capacity, box, medium, boundary, partial), on (BLOCKS,
    accounts).

    cells, faces, starts: see `LedgerFaces`. differences: of phi, for each of the cells at boundary faces, in their
    order; written. partial: (accounts, BLOCKS) sums in J, added to.
    """

    def boundary_heat(u, differences, cells, faces, starts, capacity, box, medium, boundary, partial):
        account, total = int64(cuda.blockIdx.y), float64(0.0)
        start, end = item(starts, account), item(starts, account + 1)
        entry = start + int64(cuda.blockIdx.x) * THREADS + int64(cuda.threadIdx.x)
        while entry < end:
            i = item(cells, entry)
            cell_class = int64(item(medium.class_ids, i)) if medium.several != 0 else int64(0)
            if account < BOUNDARY_ACCOUNTS:
                rate = item(medium.numbers, (cell_class * 6 + account) * NUMBERS)
                difference = at_boundary(item(u, i), cell_class, account, entry - start, medium, boundary)
                differences[uint64(entry)] = difference
            else:
                face, row, nx, ny = int64(item(faces, entry)), uint32(uint32(i) // uint32(box.nx)), box.nx, box.ny
                x, y, z = i - int64(row) * nx, int64(row) % ny, int64(uint32(row) // uint32(ny))
                potential = phi(item(u, i), int64(item(medium.material, cell_class)) * medium.segments, medium)
                rate, difference = passing(u, i, x, y, z, face, cell_class, potential, box, medium, boundary)
            total += item(capacity, cell_class) * (float64(rate) * float64(difference))
            entry += int64(BLOCKS) * THREADS
        total = block_sum(total)
        if cuda.threadIdx.x == 0:
            partial[account, cuda.blockIdx.x] += total

    return boundary_heat
