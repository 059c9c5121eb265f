"""CUDA: the cells that have another material beside them, taken from a list by a kernel of their own.

Heat flows there between temperatures, with conductivities midway (see `enthalpy.cell`): some hundred instructions a
face. In `register` one lane with such a cell would have its whole block wait; here every lane has one. A lane reads all
that it needs of its neighbours at once, whatever lies there, and not face by face.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import int64, uint32, uint64

from heatsim_kernels.enthalpy.cell import NUMBERS, build_series
from heatsim_kernels.enthalpy.coefficients import CLOSED, OTHER, OWN, NonlinearCoefficients
from heatsim_kernels.enthalpy.cuda.cell import (
    EnthalpyConfiguration,
    build_begin_and_finish,
    build_potentials,
    functions,
    load2,
    material_of,
    rates_of_class,
)
from heatsim_kernels.enthalpy.kernel_arguments import has_others
from heatsim_kernels.runtime.cuda.api import compiled_once, cuda, inlined
from heatsim_kernels.runtime.cuda.vector_access import constant
from heatsim_kernels.runtime.fma import fma
from heatsim_kernels.stencil.cuda.cell_update import build_neighbours

THREADS = 128

phi, temperature = functions.phi, functions.temperature
series = build_series(inlined, functions.resistivity)


class InterfaceCell(NamedTuple):
    """A cell: its class, its material, its potential and its temperature."""

    cell_class: int
    material: int
    potential: float
    temperature: float


def build(configuration: EnthalpyConfiguration):
    """Build the kernel (u, v, cells, shape, rates, medium, boundary, sources).

    It writes v of `cells`, (m,) uint32 flat indices.
    """
    new_value = _new_value(configuration)

    def interface_cells(u, v, cells, shape, rates, medium, boundary, sources):
        entry = uint32(uint32(cuda.blockIdx.x) * uint32(THREADS) + uint32(cuda.threadIdx.x))
        if entry < uint32(len(cells)):
            i = constant(cells, entry)
            line = uint32(i // shape.nx)
            z = uint32(line // shape.ny)
            x, y = uint32(i - line * shape.nx), uint32(line - z * shape.ny)
            v[uint64(i)] = new_value(u, i, x, y, z, shape, rates, medium, boundary, sources)

    return interface_cells


def _new_value(configuration: EnthalpyConfiguration):
    around, add_face = build_neighbours(configuration), compiled_once(_add_face, like=0)
    wrap_x, wrap_y, wrap_z = configuration.periodic
    (begin, finish), potentials = build_begin_and_finish(configuration), build_potentials(configuration)

    @inlined
    def new_value(u, i, x, y, z, shape, rates, medium, boundary, sources):
        one, here, cell_class = uint32(1), constant(u, i), uint32(constant(medium.class_ids, i))
        beside, links = _read_neighbours(u, around(i, x, y, z, shape)), _links(medium, cell_class)
        rate = rates_of_class(rates, cell_class)
        material = material_of(medium, cell_class)
        (potential,) = potentials((here,), material, medium)
        cell = InterfaceCell(cell_class, material, potential, temperature(here, int64(material), medium))
        p = potentials(beside, material, medium)
        at_x, at_y, at_z = uint32(z * shape.ny + y), uint32(z * shape.nx + x), uint32(y * shape.nx + x)
        left, right = not wrap_x and x == 0, not wrap_x and x == uint32(shape.nx - one)
        front, back = not wrap_y and y == 0, not wrap_y and y == uint32(shape.ny - one)
        low, high = not wrap_z and z == 0, not wrap_z and z == uint32(shape.nz - one)
        new = begin(i, here, cell_class, sources)
        new = add_face(new, rate[0], beside[0], p[0], links[0], uint32(0), left, at_x, cell, medium, boundary)
        new = add_face(new, rate[1], beside[1], p[1], links[1], uint32(1), right, at_x, cell, medium, boundary)
        new = add_face(new, rate[2], beside[2], p[2], links[2], uint32(2), front, at_y, cell, medium, boundary)
        new = add_face(new, rate[3], beside[3], p[3], links[3], uint32(3), back, at_y, cell, medium, boundary)
        new = add_face(new, rate[4], beside[4], p[4], links[4], uint32(4), low, at_z, cell, medium, boundary)
        new = add_face(new, rate[5], beside[5], p[5], links[5], uint32(5), high, at_z, cell, medium, boundary)
        return finish(new, i, here, sources)

    return new_value


@inlined
def _read_neighbours(u, at):
    in_x, in_y = (constant(u, at[0]), constant(u, at[1])), (constant(u, at[2]), constant(u, at[3]))
    return in_x + in_y + (constant(u, at[4]), constant(u, at[5]))


@inlined
def _links(medium, cell_class):
    """The links of the six faces of a cell class."""
    first = uint64(uint32(cell_class * uint32(6)))
    in_x, in_y = load2(medium.links, first, uint32(0)), load2(medium.links, first, uint32(1))
    return in_x + in_y + load2(medium.links, first, uint32(2))


def _add_face(value, rate, u, potential, link, face, at_boundary, position, cell, medium, boundary):
    """`value` plus what a face brings from a neighbour at u, or from beyond the boundary: `enthalpy.cell.passing`."""
    difference = medium.zero
    if at_boundary:
        if constant(boundary.closed, face) == 0:
            difference = boundary.differences[uint64(boundary.starts[uint64(face)]) + uint64(position)]
    elif link == OWN:
        difference = potential - cell.potential
    elif link != CLOSED:
        beyond = int64(uint32(link - uint32(OTHER)))
        T, at = temperature(u, beyond, medium), uint64(uint32(cell.cell_class * uint32(6) + face) * uint32(NUMBERS))
        own, contact = constant(medium.numbers, at + uint64(1)), constant(medium.numbers, at + uint64(2))
        other = constant(medium.numbers, at + uint64(3))
        rate = series(cell.temperature, T, int64(cell.material), beyond, own, contact, other, medium)
        difference = T - cell.temperature
    return fma(rate, difference, value)


def bounds(configuration: EnthalpyConfiguration) -> tuple[int, int]:
    """Threads of a block, and the blocks that a multiprocessor should hold: as many as leave enough registers."""
    return THREADS, 8 if configuration.dtype == "float32" else 4


def grid(cells: int) -> tuple[int, int, int]:
    """Blocks for so many cells."""
    return -(-cells // THREADS), 1, 1


def cells_of(coefficients: NonlinearCoefficients) -> np.ndarray:
    """(m,) uint32: the flat indices of the cells with another material beside them."""
    beside = has_others(coefficients)
    if coefficients.class_ids is None or not beside.any():
        return np.empty(0, np.uint32)
    size = coefficients.class_ids[0].size
    found = [number * size + np.flatnonzero(beside[plane]) for number, plane in enumerate(coefficients.class_ids)]
    return np.concatenate(found).astype(np.uint32)
