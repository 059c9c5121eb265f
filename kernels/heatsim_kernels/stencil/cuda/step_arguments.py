"""CUDA: what the steps of one call of a sweep have in common, sent to the device unless it is there already."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from heatsim_kernels.runtime.cuda.arrays import Array, Table, Upload, on_device
from heatsim_kernels.stencil.cuda.cell_update import RATES, CudaExchange, CudaSources
from heatsim_kernels.stencil.cuda.configuration import StencilConfiguration
from heatsim_kernels.stencil.terms import Forcing, StencilCoefficients

NOTHING = np.zeros((1, 1))  # in place of a table that a problem has not


class StepArguments(NamedTuple):
    """What the steps of one call have in common, on the device. The first four fields are those of `LedgerInputs`."""

    structure: StencilConfiguration
    wall_a: Table
    wall_b: Table
    weights: Array
    medium: CudaExchange
    heat_table: Table
    dt: float  # in the field's precision
    heat_field: Array
    gains: np.ndarray

    @property
    def rows(self) -> int:
        """Steps after which all are alike."""
        return max(self.wall_a.rows, self.wall_b.rows, self.heat_table.rows, len(self.gains))

    def heat(self, k: int) -> CudaSources:
        """The sources of step k."""
        gain = self.gains[min(k, len(self.gains) - 1)]
        return CudaSources(self.heat_table.row(k), self.dt, self.heat_field, gain)


class StepArgumentCache:
    """Batches of one problem, one after another; `kinds`: of the cells, on the device.

    The caller must have waited for the launches before last when it asks for the next, as for an `Upload`.
    """

    def __init__(self, terms: StencilCoefficients, dtype: np.dtype, kinds: Array) -> None:
        self._terms, self._dtype, self._kinds = terms, dtype, kinds
        self._uploads = {name: Upload() for name in ("a", "b", "table", "rates", "weights")}
        self._dt = np.nan
        self._heat_source: np.ndarray | None = None
        self._heat_field: Array | None = None

    def of(self, dt: float, drive: Forcing) -> StepArguments:
        """The batch of steps of `dt` seconds."""
        kind, send = self._dtype, self._uploads
        if dt != self._dt:
            self._dt = dt
            rates = (dt * self._terms.rates).astype(kind)
            self._rates = np.pad(rates, ((0, 0), (0, RATES - rates.shape[1]))).reshape(1, -1)
            self._weights = (rates.T.astype(np.float64) * self._terms.capacity).reshape(1, -1)
        rx, ry, rz = self._rates[0, 0:6:2]
        rates_of_kinds = send["rates"].send(self._rates, kind).row(0)
        return StepArguments(
            StencilConfiguration.of(self._terms, drive, kind),
            send["a"].send(drive.wall_a, kind),
            send["b"].send(drive.wall_b, kind),
            send["weights"].send(self._weights, np.dtype(np.float64)).row(0),
            CudaExchange(rx, ry, rz, rates_of_kinds, self._kinds),
            send["table"].send(NOTHING if drive.heat_table is None else drive.heat_table, kind),
            kind.type(dt),
            self._field_of(drive.heat_field),
            (dt * drive.heat_scale).astype(kind),
        )

    def _field_of(self, source: np.ndarray | None) -> Array:
        """A source by cell, flat, on the device; there already if it is the same object as last time."""
        if self._heat_source is not source or self._heat_field is None:
            self._heat_source = source
            self._heat_field = on_device((NOTHING if source is None else source).astype(self._dtype).reshape(-1))
        return self._heat_field
