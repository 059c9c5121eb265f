"""CUDA: the heat that a field of a single cell class holds, and what it loses: see `LossesOfOneClass`.

It stays on the device, and no kernel has to sum the cells, but after the field was changed otherwise than by explicit
steps. Each block that enters the heat of a face keeps an account of its own of what is left of that: all that is lost
is linear in what came in. The last account has what the field held at first, and what sources have released.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numba import float64, uint32

from heatsim_kernels.device.cuda.api import cuda, inlined
from heatsim_kernels.device.cuda.arrays import Array, empty, on_device
from heatsim_kernels.device.cuda.launch import kernel
from heatsim_kernels.explicit.coefficients import FACES
from heatsim_kernels.explicit.cuda_cell.plane_sums import PlaneSums
from heatsim_kernels.field.cuda.block_reduction import THREADS, block_sum
from heatsim_kernels.field.cuda.field import CudaField

ONE_BLOCK = (1, 1, 1), (THREADS, 1, 1)


class CarriedShares(NamedTuple):
    """For a pass: the share that is lost in it of what was held before; and of what sources release in it, what is lost
    again and what is left, J."""

    share: np.floating[Any]
    lost: np.floating[Any]
    left: np.floating[Any]


@inlined
def carry_on(slot, new_lost, new_left, carried, held, lost):
    """Bring account `slot` of held (n,) up to date after a pass: of what came in it, J, some was lost again and some is
    left. What is lost is taken off lost (1, n)."""
    loss = carried.share * held[slot] + new_lost
    held[slot] = held[slot] - carried.share * held[slot] + new_left
    lost[0, slot] -= loss


@inlined
def carry_field(carried, held, lost):
    """As `carry_on`, the last account, to which sources bring heat."""
    carry_on(uint32(held.size - 1), carried.lost, carried.left, carried, held, lost)


def build_start(variant):
    """Build the kernel (sums, held), one block: the last account of held (n,) has the total of the sums, the others
    have none."""

    def start(sums, held):
        total, i = float64(0.0), cuda.threadIdx.x
        while i < sums.size:
            total += sums[i]
            i += THREADS
        total, i = block_sum(total), cuda.threadIdx.x
        if i == 0:  # which alone has the total
            held[held.size - 1] = total
        while i < held.size - 1:
            held[i] = float64(0.0)
            i += THREADS

    return start


def build_carry(variant):
    """Build the kernel (carried, held, lost), one thread: a pass in which nothing enters."""

    def carry(carried, held, lost):
        carry_field(carried, held, lost)

    return carry


class CudaHeldHeat:
    """That of a field. accounts: flat on the device, J: one for each block that may enter heat, of the six FACES as in
    `plane_sums`, and the last."""

    def __init__(self, field: CudaField, sums: PlaneSums) -> None:
        self._field, self._by_plane = field, sums
        self.accounts = on_device(np.zeros(len(FACES) * sums.columns + 1))
        self._sums = empty(field.parts, np.float64)
        self._known_at = -1  # after how many changes of the field it is known

    def find(self) -> None:
        """Take it from the cells, if they were changed otherwise than by explicit steps."""
        if self._known_at != self._field.changes:
            self._field.start_stored(self._sums)
            args = self._of_all_slabs(self._sums), self.accounts
            kernel(build_start, None, args)(*ONE_BLOCK, args)
            self._known_at = self._field.changes

    def whole(self, accounts: np.ndarray) -> np.ndarray:
        """Those of all slabs, as `PlaneSums.whole` and the last one, from the (n,) of this one."""
        faces, last = np.split(accounts, [accounts.size - 1])
        if self._by_plane.links is not None:
            last = self._by_plane.links.together(last).sum(keepdims=True)  # only the first slab has something there
        return np.concatenate((self._by_plane.whole(faces.reshape(len(FACES), -1)), last))

    def part(self, whole: np.ndarray) -> np.ndarray:
        """(n,) those of this slab, from what `whole` gave."""
        last = whole[-1:] if self._by_plane.first else np.zeros(1)
        return np.concatenate((self._by_plane.part(whole[:-1], len(FACES)).reshape(-1), last))

    def state(self) -> dict[str, np.ndarray]:
        """What `restore` takes, if it is known."""
        return {"held": self.whole(self.accounts.host())} if self._known_at == self._field.changes else {}

    def restore(self, saved: Mapping[str, np.ndarray]) -> None:
        """Go on from what `state` gave for the field as it is."""
        if saved.get("held", np.zeros(0)).size == self._by_plane.size(len(FACES)) + 1:
            self.accounts.device.copy_to_device(self.part(saved["held"]))
            self._known_at = self._field.changes

    def _of_all_slabs(self, sums: Array) -> Array:
        """The sums of all planes of the grid on the first slab, which has what the field holds; none on the others."""
        links, slab = self._by_plane.links, self._by_plane.slab
        if links is None:
            return sums
        whole = links.whole(sums.host().reshape(slab.shape[0], -1)[slab.own]).reshape(-1)
        return on_device(whole if self._by_plane.first else np.zeros_like(whole))


def carried_shares(share: float, released: np.ndarray, k: int, steps: int) -> CarriedShares:
    """Those of a pass of some steps, from step k of a batch on, in each of which a share is lost. released: (n,) J in
    each step, the last in all later ones."""
    lost_share, lost, left = 0.0, 0.0, 0.0
    for step in range(k, k + steps):
        lost_share += share * (1.0 - lost_share)
        lost, left = lost + share * left, left - share * left + float(released[min(step, len(released) - 1)])
    return CarriedShares(np.float64(lost_share), np.float64(lost), np.float64(left))
