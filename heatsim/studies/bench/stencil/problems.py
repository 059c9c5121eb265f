"""Heat problems to verify and to time kernels on, explicit steps in plain NumPy, and what theory counts of a step.

The temperatures are of order 1 and stay so: boundary faces hold fixed temperatures, so that no field dies away into
denormal numbers, which CPUs compute slowly.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import cycle, islice
from math import prod
from typing import Any, NamedTuple

import numpy as np
from heatsim_kernels.explicit import ONE_STEP_KERNELS
from heatsim_kernels.explicit.cell_classes import BESIDE, OWN, classify_cells
from heatsim_kernels.explicit.coefficients import Forcing, StencilCoefficients
from heatsim_kernels.explicit.ladder import load_kernel

ShapeZYX = tuple[int, int, int]  # nz, ny, nx

STEP = 1.0  # s; exchange rates stay below 0.1/s, so a cell with three fixed boundary faces keeps 9 * 0.1 below 1
BLOCK = 64  # cells an edge of the cubes of one material that are timed
PERIOD = 7  # planes after which a timed field repeats
FIXED, FLUX, CONVECTION, INSULATED = "fixed", "flux", "convection", "insulated"
BOUNDARY_KINDS = (FIXED, CONVECTION, FLUX, FIXED, INSULATED, CONVECTION)  # of FACES; verification turns them round

# (nz, ny, nx): one cell an axis in all combinations, primes, multiples of vectors and tiles and their neighbours.
SHAPES: tuple[ShapeZYX, ...] = (
    (1, 1, 1), (1, 1, 61), (1, 47, 1), (43, 1, 1),
    (1, 23, 41), (29, 1, 37), (31, 13, 1), (2, 2, 2),
    (7, 11, 13), (5, 3, 131), (17, 32, 64), (16, 33, 127), (23, 67, 260),
)  # fmt: skip
LARGE: ShapeZYX = (37, 131, 269)  # several tiles of every kernel along every axis


class StencilCase(NamedTuple):
    """A problem to verify kernels on: some steps from a field of float32 values."""

    name: str
    coefficients: StencilCoefficients
    forcing: Forcing
    field: np.ndarray
    steps: int


class TimedStencil(NamedTuple):
    """A problem to time: the field is given plane by plane."""

    coefficients: StencilCoefficients
    forcing: Forcing
    planes: np.ndarray  # (PERIOD, ny, nx), which repeat

    def field(self) -> Iterable[np.ndarray]:
        """Its planes (ny, nx), z upwards."""
        return islice(cycle(self.planes), self.coefficients.shape[0])


def all_cases(materials: Sequence[int]) -> list[StencilCase]:
    """What a kernel is verified on, for these numbers of materials."""
    several = max(materials)
    stacks = cases_of_layers(several) if several > 1 else ()
    return [*(case for count in materials for case in cases(count)), *stacks, *cases_with_everything()]


def cases(materials: int) -> Iterator[StencilCase]:
    """Every linear boundary kind on every face, in so many materials; every other case counts the heat through the
    faces."""
    for number, shape in enumerate((*SHAPES, LARGE)):
        rng = np.random.default_rng(number)
        zones = _blocks(rng, shape, materials, block=1 if number % 3 == 0 else 5)
        coefficients = replace(_coefficients(rng, zones, materials), closed=(number % 2 == 0,) * 6)
        rows = 1 + 2 * (number % 4 == 3)  # constant, or another row for each of three steps
        forcing = _forcing(rng, coefficients, rows, turned=number % 6)
        yield StencilCase(
            f"{_words(shape)}, {materials} material" + "s" * (materials > 1),
            coefficients,
            forcing,
            _field(rng, shape),
            steps=5 + number % 3,
        )


def cases_of_layers(materials: int) -> Iterator[StencilCase]:
    """Stacks of layers along z, thick enough for kernels that hold the rates of a layer, and thin; in the second the
    heat through the faces is counted."""
    for number, layers in enumerate((3, 11)):
        rng, shape = np.random.default_rng(200 + number), (47, 131, 197)
        coefficients = _coefficients(rng, _layers(shape, materials, layers), materials)
        coefficients = replace(coefficients, closed=(number == 0,) * 6)
        forcing = _forcing(rng, coefficients, 1, turned=number)
        yield StencilCase(f"{_words(shape)}, {layers} layers", coefficients, forcing, _field(rng, shape), steps=9)


def cases_with_everything() -> Iterator[StencilCase]:
    """Three materials, boundary faces that differ from cell to cell, heat by class and by cell, all of them changing in
    time."""
    for number, shape in enumerate(((5, 3, 131), (1, 23, 41), (16, 33, 127))):
        rng = np.random.default_rng(100 + number)
        periodic, closed = (False, False, True), (False, False, False, False, True, True)
        coefficients = _coefficients(rng, _blocks(rng, shape, 3, block=4), 3, periodic)
        coefficients = replace(coefficients, closed=closed, boundary_per_cell=True)
        boundary = _forcing(rng, coefficients, 3, turned=number)
        heat, scale = rng.uniform(-0.1, 0.1, (3, coefficients.class_count)), rng.uniform(0, 1, 3)
        forcing = Forcing(boundary.boundary_a, boundary.boundary_b, heat, rng.uniform(-0.1, 0.1, shape), scale)
        yield StencilCase(
            f"{_words(shape)} with sources and a periodic axis", coefficients, forcing, _field(rng, shape), steps=7
        )


def timed_stencil(shape: ShapeZYX, materials: int, layers: int = 0) -> TimedStencil:
    """Every linear boundary kind; materials in cubes of BLOCK cells, or in so many layers along z; no count of the heat
    through the faces."""
    rng, zones = np.random.default_rng(0), _layers(shape, materials, layers) if layers else _cubes(shape, materials)
    coefficients = replace(_coefficients(rng, zones, materials), closed=(True,) * 6)
    planes = rng.random((PERIOD, *shape[1:]), dtype=np.float32)
    return TimedStencil(coefficients, _forcing(rng, coefficients, 1, turned=0), planes)


def _words(shape: ShapeZYX) -> str:
    return " x ".join(map(str, reversed(shape)))


def _field(rng: np.random.Generator, shape: ShapeZYX) -> np.ndarray:
    """Values that float32 holds exactly, so that both precisions start alike."""
    return rng.random(shape, dtype=np.float32).astype(np.float64)


def _coefficients(
    rng: np.random.Generator,
    zones: np.ndarray,
    materials: int,
    periodic: tuple[bool, bool, bool] = (False, False, False),
) -> StencilCoefficients:
    """Capacities and conductances of materials at random, which lie where `zones` (nz, ny, nx) says."""
    nz, ny, nx = zones.shape
    capacity = rng.uniform(1, 2, materials)
    conductance = rng.uniform(0.01, 0.1, (3, materials, materials))
    conductance += conductance.transpose(0, 2, 1)
    labels = (np.zeros(nx, np.int32), np.zeros(ny, np.int32), np.zeros(nz, np.int32))
    classes = classify_cells(zones, np.arange(materials), labels, periodic)
    own = classes.members[:, [OWN]]
    rates = conductance[np.repeat(np.arange(3), 2), own, classes.members[:, BESIDE]] / 2 / capacity[own]
    return StencilCoefficients((nz, ny, nx), rates, capacity[own[:, 0]], classes.cells, periodic)


def _blocks(rng: np.random.Generator, shape: ShapeZYX, materials: int, block: int) -> np.ndarray:
    """Zones in blocks at random."""
    zones = rng.integers(0, materials, [-(-n // block) for n in shape]).astype(np.uint8)
    for axis in range(3):
        zones = zones.repeat(block, axis)
    return np.ascontiguousarray(zones[: shape[0], : shape[1], : shape[2]])


def _cubes(shape: ShapeZYX, materials: int) -> np.ndarray:
    """Zones of cubes that differ from the cubes beside them."""
    z, y, x = ((np.arange(n) // BLOCK % materials).astype(np.uint8) for n in shape)
    plane = (y[:, None] + x[None, :].astype(np.uint16)) % materials
    zones = np.empty(shape, np.uint8)
    for target, shift in zip(zones, z, strict=True):
        target[:] = (plane + shift) % materials
    return zones


def _layers(shape: ShapeZYX, materials: int, layers: int) -> np.ndarray:
    """Zones of a stack of layers along z that differ from the layers beside them."""
    layer = np.arange(shape[0]) * layers // shape[0]
    return np.ascontiguousarray(np.broadcast_to((layer % materials).astype(np.uint8)[:, None, None], shape))


def _forcing(rng: np.random.Generator, coefficients: StencilCoefficients, rows: int, turned: int) -> Forcing:
    """Boundary values of `rows` steps; the kinds of BOUNDARY_KINDS, turned round by so many faces."""
    a, b = np.zeros((2, rows, coefficients.boundary_size))
    ends = [*coefficients.boundary_offsets[1:], coefficients.boundary_size]
    for face, (first, end) in enumerate(zip(coefficients.boundary_offsets, ends, strict=True)):
        kind, size = BOUNDARY_KINDS[(face + turned) % len(BOUNDARY_KINDS)], (rows, end - first)
        if kind == FLUX:
            b[:, first:end] = rng.uniform(-0.1, 0.1, size)
        elif kind != INSULATED:
            share = np.full(size, 2.0) if kind == FIXED else rng.uniform(0.01, 1.0, size)
            a[:, first:end] = -share
            b[:, first:end] = share * rng.uniform(0.5, 1.5, size)
    return Forcing(a, b)


def bytes_needed(shape: ShapeZYX, precision: str, materials: int, layers: int = 0) -> int:
    """Bytes on the device of the field, its next step, and the material of each cell."""
    return prod(shape) * (2 * np.dtype(precision).itemsize + (materials > 1))


def reference_steps(case: StencilCase, dt: float) -> tuple[np.ndarray, np.ndarray]:
    """The field after all steps of a case, float64 (nz, ny, nx), and the heat that has entered through each face, J.

    Plain NumPy, written from the equation and from no kernel:

    T_new = T + dt * (heat + sum over the six faces of rate * (neighbour - T))

    Beyond a boundary face the neighbour is T + (a*T + b), or the cell at the other end of a periodic axis.
    """
    given, forcing, field, entered = case.coefficients, case.forcing, case.field.astype(np.float64), np.zeros(6)
    ids = given.class_ids.astype(np.intp)
    ends = [(*[slice(None)] * (2 - face // 2), (slice(0, 1), slice(-1, None))[face % 2]) for face in range(6)]
    for step in range(case.steps):

        def row(values: np.ndarray, step: int = step) -> Any:
            return values[min(step, len(values) - 1)]

        gained = np.zeros(given.shape)
        if forcing.heat_table is not None:
            gained += row(forcing.heat_table)[ids]
        if forcing.heat_field is not None:
            gained += row(forcing.heat_scale) * forcing.heat_field
        for face, edge in enumerate(ends):
            axis, last = 2 - face // 2, face % 2
            if given.periodic[face // 2]:
                beyond = field[ends[face ^ 1]]
            else:
                own, first = ids[edge], given.boundary_offsets[face]
                where = np.arange(own.size).reshape(own.shape) if given.boundary_per_cell else own
                a, b = (row(values)[first + where] for values in (forcing.boundary_a, forcing.boundary_b))
                beyond = field[edge] + (a * field[edge] + b)
            inside = np.delete(field, 0 if last else -1, axis)
            beside = np.concatenate([inside, beyond] if last else [beyond, inside], axis)
            flow = given.rates[ids, face] * (beside - field)
            if not given.closed[face]:
                entered[face] += dt * (flow[edge] * given.capacity[ids[edge]]).sum()
            gained += flow
        field = field + dt * gained
    return field, entered


# What theory counts of a cell and step. An arithmetic intensity is operations over bytes (Williams, Waterman and
# Patterson, Roofline, CACM 52(4), 2009). Bytes *asked for* are what the threads of a kernel ask global memory to read,
# before caches: 13 / 28 = 0.46 OP/B for `basic` in float32 (Kirk and Hwu, Programming Massively Parallel Processors,
# stencil chapter). Bytes that *must move*: each cell read once and written once, and the byte that names its material
# read once. Over time they give the effective memory throughput T_eff (Raess, Utkin, Duretz, Omlin and Podladchikov,
# Geosci. Model Dev. 15, 2022), which no single sweep can raise above the copy limit; several steps a sweep can.


def operations_per_cell(materials: int, layers: int = 0) -> int:
    """Additions and multiplications a cell and step: see `heatsim_kernels.explicit.physics`, an fma counts as two.

    In one material 1 for 2c, 6 for three second differences, 3 fma; in several 6 differences and 6 fma; in layers 1 for
    2c, 4 for two second differences, 2 differences and 4 fma.
    """
    if materials == 1:
        return 13
    return 15 if layers else 18


def bytes_per_cell(precision: str, materials: int) -> int:
    """Bytes that must move for a cell and step; times cells a second this is T_eff. Where materials lie in layers,
    cells need no byte that names theirs: as many bytes as in one."""
    return 2 * np.dtype(precision).itemsize + (materials > 1)


def asked_intensity(kernel: str, precision: str, materials: int, layers: int = 0) -> float | None:
    """Operations over the bytes that a CUDA kernel asks global memory to read, OP/B; None where not worked out.

    With the first of the kernel's tiles, which is what a sweep takes unless told.
    """
    if kernel not in ONE_STEP_KERNELS:
        return None
    itemsize, module = np.dtype(precision).itemsize, load_kernel(kernel)
    reads = module.field_reads(module.TILES[0], itemsize)
    kind = 1 if materials > 1 else 0  # a byte of the cell; those of its neighbours are not asked for
    return operations_per_cell(materials, layers) / (reads * itemsize + kind)
