"""CPU: ghost values beyond the boundary faces, and the heat that enters through these."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from heatsim_kernels.runtime.cpu.compilation import called, inlined, inlined_sum
from heatsim_kernels.runtime.cpu.pointers import load, shifted, store
from heatsim_kernels.stencil import physics
from heatsim_kernels.stencil.cpu.rows import class_of

# Numbers of NumPy, since Numba would compile a function anew for each Python literal that is passed to it.
X_MIN, X_MAX, Y_MIN, Y_MAX, Z_MIN, Z_MAX = (np.int64(face) for face in range(6))

ghost_of_potential = inlined(physics.ghost_of_potential)


class CpuBoundaryFaces(NamedTuple):
    """Boundary faces of the box. Arrays, or pointers in compiled code.

    a, b: values, (rows, size), of which the last row serves all later steps. per_cell: whether there is a value a cell,
    or one a cell class. offsets: where each of the six FACES starts among the values of a step. closed: for each,
    whether no heat passes. weights: heat moved by a kelvin in a step, J, (6, class_count) flat. by_potential: for each,
    whether the values are of potentials: see `Forcing`.
    """

    a: np.ndarray
    b: np.ndarray
    rows: int
    size: int
    per_cell: bool
    offsets: np.ndarray
    closed: np.ndarray
    weights: np.ndarray
    class_count: int
    by_potential: np.ndarray


class RowLedger(NamedTuple):
    """Where the heat is entered that comes into a row in a step: a pointer to the sums of the six faces, the share of
    it to enter, and the cells of the row to count, first <= i < end, which may be none."""

    flows: int
    share: float
    first: int
    end: int


class BoundaryRow(NamedTuple):
    """A run of cells beside one face in one step: pointers to their values a and b (or those of the cell classes), to
    the weights of the classes and to the sum of heat; the share of it to enter, and the cells to count."""

    a: int
    b: int
    per_cell: bool
    weights: int
    heat: int
    share: float
    first: int
    end: int


@inlined
def face_at(boundary, face, step, position, ledger):
    """The cells beside a face from the `position`-th on, in one step of a batch."""
    own = position if boundary.per_cell else 0
    start = min(step, boundary.rows - 1) * boundary.size + boundary.offsets[face] + own
    return BoundaryRow(
        shifted(boundary.a, start),
        shifted(boundary.b, start),
        boundary.per_cell,
        shifted(boundary.weights, face * boundary.class_count),
        shifted(ledger.flows, face),
        ledger.share,
        ledger.first,
        ledger.end if boundary.closed[face] == 0 else ledger.first,
    )


@called
def ghost_row(out, n, row, inside, classes, face):
    """Put the n ghost values beyond a row of cells into `out`, and enter their heat. inside: the temperatures of the
    cells."""
    # Two loops: a place that may be either keeps LLVM from vectors.
    if face.per_cell:
        for i in range(n):
            store(out, i, ghost_of_potential(load(row, i), load(inside, i), load(face.a, i), load(face.b, i)))
    else:
        for i in range(n):
            entry = class_of(classes, i)
            store(out, i, ghost_of_potential(load(row, i), load(inside, i), load(face.a, entry), load(face.b, entry)))
    if face.first < face.end:
        face.heat[0] += face.share * _heat_of_row(out, face.first, face.end, row, classes, face.weights)
    return out


@inlined
def ghost_cell(row, i, inside, classes, face):
    """The ghost value beyond cell i of a row, where a face in x has one cell. inside: the temperature of the cell."""
    cell_class, cell = class_of(classes, i), load(row, i)
    entry = 0 if face.per_cell else cell_class
    beyond = ghost_of_potential(cell, inside, load(face.a, entry), load(face.b, entry))
    if face.first <= i < face.end:
        face.heat[0] += face.share * load(face.weights, cell_class) * (np.float64(beyond) - np.float64(cell))
    return beyond


@inlined_sum
def _heat_of_row(ghosts, first, end, row, classes, weights):
    """Heat that enters some cells of a row through their boundary faces in a step, J."""
    heat = 0.0
    for i in range(first, end):
        heat += load(weights, class_of(classes, i)) * (np.float64(load(ghosts, i)) - np.float64(load(row, i)))
    return heat
