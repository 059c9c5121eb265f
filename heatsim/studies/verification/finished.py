"""What verification reads of a finished run, from its folder as a user finds it."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from heatsim.store.folder import RunFolder
from heatsim.store.snapshots import Snapshot, read_geometry_block, read_snapshot

if TYPE_CHECKING:
    from heatsim.base.grid import CellGrid
    from heatsim.scenario import Scenario


@dataclass(frozen=True)
class FinishedRun:
    """A finished run of `scenario`, refined by a factor `grid`, with its step cut by `step`."""

    scenario: Scenario
    path: Path
    info: dict[str, Any]
    refined: int = 1
    shortened: int = 1

    @cached_property
    def last(self) -> Snapshot:
        """The last snapshot."""
        return read_snapshot(RunFolder(self.path).snapshot_paths()[-1])

    @property
    def grid(self) -> CellGrid:
        """The grid of the run."""
        return self.last.grid

    @property
    def time(self) -> float:
        """Time of the last snapshot, s; infinite in a steady state."""
        return self.last.time

    @property
    def temperature(self) -> np.ndarray:
        """(nz, ny, nx) at the end, float64, in the scenario's unit."""
        return self.last.temperature.astype(np.float64)

    @cached_property
    def solid(self) -> np.ndarray:
        """(nz, ny, nx) which cells are solved, and not of an ambient or void."""
        folder, whole = RunFolder(self.path), slice(None)
        if not folder.geometry.is_file():
            return np.ones(self.grid.shape, bool)
        ids, names = read_geometry_block(folder.geometry, (whole, whole, whole))
        return np.asarray(~np.isin(names, list(self.scenario.ambients))[ids])

    def points(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Cell centres x (nx,), y (ny, 1), z (nz, 1, 1), m."""
        return self.grid.centres("x"), self.grid.centres("y")[:, None], self.grid.centres("z")[:, None, None]

    def probe(self, name: str) -> float:
        """Temperature at a probe at the end."""
        return float(self.probes[name][-1])

    @cached_property
    def probes(self) -> dict[str, np.ndarray]:
        """Values of all probes over time, and "time" (s)."""
        with RunFolder(self.path).probes.open(encoding="utf-8", newline="") as file:
            header, *rows = csv.reader(file)
        columns = np.array(rows, dtype=np.float64).T
        return {name.rpartition(" [")[0]: column for name, column in zip(header, columns, strict=True)}

    @property
    def ledger(self) -> float:
        """Relative residual of the energy ledger."""
        return float(self.info["energy"]["relative_residual"])

    def heat(self, face: str) -> float:
        """Heat that entered through a face: J since t = 0, or W in a steady state."""
        return float(self.info["energy"]["faces"][face])


def grid_spacings(runs: Sequence[FinishedRun]) -> list[float]:
    """The cell size of each run, in that of the coarsest."""
    return [1.0 / run.refined for run in runs]
