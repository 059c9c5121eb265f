"""CUDA: the forcing of a batch of steps on its way to the device."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from heatsim_kernels.device.cuda.arrays import Array, Table, Upload, on_device
from heatsim_kernels.explicit.coefficients import Forcing
from heatsim_kernels.explicit.cuda_cell.cell_update import CudaSources


class BoundaryTables(NamedTuple):
    """The values of the boundary faces on the device, as `Forcing` has them, in the precision of the field."""

    a: Table
    b: Table

    def of_steps(self, first: int, steps: int) -> BoundaryTables:
        """Those of some steps."""
        return BoundaryTables(self.a.of_steps(first, steps), self.b.of_steps(first, steps))


class SentForcing(NamedTuple):
    """A `Forcing` on the device, and the length of its steps in the precision of the field; gains: of `heat_field`."""

    boundary_a: Table
    boundary_b: Table
    heat_table: Table
    dt: np.floating[Any]
    heat_field: Array
    gains: np.ndarray

    @property
    def rows(self) -> int:
        """Steps after which all are alike."""
        return max(self.boundary_a.rows, self.boundary_b.rows, self.heat_table.rows, len(self.gains))

    def sources(self, k: int) -> CudaSources:
        """The sources of step k."""
        return CudaSources(self.heat_table.row(k), self.dt, self.heat_field, self.gains[min(k, len(self.gains) - 1)])


class ForcingUploads:
    """Sends batches of one problem, one after another.

    The caller must have waited for the launches before last when it sends the next, as for an `Upload`.
    """

    def __init__(self, dtype: np.dtype, no_heat: np.ndarray) -> None:
        """no_heat: (1, n), in place of a table of sources that a problem has not."""
        self._dtype, self._no_heat = dtype, no_heat
        self._uploads = {name: Upload() for name in ("a", "b", "table")}
        self._heat_source: np.ndarray | None = None
        self._heat_field: Array | None = None

    def send(self, dt: float, forcing: Forcing) -> SentForcing:
        """Send the forcing of steps of `dt` seconds, unless it is there already."""
        dtype, uploads, given = self._dtype, self._uploads, forcing.on_device
        if isinstance(given, BoundaryTables):
            boundary = given
        else:
            tables = (uploads["a"], forcing.boundary_a), (uploads["b"], forcing.boundary_b)
            boundary = BoundaryTables(*(upload.send(values, dtype) for upload, values in tables))
        return SentForcing(
            *boundary,
            uploads["table"].send(self._no_heat if forcing.heat_table is None else forcing.heat_table, dtype),
            dtype.type(dt),
            self._field_of(forcing.heat_field),
            (dt * forcing.heat_scale).astype(dtype),
        )

    def _field_of(self, source: np.ndarray | None) -> Array:
        """A source by cell, flat; there already if it is the same object as last time."""
        if self._heat_source is not source or self._heat_field is None:
            self._heat_source = source
            values = np.zeros(1) if source is None else source.reshape(-1)
            self._heat_field = on_device(values.astype(self._dtype))
        return self._heat_field
