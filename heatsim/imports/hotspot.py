"""A scenario from the files of HotSpot: floorplan, power trace, layers and configuration.

HotSpot (Zhang, Stan and Skadron, University of Virginia CS-2015-02) has a stack of layers as large as the die, in which
blocks release power, then a heat spreader and a heat sink, both square and centred, whose top loses heat to the ambient
by one resistance. Here all of it is cut into cells, with void beside the die and the spreader; HotSpot has a few nodes
for the spreader and the sink beyond the die. The capacitance that HotSpot has between the sink and the ambient is left
out: it delays a transient, and changes no steady state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from heatsim.errors import InputFileError, RequestError
from heatsim.geometry.floorplans import SLACK, ChipBlock, ChipPlan, read_plan
from heatsim.imports.hotspot_configuration import Configuration, read_configuration
from heatsim.imports.hotspot_files import ChipLayer, read_layers, read_powers
from heatsim.imports.scenarios import Imported, add_blocks, block_edges, relative_name, solid

LATERAL = 1e-6  # of the conductivity, along a layer in which no heat flows sideways
CELLS_IN_LAYER = {"heated": 4, "other": 2, "spreader": 4, "sink": 8}


@dataclass(frozen=True)
class HotspotFiles:
    """stack: the floorplan of a die (.flp), or layers (.lcf); powers: a trace; configuration; materials, in place of
    the file that the configuration names."""

    stack: Path
    powers: Path
    configuration: Path | None = None
    materials: Path | None = None


def import_hotspot(files: HotspotFiles, target: Path, cells: int = 48, *, steady: bool = False) -> Imported:
    """The scenario of a chip, to be written to the file `target`; cells: across the longer side of the die, at least.
    steady: the steady state of the mean powers, in place of the trace. Raises `HeatsimError`."""
    configuration = read_configuration(files.configuration, files.materials)
    values = configuration.values
    layers = read_layers(files.stack, configuration)
    plans = {layer.floorplan: read_plan(layer.floorplan) for layer in layers}
    blocks = {file: plan.blocks for file, plan in plans.items()}
    die = _extent(blocks[layers[0].floorplan])
    _require_fit(layers, blocks, die, values)
    document = _stack(layers, blocks, values, die, cells)
    document["title"] = f"{files.stack.stem}, from HotSpot"
    at = [0.5 * (values["s_sink"] - size) - start for start, size in zip(die[:2], die[2:], strict=True)]
    heated = list[tuple[str, dict[str, Any]]]()
    names = _names_of_blocks(layers, plans)
    for layer, block in [(each, block) for each in layers for block in blocks[each.floorplan]]:
        place = {"file": relative_name(layer.floorplan, target), "unit": block.name, "z": layer.z, "at": at}
        if layer.heated:
            heated.append((names[layer.name, block.name], place))
        if block.conductivity not in (None, layer.conductivity):
            name = f"{layer.name}_{block.name}"
            capacity = block.capacity or layer.capacity
            document["materials"][name] = _material(layer, block.conductivity or layer.conductivity, capacity)
            document["regions"].append({"material": name, "floorplan": place})
    powers = _powers(files.powers, layers, plans)
    slot = values["sampling_intvl"] if len(powers) > 1 and not steady else 0.0
    table = add_blocks(document, target, heated, powers, slot)
    notes = [*configuration.notes, *(note for plan in plans.values() for note in plan.notes), *_gaps(layers, blocks)]
    notes += _left_out(files, configuration, blocks, transient=slot > 0)
    return Imported(document, table, [*blocks], notes)


def _names_of_blocks(layers: Sequence[ChipLayer], plans: Mapping[Path, ChipPlan]) -> dict[tuple[str, str], str]:
    """The names of the blocks that release power, by layer and block: with that of the layer, if those of blocks are
    not enough to tell them apart."""
    found = [(layer.name, block.name) for layer in layers if layer.heated for block in plans[layer.floorplan].blocks]
    alone = len({block for _, block in found}) == len(found)
    return {(layer, block): block if alone else f"{layer}_{block}" for layer, block in found}


def _powers(file: Path, layers: Sequence[ChipLayer], plans: Mapping[Path, ChipPlan]) -> np.ndarray:
    """The rows of a trace (n, blocks), W. Raises InputFileError if a block without an area has a power."""
    every = {
        layer.name: [*plans[layer.floorplan].blocks, *plans[layer.floorplan].flat] for layer in layers if layer.heated
    }
    powers = read_powers(file, {layer: [block.name for block in blocks] for layer, blocks in every.items()})
    flat = [block.top <= block.bottom or block.right <= block.left for blocks in every.values() for block in blocks]
    for block, values, has_none in zip([each for own in every.values() for each in own], powers.T, flat, strict=True):
        if has_none and values.any():
            raise InputFileError(file, f"block {block.name!r} has no area, but releases up to {values.max():g} W")
    return powers[:, ~np.array(flat)]


def _left_out(
    files: HotspotFiles, configuration: Configuration, blocks: Mapping[Path, Sequence[ChipBlock]], *, transient: bool
) -> list[str]:
    """What to tell of what HotSpot would take, and heatsim does not, or the other way round."""
    notes, values, file = list[str](), configuration.values, files.configuration
    if transient:
        own = values["p_sink"] * values["s_sink"] ** 2 * values["t_sink"]
        told = f"c_convec, {values['c_convec']:g} J/K between the sink and the ambient, is left out"
        notes.append(f"{file or 'HotSpot'}: {told}: the sink warms with its own {own:.4g} J/K alone")
        if configuration.start:
            told = (
                f"initial temperatures are not read from {configuration.start}; all start at {values['init_temp']:g} K"
            )
            notes.append(f"{file}: {told}")
    if configuration.layers and files.stack.suffix != ".lcf":
        notes.append(f"{file}: names the layers {configuration.layers}, which HotSpot takes in place of {files.stack}")
    for path, plan in blocks.items():
        own_values = [block.name for block in plan if block.conductivity is not None]
        if own_values and not (configuration.detailed and files.stack.suffix == ".lcf"):
            told = "the resistivity of blocks is taken, as HotSpot does of layers (.lcf) alone, with -detailed_3D on"
            notes.append(f"{path}: {told}")
    return notes


def _require_fit(
    layers: Sequence[ChipLayer],
    blocks: Mapping[Path, Sequence[ChipBlock]],
    die: tuple[float, float, float, float],
    values: Mapping[str, float],
) -> None:
    for layer in layers:
        if not np.allclose(_extent(blocks[layer.floorplan]), die, atol=SLACK):
            raise InputFileError(layer.floorplan, "expected a floorplan as large as that of the first layer")
    sizes = max(die[2:]), values["s_spreader"], values["s_sink"]
    if not sizes[0] - SLACK <= sizes[1] <= sizes[2]:
        told = ", ".join(f"{size:g}" for size in sizes)
        raise RequestError(f"expected a die within the spreader, and that within the sink; found sides of {told} m")


def _extent(blocks: Sequence[ChipBlock]) -> tuple[float, float, float, float]:
    """Left, bottom, width and height of the die, m."""
    left, bottom = min(each.left for each in blocks), min(each.bottom for each in blocks)
    return left, bottom, max(each.right for each in blocks) - left, max(each.top for each in blocks) - bottom


def _gaps(layers: Sequence[ChipLayer], blocks: Mapping[Path, Sequence[ChipBlock]]) -> list[str]:
    """A floorplan that leaves parts of the die without a block."""
    notes = []
    for file in dict.fromkeys(layer.floorplan for layer in layers):
        _, _, width, height = _extent(blocks[file])
        share = 1.0 - sum(block.area for block in blocks[file]) / (width * height)
        if share > 1e-6:
            notes.append(f"{file}: {100 * share:.3g} % of the die are in no block, and release no power")
    return notes


# --- the stack


def _stack(
    layers: Sequence[ChipLayer],
    blocks: Mapping[Path, Sequence[ChipBlock]],
    values: Mapping[str, float],
    die: tuple[float, float, float, float],
    cells: int,
) -> dict[str, Any]:
    """The tables of a scenario but for what blocks release."""
    side, top = values["s_sink"], layers[-1].z[1]
    heights = [top, top + values["t_spreader"], top + values["t_spreader"] + values["t_sink"]]
    materials: dict[str, Any] = {"gap": {"conductivity": 0.0}}
    regions: list[dict[str, Any]] = [{"material": "gap"}]
    for name, low, high in zip(("spreader", "sink"), heights[:-1], heights[1:], strict=True):
        materials[name] = solid(values[f"k_{name}"], values[f"p_{name}"])
        regions.append({"material": name, "box": _centred(side, (values[f"s_{name}"],) * 2, low, high)})
    for layer in layers:
        materials[layer.name] = _material(layer, layer.conductivity, layer.capacity)
        regions.append({"material": layer.name, "box": _centred(side, die[2:], *layer.z)})
    size, plans = max(die[2:]) / cells, [block for plan in blocks.values() for block in plan]
    across = {edge - die[0] for block in plans for edge in (block.left, block.right)}
    along = {edge - die[1] for block in plans for edge in (block.bottom, block.top)}
    x, y = (
        block_edges(places, (extent, values["s_spreader"], side), size)
        for places, extent in zip((across, along), die[2:], strict=True)
    )
    middle = next(layer for layer in layers if layer.heated)
    film = 1.0 / (values["r_convec"] * side**2)
    return {
        "temperature_unit": "K",
        "grid": {"x": {"edges": x}, "y": {"edges": y}, "z": {"layers": _heights(layers, values)}},
        "time": {"integrator": "steady"},
        "materials": materials,
        "regions": regions,
        "initial": {"temperature": values["init_temp"]},
        "boundary": {"z_max": {"kind": "convection", "coefficient": film, "ambient": values["ambient"]}},
        "output": {
            "snapshots": {"count": 1},
            "energy": {"count": 1},
            "slices": [{"name": "die", "axis": "z", "at": sum(middle.z) / 2, "count": 1}],
        },
    }


def _material(layer: ChipLayer, conductivity: float, capacity: float) -> dict[str, Any]:
    """A material of a layer, of which HotSpot knows the capacity of a unit volume alone."""
    made = solid(conductivity, capacity)
    if not layer.lateral:
        made["conductivity"] = [LATERAL * conductivity, LATERAL * conductivity, conductivity]
    return made


def _centred(side: float, size: Sequence[float], low: float, high: float) -> dict[str, list[float]]:
    lower, upper = ([0.5 * (side + sign * each) for each in size] for sign in (-1.0, 1.0))
    return {"lower": [*lower, low], "upper": [*upper, high]}


def _heights(layers: Sequence[ChipLayer], values: Mapping[str, float]) -> list[dict[str, Any]]:
    sizes = [(layer.thickness, CELLS_IN_LAYER["heated" if layer.heated else "other"]) for layer in layers]
    sizes += [(values[f"t_{name}"], CELLS_IN_LAYER[name]) for name in ("spreader", "sink")]
    return [{"thickness": thickness, "cells": cells} for thickness, cells in sizes]
