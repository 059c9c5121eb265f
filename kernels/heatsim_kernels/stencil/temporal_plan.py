"""How a grid is cut up for `temporal`: columns of overlapping tiles in x and y, marched through along z.

    wall |<------- tile ------->|          A tile computes all its cells but owns those that are right after all its
         |<---- owned --->|     |          steps: those a halo away from its edges. At a wall it needs no halo, and
                    |<------- tile ------->|          the last tile is moved back to end at the wall, so that
                    |     |<--- owned -->|            ends of the grid are always ends of a tile; what two tiles own
                                                      is written twice, with the same bits.

The columns, one after another, are cut into equal shares of work, one for each block that runs at once: a share may be
the rest of one column, a whole one, and the beginning of the next. Every piece costs a few planes more than it owns.
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

import numpy as np

from ..cuda_lanes import WARP

WALL_COST = 1.2  # of a plane in a tile that touches a wall at x or y, against 1 inside
SHORTEST = 4  # planes of a share, in units of the steps


class Tile(NamedTuple):
    """What a block of `temporal` works on; `bands` warps, one below the other.

    steps: time steps of a sweep. columns, rows: cells of a lane in a plane. ahead: how many planes before it is needed
    a plane is brought into the L2 cache; 0 for never. early: whether a plane is loaded one plane before it is needed.
    """

    steps: int
    columns: int
    rows: int
    bands: int
    ahead: int = 0
    early: bool = True

    @property
    def block(self) -> tuple[int, int, int]:
        """The threads of a block."""
        return WARP, self.bands, 1

    @property
    def width(self) -> int:
        """Cells along x."""
        return WARP * self.columns

    @property
    def height(self) -> int:
        """Cells along y."""
        return self.rows * self.bands

    @property
    def halo(self) -> int:
        """Cells at the left and the right that other tiles own, whole lanes; along y and z it is `steps`."""
        return -(-self.steps // self.columns) * self.columns


def fits(tile: Tile, shape: tuple[int, int, int], periodic: tuple[bool, bool, bool]) -> bool:
    """Whether a grid is large enough to be cut into such tiles."""
    nz, ny, nx = shape
    wrap_x, wrap_y, wrap_z = periodic
    return (
        nx >= tile.width - (2 * tile.halo if wrap_x else 0)
        and ny >= tile.height - (2 * tile.steps if wrap_y else 0)
        and nz >= (tile.steps + 1 if wrap_z else 1)
    )


def plan(
    tile: Tile, shape: tuple[int, int, int], periodic: tuple[bool, bool, bool], blocks: int
) -> tuple[np.ndarray, np.ndarray]:
    """(pieces, firsts): block b marches through pieces[firsts[b]:firsts[b + 1]], rows of x, y, first plane, end; int32.

    x and y are those of a tile's first cell, which may lie before the grid where an axis is periodic.
    """
    nz = shape[0]
    columns = _columns(tile, shape, periodic)
    costs = np.array([WALL_COST if at_wall else 1.0 for _, _, at_wall in columns])
    before = np.concatenate(([0.0], np.cumsum(costs) * nz))  # the cost of all columns before one
    blocks = max(1, min(blocks, len(columns) * nz // (SHORTEST * tile.steps)))
    pieces: list[tuple[int, int, int, int]] = []
    firsts = [0]
    column = z = 0
    for share in range(1, blocks + 1):
        while column < len(columns):
            x, y, _ = columns[column]
            end = _cut(before[-1] * share / blocks - before[column], costs[column], tile.steps, z, nz)
            if end > z:
                pieces.append((x, y, z, end))
            z = end
            if z < nz:
                break
            column, z = column + 1, 0
        firsts.append(len(pieces))
    return np.array(pieces, np.int32), np.array(firsts, np.int32)


def _cut(cost: float, plane_cost: float, steps: int, z: int, nz: int) -> int:
    """Where in a column a share that reaches so far ends: not just after z, nor just before the column's end."""
    end = max(z, min(nz, round(cost / plane_cost)))
    if nz - end < steps:
        return nz
    return z if end - z < steps else end


def _columns(tile: Tile, shape: tuple[int, int, int], periodic: tuple[bool, bool, bool]) -> list[tuple[int, int, bool]]:
    """x and y of each tile and whether it touches a wall there, x fastest."""
    _, ny, nx = shape
    wrap_x, wrap_y, _ = periodic

    def at_wall(start: int, width: int, n: int, wraps: bool) -> bool:
        return not wraps and (start == 0 or start + width == n)

    return [
        (x, y, at_wall(x, tile.width, nx, wrap_x) or at_wall(y, tile.height, ny, wrap_y))
        for y in _starts(ny, tile.height, tile.steps, wrap_y)
        for x in _starts(nx, tile.width, tile.halo, wrap_x)
    ]


def _starts(n: int, width: int, halo: int, wraps: bool) -> list[int]:
    """Where tiles start along an axis of n cells."""
    owned = width - 2 * halo
    if wraps:
        return [min(start, n - owned) - halo for start in range(0, n, owned)]
    return [min(start, n - width) for start in range(0, n - width + owned, owned)]


def trace_size(tile: Tile, shape: tuple[int, int, int]) -> int:
    """Values that a traced sweep writes: the cells beside each face after each step but the last."""
    nz, ny, nx = shape
    return (tile.steps - 1) * 2 * (prod((nz, ny)) + prod((nz, nx)) + prod((ny, nx)))
