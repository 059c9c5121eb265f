"""CPU: the fastest copy of an array, the limit of every sweep that goes through memory once.

    source  ->  registers  ->  target, past the cache (non-temporal stores)

Every thread copies a part of its own. An ordinary store reads the line that it is about to overwrite, a non-temporal
one does not: a copy moves 2 itemsize bytes an element, 8 in float32 and 16 in float64, and computes nothing. Lines are
asked for ahead, as the processor's own prefetch stops at the end of a page.
"""

from __future__ import annotations

import numpy as np
from numba import get_num_threads, prange

from heatsim_kernels.device.cpu.compilation import inlined, parallel_jit
from heatsim_kernels.device.cpu.pointers import (
    CACHE_LINE,
    elements_to_line,
    load,
    pointer,
    prefetch,
    shifted,
    store,
    stream_lines,
)

AHEAD = 16  # lines asked for ahead of the one that is copied; 32 and 64 were slower on Zen 4
BLOCK = 16  # lines a block


def copy(source: np.ndarray, target: np.ndarray) -> None:
    """Copy a contiguous array into another of its shape and type, with the threads that Numba uses at the time.

    2 itemsize bytes an element are moved, if the arrays are much larger than the cache. Raises ValueError for arrays
    that differ or are not contiguous.
    """
    if source.shape != target.shape or source.dtype != target.dtype:
        raise ValueError(f"{source.dtype} {source.shape} does not fit into {target.dtype} {target.shape}")
    if not (source.flags.c_contiguous and target.flags.c_contiguous):
        raise ValueError("both arrays must be contiguous, in C order")
    _copy(source.reshape(-1), target.reshape(-1), CACHE_LINE // source.itemsize, get_num_threads())


@parallel_jit
def _copy(source, target, per_line, parts):
    for index in prange(parts):
        part = np.int64(index)  # prange counts in unsigned numbers
        first, end = part * source.size // parts, (part + 1) * source.size // parts
        _copy_part(shifted(pointer(source), first), shifted(pointer(target), first), end - first, per_line)


@inlined
def _copy_part(source, target, count, per_line):
    """Copy `count` elements, line by line of the target; what is not a whole line goes the ordinary way."""
    head = min(count, elements_to_line(target))
    lines = (count - head) // per_line
    for i in range(head):
        store(target, i, load(source, i))
    for line in range(0, lines, BLOCK):
        start = head + line * per_line
        for ahead in range(BLOCK):
            prefetch(source, start + (AHEAD + ahead) * per_line)
        stream_lines(shifted(target, start), shifted(source, start), min(BLOCK, lines - line))
    for i in range(head + lines * per_line, count):
        store(target, i, load(source, i))
