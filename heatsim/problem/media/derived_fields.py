"""Fields that follow from the temperature of a moment: heat flux and temperature gradient.

The flux through each face is the one that the solver moves: the temperature difference of two centres over the
resistance between them,

    q = -(T[i+1] - T[i]) / (upper[i]/k[i] + R + lower[i+1]/k[i+1]),

with the `halves` of the grid and the contact resistance R (Patankar, Numerical Heat Transfer and Fluid Flow, 1980,
section 4.2-3). Across a periodic face the neighbour is the cell at the other end. Along a radius the halves are
resistances of a unit of angle and height, on which the face has the area r: there R / r stands in place of R, and q is
over r. A cell has the mean of its two faces, boundary faces included, and as its gradient the one that drives this mean
through its own conductivity. Both are exact where the temperature is linear in each material.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from heatsim_kernels.explicit.coefficients import StencilCoefficients
from heatsim_kernels.explicit.enthalpy.coefficients import NonlinearCoefficients
from heatsim_kernels.explicit.heat_ledger import boundary_faces
from heatsim_kernels.solver.operator import find_boundary_couplings

from heatsim.base.grid import AXES, FACE_AXES, FACES, CellGrid
from heatsim.problem.media.cell_classes import CellClasses
from heatsim.problem.media.materials import Materials
from heatsim.problem.media.zones import Zones

Vector = tuple[np.ndarray, np.ndarray, np.ndarray]
Resistances = list[np.ndarray | float]  # between each cell and the next along x, y, z


def flux_and_gradient(
    grid: CellGrid,
    zones: Zones,
    materials: Materials,
    cell_classes: CellClasses,
    coefficients: StencilCoefficients,
    boundary: tuple[np.ndarray, ...],
    offset: np.ndarray,
    contacts: Callable[[Resistances], Resistances] | None = None,
) -> tuple[Vector, Vector]:
    """Heat flux, W/m2, and temperature gradient, K/m, along x, y, z at the cell centres. Both are 0 in ambients.

    boundary: the values of the faces at the time of the field, a and b (1, boundary_size) of a linear problem, else the
    surface terms (1, terms, boundary_size) alone; rise: the field (nz, ny, nx), K over the reference. Where
    conductivity depends on temperature, each cell has that of its centre. contacts: puts those that depend on time or
    temperature among the resistances.
    """
    of_zones = np.array(zones.materials, np.uint8)
    material = of_zones.reshape(1, 1, 1) if zones.ids is None else of_zones[zones.ids]  # broadcasts to (nz, ny, nx)
    k = _conductivity(materials, coefficients, offset, material)
    inward = [_inward(grid, coefficients, number, offset, boundary) for number in range(len(FACES))]
    resistances = _resistances(materials, cell_classes, material)
    if contacts is not None:
        resistances = contacts(resistances)
    flux = heat_flux(grid, offset, k, inward, coefficients.periodic, resistances)
    slope = gradient(flux, k)
    for vector in (flux, slope):
        for values in vector:
            values[np.broadcast_to(material >= materials.solids, values.shape)] = 0.0
    return flux, slope


def _conductivity(
    materials: Materials, coefficients: StencilCoefficients, offset: np.ndarray, material: np.ndarray
) -> list[np.ndarray]:
    """Along x, y, z; infinite in ambients, which have a resistance at their surface alone."""
    of_materials = materials.conductivity.copy()
    of_materials[:, materials.solids :] = np.inf
    resistivity: np.ndarray | float = 1.0  # k at the reference over k at a temperature offset
    if isinstance(coefficients, NonlinearCoefficients):
        resistivity = coefficients.tables.resistivity(offset, coefficients.spread_over_cells(coefficients.material))
    return [values[material] / resistivity for values in of_materials]


def _resistances(materials: Materials, cell_classes: CellClasses, material: np.ndarray) -> list[np.ndarray | float]:
    """Resistance beyond each cell along x, y, z, m2 K/W, with the film's of oblique surfaces as the solver has it."""
    resistance = _contact(materials, material)
    if (cell_classes.slopes == 1.0).all():
        return resistance
    for axis in range(3):
        ids = np.moveaxis(cell_classes.ids, 2 - axis, -1)
        beyond = np.roll(ids, -1, axis=-1)
        slopes = np.maximum(cell_classes.slopes[:, 2 * axis + 1][ids], cell_classes.slopes[:, 2 * axis][beyond])
        resistance[axis] = resistance[axis] * np.moveaxis(slopes, -1, 2 - axis)
    return resistance


def _contact(materials: Materials, material: np.ndarray) -> list[np.ndarray | float]:
    """Resistance between each cell and the next along x, y, z, m2 K/W, the last one and the first included; infinite
    between ambients."""
    solid = np.arange(len(materials.surface)) < materials.solids
    resistance = (
        materials.contact + np.where(solid, 0.0, materials.surface) + np.where(solid, 0.0, materials.surface)[:, None]
    )
    resistance[~solid[:, None] & ~solid] = np.inf
    if material.size == 1 or not resistance.any():
        return [0.0, 0.0, 0.0]
    return [resistance[material, np.roll(material, -1, axis=2 - axis)] for axis in range(3)]


def _inward(
    grid: CellGrid, coefficients: StencilCoefficients, face: int, offset: np.ndarray, boundary: tuple[np.ndarray, ...]
) -> np.ndarray | float:
    """Heat flux into the body through a face of the box, W/m2, as the plane of its cells."""
    axis = face // 2
    if coefficients.closed[face]:
        return 0.0
    shape = tuple(n for i, n in enumerate(grid.shape) if i != 2 - axis)
    if isinstance(coefficients, NonlinearCoefficients):
        return _through_surface(coefficients, face, offset, boundary[0]).reshape(shape)
    a, b = (values[0] for values in boundary)
    (way,) = (way for way in find_boundary_couplings(coefficients) if way.number == face)
    heat = way.conductance * (a[way.entries] * offset.reshape(-1)[way.cells] + b[way.entries])
    area = _area(grid, face)
    through: np.ndarray = np.divide(heat.reshape(shape), area, out=np.zeros(shape), where=area > 0)
    return through


def _area(grid: CellGrid, face: int) -> np.ndarray:
    """Area of the faces of the cells beside a face of the box, m2."""
    name = AXES[face // 2]
    rows, columns = (grid.measure(axis) for axis in FACE_AXES[name])
    radial = grid.coordinates == "cylindrical" and name == "x"
    return np.asarray(np.outer(rows, columns) * (grid.span(name)[face % 2] if radial else 1.0))


def _through_surface(
    coefficients: NonlinearCoefficients, face: int, offset: np.ndarray, values: np.ndarray
) -> np.ndarray:
    """Heat flux through a face of a nonlinear problem; values: (1, terms, boundary_size), see `NonlinearForcing`."""
    from heatsim_kernels.explicit.enthalpy.cpu.stepper import entering  # most runs have no use for the kernels there

    faces = boundary_faces(coefficients.shape, face)
    beside = offset.reshape(-1)[faces.cells]
    return entering(coefficients, face, beside, faces.classes(coefficients.class_ids), values)


def heat_flux(
    grid: CellGrid,
    temperature: np.ndarray,
    conductivity: Sequence[np.ndarray | float],
    inward: Sequence[np.ndarray | float] = (0.0,) * 6,
    periodic: tuple[bool, bool, bool] = (False, False, False),
    contact: Sequence[np.ndarray | float] = (0.0,) * 3,
) -> Vector:
    """Heat flux along x, y, z at the cell centres, W/m2, each (nz, ny, nx) float64.

    temperature: (nz, ny, nx); conductivity: along x, y, z, W/(m K), of shapes that broadcast to it, 0 where nothing is
    conducted; inward: the heat flux into the body through each of FACES, W/m2, of shapes that broadcast to the cells of
    the face; contact: the resistance between each cell and the next along x, y, z, m2 K/W, of shapes that broadcast to
    the temperature; after the last cell comes the first, if the axis is periodic. In cylindrical coordinates the axes
    are r, phi, z.
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
    grid: CellGrid,
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
    between = np.moveaxis(np.broadcast_to(np.asarray(contact, np.float64), temperature.shape), last, -1)
    lower, upper = grid.halves(name)
    area = grid.faces(name)[1:-1] if grid.coordinates == "cylindrical" and name == "x" else 1.0
    flux = np.empty((*t.shape[:-1], t.shape[-1] + 1))
    with np.errstate(divide="ignore"):  # no conduction is an infinite resistance
        inner = upper[:-1] / k[..., :-1] + between[..., :-1] / area + lower[1:] / k[..., 1:]
        flux[..., 1:-1] = -np.diff(t) / inner / area
        if periodic:
            around = (t[..., -1] - t[..., 0]) / (upper[-1] / k[..., -1] + between[..., -1] + lower[0] / k[..., 0])
            flux[..., 0], flux[..., -1] = around, around
        else:
            flux[..., 0], flux[..., -1] = inward[0], -np.asarray(inward[1])
    return np.moveaxis(0.5 * (flux[..., :-1] + flux[..., 1:]), -1, last)
