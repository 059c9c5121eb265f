"""Floorplans of chips: rectangular blocks by name, from files of HotSpot or 3D-ICE.

HotSpot (Zhang et al., University of Virginia CS-2015-02) has a line for each block, in metres:

    name  width  height  left  bottom  [heat capacity, J/(m3 K)  resistivity, m K/W]

3D-ICE (Sridhar et al., ICCAD 2010) has a group for each, in micrometres, with its powers in one or several time slots:

    name : position 0, 0 ; dimension 4900, 6200 ; power values 1.5, 2.5 ;
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice
from pathlib import Path
from stat import S_ISREG
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from heatsim.errors import InputFileError

MAX_BYTES, MAX_BLOCKS = 2**24, 2**16
SLACK = 1e-9  # m: blocks that overlap by less touch
SNAPPED = 0.01  # of the smaller block: one of two blocks that overlap by less is cut
MAX_LENGTH = 1e6  # m
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


class ChipPlan(NamedTuple):
    """The blocks of a floorplan; those that have no area, which are left out; and what to tell of how it was read."""

    blocks: tuple[ChipBlock, ...]
    flat: tuple[ChipBlock, ...] = ()
    notes: tuple[str, ...] = ()
    by_name: Mapping[str, ChipBlock] = MappingProxyType({})

    def named(self, name: str) -> list[ChipBlock]:
        """The block of a name, if there is one."""
        return [self.by_name[name]] if name in self.by_name else []


def read_floorplan(path: Path) -> tuple[ChipBlock, ...]:
    """The blocks of a floorplan. See `read_plan`."""
    return read_plan(path).blocks


def read_plan(path: Path) -> ChipPlan:
    """A floorplan. Blocks without an area are left out, and of blocks that overlap by little one is cut. Raises
    InputFileError for a file that is none, and for blocks that overlap by more or have one name."""
    try:
        found = path.stat()
    except (OSError, ValueError):
        raise InputFileError(path, "no such file") from None
    if not S_ISREG(found.st_mode):
        raise InputFileError(path, "is not a file")
    return _read(path, (found.st_mtime_ns, found.st_size, found.st_ino))


@lru_cache(maxsize=16)
def _read(path: Path, stamp: tuple[int, int, int]) -> ChipPlan:
    text = read_text(path)
    in_groups = re.search(r":\s*(position|rectangle)\b", text)
    every = [*(_of_3d_ice(path, text) if in_groups else _of_hotspot(path, text))]
    flat = tuple(block for block in every if block.right <= block.left or block.top <= block.bottom)
    found = [block for block in every if block.right > block.left and block.top > block.bottom]
    if not 0 < len(found) <= MAX_BLOCKS:
        raise InputFileError(path, f"expected 1 to {MAX_BLOCKS} blocks of a floorplan, found {len(found)}")
    for name, count in Counter(block.name for block in every).items():
        if count > 1:
            raise InputFileError(path, f"has more than one block {name!r}")
    notes = [f"{path}: {_some([block.name for block in flat])} without an area: left out"] if flat else []
    apart, cut = _cut_apart(path, found)
    if cut:
        told = (
            f"{_some([block for block, _ in cut])} cut where others overlap by up to {max(by for _, by in cut):.3g} m"
        )
        notes.append(f"{path}: {told}")
    return ChipPlan(tuple(apart), flat, tuple(notes), MappingProxyType({block.name: block for block in apart}))


def _some(names: list[str]) -> str:
    """What a sentence is about: one block or several."""
    return f"{'block' if len(names) == 1 else f'{len(names)} blocks'} {', '.join(names[:8])}" + (
        " is" if len(names) == 1 else ", ... are" if len(names) > 8 else " are"
    )


def read_text(path: Path, most: int = MAX_BYTES) -> str:
    """The text of a file of `most` bytes. Raises InputFileError."""
    try:
        with path.open("rb") as file:
            content = file.read(most + 1)
    except (OSError, ValueError) as error:
        told = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise InputFileError(path, f"cannot be read: {told}") from None
    if len(content) > most:
        raise InputFileError(path, f"holds more than the {most} bytes expected at most")
    if b"\0" in content:
        raise InputFileError(path, "is no text")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")  # as editors of the time wrote a degree sign in a comment
    return text.replace("\r\n", "\n").replace("\r", "\n")


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
        if not (_is_rectangle(left, bottom, width, height) and (resistivity is None or 1e-30 < resistivity < 1e30)):
            raise InputFileError(
                path, f"line {number}: expected sizes and a resistivity > 0, found {line.strip()[:80]!r}"
            )
        if capacity is not None and not 1e-30 < capacity < 1e30:
            raise InputFileError(path, f"line {number}: expected a heat capacity > 0, found {line.strip()[:80]!r}")
        conductivity = None if resistivity is None else 1.0 / resistivity
        yield ChipBlock(fields[0], left, bottom, left + width, bottom + height, conductivity, capacity)


def _of_3d_ice(path: Path, text: str) -> Iterator[ChipBlock]:
    for name, group in _GROUP.findall(without_comments(text)):
        place, size = (
            re.search(rf"{word}\s+({NUMBER})\s*,\s*({NUMBER})\s*;", group) for word in ("position", "dimension")
        )
        if re.search(r"\brectangle\b", group):
            raise InputFileError(path, f"block {name!r}: rectangles cannot be read, position and dimension can")
        if place is None or size is None:
            raise InputFileError(path, f"block {name!r}: expected position x, y; and dimension length, width; (um)")
        (x, y), (length, width) = ((MICRO * float(each) for each in found.groups()) for found in (place, size))
        if not _is_rectangle(x, y, length, width):
            raise InputFileError(path, f"block {name!r}: expected a place, and a dimension > 0 (um), found {size[0]!r}")
        powers = re.search(rf"power\s+values\s+({NUMBER}(?:\s*,\s*{NUMBER})*)", group)
        values = tuple(float(each) for each in powers[1].split(",")) if powers else ()
        own = re.search(r"\bmaterial\s+(\w+)", group)
        yield ChipBlock(name, x, y, x + length, y + width, powers=values, material=own[1] if own else "")


def _is_rectangle(left: float, bottom: float, width: float, height: float) -> bool:
    """Whether numbers, m, are those of a block, which may have no area."""
    ends = np.abs((left, bottom, left + width, bottom + height))
    return bool((ends < MAX_LENGTH).all() and width >= 0 and height >= 0)


def _cut_apart(path: Path, blocks: list[ChipBlock]) -> tuple[list[ChipBlock], list[tuple[str, float]]]:
    """The blocks without the little that some overlap, as rounded coordinates do; and which were cut, by how much, m.
    Raises InputFileError for blocks that overlap by more than SNAPPED of the smaller one."""
    order = sorted(range(len(blocks)), key=lambda each: blocks[each].left)
    found, cut = list(blocks), dict[str, float]()
    for number, one in enumerate(order):
        for other in islice(order, number + 1, None):
            a, b = found[one], found[other]
            if a.right - blocks[other].left <= SLACK:
                break  # so do all that follow begin beyond it
            across = min(a.right, b.right) - max(a.left, b.left)
            up = min(a.top, b.top) - max(a.bottom, b.bottom)
            if across <= SLACK or up <= SLACK:
                continue
            width, height = min(a.right - a.left, b.right - b.left), min(a.top - a.bottom, b.top - b.bottom)
            if min(across / width, up / height) > SNAPPED:
                raise InputFileError(path, f"blocks {a.name!r} and {b.name!r} overlap by {across:.3g} m x {up:.3g} m")
            if across / width <= up / height:
                found[other] = b._replace(left=a.right)
            elif a.bottom <= b.bottom:
                found[other] = b._replace(bottom=a.top)
            else:
                found[other] = b._replace(top=a.bottom)
            cut[b.name] = max(cut.get(b.name, 0.0), min(across, up))
    return found, [*cut.items()]
