"""CPU: how many steps a pass takes, and how the grid is cut for it. Planning only; `fused_pass` does the work.

Only the number of slabs depends on the number of threads: the thread with the most to do gets as little as may be. The
energy ledger does not see the slabs: it is kept by block and plane, so that its sums are the same for any number of
threads.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from heatsim_kernels.device.cpu.pointers import CACHE_LINE
from heatsim_kernels.explicit.cpu.fused_pass import SCRATCH_ROWS


def _cache_bytes(size: Path) -> int:
    """Size of a cache from its file in Linux's sysfs, which says 1024K or the like; 0 if there is none."""
    try:
        return 1024 * int(size.read_text().strip().removesuffix("K"))
    except (OSError, ValueError):
        return 0


# Bytes of the planes of a tile. They take most of the 1 MiB of a Zen 4 core, and a smaller share of a larger cache, of
# which another program on the same core takes a part. No more than 2 MiB are believed: virtual machines may report more
# than there is.
L2_BUDGET = max(832 * 1024, 5 * min(_cache_bytes(Path("/sys/devices/system/cpu/cpu0/cache/index2/size")), 2**21) // 8)
L1_BUDGET = 36 * 1024  # bytes of the rows by which a level is ahead of the next; L1 has 32 KiB or more
MAX_ROWS = 16  # by which a level is ahead of the next
MAX_FUSED_STEPS = 8  # more steps save less than a tenth of a step's memory time
MEMORY_TIME = 2.0  # time of a cell through memory over its time in cache, measured on two cores of Zen 4
POTENTIAL_TIME = 1.8  # time of a cell where its potential is looked up over that where it is not, on a Xeon
MIN_SLAB = 16  # planes, if steps are fused: the overlap of slabs is computed twice
WORTH = 1.05  # by so much less work the busiest thread must have with another number of slabs than the usual one
MIN_BANDS = 8  # tiles of a plane, or a multiple, where there are fewer than two slabs: threads share out the planes
MIN_LINES = 32  # cache lines of a row in a tile, unless the grid has fewer
WASTED_LINES = (
    18  # cache lines that a core prefetches in vain behind a part of a row: fitted to rows of 64 to 512 lines
)


class TilingShape(NamedTuple):
    """What the plan depends on: cells (nz, ny, nx); whether they wrap in z, y and x; cells of a cache line; the number
    of fields that a step reads, 1, or 2 for a stage; and whether each level keeps a potential beside the state."""

    cells: tuple[int, int, int]
    wraps: tuple[bool, bool, bool]
    per_line: int
    fields: int = 1
    potentials: bool = False

    def halo(self, fused: int) -> int:
        """Cells that a tile of so many steps needs beyond those that it owns. A look-up of potentials is one more
        level."""
        return fused if self.potentials else fused - 1

    def rings(self, fused: int) -> int:
        """Rings of planes between the levels of a pass. With potentials, each but the first has states, too."""
        return 2 * fused if self.potentials else fused - 1


class TilingCut(NamedTuple):
    """A way to take `fused` steps a pass: in tiles of `height` rows, each cut into `parts`. pitch: cache lines from row
    to row in scratch. rows: by how many rows a level is ahead of the next."""

    fused: int
    parts: int
    height: int
    pitch: int
    rows: int


def best_cut(shape: TilingShape, fused: int | None) -> TilingCut:
    """The cut with the least estimated time a step: work grows with the overlap, memory traffic falls with `fused`.
    fused: steps a pass, or None to choose them too."""
    choices = range(1, MAX_FUSED_STEPS + 1) if fused is None else (fused,)
    cuts = [_cut(shape, steps, parts) for steps in choices for parts in _numbers_of_parts(shape, steps)]
    return min(cuts, key=partial(_time_of_a_step, shape))


def _numbers_of_parts(shape: TilingShape, fused: int) -> list[int]:
    """Into how many parts rows may be cut. A pass of one step gains nothing by it."""
    parts = [1]
    while fused > 1 and not shape.wraps[2] and _lines(shape) >= 2 * parts[-1] * MIN_LINES:
        parts.append(2 * parts[-1])
    return parts


def _cut(shape: TilingShape, fused: int, parts: int) -> TilingCut:
    lines = -(-_lines(shape) // parts) + min(parts - 1, 2) * _margin(shape, fused)
    # `| 1` makes the pitch odd: rows a power of two apart would all fall on the same set of the cache.
    pitch = (lines + shape.potentials) | 1  # potentials have room between rows for what lies beyond their ends
    rows = max(1, min(MAX_ROWS, L1_BUDGET // (pitch * CACHE_LINE)))
    # As many rows as let the planes of a tile stay in L2:
    held = L2_BUDGET // (pitch * CACHE_LINE) - shape.rings(fused) * rows
    height = max(4, held // _planes(shape, fused) - 2 * shape.halo(fused))
    return TilingCut(fused, parts, min(height, -(-shape.cells[1] // _band_multiple(shape, parts))), pitch, rows)


def _planes(shape: TilingShape, fused: int) -> int:
    """Planes of a tile that are in use: three of the field, of which the last is being read; two of another field
    that a stage reads; and two (and some rows) of each ring."""
    return 2 * shape.rings(fused) + 1 + 2 * shape.fields


def _time_of_a_step(shape: TilingShape, cut: TilingCut) -> float:
    (nz, ny, _), (wrap_z, wrap_y, _), fused = shape.cells, shape.wraps, cut.fused
    z = _overlap(nz, max(MIN_SLAB, nz // 4), wrap_z, shape.halo(fused))
    y = _overlap(ny, cut.height, wrap_y, shape.halo(fused))
    x = 2 * (cut.parts - 1) * _margin(shape, fused) / _lines(shape)
    wasted = (cut.parts - 1) * WASTED_LINES / _lines(shape)
    memory = MEMORY_TIME * shape.fields / (fused if _fits(shape, cut) else 1)
    computing = POTENTIAL_TIME if shape.potentials else 1.0
    return computing * (1 + x) * (1 + z) * (1 + y) + memory * (1 + x + wasted) * (1 + 2 * z) * (1 + 2 * y)


def _fits(shape: TilingShape, cut: TilingCut) -> bool:
    """Whether the planes of a tile stay in L2."""
    ny, halo = shape.cells[1], shape.halo(cut.fused)
    held = _planes(shape, cut.fused) * min(ny, cut.height + 2 * halo) + shape.rings(cut.fused) * min(ny, cut.rows)
    return held * cut.pitch * CACHE_LINE <= L2_BUDGET


def _overlap(n: int, cut: int, wraps: bool, halo: int) -> float:
    """Share of the planes or rows that is computed twice, when n of them are cut into pieces."""
    return halo / min(n, cut) if wraps or cut < n else 0.0


def _margin(shape: TilingShape, fused: int) -> int:
    """Cache lines by which a part of a row overlaps the next."""
    return -(-shape.halo(fused) // shape.per_line)


def _lines(shape: TilingShape) -> int:
    """Cache lines of a row."""
    return -(-shape.cells[2] // shape.per_line)


def _band_multiple(shape: TilingShape, parts: int) -> int:
    """The number that the bands must be a multiple of, so that all threads have work."""
    return max(1, MIN_BANDS // parts) if shape.cells[0] < 2 * MIN_SLAB else 1


def tiling(shape: TilingShape, cut: TilingCut, threads: int, planes: int | None = None) -> np.ndarray:
    """Tiles (m, 8), slab by slab: rows are `fused_pass.CpuTile`s. planes: that there are, of a process that has a part
    of the grid only: its bands and parts of rows are those of the whole."""
    _, ny, nx = shape.cells
    nz = shape.cells[0] if planes is None else planes
    multiple = _band_multiple(shape, cut.parts)
    bands = min(ny, -(-ny // (cut.height * multiple)) * multiple)
    y, x = (np.linspace(0, n, pieces + 1).astype(np.int64) for n, pieces in ((ny, bands), (_lines(shape), cut.parts)))
    x = np.minimum(nx, x * shape.per_line)
    of_slab = np.array(
        [(y[b], y[b + 1], x[p], x[p + 1], b * cut.parts + p, y[b + 1]) for b in range(bands) for p in range(cut.parts)]
    )
    usual = max(1, min(threads, nz // MIN_SLAB if cut.fused > 1 else nz))
    plans = [_in_slabs(of_slab, nz, slabs) for slabs in range(1, min(threads, nz) + 1)]
    work = [work_of_busiest(shape, cut, tiles, threads) for tiles in plans]
    best = int(np.argmin(work))
    return plans[best if WORTH * work[best] < work[usual - 1] else usual - 1]


def _in_slabs(of_slab: np.ndarray, nz: int, slabs: int) -> np.ndarray:
    """The tiles of a slab, (m, 6), in each of so many slabs of nz planes."""
    z = np.linspace(0, nz, slabs + 1).astype(np.int64)
    ends = np.repeat(np.column_stack((z[:-1], z[1:])), len(of_slab), axis=0)
    return np.hstack((ends, np.tile(of_slab, (slabs, 1))))


def work_of_busiest(shape: TilingShape, cut: TilingCut, tiles: np.ndarray, threads: int) -> float:
    """Cells that the thread with the most to do computes in a step, what overlaps included. Threads take runs of as
    many tiles, as in `fused_pass.advance`."""
    nz = int(tiles[:, 1].max())
    overlaps = shape.halo(cut.fused) - np.arange(cut.fused)[:, None]
    lengths = [
        np.where(wraps, end - first + 2 * overlaps, np.minimum(n, end + overlaps) - np.maximum(0, first - overlaps))
        for n, wraps, first, end in zip((nz, shape.cells[1]), shape.wraps, tiles.T[:4:2], tiles.T[1:4:2], strict=False)
    ]
    work = (lengths[0] * lengths[1]).mean(axis=0) * (tiles[:, 5] - tiles[:, 4])
    ends = np.concatenate(([0.0], np.cumsum(work)))[len(tiles) * np.arange(threads + 1) // threads]
    return float(np.diff(ends).max())


def tallest_without_potentials(shape: TilingShape, cut: TilingCut) -> int:
    """Rows of a tile of so many steps that keeps no potentials."""
    return _cut(shape._replace(potentials=False), cut.fused, cut.parts).height


def scratch_rows(shape: TilingShape, tiles: np.ndarray, cut: TilingCut) -> int:
    """Rows of scratch that each thread needs."""
    tallest = int((tiles[:, 3] - tiles[:, 2]).max()) + 2 * shape.halo(cut.fused)
    height = tallest if shape.wraps[1] else min(tallest, shape.cells[1])
    from_others = cut.rows if shape.potentials else 0  # rows of heat: see `interface_rows`
    return SCRATCH_ROWS + from_others + shape.rings(cut.fused) * (2 * height + cut.rows)
