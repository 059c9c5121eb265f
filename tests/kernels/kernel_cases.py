"""Random heat problems for the kernel tests, and what a sweep makes of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from heatsim_kernels.stencil import Sweep
from heatsim_kernels.stencil.terms import Drive, Terms

FLOATS = (np.float32, np.float64)
STEP = 0.05  # s; with exchange rates below 1/s and six faces that double them at most, well inside the stable step


class Kind(NamedTuple):
    """Which terms a problem has; each compiles a kernel of its own."""

    zones: int = 1
    pairs: bool = False
    table: bool = False
    field: bool = False


KINDS = {
    "uniform": Kind(),
    "uniform with both sources": Kind(table=True, field=True),
    "zones that differ in heat alone": Kind(zones=3, table=True, field=True),
    "materials": Kind(zones=3, pairs=True),
    "materials with heat a zone": Kind(zones=3, pairs=True, table=True),
    "materials with heat a cell": Kind(zones=3, pairs=True, field=True),
}


class Case(NamedTuple):
    terms: Terms
    drive: Drive
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


def random_case(
    shape: tuple[int, int, int],
    kind: Kind,
    *,
    periodic: tuple[bool, bool, bool] = (False, False, False),
    per_cell: bool = False,
    rows: int = 1,
    seed: int = 0,
) -> Case:
    """A problem with conductances that are symmetric, and walls anywhere from fixed (-2) to insulated (0).

    Odd seeds give zones in blocks, as materials come, even ones a zone of its own to every cell.
    """
    rng = np.random.default_rng(seed)
    n = kind.zones
    # One rate for all zones means one capacity for all, or the heat that leaves a cell would not enter the next.
    capacity = rng.uniform(1, 2, n) if kind.pairs else np.full(n, rng.uniform(1, 2))
    if kind.pairs:
        conductance = rng.uniform(0.1, 1, (3, n, n))
        exchange = (conductance + conductance.transpose(0, 2, 1)) / 2 / capacity[:, None]
    else:
        exchange = rng.uniform(0.1, 1, 3)
    zones = random_zones(rng, shape, n, block=(3, 4, 70) if seed % 2 else (1, 1, 1)) if n > 1 else None
    closed = tuple(bool(wraps) for wraps in np.repeat(periodic, 2))
    terms = Terms(shape, exchange, capacity, zones, periodic, closed, per_cell)
    drive = Drive(
        rng.uniform(-2, 0, (rows, terms.wall_size)),
        rng.uniform(-1, 1, (rows, terms.wall_size)),
        rng.uniform(-1, 1, (rows, n)) if kind.table else None,
        rng.uniform(-1, 1, shape) if kind.field else None,
        rng.uniform(0, 2, rows),
    )
    return Case(terms, drive, single(rng.uniform(-1, 1, shape)))


def row_of(drive: Drive, step: int) -> Drive:
    """The values of one step, alone."""

    def row(values: np.ndarray) -> np.ndarray:
        at = min(step, len(values) - 1)
        return values[at : at + 1]

    table = None if drive.heat_table is None else row(drive.heat_table)
    return Drive(row(drive.wall_a), row(drive.wall_b), table, drive.heat_field, row(drive.heat_scale))


class Outcome(NamedTuple):
    field: np.ndarray
    heat_entered: np.ndarray
    zone_sums: np.ndarray


def outcome(sweep: Sweep, case: Case, steps: int = 3, dt: float = STEP) -> Outcome:
    """Run a case and copy out what came of it."""
    sweep.put(case.start)
    sweep.advance(dt, steps, case.drive)
    return Outcome(np.array(sweep.field()), sweep.heat_entered(), sweep.zone_sums())


def same_bits(one: np.ndarray, other: np.ndarray) -> bool:
    """Equality that tells -0 from 0 and compares not-a-numbers by their bits."""
    return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
