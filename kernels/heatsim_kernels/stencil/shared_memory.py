"""How much of a GPU's shared memory a CUDA kernel needs."""

from __future__ import annotations

import numpy as np


def least_bytes(kernel: str, precision: str) -> int:
    """Bytes a block with the kernel's smallest tile; 0 for kernels whose few KB every GPU has."""
    if kernel != "temporal":
        return 0
    from heatsim_kernels.stencil.temporal import TILES
    from heatsim_kernels.stencil.temporal_level import Board

    return min(Board.of(tile).size for tile in TILES[precision]) * np.dtype(precision).itemsize
