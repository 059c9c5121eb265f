"""Media: the materials of a scenario, then its ambients, and how well they conduct to each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from heatsim.scenario import Scenario
from heatsim.scenario.materials import Material


@dataclass(frozen=True)
class Media:
    """Media 0 to solids - 1 are materials, those from there on ambients.

    conductivity: (3, m) along x, y, z, W/(m K), of ambients 1, which is not used; capacity: (m,) J/(m3 K), of ambients
    0; surface: (m,) surface resistance towards an ambient, m2 K/W; contact: (m, m) contact resistance, m2 K/W;
    temperature: of each ambient, in the scenario's unit.
    """

    solids: int
    conductivity: np.ndarray
    capacity: np.ndarray
    surface: np.ndarray
    contact: np.ndarray
    temperature: np.ndarray


def make_media(scenario: Scenario) -> Media:
    """The media of a scenario."""
    names, materials = list(scenario.materials), list(scenario.materials.values())
    ambients = list(scenario.ambients.values())
    solids, count = len(materials), len(materials) + len(ambients)
    contact = np.zeros((count, count))
    for each in scenario.contacts:
        one, other = (names.index(name) for name in each.between)
        if one != other:
            contact[one, other] = contact[other, one] = each.resistance
    surface = [0.0] * solids + [ambient.resistance or 1.0 / (ambient.coefficient or 1.0) for ambient in ambients]
    return Media(
        solids,
        np.array([conductivity(material) for material in materials] + [(1.0, 1.0, 1.0)] * len(ambients)).T,
        np.array([volumetric_capacity(material) for material in materials] + [0.0] * len(ambients)),
        np.array(surface),
        contact,
        np.array([ambient.temperature for ambient in ambients]),
    )


def conductivity(material: Material) -> tuple[float, float, float]:
    """Conductivity along x, y, z, W/(m K)."""
    k = material.conductivity
    if isinstance(k, tuple):
        return k
    if not isinstance(k, float):
        raise TypeError("tables and expressions are refused when the scenario is loaded")
    return k, k, k


def volumetric_capacity(material: Material) -> float:
    """Heat capacity of a unit volume, J/(m3 K)."""
    if not isinstance(material.heat_capacity, float):
        raise TypeError("tables and expressions are refused when the scenario is loaded")
    return material.density * material.heat_capacity
