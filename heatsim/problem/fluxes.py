"""The heat flux in a problem: what `derived` needs, from media, contacts and walls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from heatsim_kernels.multigrid.ways import ways_of
from heatsim_kernels.stencil.nonlinear.cpu_surface import entering
from heatsim_kernels.stencil.nonlinear.ledger import boundary_cells
from heatsim_kernels.stencil.nonlinear.terms import NonlinearTerms

from heatsim.grid import AXES, FACES, Grid
from heatsim.problem.derived import Vector, gradient, heat_flux
from heatsim.problem.media import Media
from heatsim.problem.walls import PLANE

if TYPE_CHECKING:
    from heatsim.problem import Problem


def flux_and_gradient(problem: Problem, rise: np.ndarray, time: float) -> tuple[Vector, Vector]:
    """Heat flux, W/m2, and temperature gradient, K/m, along x, y, z at the cell centres; rise: (nz, ny, nx) K over the
    reference, at a time in s. Both are 0 in ambients.

    Where conductivity follows temperature, each cell has that of its centre.
    """
    medium, media = _medium(problem), problem.media
    k = _conductivity(problem, rise, medium)
    inward = [_inward(problem, number, rise, time) for number in range(len(FACES))]
    flux = heat_flux(problem.grid, rise, k, inward, problem.terms.periodic, _between(problem, medium))
    slope = gradient(flux, k)
    for vector in (flux, slope):
        for values in vector:
            values[np.broadcast_to(medium >= media.solids, values.shape)] = 0.0
    return flux, slope


def _medium(problem: Problem) -> np.ndarray:
    """Medium of each cell, of a shape that broadcasts to (nz, ny, nx)."""
    of_zones, ids = np.array(problem.zones.media, np.uint8), problem.zones.ids
    return of_zones.reshape(1, 1, 1) if ids is None else of_zones[ids]


def _conductivity(problem: Problem, rise: np.ndarray, medium: np.ndarray) -> list[np.ndarray]:
    """Along x, y, z; infinite in ambients, which have a resistance at their surface alone."""
    of_media = problem.media.conductivity.copy()
    of_media[:, problem.media.solids :] = np.inf
    return [values[medium] / _resistivity(problem, rise) for values in of_media]


def _resistivity(problem: Problem, rise: np.ndarray) -> np.ndarray | float:
    """k at the reference over k at a rise of temperature."""
    terms = problem.terms
    if not isinstance(terms, NonlinearTerms):
        return 1.0
    return terms.tables.resistivity(rise, terms.of_kinds(terms.material))


def _between(problem: Problem, medium: np.ndarray) -> list[np.ndarray | float]:
    """Resistance between neighbours along x, y, z, m2 K/W, with the film's of oblique surfaces as the solver has it."""
    resistance, kinds = _contact(problem.media, medium), problem.kinds
    if kinds.ids is None or (kinds.slopes == 1.0).all():
        return resistance
    for axis in range(3):
        ids = np.moveaxis(kinds.ids, 2 - axis, -1)
        slopes = np.maximum(kinds.slopes[:, 2 * axis + 1][ids[..., :-1]], kinds.slopes[:, 2 * axis][ids[..., 1:]])
        resistance[axis] = resistance[axis] * np.moveaxis(slopes, -1, 2 - axis)
    return resistance


def _contact(media: Media, medium: np.ndarray) -> list[np.ndarray | float]:
    """Resistance between neighbours along x, y, z, m2 K/W; infinite between ambients."""
    solid = np.arange(len(media.surface)) < media.solids
    resistance = media.contact + np.where(solid, 0.0, media.surface) + np.where(solid, 0.0, media.surface)[:, None]
    resistance[~solid[:, None] & ~solid] = np.inf
    if medium.size == 1 or not resistance.any():
        return [0.0, 0.0, 0.0]
    along = (np.moveaxis(medium, 2 - axis, -1) for axis in range(3))
    return [np.moveaxis(resistance[m[..., :-1], m[..., 1:]], -1, 2 - axis) for axis, m in enumerate(along)]


def _inward(problem: Problem, face: int, rise: np.ndarray, time: float) -> np.ndarray | float:
    """Heat flux into the body through a face of the box, W/m2, as the plane of its cells."""
    terms, grid, axis = problem.terms, problem.grid, face // 2
    if terms.closed[face]:
        return 0.0
    now = np.array([0.0 if np.isinf(time) else time])
    shape = tuple(n for i, n in enumerate(grid.shape) if i != 2 - axis)
    if problem.surfaces is not None:
        return _through_surface(problem, face, rise, problem.surfaces.at(now)).reshape(shape)
    a, b = (values[0] for values in problem.wall_values(now))
    (way,) = (way for way in ways_of(terms) if way.number == face)
    heat = way.conductance * (a[way.entries] * rise.reshape(-1)[way.cells] + b[way.entries])
    area = _area(grid, face)
    through: np.ndarray = np.divide(heat.reshape(shape), area, out=np.zeros(shape), where=area > 0)
    return through


def _area(grid: Grid, face: int) -> np.ndarray:
    """Area of the faces of the cells beside a face of the box, m2."""
    name = AXES[face // 2]
    rows, columns = (grid.measure(axis) for axis in PLANE[name])
    radial = grid.coordinates == "cylindrical" and name == "x"
    return np.asarray(np.outer(rows, columns) * (grid.span(name)[face % 2] if radial else 1.0))


def _through_surface(problem: Problem, face: int, rise: np.ndarray, values: np.ndarray) -> np.ndarray:
    """As a wall of materials that follow temperature passes it; values: (1, 5, wall_size), see `NonlinearDrive`."""
    terms = problem.terms
    assert isinstance(terms, NonlinearTerms)
    cells = boundary_cells(terms.shape, face)
    kinds = np.zeros(cells.size, np.intp) if terms.kinds is None else terms.kinds.reshape(-1)[cells].astype(np.intp)
    return entering(terms, face, rise.reshape(-1)[cells], kinds, values)
