"""What a kernel is given: the coefficients of a discretised heat problem, and the forcing of each step.

Arrays are (nz, ny, nx), C order, and travel flat. A *cell class* is a set of cells with equal exchange rates through
all six faces, equal heat capacity and equal sources. A kernel reads the class of a cell and takes its six rates from a
small table. It needs nothing of the neighbours but their temperatures. Materials, contacts, unequal cells, cylindrical
coordinates and prescribed cells are all other numbers in the table, at one byte of memory traffic a cell (two from 257
classes). Numbers are float64 here; a kernel rounds them to the field's precision once.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np

from heatsim_kernels.explicit.face_sets import SIDES, FaceSet, classes_at
from heatsim_kernels.explicit.slabs import Slab, slab_ambient_faces, slab_boundary, slab_windows

if TYPE_CHECKING:
    from heatsim_kernels.field.window_source import WindowSource

FACES = ("x_min", "x_max", "y_min", "y_max", "z_min", "z_max")
ONE_CLASS = np.zeros((1, 1, 1), np.uint8)  # class_ids where there is a single class


@dataclass(frozen=True)
class StencilCoefficients:
    """The parts of a problem that do not change with time.

    shape: (nz, ny, nx) cells.
    rates: (n, 6) 1/s, for each cell class and each of FACES: conductance of that face over the heat capacity of the
        cell; at a face of the box that with which the ghost beyond is exchanged. 0 where nothing passes.
    capacity: (n,) heat capacity of one cell of each class, J/K; 0 for cells that are not solved, whose rates are
        all 0: they are prescribed at their temperature, while the cells beside them have a rate of exchange with them.
    class_ids: (nz, ny, nx) uint8, uint16 or uint32, or ONE_CLASS, which becomes a view that takes no memory.
    periodic: for axes x, y, z, whether the index wraps.
    closed: for the six FACES, whether no heat passes at any time (insulated or periodic).
    boundary_per_cell: whether boundary values come one a boundary cell (FACES one after another, each in C order of its
        two axes) or one a class, (6, n).
    ambient_faces: faces between solved and prescribed cells, of the solved ones, if there are any. In a step the heat
        weight * (u[neighbour] - u[cell]) enters through each, of values before the step, with weight = float64(rounded
        dt*rate) * capacity of the cell.
    uneven: for axes x, y, z, whether boundary values at their faces may differ from cell to cell, where they come one a
        boundary cell.
    losses: (n,) 1/s, share of its value that a cell of each class loses in a second, by decay or to what pervades it,
        or None where there is none. 0 for prescribed cells.
    """

    shape: tuple[int, int, int]
    rates: np.ndarray
    capacity: np.ndarray
    class_ids: np.ndarray = field(default_factory=lambda: ONE_CLASS)
    periodic: tuple[bool, bool, bool] = (False, False, False)
    closed: tuple[bool, ...] = (True,) * 6
    boundary_per_cell: bool = False
    ambient_faces: FaceSet | None = None
    uneven: tuple[bool, bool, bool] = (True, True, True)
    losses: np.ndarray | None = None

    def __post_init__(self) -> None:
        if self.class_ids.shape != self.shape:
            object.__setattr__(self, "class_ids", np.broadcast_to(self.class_ids, self.shape))

    @property
    def class_count(self) -> int:
        """Number of cell classes, n."""
        return len(self.capacity)

    @property
    def several(self) -> bool:
        """Whether there is more than one cell class. Where there is one, nothing looks the class of a cell up."""
        return self.class_count > 1

    @property
    def classes_to_look_up(self) -> np.ndarray | None:
        """The class of each cell, flat, as kernels take them; None where there is a single class."""
        return self.class_ids.reshape(-1) if self.several else None

    def classes_of(self, cells: np.ndarray) -> np.ndarray:
        """(m,) int64 the classes of some cells, flat indices (m,)."""
        return classes_at(cells, self.class_ids)

    @property
    def uniform(self) -> bool:
        """Whether one rate an axis serves all cells, so that second differences will do; their classes, if there are
        several, differ in their sources alone."""
        return bool(np.all(self.rates == np.repeat(self.rates[0, ::2], 2)))

    @cached_property
    def paired(self) -> bool:
        """Whether in each cell both faces in x have one rate, and both in y, as in layers along z, so that second
        differences will do there; not where they will do in z, too."""
        return not self.uniform and np.array_equal(self.rates[:, 0:4:2], self.rates[:, 1:4:2])

    @property
    def ledger_size(self) -> int:
        """Number of entries of the heat ledger: the six FACES, then the ambients, then the losses, if there are any."""
        return 6 + self.ambient_count + (self.losses is not None)

    @property
    def ambient_count(self) -> int:
        """Number of ambients in the heat ledger."""
        return 0 if self.ambient_faces is None else self.ambient_faces.ledger_size - SIDES

    @property
    def boundary_offsets(self) -> np.ndarray:
        """(6,) where each face starts in the flat boundary values."""
        return self.cell_offsets if self.boundary_per_cell else self.class_count * np.arange(6)

    @property
    def cell_offsets(self) -> np.ndarray:
        """(6,) where each face starts if boundary cells, (nz, ny), (nz, nx), (ny, nx), are laid one after another."""
        nz, ny, nx = self.shape
        return np.concatenate(([0], np.cumsum(np.repeat([nz * ny, nz * nx, ny * nx], 2))[:-1])).astype(np.int64)

    @property
    def boundary_size(self) -> int:
        """Number of boundary values a step."""
        nz, ny, nx = self.shape
        return 2 * (nz * ny + nz * nx + ny * nx) if self.boundary_per_cell else 6 * self.class_count

    def boundary_values_of(self, face: int) -> slice:
        """Where those of one of FACES stand among the boundary values of a step."""
        ends = [*self.boundary_offsets.tolist(), self.boundary_size]
        return slice(ends[face], ends[face + 1])

    def self_exchange(self) -> np.ndarray:
        """(6, n) exchange of each cell class with the ghost beyond each face, 1/s."""
        return self.rates.T

    def conductances(self) -> np.ndarray:
        """(6, n) conductance of each face of a cell of each class, W/K."""
        return np.asarray(self.rates.T * self.capacity)

    def spread_over_cells(self, values: np.ndarray) -> np.ndarray:
        """Values (n,) of the cell classes, spread over the cells: (nz, ny, nx), or (1, 1, 1) where there is a single
        class."""
        return values[self.class_ids] if self.several else values.reshape(1, 1, 1)

    def boundary_classes(self) -> np.ndarray:
        """The classes of the cells beside the boundary faces, FACES one after another, each in C order of its two
        axes."""
        ids = self.class_ids
        return np.concatenate([np.take(ids, end, axis).reshape(-1) for axis in (2, 1, 0) for end in (0, -1)])

    @cached_property
    def classes_of_planes(self) -> np.ndarray | None:
        """(nz,) the class of all cells in each plane normal to z; None where a plane has several, or all have one."""
        if not (self.several and all((plane == plane[0, 0]).all() for plane in self.class_ids)):
            return None
        return self.class_ids[:, 0, 0].copy()

    @cached_property
    def classes_by_plane(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """For axes x, y, z (planes, n) bool: which cell classes are in each plane normal to it."""
        nz, ny, nx = self.shape
        if not self.several:
            return np.ones((nx, 1), bool), np.ones((ny, 1), bool), np.ones((nz, 1), bool)
        of_x, of_y, of_z = (np.zeros((along, self.class_count), bool) for along in (nx, ny, nz))
        columns, rows = np.arange(nx), np.arange(ny)[:, None]
        for there, plane in zip(of_z, self.class_ids, strict=True):
            of_x[columns, plane] = of_y[rows, plane] = there[plane] = True
        return of_x, of_y, of_z

    def of_slab(self, slab: Slab) -> Self:
        """The coefficients of the planes that a slab keeps. Nothing passes the faces where it is cut."""
        closed = (*self.closed[:4], self.closed[4] or slab.below > 0, self.closed[5] or slab.above > 0)
        return replace(
            self,
            shape=slab.shape,
            class_ids=self.class_ids[slab.planes] if self.several else ONE_CLASS,
            periodic=(*self.periodic[:2], False),
            closed=closed,
            ambient_faces=slab_ambient_faces(self.ambient_faces, slab),
        )


def table_rows(table: np.ndarray, first: int, steps: int) -> np.ndarray:
    """The rows of some steps, from step `first` on; the last row serves all later steps, and one is always given. A
    table of one row comes back itself, by which a device knows it again."""
    if len(table) == 1:
        return table
    at = min(first, len(table) - 1)
    return table[at : at + max(1, steps)]


class DeviceBoundary(Protocol):
    """Values a and b of the boundary faces that were found on the device, in place of those of a `Forcing`."""

    def of_steps(self, first: int, steps: int) -> DeviceBoundary:
        """Those of some steps."""


@dataclass(frozen=True)
class Forcing:
    """The values that may change from step to step, for a batch of steps.

    boundary_a, boundary_b: (k, boundary_size) beyond each boundary face lies T + (a*T + b), T being the cell beside it,
        or Kirchhoff's potential of that cell in place of T where a material depends on temperature; row
        min(step, k - 1) serves a step, so one row is constant in time.
    heat_table: (k, n) heating rate of each cell class, K/s, or None. 0 for prescribed cells.
    heat_field: (nz, ny, nx) heating rate of each cell, K/s, in the field's precision, or None.
    heat_scale: (k,) factor on `heat_field`.
    window_sources: of each step, the windows that are heated when it has been taken; steps beyond the last have none.
    on_device: what stands in place of boundary_a and boundary_b, which may then be anything.
    from_ambients, from_sides: (m,) and (6,) what of `heat_field` comes from each ambient, and through each of FACES,
        W, or None. No kernel reads them.
    """

    boundary_a: np.ndarray
    boundary_b: np.ndarray
    heat_table: np.ndarray | None = None
    heat_field: np.ndarray | None = None
    heat_scale: np.ndarray = field(default_factory=lambda: np.ones(1))
    window_sources: tuple[tuple[WindowSource, ...], ...] = ()
    on_device: DeviceBoundary | None = None
    from_ambients: np.ndarray | None = None
    from_sides: np.ndarray | None = None

    @classmethod
    def insulated(cls, coefficients: StencilCoefficients) -> Forcing:
        """Neither boundary faces nor sources: ghost = T everywhere."""
        return cls(np.zeros((1, coefficients.boundary_size)), np.zeros((1, coefficients.boundary_size)))

    def of_steps(self, first: int, steps: int) -> Forcing:
        """What drives some steps of the batch, from step `first` on, alone."""
        table = self.heat_table
        return replace(
            self,
            boundary_a=table_rows(self.boundary_a, first, steps),
            boundary_b=table_rows(self.boundary_b, first, steps),
            heat_table=None if table is None else table_rows(table, first, steps),
            heat_scale=table_rows(self.heat_scale, first, steps),
            window_sources=self.window_sources[first : first + steps],
            on_device=None if self.on_device is None else self.on_device.of_steps(first, steps),
        )

    def part_of_slab(self, name: str, coefficients: StencilCoefficients, slab: Slab) -> Any:
        """One of the fields above, by name, for the planes that a slab keeps; coefficients: of the whole grid. Values
        that were found on a device stay there."""
        value = getattr(self, name)
        if name in ("boundary_a", "boundary_b"):
            return slab_boundary(value, coefficients, slab)
        if name == "heat_field":
            return None if value is None else value[slab.planes]
        if name == "window_sources":
            return tuple(tuple(slab_windows(windows, slab)) for windows in value)
        return value
