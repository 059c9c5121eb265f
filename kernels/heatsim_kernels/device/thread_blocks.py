"""CUDA: a grid cut into tiles of cells, a block each, however long its axes.

Blocks are numbered in one row, because a launch allows 65535 blocks at most along y and z. Tiles go along x first, then
y, then z, so that blocks running together share the cells at their seams in the L2 cache.
"""

from __future__ import annotations

from typing import NamedTuple

from numba import uint32

from heatsim_kernels.device.cuda.api import cuda, inlined


def blocks(shape: tuple[int, int, int], tile: tuple[int, int, int]) -> tuple[int, int, int]:
    """The launch grid: a block for each tile of (x, y, z) cells in a grid of (nz, ny, nx)."""
    count = 1
    for n, width in zip(reversed(shape), tile, strict=True):
        count *= -(-n // width)
    return count, 1, 1


@inlined
def first_cell(shape, width, height, depth):
    """x, y, z of the first cell of this block's tile."""
    one, block = uint32(1), uint32(cuda.blockIdx.x)
    across = uint32((shape.nx - one) // uint32(width) + one)
    along = uint32((shape.ny - one) // uint32(height) + one)
    line = uint32(block // across)
    x, y, z = uint32(block % across), uint32(line % along), uint32(line // along)
    return uint32(x * uint32(width)), uint32(y * uint32(height)), uint32(z * uint32(depth))


@inlined
def columns_of(shape, width, height):
    """How many tiles cover a plane."""
    one = uint32(1)
    return uint32(((shape.nx - one) // uint32(width) + one) * ((shape.ny - one) // uint32(height) + one))


@inlined
def cell_behind(position, n, wraps):
    """The cell to fetch at a position that counts from the halo below cell 0; any cell where there is none."""
    if position == 0:
        return uint32(n - uint32(1)) if wraps else uint32(0)
    if position > n:
        return uint32(0) if wraps else uint32(n - uint32(1))
    return uint32(position - uint32(1))


# The part of the grid that a block of threads works on: a choice of speed, never of results.


class ThreadBlock(NamedTuple):
    """Threads of a block along x, y and z, and the planes that it marches through."""

    x: int
    y: int
    z: int = 1
    planes: int = 1

    @property
    def block(self) -> tuple[int, int, int]:
        """The threads of a block."""
        return self.x, self.y, self.z
