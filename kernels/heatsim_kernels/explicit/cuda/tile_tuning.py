"""The tile that a one-step kernel takes: the one found fastest on this kind of GPU, else one that keeps the GPU busy.

`heatsim bench stencil --tune` finds the fastest tiles and keeps them in a small JSON file beside the compiled kernels:
{device: {kernel, precision and medium: tile}}. The choice affects speed alone: all tiles give equal bits. A file that
is missing or damaged counts as empty. Also here: the shared memory that a kernel needs at least.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from heatsim_kernels.device.kernel_cache import cache_home
from heatsim_kernels.device.thread_blocks import ThreadBlock
from heatsim_kernels.explicit.cuda_cell.configuration import StencilConfiguration

if TYPE_CHECKING:
    from heatsim_kernels.explicit.ladder import OneStepKernel

MIN_BLOCKS = 600  # several for each multiprocessor of a large GPU


def choose_tile(
    module: OneStepKernel, configuration: StencilConfiguration, shape: tuple[int, int, int], device: str
) -> ThreadBlock:
    """The tile of a kernel for a field of `shape` (nz, ny, nx) on a device of that name."""
    busy = [tile for tile in module.TILES if prod(module.grid(shape, tile, configuration.dtype)) >= MIN_BLOCKS]
    found = _read().get(device, {}).get(_key(module, configuration))
    if found in [list(tile) for tile in busy]:
        return ThreadBlock(*found)
    return busy[0] if busy else max(module.TILES, key=lambda tile: prod(module.grid(shape, tile, configuration.dtype)))


def save_tile(module: OneStepKernel, configuration: StencilConfiguration, device: str, tile: ThreadBlock) -> None:
    """Keep the tile that was found fastest. A folder that cannot be written is no error."""
    known = _read()
    known.setdefault(device, {})[_key(module, configuration)] = list(tile)
    part = path().with_suffix(f".{os.getpid()}.part")
    with suppress(OSError):
        part.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(json.dumps(known, indent=1, sort_keys=True))
        part.replace(path())


def path() -> Path:
    """The file of tiles."""
    return cache_home() / "tuning.json"


def _key(module: OneStepKernel, configuration: StencilConfiguration) -> str:
    medium = "uniform" if configuration.uniform else "class_ids"  # what files on users' disks say
    return f"{module.__name__.rpartition('.')[2]} {configuration.dtype} {medium}"


def _read() -> dict[str, dict[str, list[int]]]:
    try:
        known = json.loads(path().read_text())
    except (OSError, ValueError):
        return {}
    sound = isinstance(known, dict) and all(isinstance(entry, dict) for entry in known.values())
    return known if sound else {}


def min_shared_bytes(kernel: str, precision: str) -> int:
    """Bytes of shared memory that a block of a kernel needs with its smallest tile; 0 for kernels whose few KB every
    GPU has."""
    if kernel != "temporal":
        return 0
    from heatsim_kernels.explicit.blocked.board import Board
    from heatsim_kernels.explicit.blocked.march import TILES

    return min(Board.of(tile).size for tile in TILES[precision]) * np.dtype(precision).itemsize
