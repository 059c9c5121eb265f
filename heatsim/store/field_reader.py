"""The snapshots of a run, read by planes, lines and blocks: of a file no more than the chunks that hold these."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from heatsim.base.grid import CellGrid
from heatsim.base.quantity import Quantity
from heatsim.errors import InputFileError, RequestError, RunFolderError
from heatsim.store.chunks import read_block
from heatsim.store.folder import RunFolder
from heatsim.store.hdf5 import open_own, read_quantity
from heatsim.store.slab_files import snapshot_dataset
from heatsim.store.snapshots import AXES, extra_fields, read_grid

Cut = slice | int
Block = tuple[Cut, Cut, Cut]  # along z, y, x
Derive = Callable[[np.ndarray, float], dict[str, np.ndarray]]

_SAME_TIME = 1e-6  # of the time between the first and the last snapshot
_BLOCK_CELLS = 2**24  # read at once while a whole field is searched


class SnapshotHeader(NamedTuple):
    """A snapshot: its file, its time in s, and its step."""

    path: Path
    time: float
    step: int


class FieldInfo(NamedTuple):
    """A field of the snapshots: its unit as CF writes it, and its long name."""

    unit: str
    long_name: str


class FieldReader:
    """The snapshots of a run folder. Those that cannot be read are passed over, and reported in `skipped`.

    Snapshots are renamed into place when they are complete, so a run that still goes on is read like any other.
    """

    grid: CellGrid
    title: str
    quantity: Quantity
    fields: dict[str, FieldInfo]

    def __init__(self, folder: RunFolder) -> None:
        """Read the headers. Raises RunFolderError where there is no snapshot that can be read."""
        self.folder, self.skipped = folder, list[str]()
        self.snapshots: list[SnapshotHeader] = []
        self._derive: dict[str, Derive] = {}
        self._derived: tuple[SnapshotHeader, Derive, dict[str, np.ndarray]] | None = None  # the last ones
        paths = folder.snapshot_paths()
        for path in paths:
            try:
                self._take(path)
            except InputFileError as error:
                self.skipped.append(f"{error}; it is left out")
        if not self.snapshots:
            why = f"none of its {len(paths)} snapshots can be read: {self.skipped[0]}" if paths else "no snapshots yet"
            raise RunFolderError(f"{folder.path}: the run has {why}")

    @property
    def times(self) -> list[float]:
        """The times of the snapshots, s."""
        return [snapshot.time for snapshot in self.snapshots]

    def at(self, time: float | None) -> SnapshotHeader:
        """The snapshot nearest to a time, s; the last one for None. Raises RequestError for a time outside the run."""
        if time is None or (len(self.snapshots) == 1 and not np.isfinite(self.times[0])):
            return self.snapshots[-1]
        first, last = self.times[0], self.times[-1]
        slack = _SAME_TIME * (last - first)
        if not first - slack <= time <= last + slack:
            raise RequestError(
                f"t = {time:g} s: the snapshots of {self.folder.path} are from {first:g} s to {last:g} s"
            )
        return min(self.snapshots, key=lambda snapshot: abs(snapshot.time - time))

    def add_derived(self, fields: dict[str, FieldInfo], derive: Derive) -> None:
        """Add fields that the snapshots do not hold; derive: gives them for a temperature (nz, ny, nx) at a time, s."""
        self.fields |= fields
        self._derive |= dict.fromkeys(fields, derive)

    def read(self, snapshot: SnapshotHeader, name: str, block: Block) -> np.ndarray:
        """Values of a field in a block of cells. Raises InputFileError for a file that is damaged."""
        if name in self._derive:
            return self._whole_derived(snapshot, self._derive[name])[name][block]
        with open_own(snapshot.path, "snapshot") as file:
            return read_block(snapshot_dataset(file, name), block)

    def _whole_derived(self, snapshot: SnapshotHeader, derive: Derive) -> dict[str, np.ndarray]:
        if self._derived is None or self._derived[:2] != (snapshot, derive):
            whole = slice(None)
            temperature = self.read(snapshot, self.quantity.name, (whole, whole, whole))
            self._derived = snapshot, derive, derive(temperature, snapshot.time)
        return self._derived[2]

    def plane(self, snapshot: SnapshotHeader, name: str, axis: str, index: int) -> np.ndarray:
        """The plane of a field normal to "x", "y" or "z" at a cell index: (nz, ny), (nz, nx) or (ny, nx)."""
        z, y, x = (index if each == axis else slice(None) for each in AXES)
        return self.read(snapshot, name, (z, y, x))

    def blocks(self, snapshot: SnapshotHeader, name: str) -> Iterator[tuple[int, np.ndarray]]:
        """A field in blocks of whole planes: the z index of the first, and values (planes, ny, nx)."""
        nz, ny, nx = self.grid.shape
        with open_own(snapshot.path, "snapshot") as file:
            data = snapshot_dataset(file, name)
            height = data.chunks[0] if data.chunks else 1
            height *= max(1, _BLOCK_CELLS // (height * ny * nx))
            for z in range(0, nz, height):
                yield z, read_block(data, (slice(z, z + height), slice(None), slice(None)))

    def require(self, name: str) -> FieldInfo:
        """What is known of a field. Raises RequestError where the snapshots do not hold it."""
        if name not in self.fields:
            known = ", ".join(self.fields)
            raise RequestError(
                f"{self.folder.path}: its snapshots hold no field {name!r}; they hold {known}. "
                "More are kept with output.fields in the scenario"
            )
        return self.fields[name]

    def _take(self, path: Path) -> None:
        with open_own(path, "snapshot") as file:
            header = SnapshotHeader(path, float(file["time"][()]), int(file.attrs["step"]))
            grid = read_grid(file)
            if not self.snapshots:
                self.quantity = read_quantity(file)
                names = (self.quantity.name, *extra_fields(file))
                self.grid, self.title = grid, str(file.attrs["title"])
                of_fields = {name: snapshot_dataset(file, name).attrs for name in names}
                self.fields = {
                    name: FieldInfo(str(found["units"]), str(found.get("long_name", name)))
                    for name, found in of_fields.items()
                }
            elif grid != self.grid or any(name not in file for name in self.fields):
                raise ValueError("it differs from the first snapshot in grid or fields")
        self.snapshots.append(header)
