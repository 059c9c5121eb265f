"""Fields that follow from the temperature of a moment: heat flux and temperature gradient.

The flux through each face is the one that the solver moves: the temperature difference of two centres over the
resistance between them,

    q = -(T[i+1] - T[i]) / (upper[i]/k[i] + R + lower[i+1]/k[i+1]),

with the `halves` of the grid and the contact resistance R (Patankar, Numerical Heat Transfer and Fluid Flow, 1980,
section 4.2-3). Along a radius the halves are resistances of a unit of angle and height, on which the face has the area
r: there R / r stands in place of R, and q is over r. A cell has the mean of its two faces, boundary faces included, and
as its gradient the one that drives this mean through its own conductivity. Both are exact where the temperature is
linear in each material.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from heatsim.grid import AXES, Grid

Vector = tuple[np.ndarray, np.ndarray, np.ndarray]


def heat_flux(
    grid: Grid,
    temperature: np.ndarray,
    conductivity: Sequence[np.ndarray | float],
    inward: Sequence[np.ndarray | float] = (0.0,) * 6,
    periodic: tuple[bool, bool, bool] = (False, False, False),
    contact: Sequence[np.ndarray | float] = (0.0,) * 3,
) -> Vector:
    """Heat flux along x, y, z at the cell centres, W/m2, each (nz, ny, nx) float64.

    temperature: (nz, ny, nx); conductivity: along x, y, z, W/(m K), of shapes that broadcast to it, 0 where nothing is
    conducted; inward: the heat flux into the body through each of FACES, W/m2, of shapes that broadcast to the cells of
    the face; contact: the resistance of the faces between neighbours along x, y, z, m2 K/W, of shapes that broadcast
    to that of the temperature with one cell fewer along the axis. In cylindrical coordinates the axes are r, phi, z.
    """
    x, y, z = (
        _along(grid, i, temperature, conductivity[i], inward[2 * i : 2 * i + 2], periodic[i], contact[i])
        for i in range(len(AXES))
    )
    return x, y, z


def gradient(flux: Vector, conductivity: Sequence[np.ndarray | float]) -> Vector:
    """Temperature gradient along x, y, z at the cell centres, K/m, from what `heat_flux` gave; 0 where k is 0."""
    x, y, z = (
        np.divide(-q, k, out=np.zeros_like(q), where=np.broadcast_to(np.asarray(k) > 0, q.shape))
        for q, k in zip(flux, conductivity, strict=True)
    )
    return x, y, z


def _along(
    grid: Grid,
    axis: int,
    temperature: np.ndarray,
    conductivity: np.ndarray | float,
    inward: Sequence[np.ndarray | float],
    periodic: bool,
    contact: np.ndarray | float,
) -> np.ndarray:
    """The component along one axis, which is the last of the arrays within this function."""
    name, last = AXES[axis], 2 - axis
    t = np.moveaxis(np.asarray(temperature, np.float64), last, -1)
    k = np.moveaxis(np.broadcast_to(np.asarray(conductivity, np.float64), temperature.shape), last, -1)
    fewer = tuple(n - (i == last) for i, n in enumerate(temperature.shape))
    between = np.moveaxis(np.broadcast_to(np.asarray(contact, np.float64), fewer), last, -1)
    lower, upper = grid.halves(name)
    area = grid.faces(name)[1:-1] if grid.coordinates == "cylindrical" and name == "x" else 1.0
    flux = np.empty((*t.shape[:-1], t.shape[-1] + 1))
    with np.errstate(divide="ignore"):  # no conduction is an infinite resistance
        flux[..., 1:-1] = -np.diff(t) / (upper[:-1] / k[..., :-1] + between / area + lower[1:] / k[..., 1:]) / area
        if periodic:
            around = (t[..., -1] - t[..., 0]) / (upper[-1] / k[..., -1] + lower[0] / k[..., 0])
            flux[..., 0], flux[..., -1] = around, around
        else:
            flux[..., 0], flux[..., -1] = inward[0], -np.asarray(inward[1])
    return np.moveaxis(0.5 * (flux[..., :-1] + flux[..., 1:]), -1, last)
