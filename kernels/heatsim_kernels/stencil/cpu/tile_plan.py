"""CPU: how many steps a pass takes, and how the grid is cut for it. Planning only; `cpu_pass` does the work.

Neither depends on the number of threads but for the slabs, which the energy ledger does not see: it is kept by block
and plane, so that its sums are the same for any number of threads.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from heatsim_kernels.runtime.cpu.pointers import CACHE_LINE
from heatsim_kernels.stencil.cpu.fused_pass import SCRATCH_ROWS


def _cache_bytes(size: Path) -> int:
    """Size of a cache by Linux's file of it, which says 1024K or the like; 0 if there is none."""
    try:
        return 1024 * int(size.read_text().strip().removesuffix("K"))
    except (OSError, ValueError):
        return 0


# Bytes of a tile's planes. Most of the 1 MiB of a Zen 4 core, and of more a smaller share: where another program runs
# on the same core, it takes part of it. Of 2 MiB at most, since virtual machines may tell of more than there is.
L2_BUDGET = max(832 * 1024, 5 * min(_cache_bytes(Path("/sys/devices/system/cpu/cpu0/cache/index2/size")), 2**21) // 8)
L1_BUDGET = 36 * 1024  # bytes of the rows by which a level is ahead of the next; L1 has 32 KiB or more
MAX_ROWS = 16  # of them
MAX_FUSED_STEPS = 8  # more gains less than a tenth of a step's memory time
MEMORY = 2.0  # time that a cell takes through memory, over its time in cache: measured on two cores of Zen 4
SLAB = 16  # planes of a slab at least, if steps are fused: what a slab overlaps is computed twice
WAYS = 8  # planes of grids of fewer than two slabs are shared out among threads: in so many tiles, or a multiple
MIN_LINES = 32  # cache lines of a row that a tile has at least, unless the grid has fewer
PREFETCHED = 18  # lines that a core fetches in vain behind a part of a row: fitted to runs of 64 to 512 lines


class TilingShape(NamedTuple):
    """What the plan depends on: cells (nz, ny, nx), whether they wrap in z, y and x, cells of a cache line, and of how
    many `fields` a step is made: 1, or 2 of a stage."""

    cells: tuple[int, int, int]
    wraps: tuple[bool, bool, bool]
    per_line: int
    fields: int = 1


class TilingCut(NamedTuple):
    """A way to take `fused` steps a pass, in tiles of `height` rows and one of `parts` of each. Their rows are `pitch`
    cache lines apart in scratch; `rows` is the number by which a level is ahead of the next."""

    fused: int
    parts: int
    height: int
    pitch: int
    rows: int


def best_cut(shape: TilingShape, fused: int | None) -> TilingCut:
    """The cut that should take the least time a step: work grows with the overlap, memory traffic falls with `fused`,
    which is given or chosen."""
    choices = range(1, MAX_FUSED_STEPS + 1) if fused is None else (fused,)
    cuts = [_cut(shape, steps, parts) for steps in choices for parts in _numbers_of_parts(shape, steps)]
    return min(cuts, key=partial(_time_of_a_step, shape))


def _numbers_of_parts(shape: TilingShape, fused: int) -> list[int]:
    """Into how many parts rows may be cut. A single sweep gains nothing by it."""
    parts = [1]
    while fused > 1 and not shape.wraps[2] and _lines(shape) >= 2 * parts[-1] * MIN_LINES:
        parts.append(2 * parts[-1])
    return parts


def _cut(shape: TilingShape, fused: int, parts: int) -> TilingCut:
    lines = -(-_lines(shape) // parts) + min(parts - 1, 2) * _margin(shape, fused)
    # An odd number: rows of a power of two would all fall on one set of the cache.
    pitch = lines | 1
    rows = max(1, min(MAX_ROWS, L1_BUDGET // (pitch * CACHE_LINE)))
    # As many rows as let the planes of a tile stay in L2.
    held = L2_BUDGET // (pitch * CACHE_LINE) - (fused - 1) * rows
    height = max(4, held // _planes(shape, fused) - 2 * (fused - 1))
    return TilingCut(fused, parts, min(height, -(-shape.cells[1] // _ways(shape, parts))), pitch, rows)


def _planes(shape: TilingShape, fused: int) -> int:
    """Planes of a tile that are in use: three of the field, the last one being fetched, two of another if a step is
    made of two, and two (and some rows) of each level above."""
    return 2 * fused - 1 + 2 * shape.fields


def _time_of_a_step(shape: TilingShape, cut: TilingCut) -> float:
    (nz, ny, _), (wrap_z, wrap_y, _), fused = shape.cells, shape.wraps, cut.fused
    z = _overlap(nz, max(SLAB, nz // 4), wrap_z, fused)
    y = _overlap(ny, cut.height, wrap_y, fused)
    x = 2 * (cut.parts - 1) * _margin(shape, fused) / _lines(shape)
    wasted = (cut.parts - 1) * PREFETCHED / _lines(shape)
    memory = MEMORY * shape.fields / (fused if _fits(shape, cut) else 1)
    return (1 + x) * (1 + z) * (1 + y) + memory * (1 + x + wasted) * (1 + 2 * z) * (1 + 2 * y)


def _fits(shape: TilingShape, cut: TilingCut) -> bool:
    """Whether the planes of a tile stay in L2."""
    ny, levels = shape.cells[1], cut.fused - 1
    held = _planes(shape, cut.fused) * min(ny, cut.height + 2 * levels) + levels * min(ny, cut.rows)
    return held * cut.pitch * CACHE_LINE <= L2_BUDGET


def _overlap(n: int, cut: int, wraps: bool, fused: int) -> float:
    """Share of the planes or rows that is computed twice, when n of them are cut into pieces."""
    return (fused - 1) / min(n, cut) if wraps or cut < n else 0.0


def _margin(shape: TilingShape, fused: int) -> int:
    """Cache lines by which a part of a row overlaps the next."""
    return -(-(fused - 1) // shape.per_line)


def _lines(shape: TilingShape) -> int:
    """Cache lines of a row."""
    return -(-shape.cells[2] // shape.per_line)


def _ways(shape: TilingShape, parts: int) -> int:
    """How many bands threads ask for, or a multiple, where rows are cut into parts."""
    return max(1, WAYS // parts) if shape.cells[0] < 2 * SLAB else 1


def tiling(shape: TilingShape, cut: TilingCut, threads: int) -> np.ndarray:
    """Tiles (m, 7), slab by slab: see `cpu_pass.Tile`."""
    nz, ny, nx = shape.cells
    ways = _ways(shape, cut.parts)
    bands = min(ny, -(-ny // (cut.height * ways)) * ways)
    slabs = max(1, min(threads, nz // SLAB if cut.fused > 1 else nz))
    z, y, x = (
        np.linspace(0, n, pieces + 1).astype(np.int64)
        for n, pieces in ((nz, slabs), (ny, bands), (_lines(shape), cut.parts))
    )
    x = np.minimum(nx, x * shape.per_line)
    return np.array(
        [
            (z[s], z[s + 1], y[b], y[b + 1], x[p], x[p + 1], b * cut.parts + p)
            for s in range(slabs)
            for b in range(bands)
            for p in range(cut.parts)
        ]
    )


def scratch_rows(shape: TilingShape, tiles: np.ndarray, cut: TilingCut) -> int:
    """Rows of scratch that each thread needs."""
    tallest = int((tiles[:, 3] - tiles[:, 2]).max()) + 2 * (cut.fused - 1)
    height = tallest if shape.wraps[1] else min(tallest, shape.cells[1])
    return SCRATCH_ROWS + (cut.fused - 1) * (2 * height + cut.rows)
