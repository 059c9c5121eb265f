"""CUDA: the heat that a field of a single cell class holds, and what it loses: see `LossesOfOneClass`.

It stays on the device. After each pass one block brings it up to date, by what has entered through the boundary faces
and what sources have released. So no kernel has to sum the cells, but after the field was changed otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numba import float64

from heatsim_kernels.field.cuda import field_sums
from heatsim_kernels.field.cuda.block_reduction import THREADS, block_sum
from heatsim_kernels.field.cuda.field import CudaField
from heatsim_kernels.runtime.cuda.api import cuda
from heatsim_kernels.runtime.cuda.arrays import Array, empty, on_device
from heatsim_kernels.runtime.cuda.launch import kernel

ONE_BLOCK = (1, 1, 1), (THREADS, 1, 1)


def build_start(variant):
    """Build the kernel (sums, held), one block: held (1,) is the total of the sums."""

    def start(sums, held):
        total, i = float64(0.0), cuda.threadIdx.x
        while i < sums.size:
            total += sums[i]
            i += THREADS
        total = block_sum(total)
        if cuda.threadIdx.x == 0:
            held[0] = total

    return start


def build_update(variant):
    """Build the kernel (entered, slots, share, lost, left, held, partial), one block, for a pass.

    entered: what `boundary_flux` left in so many slots. share: of what was held before, that is lost in the pass. lost,
    left: of what sources released in it, what is lost again, and what is left, J. held (1,): brought up to date. What
    is lost is taken off the last row of partial.
    """

    def update(entered, slots, share, lost, left, held, partial):
        came, stayed, i = float64(0.0), float64(0.0), cuda.threadIdx.x
        while i < slots:
            came += entered[0, i]
            stayed += entered[1, i]
            i += THREADS
        came, stayed = block_sum(came), block_sum(stayed)
        if cuda.threadIdx.x == 0:
            lost += share * held[0] + (came - stayed)
            held[0] = held[0] - share * held[0] + stayed + left
            partial[partial.shape[0] - 1, 0] -= lost

    return update


class CudaHeldHeat:
    """That of a field. entered: room for what `boundary_flux` leaves, in so many slots."""

    def __init__(self, field: CudaField, slots: int) -> None:
        self._field, self.entered = field, on_device(np.zeros((2, slots)))
        self._held, self._sums = on_device(np.zeros(1)), empty(field_sums.BLOCKS, np.float64)
        self._known_at = -1  # after how many changes of the field it is known

    def find(self) -> None:
        """Take it from the cells, if they were changed otherwise than by explicit steps."""
        if self._known_at != self._field.changes:
            self._field.start_stored(self._sums)
            args = self._sums, self._held
            kernel(build_start, None, args)(*ONE_BLOCK, args)
            self._known_at = self._field.changes

    def update(
        self, slots: int, share: float, released: np.ndarray, k: int, steps: int, partial: Array
    ) -> Callable[[], None]:
        """What brings it up to date after a pass of some steps, from step k of a batch on."""
        lost_share, lost, left = 0.0, 0.0, 0.0
        for step in range(k, k + steps):
            lost_share += share * (1.0 - lost_share)
            lost, left = lost + share * left, left - share * left + float(released[min(step, len(released) - 1)])
        numbers = (np.float64(each) for each in (lost_share, lost, left))
        args = (self.entered, np.int32(slots), *numbers, self._held, partial)
        bound: Callable[[], None] = kernel(build_update, None, args).bound(*ONE_BLOCK, args)
        return bound

    def state(self) -> dict[str, np.ndarray]:
        """What `restore` takes, if it is known."""
        return {"held": self._held.host()} if self._known_at == self._field.changes else {}

    def restore(self, saved: Mapping[str, np.ndarray]) -> None:
        """Go on from what `state` gave for the field as it is."""
        if "held" in saved:
            self._held.device.copy_to_device(np.ascontiguousarray(saved["held"]))
            self._known_at = self._field.changes
