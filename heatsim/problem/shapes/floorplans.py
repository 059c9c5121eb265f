"""Floorplans of chips: rectangular blocks by name, from files of HotSpot or 3D-ICE.

HotSpot (Zhang et al., University of Virginia CS-2015-02) has a line for each block, in metres:

    name  width  height  left  bottom  [heat capacity, J/(m3 K)  resistivity, m K/W]

3D-ICE (Sridhar et al., ICCAD 2010) has a group for each, in micrometres, with its powers in one or several time slots:

    name : position 0, 0 ; dimension 4900, 6200 ; power values 1.5, 2.5 ;
    name : rectangle (0, 0, 2000, 3000) ; rectangle (2000, 0, 500, 500) ; power values 1.5 ;
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
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
MAX_POWER = 1e12  # W
NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
NUMBERS = rf"{NUMBER}(?: , {NUMBER})*"
MICRO = 1e-6


class ChipBlock(NamedTuple):
    """A rectangle of a floorplan, m; conductivity, W/(m K), and capacity, J/(m3 K), where the file has them of a block;
    powers: in the time slots of a file of 3D-ICE, W; material: its name there, if it has one of its own; part: its
    number among several rectangles of one block."""

    name: str
    left: float
    bottom: float
    right: float
    top: float
    conductivity: float | None = None
    capacity: float | None = None
    powers: tuple[float, ...] = ()
    material: str = ""
    part: int = 0

    @property
    def area(self) -> float:
        """m2."""
        return (self.right - self.left) * (self.top - self.bottom)


class ChipPlan(NamedTuple):
    """The blocks of a floorplan; those that have no area, which are left out; what to tell of how it was read; and
    whether some blocks overlap."""

    blocks: tuple[ChipBlock, ...]
    flat: tuple[ChipBlock, ...] = ()
    notes: tuple[str, ...] = ()
    by_name: Mapping[str, list[ChipBlock]] = MappingProxyType({})
    overlap: bool = False

    def named(self, name: str) -> list[ChipBlock]:
        """The rectangles of the block of a name, if there is one."""
        return self.by_name.get(name, [])


def read_plan(path: Path) -> ChipPlan:
    """A floorplan. Blocks without an area are left out, and of blocks that overlap by little one is cut. Raises
    InputFileError for a file that is none, and for blocks of one name."""
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
    in_groups = re.search(r":\s*(position|rectangle)\b", without_comments(text))
    every = [*(_of_3d_ice(path, text) if in_groups else _of_hotspot(path, text))]
    empty = [block for block in every if block.right <= block.left or block.top <= block.bottom]
    flat = tuple(block for block in empty if not block.part)  # a rectangle without an area changes no other block
    found = [block for block in every if block.right > block.left and block.top > block.bottom]
    if not 0 < len(found) <= MAX_BLOCKS:
        raise InputFileError(path, f"expected 1 to {MAX_BLOCKS} blocks of a floorplan, found {len(found)}")
    for (name, _), count in Counter((block.name, block.part) for block in every).items():
        if count > 1:
            raise InputFileError(path, f"has more than one block {name!r}")
    notes = [f"{path}: {_some([block.name for block in flat])} without an area: left out"] if flat else []
    apart, told, overlap = _cut_apart(found)
    by_name: dict[str, list[ChipBlock]] = {}
    for block in apart:
        by_name.setdefault(block.name, []).append(block)
    notes += [f"{path}: {each}" for each in told]
    return ChipPlan(tuple(apart), flat, tuple(notes), MappingProxyType(by_name), overlap)


def covered_area(blocks: Sequence[ChipBlock]) -> float:
    """The area that blocks cover together, m2; what several cover counts once."""
    edges = np.array([block[1:5] for block in blocks], np.float64).reshape(-1, 4)
    edges = edges[np.argsort(edges[:, 1])]
    strips, area = np.unique(edges[:, [0, 2]]), 0.0
    for low, high in pairwise(strips.tolist()):
        _, starts, _, ends = edges[(edges[:, 0] <= low) & (edges[:, 2] >= high)].T
        if starts.size:
            before = np.concatenate(([starts[0]], np.maximum.accumulate(ends)[:-1]))
            area += (high - low) * float(np.maximum(ends - np.maximum(starts, before), 0.0).sum())
    return area


def places_in_blocks(blocks: Sequence[ChipBlock], x: np.ndarray, y: np.ndarray) -> Iterator[tuple[slice, slice]]:
    """Which of some places along y and along x, m, ascending, are in each block."""
    edges = np.array([block[1:5] for block in blocks], np.float64).reshape(-1, 4)
    firsts = zip(y.searchsorted(edges[:, 1]).tolist(), x.searchsorted(edges[:, 0]).tolist(), strict=True)
    ends = zip(
        y.searchsorted(edges[:, 3], "right").tolist(), x.searchsorted(edges[:, 2], "right").tolist(), strict=True
    )
    for (y0, x0), (y1, x1) in zip(firsts, ends, strict=True):
        yield slice(y0, y1), slice(x0, x1)


def _some(names: list[str]) -> str:
    """The subject and verb of a sentence about one block or several."""
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
    """The text of a file of 3D-ICE without its comments; its lines keep their numbers."""
    return re.sub(r"//[^\n]*|/\*.*?\*/", lambda found: "\n" * found[0].count("\n"), text, flags=re.DOTALL)


class Statement(NamedTuple):
    """Words with a space between them, as `position 0 , 100`; the line where they begin; and whether they are a head,
    which ends in a colon: others end in a semicolon."""

    text: str
    line: int
    head: bool


def statements(path: Path, text: str) -> Iterator[Statement]:
    """The statements of a file of 3D-ICE. Raises InputFileError for words that no mark ends."""
    words, first, line = list[str](), 1, 1
    for found in re.finditer(r'\n|"[^"\n]*"|[():;,]|[^\s():;,"]+|"', without_comments(text)):
        word = found[0]
        if word == "\n":
            line += 1
            continue
        if word in (":", ";"):
            if words:
                yield Statement(" ".join(words), first, word == ":")
            words = []
            continue
        first = first if words else line
        words.append(word)
    if words:
        raise InputFileError(path, f"line {first}: expected a semicolon after {' '.join(words)[:80]!r}")


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


# What may stand below the name of a block. Cells are not those of 3D-ICE: discretizations are passed over.
ELEMENT = {
    "position": re.compile(rf"position ({NUMBER}) , ({NUMBER})"),
    "dimension": re.compile(rf"dimension ({NUMBER}) , ({NUMBER})"),
    "rectangle": re.compile(rf"rectangle \( ({NUMBER}) , ({NUMBER}) , ({NUMBER}) , ({NUMBER}) \)"),
    "material": re.compile(r"material (\w+)"),
    "discretization": re.compile(rf"discretization {NUMBER} , {NUMBER}"),
    "power values": re.compile(rf"power values ({NUMBERS})"),
}


class Drawn(NamedTuple):
    """The statements below a name in a file of 3D-ICE, by the words of `ELEMENT`; and the line of the name."""

    name: str
    line: int
    said: dict[str, list[re.Match[str]]]


def drawn(path: Path, found: Iterator[Statement]) -> Iterator[Drawn]:
    """Names, and what is drawn below each. Raises InputFileError."""
    last: Drawn | None = None
    for each in found:
        if each.head:
            if last is not None:
                yield last
            last = Drawn(each.text, each.line, {})
            continue
        key = next((key for key, pattern in ELEMENT.items() if pattern.fullmatch(each.text)), "")
        if not key or last is None:
            expected = "position x, y; dimension length, width; rectangle (x, y, length, width); or power values"
            where = f"block {last.name!r}: " if last else ""
            raise InputFileError(path, f"line {each.line}: {where}expected {expected}, found {each.text[:80]!r}")
        matched = ELEMENT[key].fullmatch(each.text)
        last.said.setdefault(key, []).extend([matched] if matched else [])
        if len(last.said[key]) > 1 and key != "rectangle":
            raise InputFileError(path, f"line {each.line}: block {last.name!r}: {key} is given twice")
    if last is not None:
        yield last


def rectangles(path: Path, block: Drawn) -> list[tuple[float, float, float, float]]:
    """Left, bottom, length and width of the rectangles of a block of 3D-ICE, m. Raises InputFileError."""
    said, where = block.said, f"line {block.line}: block {block.name!r}"
    places = said.get("position", []), said.get("dimension", [])
    if all(places) == ("rectangle" in said) or any(places) != all(places):
        raise InputFileError(path, f"{where}: expected position x, y; and dimension length, width; (um), or rectangles")
    found = [(*place.groups(), *size.groups()) for place, size in zip(*places, strict=True)]
    numbers = [[float(each) for each in match] for match in found or (each.groups() for each in said["rectangle"])]
    for x, y, length, width in numbers:
        if not _is_rectangle(*(MICRO * each for each in (x, y, length, width))):
            raise InputFileError(
                path, f"{where}: expected a place, and a dimension > 0 (um), found {length:g}, {width:g}"
            )
    return [(MICRO * x, MICRO * y, MICRO * length, MICRO * width) for x, y, length, width in numbers]


def _of_3d_ice(path: Path, text: str) -> Iterator[ChipBlock]:
    for block in drawn(path, statements(path, text)):
        powers, own = block.said.get("power values"), block.said.get("material")
        values = tuple(float(each) for each in powers[0][1].split(" , ")) if powers else ()
        if not all(abs(each) < MAX_POWER for each in values):
            told = f"line {block.line}: block {block.name!r}: expected powers below {MAX_POWER:g} W"
            raise InputFileError(path, f"{told}, found {max(values, key=abs):g}")
        drawn_first = sorted(rectangles(path, block), key=lambda each: not (each[2] > 0 and each[3] > 0))
        for part, (x, y, length, width) in enumerate(drawn_first):  # part 0, which stands for the block, has an area
            yield ChipBlock(
                block.name, x, y, x + length, y + width,
                powers=values, material=own[0][1] if own else "", part=part,
            )  # fmt: skip


def _is_rectangle(left: float, bottom: float, width: float, height: float) -> bool:
    """Whether numbers, m, are those of a block, which may have no area."""
    ends = np.abs((left, bottom, left + width, bottom + height))
    return bool((ends < MAX_LENGTH).all() and width >= 0 and height >= 0)


def _cut_apart(blocks: list[ChipBlock]) -> tuple[list[ChipBlock], list[str], bool]:
    """The blocks without the little that some overlap, as rounded coordinates do; what to tell of those that were cut,
    and of those that overlap by more than SNAPPED of the smaller one, which are left as they are; and whether there are
    such."""
    order = sorted(range(len(blocks)), key=lambda each: blocks[each].left)
    found, lefts = list(blocks), np.array([blocks[each].left for each in order])
    edges = np.array([blocks[each][1:5] for each in order])
    cut, over, first = dict[str, float](), 0, ""
    for number, one in enumerate(order):
        end = np.searchsorted(lefts, edges[number, 2] - SLACK)  # all that follow begin beyond it
        left, bottom, right, top = edges[number + 1 : end].T
        across = np.minimum(edges[number, 2], right) - np.maximum(edges[number, 0], left)
        up = np.minimum(edges[number, 3], top) - np.maximum(edges[number, 1], bottom)
        for place in np.flatnonzero((across > SLACK) & (up > SLACK)):
            a, b = found[one], found[order[number + 1 + place]]
            by, high = float(across[place]), float(up[place])
            width, height = min(a.right - a.left, b.right - b.left), min(a.top - a.bottom, b.top - b.bottom)
            if min(by / width, high / height) > SNAPPED:
                over += 1
                first = first or f"blocks {a.name!r} and {b.name!r} overlap by {by:.3g} m x {high:.3g} m"
                continue
            if by / width <= high / height:
                b = b._replace(left=a.right)
            elif a.bottom <= b.bottom:
                b = b._replace(bottom=a.top)
            else:
                b = b._replace(top=a.bottom)
            found[order[number + 1 + place]], edges[number + 1 + place] = b, b[1:5]
            cut[b.name] = max(cut.get(b.name, 0.0), min(by, high))
    told = []
    if cut:
        told.append(f"{_some([*cut])} cut where others overlap by up to {max(cut.values()):.3g} m")
    if over:
        more = f", and {over - 1} pairs more" if over > 1 else ""
        told.append(f"{first}{more}: each releases its power over all of its area, as in HotSpot and 3D-ICE")
    return found, told, over > 0
