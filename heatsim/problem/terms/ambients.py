"""Ambients whose temperatures depend on time, as heat of the cells beside them.

A prescribed cell keeps the temperature that its ambient has at t = 0. By as much as the ambient is warmer than that at
another time, it heats the cells beside it: each at the rate at which it exchanges heat with the ambient, times the
rise. That is a source of a cell class, which every kernel takes, so that fast paths stay as they are.
"""

from __future__ import annotations

import numpy as np

from heatsim.problem.media.cell_classes import CellClasses
from heatsim.problem.media.materials import ambient_temperatures
from heatsim.problem.terms.event_times import discontinuity_times
from heatsim.scenario import Scenario
from heatsim.scenario.language.expressions.expression import depends_on


class Ambients:
    """The m ambients of a scenario but voids, over time.

    `exchange` (m, n), 1/s: the rate at which a cell of each class exchanges heat with each ambient; `conductance` (m,),
    W/K: that of all cells together, both 0 where the surface's balance says what passes; `moves`: whether a temperature
    depends on time, `varies`: so that this heats cells.
    """

    def __init__(self, scenario: Scenario, cell_classes: CellClasses) -> None:
        self._scenario = scenario
        self._values = [ambient.temperature for ambient in scenario.exchanging_ambients.values()]
        solids, classes = len(scenario.materials), len(cell_classes.zone)
        self.exchange = np.zeros((len(self._values), classes))
        for number in range(len(self._values)):
            beside = cell_classes.beyond == solids + number
            self.exchange[number] = (cell_classes.rates * beside).sum(axis=1)
        self.conductance = self.exchange @ (cell_classes.capacity * cell_classes.count)
        self.moves = any(depends_on(value, "t") for value in self._values)
        self.varies = self.moves and bool(self.conductance.any())

    @property
    def discontinuities(self) -> frozenset[float]:
        """Times at which a temperature jumps, s."""
        return discontinuity_times(self._values, self._scenario.time.end)

    @property
    def inputs(self) -> list[object]:
        """The temperatures, numbers or expressions."""
        return list(self._values)

    def check(self, times: np.ndarray) -> None:
        """Look at the temperatures at some times; raises `ScenarioError` for what is not good then."""
        ambient_temperatures(self._scenario, times)

    def rises(self, times: np.ndarray) -> np.ndarray:
        """(k, m) how much warmer they are at k times, s, than at t = 0, K. Raises `ScenarioError` for temperatures
        that cannot be."""
        now, start = (ambient_temperatures(self._scenario, each) for each in (times, np.zeros(1)))
        return np.asarray(now - start)

    def heating_rates(self, times: np.ndarray) -> np.ndarray:
        """(k, n) what their rises add to the heating rate of each cell class, K/s."""
        return np.asarray(self.rises(times) @ self.exchange)

    def powers(self, times: np.ndarray) -> np.ndarray:
        """(k, m) the same as heat of all cells, W, from each ambient."""
        return np.asarray(self.rises(times) * self.conductance)
