"""What scenarios from the files of other programs have in common."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from os.path import relpath
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tomli_w

from heatsim.errors import RequestError
from heatsim.problem.shapes.floorplans import SLACK, ChipBlock

_BREAK = re.compile(r"\n\s+")
STEP = 1e-6  # of a time slot, in which the power goes from one value to the next
GROWTH = 1.5  # of cells from one to the next beside the blocks
MAX_CELLS_ALONG = 20_000  # of an axis: what is more is a typing error
MOST_NAMED = 1000  # blocks with a source and a region each; of more, a source and a region stand for a whole floorplan
SNAP = 0.02  # of a cell: edges of blocks that are nearer to each other are one


class Imported(NamedTuple):
    """The tables of a scenario; the texts of the files of powers beside it, if it has any; the floorplans that it
    names; what to tell; how many blocks release power; and the file of initial temperatures, if it has one."""

    document: dict[str, Any]
    tables: dict[Path, str]
    floorplans: list[Path]
    notes: list[str]
    blocks: int
    start: bytes = b""

    @property
    def powers(self) -> str:
        """The text of the first file of powers, or ""."""
        return next(iter(self.tables.values()), "")

    @property
    def toml(self) -> str:
        """The text of the scenario, arrays of numbers on one line."""
        text = tomli_w.dumps(self.document)
        return re.sub(r"\[\n\s+([^][{}\"]*?),\n\]", lambda found: f"[{re.sub(_BREAK, ' ', found[1])}]", text)


def powers_file(target: Path) -> Path:
    """The file of powers beside a scenario."""
    return target.with_suffix(".powers.csv")


def start_file(target: Path) -> Path:
    """The file of initial temperatures beside a scenario."""
    return target.with_suffix(".initial.npy")


def solid(conductivity: float | list[float], capacity: float) -> dict[str, Any]:
    """A material of which the conductivity, W/(m K), one or along x, y, z, and the capacity of a unit volume, J/(m3 K),
    are known."""
    return {"conductivity": conductivity, "density": 1000.0, "heat_capacity": capacity / 1000.0}


class CentredLayer(NamedTuple):
    """A layer of a stack, centred on the chip: the name of its material; thickness, and sides along x and y, m; and how
    many cells it has along z."""

    material: str
    thickness: float
    sides: tuple[float, float]
    cells: int


def stack_tables(
    slabs: Sequence[CentredLayer],
    materials: dict[str, Any],
    blocks: Sequence[ChipBlock],
    chip: tuple[float, float],
    size: float,
    start: float,
) -> dict[str, Any]:
    """The tables of a scenario but for faces and what blocks release: slabs from the bottom up, with void beside those
    that are smaller than others. chip: its sides, m, from 0 on, where blocks begin; size: of cells across it, at most,
    m; start: K. Raises RequestError for too many cells."""
    wide = [max(slab.sides[axis] for slab in slabs) for axis in range(2)]
    across = {edge for block in blocks for edge in (block.left, block.right)} | {0.0, chip[0]}
    along = {edge for block in blocks for edge in (block.bottom, block.top)} | {0.0, chip[1]}
    x, y = (
        block_edges(places, sorted({side, *(slab.sides[axis] for slab in slabs)}), size)
        for axis, (places, side) in enumerate(zip((across, along), chip, strict=True))
    )
    used = {slab.material: materials[slab.material] for slab in slabs}
    regions: list[dict[str, Any]] = [{"material": slabs[0].material}]
    if any(not np.allclose(slab.sides, wide, rtol=0.0, atol=SLACK) for slab in slabs):
        gap = "gap"
        while gap in materials:
            gap += "_"
        used, regions = {gap: {"conductivity": 0.0}, **used}, [{"material": gap}]
    bottom = 0.0
    for slab in slabs:
        lower, upper = (
            [0.5 * (end + sign * side) for end, side in zip(wide, slab.sides, strict=True)] for sign in (-1, 1)
        )
        box = {"lower": [*lower, bottom], "upper": [*upper, bottom + slab.thickness]}
        regions.append({"material": slab.material, "box": box})
        bottom += slab.thickness
    return {
        "temperature_unit": "K",
        "grid": {
            "x": {"edges": x},
            "y": {"edges": y},
            "z": {"layers": [{"thickness": slab.thickness, "cells": slab.cells} for slab in slabs]},
        },
        "time": {"integrator": "steady"},
        "materials": used,
        "regions": regions,
        "initial": {"temperature": start},
        "boundary": {},
        "output": {"snapshots": {"count": 1}, "energy": {"count": 1}, "slices": []},
    }


def block_edges(places: set[float], sides: Sequence[float], size: float) -> list[float]:
    """Faces of cells along an axis: on all edges of blocks, and between them cells no larger than `size`; beside the
    die growing ones, up to the edges of all that is wider. sides: of the die and of these, m. Raises `RequestError` for
    more than MAX_CELLS_ALONG."""
    sharp = [0.0]
    for place in sorted(places):
        if place > sharp[-1] + SNAP * size:
            sharp.append(place)
    across = (max(places) - min(places)) / size
    if not across <= MAX_CELLS_ALONG:
        raise RequestError(f"expected at most {MAX_CELLS_ALONG} cells along an axis, found {across:.3g}")
    inside = [0.0]
    for low, high in pairwise(sharp):
        count = max(1, int(np.ceil((high - low) / size - 1e-6)))
        inside += [low + (high - low) * number / count for number in range(1, count + 1)]
    die, side = sides[0], sides[-1]
    beyond, last = [0.0], size
    for end in sides[1:]:
        last = _grow(beyond, 0.5 * (end - die), last)
    start = 0.5 * (side - die)
    lower = [start - each for each in reversed(beyond[1:])]
    upper = [start + die + each for each in beyond[1:]]
    faces = [*lower, *(start + each for each in inside), *upper]
    return [0.0, *(float(f"{face:.12g}") for face in faces[1:-1]), side]


def _grow(faces: list[float], end: float, size: float) -> float:
    """Add faces of cells that grow up to `end`; the size of the last one."""
    length = end - faces[-1]
    if length <= SLACK:
        return size
    sizes = [size]
    while sum(sizes) < length:
        sizes.append(sizes[-1] * GROWTH)
    scale, start = length / sum(sizes), faces[-1]
    faces += [start + scale * float(each) for each in np.cumsum(sizes)[:-1]] + [end]
    return scale * sizes[-1]


Placed = tuple[str, dict[str, Any]]  # the name of a block and its floorplan, a shape of a scenario


def add_blocks(
    document: dict[str, Any],
    target: Path,
    blocks: Sequence[Placed],
    powers: np.ndarray,
    slot: float,
) -> dict[Path, str]:
    """Have blocks, names and floorplans, release powers (slots, blocks), W: each for a slot, s, one after another, or
    where that is 0 their means in a steady state. Each is a region of statistics, too. Returns the texts of the files
    of powers: none of a steady state with few blocks."""
    looks = {"every": slot} if slot else {"count": 1}
    if slot:
        document["time"] = {"end": len(powers) * slot}
    if len(blocks) > MOST_NAMED:
        return _add_floorplans(document, target, blocks, powers, slot)
    given: list[Any] = powers.mean(axis=0).tolist()
    if slot:
        given = [{"file": powers_file(target).name, "column": name} for name, _ in blocks]
    document["sources"] = [
        {"power": power, "region": {"floorplan": place}} for (_, place), power in zip(blocks, given, strict=True)
    ]
    document["output"]["regions"] = [{"name": name, "floorplan": place, **looks} for name, place in blocks]
    return {powers_file(target): _powers_over_time([name for name, _ in blocks], powers, slot)} if slot else {}


def _add_floorplans(
    document: dict[str, Any], target: Path, blocks: Sequence[Placed], powers: np.ndarray, slot: float
) -> dict[Path, str]:
    """Have the blocks of a layer release powers by one source and one region of statistics, with a file of powers."""
    layers = dict[str, tuple[dict[str, Any], list[int]]]()
    for number, (_, place) in enumerate(blocks):
        whole = {key: value for key, value in place.items() if key != "unit"}
        layers.setdefault(repr(whole), (whole, []))[1].append(number)
    document["sources"], document["output"]["regions"], tables = [], [], dict[Path, str]()
    for place, numbers in layers.values():
        stem = re.sub(r"\W", "_", Path(place["file"]).stem)
        label = stem if len(layers) == 1 else f"{stem}_{len(tables) + 1}"
        file = powers_file(target) if len(layers) == 1 else target.with_suffix(f".{label}.powers.csv")
        names, own = [blocks[number][1]["unit"] for number in numbers], powers[:, numbers]
        lines = [f"{name},{power:.9g}\n" for name, power in zip(names, own.mean(axis=0).tolist(), strict=True)]
        tables[file] = _powers_over_time(names, own, slot) if slot else "".join(["block,power [W]\n", *lines])
        document["sources"].append({"region": {"floorplan": place}, "powers": file.name})
        looks = {"every": slot} if slot else {"count": 1}
        document["output"]["regions"].append({"name": label, "floorplan": place, "by_block": True, **looks})
    return tables


def find_named_file(name: str, file: Path, notes: list[str]) -> Path:
    """A file that another names, as programs do from the folder where they are started: beside it, in the working
    folder, in the folders around it, or by the last part of its name beside it. Where it is not the first of these,
    which was taken is added to the notes. The first, if there is none of them."""
    first = file.parent / name
    places = [Path(name), *(folder / name for folder in file.absolute().parents[1:]), file.parent / Path(name).name]
    for place in [] if _is_file(first) else places:
        if _is_file(place):
            notes.append(f"{file}: names {name}, which is not beside it: {relpath(place)} is taken")
            return Path(relpath(place))
    return first


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name that no file can have
        return False


def relative_name(file: Path, target: Path) -> str:
    """The name of a file in the scenario `target`."""
    return Path(relpath(file, target.parent)).as_posix()


def _powers_over_time(names: Sequence[str], powers: np.ndarray, interval: float) -> str:
    """A table of powers that are constant over each interval."""
    lines = [",".join(["time [s]", *names])]
    for number, row in enumerate(powers):
        values = ",".join(f"{each:.9g}" for each in row)
        end = number + 1 - (STEP if number + 1 < len(powers) else 0.0)
        lines += [f"{time * interval!r},{values}" for time in (number, end)]  # all digits: of late slots, too
    return "\n".join(lines) + "\n"
