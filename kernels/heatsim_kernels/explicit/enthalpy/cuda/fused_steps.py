"""CUDA: several steps of one material in a sweep, by `temporal` (`explicit/blocked`).

There heat flows down the slope of Kirchhoff's potential, of which the material needs a few pieces (`pieces`). Boundary
faces are affine in the potential. So the ledger is that of linear problems: the boundary trace has the potentials of
the cells beside the faces.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from heatsim_kernels.device.cuda.arrays import Array, on_device
from heatsim_kernels.device.cuda.launch import Launch, Resources
from heatsim_kernels.explicit.blocked.cell_classes import TemporalCellClasses
from heatsim_kernels.explicit.blocked.launch import FusedSteps, fused_steps, tables_of
from heatsim_kernels.explicit.blocked.march import StepRates, TemporalTables
from heatsim_kernels.explicit.blocked.potentials import piece_rows
from heatsim_kernels.explicit.cuda.ledger import HeatAccounts, LedgerInputs, OpenFaces
from heatsim_kernels.explicit.cuda_cell.configuration import StencilConfiguration
from heatsim_kernels.explicit.cuda_cell.held_heat import CarriedShares
from heatsim_kernels.explicit.enthalpy.coefficients import NonlinearCoefficients
from heatsim_kernels.explicit.enthalpy.kernel_arguments import face_numbers, is_uniform
from heatsim_kernels.explicit.enthalpy.pieces import PIECES, count_pieces
from heatsim_kernels.field.cuda.field import CudaField

if TYPE_CHECKING:
    from heatsim_kernels.explicit.enthalpy.cuda.enthalpy_pass import EnthalpyBatch

NOTHING_LOST = CarriedShares(np.float64(0.0), np.float64(0.0), np.float64(0.0))


class FusedEnthalpySteps:
    """The steps of a problem that are taken several at once, if they can be."""

    def __init__(self, coefficients: NonlinearCoefficients, field: CudaField, ledger: HeatAccounts) -> None:
        self._coefficients, self._field, self._ledger = coefficients, field, ledger
        self._open_faces = OpenFaces(coefficients, ledger.by_plane)
        self._nothing_held = on_device(np.zeros(1))
        self._fused: dict[StencilConfiguration, FusedSteps | None] = {}
        self._dt, self._rates, self._weights = np.nan, np.zeros(6), on_device(np.zeros(6))
        pieces = coefficients.tables.potentials[coefficients.material[0]]
        count = count_pieces(pieces[None])
        fits = is_uniform(coefficients) and count <= PIECES  # more do not fit beside the tiles
        self._pieces = pieces[:, :count] if fits else None

    def most_steps(self, batch: EnthalpyBatch) -> int:
        """The most steps of a batch that a sweep takes."""
        fused = self._for(batch)
        return 1 if fused is None else fused.steps

    def resources(self, batch: EnthalpyBatch) -> Resources:
        """What the kernel takes of the GPU."""
        fused = self._for(batch)
        assert fused is not None
        return fused.resources(self._field.now, *self._given(batch), batch.rates)

    def launches(self, batch: EnthalpyBatch, k: int, u: Array, v: Array) -> list[Launch]:
        """What takes most steps of a batch from step k on, with their heat."""
        fused = self._for(batch)
        assert fused is not None
        launches = [fused.bound(u, v, k, *self._given(batch), batch.rates)]
        if self._open_faces.count:
            carrying = np.float64(1.0), NOTHING_LOST, self._nothing_held, self._ledger.lost, self._ledger.partial
            faces = batch.sent.boundary_a, batch.sent.boundary_b
            inputs = LedgerInputs(self._configuration(batch), *faces, self._weights, 0.0, np.zeros(1))
            shares = (1.0,) * fused.steps
            launches.append(self._open_faces.launch(inputs, u, k, shares, fused.trace, carrying))
        return launches

    def _for(self, batch: EnthalpyBatch) -> FusedSteps | None:
        """The means to take several steps of a batch at once."""
        configuration = self._configuration(batch)
        if self._pieces is None:
            return None
        if configuration not in self._fused:
            self._fused[configuration] = fused_steps(
                configuration,
                self._coefficients,
                traced=self._open_faces.count > 0,
                cell_classes=TemporalCellClasses(self._field.class_ids, np.zeros((1, 6))),
                heat_accounts=self._ledger.lost,
                pieces=on_device(piece_rows(self._pieces).astype(configuration.dtype)),
            )
        return self._fused[configuration]

    def _configuration(self, batch: EnthalpyBatch) -> StencilConfiguration:
        coefficients, structure, pieces = self._coefficients, batch.structure, self._pieces
        return StencilConfiguration(
            structure.dtype,
            uniform=True,
            class_dtype="",
            heat_table=batch.heated,
            heat_field=structure.heat_field,
            boundary_per_cell=coefficients.boundary_per_cell,
            periodic=coefficients.periodic,
            uneven=coefficients.uneven,
            pieces=0 if pieces is None else pieces.shape[1],
            cubic=pieces is not None and bool(pieces[4].any()),
        )

    def _given(self, batch: EnthalpyBatch) -> tuple[TemporalTables, StepRates]:
        """What a fused sweep is given of a batch."""
        if batch.dt != self._dt:
            self._dt, dtype = batch.dt, np.dtype(batch.structure.dtype)
            self._rates = face_numbers(self._coefficients, batch.dt, dtype)[0, :, 0]
            weights = self._rates.astype(np.float64) * self._coefficients.capacity[0]
            self._weights = on_device(weights)
        tables = tables_of(batch.sent.boundary_a, batch.sent.boundary_b, batch.sent.heat_table)
        rx, ry, rz = self._rates[0::2]
        return tables, StepRates(rx, ry, rz, batch.sent.dt)
