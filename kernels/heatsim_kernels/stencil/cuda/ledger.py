"""The energy ledger of a sweep on CUDA: which launches enter a step's heat, and what they have counted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from heatsim_kernels.field.cuda.block_reduction import THREADS
from heatsim_kernels.field.cuda.field import CudaField
from heatsim_kernels.field.cuda.field_sums import BLOCKS as LOSS_BLOCKS
from heatsim_kernels.runtime.cuda.arrays import Array, Table, on_device
from heatsim_kernels.runtime.cuda.launch import kernel
from heatsim_kernels.stencil.ambient_faces import ambient_face_pairs
from heatsim_kernels.stencil.coefficients import FACES, StencilCoefficients
from heatsim_kernels.stencil.cuda import boundary_flux
from heatsim_kernels.stencil.cuda.boundary_flux import BLOCKS, MAX_STEPS, blocks_for
from heatsim_kernels.stencil.cuda.configuration import StencilConfiguration
from heatsim_kernels.stencil.cuda.held_heat import CudaHeldHeat, build_carry, carried_shares


class LedgerInputs(NamedTuple):
    """What the ledger needs to know of a batch of steps: boundary faces, and weights (7, n) J/K of a step, flat, of the
    FACES and of the losses; and where the structure carries heat the share of it that is lost in a step, and (k,) heat
    that sources release in each, J, the last in all later ones."""

    structure: StencilConfiguration
    boundary_a: Table
    boundary_b: Table
    weights: Array
    share: float
    released: np.ndarray


class HeatAccounts:
    """Sums of heat, J, that kernels add to, and of which the last may yet be forgotten.

    partial: (accounts, blocks) on the device; each block adds to a slot of its own.
    """

    def __init__(self, accounts: int, blocks: int) -> None:
        self.partial = on_device(np.zeros((accounts, blocks)))
        self._before: Array | None = None  # what had entered before a step that is not accepted yet
        self._open = False

    def entered(self) -> np.ndarray:
        """(accounts,) heat that has entered since the start, J."""
        known = self._before if self._open and self._before is not None else self.partial
        return np.asarray(known.host().sum(axis=1))

    def begin(self) -> None:
        """From here on heat may yet be forgotten: it is, if this is called again before `accept`."""
        if self._before is None:
            self._before = on_device(np.zeros(self.partial.shape))
        source, target = (self._before, self.partial) if self._open else (self.partial, self._before)
        target.device.copy_to_device(source.device)
        self._open = True

    def accept(self) -> None:
        """The heat since `begin` has entered."""
        self._open = False

    def state(self) -> dict[str, np.ndarray]:
        """(accounts, blocks) the sums since the start, and their totals (accounts,), on the host."""
        known = self._before if self._open and self._before is not None else self.partial
        return {"partial": np.asarray(known.host()), "total": self.entered()}

    def restore(self, saved: Mapping[str, np.ndarray]) -> None:
        """Count on from what `state` gave, or from the totals where the sums are of another shape."""
        partial, total = saved.get("partial"), saved["total"]
        if partial is None or partial.shape != self.partial.shape:
            partial = np.zeros(self.partial.shape)
            partial[:, 0] = total
        self.partial.device.copy_to_device(np.ascontiguousarray(partial))
        self._open = False


class CudaLedger(HeatAccounts):
    """Counts the heat that enters through the faces of the box that are not closed, from ambients inside it, and by
    losses."""

    def __init__(self, coefficients: StencilCoefficients, field: CudaField) -> None:
        self._lossy = coefficients.losses is not None
        slots = len(FACES) * BLOCKS
        super().__init__(coefficients.ledger_size, max(LOSS_BLOCKS, slots) if self._lossy else BLOCKS)
        self._shape = tuple(np.uint32(n) for n in coefficients.shape)
        self._class_ids, self._class_count = field.class_ids, np.uint32(coefficients.class_count)
        self._held = CudaHeldHeat(field, slots)
        self._offsets, self._places = on_device(coefficients.boundary_offsets), on_device(coefficients.cell_offsets)
        faces = np.flatnonzero(~np.array(coefficients.closed)).astype(np.int32)
        self.open_faces, self._faces = faces.size, on_device(faces if faces.size else np.zeros(1, np.int32))
        largest = prod(sorted(coefficients.shape)[1:])
        self._boundary_grid = blocks_for(largest), max(faces.size, 1), 1
        several = coefficients.ambient_faces is not None and coefficients.ambient_faces.cells.size > 0
        self._ambient_faces = AmbientFaceArrays.of(coefficients) if several else None

    def begin_steps(self, batch: LedgerInputs) -> None:
        """Before some steps of a batch: find the heat that the field holds, if that is needed and not known."""
        if batch.structure.carries_heat:
            self._held.find()

    def state(self) -> dict[str, np.ndarray]:
        """The sums, and the heat that the field holds, if it is known."""
        return {**super().state(), **self._held.state()}

    def restore(self, saved: Mapping[str, np.ndarray]) -> None:
        """Count on from what `state` gave."""
        super().restore(saved)
        self._held.restore(saved)

    def launches(
        self, batch: LedgerInputs, u: Array, k: int, shares: Sequence[float], trace: Array
    ) -> list[Callable[[], None]]:
        """What enters the heat of some steps of a batch, of each its share, from step k on, of which `u` is the field
        before the first; see `boundary_flux`."""
        found: list[Callable[[], None]] = []
        steps, of_steps = len(shares), (*map(np.float64, shares), *(np.float64(0.0),) * (MAX_STEPS - len(shares)))
        carries, carried = batch.structure.carries_heat, carried_shares(batch.share, batch.released, k, steps)
        if self.open_faces:
            boundary = (batch.boundary_a.array, batch.boundary_b.array, np.int32(batch.boundary_a.rows), self._offsets)
            cells = (u, trace, self._places, np.int32(steps), np.int32(k), *self._shape, self._faces)
            given = batch.weights, of_steps, np.float64(1.0 - batch.share), carried, self._held.accounts, self.partial
            args = (*cells, *boundary, self._class_ids, self._class_count, *given)
            flows = kernel(boundary_flux.build, batch.structure, args)
            found.append(flows.bound(self._boundary_grid, (THREADS, 1, 1), args))
        if self._ambient_faces is not None:
            args = (u, *self._ambient_faces[:4], batch.weights, of_steps[0], np.int32(len(FACES)), self.partial)
            flows = kernel(boundary_flux.build_ambient_flux, None, args)
            found.append(flows.bound(self._ambient_faces.grid, (THREADS, 1, 1), args))
        if carries and not self.open_faces:
            args = carried, self._held.accounts, self.partial
            found.append(kernel(build_carry, None, args).bound((1, 1, 1), (1, 1, 1), args))
        elif self._lossy and not carries and steps == 1:  # several steps at once count it themselves
            several = batch.structure.class_dtype != ""
            args = (u, self._class_ids, self._class_count, batch.weights, of_steps[0], self.partial)
            lost = kernel(boundary_flux.build_losses, several, args)
            found.append(lost.bound((LOSS_BLOCKS, 1, 1), (THREADS, 1, 1), args))
        return found


class AmbientFaceArrays(NamedTuple):
    """Ambient faces on the device, those of an ambient together: see `boundary_flux.build_ambient_flux`."""

    cells: Array
    beyond: Array
    places: Array
    firsts: Array
    grid: tuple[int, int, int]

    @classmethod
    def of(cls, coefficients: StencilCoefficients) -> AmbientFaceArrays:
        """Those of a problem, which has some."""
        pairs = ambient_face_pairs(coefficients)
        order = np.argsort(pairs.owners, kind="stable")
        ambients = coefficients.ambient_count
        firsts = np.searchsorted(pairs.owners[order], np.arange(ambients + 1))
        cells, beyond, entries = (
            on_device(values[order].astype(np.int64)) for values in (pairs.cells, pairs.beyond, pairs.entries)
        )
        return cls(cells, beyond, entries, on_device(firsts), (blocks_for(int(np.diff(firsts).max())), ambients, 1))
