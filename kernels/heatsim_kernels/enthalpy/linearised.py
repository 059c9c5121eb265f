"""Materials that depend on temperature, frozen at a field: a linear operator for Picard's iterations.

    q = G (T_n - T_c)     with the G that gives the heat which flows at this field, between cells
    q = q0 - U (T - T_c)  at walls, with radiation's tangent at the temperature of the surface

The steady state is a fixed point: solve A T = heat, find u of T (`Tables.state_of`), freeze again. Source: Patankar,
Numerical Heat Transfer and Fluid Flow, 1980, sections 4.2-3 and 4.2-5.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from heatsim_kernels.enthalpy.cell import NUMBERS, EnthalpyBox
from heatsim_kernels.enthalpy.coefficients import OWN, NonlinearCoefficients, NonlinearForcing
from heatsim_kernels.enthalpy.cpu.step_kernel import functions, pointed, walls_from
from heatsim_kernels.enthalpy.kernel_arguments import medium_of, wall_rows, walls_of
from heatsim_kernels.multigrid.operator import Operator
from heatsim_kernels.runtime.cpu.compilation import inlined, parallel_jit
from heatsim_kernels.runtime.cpu.pointers import pointer
from heatsim_kernels.runtime.cpu.threads import limited, threads_for

between, phi, temperature, resistivity = functions.between, functions.phi, functions.temperature, functions.resistivity
wall_heat = functions.wall_heat


def linearised(terms: NonlinearCoefficients, field: np.ndarray, drive: NonlinearForcing) -> tuple[Operator, np.ndarray]:
    """The operator A of rises of temperature, W/K, and (nz, ny, nx) the heat input of walls and sources, W, with the
    first row of `drive`: at the temperatures of `field` (u, see `terms`), heat - A T is what enters each cell.

    Held cells are rows of the identity with their temperature as heat; what ties others to them is in `s` and in heat.
    """
    u = np.ascontiguousarray(field, np.float64).reshape(-1)
    real = np.dtype(np.float64)
    g, s, heat = np.zeros((3, u.size)), np.zeros(u.size), np.zeros(u.size)
    values = wall_rows(drive, real)[:1]
    box = EnthalpyBox(*map(int, (*terms.shape, *terms.periodic)))
    with limited(threads_for(u.size)):
        _freeze(u, box, medium_of(terms, 1.0, real), walls_of(terms, values, real), terms.capacity, g, s, heat)
    heat = heat.reshape(terms.shape)
    capacity = terms.of_kinds(terms.capacity)
    if drive.heat_table is not None:
        heat += capacity * terms.of_kinds(drive.heat_table[0])
    if drive.heat_field is not None:
        heat += capacity * drive.heat_scale[0] * drive.heat_field
    gx, gy, gz = g.reshape(3, *terms.shape)
    return Operator(gx, gy, gz, s.reshape(terms.shape), terms.periodic), heat


@parallel_jit
def _freeze(u, box, medium, walls, capacity, g, s, heat):
    """Conductances g (3, cells) of upper faces, and what the outside gives each cell."""
    strides = (1, box.nx, box.ny * box.nx)
    for index in prange(box.nz):
        z = np.int64(index)
        m, w, field = pointed(medium), walls_from(walls, 0), pointer(u)
        for y in range(box.ny):
            for x in range(box.nx):
                i = (z * box.ny + y) * box.nx + x
                kind = np.int64(m.kinds[i]) if m.several != 0 else 0
                row = np.int64(m.material[kind]) * m.segments
                T = temperature(field[i], row, m)
                if capacity[kind] == 0:
                    s[i], heat[i] = 1.0, T
                    continue
                for face in range(6):
                    at, n, wraps = (x, box.nx, box.wrap_x) if face < 2 else (y, box.ny, box.wrap_y)
                    position = z * box.ny + y if face < 2 else z * box.nx + x
                    if face >= 4:
                        at, n, wraps, position = z, box.nz, box.wrap_z, y * box.nx + x
                    end = at == (n - 1 if face % 2 == 1 else 0)
                    if end and wraps == 0:
                        if w.closed[face] == 0:
                            entering, less = wall_heat(T, row, kind, face, position, m, w)
                            numbers = (kind * 6 + face) * NUMBERS
                            area = capacity[kind] * m.numbers[numbers] * m.numbers[numbers + 4]
                            s[i] += area * less
                            heat[i] += area * (entering + less * T)
                    else:
                        step = strides[face // 2] * (1 - n if end else 1)
                        j = i + step if face % 2 == 1 else i - step
                        kind1 = np.int64(m.kinds[j]) if m.several != 0 else 0
                        T1 = temperature(field[j], np.int64(m.material[kind1]) * m.segments, m)
                        G = capacity[kind] * _rate(field[i], field[j], T, T1, kind, face, row, m)
                        if capacity[kind1] == 0:
                            s[i] += G
                            heat[i] += G * T1
                        elif face % 2 == 1 and n > 1:
                            g[face // 2, i] = G


@inlined
def _rate(u, u1, T, T1, kind, face, row, medium):
    """Rate of exchange for a kelvin between the cells; where they are equally warm, that of their material there."""
    rate, difference = between(u, u1, kind, face, phi(u, row, medium), medium)
    if medium.links[kind * 6 + face] != OWN:
        return rate
    if abs(T1 - T) > 1e-6 * (1.0 + abs(T)):
        return rate * difference / (T1 - T)
    return rate / resistivity(T, row, medium)
