"""Floorplans of chips: rectangular blocks by name, from files of HotSpot or 3D-ICE.

HotSpot (Zhang et al., University of Virginia CS-2015-02) has a line for each block, in metres:

    name  width  height  left  bottom  [heat capacity, J/(m3 K)  resistivity, m K/W]

3D-ICE (Sridhar et al., ICCAD 2010) has a group for each, in micrometres, with its powers in one or several time slots:

    name : position 0, 0 ; dimension 4900, 6200 ; power values 1.5, 2.5 ;
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from heatsim.errors import InputFileError

MAX_BYTES, MAX_BLOCKS = 2**24, 10_000
SLACK = 1e-9  # m: blocks that overlap by less touch
NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_GROUP = re.compile(r"([^\s:;]+)\s*:([^:]*?)(?=[^\s:;]+\s*:|\Z)", re.DOTALL)
MICRO = 1e-6


class ChipBlock(NamedTuple):
    """A rectangle of a floorplan, m; conductivity, W/(m K), and capacity, J/(m3 K), where the file has them of a block;
    powers: in the time slots of a file of 3D-ICE, W; material: its name there, if it has one of its own."""

    name: str
    left: float
    bottom: float
    right: float
    top: float
    conductivity: float | None = None
    capacity: float | None = None
    powers: tuple[float, ...] = ()
    material: str = ""

    def covers(self, x: np.ndarray | float, y: np.ndarray | float) -> np.ndarray:
        """Whether places, m, lie in it."""
        return np.asarray((self.left <= x) & (x <= self.right) & (self.bottom <= y) & (y <= self.top))

    @property
    def area(self) -> float:
        """m2."""
        return (self.right - self.left) * (self.top - self.bottom)


def read_floorplan(path: Path) -> tuple[ChipBlock, ...]:
    """The blocks of a floorplan. Raises InputFileError for a file that is none, and for blocks that overlap or have one
    name."""
    try:
        stamp = path.stat().st_mtime_ns
    except OSError:
        raise InputFileError(path, "no such file") from None
    return _read(path, stamp)


@lru_cache(maxsize=16)
def _read(path: Path, stamp: int) -> tuple[ChipBlock, ...]:
    if path.stat().st_size > MAX_BYTES:
        raise InputFileError(path, f"holds more than the {MAX_BYTES} bytes expected at most")
    text = read_text(path)
    found = [*(_of_3d_ice(path, text) if re.search(r":\s*position\b", text) else _of_hotspot(path, text))]
    if not 0 < len(found) <= MAX_BLOCKS:
        raise InputFileError(path, f"expected 1 to {MAX_BLOCKS} blocks of a floorplan, found {len(found)}")
    for name, count in Counter(block.name for block in found).items():
        if count > 1:
            raise InputFileError(path, f"has more than one block {name!r}")
    _require_apart(path, found)
    return tuple(found)


def read_text(path: Path) -> str:
    """The text of a file. Raises InputFileError."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputFileError(path, f"cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise InputFileError(path, "is no text") from None


def without_comments(text: str) -> str:
    """The text of a file of 3D-ICE without its comments."""
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)


def _of_hotspot(path: Path, text: str) -> Iterator[ChipBlock]:
    for number, line in enumerate(text.splitlines(), 1):
        fields = line.split("#")[0].split()
        if len(fields) in (0, 3):  # three fields are how blocks are wired
            continue
        try:
            width, height, left, bottom, *more = (float(each) for each in fields[1:])
            if more and len(more) != 2:
                raise ValueError
        except ValueError:
            expected = "name width height left bottom [heat capacity, resistivity]"
            raise InputFileError(path, f"line {number}: expected {expected}, found {line.strip()[:80]!r}") from None
        capacity, resistivity = more or (None, None)
        if not (width > 0 and height > 0 and (resistivity is None or resistivity > 0)):
            raise InputFileError(
                path, f"line {number}: expected sizes and a resistivity > 0, found {line.strip()[:80]!r}"
            )
        conductivity = None if resistivity is None else 1.0 / resistivity
        yield ChipBlock(fields[0], left, bottom, left + width, bottom + height, conductivity, capacity)


def _of_3d_ice(path: Path, text: str) -> Iterator[ChipBlock]:
    for name, group in _GROUP.findall(without_comments(text)):
        place, size = (
            re.search(rf"{word}\s+({NUMBER})\s*,\s*({NUMBER})\s*;", group) for word in ("position", "dimension")
        )
        if place is None or size is None:
            raise InputFileError(path, f"block {name!r}: expected position x, y; and dimension length, width; (um)")
        (x, y), (length, width) = ((MICRO * float(each) for each in found.groups()) for found in (place, size))
        if not (length > 0 and width > 0):
            raise InputFileError(path, f"block {name!r}: expected a dimension > 0 (um), found {size[0]!r}")
        powers = re.search(rf"power\s+values\s+({NUMBER}(?:\s*,\s*{NUMBER})*)", group)
        values = tuple(float(each) for each in powers[1].split(",")) if powers else ()
        own = re.search(r"\bmaterial\s+(\w+)", group)
        yield ChipBlock(name, x, y, x + length, y + width, powers=values, material=own[1] if own else "")


def _require_apart(path: Path, blocks: list[ChipBlock]) -> None:
    ordered = sorted(blocks, key=lambda each: each.left)
    for number, one in enumerate(ordered):
        for other in islice(ordered, number + 1, None):
            if one.right - other.left <= SLACK:
                break  # so do all that follow begin beyond it
            across = min(one.right, other.right) - other.left
            up = min(one.top, other.top) - max(one.bottom, other.bottom)
            if across <= SLACK or up <= SLACK:
                continue
            raise InputFileError(path, f"blocks {one.name!r} and {other.name!r} overlap by {across:.3g} m x {up:.3g} m")
