"""CUDA: how the warps of a block of `temporal` wait for one another in each turn of a march.

Levels read the end rows that the bands beside have put on the board in the turn before. So a barrier stands between the
levels of two turns. It also keeps what a turn writes behind what the turn before has read: the two buffers of end rows
change parts.

    whole        levels | plane k - steps leaves | barrier | plane k + 1 comes | levels
    in halves    levels | arrive | plane k - steps leaves, plane k + 1 comes | wait | levels

The ring of the boundary trace wants one that is whole: it stands between putting cells into the ring and writing them
to memory, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from numba import int32, uint32, uint64

from heatsim_kernels.device.cuda.api import cuda, inlined
from heatsim_kernels.device.cuda.split_barrier import arrive, make_barrier, wait_for
from heatsim_kernels.explicit.blocked.board import BARRIER_AT


class TurnBarrier(NamedTuple):
    """Device functions.

    make(board): before all warps meet once. begin(board, k), finish(board, k): before the first turn of a piece, k, and
    after its last. wait(board, k), arrive(board): before the levels of turn k, and after them. end(): at its end.
    """

    make: Callable[..., Any]
    begin: Callable[..., Any]
    finish: Callable[..., Any]
    wait: Callable[..., Any]
    arrive: Callable[..., Any]
    end: Callable[..., Any]


def build_turn_barrier(halves: bool, bands: int) -> TurnBarrier:
    """The barrier of turns for so many warps, in halves or whole."""
    return _in_halves(bands) if halves else _whole()


def _whole():
    @inlined
    def nothing(board):
        pass

    @inlined
    def nothing_in_turn(board, k):
        pass

    @inlined
    def end():
        cuda.syncthreads()

    return TurnBarrier(nothing, nothing_in_turn, nothing_in_turn, nothing_in_turn, nothing, end)


def _in_halves(bands):
    """Phase k of the barrier, even or odd, is that of turn k. Between pieces an even one is to come."""

    @inlined
    def make(board):
        make_barrier(board, uint64(BARRIER_AT), bands)

    @inlined
    def begin(board, k):
        if _odd(k) == uint32(1):
            meet(board, uint32(0))

    @inlined
    def finish(board, k):
        wait_for(board, uint64(BARRIER_AT), _odd(k))
        if _odd(k) == uint32(0):
            meet(board, uint32(1))

    @inlined
    def meet(board, odd):
        arrive_at(board)
        wait_for(board, uint64(BARRIER_AT), odd)

    @inlined
    def wait(board, k):
        wait_for(board, uint64(BARRIER_AT), _odd(int32(k - int32(1))))

    @inlined
    def arrive_at(board):
        arrive(board, uint64(BARRIER_AT))

    @inlined
    def end():
        pass

    return TurnBarrier(make, begin, finish, wait, arrive_at, end)


@inlined
def _odd(k):
    return uint32(k & int32(1))
