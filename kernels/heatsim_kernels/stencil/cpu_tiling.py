"""CPU: how many steps a pass takes, and how the grid is cut for it. Planning only; `cpu_pass` does the work.

Neither depends on the number of threads but for the slabs, which the energy ledger does not see: it is kept by band and
plane, so that its sums are the same for any number of threads.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .cpu_pass import SCRATCH_ROWS

L2_BUDGET = 832 * 1024  # bytes of a tile's planes; cores of today have 1 MiB of L2 or more
L1_BUDGET = 36 * 1024  # bytes of the rows by which a level is ahead of the next; L1 has 32 KiB or more
MOST_ROWS = 16  # of them
MOST_FUSED = 8  # more gains less than a tenth of a step's memory time
MEMORY = 2.0  # time that a cell takes through memory, over its time in cache: measured on two cores of Zen 4
SLAB = 16  # planes of a slab at least, if steps are fused: what a slab overlaps is computed twice
WAYS = 8  # grids of fewer than two slabs are shared out among threads in y: in so many bands, or a multiple


class Shape(NamedTuple):
    """What the plan depends on: cells (nz, ny, nx), periods of z and y, bytes of a row of scratch, and of how many
    `fields` a step is made: 1, or 2 of a stage."""

    cells: tuple[int, int, int]
    wrap_z: bool
    wrap_y: bool
    row_bytes: int
    fields: int = 1


def steps_to_fuse(shape: Shape) -> int:
    """Steps a pass that should take the least time a step: work grows with the overlap, memory traffic falls."""
    return min(range(1, MOST_FUSED + 1), key=lambda fused: _time_of_a_step(shape, fused))


def _time_of_a_step(shape: Shape, fused: int) -> float:
    nz, ny, _ = shape.cells
    z = _overlap(nz, max(SLAB, nz // 4), shape.wrap_z, fused)
    y = _overlap(ny, band_height(shape, fused), shape.wrap_y, fused)
    return (1 + z) * (1 + y) + MEMORY * shape.fields / fused * (1 + 2 * z) * (1 + 2 * y)


def _overlap(n: int, cut: int, wraps: bool, fused: int) -> float:
    """Share of the planes or rows that is computed twice, when n of them are cut into pieces."""
    return (fused - 1) / min(n, cut) if wraps or cut < n else 0.0


def rows_at_once(shape: Shape) -> int:
    """Rows by which a level is ahead of the next: about as many as stay in L1."""
    return max(1, min(MOST_ROWS, L1_BUDGET // shape.row_bytes))


def band_height(shape: Shape, fused: int) -> int:
    """Rows of a band: as many as let the planes of a tile stay in L2.

    These are three of the field, the last one being fetched, two of another if a step is made of two, and two and some
    rows of each level above.
    """
    levels = fused - 1
    rows = L2_BUDGET // shape.row_bytes - levels * rows_at_once(shape)
    height = max(4, rows // (2 * levels + 1 + 2 * shape.fields) - 2 * levels)
    return min(height, -(-shape.cells[1] // (WAYS if _is_shallow(shape) else 1)))


def _is_shallow(shape: Shape) -> bool:
    return shape.cells[0] < 2 * SLAB


def tiling(shape: Shape, fused: int, threads: int) -> np.ndarray:
    """Tiles (m, 5), slab by slab: see `cpu_pass.Tile`."""
    nz, ny, _ = shape.cells
    bands = -(-ny // band_height(shape, fused))
    bands = min(ny, -(-bands // WAYS) * WAYS) if _is_shallow(shape) else bands
    slabs = max(1, min(threads, nz // SLAB if fused > 1 else nz))
    y, z = (np.linspace(0, n, parts + 1).astype(np.int64) for n, parts in ((ny, bands), (nz, slabs)))
    return np.array([(z[s], z[s + 1], y[b], y[b + 1], b) for s in range(slabs) for b in range(bands)])


def scratch_rows(shape: Shape, tiles: np.ndarray, fused: int) -> int:
    """Rows of scratch that each thread needs."""
    tallest = int((tiles[:, 3] - tiles[:, 2]).max()) + 2 * (fused - 1)
    height = tallest if shape.wrap_y else min(tallest, shape.cells[1])
    return SCRATCH_ROWS + (fused - 1) * (2 * height + rows_at_once(shape))
