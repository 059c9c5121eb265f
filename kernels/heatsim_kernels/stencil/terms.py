"""What a sweep is given: the terms of a discretised heat problem, and the values that drive it from step to step.

Arrays are (nz, ny, nx), C order, and travel flat. A *zone* is a class of cells that share material and source; `zones`
holds one byte a cell, and everything that differs between zones stands in small tables, so that several materials cost
one byte of traffic a cell. Numbers are float64 here; a kernel rounds them to the field's precision once.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

FACES = ("x_min", "x_max", "y_min", "y_max", "z_min", "z_max")
MAX_ZONES = 256


@dataclass(frozen=True)
class Terms:
    """The parts of a problem that do not change with time.

    shape: (nz, ny, nx) cells.
    exchange: 1/s, face conductance over the cell's heat capacity. (3,) for axes x, y, z of a uniform material, or
        (3, n, n): axis, zone of the cell, zone of its neighbour. The entry of a zone with itself also serves its
        boundary faces.
    capacity: (n,) heat capacity of one cell of each zone, J/K.
    zones: (nz, ny, nx) uint8, or None where there is a single zone.
    periodic: for axes x, y, z, whether the index wraps.
    closed: for the six FACES, whether no heat passes at any time (insulated or periodic).
    wall_per_cell: whether wall values come one a boundary cell (FACES one after another, each in C order of its two
        axes) or one a zone, (6, n).
    """

    shape: tuple[int, int, int]
    exchange: np.ndarray
    capacity: np.ndarray
    zones: np.ndarray | None = None
    periodic: tuple[bool, bool, bool] = (False, False, False)
    closed: tuple[bool, ...] = (True,) * 6
    wall_per_cell: bool = False

    @property
    def zone_count(self) -> int:
        """Number of zones, n."""
        return len(self.capacity)

    @property
    def wall_offsets(self) -> np.ndarray:
        """(6,) where each face starts in the flat wall values."""
        return self.cell_offsets if self.wall_per_cell else self.zone_count * np.arange(6)

    @property
    def cell_offsets(self) -> np.ndarray:
        """(6,) where each face starts if boundary cells, (nz, ny), (nz, nx), (ny, nx), are laid one after another."""
        nz, ny, nx = self.shape
        return np.concatenate(([0], np.cumsum(np.repeat([nz * ny, nz * nx, ny * nx], 2))[:-1])).astype(np.int64)

    @property
    def wall_size(self) -> int:
        """Number of wall values a step."""
        nz, ny, nx = self.shape
        return 2 * (nz * ny + nz * nx + ny * nx) if self.wall_per_cell else 6 * self.zone_count

    def self_exchange(self) -> np.ndarray:
        """(6, n) exchange of each zone with the ghost beyond each face, 1/s."""
        if self.exchange.ndim == 1:
            own = np.repeat(self.exchange[:, None], self.zone_count, axis=1)
        else:
            own = np.einsum("aii->ai", self.exchange)
        return np.repeat(own, 2, axis=0)


@dataclass(frozen=True)
class Drive:
    """The values that may change from step to step, for a batch of steps.

    wall_a, wall_b: (k, wall_size) beyond each boundary face lies T + (a*T + b), T being the cell beside it; row
        min(step, k - 1) serves a step, so one row is constant in time.
    heat_table: (k, n) heating rate of each zone, K/s, or None.
    heat_field: (nz, ny, nx) heating rate of each cell, K/s, in the field's precision, or None.
    heat_scale: (k,) factor on `heat_field`.
    """

    wall_a: np.ndarray
    wall_b: np.ndarray
    heat_table: np.ndarray | None = None
    heat_field: np.ndarray | None = None
    heat_scale: np.ndarray = field(default_factory=lambda: np.ones(1))

    @classmethod
    def insulated(cls, terms: Terms) -> Drive:
        """Neither walls nor sources: ghost = T everywhere."""
        return cls(np.zeros((1, terms.wall_size)), np.zeros((1, terms.wall_size)))
