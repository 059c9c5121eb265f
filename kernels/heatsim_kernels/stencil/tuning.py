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

from heatsim_kernels.cpu_jit import cache_folder
from heatsim_kernels.stencil.structure import Structure
from heatsim_kernels.stencil.tile import Tile

ENOUGH = 600  # blocks; several for each multiprocessor of a large GPU


def tile_for(movement: ModuleType, structure: Structure, shape: tuple[int, int, int], device: str) -> Tile:
    """The tile for a problem of `shape` (nz, ny, nx) on a device of that name."""
    busy = [tile for tile in movement.TILES if prod(movement.grid(shape, tile, structure.dtype)) >= ENOUGH]
    found = _read().get(device, {}).get(_key(movement, structure))
    if found in [list(tile) for tile in busy]:
        return Tile(*found)
    return busy[0] if busy else max(movement.TILES, key=lambda tile: prod(movement.grid(shape, tile, structure.dtype)))


def remember(movement: ModuleType, structure: Structure, device: str, tile: Tile) -> None:
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
    return cache_folder().parent / "tuning.json"


def _key(movement: ModuleType, structure: Structure) -> str:
    kind = "uniform" if structure.uniform else "kinds"
    return f"{movement.__name__.rpartition('.')[2]} {structure.dtype} {kind}"


def _read() -> dict[str, dict[str, list[int]]]:
    try:
        known = json.loads(path().read_text())
    except (OSError, ValueError):
        return {}
    sound = isinstance(known, dict) and all(isinstance(entry, dict) for entry in known.values())
    return known if sound else {}
