"""Surfaces inside the box at ambients that radiate, or whose coefficient depends on time, as heat of the cells there.

No constant rate of exchange stands for such a surface. Its temperature Ts follows from the balance of heat: what comes
from the ambient, at Ta, passes on through the half cell, of the resistance R, to the centre of the cell, at T:

    A (h (Ta - Ts) + eps sigma (Ta^4 - Ts^4)) = (Ts - T)/R

The left side falls and the right side rises with Ts, and their difference is concave, so that Newton's method goes from
the warmer of T and Ta straight down to the one root (temperatures are absolute).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from heatsim_kernels.enthalpy.surface_balance import STEFAN_BOLTZMANN

from heatsim.geometry.point_values import describe_times, evaluate, require_at_least, require_finite
from heatsim.physics.materials import ambient_temperatures, ambients_by_surface, conductivity_at
from heatsim.scenario import Expression, Scenario
from heatsim.scenario.expressions.expression import depends_on

if TYPE_CHECKING:
    from heatsim.problem.cell_classes import CellClasses
    from heatsim.problem.zones import Zones

MAX_ITERATIONS, ENOUGH = 60, 1e-13  # of the surface's temperature, relative


class _Faces(NamedTuple):
    """The faces of a kind: flat indices of their cells, their materials, the ambients beyond, areas (m2), resistances
    of the half cells (K/W) and the conductivities with which those are counted, W/(m K); (n,) each."""

    cells: np.ndarray
    materials: np.ndarray
    owners: np.ndarray
    areas: np.ndarray
    resistances: np.ndarray
    conductivities: np.ndarray


class AmbientSurfaces:
    """The surfaces of a scenario at such ambients. Temperatures are in its unit."""

    def __init__(self, scenario: Scenario, zones: Zones, cell_classes: CellClasses, conductivities: np.ndarray) -> None:
        """conductivities: (3, m) of materials along x, y, z, at the reference, W/(m K)."""
        self._scenario = scenario
        self._ambients = list(scenario.ambients.values())
        by_surface = self._by_surface = np.array(ambients_by_surface(scenario))
        found = cell_classes.ambient_faces
        assert found is not None
        here = by_surface[found.owners]
        cells, faces, owners = found.cells[here], found.faces[here], found.owners[here]
        ids = np.zeros(1, np.uint8) if cell_classes.ids is None else cell_classes.ids.reshape(-1)
        classes = ids[cells] if cell_classes.ids is not None else np.zeros(len(cells), np.intp)
        own = np.array(zones.materials)[cell_classes.zone[classes]]
        beside = cell_classes.faces
        areas = beside.area[classes, faces] / cell_classes.slopes[classes, faces]
        k = conductivities[faces // 2, own]
        self._faces = _Faces(cells, own, owners, areas, beside.own[classes, faces], k)

    @property
    def inputs(self) -> list[float | Expression]:
        """Temperatures and coefficients, which may depend on time."""
        shown = [ambient for ambient, here in zip(self._ambients, self._by_surface, strict=True) if here]
        return [value for ambient in shown for value in (ambient.temperature, ambient.coefficient or 0.0)]

    @property
    def varies(self) -> bool:
        """Whether one depends on time."""
        return any(depends_on(value, "t") for value in self.inputs)

    def heat(self, T: np.ndarray, time: float) -> np.ndarray:
        """(n,) heat that comes through each face at a time, s, W; T: (nz, ny, nx). Raises `ScenarioError` for
        coefficients that are negative or not finite."""
        faces, zero = self._faces, self._scenario.zero
        now = np.array([time])
        ambient = (ambient_temperatures(self._scenario, now)[0] - zero)[faces.owners]
        h, radiated = (each[faces.owners] * faces.areas for each in self._coefficients(now))
        own = T.reshape(-1)[faces.cells].astype(np.float64)
        resistance = faces.resistances * self._growth(own)
        own = own - zero
        surface = np.maximum(own, ambient)
        for _ in range(MAX_ITERATIONS):
            balance = h * (ambient - surface) + radiated * (ambient**4 - surface**4) - (surface - own) / resistance
            change = balance / (h + 4.0 * radiated * surface**3 + 1.0 / resistance)
            surface += change
            if not (np.abs(change) > ENOUGH * (1.0 + np.abs(surface))).any():
                break
        return np.asarray((surface - own) / resistance)

    def add_to(self, power: np.ndarray, T: np.ndarray, time: float) -> None:
        """Add the heat to that of the cells, (nz, ny, nx) W."""
        np.add.at(power.reshape(-1), self._faces.cells, self.heat(T, time))

    def of_ambients(self, T: np.ndarray, time: float) -> np.ndarray:
        """(m,) heat that comes from each ambient at a time, s, W."""
        return np.bincount(self._faces.owners, self.heat(T, time), len(self._ambients))

    def damping(self, high: float, times: np.ndarray, heat_capacity: np.ndarray) -> float:
        """The fastest rate at which they draw a cell to the ambients, up to a temperature, 1/s; heat_capacity: (nz, ny,
        nx), J/K."""
        faces = self._faces
        h, radiated = (each[faces.owners] * faces.areas for each in self._coefficients(times))
        film = h + 4.0 * radiated * (high - self._scenario.zero) ** 3
        least = faces.resistances * np.minimum(1.0, self._growth(np.full(len(faces.cells), high)))
        conductance = film / (1.0 + film * least)
        of_cells = np.bincount(faces.cells, conductance, heat_capacity.size)[faces.cells]
        return float((of_cells / heat_capacity.reshape(-1)[faces.cells]).max(initial=0.0))

    def _growth(self, T: np.ndarray) -> np.ndarray:
        """(n,) the resistances of the half cells at the temperatures of their cells over those that were counted."""
        growth = np.ones(len(T))
        for number, material in enumerate(self._scenario.materials.values()):
            here = self._faces.materials == number
            if here.any() and "conductivity" in material.temperature_dependent_keys():
                growth[here] = self._faces.conductivities[here] / conductivity_at(material, T[here])
        return growth

    def _coefficients(self, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(m,) the coefficient of each ambient, W/(m2 K), the greatest at some times; and emissivity times the
        Stefan-Boltzmann constant, W/(m2 K4)."""
        films = np.zeros(len(self._ambients))
        for number, (name, ambient) in enumerate(self._scenario.ambients.items()):
            if ambient.coefficient is not None:
                key, when = ("ambients", name, "coefficient"), describe_times(times)
                values = evaluate(ambient.coefficient, times.shape, t=times)
                require_finite(self._scenario, key, values, when)
                require_at_least(self._scenario, key, values, 0.0, "W/(m2 K)", when)
                films[number] = values.max()
            elif ambient.resistance is not None:
                films[number] = 1.0 / ambient.resistance
        return films, STEFAN_BOLTZMANN * np.array([ambient.emissivity or 0.0 for ambient in self._ambients])

    def check(self, times: np.ndarray) -> None:
        """Look at the coefficients at some times; raises `ScenarioError` for what is not good then."""
        self._coefficients(times)
