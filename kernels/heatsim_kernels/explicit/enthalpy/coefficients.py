"""What a kernel for temperature-dependent problems is given: coefficients, and the forcing of each step.

The state is u = (H - H_ref) / C_ref, K: see `lookup_tables`. Between cells of one material heat flows down the slope of
Kirchhoff's potential, which is exact for steady flow whatever k(T), and right where a cell melts: the whole difference
from a cell at the melting point then lies in its neighbour's phase, as it should, while means of the two k would mix
in the other phase.

    own material:    q = (phi_n - phi_c) / (own + other)                      W
    others:          q = (T_n - T_c) / (own / k_c + contact + other / k_n)    series of two half cells

Two materials that do not depend on temperature are as one: their potential is T.

k, over k_ref, is taken midway between the centre and the interface, where T follows from a first guess with k at the
centre: the midpoint rule, which is also right beside a cell that melts.
Sources: Patankar, Numerical Heat Transfer and Fluid Flow, 1980, section 4.2; Crank, Free and Moving Boundary Problems,
1984, section 6.2; Maddix, Sampaio, Gerritsen, Numerical artifacts in the discontinuous generalized porous medium
equation, J. Comput. Phys. 368, 2018 (means of k at fronts).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from heatsim_kernels.explicit.coefficients import FACES, ONE_CLASS, StencilCoefficients, table_rows
from heatsim_kernels.explicit.enthalpy.lookup_tables import EnthalpyTables
from heatsim_kernels.explicit.enthalpy.surface_balance import SURFACE_TERMS
from heatsim_kernels.explicit.face_sets import FaceSet
from heatsim_kernels.explicit.slabs import Slab, slab_boundary

if TYPE_CHECKING:
    from heatsim_kernels.field.window_source import WindowSource

# What lies beyond a face: nothing; the own material, or one where neither depends on T; or OTHER + number of another.
CLOSED, OWN, OTHER = 0, 1, 2
FIXED = 1e30  # W/(m2 K): a boundary face with this coefficient is at its ambient's temperature


class BoundaryFactors(NamedTuple):
    """Factors on the coefficients and emissivities of boundary faces, which follow the temperature of the surface.

    pieces: (c, PIECE_NUMBERS, n) of the factors over T, an offset: see `pieces`. of: (boundary_size,) uint32, which of
    them each boundary face has, from 1 on, or 0 for none.
    """

    pieces: np.ndarray
    of: np.ndarray


@dataclass(frozen=True)
class NonlinearCoefficients(StencilCoefficients):
    """Terms at the reference temperature, and what it takes to depart from it; built by `nonlinear_coefficients`.

    tables: the materials. material: (n,) which of them each kind of cell is.
    links: (n, 6) CLOSED, OWN or OTHER + material of the neighbour.
    own, contact, other: (n, 6) K/W: resistance at T_ref of the half of the cell at each face, of the contact, and of
        the neighbour's half. At a face of the box `other` is that of the ghost: equal to `own`, if nothing is better.
    area: (n, 6) m2, of the faces.
    factors: of boundary faces, or None if there are none.
    ranges: for each material the least and the greatest offset, K, for which its properties are documented; infinite
        where they hold everywhere. For materials beyond the end of `ranges`, nothing is known. A field reports
        materials that leave their range (`Field.out_of_range`); steps go on with the last values.
    """

    tables: EnthalpyTables = field(kw_only=True)
    material: np.ndarray = field(kw_only=True)
    links: np.ndarray = field(kw_only=True)
    own: np.ndarray = field(kw_only=True)
    contact: np.ndarray = field(kw_only=True)
    other: np.ndarray = field(kw_only=True)
    area: np.ndarray = field(kw_only=True)
    factors: BoundaryFactors | None = field(default=None, kw_only=True)
    ranges: tuple[tuple[float, float], ...] = field(default=(), kw_only=True)

    def of_slab(self, slab: Slab) -> Self:
        """The coefficients of the planes that a slab keeps."""
        factors = self.factors
        if factors is not None:
            factors = factors._replace(of=slab_boundary(factors.of, self, slab))
        return replace(super().of_slab(slab), factors=factors)


class FaceResistances(NamedTuple):
    """Of the six faces of each class of cells, (n, 6): the thermal resistances of its own half cell, of what lies
    between, and of the half beyond, K/W (an ambient has none); and the area, m2."""

    own: np.ndarray
    contact: np.ndarray
    other: np.ndarray
    area: np.ndarray


class GridLayout(NamedTuple):
    """The fields of `StencilCoefficients` by these names: what the cells are, not what passes between them."""

    shape: tuple[int, int, int]
    class_ids: np.ndarray = ONE_CLASS
    periodic: tuple[bool, bool, bool] = (False, False, False)
    closed: tuple[bool, ...] = (True,) * 6
    boundary_per_cell: bool = False
    ambient_faces: FaceSet | None = None
    uneven: tuple[bool, bool, bool] = (True, True, True)


def nonlinear_coefficients(
    grid: GridLayout,
    tables: EnthalpyTables,
    volume: np.ndarray,
    material: np.ndarray,
    beyond: np.ndarray,
    faces: FaceResistances,
    factors: BoundaryFactors | None = None,
) -> NonlinearCoefficients:
    """Terms from resistances.

    volume: (n,) m3, of a cell of each class; 0 for prescribed cells, whose u is their temperature offset (their
        material should be `Material.constant`).
    material, beyond: (n,) and (n, 6) materials of the cell classes and of their neighbours, or -1 where nothing passes.
    faces: infinite resistances where nothing passes. The half of a prescribed neighbour has no resistance: `other` is
        0, and `contact` 1/coefficient over the area.
    """
    material, beyond = np.asarray(material), np.asarray(beyond)
    capacity = tables.capacity[material] * volume
    total = faces.own + faces.contact + faces.other
    passes = (beyond >= 0) & np.isfinite(total) & (capacity > 0)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        rates = np.where(passes, 1 / (total * capacity[:, None]), 0.0)
    straight = tables.straight
    same = (beyond == material[:, None]) & (faces.contact == 0) | straight[material][:, None] & straight[beyond]
    links = np.where(passes, np.where(same, OWN, OTHER + beyond), CLOSED).astype(np.uint32)
    own, contact, other, area = (np.where(passes, values, 0.0) for values in faces)
    return NonlinearCoefficients(
        grid.shape, rates, capacity, *grid[1:], tables=tables, material=material, links=links, own=own, contact=contact,
        other=other, area=area, factors=factors,
    )  # fmt: skip


def equal_cells(
    shape: tuple[int, int, int], tables: EnthalpyTables, spacing: tuple[float, float, float], **layout: Any
) -> NonlinearCoefficients:
    """The terms of one material, the first of `tables`, in equal cells of (dx, dy, dz) m; layout: see `GridLayout`."""
    dx, dy, dz = spacing
    area = np.repeat([dy * dz, dx * dz, dx * dy], 2)[None]
    half = 0.5 * np.repeat(spacing, 2)[None] / (tables.conductivity[0] * area)
    faces, volume = FaceResistances(half, np.zeros((1, 6)), half, area), np.array([dx * dy * dz])
    material, beyond = np.zeros(1, int), np.zeros((1, 6), int)
    return nonlinear_coefficients(GridLayout(shape, **layout), tables, volume, material, beyond, faces)


@dataclass(frozen=True)
class NonlinearForcing:
    """The values that may change from step to step, for a batch of steps; row min(step, k - 1) serves a step.

    boundary: (k, terms, boundary_size) of each boundary face, in the order of SURFACE_TERMS: coefficient h, W/(m2
        K); ambient, K; flux into the body, W/m2; emissivity; surroundings, K. Temperatures are offsets from the
        reference. Into a surface at T_s goes flux + h (ambient - T_s) + emissivity*sigma (surroundings^4 - T_s^4),
        where `BoundaryFactors` multiply h and the emissivity. See `boundary_values`.
    heat_table: (k, n) heating rate of each cell class over C_ref, K/s, or None. 0 for prescribed cells.
    heat_field: (nz, ny, nx) heating rate of each cell over C_ref, K/s, in the field's precision, or None.
    heat_scale: (k,) factor on `heat_field`.
    window_sources: as of `Forcing`, over C_ref.
    """

    boundary: np.ndarray
    heat_table: np.ndarray | None = None
    heat_field: np.ndarray | None = None
    heat_scale: np.ndarray = field(default_factory=lambda: np.ones(1))
    window_sources: tuple[tuple[WindowSource, ...], ...] = ()

    @classmethod
    def insulated(cls, coefficients: StencilCoefficients) -> NonlinearForcing:
        """Neither boundary faces nor sources."""
        return cls(boundary_values(coefficients))

    def of_steps(self, first: int, steps: int) -> NonlinearForcing:
        """What drives some steps of the batch, from step `first` on, alone."""
        table = self.heat_table
        return replace(
            self,
            boundary=table_rows(self.boundary, first, steps),
            heat_table=None if table is None else table_rows(table, first, steps),
            heat_scale=table_rows(self.heat_scale, first, steps),
            window_sources=self.window_sources[first : first + steps],
        )


def boundary_values(coefficients: StencilCoefficients, rows: int = 1, **faces: Mapping[str, Any]) -> np.ndarray:
    """(rows, terms, boundary_size) values of boundary faces, by face: `x_min=dict(coefficient=..., ambient=...)`.

    Names: those of SURFACE_TERMS, the coefficient being FIXED for a given temperature; each a number or an array that
    broadcasts to (rows, values of that face).
    """
    values = np.zeros((rows, len(SURFACE_TERMS), coefficients.boundary_size))
    ends = np.append(coefficients.boundary_offsets[1:], coefficients.boundary_size)
    for face, given in faces.items():
        number = FACES.index(face)
        part = values[:, :, coefficients.boundary_offsets[number] : ends[number]]
        for name, value in given.items():
            part[:, SURFACE_TERMS.index(name)] = value
    return values
