"""Launches of `temporal` over one grid."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..cuda_api import SIMULATED, cuda
from ..cuda_launch import Resources, kernel
from ..cuda_memory import Array, Table, empty, on_device
from . import temporal
from .cuda_cell import Shape
from .structure import Structure
from .temporal import Rates, Tables, Variant
from .temporal_classes import Classes, classify, one_class
from .temporal_plan import Tile, plan, trace_size


class FusedSteps:
    """`steps` steps at once of problems of one structure on one grid.

    trace: after a launch, the cells beside walls after each step but the last: (steps - 1, boundary cells), flat, the
    FACES one after another, each in C order of its two axes; those of periodic faces are not written. One element
    where `traced` is false. classes: see `classes_of`; needed where the structure has zones or pairs of them.
    """

    def __init__(
        self,
        structure: Structure,
        tile: Tile,
        shape: tuple[int, int, int],
        *,
        traced: bool,
        classes: Classes | None = None,
    ) -> None:
        self.steps = tile.steps
        self.trace = empty(trace_size(tile, shape) if traced and tile.steps > 1 else 1, structure.dtype)
        self._variant = Variant(structure, tile, shape[2] % tile.columns == 0, traced)
        pieces, firsts = _plan(structure, tile, shape)
        self._grid = (len(firsts) - 1, 1, 1)
        self._shape = Shape(*map(np.uint32, shape))
        self._plan = on_device(pieces), on_device(firsts)
        self._classes = classes or one_class(1)
        self._no_pairs = empty(1, structure.dtype)
        self._shared = temporal.shared_bytes(tile, structure)

    def launch(self, u: Array, v: Array, k: int, tables: Tables, rates: Rates, pairs: Array | None = None) -> None:
        """Write to `v` what `u` is after `steps` steps, of which the first is step k of the tables. `pairs` are rates
        by the zones of two neighbours, (3, n, n) flat, where the structure has such."""
        args = self._args(u, v, k, tables, rates, pairs)
        self._kernel(args)(self._grid, self._variant.tile.block, args, self._shared)

    def resources(self, u: Array, tables: Tables, rates: Rates) -> Resources:
        """What the kernel takes of the GPU."""
        found: Resources = self._kernel(self._args(u, u, 0, tables, rates, None)).resources(
            self._variant.tile.block, self._shared
        )
        return found

    def _args(self, u: Array, v: Array, k: int, tables: Tables, rates: Rates, pairs: Array | None) -> tuple[Any, ...]:
        values = u, v, self.trace, self._shape, *self._plan, np.int32(k), tables, rates
        return *values, self._classes, self._no_pairs if pairs is None else pairs

    def _kernel(self, args):  # type: ignore[no-untyped-def]
        return kernel(temporal.build, self._variant, args, temporal.bounds(self._variant.tile))


def classes_of(
    structure: Structure, tile: Tile, shape: tuple[int, int, int], zones: Array, zone_count: int
) -> Classes | None:
    """What `FusedSteps` needs to know of several zones, flat uint8; None if the classes are too many for it."""
    if not structure.zones:
        return one_class(zone_count)
    return classify(structure, tile, shape, _plan(structure, tile, shape)[0], zones, zone_count)


def _plan(structure: Structure, tile: Tile, shape: tuple[int, int, int]) -> tuple[np.ndarray, np.ndarray]:
    return plan(tile, shape, structure.periodic, tile.resident * _multiprocessors())


def tables_of(wall_a: Table, wall_b: Table, heat: Table) -> Tables:
    """The tables of a batch of steps as the kernel takes them; `wall_a` and `wall_b` have as many rows."""
    return Tables(wall_a.array, wall_b.array, np.int32(wall_a.rows), heat.array, np.int32(heat.rows))


def _multiprocessors() -> int:
    """Multiprocessors of the current GPU."""
    return 2 if SIMULATED else int(cuda.get_current_device().MULTIPROCESSOR_COUNT)
