"""Random heat problems for the kernel tests, and what a sweep makes of them."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from heatsim_kernels.explicit import ExplicitStepper
from heatsim_kernels.explicit.coefficients import Forcing, StencilCoefficients
from heatsim_kernels.explicit.cpu import tile_plan
from heatsim_kernels.explicit.face_sets import SIDES, FaceSet

STEP = 0.05  # s; with exchange rates below 1/s and six faces that double them at most, well inside the stable step


class Features(NamedTuple):
    """Which terms a problem has; each compiles a kernel of its own.

    zones: materials, of which `prescribed` are ambients; pairs: conductances that differ from pair to pair of them;
    table: heat by class; field: heat by cell; losses: by class; skew: a single class whose six faces differ, which no
    cells that exchange heat with each other can have; layers: planes of each layer along z that has one zone, or 0;
    block: cells along z, y and x of each block that has one zone, or () for others.
    """

    zones: int = 1
    pairs: bool = False
    table: bool = False
    field: bool = False
    prescribed: int = 0
    skew: bool = False
    losses: bool = False
    layers: int = 0
    block: tuple[int, int, int] | tuple[()] = ()


FEATURES = {
    "uniform": Features(),
    "uniform with both sources": Features(table=True, field=True),
    "zones that differ in heat alone": Features(zones=3, table=True, field=True),
    # Two materials are of 2 * 2**6 kinds at most, in one byte: those of two bytes compile kernels of their own.
    "materials": Features(zones=2, pairs=True),
    "materials with heat a zone": Features(zones=2, pairs=True, table=True),
    "materials with heat a cell": Features(zones=2, pairs=True, field=True),
    "a rate a face": Features(skew=True),
    # Where each cell is at random: even seeds.
    "more than 256 kinds": Features(zones=30, pairs=True, table=True),
    "ambients": Features(zones=4, pairs=True, table=True, prescribed=2, losses=True),
    "uniform with losses": Features(table=True, losses=True),
    "zones that differ in sources alone": Features(zones=3, table=True, losses=True),
    "layers": Features(zones=3, pairs=True, table=True, layers=2),
}

# Each set of features in one precision, `uniform` in both: the sources of kernels are the same for both. Float64 where
# other tests compile that kernel anyway.
SINGLE = {"uniform", "materials with heat a zone", "a rate a face", "ambients"}
CHOSEN = [("uniform", np.float64), *((name, np.float32 if name in SINGLE else np.float64) for name in FEATURES)]


class Case(NamedTuple):
    coefficients: StencilCoefficients
    forcing: Forcing
    start: np.ndarray  # (nz, ny, nx), float64, values that float32 holds exactly


def single(values: np.ndarray) -> np.ndarray:
    """The values, rounded so that float32 and float64 runs start alike."""
    return values.astype(np.float32).astype(np.float64)


def random_zones(
    rng: np.random.Generator, shape: tuple[int, int, int], count: int, block: tuple[int, int, int]
) -> np.ndarray:
    """Zones at random, each block of cells in one."""
    zones = rng.integers(0, count, [-(-n // size) for n, size in zip(shape, block, strict=True)])
    for axis, size in enumerate(block):
        zones = zones.repeat(size, axis)
    nz, ny, nx = shape
    return np.ascontiguousarray(zones[:nz, :ny, :nx], np.uint8)


def neighbours(values: np.ndarray, periodic: tuple[bool, bool, bool]) -> np.ndarray:
    """(6, nz, ny, nx) the values of the cells beyond each of FACES; at a boundary face the cell's own."""
    found = []
    for face in range(6):
        axis, upper = 2 - face // 2, face % 2
        beyond = np.roll(values, -1 if upper else 1, axis)
        if not periodic[face // 2]:
            edge: list[slice | int] = [slice(None)] * 3
            edge[axis] = -1 if upper else 0
            beyond[tuple(edge)] = values[tuple(edge)]
        found.append(beyond)
    return np.array(found)


def unique_rows(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct rows (n, k) in ascending order, and for each row which of them it is: `np.unique` of the rows, which
    compares them one by one and takes ten times as long."""
    order = np.lexsort(rows.T[::-1])
    ordered = rows[order]
    first = np.append(True, (ordered[1:] != ordered[:-1]).any(axis=1))
    number = np.empty(len(rows), np.intp)
    number[order] = np.cumsum(first) - 1
    return ordered[first], number


def terms_of_zones(
    zones: np.ndarray,
    conductance: np.ndarray,
    capacity: np.ndarray,
    *,
    prescribed: int = 0,
    periodic: tuple[bool, bool, bool] = (False, False, False),
    per_cell: bool = False,
) -> StencilCoefficients:
    """The terms of zones (nz, ny, nx), of which the last `prescribed` are ambients, in the slow and plain way.

    conductance: (3, n, n) W/K of a face along x, y, z between two zones, symmetric; capacity: (n,) J/K. The kinds are
    numbered so that the zone of a class does not fall.
    """
    n = len(capacity)
    solid = n - prescribed
    beyond = neighbours(zones, periodic)
    axes = np.repeat(np.arange(3), 2)[:, None, None, None]
    rates = conductance[axes, zones, beyond] / capacity[zones]
    rates[:, zones >= solid] = 0.0
    rows = np.concatenate((zones[None], rates)).reshape(7, -1).T
    classes_of, class_ids = unique_rows(rows)
    of_zone = classes_of[:, 0].astype(int)
    ambient_faces = None
    if prescribed:
        faces, *at = np.nonzero((zones < solid) & (beyond >= solid))
        owners = beyond[(faces, *at)].astype(np.int64) - solid
        cells = np.ravel_multi_index(tuple(at), zones.shape).astype(np.int64)
        ambient_faces = FaceSet(cells, faces.astype(np.uint8), SIDES + owners, SIDES + prescribed)
    return StencilCoefficients(
        (zones.shape[0], zones.shape[1], zones.shape[2]),
        np.ascontiguousarray(classes_of[:, 1:]),
        np.where(of_zone < solid, capacity[of_zone], 0.0),
        class_ids.reshape(zones.shape).astype(np.min_scalar_type(len(classes_of) - 1)),
        periodic,
        tuple(bool(wraps) for wraps in np.repeat(periodic, 2)),
        per_cell,
        ambient_faces,
    )


def random_case(
    shape: tuple[int, int, int],
    features: Features,
    *,
    periodic: tuple[bool, bool, bool] = (False, False, False),
    per_cell: bool = False,
    rows: int = 1,
    seed: int = 0,
) -> Case:
    """A problem with conductances that are symmetric, and boundary faces anywhere from fixed (-2) to insulated (0).

    Odd seeds give zones in blocks, as materials come, even ones a zone of its own to every cell.
    """
    rng = np.random.default_rng(seed)
    n = features.zones
    # One rate for all zones means one capacity for all, or the heat that leaves a cell would not enter the next.
    capacity = rng.uniform(1, 2, n) if features.pairs else np.full(n, rng.uniform(1, 2))
    conductance = rng.uniform(0.1, 1, (3, n, n) if features.pairs else (3, 1, 1)) * np.ones((n, n))
    conductance = (conductance + conductance.transpose(0, 2, 1)) / 2
    block = (features.layers, *shape[1:]) if features.layers else (3, 4, 70) if seed % 2 else (1, 1, 1)
    zones = random_zones(rng, shape, n, features.block or block)
    coefficients = terms_of_zones(
        zones, conductance, capacity, prescribed=features.prescribed, periodic=periodic, per_cell=per_cell
    )
    if features.skew:
        coefficients = replace(coefficients, rates=rng.uniform(0.1, 1, (1, 6)))
    solved = coefficients.capacity > 0
    if features.losses:
        coefficients = replace(coefficients, losses=rng.uniform(0, 1, coefficients.class_count) * solved)
    forcing = Forcing(
        rng.uniform(-2, 0, (rows, coefficients.boundary_size)),
        rng.uniform(-1, 1, (rows, coefficients.boundary_size)),
        rng.uniform(-1, 1, (rows, coefficients.class_count)) * solved if features.table else None,
        rng.uniform(-1, 1, shape) * coefficients.spread_over_cells(solved) if features.field else None,
        rng.uniform(0, 2, rows),
    )
    return Case(coefficients, forcing, single(rng.uniform(-1, 1, shape)))


def row_of(forcing: Forcing, step: int) -> Forcing:
    """The values of one step, alone."""

    def row(values: np.ndarray) -> np.ndarray:
        at = min(step, len(values) - 1)
        return values[at : at + 1]

    table = None if forcing.heat_table is None else row(forcing.heat_table)
    return Forcing(row(forcing.boundary_a), row(forcing.boundary_b), table, forcing.heat_field, row(forcing.heat_scale))


def cut_rows(patch: pytest.MonkeyPatch, parts: int) -> None:
    """Have the CPU's tiles take a part of each row where they may, as they do of long rows."""

    def numbers(shape: tile_plan.TilingShape, fused: int) -> list[int]:
        lines = -(-shape.cells[2] // shape.per_line)
        return [1 if fused == 1 or shape.wraps[2] else min(parts, lines)]

    patch.setattr(tile_plan, "_numbers_of_parts", numbers)


class SteppedField(NamedTuple):
    field: np.ndarray
    heat_entered: np.ndarray
    stored: float


def ledger_tolerance(field: np.ndarray, coefficients: StencilCoefficients) -> np.ndarray:
    """By how much each entry of the ledger of a field may differ between devices, J: sums run over many cells of both
    signs and in different orders. Of losses the CPU sums vectors of a row in the precision of the field."""
    tolerance = np.full(coefficients.ledger_size, 1e-12 * np.abs(field.astype(np.float64)).sum())
    if coefficients.losses is not None and field.dtype == np.float32:
        tolerance[-1] *= 1e4
    return tolerance


def outcome(sweep: ExplicitStepper, case: Case, steps: int = 3, dt: float = STEP) -> SteppedField:
    """Run a case and copy out what came of it."""
    sweep.field.put(case.start)
    sweep.advance(dt, steps, case.forcing)
    return SteppedField(np.array(sweep.field.host()), sweep.heat_entered(), sweep.field.stored())
