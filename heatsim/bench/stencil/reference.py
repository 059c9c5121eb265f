"""Explicit Euler steps of heat conduction in float64 NumPy, written from the equation and from no kernel.

    T_new = T + dt * (heat + sum over the six faces of rate * (neighbour - T))

Beyond a boundary face the neighbour is T + (a*T + b), or the cell at the other end of a periodic axis.
"""

from __future__ import annotations

import numpy as np
from heatsim_kernels.stencil.terms import Drive, Terms


class Reference:
    """A field, float64 (nz, ny, nx), and the heat that has entered through each of FACES, J."""

    def __init__(self, terms: Terms, field: np.ndarray) -> None:
        self.terms, self.field, self.heat_entered = terms, field.astype(np.float64), np.zeros(6)
        self._kinds = np.zeros(terms.shape, np.intp) if terms.kinds is None else terms.kinds.astype(np.intp)

    def advance(self, dt: float, steps: int, drive: Drive) -> None:
        """Advance `steps` steps of `dt` seconds."""
        for step in range(steps):
            gained = self._heating(drive, step)
            for face in range(6):
                edge, beyond = self._edge(face), self._beyond(face, drive, step)
                flow = self.terms.rates[self._kinds, face] * (self._beside(self.field, face, beyond) - self.field)
                if not self.terms.closed[face]:
                    self.heat_entered[face] += dt * (flow[edge] * self.terms.capacity[self._kinds[edge]]).sum()
                gained = gained + flow
            self.field = self.field + dt * gained

    def _edge(self, face: int) -> tuple[slice, ...]:
        """Index of the cells at a face, one thick along its axis."""
        index = [slice(None)] * 3
        index[2 - face // 2] = slice(-1, None) if face % 2 else slice(0, 1)
        return tuple(index)

    def _beside(self, values: np.ndarray, face: int, beyond: np.ndarray) -> np.ndarray:
        """The neighbour's value on one side of every cell; `beyond` is what lies outside the grid there."""
        axis = 2 - face // 2
        count = values.shape[axis]
        if face % 2:
            return np.concatenate([values.take(range(1, count), axis), beyond], axis)
        return np.concatenate([beyond, values.take(range(count - 1), axis)], axis)

    def _beyond(self, face: int, drive: Drive, step: int) -> np.ndarray:
        if self.terms.periodic[face // 2]:
            return self.field[self._edge(face ^ 1)]
        edge = self._edge(face)
        a, b = (self._wall(values[min(step, len(values) - 1)], face) for values in (drive.wall_a, drive.wall_b))
        return np.asarray(self.field[edge] + (a * self.field[edge] + b))

    def _wall(self, values: np.ndarray, face: int) -> np.ndarray:
        """The wall values of a face, shaped as its boundary cells."""
        own, first = self._kinds[self._edge(face)], self.terms.wall_offsets[face]
        if self.terms.wall_per_cell:
            return values[first : first + own.size].reshape(own.shape)
        return np.asarray(values[first + own])

    def _heating(self, drive: Drive, step: int) -> np.ndarray:
        """K/s of every cell."""
        heat = np.zeros(self.terms.shape)
        if drive.heat_table is not None:
            heat += drive.heat_table[min(step, len(drive.heat_table) - 1)][self._kinds]
        if drive.heat_field is not None:
            heat += drive.heat_scale[min(step, len(drive.heat_scale) - 1)] * drive.heat_field
        return heat
