"""Shapes of a filter bank: from what is asked for to what is computed, and what is wrong with it."""

from __future__ import annotations

from typing import NamedTuple

Pair = tuple[int, int]
PoolSize = int | tuple[int | Pair, int | Pair] | None  # no pooling, a window, or (window, stride)


class Pool(NamedTuple):
    """A max pooling: windows of (y, x) cells, a step of (y, x) cells from one to the next."""

    window: Pair
    step: Pair


WHOLE = Pool((1, 1), (1, 1))  # no pooling: every pixel is a window of its own


class BankGeometry(NamedTuple):
    """Images (batch, channels, ny, nx) meet filters (filters, channels, *mask); the response has `response` rows and
    columns, and the output, after pooling, `output`."""

    batch: int
    channels: int
    image: Pair
    filters: int
    mask: Pair
    stride: Pair
    padding: Pair
    response: Pair
    pool: Pool
    output: Pair

    @property
    def depth(self) -> int:
        """Products in a pixel of the response."""
        return self.channels * self.mask[0] * self.mask[1]


def geometry(
    images: tuple[int, ...],
    filters: tuple[int, ...],
    stride: int | Pair,
    padding: int | Pair,
    pool: PoolSize,
) -> BankGeometry:
    """What follows from the shapes; raises `ValueError` saying what does not fit."""
    if len(images) != 4:
        raise ValueError(f"images must be (batch, channels, y, x); their shape is {images}")
    if len(filters) != 4:
        raise ValueError(f"filters must be (filters, channels, y, x); their shape is {filters}")
    if images[1] != filters[1]:
        raise ValueError(f"filters expect {filters[1]} channels, but the images have {images[1]}")
    if 0 in images + filters:
        raise ValueError(f"nothing to filter: images {images}, filters {filters}")
    step = pair(stride, "stride", 1)
    margin = pair(padding, "padding", 0)
    mask, image = (filters[2], filters[3]), (images[2], images[3])
    for axis, extent, width, p in zip("yx", image, mask, margin, strict=True):
        if width > extent + 2 * p:
            raise ValueError(f"a filter {width} cells wide in {axis} exceeds the image of {extent} with {p} of padding")
    rows, columns = ((n + 2 * p - m) // s + 1 for n, p, m, s in zip(image, margin, mask, step, strict=True))
    response = rows, columns
    pooling = pool_of(pool)
    output = pooled(response, pooling)
    return BankGeometry(images[0], images[1], image, filters[0], mask, step, margin, response, pooling, output)


def pool_of(pool: PoolSize) -> Pool:
    """`None`, a window, or (window, stride), where either is a number of cells or a (y, x) pair."""
    if pool is None:
        return WHOLE
    window, stride = pool if isinstance(pool, tuple) else (pool, None)
    return pool_pair(window, stride)


def pool_pair(window: int | Pair, stride: int | Pair | None) -> Pool:
    """A pooling whose stride is its window unless another is given."""
    shape = pair(window, "pooling window", 1)
    return Pool(shape, shape if stride is None else pair(stride, "pooling stride", 1))


def pooled(extent: Pair, pool: Pool, *, keep_edge: bool = False) -> Pair:
    """Windows in an array of `extent`; one that stands out over the end counts with `keep_edge` alone."""
    pairs = list(zip(extent, *pool, strict=True))
    if keep_edge:
        rows, columns = (min(max(0, -(-(n - w) // s)) + 1, -(-n // s)) for n, w, s in pairs)
        return rows, columns
    for axis, (n, w, _) in zip("yx", pairs, strict=True):
        if w > n:
            raise ValueError(f"a pooling window of {w} cells in {axis} is wider than the {n} there are")
    rows, columns = ((n - w) // s + 1 for n, w, s in pairs)
    return rows, columns


def pair(value: int | Pair, name: str, least: int) -> Pair:
    """(y, x) from one number or two; raises `ValueError` where one is no integer or less than `least`."""
    parts = tuple(value) if isinstance(value, (tuple, list)) else (value, value)
    if len(parts) != 2 or not all(_is_integer(part) and part >= least for part in parts):
        raise ValueError(f"{name} must be an integer of at least {least}, or two of them (y, x); it is {value!r}")
    return int(parts[0]), int(parts[1])


def _is_integer(value: object) -> bool:
    return not isinstance(value, bool) and hasattr(value, "__index__")
