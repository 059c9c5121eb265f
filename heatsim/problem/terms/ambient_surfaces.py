"""Surfaces inside the box at ambients whose heat no constant rate of exchange stands for, as heat of the cells there.

Such an ambient radiates, or its coefficient depends on time or on the temperature of the surface. That temperature Ts
follows from the balance of heat: what comes from the ambient, at Ta, passes on through the half cell, of the resistance
R, to the centre of the cell, at T:

    A (h (Ta - Ts) + eps sigma (Ta^4 - Ts^4)) = (Ts - T)/R

Where h does not depend on Ts, the left side falls and the right side rises with Ts, and their difference is concave, so
that Newton's method goes from the warmer of T and Ta straight down to the one root (temperatures are absolute).
Elsewhere the root is bracketed by T and Ta, and found by the Illinois method (Dowell and Jarratt, BIT 11, 168 (1971)).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from heatsim_kernels.explicit.enthalpy.surface_balance import STEFAN_BOLTZMANN
from heatsim_kernels.explicit.face_sets import SIDES

from heatsim.problem.media.materials import ambient_temperatures, ambients_by_surface
from heatsim.problem.shapes.point_values import describe_times, evaluate, require_at_least, require_finite
from heatsim.problem.terms.half_cells import HalfCells
from heatsim.scenario import Expression, Scenario
from heatsim.scenario.language.expressions.expression import depends_on

if TYPE_CHECKING:
    from heatsim.problem.media.cell_classes import CellClasses
    from heatsim.problem.media.zones import Zones

MAX_ITERATIONS, ENOUGH = 100, 1e-13  # of the surface's temperature, relative
SAMPLED_TEMPERATURES, SLOPE_STEP = 33, 1e-3  # at which coefficients and resistances are looked at before a run; K


class AmbientSurfaces:
    """The surfaces of a scenario at such ambients. Temperatures are in its unit."""

    def __init__(self, scenario: Scenario, zones: Zones, cell_classes: CellClasses, conductivities: np.ndarray) -> None:
        """conductivities: (3, m) of materials along x, y, z, at the reference, W/(m K)."""
        self._scenario = scenario
        self._ambients = list(scenario.exchanging_ambients.values())
        by_surface = self._by_surface = np.array(ambients_by_surface(scenario))[: len(self._ambients)]
        found = cell_classes.ambient_faces
        assert found is not None
        faces = self.faces = found.chosen(by_surface[found.accounts - SIDES])
        self._owners, ids = faces.accounts - SIDES, cell_classes.ids
        self._areas = faces.values(cell_classes.faces.area, ids) / faces.values(cell_classes.slopes, ids)
        self._half = HalfCells.of(faces, zones, cell_classes, conductivities)

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
        zero, now = self._scenario.zero, np.array([time])
        own = T.reshape(-1)[self.faces.cells].astype(np.float64)
        resistance = self._half.resistances * self._half.growth(self._scenario, own)
        ambient = (ambient_temperatures(self._scenario, now)[0] - zero)[self._owners]
        radiated = self._radiated[self._owners] * self._areas

        def exchanged(surface: np.ndarray, h: np.ndarray) -> np.ndarray:
            return np.asarray(h * (ambient - surface) + radiated * (ambient**4 - surface**4))

        if self._by_temperature:
            surface = bracketed_root(
                lambda Ts: resistance * exchanged(Ts, self._films(now, Ts)) - (Ts - (own - zero)), own - zero, ambient
            )
        else:
            surface, h = np.maximum(own - zero, ambient), self._films(now, ambient)
            for _ in range(MAX_ITERATIONS):
                balance = exchanged(surface, h) - (surface - (own - zero)) / resistance
                change = balance / (h + 4.0 * radiated * surface**3 + 1.0 / resistance)
                surface += change
                if not (np.abs(change) > ENOUGH * (1.0 + np.abs(surface))).any():
                    break
        # What a last step of Newton's would make of (surface - own)/resistance, in which little is left of the digits
        # of two temperatures that are all but the same.
        h = self._films(now, surface)
        steep = h + 4.0 * radiated * surface**3
        through = exchanged(surface, h) + steep * (surface - (own - zero))
        return np.asarray(through / (1.0 + steep * resistance))

    def of_ambients(self, heat: np.ndarray) -> np.ndarray:
        """(m,) the heat of the faces (n,) that comes from each ambient, W."""
        return np.bincount(self._owners, heat, len(self._ambients))

    def damping(self, low: float, high: float, times: np.ndarray, heat_capacity: np.ndarray) -> float:
        """The fastest rate at which they draw a cell to the ambients between two temperatures, 1/s, by samples;
        heat_capacity: (nz, ny, nx), J/K."""
        cells, zero = self.faces.cells, self._scenario.zero
        ambients = ambient_temperatures(self._scenario, times) - zero
        film = np.zeros(len(cells))
        for T in np.linspace(low, high, SAMPLED_TEMPERATURES if self._by_temperature else 2) - zero:
            for Ta in (ambients.min(axis=0)[self._owners], ambients.max(axis=0)[self._owners]):
                above, below = (self._films(times, np.full(len(film), T + side)) for side in (SLOPE_STEP, -SLOPE_STEP))
                steeper = (above - below) / (2.0 * SLOPE_STEP) * (T - Ta)
                film = np.maximum(film, np.maximum(above, 0.5 * (above + below) + steeper))
        film += 4.0 * self._radiated[self._owners] * self._areas * (high - zero) ** 3
        least = self._half.resistances * np.minimum(1.0, self._half.growth(self._scenario, np.full(len(cells), high)))
        of_cells = np.bincount(cells, film / (1.0 + film * least), heat_capacity.size)[cells]
        return float((of_cells / heat_capacity.reshape(-1)[cells]).max(initial=0.0))

    @property
    def _radiated(self) -> np.ndarray:
        """(m,) emissivity times the Stefan-Boltzmann constant of each ambient, W/(m2 K4)."""
        return np.asarray(STEFAN_BOLTZMANN * np.array([ambient.emissivity or 0.0 for ambient in self._ambients]))

    @property
    def _by_temperature(self) -> bool:
        """Whether a coefficient depends on the temperature of the surface."""
        return any(depends_on(ambient.coefficient or 0.0, "T") for ambient in self._ambients)

    def _films(self, times: np.ndarray, surface: np.ndarray) -> np.ndarray:
        """(n,) coefficient times area of each face at its temperature, absolute, W/K, the greatest at some times."""
        found = np.zeros(len(surface))
        for number, (name, ambient) in enumerate(self._scenario.ambients.items()):
            here = self._owners == number
            if ambient.resistance is not None:
                found[here] = 1.0 / ambient.resistance
            elif ambient.coefficient is not None and here.any():
                key, when = ("ambients", name, "coefficient"), describe_times(times)
                T, shape = surface[here] + self._scenario.zero, (len(times), int(np.count_nonzero(here)))
                values = evaluate(ambient.coefficient, shape, t=times[:, None], T=T)
                require_finite(self._scenario, key, values, when)
                require_at_least(self._scenario, key, values, 0.0, "W/(m2 K)", when)
                found[here] = values.max(axis=0)
        return np.asarray(found * self._areas)


def bracketed_root(balance: Callable[[np.ndarray], np.ndarray], one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """(n,) where each balance is 0, which is not negative at the lesser of two numbers, and not positive at the
    greater."""
    low, high = np.minimum(one, other), np.maximum(one, other)
    at_low, at_high = np.maximum(balance(low), 0.0), np.minimum(balance(high), 0.0)
    side = np.zeros(len(low))
    for _ in range(MAX_ITERATIONS):
        share = np.divide(at_low, at_low - at_high, out=np.zeros(len(low)), where=at_low > at_high)
        middle = low + share * (high - low)
        found = balance(middle)
        above = found > 0  # the root is above
        # An end that stays for the second time counts half, which draws the next guess to it.
        at_high = np.where(above, np.where(side > 0, 0.5 * at_high, at_high), found)
        at_low = np.where(above, found, np.where(side < 0, 0.5 * at_low, at_low))
        low, high = np.where(above, middle, low), np.where(above, high, middle)
        side = np.where(above, 1.0, -1.0)
        if not (np.minimum(high - low, np.abs(found)) > ENOUGH * (1.0 + np.abs(middle))).any():
            break
    return np.asarray(middle)
