"""The linear operator of heat conduction on a grid, as the solver sees it: conductances and nothing else.

    (A T)_i = sum over the six faces of g (T_i - T_j)  +  s_i T_i        W, for T in K

    g   W/K, conductance of the face between two cells
    s   W/K, what ties a cell to something given: boundary faces, ambients, and heat capacity over time step

A is symmetric, and positive definite as soon as one s is positive. Several materials, conductivity that depends on
temperature, contact resistance, unequal cells, cells that are not solved: all of that is other numbers in g and s.
A prescribed cell exchanges nothing, and its row says s T = 0: the solver is to be asked for increments. Its s is
small, so that the solver's coarse grids, which cannot tell it from the cells around, are little affected.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from heatsim_kernels.explicit.ambient_faces import AmbientFacePairs, ambient_face_pairs
from heatsim_kernels.explicit.coefficients import StencilCoefficients
from heatsim_kernels.explicit.heat_ledger import boundary_cells


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


class BoundaryCoupling(NamedTuple):
    """A face of the box, or an ambient: it passes g (a T + b) W to each cell beside it, with the a and b of `Forcing`.
    An ambient is a boundary face inside the box; its a is -1 and its b its temperature. So are losses, with b = 0.

    number: in the heat ledger, of the six FACES, then of the ambients, then of the losses; cells: (m,) int64 flat index
    of the cells beside it, each once; conductance: (m,) g from there, W/K; entries: (m,) int64 where the a and b of
    each stand: among the boundary values, and after these one an ambient, and one of the losses.
    """

    number: int
    cells: np.ndarray
    conductance: np.ndarray
    entries: np.ndarray


def find_boundary_couplings(coefficients: StencilCoefficients) -> list[BoundaryCoupling]:
    """All couplings of a problem: the faces that are not closed, the ambients that some cell touches, the losses."""
    pairs = ambient_face_pairs(coefficients)
    faces = [_face(coefficients, number) for number in range(6) if not coefficients.closed[number]]
    inside = [_ambient(coefficients, pairs, owner) for owner in range(coefficients.ambient_count)]
    if coefficients.losses is not None:
        inside.append(_losses(coefficients, coefficients.losses))
    return faces + [coupling for coupling in inside if coupling.cells.size]


def _face(coefficients: StencilCoefficients, number: int) -> BoundaryCoupling:
    cells = boundary_cells(coefficients.shape, number)
    class_ids = coefficients.classes_of(cells)
    entries = np.arange(cells.size) if coefficients.boundary_per_cell else class_ids
    return BoundaryCoupling(
        number, cells, coefficients.conductances()[number][class_ids], coefficients.boundary_offsets[number] + entries
    )


def _ambient(coefficients: StencilCoefficients, pairs: AmbientFacePairs, owner: int) -> BoundaryCoupling:
    """A cell with several faces to an ambient is there once."""
    mine = pairs.owners == owner
    cells, face = np.unique(pairs.cells[mine], return_inverse=True)
    conductance = np.bincount(face, coefficients.conductances().reshape(-1)[pairs.entries[mine]])
    return BoundaryCoupling(6 + owner, cells, conductance, np.full(len(cells), coefficients.boundary_size + owner))


def _losses(coefficients: StencilCoefficients, losses: np.ndarray) -> BoundaryCoupling:
    """All cells, though some may lose nothing: to go over all is faster than to choose."""
    conductance = coefficients.spread_over_cells(losses * coefficients.capacity)
    cells = np.arange(int(np.prod(coefficients.shape)), dtype=np.int64)
    entries = np.full(len(cells), coefficients.boundary_size + coefficients.ambient_count)
    everywhere = np.broadcast_to(conductance, coefficients.shape).reshape(-1)
    return BoundaryCoupling(6 + coefficients.ambient_count, cells, everywhere, entries)


class BoundaryHeat(Protocol):
    """What passes between the cells and the outside, by the couplings of a problem; a and b: (m,) see `Forcing`."""

    def add(self, out: Any, T: Any, a: np.ndarray, b: np.ndarray, /) -> None:
        """out += what flows into each cell, W, at temperatures T."""

    def entering(self, T: Any, a: np.ndarray, b: np.ndarray, /) -> np.ndarray:
        """What flows in by each coupling, W, at temperatures T."""


class SolverKernels(Protocol):
    """What the solver needs of a device: functions of its module `operations`, where they are described.

    Fields are the device's: arrays on the CPU, `CudaValues` on a GPU. So are conductances g: (gx, gy, gz) of faces, or
    the 13 a cell. `coarsening` is a `hierarchy.Coarsening`.
    """

    def field(self, shape: tuple[int, ...], dtype: Any = ..., /) -> Any:
        """A field of zeros."""

    def weights(self, coarsening: Any, /) -> Any:
        """Room for the weights of a coarsening."""

    def single(self, values: Any, /) -> Any:
        """The values in float32 on the device."""

    def put(self, values: Any, /) -> Any:
        """Bring values to the device."""

    def get(self, values: Any, /) -> np.ndarray:
        """Values as an array of the host."""

    def assign(self, target: Any, values: Any, /) -> None:
        """target = values, rounded to its type."""

    def largest(self, values: Any, /) -> float:
        """The largest of the values."""

    def sweep(self, g: Any, s: Any, x: Any, b: Any, share: np.float32 | None, out: Any, /) -> None:
        """One pass over a level: out = A x, b - A x, or x relaxed."""

    def strong_cells(self, g: Any, shape: tuple[int, int, int], share: float, /) -> np.ndarray:
        """(3,) number of strong cells along z, y, x."""

    def interpolation(self, coarsening: Any, g: Any, weights: Any, /) -> None:
        """Fill the weights of a coarsening."""

    def galerkin(self, coarsening: Any, g: Any, weights: Any, out: Any, /) -> None:
        """Fill the conductances `out` of the coarse grid, zero before."""

    def restrict(self, coarsening: Any, weights: Any, fine: Any, coarse: Any, /) -> None:
        """coarse = transpose of the interpolation times fine."""

    def interpolate(self, coarsening: Any, weights: Any, coarse: Any, add: bool, fine: Any, /) -> None:
        """fine = interpolation of coarse, or with `add` what it was plus that."""

    def accumulate(self, x: Any, factor: np.float32, add: bool, total: Any, /) -> None:
        """total = factor x, or with `add` what it was plus that."""

    def multiply(self, matrix: Any, b: Any, out: Any, /) -> None:
        """out = matrix b, small and dense."""

    def dot(self, x: Any, y: Any, /) -> float:
        """x . y."""

    def dots(self, z: Any, r: Any, q: Any, /) -> tuple[float, float, float]:
        """z . r, z . q and the largest |z|."""

    def step(self, alpha: float, scale: float, p: Any, q: Any, x: Any, r: Any, b: Any, /) -> float:
        """x += alpha p, r -= alpha q, b = scale r in float32; returns r . r."""

    def direction(self, z: Any, beta: float, unit: float, p: Any, /) -> None:
        """p = unit z + beta p."""


class MultigridKernels(SolverKernels, Protocol):
    """What the heat balance of a problem needs of a device besides: see `assembly`."""

    def BoundaryHeat(self, couplings: Iterable[BoundaryCoupling], /) -> BoundaryHeat:
        """What passes by these couplings."""

    def spread(self, values: np.ndarray, class_ids: Any, shape: tuple[int, int, int], dtype: Any, /) -> Any:
        """The values (n,) of the cell classes as a field."""

    def clear(self, field: Any, cells: np.ndarray, /) -> None:
        """Set some cells, by flat index, to 0."""

    def heat_window(self, field: Any, corner: tuple[int, int, int], rates: np.ndarray, gain: float, /) -> None:
        """Add gain * rates to a window of a field."""

    def extent(self, values: Any, chosen: Any = None, /) -> tuple[float, float]:
        """The least and the largest value, or those where `chosen` is not 0; not numbers where one is none."""

    def total(self, field: Any, /) -> float:
        """The sum of a field, float64."""
