"""The half cells between centres and faces inside the box, beside which heat passes by another law than conduction."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from heatsim_kernels.explicit.face_sets import FaceSet

from heatsim.problem.media.cell_classes import CellClasses
from heatsim.problem.media.materials import conductivity_at
from heatsim.problem.media.zones import Zones
from heatsim.scenario import Scenario


class HalfCells(NamedTuple):
    """Of the cell of each of n faces: the material, the resistance of its half to the face, K/W, and the conductivity
    with which that is counted, W/(m K)."""

    materials: np.ndarray
    resistances: np.ndarray
    conductivities: np.ndarray

    @classmethod
    def of(cls, faces: FaceSet, zones: Zones, cell_classes: CellClasses, conductivities: np.ndarray) -> HalfCells:
        """Those at some faces; conductivities: (3, m) of materials along x, y, z, at the reference, W/(m K)."""
        classes = faces.classes(cell_classes.ids)
        materials = np.array(zones.materials)[cell_classes.zone[classes]]
        resistances = cell_classes.faces.own[classes, faces.faces]
        return cls(materials, resistances, conductivities[faces.faces // 2, materials])

    def growth(self, scenario: Scenario, T: np.ndarray) -> np.ndarray:
        """(n,) the resistances at the temperatures T (n,) of the cells, over those that are counted."""
        growth = np.ones(len(T))
        for number, material in enumerate(scenario.materials.values()):
            here = self.materials == number
            if here.any() and "conductivity" in material.temperature_dependent_keys():
                growth[here] = self.conductivities[here] / conductivity_at(material, T[here])
        return growth
