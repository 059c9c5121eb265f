"""Initial temperatures of a chip from HotSpot's `init_file`, one of each of its nodes.

core 330.0          a block of the die; of a file of layers layer_0_core
iface_core 329.1    the same of the interface, hsp_core of the spreader, hsink_core of the sink, pcb_core of the board
inode_4 321.5       a part of the spreader, the sink or the board beyond the die

      N             Parts beyond the die are trapezoids, west, east, north and south of it. The sink and the board
   W  die  E        have four beneath the spreader, the solder, and four beyond that.
      S
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from heatsim.errors import InputFileError
from heatsim.problem.shapes.floorplans import ChipBlock, places_in_blocks, read_text
from heatsim.studies.imports.hotspot_configuration import read_number

# How nodes of a layer are called, and the first of the four or eight beyond the die: HotSpot's `temperature.h`.
PREFIXES = {"interface": "iface_", "spreader": "hsp_", "sink": "hsink_", "substrate": "sub_"}
BEYOND = {"spreader": (0,), "sink": (4, 8), "substrate": (12,), "solder": (16,), "pcb": (20, 24)}
INSIDE = {"sink": "spreader", "pcb": "solder"}  # whose side the inner four have
HINT = "-init_file (null) starts all at init_temp"


class StartLayer(NamedTuple):
    """A layer: its name; the prefix of its nodes; its side, m; and its blocks, which begin at 0."""

    name: str
    prefix: str
    side: float
    blocks: Sequence[ChipBlock]


def prefix_of(layer: str, of_file: bool, below: int) -> str:
    """How the nodes of a layer are called. of_file: whether layers come from a file; below: how many HotSpot has
    below."""
    if layer == "die":
        return ""
    if of_file and layer.startswith("layer_"):
        return f"layer_{int(layer.removeprefix('layer_')) + below}_"
    return PREFIXES.get(layer, f"{layer}_")


def read_start(path: Path) -> dict[str, float]:
    """Temperatures, K, by the names of nodes. Raises InputFileError."""
    found = dict[str, float]()
    for number, line in enumerate(read_text(path).splitlines(), 1):
        fields = line.split()
        if not fields or fields[0].startswith("#"):
            continue
        if len(fields) < 2:
            raise InputFileError(path, f"line {number}: expected a node and its temperature (K), found {line[:80]!r}")
        found[fields[0].lower()] = read_number(path, number, fields[1])
    return found


def start_field(
    path: Path, grid: Mapping[str, Any], layers: Sequence[StartLayer], die: tuple[float, float]
) -> np.ndarray:
    """(nz, ny, nx) initial temperatures, K, of cells whose faces `grid` gives; layers: from the bottom up; die: its
    sides, m. A part of the die that is in no block has the mean of its layer. Raises InputFileError for a file of
    another chip."""
    given = read_start(path)
    x, y = (0.5 * (np.array(grid[axis]["edges"])[1:] + np.array(grid[axis]["edges"])[:-1]) for axis in "xy")
    x, y = x - 0.5 * grid["x"]["edges"][-1], y - 0.5 * grid["y"]["edges"][-1]  # from the middle
    sides = {layer.name: layer.side for layer in layers}
    planes = []
    for layer, cells in zip(layers, (each["cells"] for each in grid["z"]["layers"]), strict=True):
        plane = _blocks(path, given, layer, (x + 0.5 * die[0], y + 0.5 * die[1]))
        if layer.name in BEYOND:
            _put_beyond(path, given, layer, sides.get(INSIDE.get(layer.name, ""), layer.side), plane, (x, y), die)
        planes += [plane] * cells
    return np.array(planes)


def as_npy(field: np.ndarray) -> bytes:
    """The content of a file of an array."""
    content = BytesIO()
    np.save(content, field.astype(np.float32))
    return content.getvalue()


def _node(path: Path, given: Mapping[str, float], name: str) -> float:
    if name.lower() not in given:
        raise InputFileError(path, f"has no temperature of {name!r}, a node of this chip ({HINT})")
    return given[name.lower()]


def _blocks(
    path: Path, given: Mapping[str, float], layer: StartLayer, places: tuple[np.ndarray, np.ndarray]
) -> np.ndarray:
    values = [_node(path, given, layer.prefix + block.name) for block in layer.blocks]
    areas = [block.area for block in layer.blocks]
    x, y = places
    plane = np.full((y.size, x.size), np.average(values, weights=areas))
    for cells, value in zip(places_in_blocks(layer.blocks, x, y), values, strict=True):
        plane[cells] = value
    return plane


def _put_beyond(
    path: Path,
    given: Mapping[str, float],
    layer: StartLayer,
    inner: float,
    plane: np.ndarray,
    places: tuple[np.ndarray, np.ndarray],
    die: tuple[float, float],
) -> None:
    x, y = places[0][None, :], places[1][:, None]
    across, along = np.abs(x) / die[0] + 0 * y, np.abs(y) / die[1] + 0 * x
    outside = (across > 0.5) | (along > 0.5)
    side = np.where(across >= along, np.where(x < 0, 0, 1), np.where(y > 0, 2, 3))  # W, E, N, S
    far = np.maximum(np.abs(x), np.abs(y)) > 0.5 * inner
    firsts = BEYOND[layer.name]
    for number, first in enumerate(firsts):
        part = outside & (far if number else ~far if len(firsts) > 1 else True)
        values = np.array([_node(path, given, f"inode_{first + each}") for each in range(4)])
        plane[part] = values[side[part]]
