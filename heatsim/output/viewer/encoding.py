"""Fields as whole numbers of 16 bits, packed so that a page of sixty frames can be sent by mail.

A frame is quantised to 0 ... 65535 between two ends. Each number is predicted from numbers that the reader has already,
and the difference is kept; `assets/frames.js` goes the same way back. Predictions interpolate by polynomials, level by
level: the cells of a coarse grid come first, then those half way between them along z, y and x, then those of the next
finer grid (the predictor of the SZ3 compressor: Zhao et al., IEEE ICDE 2021). Only the rounding of the quantised field
is left then, which is mostly 0 and +-1. Instead of a frame its difference from the frame before is packed the same way,
where that is shorter.

A difference d is stored as 2 d for d >= 0, else -2 d - 1. Two of them go into a byte, four bits each; 15 says that the
number is in a list: of these the low bytes come first, then the high ones. Bytes and list are compressed by gzip, each
by itself; four bytes before them tell the length of the first.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

LEVELS = 65535  # of a quantised field, less one
_ESCAPE = 15
_ZERO = np.uint16(2**15)  # stands for no difference from the frame before
_STRATEGIES = ((1, zlib.Z_DEFAULT_STRATEGY), (6, zlib.Z_HUFFMAN_ONLY))  # what repeats, and what is noise
_GZIP = 31  # window bits of zlib for the gzip format


class EncodedFrame(NamedTuple):
    """data: packed; from_before: whether it is the difference from the frame before, modulo 2^16."""

    data: bytes
    from_before: bool


def quantise(field: np.ndarray, low: float, high: float) -> np.ndarray:
    """Whole numbers (nz, ny, nx) uint16 of values between two ends; what is not finite becomes 0."""
    scale = LEVELS / (high - low) if high > low else 0.0
    scaled = np.rint((field - field.dtype.type(low)) * field.dtype.type(scale))
    return np.asarray(np.clip(np.nan_to_num(scaled, copy=False), 0, LEVELS).astype(np.uint16))


def encode(numbers: np.ndarray, before: np.ndarray | None = None) -> EncodedFrame:
    """Pack a quantised frame (nz, ny, nx) uint16; before: the frame before it."""
    alone = EncodedFrame(_packed(_differences(numbers)), False)
    if before is None:
        return alone
    change = EncodedFrame(_packed(_differences(numbers - before + _ZERO)), True)
    return min(alone, change, key=lambda each: len(each.data))


def _packed(differences: np.ndarray) -> bytes:
    folded = ((differences << 1) ^ (differences >> 15)).view(np.uint16)
    escaped = folded >= _ESCAPE
    halves = np.where(escaped, _ESCAPE, folded).astype(np.uint8)
    if halves.size % 2:
        halves = np.append(halves, np.uint8(0))
    listed = folded[escaped]
    pairs = _compressed((halves[0::2] | (halves[1::2] << 4)).tobytes())
    planes = np.concatenate((listed & 255, listed >> 8)).astype(np.uint8)
    return struct.pack("<I", len(pairs)) + pairs + _compressed(planes.tobytes())


def _compressed(data: bytes) -> bytes:
    """Compress data by gzip, with the level and strategy that make them shortest."""
    found = []
    for level, strategy in _STRATEGIES:
        packer = zlib.compressobj(level, zlib.DEFLATED, _GZIP, 9, strategy)
        found.append(packer.compress(data) + packer.flush())
    return min(found, key=len)


def _differences(numbers: np.ndarray) -> np.ndarray:
    """(cells,) int16 differences from predictions, modulo 2^16, in the order in which they are undone."""
    whole = numbers.astype(np.int32)
    found = [whole[0, 0, 0].reshape(1)]
    for axis, strides in passes(numbers.shape):
        part = np.moveaxis(whole[tuple(slice(None, None, stride) for stride in strides)], axis, 0)
        if len(part) > 1:
            found.append(np.moveaxis(part[1::2] - _predicted(part[0::2], len(part) // 2), 0, axis).reshape(-1))
    return np.concatenate(found).astype(np.uint16).view(np.int16)


def _predicted(known: np.ndarray, count: int) -> np.ndarray:
    """What lies half way between values (n, ...) and the next ones, of the first `count`: by a polynomial through three
    values on both sides, or through two, or the mean, as many as there are; behind the last it is the last."""
    above = known[1 : count + 1]
    if len(above) < count:
        above = np.concatenate((above, known[-1:]))
    found: np.ndarray = (known[:count] + above) >> 1

    def pair(reach: int, away: int) -> np.ndarray:
        """Sums of the values `away` before and after, where there are `reach` on both sides."""
        first, last = reach - 1, min(count, len(known) - reach)
        return np.asarray(known[first - away + 1 : last - away + 1] + known[first + away : last + away])

    if min(count, len(known) - 2) > 1:
        found[1 : min(count, len(known) - 2)] = (9 * pair(2, 1) - pair(2, 2) + 8) >> 4
    if min(count, len(known) - 3) > 2:
        quintic = (150 * pair(3, 1) - 25 * pair(3, 2) + 3 * pair(3, 3) + 128) >> 8
        found[2 : min(count, len(known) - 3)] = quintic
    return found


def passes(shape: tuple[int, ...]) -> Iterator[tuple[int, tuple[int, int, int]]]:
    """The passes of the prediction, coarse to fine: an axis of the array, and the strides at which cells are taken; of
    these every other one along the axis is predicted from those between."""
    stride = 1
    while stride < max(shape):
        stride *= 2
    strides = [stride] * 3
    while stride > 1:
        stride //= 2
        for axis in range(3):
            strides[axis] = stride
            yield axis, (strides[0], strides[1], strides[2])
