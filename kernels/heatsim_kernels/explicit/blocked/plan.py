"""How a grid is cut up for `temporal`: columns of overlapping tiles in x and y, marched through along z.

    end |<------ tile ------>|
        |<---- owned -->|    |
                   |<------ tile ------>|
                   |    |<--- owned --->| end

A tile computes all its cells, but owns only those that are right after all its steps: those a halo away from its edges.
At an end of the grid it needs no halo. The last tile is moved back to end with the grid, so that ends of the grid are
always ends of a tile; what two tiles own is written twice, with equal bits.

The columns are dealt out to the blocks that run at once, so that all have equal work. In each round every block takes
as much of a column as it can; a column that is not finished and a block that has time left go on to the next round. So
most blocks march side by side, plane by plane. They find in the L2 cache what their neighbours have read just before,
and partial memory sectors that two of them write meet there. Each piece of a column costs a few planes more than it
owns.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import NamedTuple

import numpy as np

from heatsim_kernels.device.cuda.warp_rows import WARP

MIN_PIECE = 2  # planes of a piece at least, in units of the steps
GRAIN = 8  # cells: tiles that meet at multiples of it share no sector of memory (32 bytes)


class TemporalTile(NamedTuple):
    """What a block of `temporal` works on: `bands` warps, one below the other in y.

    steps: time steps of a sweep. columns, rows: cells of a lane in a plane. ahead: planes on their way from memory.
    """

    steps: int
    columns: int
    rows: int
    bands: int
    ahead: int = 3

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
    def slots(self) -> int:
        """Planes in shared memory: those on their way and the one in use."""
        return self.ahead + 1

    @property
    def halo(self) -> int:
        """Cells at the left and the right that other tiles own, in whole lanes. Along y and z the halo is `steps`
        cells."""
        return -(-self.steps // self.columns) * self.columns


class TouchedFaces(NamedTuple):
    """At the ends of which axes the cells of a plane may lie."""

    x: bool
    y: bool
    z: bool


def fits(tile: TemporalTile, shape: tuple[int, int, int], periodic: tuple[bool, bool, bool]) -> bool:
    """Whether a grid is large enough to be cut into such tiles."""
    nz, ny, nx = shape
    wrap_x, wrap_y, wrap_z = periodic
    both = 2 if nx % tile.columns == 0 else 1  # ends of a row that may lie within a tile
    return (
        nx >= tile.width - (both * tile.halo if wrap_x else 0)
        and ny >= tile.height - (2 * tile.steps if wrap_y else 0)
        and nz >= (tile.steps + tile.ahead if wrap_z else 1)
    )


class TurnCosts(NamedTuple):
    """Time of a turn, in which a plane comes to a tile: at an end of the grid in x, in y, or in both, over that of one
    inside.

    moving: what is to be added in turns that are not STILL in some band (`turn_kinds`). piece: turns that it takes to
    begin a piece.
    """

    x: float
    y: float
    both: float
    moving: float = 0.0
    piece: float = 0.0


def _alike(cost: float) -> TurnCosts:
    return TurnCosts(cost, cost, cost)


# By what a sweep is made of: without a boundary trace, and with one, on an H200. Those with costs of a piece fit
# the cycles that blocks counted (clock64) by least squares, others are the best of some that were tried.
TURN_COSTS = {
    "float32": {
        "steps": (_alike(1.2), TurnCosts(1.45, 1.2, 1.55)),
        "steps of a potential": (_alike(1.1), TurnCosts(1.5, 1.3, 1.75)),
        "stages": (_alike(1.25), _alike(1.25)),
        "steps of classes": (TurnCosts(1.33, 1.34, 1.33, 0.39, 4.6), TurnCosts(1.31, 1.23, 1.52, 0.39, 3.5)),
        "steps of classes looked up": (TurnCosts(1.5, 1.2, 1.65), TurnCosts(1.7, 1.3, 1.9)),
        "stages of classes looked up": (_alike(1.75), _alike(1.9)),
        "steps by boundary cell": (_alike(2.3), _alike(2.3)),
        "steps by boundary cell of classes": (TurnCosts(1.7, 1.3, 1.9), TurnCosts(1.7, 1.3, 1.9)),
    },
    "float64": {
        "steps": (TurnCosts(1.37, 1.38, 1.37, piece=2.5), TurnCosts(1.45, 1.2, 1.6)),
        "steps of a potential": (_alike(1.2), TurnCosts(1.6, 1.35, 1.9)),
        "stages": (_alike(1.2), _alike(1.4)),
        "steps of classes": (TurnCosts(1.29, 1.28, 1.27, 0.2, 5.5), TurnCosts(1.4, 1.29, 1.7, 0.15, 11.0)),
        "steps of classes looked up": (TurnCosts(1.35, 1.2, 1.5), TurnCosts(1.5, 1.2, 1.6)),
        "stages of classes looked up": (_alike(1.55), _alike(1.75)),
        "steps by boundary cell": (_alike(2.3), _alike(2.3)),
        "steps by boundary cell of classes": (TurnCosts(1.7, 1.3, 1.9), TurnCosts(1.7, 1.3, 1.9)),
    },
}


class TileColumn(NamedTuple):
    """A column of the grid, a tile wide: x and y of its first cell, which may lie before the grid where an axis is
    periodic; the cells that it owns, left <= x < right and top <= y < bottom; the first in x that no tile before it
    owns, which is less than a lane away from `left`; and whether it lies at an end of the grid in x, and in y."""

    x: int
    y: int
    left: int
    right: int
    top: int
    bottom: int
    first: int
    at_x: bool
    at_y: bool

    def cost(self, costs: TurnCosts, moving: float) -> float:
        """What a turn costs of which so many, 0 to 1, are not STILL in some band."""
        return (1.0, costs.y, costs.x, costs.both)[2 * self.at_x + self.at_y] + costs.moving * moving


@lru_cache(maxsize=8)
def plan(
    tile: TemporalTile,
    shape: tuple[int, int, int],
    periodic: tuple[bool, bool, bool],
    blocks: int,
    costs: TurnCosts,
    spans: tuple[tuple[int, int], ...] | None = None,
    moving: tuple[float, ...] = (),
) -> tuple[np.ndarray, np.ndarray]:
    """Return (pieces, firsts), int32: block b marches through pieces[firsts[b]:firsts[b + 1]].

    spans: the planes first <= z < end to be computed, by default all. moving: for each column the share of its turns
    that are not STILL in some band; () for none. Rows of pieces are x, y, first plane, end, left, right, top, bottom,
    number of the column, first; see `TileColumn`.
    The least cost of the busiest block is found by bisection.
    """
    columns, spans = tile_columns(tile, shape, periodic), spans or ((0, shape[0]),)
    shares_moving = moving or (0.0,) * len(columns)
    turns = [column.cost(costs, share) for column, share in zip(columns, shares_moving, strict=True)]
    plane = sum(turns)
    planes, most = (sum(end - first + more for first, end in spans) for more in (0, 2 * tile.steps))
    low = plane * planes / blocks
    high = plane * most + costs.piece * len(columns) * len(spans) + 1  # more than one block needs for all
    shares = _deal(tile.steps, turns, spans, periodic[2], blocks, high, costs.piece)
    while high - low > 1e-3 * high:
        middle = (low + high) / 2
        found = _deal(tile.steps, turns, spans, periodic[2], blocks, middle, costs.piece)
        low, high, shares = (low, middle, found) if found else (middle, high, shares)
    shares = [share for share in shares if share]
    pieces = [
        (*columns[number][:2], first, end, *columns[number][2:6], number, columns[number].first)
        for share in shares
        for number, first, end in share
    ]
    return np.array(pieces, np.int32), np.cumsum([0, *map(len, shares)]).astype(np.int32)


def corners(tile: TemporalTile, shape: tuple[int, int, int], periodic: tuple[bool, bool, bool]) -> np.ndarray:
    """(columns, 2) int32: x and y of the first cell of each column; see `TileColumn`."""
    return np.array([column[:2] for column in tile_columns(tile, shape, periodic)], np.int32)


def _deal(
    steps: int,
    turns: list[float],
    spans: tuple[tuple[int, int], ...],
    wraps: bool,
    blocks: int,
    budget: float,
    piece: float,
) -> list[list[tuple[int, int, int]]]:
    """Deal out the columns, of which a turn costs as much as `turns` says, and to begin a piece as much as `piece`: for
    each block its pieces (column, first plane, end), which cost no more than the budget together. [] if that is too
    small for all columns."""
    shares: list[list[tuple[int, int, int]]] = [[] for _ in range(blocks)]
    open_columns = [(number, *span) for span in spans for number in range(len(turns))]
    idle = [(block, budget) for block in range(blocks)]
    while open_columns and idle:
        unfinished, free = [], []
        for (number, z, stop), (block, left) in zip(open_columns, idle, strict=False):
            extra = steps + (steps if wraps else min(z, steps))  # planes to start with and to end with
            end = _end(z, int((left - piece) / turns[number]) - extra, stop, MIN_PIECE * steps)
            if end > z:
                shares[block].append((number, z, end))
            if end < stop:
                unfinished.append((number, end, stop))
            else:
                free.append((block, left - piece - turns[number] * (end - z + extra)))
        paired = min(len(open_columns), len(idle))
        open_columns, idle = unfinished + open_columns[paired:], free + idle[paired:]
    return [] if open_columns else shares


def _end(z: int, room: int, stop: int, shortest: int) -> int:
    """The end of a piece from plane z, with room for so many planes: not just after z, nor just before the column's
    end at `stop`."""
    if room >= stop - z:
        return stop
    end = min(z + room, stop - shortest)
    return end if end - z >= shortest else z


def tile_columns(
    tile: TemporalTile, shape: tuple[int, int, int], periodic: tuple[bool, bool, bool]
) -> list[TileColumn]:
    """The columns of a grid, x fastest."""
    _, ny, nx = shape
    wrap_x, wrap_y, _ = periodic

    def at_boundary(start: int, width: int, n: int, wraps: bool) -> bool:
        return not wraps and (start == 0 or start + width == n)

    def ends(x: int, y: int) -> tuple[bool, bool]:
        return at_boundary(x, tile.width, nx, wrap_x), at_boundary(y, tile.height, ny, wrap_y)

    return [
        TileColumn(x, y, left, right, top, bottom, first, *ends(x, y))
        for y, top, bottom, _ in _cuts(ny, tile.height, tile.steps, wrap_y, 1)
        for x, left, right, first in _cuts(nx, tile.width, tile.halo, wrap_x, tile.columns)
    ]


def _cuts(n: int, width: int, halo: int, wraps: bool, step: int) -> list[tuple[int, int, int, int]]:
    """For each tile along an axis of n cells: its start; the first and last cell that it owns, in whole `step`s from
    its start; and the first of these that no tile before it owns."""
    if wraps:
        return _around(n, width - 2 * halo, halo, step)
    tight = _between_ends(n, width, halo, step, step)
    if step >= GRAIN or width - 2 * halo < GRAIN:
        return tight
    aligned = _between_ends(n, width, halo, step, GRAIN)
    return tight if len(tight) < len(aligned) else aligned


def _around(n: int, owned: int, halo: int, step: int) -> list[tuple[int, int, int, int]]:
    """`_cuts` of a periodic axis; the end of the grid is never within a step."""
    cuts, first = [], 0
    while first < n:
        start = min(first, n - owned) - halo
        if start + owned + 2 * halo > n:
            start -= (n - start) % step
        end = min(start + halo + owned, n)
        cuts.append((start, first - (first - start) % step, end, first))
        first = end
    return cuts


def _between_ends(n: int, width: int, halo: int, step: int, grain: int) -> list[tuple[int, int, int, int]]:
    """`_cuts` of an axis with two ends; tiles meet at multiples of `grain`."""
    cuts, start, first = [], 0, 0
    while start + width < n:
        end = (start + width - halo) // grain * grain
        cuts.append((start, first, end, first))
        start, first = end - halo, end
    start = n - width
    return [*cuts, (start, first - (first - start) % step, n, first)]


def trace_size(tile: TemporalTile, shape: tuple[int, int, int]) -> int:
    """Values of the boundary trace of a sweep: the cells beside each face before each step."""
    nz, ny, nx = shape
    return tile.steps * 2 * (prod((nz, ny)) + prod((nz, nx)) + prod((ny, nx)))
