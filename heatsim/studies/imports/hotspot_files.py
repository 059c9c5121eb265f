"""The files of HotSpot: layers of a stack, power traces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import numpy as np

from heatsim.errors import InputFileError, RequestError
from heatsim.problem.shapes.floorplans import read_text
from heatsim.scenario.language.toml.messages import with_guess
from heatsim.studies.imports.hotspot_configuration import Configuration, find_material, read_number
from heatsim.studies.imports.scenarios import find_named_file

MAX_TRACE = 2**26  # bytes
Line = tuple[int, str]


class ChipLayer(NamedTuple):
    """A layer as large as the die, from z = bottom on, m: conductivity, W/(m K); capacity, J/(m3 K); lateral: whether
    heat flows sideways; heated: whether its blocks release power."""

    name: str
    bottom: float
    thickness: float
    conductivity: float
    capacity: float
    lateral: bool
    heated: bool
    floorplan: Path

    @property
    def z(self) -> list[float]:
        """Where the layer begins and ends, m."""
        return [self.bottom, self.bottom + self.thickness]


def read_layers(path: Path, configuration: Configuration) -> list[ChipLayer]:
    """The layers from the bottom up: those of a file (.lcf), or of a floorplan a die and the interface above it. What
    there is to tell is added to the notes of the configuration. Raises InputFileError."""
    if path.suffix == ".lcf":
        found = _layers_of(path, configuration)
    else:
        found, values = [], configuration.values
        for name, key in (("die", "chip"), ("interface", "interface")):
            thickness, conductivity, capacity = (values[f"{each}_{key}"] for each in "tkp")
            found.append(ChipLayer(name, 0.0, thickness, conductivity, capacity, True, name == "die", path))
    bottoms = accumulate((layer.thickness for layer in found), initial=0.0)
    layers = [layer._replace(bottom=bottom) for layer, bottom in zip(found, bottoms, strict=False)]
    if not any(layer.heated for layer in layers):
        raise InputFileError(path, "expected a layer that dissipates power, found none")
    return layers


def _layers_of(path: Path, configuration: Configuration) -> list[ChipLayer]:
    """Groups of lines: number, which says where in the stack it is; lateral heat flow; power; heat capacity and
    resistivity, or in place of both the name of a material; thickness; floorplan."""
    lines = [(number, line.split("#")[0].strip()) for number, line in enumerate(read_text(path).splitlines(), 1)]
    rest, found = [each for each in lines if each[1]], dict[int, ChipLayer]()
    while rest:
        start, name = rest[0]
        fields = 7 if len(rest) < 4 or _is_number(rest[3][1]) else 6
        if len(rest) < fields:
            raise InputFileError(path, f"line {start}: expected {fields} lines for each layer, found {len(rest)} more")
        if not name.isdecimal() or len(name) > 6:
            raise InputFileError(path, f"line {start}: expected the number of a layer, found {name[:80]!r}")
        number, layer = int(name), _layer_of(path, rest[1:fields], configuration)
        if number in found:
            raise InputFileError(path, f"line {start}: there is a layer {number} already")
        found[number] = layer._replace(name=f"layer_{number}")
        rest = rest[fields:]
    numbers = sorted(found)
    if numbers != [*range(len(numbers))]:
        told = f"expected layers from 0 to {len(numbers) - 1}, found {', '.join(map(str, numbers[:12]))}"
        raise InputFileError(path, told if numbers else "expected 7 lines for each layer, found none")
    return [found[number] for number in numbers]


def _layer_of(path: Path, lines: Sequence[Line], configuration: Configuration) -> ChipLayer:
    """The layer of these lines, at the bottom and without a name."""
    lateral, heated, *made_of, thickness, (_, plan) = lines
    for line, flag in (lateral, heated):
        if flag not in ("Y", "N", "y", "n"):
            raise InputFileError(path, f"line {line}: expected Y or N, found {flag[:80]!r}")
    if len(made_of) == 1:
        conductivity, capacity = find_material(path, *made_of[0], configuration.materials)
    else:
        capacity, resistivity = (read_number(path, *each) for each in made_of)
        conductivity = 1.0 / resistivity
    flows, releases = (flag in "Yy" for _, flag in (lateral, heated))
    if ".csv" in plan:
        raise RequestError(f"{path}: line {lines[-1][0]}: {plan[:80]}: microchannels cannot be imported")
    floorplan = find_named_file(plan, path, configuration.notes)
    return ChipLayer("", 0.0, read_number(path, *thickness), conductivity, capacity, flows, releases, floorplan)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def read_powers(path: Path, layers: Mapping[str, Sequence[str]]) -> np.ndarray:
    """The rows of a trace (n, blocks), W. layers: the names of the blocks of each layer that releases power. Columns
    are found by their names; where blocks of several layers have one name, in the order of the layers, as HotSpot does.
    Raises InputFileError where they are not those of the blocks, each of them once."""
    text = read_text(path, MAX_TRACE).splitlines()
    lines = ((number, line.split()) for number, line in enumerate(text, 1) if line.strip())
    _, names = next(lines, (0, []))
    blocks = [name for own in layers.values() for name in own]
    if len(set(blocks)) == len(blocks):
        places = _places_by_name(path, names, blocks)
    else:
        places = _places_by_layer(path, names, layers)
    rows = []
    for number, fields in lines:
        if len(fields) != len(names):
            raise InputFileError(path, f"line {number}: expected {len(names)} powers (W), found {len(fields)}")
        rows.append(np.array([read_number(path, number, field, 0.0) for field in fields])[places])
    if not rows:
        raise InputFileError(path, "expected a row of powers (W) below the names, found none")
    return np.array(rows)


def _places_by_name(path: Path, names: Sequence[str], blocks: Sequence[str]) -> list[int]:
    known, columns = set(blocks), Counter(names)
    for name in names:
        if name not in known:
            told = f"line 1: expected the names of blocks that release power, found {name[:80]!r}"
            raise InputFileError(path, with_guess(told, name, blocks))
    for name in blocks:
        if columns[name] != 1:
            raise InputFileError(path, f"line 1: expected a column for block {name!r}, found {columns[name]}")
    place = {name: number for number, name in enumerate(names)}
    return [place[name] for name in blocks]


def _places_by_layer(path: Path, names: Sequence[str], layers: Mapping[str, Sequence[str]]) -> list[int]:
    places, start = list[int](), 0
    for layer, blocks in layers.items():
        own = names[start : start + len(blocks)]
        if sorted(own) != sorted(blocks):
            missing = next(iter(Counter(blocks) - Counter(own)), "")
            told = (
                f"line 1: expected the {len(blocks)} blocks of {layer} from column {start + 1} on, since layers have "
            )
            raise InputFileError(path, f"{told}blocks of one name; {missing!r} is not among them")
        places += [start + own.index(name) for name in blocks]
        start += len(blocks)
    if len(names) > start:
        raise InputFileError(path, f"line 1: expected {start} columns, found {len(names)}")
    return places
