"""One explicit step, in float64 NumPy, written from the text of DESIGN.md and from no kernel.

    new = T + dt*heat - dt*loss*T + dt * sum over the six faces of exchange * (neighbour - T)

where the neighbour beyond a boundary face is T + (a*T + b), or the cell at the other end of a periodic axis.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from heatsim_kernels.explicit.coefficients import Forcing, StencilCoefficients


class Face(NamedTuple):
    """All cells' faces on one side: arrays (nz, ny, nx); `boundary` is true where the face is part of the boundary."""

    neighbour: np.ndarray
    rate: np.ndarray  # 1/s
    boundary: np.ndarray
    gain: np.ndarray  # g of neighbour = g*T + b at the boundary face, 0 elsewhere


def class_map(coefficients: StencilCoefficients) -> np.ndarray:
    return coefficients.class_ids.astype(int)


def is_prescribed(coefficients: StencilCoefficients) -> np.ndarray:
    """(nz, ny, nx) whether a cell is not solved."""
    return np.asarray(coefficients.capacity[class_map(coefficients)] == 0)


def boundary_plane(coefficients: StencilCoefficients, values: np.ndarray, face: int) -> np.ndarray:
    """The boundary values of one face, spread over the boundary cells of that face."""
    axis = 2 - face // 2
    extent = [n for i, n in enumerate(coefficients.shape) if i != axis]
    if not coefficients.boundary_per_cell:
        beside = class_map(coefficients).take(-1 if face % 2 else 0, axis)
        return values.reshape(6, coefficients.class_count)[face][beside]
    sizes = [coefficients.shape[0] * coefficients.shape[1]] * 2
    sizes += [coefficients.shape[0] * coefficients.shape[2]] * 2 + [coefficients.shape[1] * coefficients.shape[2]] * 2
    first = sum(sizes[:face])
    return values[first : first + sizes[face]].reshape(extent)


def faces(
    T: np.ndarray, coefficients: StencilCoefficients, boundary_a: np.ndarray, boundary_b: np.ndarray
) -> Iterator[Face]:
    """The faces x_min, x_max, y_min, y_max, z_min, z_max of every cell."""
    class_ids = class_map(coefficients)
    for face in range(6):
        axis, upper = 2 - face // 2, face % 2
        neighbour = np.roll(T, -1 if upper else 1, axis)
        boundary, gain = np.zeros(T.shape, bool), np.zeros(T.shape)
        if not coefficients.periodic[face // 2]:
            edge = [slice(None)] * 3
            edge[axis] = -1 if upper else 0
            at = tuple(edge)
            a, b = boundary_plane(coefficients, boundary_a, face), boundary_plane(coefficients, boundary_b, face)
            neighbour[at] = (1 + a) * T[at] + b
            boundary[at], gain[at] = True, 1 + a
        yield Face(neighbour, coefficients.rates[class_ids, face], boundary, gain)


def heating(coefficients: StencilCoefficients, forcing: Forcing) -> np.ndarray:
    """(nz, ny, nx) K/s of a drive's first row."""
    heat = np.zeros(coefficients.shape)
    if forcing.heat_table is not None:
        heat += forcing.heat_table[0][class_map(coefficients)]
    if forcing.heat_field is not None:
        heat += forcing.heat_scale[0] * forcing.heat_field
    return heat


def explicit_step(
    T: np.ndarray, coefficients: StencilCoefficients, dt: float, forcing: Forcing
) -> tuple[np.ndarray, np.ndarray]:
    """The field after a step with a drive's first row, and the heat that entered through each boundary face, from each
    ambient and by losses, J."""
    new = T + dt * heating(coefficients, forcing)
    entered = np.zeros(coefficients.ledger_size)
    capacity = coefficients.capacity[class_map(coefficients)]
    for number, face in enumerate(faces(T, coefficients, forcing.boundary_a[0], forcing.boundary_b[0])):
        change = dt * face.rate * (face.neighbour - T)
        new += change
        entered[number] = (capacity * change)[face.boundary].sum()
        if coefficients.ambient_faces is not None:
            here = coefficients.ambient_faces.faces == number
            heat = (capacity * change).ravel()[coefficients.ambient_faces.cells[here]]
            of_ambients = coefficients.ambient_faces.accounts[here]
            entered += np.bincount(of_ambients, heat, coefficients.ledger_size)
    if coefficients.losses is not None:
        lost = dt * coefficients.losses[class_map(coefficients)] * T
        new -= lost
        entered[-1] = -(capacity * lost).sum()
    return new, entered


def stored(T: np.ndarray, coefficients: StencilCoefficients) -> float:
    """Sum of capacity * T, J."""
    return float((coefficients.capacity[class_map(coefficients)] * T).sum(dtype=np.float64))


def stable_step(coefficients: StencilCoefficients, boundary_a: np.ndarray) -> float:
    """1 / the largest sum of a cell's losses and its exchange rates over its faces; a boundary face exchanges -a times
    its rate."""
    T = np.zeros(coefficients.shape)
    losses = np.zeros(1) if coefficients.losses is None else coefficients.losses[class_map(coefficients)]
    unloaded = faces(T, coefficients, boundary_a, np.zeros_like(boundary_a))
    total = losses + sum(face.rate * (1 - face.gain) for face in unloaded)
    return float(1 / np.max(total)) if np.max(total) > 0 else np.inf
