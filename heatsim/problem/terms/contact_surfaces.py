"""Contacts whose resistance depends on time or on temperature, as heat that passes from one cell to the next.

The resistance R is taken at the mean Tm of the temperatures of the two surfaces that touch. Between the centres of two
cells, at T1 and T2, lie the half cells too, of the resistances r1 and r2, K/W, so on the area A there passes

    q = (T1 - T2)/(r1 + r2 + R(Tm)/A),    Tm = (T1 - q r1 + T2 + q r2)/2.

Where R depends on T, the share of the difference that the half cells take is bracketed by 0 and 1: that of a contact
which lets nothing through, and of one that does not resist. Conductance of gaps and of joints over temperature:
Madhusudana, Thermal Contact Conductance, 2nd edition, Springer 2014.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from heatsim_kernels.explicit.face_sets import NEIGHBOUR, FaceSet

from heatsim.problem.shapes.point_values import describe_times, evaluate, require_at_least, require_finite
from heatsim.problem.terms.ambient_surfaces import SAMPLED_TEMPERATURES, SLOPE_STEP, bracketed_root
from heatsim.problem.terms.half_cells import HalfCells
from heatsim.scenario import Expression, Scenario
from heatsim.scenario.language.expressions.expression import depends_on

if TYPE_CHECKING:
    from heatsim_kernels.solver.operator import Operator

    from heatsim.problem.media.cell_classes import CellClasses
    from heatsim.problem.media.derived_fields import Resistances
    from heatsim.problem.media.zones import Zones


class ContactSurfaces:
    """The contacts of a scenario that depend on time or temperature. Temperatures T are in its unit, (nz, ny, nx)."""

    def __init__(self, scenario: Scenario, zones: Zones, cell_classes: CellClasses, conductivities: np.ndarray) -> None:
        """conductivities: (3, m) of materials along x, y, z, at the reference, W/(m K)."""
        self._scenario = scenario
        self.faces, self._contacts = _find_faces(scenario, zones, cell_classes, conductivities.shape[1])
        faces, ids = self.faces, cell_classes.ids
        self._axes, self._lower, self.beyond = faces.faces // 2, faces.cells, faces.beyond(ids.shape)
        others = faces._replace(cells=self.beyond, faces=faces.faces - 1)
        self._halves = [HalfCells.of(each, zones, cell_classes, conductivities) for each in (faces, others)]
        slopes = (each.values(cell_classes.slopes, ids) for each in (faces, others))
        self._slopes = np.maximum(*slopes)  # by which cell faces exceed the contact's own area
        self._areas = faces.values(cell_classes.faces.area, ids) / self._slopes
        self._by_temperature = any(depends_on(each.resistance, "T") for each in scenario.contacts)

    def __len__(self) -> int:
        return len(self._lower)

    @property
    def inputs(self) -> list[float | Expression]:
        """Resistances that depend on time or temperature."""
        return [each.resistance for each in self._scenario.contacts if each.varies]

    @property
    def varies(self) -> bool:
        """Whether one depends on time."""
        return any(depends_on(value, "t") for value in self.inputs)

    def conductances(self, T: np.ndarray, time: float) -> np.ndarray:
        """(n,) from centre to centre of each pair at a time, s, W/K. Raises `ScenarioError` for resistances that are
        negative or not finite."""
        halves = self._half_resistances(T).sum(axis=0)
        return np.asarray(1.0 / (halves + self.resistances(T, time) / self._areas))

    def resistances(self, T: np.ndarray, time: float) -> np.ndarray:
        """(n,) of the contact between each pair, m2 K/W; raises as `conductances` does."""
        now, lower, upper = np.array([time]), *self._ends(T)
        if not self._by_temperature:
            return self._evaluated(now, lower)
        first, second = self._half_resistances(T)
        halves, areas = first + second, self._areas
        through = (lower - upper) / halves  # W, if the contact did not resist

        def between(share: np.ndarray) -> np.ndarray:
            return np.asarray(0.5 * (lower + upper - share * through * (first - second)))

        def balance(share: np.ndarray) -> np.ndarray:
            return np.asarray(1.0 - share * (1.0 + self._evaluated(now, between(share)) / (areas * halves)))

        return self._evaluated(now, between(bracketed_root(balance, np.zeros(len(self)), np.ones(len(self)))))

    def heat(self, T: np.ndarray, time: float) -> np.ndarray:
        """(n,) what passes through each into the lower cell at a time, s, W."""
        lower, upper = self._ends(T)
        return np.asarray(self.conductances(T, time) * (upper - lower))

    def joined(self, operator: Operator, T: np.ndarray, time: float) -> Operator:
        """The operator with their conductances, which it has none of."""
        sides, conductances = [operator.gx.copy(), operator.gy.copy(), operator.gz.copy()], self.conductances(T, time)
        for axis, side in enumerate(sides):
            here = self._axes == axis
            side.reshape(-1)[self._lower[here]] += conductances[here]
        return replace(operator, gx=sides[0], gy=sides[1], gz=sides[2])

    def fill(self, resistances: Resistances, T: np.ndarray, time: float) -> Resistances:
        """Resistances between each cell and the next along x, y, z, (nz, ny, nx) m2 K/W, with these in their places;
        an oblique contact has more, on its cell faces, than on its own area."""
        found, present = list(resistances), self.resistances(T, time)
        for axis in range(3):
            here = self._axes == axis
            if here.any():
                whole = np.array(np.broadcast_to(found[axis], T.shape))
                slope = self._slopes[here]
                whole.reshape(-1)[self._lower[here]] = slope * present[here]
                found[axis] = whole
        return found

    def exchange_rate(self, low: float, high: float, times: np.ndarray, heat_capacity: np.ndarray) -> float:
        """The fastest rate at which a cell exchanges heat through them between two temperatures, 1/s, by samples;
        heat_capacity: (nz, ny, nx), J/K. With a slope of R, the two cells are drawn to each other at unequal rates."""
        lower, upper = (heat_capacity.reshape(-1)[cells] for cells in (self._lower, self.beyond))
        unequal, fastest = np.abs(lower - upper) / (lower + upper), np.zeros(len(self))
        least = np.minimum(
            self._half_resistances(np.full(heat_capacity.shape, low)),
            self._half_resistances(np.full(heat_capacity.shape, high)),
        )
        for T in np.linspace(low, high, SAMPLED_TEMPERATURES if self._by_temperature else 1):
            for time in times.tolist() if self.varies else times[:1].tolist():
                here, warmer = (self._evaluated(np.array([time]), np.full(len(self), at)) for at in (T, T + SLOPE_STEP))
                conductance = 1.0 / (least.sum(axis=0) + here / self._areas)
                slope = np.abs(warmer - here) / SLOPE_STEP / self._areas
                fastest = np.maximum(fastest, conductance + 0.5 * (high - low) * conductance**2 * slope * unequal)
        of_cells = np.bincount(self._lower, fastest, heat_capacity.size)
        of_cells += np.bincount(self.beyond, fastest, heat_capacity.size)
        solved = heat_capacity.reshape(-1) > 0
        return float((of_cells[solved] / heat_capacity.reshape(-1)[solved]).max(initial=0.0))

    def _ends(self, T: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(n,) temperatures of the lower and the upper cells."""
        lower, upper = (T.reshape(-1)[cells].astype(np.float64) for cells in (self._lower, self.beyond))
        return lower, upper

    def _half_resistances(self, T: np.ndarray) -> np.ndarray:
        """(2, n) the resistances of the half cells on both sides, K/W."""
        sides = zip(self._halves, self._ends(T), strict=True)
        return np.stack([half.resistances * half.growth(self._scenario, end) for half, end in sides])

    def _evaluated(self, times: np.ndarray, T: np.ndarray) -> np.ndarray:
        """(n,) resistances at the mean temperatures (n,) of the surfaces, m2 K/W."""
        found = np.zeros(len(self))
        for number, contact in enumerate(self._scenario.contacts):
            here = self._contacts == number
            if here.any():
                key, when = ("contacts", number, "resistance"), describe_times(times)
                values = evaluate(contact.resistance, (int(here.sum()),), t=times[0], T=T[here])
                require_finite(self._scenario, key, values, when)
                require_at_least(self._scenario, key, values, 0.0, "m2 K/W", when)
                found[here] = values
        return found


def _find_faces(
    scenario: Scenario, zones: Zones, cell_classes: CellClasses, materials: int
) -> tuple[FaceSet, np.ndarray]:
    """The faces with such a contact, of the lower cells, and the number of each contact; materials: how many, with
    ambients."""
    names, of_zones = list(scenario.materials), np.array(zones.materials)
    number_of = np.full((materials, materials), -1)
    for number, contact in enumerate(scenario.contacts):
        if contact.varies:
            one, other = (names.index(name) for name in contact.between)
            number_of[one, other] = number_of[other, one] = number
    classes, own = cell_classes.ids.reshape(-1), of_zones[cell_classes.zone]
    of_classes = number_of[own[:, None], cell_classes.beyond]
    found = [np.flatnonzero((of_classes[:, up] >= 0)[classes]) for up in (1, 3, 5)]
    directions = np.repeat(np.array([1, 3, 5], np.uint8), [len(each) for each in found])
    cells = np.concatenate(found)
    faces = FaceSet(cells, directions, np.full(len(cells), NEIGHBOUR))
    return faces, faces.values(of_classes, cell_classes.ids)
