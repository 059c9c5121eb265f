"""CUDA: the heat through boundary faces in a step, found once: for the kernel of the step and for the energy ledger.

A boundary face needs the values of its tangent. In the kernel of the step a single lane at a boundary would have its
whole warp wait for them; here every lane has a face of its own.
Heat from ambients inside the box is only entered here: the step finds it by itself. Each block owns a slot of
partial sums and always adds in the same order; a block has cells of one plane (see `plane_sums`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import float64, int64, uint32, uint64

from heatsim_kernels.device.cuda.api import SIMULATED, cuda, inlined
from heatsim_kernels.explicit import physics
from heatsim_kernels.explicit.coefficients import FACES
from heatsim_kernels.explicit.cuda_cell.plane_sums import Z_FACES, PlaneSums
from heatsim_kernels.explicit.enthalpy.cell import NUMBERS, side_of
from heatsim_kernels.explicit.enthalpy.cuda.cell import functions, item
from heatsim_kernels.field.cuda.block_reduction import add, block_reduction

if TYPE_CHECKING:
    from heatsim_kernels.explicit.face_sets import FaceSet

END_BLOCKS = 2 if SIMULATED else 512  # of a face of z: many, because each waits for memory between its few rounds
THREADS = 2 if SIMULATED else 128  # of a block: five such blocks share the registers of a multiprocessor in float64
BOUNDARY_ACCOUNTS = len(FACES)  # accounts of the ledger for the faces of the box, the first ones; then the ambients

passing, phi, ghost_of = functions.passing, functions.phi, inlined(physics.ghost)
side = inlined(side_of)
block_sum = block_reduction(add, THREADS)


def parts_of(ledger: FaceSet, shape: tuple[int, int, int], sums: PlaneSums) -> np.ndarray:
    """(accounts * columns + 1,) where the entries of each block begin: those of a plane, or a part of a face of z."""
    plane, columns = shape[1] * shape[2], sums.columns
    firsts, starts = [], ledger.starts
    for account, (start, end) in enumerate(zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)):
        if Z_FACES.start <= account < Z_FACES.stop:
            steps = np.arange(columns) * -(-plane // sums.end_blocks)
            firsts.append(start + np.minimum(steps, end - start))
        else:
            firsts.append(start + np.searchsorted(ledger.cells[start:end], np.arange(columns) * plane))
    return np.concatenate((*firsts, starts[-1:])).astype(np.int64)


def build(variant):
    """Build the kernel (u, cells, faces, starts, parts, capacity, box, medium, boundary, a, b, offsets, share,
    partial), on blocks (columns, accounts).

    cells, faces, starts: see `FaceSet`; parts: `parts_of` these. boundary: `KnownBoundary`, whose sides are
    written. a, b: of the boundary faces in this step, one a boundary cell; offsets: where each face
    starts in them. share: of the heat of the step, that is entered. partial: (accounts, columns) sums in J, added to.
    """

    def boundary_heat(u, cells, faces, starts, parts, capacity, box, medium, boundary, a, b, offsets, share, partial):
        account, total = int64(cuda.blockIdx.y), float64(0.0)
        start, part = item(starts, account), account * int64(cuda.gridDim.x) + int64(cuda.blockIdx.x)
        entry, end = item(parts, part) + int64(cuda.threadIdx.x), item(parts, part + 1)
        while entry < end:
            i = item(cells, entry)
            cell_class = int64(item(medium.class_ids, i)) if medium.several != 0 else int64(0)
            potential = phi(item(u, i), int64(item(medium.material, cell_class)), medium)
            if account < BOUNDARY_ACCOUNTS:
                rate = item(medium.numbers, (cell_class * 6 + account) * NUMBERS)
                at = item(offsets, account) + entry - start
                ghost = ghost_of(potential, item(a, at), item(b, at))
                boundary.sides[uint64(entry)] = side(account, ghost, potential, medium.paired != 0)
                heat = float64(rate) * (float64(ghost) - float64(potential))
            else:
                face, row, nx, ny = int64(item(faces, entry)), uint32(uint32(i) // uint32(box.nx)), box.nx, box.ny
                x, y, z = i - int64(row) * nx, int64(row) % ny, int64(uint32(row) // uint32(ny))
                rate, difference = passing(u, i, x, y, z, face, cell_class, potential, box, medium, boundary)
                heat = float64(rate) * float64(difference)
            total += share * (item(capacity, cell_class) * heat)
            entry += int64(THREADS)
        total = block_sum(total)
        if cuda.threadIdx.x == 0:
            partial[account, cuda.blockIdx.x] += total

    return boundary_heat
