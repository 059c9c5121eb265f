"""What a CUDA kernel is compiled for. Values are arguments of a kernel; which terms exist is compiled in."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from heatsim_kernels.explicit.coefficients import Forcing, StencilCoefficients

# For how many cell classes `temporal` may have room, for their boundary values, in shared memory.
ROOM_FOR_CLASSES = 32, 128


class StencilConfiguration(NamedTuple):
    """The terms that a kernel has; it is compiled once for each configuration."""

    dtype: str
    uniform: bool  # one exchange rate an axis for all cells; else six for each cell class
    class_dtype: str  # dtype of the array of cell classes; "" where there is a single class
    heat_table: bool
    heat_field: bool
    boundary_per_cell: bool
    periodic: tuple[bool, bool, bool]
    stage: str = ""  # "two" or "four": fields that a Runge-Kutta stage is made of; "" for an explicit step
    uneven: tuple[bool, bool, bool] = (True, True, True)  # see `StencilCoefficients`; only `temporal` makes use of it
    losses: bool = False
    layered: bool = False  # whether all cells of a plane normal to z have one class; only `temporal` makes use of it
    room_for_classes: int = 0  # one of ROOM_FOR_CLASSES; 0: boundary values of classes are looked up in global memory
    # Pieces of Kirchhoff's potential, down whose slope heat then flows, a power of two; 0: down that of the cells. And
    # whether one of them is a cubic. Only `temporal` makes use of them.
    pieces: int = 0
    cubic: bool = False
    paired: bool = False  # see `StencilCoefficients`

    @property
    def classes_by_cell(self) -> bool:
        """Whether `temporal` reads the class of each cell."""
        return self.class_dtype != "" and not self.layered

    @property
    def steps_by_class(self) -> bool:
        """Whether `temporal` takes steps of cells whose faces have the rates of the class of each."""
        return self.classes_by_cell and not self.uniform and not self.stage

    @property
    def carries_heat(self) -> bool:
        """Whether losses follow from the heat that the field holds: see `LossesOfOneClass`. Else cells are summed."""
        return self.losses and self.class_dtype == ""

    def looks_up(self, axis: int) -> bool:
        """Whether `temporal` looks boundary values at the faces of an axis (0, 1 or 2 for x, y, z) up by cell."""
        if self.boundary_per_cell and self.uneven[axis]:
            return True
        return self.class_dtype != "" and not self.room_for_classes

    @property
    def holds_boundary_of_classes(self) -> bool:
        """Whether `temporal` holds the boundary values of each cell class in shared memory."""
        return self.room_for_classes > 0 and not self.boundary_per_cell

    def with_room_for(self, class_count: int) -> StencilConfiguration:
        """The same with the least room that so many cell classes find, if there are several."""
        rooms = [room for room in ROOM_FOR_CLASSES if room >= class_count] if self.class_dtype else []
        return self._replace(room_for_classes=min(rooms, default=0))

    @classmethod
    def of(cls, coefficients: StencilCoefficients, forcing: Forcing, dtype: np.dtype) -> StencilConfiguration:
        """The configuration for a problem, with the sources of this forcing."""
        return cls(
            np.dtype(dtype).name,
            coefficients.uniform,
            coefficients.class_ids.dtype.name if coefficients.several else "",
            forcing.heat_table is not None,
            forcing.heat_field is not None,
            coefficients.boundary_per_cell,
            coefficients.periodic,
            losses=coefficients.losses is not None,
            paired=coefficients.paired,
        )
