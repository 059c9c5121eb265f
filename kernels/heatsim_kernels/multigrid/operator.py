"""The linear operator of heat conduction on a grid, as the solver sees it: conductances and nothing else.

    (A T)_i = sum over the six faces of g (T_i - T_j)  +  s_i T_i        W, for T in K

    g   W/K, conductance of the face between two cells
    s   W/K, what ties a cell to something outside the grid: walls, and heat capacity over time step

A is symmetric, and positive definite as soon as one s is positive. Several materials, conductivity that depends on
temperature, contact resistance, unequal cells, cells that are not solved: all of that is other numbers in g and s.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf

import numpy as np

from ..stencil.terms import Drive, Terms


@dataclass(frozen=True)
class Operator:
    """Conductances of the faces and of what lies outside, W/K; all arrays (nz, ny, nx), C order, of one float type.

    gx, gy, gz: of the face between a cell and the next one up along the axis. That of the last cell leads round to
        the first one: it is 0 unless the axis is periodic.
    s: sum of what ties the cell to the outside; not negative.
    periodic: for axes x, y, z, whether the index wraps.
    """

    gx: np.ndarray
    gy: np.ndarray
    gz: np.ndarray
    s: np.ndarray
    periodic: tuple[bool, bool, bool] = (False, False, False)

    @property
    def shape(self) -> tuple[int, int, int]:
        """(nz, ny, nx)."""
        nz, ny, nx = self.s.shape
        return nz, ny, nx

    @property
    def grounded(self) -> bool:
        """Whether some cell is tied to the outside; if none is, A is singular: every constant solves A T = 0."""
        return bool(self.s.max() > 0)

    def with_outside(self, s: np.ndarray) -> Operator:
        """The same faces with another `s`: another time step, other wall coefficients."""
        return replace(self, s=np.ascontiguousarray(s, self.s.dtype))


def operator_of(terms: Terms, wall_a: np.ndarray, dtype: np.dtype, time_step: float = inf) -> Operator:
    """The operator of a problem: of an implicit step of `time_step` s, or by default of its steady state.

    `wall_a`: (wall_size,), a row of `Drive.wall_a`: a boundary face conducts -a times what a face inside does.
    """
    faces = [_faces(terms, axis, np.dtype(dtype)) for axis in range(3)]
    return Operator(*faces, outside(terms, wall_a, dtype, time_step), terms.periodic)


def outside(terms: Terms, wall_a: np.ndarray, dtype: np.dtype, time_step: float = inf) -> np.ndarray:
    """(nz, ny, nx) conductance to the outside, W/K: `Operator.s`."""
    s = np.empty(terms.shape, dtype)
    for z, plane in enumerate(s):
        plane[:] = _of_zones(terms, terms.capacity, z) / time_step
    _add_walls(terms, s, -np.asarray(wall_a))
    return s


def heat_input(terms: Terms, drive: Drive) -> np.ndarray:
    """(nz, ny, nx) heat that sources and walls bring to each cell with the first row of `drive`, W, float64.

    The steady state solves A T = heat_input; backward Euler solves A T = heat_input + (C / dt) T_old.
    """
    power = np.zeros(terms.shape)
    for z, plane in enumerate(power):
        capacity = _of_zones(terms, terms.capacity, z)
        if drive.heat_table is not None:
            plane += capacity * _of_zones(terms, drive.heat_table[0], z)
        if drive.heat_field is not None:
            plane += capacity * drive.heat_scale[0] * drive.heat_field[z]
    _add_walls(terms, power, np.asarray(drive.wall_b[0]))
    return power


def _of_zones(terms: Terms, values: np.ndarray, z: int) -> np.ndarray | float:
    """Values of the zones, spread over plane z."""
    return float(values[0]) if terms.zones is None else np.asarray(values[terms.zones[z]])


def _conductances(terms: Terms, axis: int) -> np.ndarray:
    """(n, n) conductance of the face between two zones along an axis, W/K."""
    n = terms.zone_count
    exchange = terms.exchange[axis]
    return np.asarray(np.broadcast_to(exchange, (n, n)) * terms.capacity[:, None])


def _faces(terms: Terms, axis: int, dtype: np.dtype) -> np.ndarray:
    """(nz, ny, nx) conductance of each cell's upper face along an axis (0 is x)."""
    along = 2 - axis
    of_pairs = _conductances(terms, axis).astype(dtype)
    of_pairs = 0.5 * (of_pairs + of_pairs.T)  # what leaves one cell enters the next, to the last bit
    if terms.zones is None:
        g = np.full(terms.shape, of_pairs[0, 0], dtype)
    else:
        g = np.empty(terms.shape, dtype)
        for z, plane in enumerate(g):
            above = terms.zones[(z + 1) % terms.shape[0]] if along == 0 else np.roll(terms.zones[z], -1, along - 1)
            plane[:] = of_pairs[terms.zones[z], above]
    if not terms.periodic[axis] or terms.shape[along] == 1:
        last = [slice(None)] * 3
        last[along] = -1
        g[tuple(last)] = 0
    return g


def _add_walls(terms: Terms, values: np.ndarray, of_walls: np.ndarray) -> None:
    """Add wall values, times the conductance of a face inside, to the cells beside the walls."""
    for face in range(6):
        axis = face // 2
        along = 2 - axis
        if terms.periodic[axis]:
            continue
        at = [slice(None)] * 3
        at[along] = -1 if face % 2 else 0
        beside = values[tuple(at)]
        zones = np.zeros(beside.shape, np.uint8) if terms.zones is None else terms.zones[tuple(at)]
        conductance = np.diagonal(_conductances(terms, axis))[zones]
        first = terms.wall_offsets[face]
        if terms.wall_per_cell:
            wall = of_walls[first : first + beside.size].reshape(beside.shape)
        else:
            wall = of_walls[first : first + terms.zone_count][zones]
        beside += (conductance * wall).astype(values.dtype)
