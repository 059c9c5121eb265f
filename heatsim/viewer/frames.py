"""The frames of a run as the viewer shows them: chosen, coarsened, quantised and packed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from math import ceil
from typing import NamedTuple

import numpy as np

from heatsim.errors import InputFileError
from heatsim.geometry.grid import AXES
from heatsim.store.field_reader import FieldReader, SnapshotHeader
from heatsim.viewer.encoding import EncodedFrame, encode, quantise

MAX_CELLS_A_FRAME = 160**3  # of a page that a browser turns without effort
MAX_CELLS = 60 * 128**3  # of all frames together: a page of about 25 MB
_THREADS = 2
_AT_ONCE = 4  # frames in memory


class Frame(NamedTuple):
    """A frame of the page: when, the values that 0 and 65535 stand for, its least and greatest value, and its data."""

    time: float
    step: int
    low: float
    high: float
    least: float
    greatest: float
    encoded: EncodedFrame


class FrameSource:
    """The snapshots of a run, coarsened by a whole factor along each axis that has enough cells.

    coarsening: means over blocks of so many cells along each axis, left out as many as fit; every: each so many-th
    snapshot, left out as many as fit.
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
        """The field of a snapshot, (nz, ny, nx) of the cells shown: means over the blocks, by volume."""
        if max(self._blocks) == 1:
            whole = slice(None)
            return self.reader.read(header, self.field, (whole, whole, whole))
        found = np.empty(self.shape, np.float64)
        for z, planes in self._whole_blocks(header):
            found[z // self._blocks[0] : z // self._blocks[0] + ceil(len(planes) / self._blocks[0])] = self._means(
                planes, z
            )
        return found

    def coarse_ids(self, ids: np.ndarray) -> np.ndarray:
        """Of each block the number (nz, ny, nx) of the cell in its middle."""
        middles = [
            np.minimum(np.arange(0, n, block) + block // 2, n - 1)
            for n, block in zip(ids.shape, self._blocks, strict=True)
        ]
        return ids[np.ix_(*middles)]

    def _whole_blocks(self, header: SnapshotHeader) -> Iterator[tuple[int, np.ndarray]]:
        """Planes of a snapshot, as many as make whole blocks: the index of the first, and (planes, ny, nx)."""
        height, nz = self._blocks[0] * max(1, 32 // self._blocks[0]), self.reader.grid.shape[0]
        whole = slice(None)
        for z in range(0, nz, height):
            yield z, self.reader.read(header, self.field, (slice(z, min(z + height, nz)), whole, whole))

    def _means(self, planes: np.ndarray, z: int) -> np.ndarray:
        grid, found = self.reader.grid, planes.astype(np.float64)
        weights = (grid.measure("z")[z : z + len(planes)], grid.measure("y"), grid.measure("x"))
        for axis, (weight, block) in enumerate(zip(weights, self._blocks, strict=True)):
            starts = np.arange(0, found.shape[axis], block)
            shape = [-1 if other == axis else 1 for other in range(3)]
            totals = np.add.reduceat(weight, starts).reshape(shape)
            found = np.add.reduceat(found * weight.reshape(shape), starts, axis=axis) / totals
        return found


def encode_frames(
    source: FrameSource, solid: np.ndarray | None, tell: Callable[[str], None], progress: Callable[[float], None]
) -> list[Frame]:
    """All frames, with one pair of ends. solid: which cells of the source have values of their own. Snapshots that are
    damaged are left out, and told.

    The snapshots are read twice, first for the ends, so that few are in memory.
    """
    headers, extents = [], []
    for number, header in enumerate(source.headers):
        try:
            extents.append(_extent(source.values(header), solid))
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
            for header, extent, each in zip(some, extents[first:], encoded, strict=False):
                found.append(Frame(header.time, header.step, low, high, *extent, each))
            progress(0.4 + 0.6 * len(found) / len(headers))
    return found


def encode_frame(source: FrameSource, header: SnapshotHeader, solid: np.ndarray | None) -> Frame:
    """A frame by itself, with ends of its own: of a run that goes on, whose range is not known yet."""
    values = source.values(header)
    low, high = _extent(values, solid)
    return Frame(header.time, header.step, low, high, low, high, encode(quantise(values, low, high)))


def _extent(values: np.ndarray, solid: np.ndarray | None) -> tuple[float, float]:
    """The least and the greatest finite value of the cells that have one."""
    shown = values if solid is None else values[solid]
    shown = shown[np.isfinite(shown)]
    return (float(shown.min()), float(shown.max())) if shown.size else (0.0, 0.0)
