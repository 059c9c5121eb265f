"""Fields as whole numbers of 16 bits, packed so that a page of sixty frames can be sent by mail.

A frame is quantised to 0 ... 65535 between two ends. Each number is predicted from numbers that the reader has already,
and the difference is kept; `assets/frames.js` goes the same way back. Predictions are by cubic interpolation, level by
level: the cells of a coarse grid come first, then those half way between them along z, y and x, then those of the next
finer grid (the predictor of the SZ3 compressor: Zhao et al., IEEE ICDE 2021). Only the rounding of the quantised field
is left then, which is mostly 0 and +-1. Where most cells are what they were in the frame before, the difference from
that frame is packed in place of the frame.

Two differences go into a byte, four bits each; 15 says that the difference is in a list of 16-bit numbers at the end.
A difference d is stored as 2 d for d >= 0, else -2 d - 1. The bytes are then compressed by gzip.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

LEVELS = 65535  # of a quantised field, less one
_ESCAPE = 15
_ZERO = np.uint16(2**15)  # stands for no difference from the frame before
_SAME_SHARE = 0.5  # of cells that did not change, from which on a difference from the frame before is packed
_STRATEGIES = ((1, zlib.Z_DEFAULT_STRATEGY), (6, zlib.Z_HUFFMAN_ONLY))  # what repeats, and what is noise
_GZIP = 31  # window bits of zlib for the gzip format


class EncodedFrame(NamedTuple):
    """data: gzip; from_before: whether it is the difference from the frame before, modulo 2^16."""

    data: bytes
    from_before: bool


def quantise(field: np.ndarray, low: float, high: float) -> np.ndarray:
    """Whole numbers (nz, ny, nx) uint16 of values between two ends; what is not finite becomes 0."""
    scale = LEVELS / (high - low) if high > low else 0.0
    scaled = np.rint((field - field.dtype.type(low)) * field.dtype.type(scale))
    return np.asarray(np.clip(np.nan_to_num(scaled, copy=False), 0, LEVELS).astype(np.uint16))


def encode(numbers: np.ndarray, before: np.ndarray | None = None) -> EncodedFrame:
    """Pack a quantised frame (nz, ny, nx) uint16; before: the frame before it."""
    from_before = before is not None and float(np.mean(numbers == before)) > _SAME_SHARE
    differences = _differences(numbers - before + _ZERO if before is not None and from_before else numbers)
    folded = ((differences << 1) ^ (differences >> 15)).view(np.uint16)
    escaped = folded >= _ESCAPE
    halves = np.where(escaped, _ESCAPE, folded).astype(np.uint8)
    if halves.size % 2:
        halves = np.append(halves, np.uint8(0))
    packed = (halves[0::2] | (halves[1::2] << 4)).tobytes() + folded[escaped].astype("<u2").tobytes()
    return EncodedFrame(min((_compress(packed, *each) for each in _STRATEGIES), key=len), from_before)


def _compress(data: bytes, level: int, strategy: int) -> bytes:
    packer = zlib.compressobj(level, zlib.DEFLATED, _GZIP, 9, strategy)
    return packer.compress(data) + packer.flush()


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
    """What lies half way between values (n, ...) and the next ones, of the first `count`: cubic where there are two on
    both sides, else the mean; behind the last the last."""
    above = known[1 : count + 1]
    if len(above) < count:
        above = np.concatenate((above, known[-1:]))
    found: np.ndarray = (known[:count] + above) >> 1
    last = min(count, len(known) - 2)
    if last > 1:
        inner, outer = known[1:last] + known[2 : last + 1], known[: last - 1] + known[3 : last + 2]
        found[1:last] = (9 * inner - outer + 8) >> 4
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
