"""One explicit step, in float64 NumPy, written from the text of DESIGN.md and from no kernel.

    new = T + dt*heat + dt * sum over the six faces of exchange * (neighbour - T)

where the neighbour beyond a boundary face is T + (a*T + b), or the cell at the other end of a periodic axis.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from heatsim_kernels.stencil.terms import Forcing, StencilCoefficients


class Face(NamedTuple):
    """All cells' faces on one side: arrays (nz, ny, nx); `wall` is true where the face is part of the boundary."""

    neighbour: np.ndarray
    rate: np.ndarray  # 1/s
    wall: np.ndarray
    gain: np.ndarray  # g of neighbour = g*T + b at the wall, 0 elsewhere


def kind_map(terms: StencilCoefficients) -> np.ndarray:
    return np.zeros(terms.shape, int) if terms.kinds is None else terms.kinds.astype(int)


def is_held(terms: StencilCoefficients) -> np.ndarray:
    """(nz, ny, nx) whether a cell is not solved."""
    return np.asarray(terms.capacity[kind_map(terms)] == 0)


def wall_plane(terms: StencilCoefficients, values: np.ndarray, face: int) -> np.ndarray:
    """The wall values of one face, spread over the boundary cells of that face."""
    axis = 2 - face // 2
    extent = [n for i, n in enumerate(terms.shape) if i != axis]
    if not terms.wall_per_cell:
        beside = kind_map(terms).take(-1 if face % 2 else 0, axis)
        return values.reshape(6, terms.kind_count)[face][beside]
    sizes = [terms.shape[0] * terms.shape[1]] * 2
    sizes += [terms.shape[0] * terms.shape[2]] * 2 + [terms.shape[1] * terms.shape[2]] * 2
    first = sum(sizes[:face])
    return values[first : first + sizes[face]].reshape(extent)


def faces(T: np.ndarray, terms: StencilCoefficients, wall_a: np.ndarray, wall_b: np.ndarray) -> Iterator[Face]:
    """The faces x_min, x_max, y_min, y_max, z_min, z_max of every cell."""
    kinds = kind_map(terms)
    for face in range(6):
        axis, upper = 2 - face // 2, face % 2
        neighbour = np.roll(T, -1 if upper else 1, axis)
        wall, gain = np.zeros(T.shape, bool), np.zeros(T.shape)
        if not terms.periodic[face // 2]:
            edge = [slice(None)] * 3
            edge[axis] = -1 if upper else 0
            at = tuple(edge)
            a, b = wall_plane(terms, wall_a, face), wall_plane(terms, wall_b, face)
            neighbour[at] = (1 + a) * T[at] + b
            wall[at], gain[at] = True, 1 + a
        yield Face(neighbour, terms.rates[kinds, face], wall, gain)


def heating(terms: StencilCoefficients, drive: Forcing) -> np.ndarray:
    """(nz, ny, nx) K/s of a drive's first row."""
    heat = np.zeros(terms.shape)
    if drive.heat_table is not None:
        heat += drive.heat_table[0][kind_map(terms)]
    if drive.heat_field is not None:
        heat += drive.heat_scale[0] * drive.heat_field
    return heat


def explicit_step(
    T: np.ndarray, terms: StencilCoefficients, dt: float, drive: Forcing
) -> tuple[np.ndarray, np.ndarray]:
    """The field after a step with a drive's first row, and the heat that entered through each boundary face and from
    each ambient, J."""
    new = T + dt * heating(terms, drive)
    entered = np.zeros(terms.ledger_size)
    capacity = terms.capacity[kind_map(terms)]
    for number, face in enumerate(faces(T, terms, drive.wall_a[0], drive.wall_b[0])):
        change = dt * face.rate * (face.neighbour - T)
        new += change
        entered[number] = (capacity * change)[face.wall].sum()
        if terms.taps is not None:
            here = terms.taps.faces == number
            heat = (capacity * change).ravel()[terms.taps.cells[here]]
            entered[6:] += np.bincount(terms.taps.owners[here], heat, terms.taps.ambients)
    return new, entered


def stored(T: np.ndarray, terms: StencilCoefficients) -> float:
    """Sum of capacity * T, J."""
    return float((terms.capacity[kind_map(terms)] * T).sum(dtype=np.float64))


def stable_step(terms: StencilCoefficients, wall_a: np.ndarray) -> float:
    """1 / the largest sum of exchange rates over a cell's faces; a boundary face exchanges -a times its rate."""
    T = np.zeros(terms.shape)
    total = sum(face.rate * (1 - face.gain) for face in faces(T, terms, wall_a, np.zeros_like(wall_a)))
    return float(1 / np.max(total)) if np.max(total) > 0 else np.inf
