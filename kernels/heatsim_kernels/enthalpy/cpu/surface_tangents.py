"""Boundary faces whose heat flux is no affine function of temperature, on a body that is linear inside.

Such a face is replaced by its tangent at a state, which the kernels for linear problems take as they take any face:

    q(T) = q0 - s (T - T0)       T0: temperature of the cell where the tangent is made; q0, s: its surface balance
    ghost = T + (a T + b)        a = -s R,  b = (q0 + s T0) R,  with R = h/k of the cell, m2 K/W

A kink in k(T) or h(T) would make the slope of a tangent anything; it stays between that of a fixed temperature at the
surface and none, or its opposite where h falls as T rises. So explicit steps that are stable remain so.

While the cell moves by dT, the flux is wrong by q'' dT^2 / 2. So a tangent that serves a step leaves an error of second
order in the length of the step, and of third order in the temperature. The heat that enters by the tangent is the heat
that the ledger counts. Where the tangent is made, the flux is that of the balance itself.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numba import prange

from heatsim_kernels.enthalpy.cell import NUMBERS, EnthalpyBoundary
from heatsim_kernels.enthalpy.coefficients import NonlinearCoefficients, NonlinearForcing
from heatsim_kernels.enthalpy.cpu.fused_pass import functions, pointed
from heatsim_kernels.enthalpy.cpu.stepper import boundary_from
from heatsim_kernels.enthalpy.kernel_arguments import boundary_rows, make_boundary, medium_of
from heatsim_kernels.enthalpy.surface_balance import SURFACE_TERMS
from heatsim_kernels.enthalpy.time_step_limit import least_resistivity
from heatsim_kernels.runtime.cpu.compilation import parallel_jit
from heatsim_kernels.runtime.cpu.threads import limited, threads_for
from heatsim_kernels.stencil.coefficients import Forcing
from heatsim_kernels.stencil.heat_ledger import boundary_cells

CELLS_A_BALANCE = 64  # cells whose update takes as long as a balance: for the number of threads
TERMS = len(SURFACE_TERMS)
DIFFERENCE = 1e-3  # K, over which the slope of a flux is found
REAL = np.dtype(np.float64)  # of the balances, whatever the precision of the field

surface_heat = functions.surface_heat


class SurfaceTangents:
    """The faces of a problem that tangents stand for.

    coefficients: of the problem, with boundary values by cell and materials that do not depend on temperature.
    entries: (m,) which of the boundary values are tangents. cells: (m,) flat index of the cell beside each.
    """

    def __init__(self, coefficients: NonlinearCoefficients, entries: np.ndarray) -> None:
        starts = coefficients.boundary_offsets
        self._coefficients, self.entries = coefficients, entries
        self._faces = np.searchsorted(starts, entries, side="right") - 1
        self._positions = entries - starts[self._faces]
        beside = np.concatenate([boundary_cells(coefficients.shape, face) for face in range(6)])
        self.cells = beside[entries]
        ids = coefficients.class_ids
        self._classes = (
            np.zeros(entries.size, np.int64) if ids is None else ids.reshape(-1)[self.cells].astype(np.int64)
        )
        self._medium = medium_of(coefficients, 1.0, REAL)
        least = coefficients.area * coefficients.own * least_resistivity(coefficients)[coefficients.material][:, None]
        least = least[self._classes, self._faces]
        self._steepest = np.divide(1.0, least, out=np.zeros(entries.size), where=least > 0)  # cells that are not solved
        self._threads = threads_for(CELLS_A_BALANCE * entries.size)
        self._given: np.ndarray | None = None
        self._made_at = np.zeros(0)
        self._boundary: EnthalpyBoundary | None = None

    @classmethod
    def of_open_faces(cls, coefficients: NonlinearCoefficients) -> SurfaceTangents:
        """Tangents at all boundary faces through which heat may pass."""
        sizes = np.diff(np.append(coefficients.boundary_offsets, coefficients.boundary_size))
        return cls(coefficients, np.flatnonzero(~np.repeat(coefficients.closed, sizes)))

    def applied(self, forcing: Forcing, offsets: np.ndarray, boundary: np.ndarray) -> Forcing:
        """The forcing with the tangents at temperature offsets (m,), K, of `cells` in place of its values.

        boundary: (k, terms, boundary_size) of the surface balance, see `NonlinearForcing`, with as many rows as
        `forcing` has.
        """
        if self._given is not boundary or self._boundary is None:
            values = boundary_rows(NonlinearForcing(boundary), REAL)
            self._given, self._boundary = boundary, make_boundary(self._coefficients, values, REAL)
        self._made_at = np.asarray(offsets, REAL)
        a, b = (np.array(values) for values in (forcing.boundary_a, forcing.boundary_b))
        with limited(self._threads):
            _set_tangents(
                self._made_at, self.entries, self._classes, self._faces, self._positions, self._steepest,
                self._medium, self._boundary, a, b, self._threads,
            )  # fmt: skip
        return replace(forcing, boundary_a=a, boundary_b=b)

    def error(self, before: Forcing, now: Forcing) -> float:
        """How far the last tangents `before` are off where those of `now` were made, as a share of the largest flux."""
        slope, height = before.boundary_a[-1, self.entries], before.boundary_b[-1, self.entries]
        found = now.boundary_a[0, self.entries] * self._made_at + now.boundary_b[0, self.entries]
        largest = float(np.abs(found).max(initial=0.0))
        return float(np.abs(slope * self._made_at + height - found).max(initial=0.0)) / largest if largest > 0 else 0.0


@parallel_jit
def _set_tangents(T, entries, classes, faces, positions, steepest, medium, boundary, a, b, parts):
    """Put the tangents of m faces, of cells at T (m,), into the values a and b (rows, boundary_size); steepest: (m,)
    W/(m2 K), the largest slope of each."""
    for index in prange(parts):
        part, m = np.int64(index), pointed(medium)  # prange counts in unsigned numbers
        for row in range(a.shape[0]):
            w = boundary_from(boundary, row * TERMS * boundary.size)
            for i in range(part * T.size // parts, (part + 1) * T.size // parts):
                cell_class, face = classes[i], faces[i]
                material, position = np.int64(m.material[cell_class]), positions[i]
                entering, _ = surface_heat(T[i], material, cell_class, face, position, m, w)
                warmer, _ = surface_heat(T[i] + DIFFERENCE, material, cell_class, face, position, m, w)
                rising = steepest[i] if w.follow != 0 else 0.0
                slope = min(max((warmer - entering) / DIFFERENCE, -steepest[i]), rising)
                resistance = m.numbers[(cell_class * 6 + face) * NUMBERS + 4]
                a[row, entries[i]] = slope * resistance
                b[row, entries[i]] = resistance * (entering - slope * T[i])
