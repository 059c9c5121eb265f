"""Which tile a movement takes: the one found fastest on this kind of GPU, else one that gives the GPU work enough.

What was found is kept in a small JSON file beside the compiled kernels: {device: {kernel and problem: tile}}. It is a
matter of speed alone: all tiles give the same bits, and a file that is missing or damaged counts as empty.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from math import prod
from pathlib import Path
from types import ModuleType

import numpy as np

from heatsim_kernels.runtime.kernel_cache import cache_home
from heatsim_kernels.runtime.thread_blocks import ThreadBlock
from heatsim_kernels.stencil.cuda.configuration import StencilConfiguration

MIN_BLOCKS = 600  # blocks; several for each multiprocessor of a large GPU


def choose_tile(
    movement: ModuleType, structure: StencilConfiguration, shape: tuple[int, int, int], device: str
) -> ThreadBlock:
    """The tile for a problem of `shape` (nz, ny, nx) on a device of that name."""
    busy = [tile for tile in movement.TILES if prod(movement.grid(shape, tile, structure.dtype)) >= MIN_BLOCKS]
    found = _read().get(device, {}).get(_key(movement, structure))
    if found in [list(tile) for tile in busy]:
        return ThreadBlock(*found)
    return busy[0] if busy else max(movement.TILES, key=lambda tile: prod(movement.grid(shape, tile, structure.dtype)))


def save_tile(movement: ModuleType, structure: StencilConfiguration, device: str, tile: ThreadBlock) -> None:
    """Keep the tile that was found fastest; a folder that cannot be written is no error."""
    known = _read()
    known.setdefault(device, {})[_key(movement, structure)] = list(tile)
    part = path().with_suffix(f".{os.getpid()}.part")
    with suppress(OSError):
        part.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(json.dumps(known, indent=1, sort_keys=True))
        part.replace(path())


def path() -> Path:
    """The file."""
    return cache_home() / "tuning.json"


def _key(movement: ModuleType, structure: StencilConfiguration) -> str:
    kind = "uniform" if structure.uniform else "kinds"
    return f"{movement.__name__.rpartition('.')[2]} {structure.dtype} {kind}"


def _read() -> dict[str, dict[str, list[int]]]:
    try:
        known = json.loads(path().read_text())
    except (OSError, ValueError):
        return {}
    sound = isinstance(known, dict) and all(isinstance(entry, dict) for entry in known.values())
    return known if sound else {}


# How much of a GPU's shared memory a CUDA kernel needs.


def min_shared_bytes(kernel: str, precision: str) -> int:
    """Bytes a block with the kernel's smallest tile; 0 for kernels whose few KB every GPU has."""
    if kernel != "temporal":
        return 0
    from heatsim_kernels.stencil.temporal.level import Board
    from heatsim_kernels.stencil.temporal.march import TILES

    return min(Board.of(tile).size for tile in TILES[precision]) * np.dtype(precision).itemsize
