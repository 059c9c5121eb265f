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
from heatsim.problem.shapes.floorplans import SLACK, ChipBlock, ChipPlan, read_plan
from heatsim.scenario.materials import MAX_MATERIALS
from heatsim.studies.imports.hotspot_configuration import Configuration, read_configuration
from heatsim.studies.imports.hotspot_files import ChipLayer, read_layers, read_powers
from heatsim.studies.imports.hotspot_start import StartLayer, as_npy, prefix_of, start_field
from heatsim.studies.imports.scenarios import (
    CentredLayer,
    Imported,
    add_blocks,
    relative_name,
    solid,
    stack_tables,
    start_file,
)

SAME_SIZE = 1e-6  # m, between the ends of layers, as HotSpot compares them
LATERAL = 1e-6  # of the conductivity, along a layer in which no heat flows sideways
CELLS_IN_LAYER = {"heated": 4, "other": 2, "spreader": 4, "sink": 8}
# Below the die, from the bottom up: conductivity, W/(m K), and capacity, J/(m3 K), as in HotSpot's `temperature.h`; the
# last two belong to a floorplan alone, layers of a file have their own.
SECONDARY = {
    "pcb": (1.0 / 0.333, 1.32e6),
    "solder": (1.0 / 0.06, 2.1e6),
    "substrate": (1.0 / 0.5, 1.6e6),
    "c4": (1.0 / 0.8, 1.65e6),
    "metal": (1.0 / 0.0025, 3.55e6),
}
PACKAGE = "pcb", "solder", "substrate"
LEAKAGE = 1.5e4, 0.036, 383.15  # W/m2 at a temperature, K, and how it grows, 1/K: HotSpot's `calc_leakage`


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
    below = _below(files, configuration)
    _require_fit(layers, blocks, die, values, below)
    under = sum(values[f"t_{_key(name)}"] for name in below)
    layers = [layer._replace(bottom=layer.bottom + under) for layer in layers]
    document = _stack(layers, blocks, configuration, die, cells, below)
    document = {"title": f"{files.stack.stem}, from HotSpot", **document}
    wide = max(values["s_sink"], *(values[f"s_{_key(name)}"] for name in below if name in PACKAGE), 0.0)
    at = {
        file: [0.5 * (wide - size) - start for start, size in zip(_extent(own)[:2], die[2:], strict=True)]
        for file, own in blocks.items()
    }
    heated, own_materials = list[tuple[str, dict[str, Any]]](), dict[str, str]()
    names = _names_of_blocks(layers, plans)
    for layer, block in [(each, block) for each in layers for block in blocks[each.floorplan] if not block.part]:
        place = {
            "file": relative_name(layer.floorplan, target),
            "unit": block.name,
            "z": layer.z,
            "at": at[layer.floorplan],
        }
        if layer.heated:
            heated.append((names[layer.name, block.name], place))
        if block.conductivity and (block.conductivity, block.capacity) != (layer.conductivity, layer.capacity):
            made = _material(layer, block.conductivity, block.capacity or layer.capacity)
            name = own_materials.setdefault(str(made), f"{layer.name}_{block.name}")  # of channels many are alike
            document["materials"][name] = made
            document["regions"].append({"material": name, "floorplan": place})
    if len(document["materials"]) > MAX_MATERIALS:
        told = f"has blocks of {len(own_materials)} pairs of heat capacity and resistivity"
        raise InputFileError(files.stack, f"{told}, but a scenario has at most {MAX_MATERIALS} materials")
    powers = _powers(files.powers, layers, plans)
    slot = values["sampling_intvl"] if len(powers) > 1 and not steady else 0.0
    tables = add_blocks(document, target, heated, powers, slot)
    if configuration.leakage:
        document["sources"] += [_leakage(layer, target, at[layer.floorplan]) for layer in layers if layer.heated]
    notes = [*configuration.notes, *(note for plan in plans.values() for note in plan.notes), *_gaps(layers, blocks)]
    start = b""
    if slot and configuration.start is not None and configuration.start.is_file():
        start = _start(files, configuration, document, layers, plans, below, die)
        document["initial"] = {"temperature": {"file": start_file(target).name}}
    notes += _left_out(files, configuration, blocks, transient=slot > 0)
    return Imported(document, tables, [*blocks], notes, len(heated), start)


def _start(
    files: HotspotFiles,
    configuration: Configuration,
    document: Mapping[str, Any],
    layers: Sequence[ChipLayer],
    plans: Mapping[Path, ChipPlan],
    below: Sequence[str],
    die: tuple[float, float, float, float],
) -> bytes:
    """The array of initial temperatures of all cells."""
    assert configuration.start is not None
    values, of_file = configuration.values, _of_file(files)
    of_layers = [_at_origin(plans[layer.floorplan].blocks) for layer in layers]
    stack = [(name, values[f"s_{_key(name)}"] if name in PACKAGE else max(die[2:]), of_layers[0]) for name in below]
    stack += [(layer.name, max(die[2:]), blocks) for layer, blocks in zip(layers, of_layers, strict=True)]
    stack += [(name, values[f"s_{name}"], of_layers[-1]) for name in ("spreader", "sink")]
    count = len(PACKAGE) if configuration.secondary else 0
    found = [StartLayer(name, prefix_of(name, of_file, count), side, blocks) for name, side, blocks in stack]
    return as_npy(start_field(configuration.start, document["grid"], found, die[2:]))


def _of_file(files: HotspotFiles) -> bool:
    """Whether the stack is a file of layers."""
    return files.stack.suffix == ".lcf"


def _below(files: HotspotFiles, configuration: Configuration) -> list[str]:
    """The parts below the die, from the bottom up, where heat leaves that way. A note names those without thickness."""
    wanted = [name for name in SECONDARY if configuration.secondary and (name in PACKAGE or not _of_file(files))]
    found = [name for name in wanted if configuration.values[f"t_{_key(name)}"] > SLACK]
    if len(found) < len(wanted):
        thin = ", ".join(f"t_{_key(name)}" for name in wanted if name not in found)
        configuration.notes.append(f"{files.configuration}: {thin}: too thin for a layer, left out")
    return found


def _key(name: str) -> str:
    """How a part below the die is called in a configuration."""
    return "sub" if name == "substrate" else name


def _leakage(layer: ChipLayer, target: Path, at: list[float]) -> dict[str, Any]:
    """The source of what the blocks of a layer leak: the hotter a block is, the more power it releases."""
    density, growth, hot = LEAKAGE
    place = {"file": relative_name(layer.floorplan, target), "z": layer.z, "at": at}
    heat = f"{density / layer.thickness:.9g}*exp({growth!r}*(T - {hot!r}))"
    return {"power_density": heat, "region": {"floorplan": place}}


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
    """Notes on inputs that HotSpot takes and heatsim leaves out, or the other way round."""
    notes, values, file = list[str](), configuration.values, files.configuration
    if transient:
        own = values["p_sink"] * values["s_sink"] ** 2 * values["t_sink"]
        told = f"c_convec, {values['c_convec']:g} J/K between the sink and the ambient, is left out"
        notes.append(f"{file or 'HotSpot'}: {told}: the sink warms with its own {own:.4g} J/K alone")
        if configuration.secondary:
            notes.append(f"{file}: c_convec_sec, {values['c_convec_sec']:g} J/K below the board, is left out, too")
        if configuration.leakage:
            notes.append(f"{file}: blocks leak over time, too, which HotSpot leaves out of transients")
        if configuration.start is not None and not configuration.start.is_file():
            notes.append(f"{file}: there is no init_file {configuration.start}; all start at {values['init_temp']:g} K")
    if configuration.layers and not _of_file(files):
        notes.append(f"{file}: names the layers {configuration.layers}, which HotSpot takes in place of {files.stack}")
    for path, plan in blocks.items():
        own_values = [block.name for block in plan if block.conductivity is not None]
        if own_values and not (configuration.detailed and _of_file(files)):
            told = "the resistivity of blocks is taken, as HotSpot does of layers (.lcf) alone, with -detailed_3D on"
            notes.append(f"{path}: {told}")
    return notes


def _require_fit(
    layers: Sequence[ChipLayer],
    blocks: Mapping[Path, Sequence[ChipBlock]],
    die: tuple[float, float, float, float],
    values: Mapping[str, float],
    below: Sequence[str],
) -> None:
    for layer in layers:
        own = _extent(blocks[layer.floorplan])
        if max(abs(a - b) for a, b in zip(own[2:], die[2:], strict=True)) > SAME_SIZE:
            told = f"found {own[2]:g} m x {own[3]:g} m, and {die[2]:g} m x {die[3]:g} m there"
            raise InputFileError(layer.floorplan, f"expected a floorplan as large as that of the first layer, {told}")
    sizes = max(die[2:]), values["s_spreader"], values["s_sink"]
    if not sizes[0] - SLACK <= sizes[1] <= sizes[2]:
        told = ", ".join(f"{size:g}" for size in sizes)
        raise RequestError(f"expected a die within the spreader, and that within the sink; found sides of {told} m")
    for name in (each for each in below if each in PACKAGE):
        if values[f"s_{_key(name)}"] < max(die[2:]) - SLACK:
            told = f"s_{_key(name)}, {values[f's_{_key(name)}']:g} m, is less than the {max(die[2:]):g} m of the die"
            raise RequestError(f"expected a die within the {name}: {told}")


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
    configuration: Configuration,
    die: tuple[float, float, float, float],
    cells: int,
    below: Sequence[str],
) -> dict[str, Any]:
    """The tables of a scenario but for what blocks release. below: the parts below the die, from the bottom up."""
    values, slabs, materials = configuration.values, list[CentredLayer](), dict[str, Any]()
    for name in below:
        materials[name] = solid(*SECONDARY[name])
        sides = (values[f"s_{_key(name)}"],) * 2 if name in PACKAGE else die[2:]
        slabs.append(CentredLayer(name, values[f"t_{_key(name)}"], sides, CELLS_IN_LAYER["other"]))
    for layer in layers:
        materials[layer.name] = _material(layer, layer.conductivity, layer.capacity)
        count = CELLS_IN_LAYER["heated" if layer.heated else "other"]
        slabs.append(CentredLayer(layer.name, layer.thickness, die[2:], count))
    for name in ("spreader", "sink"):
        materials[name] = solid(values[f"k_{name}"], values[f"p_{name}"])
        slabs.append(CentredLayer(name, values[f"t_{name}"], (values[f"s_{name}"],) * 2, CELLS_IN_LAYER[name]))
    plan = [block for own in blocks.values() for block in _at_origin(own)]
    document = stack_tables(slabs, materials, plan, die[2:], max(die[2:]) / cells, values["init_temp"])
    faces = {"z_max": configuration.film}
    if below:
        lowest = values[f"s_{_key(below[0])}"] ** 2 if below[0] in PACKAGE else die[2] * die[3]
        faces["z_min"] = 1.0 / (values["r_convec_sec"] * lowest)
    document["boundary"] = {
        face: {"kind": "convection", "coefficient": film, "ambient": values["ambient"]} for face, film in faces.items()
    }
    middle = next(layer for layer in layers if layer.heated)
    document["output"]["slices"] = [{"name": "die", "axis": "z", "at": sum(middle.z) / 2, "count": 1}]
    return document


def _at_origin(blocks: Sequence[ChipBlock]) -> list[ChipBlock]:
    """The blocks of a floorplan that begins at 0, as HotSpot moves all to."""
    x, y, _, _ = _extent(blocks)
    return [
        each._replace(left=each.left - x, bottom=each.bottom - y, right=each.right - x, top=each.top - y)
        for each in blocks
    ]


def _material(layer: ChipLayer, conductivity: float, capacity: float) -> dict[str, Any]:
    """A material of a layer, of which HotSpot knows the capacity of a unit volume alone."""
    made = solid(conductivity, capacity)
    if not layer.lateral:
        made["conductivity"] = [LATERAL * conductivity, LATERAL * conductivity, conductivity]
    return made
