"""CUDA: the heat that a field of a single cell class holds, and what it loses: see `LossesOfOneClass`.

It stays on the device, and no kernel has to sum the cells, but after the field was changed otherwise than by explicit
steps. Each block that enters the heat of a face keeps an account of its own of what is left of that: all that is lost
is linear in what came in. The first account has what the field held at first, and what sources have released, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numba import float64, uint32

from heatsim_kernels.field.cuda import field_sums
from heatsim_kernels.field.cuda.block_reduction import THREADS, block_sum
from heatsim_kernels.field.cuda.field import CudaField
from heatsim_kernels.runtime.cuda.api import cuda, inlined
from heatsim_kernels.runtime.cuda.arrays import empty, on_device
from heatsim_kernels.runtime.cuda.launch import kernel

ONE_BLOCK = (1, 1, 1), (THREADS, 1, 1)


class CarriedShares(NamedTuple):
    """For a pass: the share that is lost in it of what was held before; and of what sources release in it, what is lost
    again and what is left, J."""

    share: np.floating[Any]
    lost: np.floating[Any]
    left: np.floating[Any]


@inlined
def carry_on(slot, came, stayed, carried, held, partial):
    """Bring account `slot` of held (n,) up to date after a pass, in which `came` J entered, of which `stayed` are left;
    what is lost is taken off the last row of partial."""
    lost, left = carried.share * held[slot] + (came - stayed), stayed
    if slot == 0:
        lost, left = lost + carried.lost, left + carried.left
    held[slot] = held[slot] - carried.share * held[slot] + left
    partial[partial.shape[0] - 1, slot] -= lost


def build_start(variant):
    """Build the kernel (sums, held), one block: the first account of held (n,) has the total of the sums, the others
    have none."""

    def start(sums, held):
        total, i = float64(0.0), cuda.threadIdx.x
        while i < sums.size:
            total += sums[i]
            i += THREADS
        total, i = block_sum(total), cuda.threadIdx.x
        while i < held.size:
            held[i] = total if i == 0 else float64(0.0)
            i += THREADS

    return start


def build_carry(variant):
    """Build the kernel (carried, held, partial), one thread: a pass in which nothing enters."""

    def carry(carried, held, partial):
        carry_on(uint32(0), float64(0.0), float64(0.0), carried, held, partial)

    return carry


class CudaHeldHeat:
    """That of a field. accounts: (n,) on the device, one for each block that may enter heat, J."""

    def __init__(self, field: CudaField, accounts: int) -> None:
        self._field, self.accounts = field, on_device(np.zeros(accounts))
        self._sums = empty(field_sums.BLOCKS, np.float64)
        self._known_at = -1  # after how many changes of the field it is known

    def find(self) -> None:
        """Take it from the cells, if they were changed otherwise than by explicit steps."""
        if self._known_at != self._field.changes:
            self._field.start_stored(self._sums)
            args = self._sums, self.accounts
            kernel(build_start, None, args)(*ONE_BLOCK, args)
            self._known_at = self._field.changes

    def state(self) -> dict[str, np.ndarray]:
        """What `restore` takes, if it is known."""
        return {"held": self.accounts.host()} if self._known_at == self._field.changes else {}

    def restore(self, saved: Mapping[str, np.ndarray]) -> None:
        """Go on from what `state` gave for the field as it is."""
        if saved.get("held", np.zeros(0)).shape == self.accounts.shape:
            self.accounts.device.copy_to_device(np.ascontiguousarray(saved["held"]))
            self._known_at = self._field.changes


def carried_shares(share: float, released: np.ndarray, k: int, steps: int) -> CarriedShares:
    """Those of a pass of some steps, from step k of a batch on, in each of which a share is lost. released: (n,) J in
    each step, the last in all later ones."""
    lost_share, lost, left = 0.0, 0.0, 0.0
    for step in range(k, k + steps):
        lost_share += share * (1.0 - lost_share)
        lost, left = lost + share * left, left - share * left + float(released[min(step, len(released) - 1)])
    return CarriedShares(np.float64(lost_share), np.float64(lost), np.float64(left))
