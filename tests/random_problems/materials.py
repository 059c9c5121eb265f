"""Materials of random problems: what is known to be hard for tables of k(T) and c(T), and what is common.

A family has the properties in K; `in_unit` writes them for a scenario in K or degC.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from random_problems.network import ABSOLUTE_ZERO

Table = dict[str, Any]
COPPER_K = ([4, 6, 10, 15, 20, 30, 40, 60, 80, 100, 150, 200, 300],
            [630, 940, 1540, 2100, 2430, 2300, 1500, 850, 560, 461, 418, 407, 396])  # fmt: skip
COPPER_C = ([4, 6, 8, 10, 15, 20, 30, 40, 60, 80, 100, 150, 200, 300],
            [0.09, 0.23, 0.47, 0.88, 2.83, 7.3, 27, 60, 137, 203, 254, 313, 356, 386])  # fmt: skip
LIBRARY = {  # name: temperatures, K, between which its properties are documented and it does not melt
    "304": (290, 1190), "carbon_steel": (300, 990), "silicon": (210, 1190), "germanium": (210, 990),
    "alumina": (300, 990), "fused_silica": (300, 990), "copper": (210, 1190), "aluminium": (210, 790),
    "iron": (210, 990), "nickel": (210, 1190), "titanium": (210, 1190), "tungsten": (210, 1190), "lead": (210, 590),
    "platinum": (210, 1190), "fireclay": (680, 1470), "zirconia_brick": (680, 1470), "Ti-6Al-4V": (300, 1850),
    "316L": (300, 1640), "water": (275, 372),
}  # fmt: skip


@dataclass(frozen=True)
class Material:
    """family: what it stands for. given: its keys in K, expressions with {T} for the temperature in K, or None for one
    of the library. start, hot: K, where a problem begins and how far it may go."""

    family: str
    name: str
    given: Table | None
    start: float
    hot: float

    def in_unit(self, unit: str) -> Table | None:
        if self.given is None:
            return None
        zero = ABSOLUTE_ZERO[unit]
        T = "T" if unit == "K" else "(T + 273.15)"
        found: Table = {}
        for key, value in self.given.items():
            if isinstance(value, str):
                value = value.replace("{T}", T)
            elif key == "latent":
                value = {"heat": value["heat"], **{end: round(value[end] + zero, 9) for end in ("solidus", "liquidus")}}
            elif isinstance(value, dict):
                value = {"T": [round(each + zero, 9) for each in value["T"]], "value": value["value"]}
            found[key] = value
        return found


def choose(chance: np.random.Generator) -> Material:
    families = list(FAMILIES)
    weights = np.array([FAMILIES[each][1] for each in families], float)
    family = str(chance.choice(families, p=weights / weights.sum()))
    return FAMILIES[family][0](chance)


def constant(chance: np.random.Generator) -> Table:
    """A material for a layer beside another."""
    return {
        "density": round(float(chance.uniform(1000, 9000))),
        "conductivity": number(10 ** chance.uniform(-0.5, 2.3)),
        "heat_capacity": number(chance.uniform(200, 1500)),
    }


def number(value: float) -> float:
    return float(f"{value:.4g}")


def _copper(chance: np.random.Generator) -> Material:
    given = {
        "density": 8960.0,
        "conductivity": {"T": list(map(float, COPPER_K[0])), "value": list(map(float, COPPER_K[1]))},
        "heat_capacity": {"T": list(map(float, COPPER_C[0])), "value": list(map(float, COPPER_C[1]))},
    }
    start = float(chance.choice([4.2, 6.0, 20.0, 77.0, 300.0]))
    hot = float(chance.choice([8.0, 40.0, 120.0, 300.0])) if start < 300 else 4.2
    return Material("copper at 4 to 300 K", "cu", given, start, hot if abs(hot - start) > 3 else 300.0)


def _crystal(chance: np.random.Generator) -> Material:
    peak, debye = chance.uniform(10, 40), chance.uniform(40, 150)
    given = {
        "density": number(chance.uniform(2000, 6000)),
        "conductivity": f"{number(10 ** chance.uniform(-1, 1))}*{{T}}**3/(1 + ({{T}}/{number(peak)})**4)",
        "heat_capacity": f"{number(10 ** chance.uniform(-4, -2.5))}*{{T}}**3/(1 + ({{T}}/{number(debye)})**3)",
    }
    return Material(
        "crystal, T^3",
        "crystal",
        given,
        float(chance.choice([1.0, 2.0, 4.2, 10.0])),
        float(chance.choice([20.0, 80.0, 300.0])),
    )


def _cubic(chance: np.random.Generator) -> Material:
    given = {
        "density": number(chance.uniform(2000, 6000)),
        "conductivity": f"{number(10 ** chance.uniform(0, 2))}*{{T}}**3",
        "heat_capacity": f"{number(10 ** chance.uniform(-4, -2.5))}*{{T}}**3",
    }
    start = float(chance.choice([0.3, 0.7, 1.0, 2.0]))
    return Material("T^3 near 1 K", "cold", given, start, start * float(chance.uniform(1.5, 8)))


def _normal_metal(chance: np.random.Generator) -> Material:
    exponents = chance.uniform((-3, -5), (-1.5, -4))
    given = {
        "density": number(chance.uniform(3000, 9000)),
        "conductivity": f"{number(10 ** chance.uniform(0, 2))}*{{T}}",
        "heat_capacity": f"{number(10 ** exponents[0])}*{{T}} + {number(10 ** exponents[1])}*{{T}}**3",
    }
    start = float(chance.choice([0.5, 1.0, 2.0, 4.2]))
    return Material("g T + b T^3", "normal", given, start, start * float(chance.uniform(2, 12)))


def _random_table(chance: np.random.Generator, low: float, high: float, value: float, spread: float) -> Table:
    T = np.sort(chance.uniform(low, high, int(chance.integers(2, 7))))
    T = np.unique(np.round(np.concatenate(([low], T, [high])), 1))
    steps = np.cumsum(chance.normal(0, spread, len(T)))
    return {"T": T.tolist(), "value": [number(each) for each in value * np.exp(steps - steps[0])]}


def _tables(chance: np.random.Generator) -> Material:
    high = float(chance.choice([600.0, 1200.0, 2000.0, 3000.0]))
    given = {
        "density": number(chance.uniform(1500, 9000)),
        "conductivity": _random_table(chance, 250.0, high, 10 ** chance.uniform(-0.5, 2.4), 0.4),
        "heat_capacity": _random_table(chance, 250.0, high, chance.uniform(300, 1200), 0.2),
    }
    return Material(
        "tables", "solid", given, number(chance.uniform(270, 350)), number(chance.uniform(0.4, 1.0) * high + 60)
    )


def _expressions(chance: np.random.Generator) -> Material:
    high = float(chance.choice([400.0, 800.0, 1500.0, 3000.0]))
    k, c = number(10 ** chance.uniform(-0.5, 2.4)), number(chance.uniform(300, 1200))
    conductivities = [
        f"{k}*(300/{{T}})**{number(chance.uniform(0.3, 1.5))}",
        f"{k}*exp({number(chance.uniform(-0.001, 0.001))}*({{T}} - 300))",
        f"{k}*(1 + {number(chance.uniform(0.2, 3))}*({{T}}/1000)**3)",
        f"{k}*(1.5 + tanh(({{T}} - {number(chance.uniform(350, 0.6 * high + 200))})/{number(chance.uniform(10, 80))}))",
    ]
    capacities = [
        f"{c}*(1 + {number(chance.uniform(0, 0.0006))}*{{T}})",
        f"{c}*(1 - {number(chance.uniform(0.1, 0.6))}*exp(-{{T}}/300))",
    ]
    given = {
        "density": number(chance.uniform(1500, 9000)),
        "conductivity": str(chance.choice(conductivities)),
        "heat_capacity": str(chance.choice(capacities)),
    }
    return Material("expressions", "solid", given, number(chance.uniform(270, 350)), high)


def _library(chance: np.random.Generator) -> Material:
    name = str(chance.choice(list(LIBRARY)))
    low, high = LIBRARY[name]
    start = number(low + chance.uniform(0.0, 0.3) * (high - low))
    return Material("library", name, None, start, number(chance.uniform(start + 0.3 * (high - start), high)))


def _stepped(chance: np.random.Generator) -> Material:
    at = number(chance.uniform(330, 900))
    k, c = number(10 ** chance.uniform(0, 2)), number(chance.uniform(300, 1200))
    ratio, width = number(float(chance.choice([0.2, 0.4, 3.0, 6.0]))), float(chance.choice([0.01, 0.1, 1.0]))
    given: Table = {"density": number(chance.uniform(1500, 9000)), "conductivity": k, "heat_capacity": c}
    which, value = ("conductivity", k) if chance.random() < 0.5 else ("heat_capacity", c)
    if chance.random() < 0.5:
        given[which] = {
            "T": [300.0, at, number(at) + width, 1500.0],
            "value": [value, value, number(value * ratio), number(value * ratio)],
        }
    else:
        given[which] = f"where({{T}} < {at}, {value}, {number(value * ratio)})"
    other = "heat_capacity" if which == "conductivity" else "conductivity"
    if chance.random() < 0.5:
        given[other] = f"{given[other]}*(1 + 0.0004*({{T}} - 300))"
    return Material(f"step of {which}", "solid", given, 300.0, number(at + chance.uniform(40, 300)))


def _spiked(chance: np.random.Generator) -> Material:
    at, width = number(chance.uniform(330, 1000)), number(10 ** chance.uniform(-0.3, 1.3))
    c = number(chance.uniform(300, 1000))
    given = {
        "density": number(chance.uniform(1500, 9000)),
        "conductivity": number(10 ** chance.uniform(0, 2)),
        "heat_capacity": f"{c}*(1 + {number(chance.uniform(3, 40))}*exp(-(({{T}} - {at})/{width})**2))",
    }
    return Material("spike of c", "solid", given, 300.0, number(at + chance.uniform(40, 300)))


def _melting(chance: np.random.Generator) -> Material:
    solidus = number(chance.uniform(340, 1500))
    width = number(float(chance.choice([2.0, 10.0, 50.0, 150.0])))
    given: Table = {
        "density": number(chance.uniform(1000, 9000)),
        "conductivity": _random_table(chance, 280.0, 2000.0, 10 ** chance.uniform(-0.5, 2), 0.3),
        "heat_capacity": number(chance.uniform(300, 2000)),
        "latent": {"heat": number(10 ** chance.uniform(4.5, 5.5)), "solidus": solidus, "liquidus": solidus + width},
    }
    return Material("melting", "solid", given, 300.0, number(solidus + width + chance.uniform(20, 300)))


FAMILIES: dict[str, tuple[Any, float]] = {
    "copper": (_copper, 3), "crystal": (_crystal, 2), "cubic": (_cubic, 1.5), "normal": (_normal_metal, 1.5),
    "tables": (_tables, 4), "expressions": (_expressions, 3), "library": (_library, 4), "stepped": (_stepped, 2),
    "spiked": (_spiked, 2), "melting": (_melting, 2),
}  # fmt: skip
