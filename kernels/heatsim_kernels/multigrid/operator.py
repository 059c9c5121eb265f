"""The linear operator of heat conduction on a grid, as the solver sees it: conductances and nothing else.

    (A T)_i = sum over the six faces of g (T_i - T_j)  +  s_i T_i        W, for T in K

    g   W/K, conductance of the face between two cells
    s   W/K, what ties a cell to something given: walls, ambients, and heat capacity over time step

A is symmetric, and positive definite as soon as one s is positive. Several materials, conductivity that depends on
temperature, contact resistance, unequal cells, cells that are not solved: all of that is other numbers in g and s.
A cell that is held exchanges nothing, and its row says s T = 0: the solver is to be asked for increments. Its s is
small, so that the solver's coarse grids, which cannot tell it from the cells around, hardly feel it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf

import numpy as np

from ..stencil.taps import tapped_faces
from ..stencil.terms import Drive, Terms

HELD = 1e-6  # of the largest conductance of a kind: what stands alone in the row of a cell that is held


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

    `wall_a`: (wall_size,), a row of `Drive.wall_a`: a boundary face conducts -a times its conductance.
    """
    faces = [_faces(terms, axis, np.dtype(dtype)) for axis in range(3)]
    return Operator(*faces, outside(terms, wall_a, dtype, time_step), terms.periodic)


def outside(terms: Terms, wall_a: np.ndarray, dtype: np.dtype, time_step: float = inf) -> np.ndarray:
    """(nz, ny, nx) conductance to walls and ambients, and heat capacity over time step, W/K: `Operator.s`."""
    s = np.empty(terms.shape, dtype)
    alone = np.where(terms.capacity > 0, terms.capacity / time_step, HELD * terms.conductances().max())
    for z, plane in enumerate(s):
        plane[:] = _plane_of(terms, alone, z)
    _add_walls(terms, s, -np.asarray(wall_a))
    taps = tapped_faces(terms)
    np.add.at(s.reshape(-1), taps.cells, terms.conductances().reshape(-1)[taps.entries].astype(dtype))
    return s


def heat_input(terms: Terms, drive: Drive) -> np.ndarray:
    """(nz, ny, nx) heat that sources and walls bring to each cell with the first row of `drive`, W, float64.

    Without ambients the steady state solves A T = heat_input, backward Euler A T = heat_input + (C / dt) T_old.
    """
    power = np.zeros(terms.shape)
    for z, plane in enumerate(power):
        capacity = _plane_of(terms, terms.capacity, z)
        if drive.heat_table is not None:
            plane += capacity * _plane_of(terms, drive.heat_table[0], z)
        if drive.heat_field is not None:
            plane += capacity * drive.heat_scale[0] * drive.heat_field[z]
    _add_walls(terms, power, np.asarray(drive.wall_b[0]))
    return power


def _plane_of(terms: Terms, values: np.ndarray, z: int) -> np.ndarray | float:
    """Values of the kinds, spread over plane z."""
    return float(values[0]) if terms.kinds is None else np.asarray(values[terms.kinds[z]])


def _faces(terms: Terms, axis: int, dtype: np.dtype) -> np.ndarray:
    """(nz, ny, nx) conductance of each cell's upper face along an axis (0 is x), as the cell itself sees it; 0 where
    either cell is held."""
    along = 2 - axis
    of_kinds = terms.conductances()[2 * axis + 1].astype(dtype)
    g = np.empty(terms.shape, dtype)
    for z, plane in enumerate(g):
        plane[:] = _plane_of(terms, of_kinds, z)
    if not terms.periodic[axis] or terms.shape[along] == 1:
        last = [slice(None)] * 3
        last[along] = -1
        g[tuple(last)] = 0
    if terms.taps is not None:
        g.reshape(-1)[terms.taps.cells[terms.taps.faces == 2 * axis + 1]] = 0
    return g


def _add_walls(terms: Terms, values: np.ndarray, of_walls: np.ndarray) -> None:
    """Add wall values, times the conductances of the walls, to the cells beside them."""
    for face in range(6):
        if terms.periodic[face // 2]:
            continue
        beside = boundary_cells(face)
        kinds = np.zeros_like(values[beside], np.intp) if terms.kinds is None else terms.kinds[beside]
        wall = of_walls[wall_entries(terms, face)]
        values[beside] += (terms.conductances()[face][kinds] * wall).astype(values.dtype)


def boundary_cells(face: int) -> tuple[slice | int, ...]:
    """Index of the cells beside a face of the box."""
    at: list[slice | int] = [slice(None)] * 3
    at[2 - face // 2] = -1 if face % 2 else 0
    return tuple(at)


def wall_entries(terms: Terms, face: int) -> np.ndarray:
    """Where the values of the cells beside a face stand among the wall values, as the plane of these cells."""
    shape = tuple(n for axis, n in enumerate(terms.shape) if axis != 2 - face // 2)
    if terms.wall_per_cell:
        entries = np.arange(shape[0] * shape[1]).reshape(shape)
    else:
        entries = np.zeros(shape, np.intp) if terms.kinds is None else terms.kinds[boundary_cells(face)].astype(np.intp)
    return np.asarray(terms.wall_offsets[face] + entries)
