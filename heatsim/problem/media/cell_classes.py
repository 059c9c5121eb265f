"""Cell classes: zones and places along the axes, turned into rates of exchange.

The conductance of a face is the product of the measures of the two other axes over d/k of the half cells on its two
sides, in series with a contact resistance. Next to an ambient its surface resistance stands for the half cell beyond,
times the factor of an oblique surface (see `heatsim.problem.shapes.interface_areas`). In series means the harmonic
mean, which makes the flux through a composite wall exact (Patankar, Numerical Heat Transfer and Fluid Flow, 1980,
section 4.2-3).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from heatsim_kernels.explicit import cell_classes as cells
from heatsim_kernels.explicit.coefficients import ONE_CLASS
from heatsim_kernels.explicit.enthalpy.coefficients import FaceResistances
from heatsim_kernels.explicit.face_sets import SIDES, FaceSet

from heatsim.base.grid import AXES, CellGrid
from heatsim.problem.media.materials import Materials
from heatsim.problem.media.zones import Zones
from heatsim.problem.shapes.interface_areas import AreaFactors

SAME_SIZE = 1e-9  # relative; cells of a layer differ by the rounding of their faces


@dataclass(frozen=True)
class CellClasses:
    """ids: (nz, ny, nx), or ONE_CLASS. Of each cell class: its zone, the materials beyond its six faces
    (its own beyond a boundary face), rates of exchange (n, 6) 1/s, heat capacity (J/K) and volume (m3) of a cell,
    number of cells, its faces, and factors on their film resistances (n, 6). ambient_faces: the faces between solids
    and
    ambients."""

    ids: np.ndarray
    zone: np.ndarray
    beyond: np.ndarray
    rates: np.ndarray
    capacity: np.ndarray
    volume: np.ndarray
    count: np.ndarray
    faces: FaceResistances
    slopes: np.ndarray
    ambient_faces: FaceSet | None


def make_cell_classes(
    grid: CellGrid,
    zones: Zones,
    materials: Materials,
    periodic: tuple[bool, bool, bool],
    slopes: AreaFactors | None = None,
) -> CellClasses:
    """The cell classes of a grid; cells of one class see the same materials, sizes and slopes on all sides."""
    along = [find_axis_metrics(grid, axis, wraps) for axis, wraps in zip(AXES, periodic, strict=True)]
    alike = zones.ids is None and slopes is None and all(len(places.measure) == 1 for places in along)
    shape = (1, 1, 1) if alike else grid.shape
    ids, of_zone, factors = _split(np.zeros(shape, np.uint8) if zones.ids is None else zones.ids, zones, slopes)
    material = np.array(zones.materials)
    x, y, z = (places.labels for places in along)
    if alike:  # no kernel is loaded for that, which takes half a second
        members = np.array([[0, *6 * zones.materials, 0, 0, 0]], np.int32)
        found = cells.ClassifiedCells(ONE_CLASS, members, np.array([grid.cells]))
    else:
        found = cells.classify_cells(ids, material[of_zone], (x, y, z), periodic)
    zone, beyond = of_zone[found.members[:, cells.OWN]], found.members[:, cells.BESIDE]
    slope = factors[found.members[:, cells.OWN]]
    at = found.members[:, cells.LABELS].T
    own, measure = material[zone], np.array([places.measure[label] for places, label in zip(along, at, strict=True)])
    volume = measure.prod(axis=0)
    capacity = materials.capacity[own] * volume
    faces = FaceResistances(*np.zeros((4, len(own), 6)))
    conductance = np.zeros((len(own), 6))
    for face in range(6):
        axis, side = face // 2, along[face // 2].sides[face % 2]
        label, other, k = at[axis], beyond[:, face], materials.conductivity[axis]
        across = np.delete(measure, axis, axis=0).prod(axis=0)
        solid = other < materials.solids
        resistance = np.where(solid, materials.contact[own, other], materials.surface[other])
        contact = slope[:, face] * resistance / side.area[label]
        half, behind = side.half[label] / k[own], np.where(solid, side.beyond[label] / k[other], 0.0)
        conductance[:, face] = across / (half + (behind + contact))
        for of_all, of_face in zip(faces[:3], (half, contact, behind), strict=True):
            of_all[:, face] = of_face / across
        faces.area[:, face] = across * side.area[label]
    solved = own < materials.solids
    rates = np.divide(conductance, capacity[:, None], out=np.zeros_like(conductance), where=solved[:, None])
    owner = beyond - materials.solids
    exchanging = (owner >= 0) & (owner < materials.exchanging) & solved[:, None]
    ambient_faces = _ambient_faces(found.cells, exchanging, owner, materials.exchanging)
    return CellClasses(found.cells, zone, beyond, rates, capacity, volume, found.counts, faces, slope, ambient_faces)


def _split(ids: np.ndarray, zones: Zones, slopes: AreaFactors | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Zones cut further where cells have slopes: the ids of the cells, and of each id the zone and the factors (6,)."""
    count = len(zones)
    if slopes is None:
        return ids, np.arange(count), np.ones((count, 6))
    rows = np.column_stack((ids.reshape(-1)[slopes.cells], slopes.levels))
    different, place = np.unique(rows, axis=0, return_inverse=True)
    ids = ids.astype(np.min_scalar_type(count + len(different) - 1))
    ids.reshape(-1)[slopes.cells] = count + place.reshape(-1)
    factors = np.concatenate((np.ones((count, 6)), slopes.factors[different[:, 1:]]))
    return ids, np.append(np.arange(count), different[:, 0]), factors


def _ambient_faces(ids: np.ndarray, at_ambient: np.ndarray, owner: np.ndarray, count: int) -> FaceSet | None:
    """The faces of cells whose class is `at_ambient` (n, 6) there, the ambients beyond being `owner` (n, 6)."""
    if not at_ambient.any():
        return None
    flat = ids.reshape(-1)
    found = [np.flatnonzero(at_ambient[:, face][flat]) for face in range(6)]
    places = np.concatenate(found)
    faces = np.repeat(np.arange(6, dtype=np.uint8), [len(each) for each in found])
    order = np.argsort(places, kind="stable")
    places, faces = places[order].astype(np.int64), faces[order]
    return FaceSet(places, faces, SIDES + owner[flat[places], faces].astype(np.int64), SIDES + count)


# --- classes of places along an axis


class FaceMetrics(NamedTuple):
    """Of a cell's face: its half length to it, that of the cell beyond, and the area of the face over the measures of
    the two other axes. See `heatsim.base.grid`."""

    half: np.ndarray
    beyond: np.ndarray
    area: np.ndarray


class AxisMetrics(NamedTuple):
    """Classes of places along an axis: the label of each cell, and of each label the measure and the two sides."""

    labels: np.ndarray
    measure: np.ndarray
    sides: tuple[FaceMetrics, FaceMetrics]


def find_axis_metrics(grid: CellGrid, axis: str, wraps: bool) -> AxisMetrics:
    """The classes of cells along "x", "y" or "z" that see the same on both sides; beyond a boundary face lies their
    mirror image."""
    measure, (lower, upper) = grid.measure(axis), grid.halves(axis)
    area = np.ones(len(measure) + 1)
    if grid.coordinates == "cylindrical" and axis == "x":
        area = np.where(grid.faces("x") > 0, grid.faces("x"), 1.0)  # on the axis itself nothing passes
    elif grid.edges[AXES.index(axis)] is not None:
        measure = _alike(measure)
        lower = upper = 0.5 * measure
    below, above = np.roll(upper, 1), np.roll(lower, -1)
    if not wraps:
        below[0], above[-1] = lower[0], upper[-1]
    table = np.array([measure, lower, below, area[:-1], upper, above, area[1:]])
    classes, labels = np.unique(table, axis=1, return_inverse=True)
    return AxisMetrics(labels.reshape(-1), classes[0], (FaceMetrics(*classes[1:4]), FaceMetrics(*classes[4:7])))


def _alike(sizes: np.ndarray) -> np.ndarray:
    """Sizes with those that differ by rounding made equal."""
    order = np.argsort(sizes)
    ascending = sizes[order]
    group = np.concatenate(([0], np.cumsum(np.diff(ascending) > SAME_SIZE * ascending[1:])))
    means = np.bincount(group, ascending) / np.bincount(group)
    result = np.empty_like(sizes)
    result[order] = means[group]
    return result
