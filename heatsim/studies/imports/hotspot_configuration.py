"""The configuration of HotSpot, and the materials that it names.

A configuration has a line for each key, `-r_convec 0.1`; where a key is given twice, HotSpot takes the first. Its file
`temperature.c` has the keys, and what is taken where one is not given.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from heatsim.errors import InputFileError, RequestError
from heatsim.problem.shapes.floorplans import read_text
from heatsim.scenario.language.toml.messages import did_you_mean, with_guess
from heatsim.studies.imports.hotspot_package import (
    PACKAGE_CHOICES,
    PACKAGE_DEFAULTS,
    R_CONVEC_HIGH,
    R_CONVEC_LOW,
    package_film,
)
from heatsim.studies.imports.scenarios import find_named_file

# What HotSpot takes where a configuration does not say otherwise; SI units.
DEFAULTS = {
    "t_chip": 0.00015,
    "k_chip": 100.0,
    "p_chip": 1.75e6,
    "t_interface": 2e-5,
    "k_interface": 4.0,
    "p_interface": 4e6,
    "s_spreader": 0.03,
    "t_spreader": 0.001,
    "k_spreader": 400.0,
    "p_spreader": 3.55e6,
    "s_sink": 0.06,
    "t_sink": 0.0069,
    "k_sink": 400.0,
    "p_sink": 3.55e6,
    "r_convec": 0.1,
    "c_convec": 140.4,
    "ambient": 318.15,
    "init_temp": 333.15,
    "sampling_intvl": 3.333e-6,
}
# What it takes of the path below the die, where that is modelled.
SECONDARY_DEFAULTS = {
    "r_convec_sec": 1.0,
    "c_convec_sec": 140.4,
    "t_metal": 1e-5,
    "t_c4": 1e-4,
    "s_sub": 0.021,
    "t_sub": 0.001,
    "s_solder": 0.021,
    "t_solder": 0.00094,
    "s_pcb": 0.1,
    "t_pcb": 0.002,
}
MAY_BE_NONE = "t_metal", "t_c4", "t_sub", "t_solder", "t_pcb"  # some set a thickness of 1e-100 m for no layer
# Models that have no counterpart here, by the key that switches them on.
REFUSED = {"use_microfluidic_cooling": "microchannels", "use_microchannels": "microchannels"}
# What is left out here, by the key that switches it on.
LEFT_OUT = {"block_omit_lateral": "heat flows along the die and the interface here"}
MATERIAL_KEYS = {f"material_{part}": part for part in ("chip", "sink", "spreader", "interface")}
SWITCHES = ("model_secondary", "leakage_used", "leakage_mode", "package_model_used")  # models that are taken
FILES = ("materials_file", "package_config_file", "init_file", "grid_layer_file")
TEXTS = (*SWITCHES, *FILES, "detailed_3d")  # keys that are read, and have no number of their own
# Keys of what does not matter here: grids and output files are not those of HotSpot, coolants are refused where they
# are used, and the floorplanner is another program.
WITHOUT_EFFECT = frozenset(
    {
        "thermal_threshold", "base_proc_freq", "dtm_used", "model_type", "grid_rows", "grid_cols", "grid_map_mode",
        "grid_steady_file", "grid_transient_file", "steady_file", "f", "p", "o", "c", "d", "n_metal", "s_c4", "n_c4",
        "pumping_pressure", "pump_internal_res", "inlet_temperature", "coolant_material", "coolant_capac",
        "coolant_res", "coolant_visc", "wall_material", "wall_capac", "wall_res", "htc", "network_file", "wrap_l2",
        "l2_label", "model_rim", "rim_thickness", "compact_ratio", "n_orients", "p0", "davg", "kmoves", "rcool",
        "rreject", "nmax", "lambdaa", "lambdat", "lambdaw",
    }
)  # fmt: skip
NO_FILE = "(null)"
LEAST, MOST = 1e-30, 1e30  # of a number that can be computed with
MATERIALS_HINT = "give the file of its materials, as --materials example.materials"
Material = tuple[float, float]  # conductivity, W/(m K), and capacity, J/(m3 K)


class Configuration(NamedTuple):
    """values: numbers by their names; materials: of the materials file, by name; start: the file of initial
    temperatures, if there is one; layers: the name of a layer file; detailed: whether HotSpot takes the
    resistivity that blocks of layers have of their own; secondary: whether heat leaves below the die, too; leakage:
    whether blocks leak; film: the coefficient of the sink's top, W/(m2 K), or an expression in T; notes: what to tell.
    """

    values: dict[str, float]
    materials: dict[str, Material] | None
    start: Path | None
    layers: str
    detailed: bool
    secondary: bool
    leakage: bool
    film: float | str
    notes: list[str]


class _Entry(NamedTuple):
    line: int
    value: str


def read_configuration(path: Path | None, materials: Path | None = None) -> Configuration:
    """Read a configuration, with the defaults of HotSpot for missing keys. materials: the file of materials, in place
    of the one that the configuration names. Raises InputFileError, and RequestError for a model that cannot be
    imported."""
    values, notes = DEFAULTS | SECONDARY_DEFAULTS, list[str]()
    known = [*values, *REFUSED, *LEFT_OUT, *MATERIAL_KEYS, *TEXTS, *WITHOUT_EFFECT]
    entries = {} if path is None else _entries(path, known, notes)
    for name, (line, value) in entries.items():
        where = f"{path}: line {line}: -{name}"
        if name in REFUSED and _is_on(value):
            raise RequestError(f"{where}: {REFUSED[name]} cannot be imported")
        if name in LEFT_OUT and _is_on(value):
            notes.append(f"{where}: {LEFT_OUT[name]}")
        elif name in values:
            values[name] = read_number(path, line, value, 0.0 if name in MAY_BE_NONE else None)
    texts = {name: entries[name].value if name in entries else NO_FILE for name in TEXTS}
    on = {name: _is_on(texts[name]) for name in SWITCHES}
    if on["leakage_used"] and on["leakage_mode"]:
        where = f"{path}: line {entries['leakage_mode'].line}: -leakage_mode"
        raise RequestError(f"{where}: HotLeakage cannot be imported, HotSpot has none itself: 0 is its own model")
    if materials is None and path is not None and texts["materials_file"] != NO_FILE:
        materials = find_named_file(texts["materials_file"], path, notes)
    of_file = None if materials is None else read_materials(materials)
    for name, part in MATERIAL_KEYS.items():
        if path is not None and name in entries:
            line, material = entries[name]
            values[f"k_{part}"], values[f"p_{part}"] = find_material(path, line, material, of_file)
    film: float | str = 1.0 / (values["r_convec"] * values["s_sink"] ** 2)
    if on["package_model_used"] and path is not None:
        film = _film_of_package(path, texts["package_config_file"], values, notes)
    layers = "" if texts["grid_layer_file"] == NO_FILE else texts["grid_layer_file"]
    named = texts["init_file"]
    start = None if path is None or named == NO_FILE else find_named_file(named, path, notes)
    detailed = texts["detailed_3d"] == "on"
    return Configuration(
        values, of_file, start, layers, detailed, on["model_secondary"], on["leakage_used"], film, notes
    )


def _is_on(value: str) -> bool:
    return value not in ("0", "0.0", NO_FILE)


def _film_of_package(path: Path, named: str, values: dict[str, float], notes: list[str]) -> float | str:
    """The coefficient of the sink's top by the model of its fins and its fan, W/(m2 K), or an expression in T."""
    own, file = dict(PACKAGE_DEFAULTS), path
    if named != NO_FILE:
        file = find_named_file(named, path, notes)
        for name, (line, value) in _entries(file, [*own], notes).items():
            if name in own:
                own[name] = read_number(file, line, value, 0.0 if name in PACKAGE_CHOICES else None)
                if name in PACKAGE_CHOICES and own[name] not in (0.0, 1.0):
                    raise InputFileError(file, f"line {line}: -{name}: expected 0 or 1, found {value[:80]!r}")
    try:
        film = package_film(own, values)
    except (ValueError, ArithmeticError):
        film = np.nan
    if not isinstance(film, str):
        if not LEAST < film < MOST:
            raise InputFileError(file, "expected fins within the sink and a motor within the fan; no coefficient fits")
        values["r_convec"] = 1.0 / (film * values["s_sink"] ** 2)
        told = f"r_convec is {values['r_convec']:.4g} K/W by the package model"
        unlikely = not R_CONVEC_LOW < values["r_convec"] < R_CONVEC_HIGH
        notes.append(f"{file}: {told}{', which is not realistic' if unlikely else ''}")
    else:
        notes.append(f"{file}: the coefficient of natural convection and radiation follows the sink's temperature")
    return film


def _entries(path: Path, known: list[str], notes: list[str]) -> dict[str, _Entry]:
    """The values of a configuration by their keys, in small letters as HotSpot does not tell them apart."""
    found = dict[str, _Entry]()
    for number, line in enumerate(read_text(path).splitlines(), 1):
        fields = line.split("#")[0].split()
        if not fields:
            continue
        if len(fields) < 2 or not fields[0].startswith("-"):
            told = f"line {number}: expected a key and its value, such as -r_convec 0.1, found {line.strip()[:80]!r}"
            raise InputFileError(path, told)
        name = fields[0][1:].lower()
        if name in found:
            notes.append(f"{path}: line {number}: -{name} is given in line {found[name].line}, which is taken")
            continue
        found[name] = _Entry(number, fields[1])
        if name not in known:
            told = f"{path}: line {number}: -{name} is no key of HotSpot's, and is left out"
            notes.append(with_guess(told, name, known))
    return found


def read_materials(path: Path) -> dict[str, Material]:
    """The materials of a file of HotSpot by name. Each has a line for its name, its type (solid or fluid), its
    conductivity and its capacity, and a fluid one for its viscosity. Raises InputFileError."""
    lines: Iterator[tuple[int, str]] = iter(
        [
            (number, line.split()[0])
            for number, line in enumerate(read_text(path).splitlines(), 1)
            if line.strip() and line.lstrip()[0] != "#"
        ]
    )
    found, last = dict[str, Material](), 0

    def line_after(what: str) -> tuple[int, str]:
        nonlocal last
        following = next(lines, None)
        if following is None:
            raise InputFileError(path, f"line {last}: expected {what} of the material after it, found none")
        last = following[0]
        return following

    for number, name in lines:
        last = number
        at, kind = line_after("solid or fluid, the type")
        if kind not in ("solid", "fluid"):
            raise InputFileError(path, f"line {at}: expected solid or fluid, found {kind[:80]!r}")
        conductivity = read_number(path, *line_after("the conductivity, W/(m K),"))
        capacity = read_number(path, *line_after("the heat capacity, J/(m3 K),"))
        if kind == "fluid":
            line_after("the viscosity")
        found.setdefault(name, (conductivity, capacity))
    return found


def find_material(path: Path, line: int, name: str, known: Mapping[str, Material] | None) -> Material:
    """A material that a line of a file names. Raises InputFileError."""
    if known is None:
        raise InputFileError(path, f"line {line}: names the material {name!r}: {MATERIALS_HINT}")
    if name not in known:
        hint = did_you_mean(name, known) or f"known there: {', '.join([*known][:12]) or 'none'}"
        raise InputFileError(path, f"line {line}: the file of materials has no {name!r} ({hint})")
    return known[name]


def read_number(path: Path | None, line: int, text: str, least: float | None = None) -> float:
    """A number of a line, > 0 if `least` is left out. Raises InputFileError."""
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    good = value >= LEAST if least is None else value >= least
    if not good or value > MOST:
        expected = "> 0" if least is None else f">= {least:g}"
        if LEAST > value > 0 or value > MOST:
            expected = f"from {LEAST:g} to {MOST:g}"
        raise InputFileError(path or Path(), f"line {line}: expected a number {expected}, found {text[:80]!r}")
    return value
