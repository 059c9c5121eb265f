"""Kinds of cells: zones and places along the axes, turned into rates of exchange.

The conductance of a face is the product of the measures of the two other axes over d/k of the half cells on its two
sides, in series with a contact resistance; next to an ambient its surface resistance stands for the half cell beyond.
In series means the harmonic mean, which makes the flux through a composite wall exact (Patankar, Numerical Heat
Transfer and Fluid Flow, 1980, section 4.2-3).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from heatsim_kernels.stencil import kinds as cells
from heatsim_kernels.stencil.terms import Taps

from heatsim.grid import AXES, Grid
from heatsim.problem.geometry import places_along
from heatsim.problem.media import Media
from heatsim.problem.zones import Zones


@dataclass(frozen=True)
class Kinds:
    """ids: (nz, ny, nx), or None for a single kind. Of each kind: its zone, the media beyond its six faces (its own
    beyond a wall), rates of exchange (n, 6) 1/s, heat capacity of a cell, J/K, and number of cells. taps: the faces
    between solids and ambients."""

    ids: np.ndarray | None
    zone: np.ndarray
    beyond: np.ndarray
    rates: np.ndarray
    capacity: np.ndarray
    count: np.ndarray
    taps: Taps | None


def make_kinds(grid: Grid, zones: Zones, media: Media, periodic: tuple[bool, bool, bool]) -> Kinds:
    """The kinds of the cells of a grid; cells of one kind see the same media and sizes on all sides."""
    along = [places_along(grid, axis, wraps) for axis, wraps in zip(AXES, periodic, strict=True)]
    ids = np.zeros(grid.shape, np.uint8) if zones.ids is None else zones.ids
    medium = np.array(zones.media)
    x, y, z = (places.labels for places in along)
    found = cells.find_kinds(ids, medium, (x, y, z), periodic)
    zone, beyond = found.members[:, cells.OWN], found.members[:, cells.BESIDE]
    at = found.members[:, cells.LABELS].T
    own, measure = medium[zone], np.array([places.measure[label] for places, label in zip(along, at, strict=True)])
    capacity = media.capacity[own] * measure.prod(axis=0)
    conductance = np.zeros((len(own), 6))
    for face in range(6):
        axis, side = face // 2, along[face // 2].sides[face % 2]
        label, other, k = at[axis], beyond[:, face], media.conductivity[axis]
        area = side.area[label]
        solid = side.beyond[label] / k[other] + media.contact[own, other] / area
        resistance = side.half[label] / k[own] + np.where(other < media.solids, solid, media.surface[other] / area)
        conductance[:, face] = np.delete(measure, axis, axis=0).prod(axis=0) / resistance
    solved = own < media.solids
    rates = np.divide(conductance, capacity[:, None], out=np.zeros_like(conductance), where=solved[:, None])
    taps = _taps(found.cells, (beyond >= media.solids) & solved[:, None], beyond - media.solids, len(media.temperature))
    return Kinds(found.cells, zone, beyond, rates, capacity, found.counts, taps)


def _taps(ids: np.ndarray | None, tapped: np.ndarray, owner: np.ndarray, count: int) -> Taps | None:
    """The faces of cells whose kind is `tapped` (n, 6) there, the ambients beyond being `owner` (n, 6)."""
    if ids is None or not tapped.any():
        return None
    flat = ids.reshape(-1)
    found = [np.flatnonzero(tapped[:, face][flat]) for face in range(6)]
    places = np.concatenate(found)
    faces = np.repeat(np.arange(6, dtype=np.uint8), [len(each) for each in found])
    order = np.argsort(places, kind="stable")
    places, faces = places[order].astype(np.int64), faces[order]
    return Taps(places, faces, owner[flat[places], faces].astype(np.int64), count)
