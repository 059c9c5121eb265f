"""Frames are packed without loss, and pages stay small."""

from __future__ import annotations

import gzip
import struct

import numpy as np
from helpers.in_turn import in_turn

from heatsim.output.viewer.encoding import LEVELS, encode, passes, quantise

SHAPES = [(1, 1, 1), (1, 1, 7), (1, 2, 40), (2, 1, 3), (5, 4, 3), (8, 8, 8), (1, 16, 9), (13, 7, 20)]


def unpacked(data: bytes, cells: int) -> np.ndarray:
    """The differences (cells,) of a frame: what `unpack` of assets/frames.js does."""
    (length,) = struct.unpack_from("<I", data)
    pairs, listed = (
        np.frombuffer(gzip.decompress(part), np.uint8).astype(np.int64)
        for part in (data[4 : 4 + length], data[4 + length :])
    )
    halves = np.column_stack((pairs & 15, pairs >> 4)).reshape(-1)[:cells]
    folded = halves.copy()
    folded[halves == 15] = listed[: len(listed) // 2] + 256 * listed[len(listed) // 2 :]
    return np.where(folded % 2, -(folded + 1) // 2, folded // 2)


def restored(differences: np.ndarray, shape: tuple[int, int, int]) -> np.ndarray:
    """The frame of differences, cell by cell: what `restore` of assets/frames.js does."""
    field, found = np.zeros(shape, np.int64), iter(differences.tolist())
    field[0, 0, 0] = next(found) % 2**16
    for axis, strides in passes(shape):
        part = np.moveaxis(field[tuple(slice(None, None, stride) for stride in strides)], axis, 0)
        for place in np.ndindex(*_odd_shape(field, axis, strides)):
            n = place[axis]
            at = np.moveaxis(part, 0, axis)[tuple(slice(None) if i == axis else k for i, k in enumerate(place))]
            known = at[0::2]
            if n + 1 >= len(known):
                expected = known[n]
            elif n == 0 or n + 2 >= len(known):
                expected = (known[n] + known[n + 1]) >> 1
            else:
                inner, outer = known[n] + known[n + 1], known[n - 1] + known[n + 2]
                expected = (9 * inner - outer + 8) >> 4
                if n >= 2 and n + 3 < len(known):
                    expected = (150 * inner - 25 * outer + 3 * (known[n - 2] + known[n + 3]) + 128) >> 8
            at[2 * n + 1] = (expected + next(found)) % 2**16
    return field


def _odd_shape(field: np.ndarray, axis: int, strides: tuple[int, int, int]) -> list[int]:
    shape = list(field[tuple(slice(None, None, stride) for stride in strides)].shape)
    shape[axis] //= 2
    return shape


@in_turn("shape", SHAPES)
def test_a_frame_comes_back_as_it_was(shape: tuple[int, int, int]) -> None:
    numbers = np.random.default_rng(len(shape)).integers(0, 2**16, shape).astype(np.uint16)
    packed = encode(numbers)
    assert not packed.from_before
    np.testing.assert_array_equal(restored(unpacked(packed.data, numbers.size), shape), numbers)


def test_where_little_changes_a_frame_is_the_difference_from_the_one_before() -> None:
    before = np.random.default_rng(1).integers(0, 2**16, (6, 7, 8)).astype(np.uint16)
    now = before.copy()
    now[:, 2:4] += 1000
    packed = encode(now, before)
    assert packed.from_before
    difference = restored(unpacked(packed.data, now.size), (6, 7, 8)) - 2**15
    np.testing.assert_array_equal((before + difference) % 2**16, now)
    assert len(packed.data) < len(encode(now).data) / 2


def test_smooth_fields_take_less_than_two_bits_a_cell() -> None:
    z, y, x = np.meshgrid(*(np.linspace(0, 1, 96),) * 3, indexing="ij")
    field = (300 + 80 * np.exp(-((x - 0.3) ** 2 + (y - 0.5) ** 2 + (z - 0.6) ** 2) / 0.2)).astype(np.float32)
    assert len(encode(quantise(field, 300.0, 380.0)).data) * 8 < 2 * field.size


def test_values_are_known_to_half_a_level() -> None:
    field = np.random.default_rng(2).uniform(-3.0, 5.0, (4, 5, 6))
    back = -3.0 + 8.0 * quantise(field, -3.0, 5.0) / LEVELS
    assert np.abs(back - field).max() <= 0.5001 * 8.0 / LEVELS
    assert not quantise(np.full((1, 1, 2), 7.0), 7.0, 7.0).any()
    assert quantise(np.array([[[np.nan, np.inf]]]), 0.0, 1.0).tolist() == [[[0, LEVELS]]]
