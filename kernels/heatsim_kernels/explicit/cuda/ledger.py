"""The energy ledger of a sweep on CUDA: which launches enter a step's heat, and what they have counted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from heatsim_kernels.device.cuda.arrays import Array, Table, on_device
from heatsim_kernels.device.cuda.launch import Launch, kernel
from heatsim_kernels.explicit.ambient_faces import ambient_face_pairs
from heatsim_kernels.explicit.coefficients import FACES, StencilCoefficients
from heatsim_kernels.explicit.cuda_cell import boundary_flux
from heatsim_kernels.explicit.cuda_cell.boundary_flux import MAX_STEPS, blocks_for
from heatsim_kernels.explicit.cuda_cell.configuration import StencilConfiguration
from heatsim_kernels.explicit.cuda_cell.held_heat import CudaHeldHeat, build_carry, carried_shares
from heatsim_kernels.explicit.cuda_cell.plane_sums import PlaneSums
from heatsim_kernels.explicit.slabs import SlabLinks
from heatsim_kernels.field.cuda.block_reduction import THREADS
from heatsim_kernels.field.cuda.field import CudaField

FUSED_BLOCKS = 1024  # of a sweep of `temporal`, at most


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

    partial: (6 + ambients, columns) on the device, laid out as `by_plane` says; lost: (1, slots) what was lost,
    negative, of which there is one slot where there are no losses. Each block adds to a slot of its own.
    """

    def __init__(self, coefficients: StencilCoefficients, by_plane: PlaneSums, lost_slots: int = 1) -> None:
        self.by_plane, self._lossy = by_plane, coefficients.losses is not None
        self._accounts = len(FACES) + coefficients.ambient_count
        self.partial = on_device(np.zeros((self._accounts, by_plane.columns)))
        self.lost = on_device(np.zeros((1, lost_slots)))
        self._before: tuple[Array, Array] | None = None  # what had entered before a step that is not accepted yet
        self._open = False

    def entered(self) -> np.ndarray:
        """(6 + ambients, and 1 if there are losses) heat that has entered since the start, J."""
        return self._totals(*self._whole())

    def begin(self) -> None:
        """From here on heat may yet be forgotten: it is, if this is called again before `accept`."""
        now = self.partial, self.lost
        if self._before is None:
            self._before = on_device(np.zeros(self.partial.shape)), on_device(np.zeros(self.lost.shape))
        sources, targets = (self._before, now) if self._open else (now, self._before)
        for source, target in zip(sources, targets, strict=True):
            target.device.copy_to_device(source.device)
        self._open = True

    def accept(self) -> None:
        """The heat since `begin` has entered."""
        self._open = False

    def state(self) -> dict[str, np.ndarray]:
        """The sums since the start, of all slabs, and their totals (accounts,), on the host."""
        entered, lost = self._whole()
        return {"entered": entered, "lost": lost, "total": self._totals(entered, lost)}

    def restore(self, saved: Mapping[str, np.ndarray]) -> None:
        """Count on from what `state` gave, or from the totals where the sums are laid out otherwise."""
        total, by_plane = saved["total"], self.by_plane
        entered, lost = (saved.get(name, np.zeros(0)) for name in ("entered", "lost"))
        if entered.size != by_plane.size(self._accounts) or lost.size != self._lost_size():
            entered, lost = by_plane.spread(total[: self._accounts]), np.zeros(self._lost_size())
            lost[-1] = total[-1] if self._lossy else 0.0
        self.partial.device.copy_to_device(by_plane.part(entered, self._accounts))
        self.lost.device.copy_to_device(self._part_of_lost(lost).reshape(1, -1))
        self._open = False

    def _whole(self) -> tuple[np.ndarray, np.ndarray]:
        """The sums of all slabs, flat, and what was lost."""
        known = self._before if self._open and self._before is not None else (self.partial, self.lost)
        return self.by_plane.whole(known[0].host()), self._whole_of_lost(known[1].host()[0])

    def _totals(self, entered: np.ndarray, lost: np.ndarray) -> np.ndarray:
        totals = self.by_plane.totals(entered, self._accounts)
        return np.append(totals, self._total_of_lost(lost)) if self._lossy else totals

    def _lost_size(self) -> int:
        """Items of `_whole_of_lost`."""
        return 1

    def _whole_of_lost(self, lost: np.ndarray) -> np.ndarray:
        """What all slabs have lost, flat, from the slots of this one."""
        return lost

    def _part_of_lost(self, whole: np.ndarray) -> np.ndarray:
        """The slots of this slab, from what `_whole_of_lost` gave."""
        return whole

    def _total_of_lost(self, whole: np.ndarray) -> float:
        """Their sum."""
        return float(whole.sum())


class CudaLedger(HeatAccounts):
    """Counts the heat that enters through the faces of the box that are not closed, from ambients inside it, and by
    losses."""

    def __init__(self, coefficients: StencilCoefficients, field: CudaField, links: SlabLinks | None = None) -> None:
        nz, ny, nx = coefficients.shape
        by_plane = PlaneSums.of(coefficients.shape, blocks_for(ny * nx), links)
        self._parts_of_plane = field.parts // nz
        self._held = CudaHeldHeat(field, by_plane)
        self._carries = coefficients.losses is not None and not coefficients.several
        self._first_summed = self._held.accounts.shape[0] if self._carries else 0
        super().__init__(coefficients, by_plane, self._first_summed + max(field.parts, FUSED_BLOCKS))
        self._planes, self._plane = coefficients.shape[0], np.uint64(ny * nx)
        self._class_ids, self._class_count = field.class_ids, np.uint32(coefficients.class_count)
        self._open_faces = OpenFaces(coefficients, by_plane)
        several = coefficients.ambient_faces is not None and coefficients.ambient_faces.cells.size > 0
        self._ambient_faces = AmbientFaceArrays.of(coefficients) if several else None

    @property
    def open_faces(self) -> int:
        """How many of the FACES are not closed."""
        return self._open_faces.count

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
        steps, share = len(shares), np.float64(shares[0])
        carries, released = batch.structure.carries_heat, batch.released if self.by_plane.first else np.zeros(1)
        carried = carried_shares(batch.share, released, k, steps)
        args: tuple[Any, ...]
        if self.open_faces:
            carrying = np.float64(1.0 - batch.share), carried, self._held.accounts
            found.append(self._open_faces.launch(batch, u, k, shares, trace, (*carrying, self.lost, self.partial)))
        if self._ambient_faces is not None:
            args = (u, *self._ambient_faces[:4], batch.weights, share, np.int32(len(FACES)), self.partial)
            flows = kernel(boundary_flux.build_ambient_flux, None, args)
            found.append(flows.bound(self._ambient_faces.grid, (boundary_flux.THREADS, 1, 1), args))
        if carries and not self.open_faces:
            args = carried, self._held.accounts, self.lost
            found.append(kernel(build_carry, None, args).bound((1, 1, 1), (1, 1, 1), args))
        elif self._lossy and not carries and steps == 1:  # several steps at once count it themselves
            several = batch.structure.class_dtype != ""
            cells = self._plane, np.uint64(self._parts_of_plane), np.uint32(self._first_summed), self.lost
            args = (u, self._class_ids, self._class_count, batch.weights, share, *cells)
            lost = kernel(boundary_flux.build_losses, several, args)
            found.append(lost.bound((self._parts_of_plane * self._planes, 1, 1), (THREADS, 1, 1), args))
        return found

    # What is lost lies in slots: first what follows from the heat that is held, in explicit steps of a single class,
    # laid out as that heat; then sums over cells, so many of each plane; then what sweeps of several steps have
    # counted, which know no planes.

    def _split(self, lost: np.ndarray, planes: int) -> list[np.ndarray]:
        """These three of a grid or slab of so many planes."""
        carried = lost.size - max(planes * self._parts_of_plane, FUSED_BLOCKS)
        return np.split(lost, [carried, carried + planes * self._parts_of_plane])

    def _lost_size(self) -> int:
        carried = self.by_plane.size(len(FACES)) + 1 if self._carries else 0
        return carried + max(self.by_plane.slab.cells[0] * self._parts_of_plane, FUSED_BLOCKS)

    def _whole_of_lost(self, lost: np.ndarray) -> np.ndarray:
        slab, links = self.by_plane.slab, self.by_plane.links
        carried, summed, rest = self._split(lost, slab.shape[0])
        if self._carries:
            carried = self._held.whole(carried)
        if links is not None:
            summed = links.whole(summed.reshape(slab.shape[0], -1)[slab.own]).reshape(-1)
            rest = np.zeros(self._lost_size() - carried.size - summed.size)
        return np.concatenate((carried, summed, rest))

    def _part_of_lost(self, whole: np.ndarray) -> np.ndarray:
        slab = self.by_plane.slab
        carried, summed, rest = self._split(whole, slab.cells[0])
        if self._carries:
            carried = self._held.part(carried)
        summed = summed.reshape(slab.cells[0], -1)[slab.planes].reshape(-1)
        if self.by_plane.links is not None:
            summed[slab.below * self._parts_of_plane] += rest.sum() if self.by_plane.first else 0.0
            rest = np.zeros(self.lost.shape[1] - carried.size - summed.size)
        return np.concatenate((carried, summed, rest))

    def _total_of_lost(self, whole: np.ndarray) -> float:
        planes = self.by_plane.slab.cells[0]
        carried, summed, rest = self._split(whole, planes)
        if self._carries:
            carried = np.append(self.by_plane.totals(carried[:-1], len(FACES)), carried[-1])
        return float(carried.sum() + summed.reshape(planes, -1).sum(axis=1).sum() + rest.sum())


class OpenFaces:
    """The faces of the box that are not closed, and what enters their heat; count: how many they are."""

    def __init__(self, coefficients: StencilCoefficients, by_plane: PlaneSums) -> None:
        self._shape = tuple(np.uint32(n) for n in coefficients.shape)
        self._classes = on_device(coefficients.boundary_classes()), np.uint32(coefficients.class_count)
        self._offsets, self._places = on_device(coefficients.boundary_offsets), on_device(coefficients.cell_offsets)
        faces = np.flatnonzero(~np.array(coefficients.closed)).astype(np.int32)
        self.count, self._faces = faces.size, on_device(faces if faces.size else np.zeros(1, np.int32))
        self._grid, self._end_blocks = (by_plane.columns, max(faces.size, 1), 1), np.uint32(by_plane.end_blocks)

    def launch(
        self, batch: LedgerInputs, u: Array, k: int, shares: Sequence[float], trace: Array, carrying: tuple[Any, ...]
    ) -> Launch:
        """What enters their heat in some steps: see `CudaLedger.launches`; carrying: the last arguments of
        `boundary_flux`."""
        of_steps = (*map(np.float64, shares), *(np.float64(0.0),) * (MAX_STEPS - len(shares)))
        boundary = (batch.boundary_a.array, batch.boundary_b.array, np.int32(batch.boundary_a.rows), self._offsets)
        cells = (u, trace, self._places, np.int32(len(shares)), np.int32(k), *self._shape, self._faces)
        args = (*cells, *boundary, *self._classes, batch.weights, of_steps, self._end_blocks, *carrying)
        launch: Launch = kernel(boundary_flux.build, batch.structure, args).bound(
            self._grid, (boundary_flux.THREADS, 1, 1), args
        )
        return launch


class AmbientFaceArrays(NamedTuple):
    """Ambient faces on the device, those of an ambient together, by plane: see `boundary_flux.build_ambient_flux`."""

    cells: Array
    beyond: Array
    places: Array
    firsts: Array
    grid: tuple[int, int, int]

    @classmethod
    def of(cls, coefficients: StencilCoefficients) -> AmbientFaceArrays:
        """Those of a problem, which has some."""
        pairs, (nz, ny, nx) = ambient_face_pairs(coefficients), coefficients.shape
        part = pairs.owners.astype(np.int64) * nz + pairs.cells // (ny * nx)
        order = np.argsort(part, kind="stable")
        firsts = np.searchsorted(part[order], np.arange(coefficients.ambient_count * nz + 1))
        cells, beyond, entries = (
            on_device(values[order].astype(np.int64)) for values in (pairs.cells, pairs.beyond, pairs.entries)
        )
        return cls(cells, beyond, entries, on_device(firsts), (nz, coefficients.ambient_count, 1))
