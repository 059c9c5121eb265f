"""CPU: the tiles of a pass in which nothing depends on temperature, and which take the shorter way of linear problems.

    planes of a tile    . . . . . . b b b b . . . . . . . .      b: has cells that depend on temperature
    within its halo     . . . . B B B B B B B B . . . . . .      which reach so far in the steps of a pass
    is cut into         [straight][    bent     ][ straight ]

In a straight tile T = phi = u, for all that the steps of a pass look at. Both ways have the same bits.
"""

from __future__ import annotations

import numpy as np

from heatsim_kernels.explicit.cpu.tile_plan import MIN_SLAB, POTENTIAL_TIME
from heatsim_kernels.explicit.enthalpy.coefficients import NonlinearCoefficients

# Columns of tiles, of which the last two are behind those of `fused_pass.CpuTile`
Y0, Y1, BLOCK, SEAM, KIND, THREAD = 2, 3, 6, 7, 8, 9
BENT, STRAIGHT = 0, 1


def find_bent_rows(coefficients: NonlinearCoefficients) -> np.ndarray | None:
    """(nz, ny) bool: whether a row has cells that depend on temperature; None where no tile can be straight."""
    bent = ~coefficients.tables.straight[coefficients.material]
    if not coefficients.several or bent.all():
        return None
    return np.array([bent[plane].any(axis=1) for plane in coefficients.class_ids])


def cut_tiles(
    tiles: np.ndarray, bent_rows: np.ndarray, periodic: tuple[bool, bool, bool], halo: int, threads: int, tallest: int
) -> np.ndarray:
    """Tiles (m, 10) cut in z where that makes straight ones, with their kind and the thread that takes them; the tiles
    (k, 8) themselves where none is straight.

    halo: cells that the steps of a pass look at beyond a tile. tallest: rows of a straight tile at most, which keeps
    no potentials.
    """
    cut = []
    for z0, z1, y0, y1, *others in tiles.tolist():
        planes = np.asarray(_within(bent_rows, y0, y1, halo, 1, periodic[1]).any(axis=1))
        beside = _within(planes, z0, z1, halo, 0, periodic[2])
        near = np.asarray(np.lib.stride_tricks.sliding_window_view(beside, 2 * halo + 1).any(axis=1))
        if near.any():
            near = _without_short_runs(near)
        cut += [
            (z0 + first, z0 + end, y0, y1, *others, BENT if near[first] else STRAIGHT) for first, end in _runs(near)
        ]
    found = np.array(cut)
    if (found[:, KIND] == BENT).all():
        return tiles
    ways = [found, _joined(found)]
    ways += [_in_pairs(each, tallest) for each in ways]
    choices = [(each, *_shared_out(each, halo, threads)) for each in ways]
    chosen, taken, _ = min(choices, key=lambda choice: choice[2])
    return np.column_stack((chosen, taken))


def _joined(tiles: np.ndarray) -> np.ndarray:
    """The tiles, of which straight ones that meet where two slabs do are one: no overlap is computed there."""
    joined: list[list[int]] = []
    for tile in sorted(tiles.tolist(), key=lambda tile: (tile[BLOCK], tile[0])):
        before = joined[-1] if joined else tile
        if before[BLOCK] == tile[BLOCK] and before[1] == tile[0] and before[KIND] == tile[KIND] == STRAIGHT:
            before[1] = tile[1]
        else:
            joined.append(tile)
    return np.array(joined)


def _in_pairs(tiles: np.ndarray, tallest: int) -> np.ndarray:
    """The tiles, of which two straight ones side by side in y are one. The blocks of the ledger stay as they are."""
    paired: list[list[int]] = []
    for tile in sorted(tiles.tolist(), key=lambda tile: (*tile[:2], tile[BLOCK])):
        before = paired[-1] if paired else tile
        alike = before[:2] == tile[:2] and before[4:6] == tile[4:6] and before[KIND] == tile[KIND] == STRAIGHT
        single = before[BLOCK] + 1 == tile[BLOCK] and before[Y1] == tile[Y0] == before[SEAM]
        if alike and single and tile[Y1] - before[Y0] <= tallest:
            before[Y1] = tile[Y1]
        else:
            paired.append(tile)
    return np.array(paired)


def _within(values: np.ndarray, first: int, end: int, halo: int, axis: int, wraps: bool) -> np.ndarray:
    """The entries from `first` to `end` along an axis with a halo on both sides; beyond an end that does not wrap, the
    last ones again."""
    places = np.arange(first - halo, end + halo)
    return np.asarray(np.take(values, places, axis, mode="wrap" if wraps else "clip"))


def _runs(near: np.ndarray) -> list[tuple[int, int]]:
    """Where each run of equal flags begins and ends."""
    ends = [*(np.flatnonzero(near[1:] != near[:-1]) + 1).tolist(), len(near)]
    return list(zip([0, *ends[:-1]], ends, strict=True))


def _without_short_runs(near: np.ndarray) -> np.ndarray:
    """The planes that are near to what depends on temperature, and those between that are too few to gain by a tile of
    their own."""
    found = near.copy()
    for first, end in _runs(near):
        found[first:end] |= end - first < MIN_SLAB
    return found


def _shared_out(tiles: np.ndarray, halo: int, threads: int) -> tuple[np.ndarray, float]:
    """(m,) the thread that takes each tile, the longest first, each by the thread that has least to do; and how much
    the busiest has to do."""
    z, y = (tiles[:, 1] - tiles[:, 0], tiles[:, 3] - tiles[:, 2])
    time = (z + halo) * (y + halo) * (tiles[:, 5] - tiles[:, 4]) * np.where(tiles[:, KIND] == BENT, POTENTIAL_TIME, 1.0)
    busy, taken = np.zeros(threads), np.zeros(len(tiles), np.int64)
    for tile in np.argsort(-time, kind="stable"):
        taken[tile] = np.argmin(busy)
        busy[taken[tile]] += time[tile]
    return taken, float(busy.max())
