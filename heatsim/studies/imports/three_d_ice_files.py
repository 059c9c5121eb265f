"""The files of 3D-ICE: a stack (.stk), and the layouts of its layers.

Both are statements below heads, as in 3D-ICE's grammar (`bison/stack_description_parser.y` of version 4.0). Sections
may come in any order, and the heat sinks of versions 2 and 3 are read, too. A statement that is none of the grammar is
refused. Lengths are in micrometres, and so are all units made of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from heatsim.errors import InputFileError, RequestError
from heatsim.problem.shapes.floorplans import MICRO, NUMBER, Statement, drawn, read_text, rectangles, statements
from heatsim.scenario.language.toml.messages import with_guess
from heatsim.studies.imports.scenarios import find_named_file

LEAST, MOST = 1e-30, 1e12  # of a number that can be computed with, in micrometres and what is made of them
STEADY = "steady"  # of a solver
_N, _WORD, _FILE = f"({NUMBER})", r"(\w+)", '"([^"]*)"'
_CELLS = rf"(?: discretization {NUMBER} {NUMBER})?"
# What may stand in the sections of a stack, by their heads.
GRAMMAR: dict[str, dict[str, str]] = {
    "material": {
        "conductivity": rf"thermal conductivity {_N}(?: , {_N} , {_N})?",
        "capacity": rf"volumetric heat capacity {_N}",
    },
    "heat sink": {
        "coefficient": rf"heat transfer coefficient {_N}",
        "temperature": rf"(?:ambient )?temperature {_N}",
        "spreader": rf"spreader length {_N} , width {_N} , height {_N}",
        "material": rf"material {_WORD}",
        "plugin": rf"plugin {_FILE}(?: , {_FILE})?",
        "square spreader": rf"spreader height {_N} , area {_N} , material {_WORD}",
        "square sink": rf"sink height {_N} , area {_N} , material {_WORD}",
    },
    "layer": {"height": rf"height {_N}", "material": rf"material {_WORD}", "layout": rf"layout {_FILE}"},
    "die": {"plain": rf"(layer|source) {_N} {_WORD}", "named": rf"(layer|source) {_WORD}"},
    "dimensions": {
        "chip": rf"chip length {_N} , width {_N}",
        "cell": rf"cell length {_N} , width {_N}",
        "non-uniform": r"non-uniform (?:true|false)",
    },
    "stack": {
        "die": rf"die {_WORD} {_WORD} floorplan {_FILE}{_CELLS}",
        "plain layer": rf"layer {_WORD} {_N} {_WORD}",
        "layer": rf"layer {_WORD} {_WORD}{_CELLS}",
        "channel": r"channel \w+",
    },
    "solver": {
        STEADY: "steady",
        "transient": rf"transient step {_N} , slot {_N}",
        "initial": rf"initial temperature {_N}",
        "cores": rf"numofcores {NUMBER}",
    },
    "output": {"output": r"(?:T|Tflp|Tflpel|Tmap|T3d|Pmap|Tcoolant) \( [^()]* \)"},
}
REFUSED = {"microchannel": "microchannels", "channel": "microchannels", "pinfin": "pin fins"}
REPEATED = {"die", "stack", "output"}  # sections in which a statement may stand more than once
Material = tuple[float | list[float], float]  # conductivity, W/(m K), one or along x, y, z; capacity, J/(m3 K)
Sides = tuple[float, float]


class Section(NamedTuple):
    """A section of a stack: the words of its head, and its statements by their names in `GRAMMAR`."""

    kind: str
    name: str
    line: int
    said: list[tuple[str, int, tuple[str, ...]]]


class StackLayer(NamedTuple):
    """A layer of a chip, from z = bottom on, m; source: whether the layer releases power, by the blocks of the
    floorplan of a die; layout: a file of other materials in the layer."""

    thickness: float
    material: str
    source: bool
    die: str = ""
    floorplan: Path | None = None
    bottom: float = 0.0
    layout: Path | None = None

    @property
    def z(self) -> list[float]:
        """Where the layer begins and ends, m."""
        return [self.bottom, self.bottom + self.thickness]


class HeatSink(NamedTuple):
    """coefficient, W/(m2 K), None of a plugin; temperature, K; slabs between the chip and the coolant: the name of a
    material, thickness, and sides along x and y, m."""

    coefficient: float | None
    temperature: float
    slabs: tuple[tuple[str, float, Sides], ...] = ()
    where: str = ""


class Stack(NamedTuple):
    """sinks: of the faces z_min and z_max; layers from the bottom up; size and cell: along x and y, m; slot: s, 0 of a
    steady state; start: K; notes: what to tell."""

    materials: dict[str, Material]
    sinks: dict[str, HeatSink]
    layers: list[StackLayer]
    size: Sides
    cell: float
    slot: float
    start: float
    notes: list[str]


def read_stack(path: Path) -> Stack:
    """A stack. Raises InputFileError, and RequestError for what cannot be imported."""
    sections, notes = [*_sections(path)], list[str]()
    if not sections:
        raise InputFileError(path, "expected a stack of 3D-ICE, which begins as material NAME :, found nothing")
    for section in sections:
        if section.kind in REFUSED or any(key == "channel" for key, _, _ in section.said):
            what = REFUSED.get(section.kind, REFUSED["channel"])
            raise RequestError(f"{path}: line {section.line}: {what} cannot be imported")
    materials = dict[str, Material]()
    for section in (each for each in sections if each.kind == "material"):
        if section.name in materials:
            raise InputFileError(path, f"line {section.line}: there is a material {section.name} already")
        materials[section.name] = _material(path, section)
    dimensions, solver = (_only(path, sections, kind) for kind in ("dimensions", "solver"))
    length, width = _numbers(path, dimensions, "chip", "chip length and width > 0 (um)")
    cell, _ = _numbers(path, dimensions, "cell", "cell length and width > 0 (um)")
    (start,) = _numbers(path, solver, "initial", "initial temperature > 0 (K)")
    transient = [values for key, _, values in solver.said if key == "transient"]
    slot = _numbers(path, solver, "transient", "step and slot > 0 (s)")[1] if transient else 0.0
    if not slot and not any(key == STEADY for key, _, _ in solver.said):
        raise InputFileError(path, f"line {solver.line}: solver: expected steady, or transient step, slot")
    layers = [*_layers(path, sections, materials, notes)][::-1]
    bottoms = accumulate((layer.thickness for layer in layers), initial=0.0)
    return Stack(
        materials,
        dict(_sinks(path, sections, materials, start)),
        [layer._replace(bottom=bottom) for layer, bottom in zip(layers, bottoms, strict=False)],
        (length * MICRO, width * MICRO),
        cell * MICRO,
        slot,
        start,
        notes,
    )


def read_layout(path: Path, materials: Mapping[str, Material]) -> Iterator[tuple[str, Material, list[list[float]]]]:
    """The materials that lie in a layer, by name, with their rectangles: left, bottom, length and width, m. materials:
    of the stack; a layout may add its own. Raises InputFileError."""
    found, own, rest = iter(statements(path, read_text(path))), dict[str, Material](), list[Statement]()
    section: Section | None = None
    for each in found:
        if each.head and each.text.startswith("material "):
            section = Section("material", each.text.removeprefix("material "), each.line, [])
        elif section is not None and not each.head and not rest:
            section.said.append(_matched(path, section, each))
            if len(section.said) == 2:
                own[section.name], section = _material(path, section), None
        else:
            rest.append(each)
    for block in drawn(path, iter(rest)):
        if block.name not in materials and block.name not in own:
            raise InputFileError(path, f"line {block.line}: neither the stack nor the layout has a {block.name!r}")
        if not {*block.said} <= {"position", "dimension", "rectangle"}:
            raise InputFileError(path, f"line {block.line}: {block.name!r}: expected places alone, found more")
        yield block.name, own.get(block.name) or materials[block.name], [[*each] for each in rectangles(path, block)]


# --- sections


def _sections(path: Path) -> Iterator[Section]:
    section: Section | None = None
    for each in statements(path, read_text(path)):
        if each.head:
            if section is not None:
                yield section
            section = _head(path, each)
        elif section is None:
            told = f"which begins as material NAME :, found {each.text[:80]!r}"
            raise InputFileError(path, f"line {each.line}: expected a stack of 3D-ICE, {told}")
        elif section.kind not in REFUSED:
            said = _matched(path, section, each)
            if section.kind not in REPEATED and said[0] in [key for key, _, _ in section.said]:
                raise InputFileError(path, f"line {each.line}: {_called(section)}: given twice: {each.text[:80]!r}")
            section.said.append(said)
    if section is not None:
        yield section


def _head(path: Path, statement: Statement) -> Section:
    """A section without its statements."""
    *kind, name = statement.text.split(" ")
    if kind in (["material"], ["layer"], ["die"]):
        return Section(kind[0], name, statement.line, [])
    if statement.text.endswith("heat sink"):
        where = statement.text.removesuffix("heat sink").strip()
        if where in ("", "conventional", "top", "bottom", "top pluggable"):
            return Section("heat sink", where, statement.line, [])
    word = statement.text.split(" ")[0]
    if word in REFUSED or (not kind and word in ("dimensions", "stack", "solver", "output")):
        return Section(word, "", statement.line, [])
    told = f"line {statement.line}: expected a stack of 3D-ICE, which begins as material NAME :, "
    raise InputFileError(path, with_guess(f"{told}found {statement.text[:80]!r}", word, [*GRAMMAR, *REFUSED]))


def _matched(path: Path, section: Section, statement: Statement) -> tuple[str, int, tuple[str, ...]]:
    """Which statement of its section this is, its line, and the words that vary."""
    for key, pattern in GRAMMAR[section.kind].items():
        found = re.fullmatch(pattern, statement.text)
        if found:
            return key, statement.line, tuple(each or "" for each in found.groups())
    expected = {
        "die": "layer or source, with a thickness and a material or the name of a layer",
        "stack": "a layer or a die that the file declares",
        "output": 'T ( DIE, 5000, 3000, "file", step ) or the like',
    }.get(section.kind, ", or ".join(_in_words(each) for each in GRAMMAR[section.kind].values()))
    told = f"line {statement.line}: {_called(section)}: expected {expected}, found {statement.text[:80]!r}"
    raise InputFileError(path, told)


def _in_words(pattern: str) -> str:
    """A pattern as one would write it."""
    words = pattern.replace(_N, "N").replace(NUMBER, "N").replace(_WORD, "NAME").replace(_FILE, '"FILE"')
    return re.sub(r"\(\?:[^()]*\)\??", "", words).strip()


def _called(section: Section) -> str:
    head = f"{section.name} heat sink" if section.kind == "heat sink" else f"{section.kind} {section.name}"
    return head.strip()


def _only(path: Path, sections: list[Section], kind: str) -> Section:
    found = [section for section in sections if section.kind == kind]
    if len(found) != 1:
        raise InputFileError(path, f"expected one section {kind}, found {len(found)}")
    return found[0]


def _numbers(path: Path, section: Section, key: str, expected: str) -> list[float]:
    """The numbers of a statement, all > 0."""
    said = next(((line, values) for name, line, values in section.said if name == key), None)
    if said is None:
        raise InputFileError(path, f"line {section.line}: {_called(section)}: expected {expected}, found none")
    texts = [text for text in said[1] if re.fullmatch(NUMBER, text)]
    for text in texts:
        if not LEAST < float(text) < MOST:
            told = f"expected {expected}, and below {MOST:g}, found {text[:80]}"
            raise InputFileError(path, f"line {said[0]}: {_called(section)}: {told}")
    return [float(text) for text in texts]


def _material(path: Path, section: Section) -> Material:
    along = _numbers(path, section, "conductivity", "thermal conductivity > 0 (W/(um K))")
    (capacity,) = _numbers(path, section, "capacity", "volumetric heat capacity > 0 (J/(um3 K))")
    values = [each / MICRO for each in along]
    return values[0] if len(values) == 1 else values, capacity / MICRO**3


def _known(path: Path, line: int, material: str, materials: Mapping[str, Material]) -> str:
    if material not in materials:
        told = f"line {line}: expected a material that the file declares, found {material!r}"
        raise InputFileError(path, with_guess(told, material, materials))
    return material


def _sinks(
    path: Path, sections: list[Section], materials: Mapping[str, Material], start: float
) -> Iterator[tuple[str, HeatSink]]:
    """The heat sinks by face. That of a plugin is left without a coefficient, at the temperature where all begins."""
    seen = set[str]()
    for section in (each for each in sections if each.kind == "heat sink"):
        face, said = "z_min" if section.name == "bottom" else "z_max", {key: words for key, _, words in section.said}
        if face in seen:
            raise InputFileError(path, f"line {section.line}: there is a heat sink on this side already")
        seen.add(face)
        slabs = list[tuple[str, float, Sides]]()
        if "spreader" in said:
            length, width, height = _numbers(path, section, "spreader", "spreader length, width and height > 0 (um)")
            (name,) = said.get("material", ("",))
            slabs = [(_known(path, section.line, name, materials), height * MICRO, (length * MICRO, width * MICRO))]
        for key in ("square spreader", "square sink"):
            if key in said:
                height, area = _numbers(path, section, key, "height and area > 0 (um, um2)")
                side = area**0.5 * MICRO
                slabs.append((_known(path, section.line, said[key][2], materials), height * MICRO, (side, side)))
        where = f"{path}: line {section.line}: {_called(section)}"
        if "plugin" in said or section.name == "top pluggable":
            yield face, HeatSink(None, start, tuple(slabs), f"{where}: plugin {said.get('plugin', ('',))[0]!r}")
            continue
        (film,) = _numbers(path, section, "coefficient", "heat transfer coefficient > 0 (W/(um2 K))")
        (temperature,) = _numbers(path, section, "temperature", "temperature > 0 (K)")
        yield face, HeatSink(film / MICRO**2, temperature, tuple(slabs), where)


def _layers(
    path: Path, sections: list[Section], materials: Mapping[str, Material], notes: list[str]
) -> Iterator[StackLayer]:
    """The layers from the top down."""
    declared, dies = dict[str, StackLayer](), dict[str, list[StackLayer]]()
    for section in (each for each in sections if each.kind == "layer"):
        said = {key: (line, words[0]) for key, line, words in section.said}
        (height,) = _numbers(path, section, "height", "height > 0 (um)")
        line, material = said.get("material", (section.line, ""))
        layout = find_named_file(said["layout"][1], path, notes) if "layout" in said else None
        own = _known(path, line, material, materials)
        declared[section.name] = StackLayer(height * MICRO, own, False, layout=layout)
    for section in (each for each in sections if each.kind == "die"):
        dies[section.name] = [_layer_of_die(path, section, said, declared, materials) for said in section.said]
    for key, line, words in [said for section in sections if section.kind == "stack" for said in section.said]:
        name = words[1]
        if key == "plain layer":
            yield StackLayer(_thickness(path, line, "stack", name), _known(path, line, words[2], materials), False)
        elif key == "layer" and name in declared:
            yield declared[name]
        elif key == "die" and name in dies:
            floorplan = find_named_file(words[2], path, notes)
            for layer in dies[name]:
                yield layer._replace(die=words[0], floorplan=floorplan) if layer.source else layer
        else:
            told = f"line {line}: stack: expected a layer or a die that the file declares, found {name!r}"
            raise InputFileError(path, with_guess(told, name, [*declared] if key == "layer" else [*dies]))


def _layer_of_die(
    path: Path,
    section: Section,
    said: tuple[str, int, tuple[str, ...]],
    declared: Mapping[str, StackLayer],
    materials: Mapping[str, Material],
) -> StackLayer:
    """A layer of a die, by thickness and material, or by the name of one that is declared."""
    key, line, (kind, text, *rest) = said
    if key == "plain":
        thickness = _thickness(path, line, _called(section), text)
        return StackLayer(thickness, _known(path, line, rest[0], materials), kind == "source")
    if text not in declared:
        told = f"line {line}: {_called(section)}: expected the name of a layer that the file declares, found {text!r}"
        raise InputFileError(path, with_guess(told, text, declared))
    return declared[text]._replace(source=kind == "source")


def _thickness(path: Path, line: int, where: str, number: str) -> float:
    """The thickness of a layer, m."""
    if not LEAST < float(number) < MOST:
        raise InputFileError(path, f"line {line}: {where}: expected a thickness > 0 (um), found {number[:80]}")
    return float(number) * MICRO
