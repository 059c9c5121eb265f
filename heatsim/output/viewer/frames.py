"""The frames of a run as the viewer shows them: chosen, coarsened, quantised and packed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import ceil
from typing import NamedTuple

import numpy as np

from heatsim.base.grid import AXES
from heatsim.errors import InputFileError, RunFolderError
from heatsim.output.viewer.encoding import EncodedFrame, encode, quantise
from heatsim.store.field_reader import FieldReader, SnapshotHeader
from heatsim.store.snapshots import read_geometry_block, unsolved_names

MAX_CELLS_A_FRAME = 160**3  # of a page that a browser turns without effort
MAX_CELLS = 60 * 128**3  # of all frames together: a page of about 25 MB
_THREADS = 2
_AT_ONCE = 4  # frames in memory
_SAME = 0.98  # of the greatest spread: a frame that tells as much


@dataclass(frozen=True)
class CellMaterials:
    """ids: (nz, ny, nx) uint8 of the cells shown; names: of the ids; ambient: of each, whether it is not solved; void:
    of each, whether it has no temperature either."""

    ids: np.ndarray
    names: tuple[str, ...]
    ambient: tuple[bool, ...]
    void: tuple[bool, ...]

    @property
    def solid(self) -> np.ndarray:
        """(nz, ny, nx) which cells are solved."""
        return np.asarray(~np.array(self.ambient)[self.ids])

    def outside(self, values: np.ndarray) -> tuple[float | None, ...]:
        """The value of the cells of each id that are not solved but have a value, as an ambient has; else None."""
        found: list[float | None] = [None] * len(self.ambient)
        for number in np.flatnonzero(np.array(self.ambient) & ~np.array(self.void)).tolist():
            cells = values[self.ids == number]
            if cells.size and np.isfinite(cells[0]):
                found[number] = float(cells[0])
        return tuple(found)


class Frame(NamedTuple):
    """A frame of the page: when, the values that 0 and 65535 stand for, its least and greatest value, the values of
    what is not solved, by material, and its data."""

    time: float
    step: int
    low: float
    high: float
    least: float
    greatest: float
    outside: tuple[float | None, ...]
    encoded: EncodedFrame


class FrameSource:
    """The snapshots of a run, coarsened by a whole factor along each axis that has enough cells.

    coarsening: means over blocks of so many cells along each axis, left out as many as fit; every: each so many-th
    snapshot, left out as many as fit. `materials`: those of the cells shown; None where all are one, or nothing can be
    read of them.
    """

    def __init__(
        self, reader: FieldReader, field: str = "", coarsening: int | None = None, every: int | None = None
    ) -> None:
        """field: "" for what was solved for."""
        self.reader, self.field = reader, field or reader.quantity.name
        cells = reader.grid.cells
        if coarsening is None:
            coarsening = max(1, ceil((cells / MAX_CELLS_A_FRAME) ** (1 / 3) - 1e-9))
        self.coarsening = coarsening
        self._blocks = tuple(min(coarsening, n) for n in reader.grid.shape)
        self.shape = tuple(ceil(n / block) for n, block in zip(reader.grid.shape, self._blocks, strict=True))
        count = len(reader.snapshots)
        if every is None:
            every = max(1, ceil(count * np.prod(self.shape, dtype=float) / MAX_CELLS))
        self.every = every
        self.materials, self._kinds = self._read_materials()

    @property
    def headers(self) -> list[SnapshotHeader]:
        """The snapshots that are shown: every so many-th, and the last."""
        found = self.reader.snapshots[:: self.every]
        return found if found[-1] is self.reader.snapshots[-1] else [*found, self.reader.snapshots[-1]]

    def faces(self, axis: str) -> np.ndarray:
        """Places of the faces of the cells shown, m."""
        places, block = self.reader.grid.faces(axis), self._blocks[2 - AXES.index(axis)]
        return np.unique(np.append(places[:-1:block], places[-1]))

    def values(self, header: SnapshotHeader) -> np.ndarray:
        """The field of a snapshot, (nz, ny, nx) of the cells shown: means over the blocks, by volume. Of a block whose
        middle is solved that of the cells solved; else that of the cells of the middle's ambient."""
        if max(self._blocks) == 1:
            whole = slice(None)
            return self.reader.read(header, self.field, (whole, whole, whole))
        found, block, whole = np.empty(self.shape, np.float64), self._blocks[0], slice(None)
        for start in range(0, self.shape[0], most := max(1, 32 // block)):  # as many planes as make whole blocks
            z = start * block
            planes = self.reader.read(header, self.field, (slice(z, z + most * block), whole, whole))
            found[start : start + most] = self._means(planes, z)
        return found

    def coarse_ids(self, ids: np.ndarray) -> np.ndarray:
        """The number (nz, ny, nx) that the middle cell of each block has."""
        middles = [
            np.minimum(np.arange(0, n, block) + block // 2, n - 1)
            for n, block in zip(ids.shape, self._blocks, strict=True)
        ]
        return ids[np.ix_(*middles)]

    def _means(self, planes: np.ndarray, z: int) -> np.ndarray:
        grid = self.reader.grid
        weights: np.ndarray | float = 1.0
        if self._kinds is not None:
            kinds = self._kinds[z : z + len(planes)]
            middles = self.coarse_ids(kinds)
            for axis, (n, block) in enumerate(zip(kinds.shape, self._blocks, strict=True)):
                middles = np.repeat(middles, block, axis=axis).take(range(n), axis=axis)
            weights = (kinds == middles).astype(np.float64)
            planes = np.where(weights > 0, planes, 0.0)  # an ambient without a temperature is not a number
        sums, volumes = planes * weights, np.broadcast_to(weights, planes.shape)
        for axis, block in enumerate(self._blocks):
            starts = np.arange(0, planes.shape[axis], block)
            measure = grid.measure("zyx"[axis])[z : z + len(planes)] if axis == 0 else grid.measure("zyx"[axis])
            measure = measure.reshape([-1 if other == axis else 1 for other in range(3)])
            sums, volumes = (np.add.reduceat(each * measure, starts, axis=axis) for each in (sums, volumes))
        return np.asarray(sums / volumes)

    def _read_materials(self) -> tuple[CellMaterials | None, np.ndarray | None]:
        """The materials of the cells shown; and of all cells, where they are coarsened and not all are solved, a number
        (nz, ny, nx) uint8: 0 of those solved, else one for each ambient."""
        folder, whole = self.reader.folder, slice(None)
        if not folder.geometry.is_file():
            return None, None
        try:
            ids, names = read_geometry_block(folder.geometry, (whole, whole, whole))
            scenario = folder.read_scenario()
            unsolved = np.isin(names, unsolved_names(scenario))
        except (InputFileError, RunFolderError):
            return None, None
        void = tuple((unsolved & ~np.isin(names, list(scenario.get("ambients", {})))).tolist())
        shown = np.ascontiguousarray(self.coarse_ids(ids).astype(np.uint8))
        kinds = np.where(unsolved, np.arange(1, len(names) + 1), 0).astype(np.uint8)[ids] if unsolved.any() else None
        return CellMaterials(shown, names, tuple(unsolved.tolist()), void), kinds if max(self._blocks) > 1 else None


def encode_frames(source: FrameSource, tell: Callable[[str], None], progress: Callable[[float], None]) -> list[Frame]:
    """Encode all frames with one range: that of the cells that are solved. Damaged snapshots are left out, and told.

    The snapshots are read twice, first for the range, so that few are in memory.
    """
    headers, extents, outsides = [], [], []
    for number, header in enumerate(source.headers):
        try:
            values = source.values(header)
            extents.append(_extent(values, source.materials))
            outsides.append(_outside(values, source.materials))
            headers.append(header)
        except InputFileError as error:
            tell(f"{error}; it is left out")
        progress(0.4 * (number + 1) / len(source.headers))
    if not headers:
        return []
    low, high = min(each[0] for each in extents), max(each[1] for each in extents)
    found: list[Frame] = []
    before: np.ndarray | None = None
    with ThreadPoolExecutor(_THREADS) as threads:
        for first in range(0, len(headers), _AT_ONCE):
            some = headers[first : first + _AT_ONCE]
            numbers = list(threads.map(lambda header: quantise(source.values(header), low, high), some))
            encoded = threads.map(encode, numbers, [before, *numbers[:-1]])
            before = numbers[-1]
            for header, extent, outside, each in zip(some, extents[first:], outsides[first:], encoded, strict=False):
                found.append(Frame(header.time, header.step, low, high, *extent, outside, each))
            progress(0.4 + 0.6 * len(found) / len(headers))
    return found


def encode_frame(source: FrameSource, header: SnapshotHeader) -> Frame:
    """Encode one frame with a range of its own: of a run that goes on, whose range is not known yet."""
    values = source.values(header)
    low, high = _extent(values, source.materials)
    outside = _outside(values, source.materials)
    return Frame(header.time, header.step, low, high, low, high, outside, encode(quantise(values, low, high)))


def most_telling(spreads: Sequence[float]) -> int:
    """Which of some frames tells most: the one whose values, of which the spreads are given, differ most; the last one
    of those that differ nearly as much."""
    return max(number for number, spread in enumerate(spreads) if spread >= _SAME * max(spreads))


def _outside(values: np.ndarray, materials: CellMaterials | None) -> tuple[float | None, ...]:
    return () if materials is None else materials.outside(values)


def _extent(values: np.ndarray, materials: CellMaterials | None) -> tuple[float, float]:
    """The least and the greatest finite value of the cells that are solved."""
    shown = values if materials is None else values[materials.solid]
    shown = shown[np.isfinite(shown)]
    return (float(shown.min()), float(shown.max())) if shown.size else (0.0, 0.0)
