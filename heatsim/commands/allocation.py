"""How the process that a command runs in takes memory from the system."""

from __future__ import annotations

import ctypes

_MMAP_THRESHOLD = -3  # M_MMAP_THRESHOLD of glibc's malloc.h
_LARGE = 2**20  # bytes


def give_back_large_arrays() -> None:
    """Have large arrays leave the process when they are freed.

    glibc learns to keep freed blocks of up to 32 MiB for later (mallopt(3)); after setting up a grid of 256^3 cells it
    sat on 60 MB. Elsewhere nothing is done.
    """
    try:
        ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, _LARGE)
    except (AttributeError, OSError, TypeError):
        return
