"""The files of HotSpot: configuration, layers of a stack, power traces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import numpy as np

from heatsim.errors import InputFileError, RequestError
from heatsim.geometry.floorplans import read_text
from heatsim.scenario.toml.messages import did_you_mean

# What HotSpot takes where a configuration does not say otherwise, as in its example.config; SI units.
DEFAULTS = {
    "t_chip": 0.00015,
    "k_chip": 130.0,
    "p_chip": 1630300.0,
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
    "ambient": 318.15,
    "init_temp": 318.15,
    "sampling_intvl": 0.01,
}
# Models that have no counterpart here, by the key that switches them on.
REFUSED = {
    "model_secondary": "a secondary path for heat",
    "use_microfluidic_cooling": "microchannels",
    "package_model_used": "a package model",
    "leakage_used": "leakage that depends on temperature",
}
LINES_OF_LAYER = 7


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
        """Where it begins and ends, m."""
        return [self.bottom, self.bottom + self.thickness]


def read_configuration(path: Path | None) -> dict[str, float]:
    """The numbers of a configuration by their names, or those of HotSpot where it has none. Raises InputFileError, and
    RequestError for a model that cannot be imported."""
    values, text = dict(DEFAULTS), "" if path is None else read_text(path)
    for number, line in enumerate(text.splitlines(), 1):
        fields = line.split("#")[0].split()
        if len(fields) < 2 or not fields[0].startswith("-"):
            continue
        name = fields[0][1:]
        if name in REFUSED and fields[1] not in ("0", "0.0"):
            raise RequestError(f"{path}: line {number}: -{name}: {REFUSED[name]} cannot be imported")
        if name in DEFAULTS:
            values[name] = _number(path, number, fields[1])
    return values


def read_layers(path: Path, values: Mapping[str, float]) -> list[ChipLayer]:
    """The layers from the bottom up: those of a file (.lcf), or of a floorplan a die and the interface above it. Raises
    InputFileError."""
    found = [*(_layers_of(path) if path.suffix == ".lcf" else _usual_layers(path, values))]
    bottoms = accumulate((layer.thickness for layer in found), initial=0.0)
    layers = [layer._replace(bottom=bottom) for layer, bottom in zip(found, bottoms, strict=False)]
    if not any(layer.heated for layer in layers):
        raise InputFileError(path, "expected a layer that dissipates power, found none")
    return layers


def _usual_layers(floorplan: Path, values: Mapping[str, float]) -> Iterator[ChipLayer]:
    for name, key, heated in (("die", "chip", True), ("interface", "interface", False)):
        thickness, conductivity, capacity = (values[f"{each}_{key}"] for each in "tkp")
        yield ChipLayer(name, 0.0, thickness, conductivity, capacity, True, heated, floorplan)


def _layers_of(path: Path) -> Iterator[ChipLayer]:
    """Groups of lines: number, lateral heat flow, power, heat capacity, resistivity, thickness, floorplan."""
    lines = [(number, line.split("#")[0].strip()) for number, line in enumerate(read_text(path).splitlines(), 1)]
    lines = [each for each in lines if each[1]]
    if not lines or len(lines) % LINES_OF_LAYER:
        raise InputFileError(path, f"expected {LINES_OF_LAYER} lines for each layer, found {len(lines)} in all")
    for start in range(0, len(lines), LINES_OF_LAYER):
        (_, number), lateral, heated, *rest, (_, plan) = lines[start : start + LINES_OF_LAYER]
        for line, flag in (lateral, heated):
            if flag not in ("Y", "N"):
                raise InputFileError(path, f"line {line}: expected Y or N, found {flag!r}")
        capacity, resistivity, thickness = (_number(path, *each) for each in rest)
        flags = lateral[1] == "Y", heated[1] == "Y"
        yield ChipLayer(f"layer_{number}", 0.0, thickness, 1.0 / resistivity, capacity, *flags, path.parent / plan)


def read_powers(path: Path, blocks: Sequence[str]) -> np.ndarray:
    """The rows of a trace (n, blocks), W. Raises InputFileError where its columns are not those of the blocks, each of
    them once."""
    lines = [(number, line.split()) for number, line in enumerate(read_text(path).splitlines(), 1) if line.strip()]
    names = lines[0][1] if lines else []
    known, columns = set(blocks), Counter(names)
    for name in names:
        if name not in known:
            hint = did_you_mean(name, blocks)
            told = f"line 1: expected the names of blocks that release power, found {name!r}"
            raise InputFileError(path, f"{told} ({hint})" if hint else told)
    for name in blocks:
        if columns[name] != 1:
            raise InputFileError(path, f"line 1: expected a column for block {name!r}, found {columns[name]}")
    rows = []
    for number, fields in lines[1:]:
        if len(fields) != len(names):
            raise InputFileError(path, f"line {number}: expected {len(names)} powers (W), found {len(fields)}")
        rows.append([_number(path, number, field, 0.0) for field in fields])
    if not rows:
        raise InputFileError(path, "expected a row of powers (W) below the names, found none")
    place = {name: number for number, name in enumerate(names)}
    return np.array(rows)[:, [place[name] for name in blocks]]


def _number(path: Path | None, line: int, text: str, least: float | None = None) -> float:
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    good = np.isfinite(value) and (value > 0 if least is None else value >= least)
    if not good:
        expected = "> 0" if least is None else f">= {least:g}"
        raise InputFileError(path or Path(), f"line {line}: expected a number {expected}, found {text!r}")
    return value
