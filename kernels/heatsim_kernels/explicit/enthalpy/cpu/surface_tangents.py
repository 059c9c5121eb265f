"""CPU: tangents to the flux of boundary faces; see `enthalpy.surface_tangents`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numba import prange

from heatsim_kernels.device.cpu.compilation import inlined, parallel_jit
from heatsim_kernels.device.cpu.threads import limited, threads_for
from heatsim_kernels.device.fma import fma
from heatsim_kernels.explicit.coefficients import Forcing
from heatsim_kernels.explicit.enthalpy.cell import EnthalpyBoundary, build_tangent
from heatsim_kernels.explicit.enthalpy.coefficients import NonlinearForcing
from heatsim_kernels.explicit.enthalpy.cpu.fused_pass import pointed
from heatsim_kernels.explicit.enthalpy.cpu.material_rows import functions
from heatsim_kernels.explicit.enthalpy.cpu.stepper import boundary_from
from heatsim_kernels.explicit.enthalpy.kernel_arguments import boundary_rows, make_boundary, medium_of
from heatsim_kernels.explicit.enthalpy.surface_tangents import REAL, TERMS, TangentFaces, share_of_largest

CELLS_A_BALANCE = 64  # cells whose update takes as long as a balance: for the number of threads

tangent, temperature, phi = build_tangent(inlined, functions), functions.temperature, functions.phi


class CpuSurfaceTangents:
    """`SurfaceTangents` on the CPU."""

    def __init__(self, faces: TangentFaces) -> None:
        self._faces = faces
        self._medium = medium_of(faces.coefficients, 1.0, REAL)
        self._threads = threads_for(CELLS_A_BALANCE * faces.entries.size)
        self._given: np.ndarray | None = None
        self._made_at = np.zeros(faces.entries.size)  # potentials
        self._boundary: EnthalpyBoundary | None = None

    def applied(self, forcing: Forcing, cells: Callable[[Any], Any], boundary: np.ndarray) -> Forcing:
        """The forcing with tangents: see `SurfaceTangents`."""
        faces = self._faces
        if not faces.entries.size:
            return forcing
        if self._given is not boundary or self._boundary is None:
            values = boundary_rows(NonlinearForcing(boundary), REAL)
            self._given, self._boundary = boundary, make_boundary(faces.coefficients, values, REAL)
        a, b = (np.array(values) for values in (forcing.boundary_a, forcing.boundary_b))
        with limited(self._threads):
            _set_tangents(
                np.asarray(cells(faces.cells), REAL), faces.stores_temperature, faces.entries, faces.classes,
                faces.faces, faces.positions, faces.steepest, self._medium, self._boundary, self._made_at, a, b,
                self._threads,
            )  # fmt: skip
        return replace(forcing, boundary_a=a, boundary_b=b)

    def error(self, before: Forcing, row: int, now: Forcing) -> float:
        """How far tangents are off: see `SurfaceTangents`."""
        if not self._faces.entries.size:
            return 0.0
        row = min(row, len(before.boundary_a) - 1)
        lines = before.boundary_a[row], before.boundary_b[row], now.boundary_a[0], now.boundary_b[0]
        blocks = np.empty((2, self._threads))
        with limited(self._threads):
            _compare_tangents(self._made_at, self._faces.entries, *lines, blocks)
        return share_of_largest(blocks)


@parallel_jit
def _set_tangents(
    states, stores_temperature, entries, classes, faces, positions, steepest, medium, boundary, made_at, a, b, parts
):  # fmt: skip
    """Put the tangents of m faces, beside cells of `states` (m,), into the values a and b (rows, boundary_size), and
    the potentials of these cells into `made_at`."""
    for index in prange(parts):
        part, m = np.int64(index), pointed(medium)  # prange counts in unsigned numbers
        for i in range(part * states.size // parts, (part + 1) * states.size // parts):
            cell_class, face, position = classes[i], faces[i], positions[i]
            material, T, potential = np.int64(m.material[cell_class]), states[i], states[i]
            if not stores_temperature:
                T, potential = temperature(states[i], material, m), phi(states[i], material, m)
            made_at[i] = potential
            for row in range(a.shape[0]):
                w = boundary_from(boundary, row * TERMS * boundary.size)
                given = tangent(T, potential, material, cell_class, face, position, steepest[i], m, w)
                a[row, entries[i]], b[row, entries[i]] = given


@parallel_jit
def _compare_tangents(potentials, entries, slopes, heights, new_slopes, new_heights, blocks):
    """blocks (2, parts): the largest difference of two sets of tangents at some potentials (m,), and the largest of the
    new ones, of each part of the faces."""
    parts = blocks.shape[1]
    for index in prange(parts):
        part, difference, largest = np.int64(index), 0.0, 0.0
        for i in range(part * potentials.size // parts, (part + 1) * potentials.size // parts):
            entry, potential = entries[i], potentials[i]
            found = fma(new_slopes[entry], potential, new_heights[entry])
            difference = max(difference, abs(fma(slopes[entry], potential, heights[entry]) - found))
            largest = max(largest, abs(found))
        blocks[0, part], blocks[1, part] = difference, largest
