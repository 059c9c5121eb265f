"""CUDA: indices that may lie beyond an end of the grid, along an axis that is periodic."""

from __future__ import annotations

from numba import int32, uint32

from heatsim_kernels.device.cuda.api import inlined


@inlined
def into(i, n):
    """The index, int32, in a grid of n cells for one that is at most a period away."""
    return int32(i + n) if i < 0 else (int32(i - n) if i >= n else i)


def wrapped(i, n):
    """The same, uint32, for an index that is at most a period beyond the grid. A plain function, for `each`."""
    return uint32(i - n) if i >= n else uint32(i)
