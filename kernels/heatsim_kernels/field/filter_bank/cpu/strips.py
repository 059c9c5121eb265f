"""CPU: what the filter bank kernels have in common: the padded image, the strips of work, and the end of a strip.

    padded image, for stride 2: even and odd columns apart      a strip: some output rows of some filters
    0 0 0 0 0 0 | 0 0 0 0 0 0                                   r r r r r r r r   response, in scratch that
    0 i i i i 0 | 0 i i i i 0     pixel x, tap kx lies at       r r r r r r r r   stays in the L2 cache
    0 i i i i 0 | 0 i i i i 0     part kx % s, x + kx // s          |
    0 0 0 0 0 0 | 0 0 0 0 0 0                                   o o o o           ReLU and maxima, to memory

One copy of the images serves all filters: nothing is tested at the edges any more, and neighbouring pixels are
neighbours in memory whatever the stride, so rows vectorise. With a pooling the response never leaves the strip.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import get_num_threads, prange

from heatsim_kernels.device.cpu.compilation import jit, parallel_jit
from heatsim_kernels.device.cpu.pointers import load, padded, pointer, shifted, store
from heatsim_kernels.device.cpu.threads import limited, threads_for
from heatsim_kernels.field.filter_bank import pointwise
from heatsim_kernels.field.filter_bank.geometry import WHOLE, BankGeometry, Pair, Pool

# ReLU and max pooling on the CPU, as kernels of their own: rows shared out among the threads.
#
# window 3 x 3, stride 2     first down:  a row of column maxima, vectorised      then along: 3 of them a result
# a a a . . . .              a             m m m m m m m                           o o o
# a a a . . . .              a
# a a a . . . .              a
#
# A result costs rows + columns of its window over the stride, not their product. Each value comes from memory once; 4
# bytes read for each cell and 4 written for each result, in float32.


PIECE = 16384  # elements of a ReLU that a thread takes at once


def relu(values: np.ndarray) -> np.ndarray:
    """max(value, 0) of a contiguous array."""
    out = np.empty_like(values)
    with limited(threads_for(values.size)):
        _relu(values.reshape(-1), out.reshape(-1))
    return out


def max_pool(images: np.ndarray, pool: Pool, extent: Pair) -> np.ndarray:
    """Maxima of the windows of contiguous (planes, y, x); `extent` is how many windows there are."""
    out = np.empty((len(images), *extent), images.dtype)
    count = min(get_num_threads(), threads_for(images.size))
    lines = np.empty((count, images.shape[2]), images.dtype)
    with limited(count):
        _max_pool(images, out, *pool.window, *pool.step, lines)
    return out


@parallel_jit
def _relu(values, out):
    zero = values.dtype.type(0)
    for piece in prange(-(-values.size // PIECE)):
        first = piece * PIECE
        count = min(PIECE, values.size - first)
        copy_row(shifted(pointer(out), first), shifted(pointer(values), first), count, True, zero)


@parallel_jit
def _max_pool(images, out, window_y, window_x, step_y, step_x, lines):
    planes, rows, columns = out.shape
    for worker in prange(len(lines)):
        for number in range(worker, planes * rows, len(lines)):
            plane, y = number // rows, number % rows
            first = y * step_y
            height = min(window_y, images.shape[1] - first)
            pool_row(pointer(out[plane, y]), pointer(images[plane, first]), images.shape[2], pointer(lines[worker]),
                     height, images.shape[2], window_x, step_x, columns)  # fmt: skip


SCRATCH = 192 * 1024  # bytes of a strip's response, about

rectified = jit(pointwise.rectified)
larger = jit(pointwise.larger)


class PaddedImageLayout(NamedTuple):
    """Elements from an image to the next, from a response row's pixels to the next row's, and of a padded row's part;
    where each tap lies from there, in the order channel, y, x; pixels of a response row in scratch."""

    image: int
    row: int
    part: int
    offsets: np.ndarray
    columns: int


class Strips(NamedTuple):
    """Extents as plain numbers, for compiled code. A strip is `height` output rows."""

    batch: int
    filters: int
    rows: int  # of the response
    columns: int
    out_rows: int
    out_columns: int
    window_y: int
    window_x: int
    step_y: int
    step_x: int
    height: int
    relu: bool

    @classmethod
    def of(cls, shape: BankGeometry, filters: int, columns: int, itemsize: int, relu: bool) -> Strips:
        """Strips whose response of `filters` filters, rows of `columns` elements, fits the scratch."""
        (window, _), (step, _) = shape.pool
        rows = max(window, SCRATCH // (filters * columns * itemsize))
        height = min(shape.output[0], (rows - window) // step + 1)
        return cls(
            shape.batch, shape.filters, *shape.response, *shape.output, *shape.pool.window, *shape.pool.step, height,
            relu,
        )  # fmt: skip

    @property
    def scratch_rows(self) -> int:
        """Response rows of a strip."""
        return (self.height - 1) * self.step_y + self.window_y

    @property
    def pools(self) -> bool:
        """Whether anything is pooled."""
        return (self.window_y, self.window_x, self.step_y, self.step_x) != (*WHOLE.window, *WHOLE.step)

    @property
    def in_an_image(self) -> int:
        """Strips of an image, for each filter."""
        return -(-self.out_rows // self.height)


def layout_of(shape: BankGeometry, lanes: int) -> PaddedImageLayout:
    """How images are laid out for rows of whole vectors of `lanes` pixels."""
    stride_y, stride_x = shape.stride
    columns = -(-shape.response[1] // lanes) * lanes
    part = columns + (shape.mask[1] - 1) // stride_x
    rows = (shape.response[0] - 1) * stride_y + shape.mask[0]
    c, ky, kx = np.indices((shape.channels, *shape.mask))
    offsets = ((c * rows + ky) * stride_x + kx % stride_x) * part + kx // stride_x
    row = stride_x * part
    return PaddedImageLayout(
        shape.channels * rows * row, stride_y * row, part, offsets.reshape(-1).astype(np.int64), columns
    )


def laid_out(images: np.ndarray, shape: BankGeometry, layout: PaddedImageLayout) -> np.ndarray:
    """The images, flat, padded and with their columns apart by stride."""
    copy = padded(shape.batch * layout.image, images.dtype)
    rows = layout.image // (shape.channels * shape.stride[1] * layout.part)
    parts = copy.reshape(shape.batch * shape.channels, rows, shape.stride[1], layout.part)
    _lay_out(images.reshape(-1, *shape.image), parts, *shape.padding)
    return copy


@parallel_jit
def _lay_out(images, parts, padding_y, padding_x):
    """Fill (image, row, part, column) from (image, y, x); what is not filled is zero already."""
    planes, rows, stride, width = parts.shape
    ny, nx = images.shape[1:]
    for line in prange(planes * rows):
        plane, row = line // rows, line % rows
        y = row - padding_y
        if 0 <= y < ny:
            for part in range(stride):
                first = max(0, -((part - padding_x) // stride))  # the first column that is in the image
                end = min(width, (nx - 1 + padding_x - part) // stride + 1)
                for i in range(first, end):
                    parts[plane, row, part, i] = images[plane, y, i * stride + part - padding_x]


def workers(shape: BankGeometry, threads: int) -> int:
    """Shares of the work, so that small banks use few threads."""
    work = shape.batch * shape.filters * shape.response[0] * shape.response[1] * shape.depth
    return int(max(1, min(threads, work // 200_000)))


@jit
def finish_row(target, source, pitch, line, strips, zero):
    """An output row from the response rows of its windows, `pitch` apart; `line` is scratch for a row."""
    if strips.window_y * strips.window_x == 1 and strips.step_x == 1:
        copy_row(target, source, strips.out_columns, strips.relu, zero)
        return
    pool_row(target, source, pitch, line, strips.window_y, strips.columns, strips.window_x, strips.step_x,
             strips.out_columns)  # fmt: skip
    if strips.relu:
        for x in range(strips.out_columns):
            target[x] = rectified(target[x], zero)


@jit
def copy_row(target, source, count, relu, zero):
    """Copy a row, through a ReLU or not."""
    if relu:
        for x in range(count):
            store(target, x, rectified(load(source, x), zero))
    else:
        for x in range(count):
            store(target, x, load(source, x))


@jit
def pool_row(target, source, pitch, line, rows, columns, window, step, count):
    """Maxima of `count` windows over `rows` rows, `pitch` apart: down the columns first, along them after."""
    for x in range(columns):
        line[x] = source[x]
    for row in range(1, rows):
        for x in range(columns):
            line[x] = larger(line[x], source[row * pitch + x])
    for x in range(count):
        best = line[x * step]
        for i in range(x * step + 1, min(x * step + window, columns)):
            best = larger(best, line[i])
        target[x] = best
