"""What the kernels' theory promises: accesses saved by tiles, and operations for a byte.

A mask is m = 2n + 1 wide. A halo element of a tile is an inner element of a neighbouring tile; a ghost element lies
outside the array, and is never read from memory. Source of all formulas: Kirk and Hwu, Programming Massively Parallel
Processors, convolution chapter. Its second edition's example mixes the formulas of inner and end blocks: for blocks of
128 and 32 elements and n = 5 it has 10.13 and 8.14, where inner blocks save 10.20 and 8.38.
"""

from __future__ import annotations

OPERATIONS = 2  # a multiply-add


def ghost_accesses(n: int) -> int:
    """Accesses that the threads at one end of a line are spared, since what they would read is missing."""
    return n * (n + 1) // 2


def line_ratio(block: int, n: int) -> float:
    """1-D: global accesses of `basic` over those of `tiled`, for a block of elements away from the ends."""
    return block * (2 * n + 1) / (block + 2 * n)


def line_ratio_at_end(block: int, n: int) -> float:
    """1-D: the same for the first or last block of a line."""
    return (block * (2 * n + 1) - ghost_accesses(n)) / (block + n)


def plane_ratio(tile: int, m: int) -> float:
    """2-D: global accesses of `basic` over those of the tiled kernels, for an output tile of tile x tile elements away
    from the ends, under a mask of m x m; m^2 for large tiles."""
    return m**2 * tile**2 / (tile + m - 1) ** 2


def plane_intensity(tile: int, m: int, itemsize: int = 4) -> float:
    """2-D: operations for a byte read from global memory by the tiled kernels, as in `plane_ratio`."""
    return OPERATIONS * tile**2 * m**2 / (itemsize * (tile + m - 1) ** 2)


def greatest_plane_intensity(m: int, itemsize: int = 4) -> float:
    """2-D: the limit of `plane_intensity` for large tiles."""
    return OPERATIONS * m**2 / itemsize


def untiled_intensity(mask_in_constant_memory: bool, itemsize: int = 4) -> float:
    """Operations for a byte asked of global memory by `basic`, or by `constant`: two values a multiply-add, or one."""
    return OPERATIONS / (itemsize if mask_in_constant_memory else 2 * itemsize)


def tile_reads(tile: tuple[int, int], mask: tuple[int, int]) -> float:
    """Elements that the tiled kernels ask global memory for, for a result of an output tile of (rows, columns) away
    from the ends: an input tile for an output tile. A line is one row."""
    (rows, columns), (height, width) = tile, mask
    return (rows + height - 1) * (columns + width - 1) / (rows * columns)


def cached_reads(tile: tuple[int, int], mask: tuple[int, int]) -> float:
    """The same for `cached`: the tile itself, and what every mask finds outside it. Along an axis of N elements a mask
    of 2n+1 finds N (2n+1) - n (n+1) elements of the tile inside, for N > n."""
    inside, taps = 1, 1
    for length, m in zip(tile, mask, strict=True):
        n = m // 2
        inside, taps = inside * (length * m - n * (n + 1)), taps * length * m
    results = tile[0] * tile[1]
    return (results + taps - inside) / results


def march_reads(rows: int, columns: int, mask: tuple[int, int]) -> float:
    """The same for `register`: a thread's `columns` of neighbouring results in each of `rows`, which takes the rows of
    the mask more, and of each row whole vectors of `columns` elements wherever the mask reaches."""
    height, width = mask
    reach = columns * -(-(width // 2) // columns)
    return (rows + height - 1) * (columns + 2 * reach) / (rows * columns)
