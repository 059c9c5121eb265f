"""Boundary faces whose heat flux is no affine function of Kirchhoff's potential phi of the cell beside them.

Such a face is replaced by its tangent at a state, which kernels take as they take any face:

    q(phi) = q0 - s (phi - phi0) dT/dphi     phi0: where the tangent is made; q0, s: q and -dq/dT of the balance there
    ghost = phi + (a phi + b)                a = -s R dT/dphi,  b = q0 R - a phi0,  with R = h/k of the cell, m2 K/W

In a body that is linear inside, phi is the temperature. A kink in k(T) or h(T) would make the slope of a tangent
anything; it stays between that of a fixed temperature at the surface and none, or its opposite where a coefficient
falls as T rises. So explicit steps that are stable remain so.

While the potential of the cell moves by d, the flux is wrong by q'' d^2 / 2. So a tangent that serves a step leaves an
error of second order in the length of the step, and of third order in the temperature. The heat that enters by the
tangent is the heat that the ledger counts. Where the tangent is made, the flux is that of the balance itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from heatsim_kernels.explicit.coefficients import Forcing
from heatsim_kernels.explicit.enthalpy.coefficients import NonlinearCoefficients
from heatsim_kernels.explicit.enthalpy.surface_balance import SURFACE_TERMS
from heatsim_kernels.explicit.heat_ledger import boundary_cells

TERMS = len(SURFACE_TERMS)
FIXED_SLOPE = -2.0  # a of a boundary face whose temperature is given
REAL = np.dtype(np.float64)  # of the balances, whatever the precision of the field


class TangentFaces:
    """The faces of a problem that tangents stand for; what every device needs of them.

    coefficients: of the problem, with boundary values by cell. entries: (m,) which of the boundary values are tangents.
    stores_temperature: whether the field stores temperature offsets, as that of a body that is linear inside does;
        these are its potentials.
    cells: (m,) flat index of the cell beside each; faces, positions, classes: (m,) which face of the box, which of its
    values, and the class of the cell. steepest: (m,) the largest -a of each, that of a fixed temperature.
    """

    def __init__(
        self, coefficients: NonlinearCoefficients, entries: np.ndarray, *, stores_temperature: bool = False
    ) -> None:
        starts = coefficients.boundary_offsets
        self.coefficients, self.entries, self.stores_temperature = coefficients, entries, stores_temperature
        self.faces = np.searchsorted(starts, entries, side="right") - 1
        self.positions = entries - starts[self.faces]
        beside = np.concatenate([boundary_cells(coefficients.shape, face) for face in range(6)])
        self.cells = beside[entries]
        self.classes = coefficients.classes_of(self.cells)
        own, other = (each[self.classes, self.faces] for each in (coefficients.own, coefficients.other))
        self.steepest = np.divide(own + other, own, out=np.zeros(entries.size), where=own > 0)  # 0: cells not solved

    @classmethod
    def of_open_faces(cls, coefficients: NonlinearCoefficients, but: tuple[bool, ...] = (False,) * 6) -> TangentFaces:
        """All boundary faces through which heat may pass, of a field that stores the enthalpy; but: which of the six
        FACES are none of them."""
        return cls(coefficients, open_entries(coefficients, but))


def open_entries(coefficients: NonlinearCoefficients, but: tuple[bool, ...] = (False,) * 6) -> np.ndarray:
    """Which of the boundary values, one a boundary cell, belong to faces through which heat may pass, and that are none
    of those of `but`."""
    sizes = np.diff(np.append(coefficients.boundary_offsets, coefficients.boundary_size))
    return np.flatnonzero(~np.repeat(np.logical_or(coefficients.closed, but), sizes))


def values_of_potentials(
    coefficients: NonlinearCoefficients, faces: tuple[bool, ...], a: np.ndarray, b: np.ndarray
) -> np.ndarray:
    """The values b (k, boundary_size) with those of some of the six FACES, through which a given flux passes or which
    have a given temperature, for potentials: twice that at the temperature, where a is -2, and the others as they
    are."""
    found, starts = b.copy(), [*coefficients.boundary_offsets.tolist(), coefficients.boundary_size]
    for face in np.flatnonzero(faces).tolist():
        part = slice(starts[face], starts[face + 1])
        media = coefficients.material[coefficients.classes_of(boundary_cells(coefficients.shape, face))]
        values, given = b[:, part], a[:, part] == FIXED_SLOPE
        if given.all() and (values == values[:, :1]).all() and (media == media[0]).all():
            # An even face: one look-up a time serves all its cells.
            found[:, part] = 2.0 * coefficients.tables.potential_at(0.5 * values[:, 0], media[:1])[:, None]
        elif given.any():
            of = np.broadcast_to(media, given.shape)[given]
            found[:, part][given] = 2.0 * coefficients.tables.potential_at(0.5 * values[given], of)
    return found


class SurfaceTangents(Protocol):
    """Makes the tangents of a problem on a device."""

    def applied(self, forcing: Forcing, cells: Callable[[Any], Any], boundary: np.ndarray) -> Forcing:
        """The forcing with tangents in place of its values.

        cells: `Field.stored_cells`, or what gives such of another state. boundary: (k, terms, boundary_size) of the
        surface balance, see `NonlinearForcing`, with as many rows as `forcing` has.
        """

    def error(self, before: Forcing, row: int, now: Forcing) -> float:
        """How far the tangents `before` of a row, or of the last if there are fewer, are off where those of `now`, the
        last made, were made, as a share of the largest flux."""


def share_of_largest(blocks: np.ndarray) -> float:
    """The largest difference over the largest flux; blocks (2, parts): those of each part of the faces."""
    difference, largest = blocks.max(axis=1).tolist()
    return float(difference / largest) if largest > 0 else 0.0
