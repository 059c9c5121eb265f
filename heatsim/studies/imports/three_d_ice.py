"""A scenario from the files of 3D-ICE: a stack and the floorplans that it names.

3D-ICE (Sridhar et al., ICCAD 2010) has dies and layers as large as the chip, the first one on top, and heat sinks that
are coefficients on the top and the bottom, with a heat spreader between if they are wider than the chip. Sources are
layers of dies; the blocks of a floorplan release power in them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from heatsim.errors import InputFileError, RequestError
from heatsim.problem.shapes.floorplans import SLACK, ChipBlock, read_plan, read_text
from heatsim.studies.imports.scenarios import CentredLayer, Imported, add_blocks, relative_name, solid, stack_tables
from heatsim.studies.imports.three_d_ice_files import HeatSink, Stack, read_layout, read_stack

CELLS = {"source": 2, "layer": 4, "sink": 4}  # of a layer, from bottom to top


class Cooling(NamedTuple):
    """The cooling in place of a heat sink in a plugin: a coefficient, W/(m2 K), on the layer below, and a temperature,
    K; the temperature of the start if left out."""

    coefficient: float
    temperature: float | None = None


def import_stack(
    file: Path, target: Path, cells: int | None = None, *, steady: bool = False, cooling: Cooling | None = None
) -> Imported:
    """The scenario of a stack (.stk), to be written to the file `target`; cells: across the longer side of the chip, at
    least; those of the stack, if left out. steady: the steady state of the mean powers, of a stack in time. That of a
    stack whose solver is steady has the first powers, as 3D-ICE takes them. Raises `HeatsimError`."""
    stack = _cooled(read_stack(file), cooling)
    read = {layer.floorplan: read_plan(layer.floorplan) for layer in stack.layers if layer.floorplan}
    plans = {path: plan.blocks for path, plan in read.items()}
    if not plans:
        raise InputFileError(file, "expected a die with a floorplan in the stack, found none")
    for path, blocks in plans.items():
        for flat in (each for each in read[path].flat if any(each.powers)):
            raise InputFileError(path, f"block {flat.name!r}: expected an area, since it has power; found none")
        ends = [(-block.left, -block.bottom, block.right, block.top) for block in blocks]
        if (np.max(ends, axis=0) > np.multiply((0, 0, *stack.size), 1.0 + 1e-6) + SLACK).any():
            raise InputFileError(path, "expected blocks within the chip of the stack, found one that is not")
    document, at, under = _solids(file, stack, plans, stack.cell if cells is None else max(stack.size) / cells)
    powers, heated = list[tuple[float, ...]](), list[tuple[str, dict[str, Any]]]()
    for layer in stack.layers:
        z = [under + height for height in layer.z]
        if layer.layout is not None:
            _add_layout(document, layer.layout, stack, z, at)
        if layer.floorplan is None:
            continue
        document["output"]["slices"].append({"name": layer.die, "axis": "z", "at": sum(z) / 2, "count": 1})
        for block in (each for each in plans[layer.floorplan] if not each.part):
            place = {"file": relative_name(layer.floorplan, target), "unit": block.name, "z": z}
            place |= {"at": at} if any(at) else {}
            powers.append(block.powers or (0.0,))
            heated.append((f"{layer.die}_{block.name}", place))
            if block.material not in ("", layer.material):
                if block.material not in stack.materials:
                    raise InputFileError(layer.floorplan, f"block {block.name!r}: the stack has no {block.material!r}")
                document["materials"][block.material] = solid(*stack.materials[block.material])
                document["regions"].append({"material": block.material, "floorplan": place})
    table, told = _over_slots(file, powers, in_time=stack.slot > 0)
    tables = add_blocks(document, target, heated, table, stack.slot if len(table) > 1 and not steady else 0.0)
    idle = [name for (name, _), each in zip(heated, powers, strict=True) if not any(each)]
    notes = [f"{file}: no power is given for {', '.join(idle[:8])}{', ...' if len(idle) > 8 else ''}"] if idle else []
    notes += [*stack.notes, *(note for plan in read.values() for note in plan.notes), *told]
    return Imported(document, tables, [*plans], notes, len(heated))


def _cooled(stack: Stack, cooling: Cooling | None) -> Stack:
    """The stack with a coefficient in place of a plugin. Raises RequestError if there is none."""
    found, notes, plugins = dict[str, HeatSink](), [*stack.notes], 0
    for face, sink in stack.sinks.items():
        if sink.coefficient is not None:
            found[face] = sink
            continue
        plugins += 1
        if cooling is None:
            hint = "give what it stands for, as --sink-coefficient 500 (W/(m2 K)), on the spreader"
            raise RequestError(f"{sink.where}: a heat sink that is a program cannot be run: {hint}")
        temperature = sink.temperature if cooling.temperature is None else cooling.temperature
        told = f"{cooling.coefficient:g} W/(m2 K) to {temperature:g} K is taken in its place"
        notes.append(f"{sink.where}: {told}")
        found[face] = sink._replace(coefficient=cooling.coefficient, temperature=temperature)
    if cooling is not None and not plugins:
        raise RequestError("--sink-coefficient: the stack has no heat sink in a plugin, it has its own coefficients")
    if not found:
        notes.append("the stack has no heat sink: no heat leaves it")
    return stack._replace(sinks=found, notes=notes)


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


def _solids(
    file: Path, stack: Stack, plans: Mapping[Path, tuple[ChipBlock, ...]], size: float
) -> tuple[dict[str, Any], list[float], float]:
    """The tables of a scenario but for what blocks release; where the chip has its origin along x and y, and its lowest
    layer, m. Cells across the chip are no larger than `size`."""
    below, above = (stack.sinks[face].slabs if face in stack.sinks else () for face in ("z_min", "z_max"))
    for slab in (*below, *above):
        if min(np.subtract(slab[2], stack.size)) < -SLACK:
            told = " x ".join(f"{side:g}" for side in slab[2])
            raise InputFileError(file, f"expected a spreader and a sink as large as the chip, found {told} m")
    slabs = [CentredLayer(material, height, sides, CELLS["sink"]) for material, height, sides in reversed(below)]
    slabs += [
        CentredLayer(each.material, each.thickness, stack.size, CELLS["source" if each.source else "layer"])
        for each in stack.layers
    ]
    slabs += [CentredLayer(material, height, sides, CELLS["sink"]) for material, height, sides in above]
    materials = {name: solid(*material) for name, material in stack.materials.items()}
    blocks = [block for plan in plans.values() for block in plan]
    try:
        document = stack_tables(slabs, materials, blocks, stack.size, size, stack.start)
    except RequestError as error:
        lines = enumerate(read_text(file).splitlines(), 1)
        where = next((f"line {number}: " for number, line in lines if "chip" in line.split()), "")
        raise InputFileError(file, f"{where}chip length, width or cell length: {error}") from None
    document = {"title": f"{file.stem}, from 3D-ICE", **document}
    document["boundary"] = {
        face: {"kind": "convection", "coefficient": sink.coefficient, "ambient": sink.temperature}
        for face, sink in stack.sinks.items()
    }
    wide = [max(slab.sides[axis] for slab in slabs) for axis in range(2)]
    at = [0.5 * (side - own) for side, own in zip(wide, stack.size, strict=True)]
    return document, at, sum(height for _, height, _ in below)


def _add_layout(document: dict[str, Any], file: Path, stack: Stack, z: list[float], at: list[float]) -> None:
    """Regions of what else lies in a layer."""
    for name, material, places in read_layout(file, stack.materials):
        known = document["materials"].setdefault(name, solid(*material))
        if known != solid(*material):
            raise InputFileError(file, f"there is another material {name!r} already")
        for x, y, length, width in places:
            lower, upper = [at[0] + x, at[1] + y, z[0]], [at[0] + x + length, at[1] + y + width, z[1]]
            if min(x, y) < -SLACK or (np.subtract((x + length, y + width), stack.size) > SLACK).any():
                raise InputFileError(file, f"expected rectangles within the chip, found one of {name!r} that is not")
            document["regions"].append({"material": name, "box": {"lower": lower, "upper": upper}})
