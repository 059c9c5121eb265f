"""Materials that depend on temperature, frozen at a field: a linear operator for Picard's iterations.

    q = G (T_n - T_c)     with the G that gives the heat which flows at this field, between cells
    q = q0 - U (T - T_c)  at boundary faces, with radiation's tangent at the temperature of the surface

The steady state is a fixed point: solve A T = heat, find u of T (`EnthalpyTables.state_of`), freeze again. Source:
Patankar, Numerical Heat Transfer and Fluid Flow, 1980, sections 4.2-3 and 4.2-5.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from heatsim_kernels.device.cpu.compilation import inlined, parallel_jit
from heatsim_kernels.device.cpu.pointers import pointer
from heatsim_kernels.device.cpu.threads import limited, threads_for
from heatsim_kernels.explicit.enthalpy.cell import NUMBERS, EnthalpyBox
from heatsim_kernels.explicit.enthalpy.coefficients import OWN, NonlinearCoefficients, NonlinearForcing
from heatsim_kernels.explicit.enthalpy.cpu.fused_pass import pointed
from heatsim_kernels.explicit.enthalpy.cpu.material_rows import functions
from heatsim_kernels.explicit.enthalpy.cpu.stepper import boundary_from
from heatsim_kernels.explicit.enthalpy.kernel_arguments import boundary_rows, make_boundary, medium_of
from heatsim_kernels.solver.operator import Operator

between, phi, temperature, resistivity = functions.between, functions.phi, functions.temperature, functions.resistivity
surface_heat = functions.surface_heat


def linearised(
    coefficients: NonlinearCoefficients, field: np.ndarray, forcing: NonlinearForcing
) -> tuple[Operator, np.ndarray]:
    """The operator A of temperature offsets, W/K, and (nz, ny, nx) the heat input of boundary faces and sources, W,
    with the first row of `forcing`: at the temperatures of `field` (u, see `coefficients`), heat - A T is what enters
    each cell.

    Held cells are rows of the identity with their temperature as heat; what ties others to them is in `s` and in heat.
    """
    u = np.ascontiguousarray(field, np.float64).reshape(-1)
    real = np.dtype(np.float64)
    g, s, heat = np.zeros((3, u.size)), np.zeros(u.size), np.zeros(u.size)
    values = boundary_rows(forcing, real)[:1]
    box = EnthalpyBox(*map(int, (*coefficients.shape, *coefficients.periodic)))
    with limited(threads_for(u.size)):
        _freeze(
            u,
            box,
            medium_of(coefficients, 1.0, real),
            make_boundary(coefficients, values, real),
            coefficients.capacity,
            g,
            s,
            heat,
        )
    heat = heat.reshape(coefficients.shape)
    capacity = coefficients.spread_over_cells(coefficients.capacity)
    if forcing.heat_table is not None:
        heat += capacity * coefficients.spread_over_cells(forcing.heat_table[0])
    if forcing.heat_field is not None:
        heat += capacity * forcing.heat_scale[0] * forcing.heat_field
    gx, gy, gz = g.reshape(3, *coefficients.shape)
    return Operator(gx, gy, gz, s.reshape(coefficients.shape), coefficients.periodic), heat


@parallel_jit
def _freeze(u, box, medium, boundary, capacity, g, s, heat):
    """Conductances g (3, cells) of upper faces, and what the outside gives each cell."""
    strides = (1, box.nx, box.ny * box.nx)
    for index in prange(box.nz):
        z = np.int64(index)
        m, w, field = pointed(medium), boundary_from(boundary, 0), pointer(u)
        for y in range(box.ny):
            for x in range(box.nx):
                i = (z * box.ny + y) * box.nx + x
                cell_class = np.int64(m.class_ids[i]) if m.several != 0 else 0
                material = np.int64(m.material[cell_class])
                T = temperature(field[i], material, m)
                if capacity[cell_class] == 0:
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
                            entering, less, _ = surface_heat(T, material, cell_class, face, position, m, w)
                            numbers = (cell_class * 6 + face) * NUMBERS
                            area = capacity[cell_class] * m.numbers[numbers] * m.numbers[numbers + 4]
                            s[i] += area * less
                            heat[i] += area * (entering + less * T)
                    else:
                        step = strides[face // 2] * (1 - n if end else 1)
                        j = i + step if face % 2 == 1 else i - step
                        cell_class1 = np.int64(m.class_ids[j]) if m.several != 0 else 0
                        T1 = temperature(field[j], np.int64(m.material[cell_class1]), m)
                        G = capacity[cell_class] * _rate(field[i], field[j], T, T1, cell_class, face, material, m)
                        if capacity[cell_class1] == 0:
                            s[i] += G
                            heat[i] += G * T1
                        elif face % 2 == 1 and n > 1:
                            g[face // 2, i] = G


@inlined
def _rate(u, u1, T, T1, cell_class, face, material, medium):
    """Rate of exchange for a kelvin between the cells; where they are equally warm, that of their material there."""
    rate, difference = between(u, u1, cell_class, face, phi(u, material, medium), medium)
    if medium.links[cell_class * 6 + face] != OWN:
        return rate
    if abs(T1 - T) > 1e-6 * (1.0 + abs(T)):
        return rate * difference / (T1 - T)
    return rate / resistivity(T, material, medium)
