"""Problem number n: a scenario with its CSV files, and the times at which its inputs jump or bend.

Strengths of fluxes and sources are found with the reference, coarsely: the body goes about as far as its material is
meant to, and never near 0 K.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w

from random_problems import materials
from random_problems.curves import Curves, library
from random_problems.materials import Table, number
from random_problems.network import ABSOLUTE_ZERO
from random_problems.reference import RTOL, Solution, solve, solve_steady

SHAPES = (
    "constant",
    "pulse",
    "pulse",
    "short pulse",
    "short pulse",
    "alias",
    "alias",
    "sine",
    "switching",
    "rows",
    "bell",
    "ramp",
)
INTEGRATORS = ("auto", "auto", "auto", "auto", "implicit", "implicit", "rkl2", "rkl2", "euler", "steady")
MOST_EXPLICIT_STEPS = 2e4
TRIALS = 4


@dataclass
class Generated:
    """number: of the problem. kinds: what it is made of, in words. document: the scenario. files: CSV files by name.
    times: s, at which the field is kept, the last of them the end; none of a steady state. restarts: s, where inputs
    jump or bend. longest: s, a step of the reference that passes over nothing."""

    number: int
    kinds: list[str]
    document: Table
    files: dict[str, list[list[Any]]] = field(default_factory=dict)
    times: list[float] = field(default_factory=list)
    restarts: list[float] = field(default_factory=list)
    longest: float = np.inf

    def write(self, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        for name, rows in self.files.items():
            with (folder / name).open("w", newline="") as file:
                csv.writer(file).writerows(rows)
        path = folder / "scenario.toml"
        path.write_text(tomli_w.dumps(self.document))
        return path


class Maker:
    """A problem in the making."""

    def __init__(self, n: int) -> None:
        self.chance = np.random.default_rng([57, n])
        self.made = Generated(n, [], {})
        self.strengths: dict[str, float] = {}  # of fluxes and sources, by the name that stands for them

    def pick(self, values: Any) -> Any:
        return values[int(self.chance.integers(len(values)))]

    def shape(
        self, low: float, high: float, allowed: tuple[str, ...] = SHAPES, room: float = np.inf
    ) -> tuple[Any, str]:
        """An input that goes from `low` to `high` in one of the shapes; and the name of that.

        room: how far waves may go below `low`, at most.
        """
        end, kind = self.made.document["time"]["end"], self.pick(allowed)
        if kind in ("alias", "switching") and self.made.document["time"]["integrator"] == "implicit":
            kind = "pulse"  # a thousand implicit steps take long
        at, rise = self.chance.uniform(0.05, 0.85) * end, high - low
        if kind == "constant":
            return high, kind
        if kind in ("pulse", "short pulse"):
            width = end * (self.chance.uniform(0.05, 0.3) if kind == "pulse" else 10 ** self.chance.uniform(-3, -2))
            a, b = number(at), number(at) + number(width)
            self.made.restarts += [a, b]
            return f"{high!r} if t > {a!r} and t < {b!r} else {low!r}", kind
        if kind in ("alias", "sine"):
            turns = self.pick((16, 32, 64, 64, 128)) if kind == "alias" else self.pick((2, 3, 5, 7.3, 11.7, 20))
            self.made.longest = min(self.made.longest, 0.2 * end / turns)
            rise = min(rise, 0.6 * room) if rise > 0 else max(rise, -0.6 * room)
            return f"{low!r} + {number(rise)!r}*sin(2*pi*t/{end / turns!r})", kind
        if kind == "switching":
            turns = self.pick((4, 8, 13, 32))
            self.made.restarts += [end * (n + 1) / (2 * turns) for n in range(2 * turns)]
            return f"{low!r} + {rise!r}*step(sin(2*pi*t/{end / turns!r}))", kind
        if kind == "bell":
            width = number(10 ** self.chance.uniform(-3, -1.3) * end)
            a = number(at)
            self.made.restarts += [a + width * n for n in (-6, -3, -1.5, 0, 1.5, 3, 6)]
            return f"{low!r} + {rise!r}*exp(-((t - {a!r})/{width!r})**2)", kind
        if kind == "ramp":
            self.made.restarts += [number(at)]
            return f"{low!r} + {rise!r}*min(t/{number(at)!r}, 1)", kind
        return self._rows(low, high, at), "CSV rows"

    def _rows(self, low: float, high: float, at: float) -> Table:
        end, width = (
            self.made.document["time"]["end"],
            10 ** self.chance.uniform(-3, -1) * self.made.document["time"]["end"],
        )
        times = [0.0, at, at + 0.1 * width, at + width, at + 1.1 * width]
        values = [low, low, high, high, low]
        if self.chance.random() < 0.4:  # a wave of rows
            times = np.linspace(0.0, end, 33).tolist()
            values = [low + (high - low) * (n % 2) for n in range(33)]
        name = f"rows{len(self.made.files)}.csv"
        times = [float(f"{each:.8g}") for each in times]
        self.made.files[name] = [["time", "value"], *([a, b] for a, b in zip(times, values, strict=True))]
        self.made.restarts += times[1:]
        return {"file": name, "column": "value"}

    def trace(self, high: float) -> tuple[str, str]:
        """A power trace: a train of short rows."""
        end = self.made.document["time"]["end"]
        rows: list[list[Any]] = [["time", "power"]]
        width = 10 ** self.chance.uniform(-3, -2) * end
        for at in np.sort(self.chance.uniform(0.03, 0.9, self.pick((1, 2, 5)))) * end:
            if rows[-1][0] != "time" and at < rows[-1][0] + 0.5 * width:
                continue
            rows += [
                [float(f"{t:.8g}"), p]
                for t, p in zip(
                    (at, at + 0.05 * width, at + width, at + 1.05 * width), (0.0, high, high, 0.0), strict=True
                )
            ]
        name = f"trace{len(self.made.files)}.csv"
        self.made.files[name] = rows
        self.made.restarts += [row[0] for row in rows[1:]]
        return name, "trace"


def generate(n: int, folder: Path) -> Generated:
    """Problem n; `folder` is for trials."""
    strength, last = 1.0, None
    for _ in range(TRIALS):
        made, wanted = make(n, strength)
        made.write(folder)
        try:
            coarse = reference(made, folder, rtol=1e-3)
        except (ArithmeticError, ValueError):
            strength, last = 0.3 * strength, made
            continue
        low, start, high = wanted
        if coarse.most > max(high, start) * 1.15 or coarse.least < 0.5 * min(low, start):
            strength *= 0.4
        elif coarse.most - coarse.least < 0.08 * abs(high - start) and strength < 20 and last is None:
            strength *= 3.0
            continue
        else:
            return made
        last = made
    return made


def reference(made: Generated, folder: Path, rtol: float = RTOL) -> Solution:
    """The solution of a problem whose files are in the folder."""
    if not made.times:
        return solve_steady(made.document, folder)
    return solve(made.document, folder, made.times, made.restarts, made.longest, rtol)


def make(n: int, strength: float) -> tuple[Generated, tuple[float, float, float]]:
    """Problem n with fluxes and sources of a strength; and the lowest, first and highest temperatures meant, K."""
    maker = Maker(n)
    chance, made = maker.chance, maker.made
    material = materials.choose(chance)
    integrator = maker.pick(INTEGRATORS)
    unit = "degC" if material.start >= 200 and material.given is not None and chance.random() < 0.3 else "K"
    zero = ABSOLUTE_ZERO[unit]
    curves = Curves(material.in_unit(unit), zero) if material.given is not None else Curves(library(material.name), 0.0)
    two_d = chance.random() < 0.12
    layered = chance.random() < 0.35
    count = int(chance.integers(6, 15)) if not two_d else int(chance.integers(5, 9))
    length = number(10 ** chance.uniform(-4, -0.5))
    low, high = sorted((material.start, material.hot))
    T = np.geomspace(low, high, 60)
    alpha = curves.conductivity(T) / np.interp(T, curves.T, curves.C)
    fourier = 10 ** chance.uniform(-1.3, 0.5)
    end = fourier * length**2 / float(np.exp(np.log(alpha).mean()))
    end = number(min(end, MOST_EXPLICIT_STEPS * (length / count) ** 2 / (3 * float(alpha.max()))))
    document: Table = made.document
    made.kinds += [material.family, integrator]
    document["title"] = f"random problem {n}: {material.family}"
    document["temperature_unit"] = unit
    cells, size = [count, 1, 1], [length, length, length]
    if two_d:
        cells[1], size[1] = int(chance.integers(3, 6)), number(length * chance.uniform(0.4, 1.0))
        made.kinds.append("2-D")
    document["grid"] = {"cells": cells, "size": size}
    document["time"] = {"integrator": integrator} if integrator == "steady" else {"end": end, "integrator": integrator}
    if integrator not in ("euler", "steady") and chance.random() < 0.12:
        document["time"]["tolerance"] = 1e-4
    document["compute"] = {"device": "cpu", "precision": maker.pick(("float32", "float64"))}
    made.kinds.append(document["compute"]["precision"])
    if material.given is not None:
        document["materials"] = {material.name: material.in_unit(unit)}
    document["regions"] = [{"material": material.name}]
    conductivity = float(curves.conductivity(np.array([material.start]))[0])
    if layered:
        _layer(maker, material, count, size)
    document["initial"] = {"temperature": round(material.start + zero, 9)}
    steady = integrator == "steady"
    if steady:
        document["time"]["end"] = 1.0  # for the shapes, which are constant
    _drive(maker, material, strength, zero, conductivity, float(np.interp(material.start, curves.T, curves.C)), steady)
    if steady:
        del document["time"]["end"]
    else:
        made.times = sorted({number(t) for t in chance.uniform(0.02, 0.98, 4) * end} | {end})
        document["output"] = {"snapshots": {"times": made.times}}
    made.restarts = sorted({t for t in made.restarts if 0 < t < end})
    return made, (low, material.start, high)


def _layer(maker: Maker, material: materials.Material, count: int, size: list[float]) -> None:
    """A layer of another material at the far end, perhaps with a contact, perhaps with other cells."""
    chance, document = maker.chance, maker.made.document
    begin = size[0] * int(chance.integers(count // 3, count - 2)) / count
    other: Any = materials.constant(chance)
    if chance.random() < 0.5 and material.start > 200:
        second = materials.choose(chance)
        while second.start < 200 or second.given is None:
            second = materials.choose(chance)
        other = second.in_unit(document["temperature_unit"])
        maker.made.kinds.append(f"beside {second.family}")
    else:
        maker.made.kinds.append("beside a constant")
    document.setdefault("materials", {})["layer"] = other
    lower, upper = [begin, 0.0, 0.0], [size[0], size[1], size[2]]
    document["regions"].append({"material": "layer", "box": {"lower": lower, "upper": upper}})
    if chance.random() < 0.5:
        resistance = number(size[0] / 100 * 10 ** chance.uniform(-1, 1))
        document["contacts"] = [{"between": [material.name, "layer"], "resistance": resistance}]
        maker.made.kinds.append("contact")


def _drive(
    maker: Maker, material: materials.Material, strength: float, zero: float, k: float, C: float, steady: bool
) -> None:
    """What heats and cools: one or two faces, perhaps a source."""
    chance, document = maker.chance, maker.made.document
    kinds, end = maker.made.kinds, document["time"]["end"]
    start, hot = material.start, material.hot
    length = document["grid"]["size"][0]
    reach = min(length, np.sqrt(k / C * end)) if not steady else length
    flux = number(strength * k * abs(hot - start) / reach)
    film = number(strength * k / length * 10 ** chance.uniform(-1, 1))
    shapes = ("constant",) if steady else SHAPES
    first = maker.pick(("fixed", "flux", "flux", "convection", "convection", "radiation", "source", "source"))
    if first == "radiation" and max(start, hot) < 900:
        first = "convection"
    boundary: Table = {}
    warm, cool = round(hot + zero, 6), round(start + zero, 6)
    if first == "fixed":
        boundary["x_min"], shape = _given(maker, "fixed", "temperature", cool, warm, shapes)
    elif first == "flux":
        boundary["x_min"], shape = _given(maker, "flux", "flux", 0.0, flux, shapes)
    elif first in ("convection", "radiation"):
        boundary["x_min"], shape = _given(maker, first, "ambient", cool, warm, shapes)
        boundary["x_min"] |= (
            {"emissivity": number(chance.uniform(0.3, 1))} if first == "radiation" else {"coefficient": film}
        )
    else:
        shape = _source(maker, flux / length, steady)
    kinds += [first, shape]
    second = maker.pick(("insulated", "fixed", "convection", "convection", "h(T)", "convection and radiation"))
    if second == "h(T)" and document["grid"]["cells"][1] > 1:
        second = "convection"  # the reference finds such surfaces one by one
    if steady and second == "insulated":
        second = "fixed"
    if second == "fixed":
        boundary["x_max"] = {"kind": "fixed", "temperature": cool}
    elif second != "insulated":
        coefficient: Any = film
        if second == "h(T)":
            coefficient = f"{film}*(0.2 + (abs(T - {cool!r})/{number(abs(hot - start))})**0.25)"
            kinds.append("h(T)")
        boundary["x_max"] = {"kind": "convection", "coefficient": coefficient, "ambient": cool}
        if second == "convection and radiation":
            boundary["x_max"]["emissivity"] = number(chance.uniform(0.1, 1))
            kinds.append("convection and radiation")
    if not steady and first != "source" and chance.random() < 0.15:
        kinds.append("and a source, " + _source(maker, 0.3 * flux / length, steady))
    document["boundary"] = boundary


def _given(maker: Maker, kind: str, key: str, low: float, high: float, shapes: tuple[str, ...]) -> tuple[Table, str]:
    """A face of a kind whose `key` has one of the shapes."""
    room = np.inf if key == "flux" else low - ABSOLUTE_ZERO[maker.made.document["temperature_unit"]]
    value, shape = maker.shape(low, high, shapes, room)
    return {"kind": kind, key: value}, shape


def _source(maker: Maker, density: float, steady: bool) -> str:
    """A source of about this density, W/m3; the shape of its time."""
    chance, document = maker.chance, maker.made.document
    size, cells = document["grid"]["size"], document["grid"]["cells"]
    source: Table = {}
    volume = float(np.prod(size))
    if chance.random() < 0.5:
        half = size[0] * (cells[0] // 2) / cells[0]
        source["region"] = {"box": {"lower": [0.0, 0.0, 0.0], "upper": [half, size[1], size[2]]}}
        volume *= half / size[0]
    way = "power_density" if steady else maker.pick(("power", "power_density", "trace", "trace"))
    if way == "trace":
        source["trace"], shape = maker.trace(number(10 * density * volume))
    elif way == "power":
        source["power"], shape = maker.shape(0.0, number(density * volume))
    elif steady or chance.random() < 0.3:
        first = document["initial"]["temperature"]
        gain = number(density / max(abs(first), 1.0) * 0.3)
        source["power_density"], shape = (
            f"{number(density)} + {gain}*(T - {first!r})*{-1 if chance.random() < 0.7 else 0.1}",
            "in T",
        )
    else:
        source["power_density"], shape = maker.shape(0.0, number(density))
    document["sources"] = [*document.get("sources", ()), source]
    return shape
