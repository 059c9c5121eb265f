"""A scenario from the files of 3D-ICE: a stack and the floorplans that it names.

3D-ICE (Sridhar et al., ICCAD 2010) has dies and layers as large as the chip, the first one on top, and heat sinks that
are coefficients on the top and the bottom. Sources are layers of dies; the blocks of a floorplan release power in them.
Lengths are in micrometres, and so are all units made of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from heatsim.errors import InputFileError, RequestError
from heatsim.geometry.floorplans import MICRO, NUMBER, ChipBlock, read_plan, read_text, without_comments
from heatsim.imports.scenarios import Imported, add_blocks, block_edges, find_named_file, relative_name, solid

_HEADS = r"material|microchannel|(?:\w+ )*heat sink|die|layer|dimensions|stack|solver|output"
_SECTION = re.compile(rf"^\s*({_HEADS})\b([^:;]*):", re.MULTILINE)
REFUSED = {"microchannel": "microchannels", "channel": "microchannels", "pinfin": "pin fins", "layout": "layouts"}
CELLS = {"source": 2, "layer": 4}  # of a layer, from bottom to top
LEAST, MOST = 1e-30, 1e12  # of a number that can be computed with, in micrometres and what is made of them

Material = tuple[float | list[float], float]


class _Layer(NamedTuple):
    """Of a chip, from z = bottom on, m; source: whether it releases power, by the blocks of the floorplan of a die."""

    thickness: float
    material: str
    source: bool
    die: str = ""
    floorplan: Path | None = None
    bottom: float = 0.0

    @property
    def z(self) -> list[float]:
        """Where it begins and ends, m."""
        return [self.bottom, self.bottom + self.thickness]


class _Stack(NamedTuple):
    """materials: conductivity, W/(m K), one or along x, y, z, and capacity, J/(m3 K); sinks: coefficient, W/(m2 K), and
    temperature, K, of faces; layers from the bottom up; size and cell: along x and y, m; slot: s, 0 of a steady state;
    start: K; notes: what to tell."""

    materials: dict[str, Material]
    sinks: dict[str, tuple[float, float]]
    layers: list[_Layer]
    size: tuple[float, float]
    cell: float
    slot: float
    start: float
    notes: list[str]


def import_stack(file: Path, target: Path, cells: int | None = None, *, steady: bool = False) -> Imported:
    """The scenario of a stack (.stk), to be written to the file `target`; cells: across the longer side of the chip, at
    least; those of the stack, if left out. steady: the steady state of the mean powers, of a stack in time. That of a
    stack whose solver is steady has the first powers, as 3D-ICE takes them. Raises `HeatsimError`."""
    stack = _read(file)
    read = {layer.floorplan: read_plan(layer.floorplan) for layer in stack.layers if layer.floorplan}
    plans = {path: plan.blocks for path, plan in read.items()}
    if not plans:
        raise InputFileError(file, "expected a die with a floorplan in the stack, found none")
    for path, blocks in plans.items():
        ends = [(block.right, block.top) for block in blocks]
        if (np.max(ends, axis=0) > np.multiply(stack.size, 1.0 + 1e-6)).any():
            raise InputFileError(path, "expected blocks within the chip of the stack, found one that is not")
    document = _solids(file, stack, plans, stack.cell if cells is None else max(stack.size) / cells)
    powers, heated = list[tuple[float, ...]](), list[tuple[str, dict[str, Any]]]()
    for layer in stack.layers:
        if layer.floorplan is None:
            continue
        document["output"]["slices"].append({"name": layer.die, "axis": "z", "at": sum(layer.z) / 2, "count": 1})
        for block in plans[layer.floorplan]:
            place = {"file": relative_name(layer.floorplan, target), "unit": block.name, "z": layer.z}
            powers.append(block.powers or (0.0,))
            heated.append((f"{layer.die}_{block.name}", place))
            if block.material not in ("", layer.material):
                if block.material not in stack.materials:
                    raise InputFileError(layer.floorplan, f"block {block.name!r}: the stack has no {block.material!r}")
                document["materials"][block.material] = solid(*stack.materials[block.material])
                document["regions"].append({"material": block.material, "floorplan": place})
    table, told = _over_slots(file, powers, in_time=stack.slot > 0)
    text = add_blocks(document, target, heated, table, stack.slot if len(table) > 1 and not steady else 0.0)
    idle = [name for (name, _), each in zip(heated, powers, strict=True) if not any(each)]
    notes = [f"{file}: no power is given for {', '.join(idle[:8])}{', ...' if len(idle) > 8 else ''}"] if idle else []
    notes += [*stack.notes, *(note for plan in read.values() for note in plan.notes), *told]
    return Imported(document, text, [*plans], notes)


def _over_slots(file: Path, powers: list[tuple[float, ...]], *, in_time: bool) -> tuple[np.ndarray, list[str]]:
    """The powers (slots, blocks), W, and what to tell: in a steady state the first of each block; in time up to the
    last slot for which each block with several has a power, where 3D-ICE ends."""
    lengths = {len(each) for each in powers if len(each) > 1}
    slots = min(lengths, default=1) if in_time else 1
    notes = list[str]()
    if not in_time and any(len(set(each)) > 1 for each in powers):
        notes = [f"{file}: of several powers the first is taken, as 3D-ICE does where the solver is steady"]
    if in_time and len(lengths) > 1:
        notes = [f"{file}: blocks have {min(lengths)} to {max(lengths)} powers; {slots} slots are taken, as by 3D-ICE"]
    one = sum(len(each) == 1 and each[0] > 0 for each in powers)
    if in_time and slots > 1 and one:
        notes.append(f"{file}: {one} of {len(powers)} blocks have one power, which is taken in all {slots} slots")
    return np.array([(*each, *[each[-1]] * slots)[:slots] for each in powers]).T, notes


def _solids(file: Path, stack: _Stack, plans: Mapping[Path, tuple[ChipBlock, ...]], size: float) -> dict[str, Any]:
    """The tables of a scenario but for what blocks release; cells are no larger than `size`."""
    blocks = [block for plan in plans.values() for block in plan]
    across = {0.0, stack.size[0], *(edge for block in blocks for edge in (block.left, block.right))}
    along = {0.0, stack.size[1], *(edge for block in blocks for edge in (block.bottom, block.top))}
    try:
        x, y = (
            block_edges(places, (extent,) * 3, size) for places, extent in zip((across, along), stack.size, strict=True)
        )
    except RequestError as error:
        raise InputFileError(
            file, f"{_line_of('chip length', file)}chip length, width or cell length: {error}"
        ) from None
    z = [{"thickness": each.thickness, "cells": CELLS["source" if each.source else "layer"]} for each in stack.layers]
    regions: list[dict[str, Any]] = [{"material": stack.layers[0].material}]
    for layer in stack.layers:
        box = {"lower": [0.0, 0.0, layer.z[0]], "upper": [*stack.size, layer.z[1]]}
        regions.append({"material": layer.material, "box": box})
    return {
        "title": f"{file.stem}, from 3D-ICE",
        "temperature_unit": "K",
        "grid": {"x": {"edges": x}, "y": {"edges": y}, "z": {"layers": z}},
        "time": {"integrator": "steady"},
        "materials": {layer.material: solid(*stack.materials[layer.material]) for layer in stack.layers},
        "regions": regions,
        "initial": {"temperature": stack.start},
        "boundary": {
            face: {"kind": "convection", "coefficient": coefficient, "ambient": temperature}
            for face, (coefficient, temperature) in stack.sinks.items()
        },
        "output": {"snapshots": {"count": 1}, "energy": {"count": 1}, "slices": []},
    }


# --- the file of the stack


def _read(path: Path) -> _Stack:
    text = without_comments(read_text(path))
    heads, notes = [*_SECTION.finditer(text)], list[str]()
    if not heads or text[: heads[0].start()].strip():
        found = text.strip()[:80] or "nothing"
        raise InputFileError(path, f"expected a stack of 3D-ICE, which begins as material NAME :, found {found!r}")
    ends = [*(head.start() for head in heads[1:]), len(text)]
    sections = [(head[1], head[2].strip(), text[head.end() : end]) for head, end in zip(heads, ends, strict=True)]
    for kind, name, body in sections:
        for word, what in REFUSED.items():
            if kind == word or re.search(rf"(^|;)\s*{word}\b", body):
                raise RequestError(f"{path}: {kind} {name}: {what} cannot be imported")
    materials, sinks = dict[str, Material](), dict[str, tuple[float, float]]()
    for kind, name, body in sections:
        if kind == "material":
            where = f"material {name}"
            capacity = _value(path, where, body, "volumetric heat capacity") / MICRO**3
            along = re.search(rf"thermal\s+conductivity\s+({NUMBER})\s*,\s*({NUMBER})\s*,\s*({NUMBER})", body)
            conductivity = _value(path, where, body, "thermal conductivity") / MICRO
            several = [float(each) / MICRO for each in along.groups()] if along else conductivity
            materials[name] = several, capacity
        elif kind.endswith("heat sink"):
            if re.search(r"\b(sink|spreader)\s+(height|length)\b|\bplugin\b", body):
                raise RequestError(f"{path}: {kind}: a heat sink with a spreader, or in a plugin, cannot be imported")
            film = _value(path, kind, body, "heat transfer coefficient") / MICRO**2
            sinks["z_min" if kind.startswith("bottom") else "z_max"] = film, _value(path, kind, body, "temperature")
    bodies = {kind: body for kind, _, body in sections}
    dimensions, solver = bodies.get("dimensions", ""), bodies.get("solver", "")
    length = _value(path, "dimensions", dimensions, "chip length")
    width = _value(path, "dimensions", dimensions.partition("chip")[2], "width")
    layers = [*_layers(path, sections, materials, notes)][::-1]
    bottoms = accumulate((layer.thickness for layer in layers), initial=0.0)
    slot = re.search(rf"\bslot\s+({NUMBER})", solver)
    return _Stack(
        materials,
        sinks,
        [layer._replace(bottom=bottom) for layer, bottom in zip(layers, bottoms, strict=False)],
        (length * MICRO, width * MICRO),
        _value(path, "dimensions", dimensions, "cell length") * MICRO,
        float(slot[1]) if slot and "transient" in solver else 0.0,
        _value(path, "solver", solver, "initial temperature"),
        notes,
    )


def _layers(
    path: Path, sections: list[tuple[str, str, str]], materials: Mapping[str, Material], notes: list[str]
) -> Iterator[_Layer]:
    """The layers from the top down."""
    declared = {
        name: _Layer(_value(path, f"layer {name}", body, "height") * MICRO, _word(path, name, body), False)
        for kind, name, body in sections
        if kind == "layer"
    }
    dies = {name: [*_layers_of_die(path, name, body, declared)] for kind, name, body in sections if kind == "die"}
    stacked = [body for kind, _, body in sections if kind == "stack"]
    for statement in (each.strip() for each in ";".join(stacked).split(";")):
        plain = re.fullmatch(rf"layer\s+(\w+)\s+({NUMBER})\s+(\w+)", statement)
        named = re.fullmatch(r"layer\s+(\w+)\s+(\w+)(?:\s+discretization.*)?", statement)
        die = re.fullmatch(r'die\s+(\w+)\s+(\w+)\s+floorplan\s+"([^"]+)"(?:\s+discretization.*)?', statement)
        if plain:
            yield _known(path, _Layer(_thickness(path, "stack", plain[2]), plain[3], False), materials)
        elif named and named[2] in declared:
            yield _known(path, declared[named[2]], materials)
        elif die and die[2] in dies:
            floorplan = find_named_file(die[3], path, notes)
            for layer in dies[die[2]]:
                heated = layer._replace(die=die[1], floorplan=floorplan) if layer.source else layer
                yield _known(path, heated, materials)
        elif statement:
            raise InputFileError(
                path, f"stack: expected a layer or a die that the file declares, found {statement[:80]!r}"
            )


def _layers_of_die(path: Path, die: str, body: str, declared: Mapping[str, _Layer]) -> Iterator[_Layer]:
    """The layers of a die from the top down, each by thickness and material, or by the name of one that is declared."""
    for statement in (each.strip() for each in body.split(";")):
        plain = re.fullmatch(rf"(layer|source)\s+({NUMBER})\s+(\w+)", statement)
        named = re.fullmatch(r"(layer|source)\s+(\w+)", statement)
        if plain:
            yield _Layer(_thickness(path, f"die {die}", plain[2]), plain[3], plain[1] == "source")
        elif named and named[2] in declared:
            yield declared[named[2]]._replace(source=named[1] == "source")
        elif statement:
            expected = "layer or source, with a thickness and a material or the name of a layer"
            raise InputFileError(path, f"die {die}: expected {expected}, found {statement[:80]!r}")


def _thickness(path: Path, where: str, number: str) -> float:
    """Of a layer, m."""
    if not LEAST < float(number) < MOST:
        raise InputFileError(path, f"{where}: expected a thickness > 0 (um), found {number[:80]}")
    return float(number) * MICRO


def _known(path: Path, layer: _Layer, materials: Mapping[str, Material]) -> _Layer:
    if layer.material not in materials:
        raise InputFileError(path, f"expected a material that the file declares, found {layer.material!r}")
    return layer


def _value(path: Path, where: str, text: str, words: str) -> float:
    """The number after some words."""
    found = re.search(r"\s+".join([*words.split(), f"({NUMBER})"]), text)
    if found is None or not LEAST < float(found[1]) < MOST:
        what = "" if found is None else f" and below {MOST:g}, found {found[1][:80]}"
        raise InputFileError(path, f"{where}: expected {words} and a number > 0{what}")
    return float(found[1])


def _line_of(words: str, path: Path) -> str:
    """`line 9: `, of the first line of a file with some words; "" if there is none."""
    wanted = re.compile(r"\s+".join(words.split()))
    lines = read_text(path).splitlines()
    return next((f"line {number}: " for number, line in enumerate(lines, 1) if wanted.search(line)), "")


def _word(path: Path, name: str, text: str) -> str:
    found = re.search(r"\bmaterial\s+(\w+)", text)
    if found is None:
        raise InputFileError(path, f"layer {name}: expected material and a name")
    return found[1]
