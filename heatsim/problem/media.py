"""Media: the materials of a scenario, then its ambients, and how well they conduct to each other."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from heatsim_kernels.stencil.nonlinear.tables import Tables

from heatsim.scenario import Scenario
from heatsim.scenario.materials import Material


@dataclass(frozen=True)
class Media:
    """Media 0 to solids - 1 are materials, those from there on ambients.

    conductivity: (3, m) along x, y, z, W/(m K), of ambients 1, which is not used; capacity: (m,) J/(m3 K), of ambients
    0; both not a number where they follow temperature and no reference is known yet; surface: (m,) surface resistance
    towards an ambient, m2 K/W; contact: (m, m) contact resistance, m2 K/W; temperature: of each ambient, in the
    scenario's unit.
    """

    solids: int
    conductivity: np.ndarray
    capacity: np.ndarray
    surface: np.ndarray
    contact: np.ndarray
    temperature: np.ndarray

    def at_reference(self, tables: Tables) -> Media:
        """The same with what follows temperature as it is at the reference of the tables."""
        ambients = self.conductivity.shape[1] - self.solids
        k = np.append(tables.conductivity[: self.solids], np.ones(ambients))
        C = np.append(tables.capacity[: self.solids], np.zeros(ambients))
        conductivity = np.where(np.isnan(self.conductivity), k, self.conductivity)
        return replace(self, conductivity=conductivity, capacity=np.where(np.isnan(self.capacity), C, self.capacity))


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
    """Conductivity along x, y, z, W/(m K); not a number where it follows temperature."""
    k = material.conductivity
    if isinstance(k, tuple):
        return k
    if not isinstance(k, float):
        return np.nan, np.nan, np.nan
    return k, k, k


def volumetric_capacity(material: Material) -> float:
    """Heat capacity of a unit volume, J/(m3 K); not a number where it follows temperature."""
    c = material.heat_capacity
    return material.density * c if isinstance(c, float) else np.nan
