"""What a sweep is given: the terms of a discretised heat problem, and the values that drive it from step to step.

Arrays are (nz, ny, nx), C order, and travel flat. A *kind* is a class of cells with equal rates of exchange through all
six faces, equal heat capacity and equal sources. A kernel reads the kind of a cell and takes its six rates from a small
table; it needs nothing of the neighbours but their temperatures. Materials, contacts between them, unequal cells,
cylindrical coordinates and cells that are not solved are all other numbers in the table, at one byte of traffic a cell
(two from 257 kinds). Numbers are float64 here; a kernel rounds them to the field's precision once.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from heatsim_kernels.field.window_source import WindowSource

FACES = ("x_min", "x_max", "y_min", "y_max", "z_min", "z_max")


class AmbientFaces(NamedTuple):
    """Faces inside the box whose heat is entered in the ledger: those between cells solved and cells held.

    cells: (m,) int64 flat index of the cell that is solved; faces: (m,) uint8 which of its six FACES; owners: (m,)
    int64 number of the ambient beyond; ambients: how many there are. In a step the heat weight * (u[neighbour] -
    u[cell]) enters, of values before the step, with weight = float64(rounded dt*rate) * capacity of the cell.
    """

    cells: np.ndarray
    faces: np.ndarray
    owners: np.ndarray
    ambients: int


@dataclass(frozen=True)
class StencilCoefficients:
    """The parts of a problem that do not change with time.

    shape: (nz, ny, nx) cells.
    rates: (n, 6) 1/s, for each kind and each of FACES: conductance of that face over the heat capacity of the cell; at
        a face of the box that with which the ghost beyond is exchanged. 0 where nothing passes.
    capacity: (n,) heat capacity of one cell of each kind, J/K; 0 for cells that are not solved, whose rates are all 0:
        they are held at their temperature, while the cells beside them have a rate of exchange with them.
    kinds: (nz, ny, nx) uint8, uint16 or uint32, or None where there is a single kind.
    periodic: for axes x, y, z, whether the index wraps.
    closed: for the six FACES, whether no heat passes at any time (insulated or periodic).
    wall_per_cell: whether wall values come one a boundary cell (FACES one after another, each in C order of its two
        axes) or one a kind, (6, n).
    taps: faces between cells solved and cells held, if there are any.
    """

    shape: tuple[int, int, int]
    rates: np.ndarray
    capacity: np.ndarray
    kinds: np.ndarray | None = None
    periodic: tuple[bool, bool, bool] = (False, False, False)
    closed: tuple[bool, ...] = (True,) * 6
    wall_per_cell: bool = False
    taps: AmbientFaces | None = None

    @property
    def kind_count(self) -> int:
        """Number of kinds, n."""
        return len(self.capacity)

    @property
    def uniform(self) -> bool:
        """Whether one rate an axis serves all cells, so that second differences will do."""
        return self.kinds is None and bool(np.all(self.rates[0, ::2] == self.rates[0, 1::2]))

    @property
    def ledger_size(self) -> int:
        """Number of entries of the heat ledger: the six FACES, then the ambients."""
        return 6 + (0 if self.taps is None else self.taps.ambients)

    @property
    def wall_offsets(self) -> np.ndarray:
        """(6,) where each face starts in the flat wall values."""
        return self.cell_offsets if self.wall_per_cell else self.kind_count * np.arange(6)

    @property
    def cell_offsets(self) -> np.ndarray:
        """(6,) where each face starts if boundary cells, (nz, ny), (nz, nx), (ny, nx), are laid one after another."""
        nz, ny, nx = self.shape
        return np.concatenate(([0], np.cumsum(np.repeat([nz * ny, nz * nx, ny * nx], 2))[:-1])).astype(np.int64)

    @property
    def wall_size(self) -> int:
        """Number of wall values a step."""
        nz, ny, nx = self.shape
        return 2 * (nz * ny + nz * nx + ny * nx) if self.wall_per_cell else 6 * self.kind_count

    def self_exchange(self) -> np.ndarray:
        """(6, n) exchange of each kind with the ghost beyond each face, 1/s."""
        return self.rates.T

    def conductances(self) -> np.ndarray:
        """(6, n) conductance of each face of a cell of each kind, W/K."""
        return np.asarray(self.rates.T * self.capacity)

    def of_kinds(self, values: np.ndarray) -> np.ndarray:
        """Values (n,) of the kinds, spread over the cells: (nz, ny, nx), or (1, 1, 1) where there is a single kind."""
        return values.reshape(1, 1, 1) if self.kinds is None else values[self.kinds]


def table_rows(table: np.ndarray, first: int, steps: int) -> np.ndarray:
    """The rows of some steps, from step `first` on; the last row serves all later steps, and one is always given."""
    at = min(first, len(table) - 1)
    return table[at : at + max(1, steps)]


@dataclass(frozen=True)
class Forcing:
    """The values that may change from step to step, for a batch of steps.

    wall_a, wall_b: (k, wall_size) beyond each boundary face lies T + (a*T + b), T being the cell beside it; row
        min(step, k - 1) serves a step, so one row is constant in time.
    heat_table: (k, n) heating rate of each kind, K/s, or None. 0 for cells that are held.
    heat_field: (nz, ny, nx) heating rate of each cell, K/s, in the field's precision, or None.
    heat_scale: (k,) factor on `heat_field`.
    deposits: of each step, the windows that are heated when it has been taken; steps beyond the last have none.
    """

    wall_a: np.ndarray
    wall_b: np.ndarray
    heat_table: np.ndarray | None = None
    heat_field: np.ndarray | None = None
    heat_scale: np.ndarray = field(default_factory=lambda: np.ones(1))
    deposits: tuple[tuple[WindowSource, ...], ...] = ()

    @classmethod
    def insulated(cls, terms: StencilCoefficients) -> Forcing:
        """Neither walls nor sources: ghost = T everywhere."""
        return cls(np.zeros((1, terms.wall_size)), np.zeros((1, terms.wall_size)))

    def of_steps(self, first: int, steps: int) -> Forcing:
        """What drives some steps of the batch, from step `first` on, alone."""
        table = self.heat_table
        return replace(
            self,
            wall_a=table_rows(self.wall_a, first, steps),
            wall_b=table_rows(self.wall_b, first, steps),
            heat_table=None if table is None else table_rows(table, first, steps),
            heat_scale=table_rows(self.heat_scale, first, steps),
            deposits=self.deposits[first : first + steps],
        )
