"""CPU: ghosts beyond the boundary faces, and the heat they bring."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from heatsim_kernels.runtime.cpu.compilation import called, inlined, inlined_sum
from heatsim_kernels.runtime.cpu.pointers import load, shifted, store
from heatsim_kernels.stencil import physics
from heatsim_kernels.stencil.cpu.rows import kind_of

# NumPy's numbers, since Numba compiles a function anew for each Python number that is passed to it.
X_MIN, X_MAX, Y_MIN, Y_MAX, Z_MIN, Z_MAX = (np.int64(face) for face in range(6))

ghost = inlined(physics.ghost)


class CpuBoundaryFaces(NamedTuple):
    """Boundary faces: values a and b, `size` of them a step and `rows` steps of them, where each face starts among the
    values of a step, whether it is closed, and the heat moved by a kelvin beyond it, (6, n) J flat, n being the `count`
    of kinds. Arrays, or pointers in compiled code."""

    a: np.ndarray
    b: np.ndarray
    rows: int
    size: int
    per_cell: bool
    offsets: np.ndarray
    closed: np.ndarray
    weights: np.ndarray
    count: int


class RowLedger(NamedTuple):
    """Where the heat goes that enters a row in a step: a pointer to that through each of the six faces; what share of
    it; and which cells of the row are to be counted, which may be none."""

    flows: int
    share: float
    first: int
    end: int


class BoundaryRow(NamedTuple):
    """A run of boundary cells of one face in one step: pointers to their values (or those of the kinds), to the weights
    of the kinds and to the heat that entered, what share of it enters, and which cells are to be counted."""

    a: int
    b: int
    per_cell: bool
    weights: int
    heat: int
    share: float
    first: int
    end: int


@inlined
def face_at(walls, face, step, position, book):
    """The cells of a face from the `position`-th on, at one step of a batch; the last row of values stays."""
    start = min(step, walls.rows - 1) * walls.size + walls.offsets[face] + (position if walls.per_cell else 0)
    return BoundaryRow(
        shifted(walls.a, start),
        shifted(walls.b, start),
        walls.per_cell,
        shifted(walls.weights, face * walls.count),
        shifted(book.flows, face),
        book.share,
        book.first,
        book.end if walls.closed[face] == 0 else book.first,
    )


@called
def ghost_row(out, n, row, kinds, face):
    """The n ghosts beyond a row of boundary cells."""
    for i in range(n):
        w = i if face.per_cell else kind_of(kinds, i)
        store(out, i, ghost(load(row, i), load(face.a, w), load(face.b, w)))
    if face.first < face.end:
        face.heat[0] += face.share * _heat_of_row(out, face.first, face.end, row, kinds, face.weights)
    return out


@inlined
def ghost_cell(row, i, kinds, face):
    """The ghost beyond cell i of a row, the first cell of a face."""
    kind, cell = kind_of(kinds, i), load(row, i)
    w = 0 if face.per_cell else kind
    beyond = ghost(cell, load(face.a, w), load(face.b, w))
    if face.first <= i < face.end:
        face.heat[0] += face.share * load(face.weights, kind) * (np.float64(beyond) - np.float64(cell))
    return beyond


@inlined_sum
def _heat_of_row(ghosts, first, end, row, kinds, weights):
    """Heat that enters some cells of a row at a boundary in a step, J."""
    heat = 0.0
    for i in range(first, end):
        heat += load(weights, kind_of(kinds, i)) * (np.float64(ghosts[i]) - np.float64(row[i]))
    return heat
