"""CUDA: the heat that walls pass to the cells beside them, a T + b for each, added to a field or summed by face.

A cell at an edge of the box lies beside several faces, so each face has its launch. The sums are over blocks in a fixed
order and then over these on the host.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import float64, int64

from ..cuda_api import cuda
from ..cuda_memory import Array, empty, on_device
from .cuda_field import MOST_BLOCKS, THREADS, Field, first, launch, stride
from .cuda_vectors import block_sum

FACES = 6


class Wall(NamedTuple):
    """A face, numbered x_min x_max y_min y_max z_min z_max, with values by cell beside it: a in W/K, b in W."""

    number: int
    a: np.ndarray
    b: np.ndarray


def build_flow(add):
    """The kernel `(face, start, columns, line, column, a, b, T, out)`: out (cells) is added to, or out (6, blocks) is
    given the sums of a face; `line` and `column` are the ways to the next line and column of the face."""

    def flow(face, start, columns, line, column, a, b, T, out):
        total = float64(0.0)
        k, step = int64(first()), int64(stride())
        while k < a.size:
            i = start + k // columns * line + k % columns * column
            heat = a[k] * T[i] + b[k]
            if add:
                out[i] += heat
            total += heat
            k += step
        if not add:
            total = block_sum(total)
            if cuda.threadIdx.x == 0:
                out[face, cuda.blockIdx.x] = total

    return flow


class Walls:
    """The walls of a box at a time, on the GPU."""

    def __init__(self, shape: tuple[int, ...], walls: Sequence[Wall]) -> None:
        self._blocks = min(MOST_BLOCKS, 256)
        self._sums = empty((FACES, self._blocks), np.float64) if walls else None
        self._walls = [(wall.number, _geometry(shape, wall), _sent(wall.a), _sent(wall.b)) for wall in walls]

    def add(self, out: Field, T: Field) -> None:
        """out += what flows into each cell beside a wall, W; float64."""
        for number, geometry, a, b in self._walls:
            args = (np.int64(number), *geometry, a, b, T.flat, out.flat)
            launch(build_flow, True, (self._blocks, 1, 1), (THREADS, 1, 1), args)

    def entering(self, T: Field) -> np.ndarray:
        """(6,) sums over the faces, W."""
        heat = np.zeros(FACES)
        if self._sums is None:
            return heat
        for number, geometry, a, b in self._walls:
            args = (np.int64(number), *geometry, a, b, T.flat, self._sums)
            launch(build_flow, False, (self._blocks, 1, 1), (THREADS, 1, 1), args)
        numbers = [number for number, *_ in self._walls]
        heat[numbers] = self._sums.host()[numbers].sum(axis=1)
        return heat


def _geometry(shape: tuple[int, ...], wall: Wall) -> tuple[np.int64, ...]:
    """The first cell of a face, its columns, and the ways from line to line and from column to column."""
    strides = [shape[1] * shape[2], shape[2], 1]
    axis = 2 - wall.number // 2
    through = strides.pop(axis)
    start = (shape[axis] - 1) * through if wall.number % 2 else 0
    columns = [n for each, n in enumerate(shape) if each != axis][1]
    return np.int64(start), np.int64(columns), np.int64(strides[0]), np.int64(strides[1])


def _sent(values: np.ndarray) -> Array:
    return on_device(np.ascontiguousarray(values, np.float64).reshape(-1))
