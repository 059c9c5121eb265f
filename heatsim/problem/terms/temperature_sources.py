"""Sources that depend on the temperature where they are: exchange with what pervades a body, reactions, self-heating.

Their power is evaluated at the field itself. An explicit step takes it at the state that it starts from, as it takes
all else. An implicit stage takes it at the state that it ends at: its iterations add the slope of the power over
temperature to what ties a cell to its surroundings, as far as it damps (Patankar, Numerical Heat Transfer and Fluid
Flow, 1980, section 4.2-5).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from heatsim_kernels.explicit.face_sets import NEIGHBOUR, FaceSet

from heatsim.base.grid import CellGrid
from heatsim.errors import RunawayError
from heatsim.problem.media.density_means import DensityMeans, density_means
from heatsim.problem.media.zones import Zones, source_masks
from heatsim.problem.shapes.point_values import centre_planes, evaluate
from heatsim.problem.terms.ambient_surfaces import AmbientSurfaces
from heatsim.problem.terms.contact_surfaces import ContactSurfaces
from heatsim.problem.terms.event_times import discontinuity_times
from heatsim.problem.terms.face_flows import FaceFlows
from heatsim.problem.terms.smoothing import is_smoothed, smooth_field
from heatsim.scenario import Expression, Scenario
from heatsim.scenario.language.expressions.expression import Value, depends_on, separate_temperature

if TYPE_CHECKING:
    from heatsim_kernels.explicit.coefficients import Forcing

SLOPE_STEP = 1e-4  # K, and of the temperature, over which a slope is taken
SAMPLED_CELLS, SAMPLED_TEMPERATURES = 4096, 33  # at which slopes are looked at before a run
MAX_GROWTH = 0.5  # by which a source may make itself grow in an explicit step


def pervading_temperatures(scenario: Scenario) -> list[Value]:
    """Temperatures that terms draw the body to, in the scenario's unit: see `CellTerm.temperatures`."""
    terms = (*(source.cell_term for source in scenario.sources), *scenario.face_terms.values())
    return [value for term in terms if term is not None for value in term.temperatures]


class HeatedCells(NamedTuple):
    """The cells of source `number`: (nz, ny, nx) which they are, its power in a unit volume, W/m3, whether that is for
    a heat capacity of 1 J/(m3 K), and its means over cells, None where it has its values at the centres."""

    number: int
    mask: np.ndarray
    density: Expression
    in_proportion: bool
    means: DensityMeans | None

    def plane(self, z: int, point: Mapping[str, np.ndarray | float], time: float, T: np.ndarray) -> np.ndarray:
        """Its power in a unit volume of the cells of a plane, (ny, nx), with centres at a point."""
        if self.means is not None:
            return self.means.plane(z, time, T)
        return evaluate(self.density, T.shape, **point, t=time, T=T)

    def at(
        self, cells: tuple[np.ndarray, ...], points: Mapping[str, np.ndarray], time: float, T: np.ndarray
    ) -> np.ndarray:
        """The same of some cells, by their indices (n, 1) along z, y, x, with centres at points, for temperatures T
        (k,)."""
        if self.means is not None:
            return np.broadcast_to(self.means.at(cells, time, T), (len(cells[0]), len(T)))
        return evaluate(self.density, (len(cells[0]), len(T)), **points, t=time, T=T)


class TemperatureSources:
    """The sources of a scenario that depend on temperature, what ambients bring that radiate or whose coefficient
    depends on time, and in explicit steps what passes through such contacts and by face terms. Temperatures `T` are in
    its unit, (nz, ny, nx).

    contacts: those that depend on time or temperature, if there are any.
    """

    def __init__(self, scenario: Scenario, grid: CellGrid, zones: Zones, capacities: np.ndarray) -> None:
        """capacities: (n,) J/(m3 K) of each zone, 0 of those that are not solved, not a number of those that are not
        known yet: see `completed`."""
        self._scenario, self._grid, self._zones = scenario, grid, zones
        self._surfaces: AmbientSurfaces | None = None
        self.contacts: ContactSurfaces | None = None
        self._flows: FaceFlows | None = None
        planes = range(grid.shape[0])
        self._volumes = np.stack([np.broadcast_to(grid.volumes(z), grid.shape[1:]) for z in planes])
        self._know_capacities(capacities)
        self._parts: list[HeatedCells] = []
        self.growth: tuple[float, float, float] | None = None  # see `heatsim.solve.integrators.growth`, which finds it
        self._may_grow = False  # as what is proportional to a difference of temperature does not
        for number, source in enumerate(scenario.sources):
            density = source.following_temperature
            if density is not None:
                materials = (zones.plane(np.array(zones.materials), z) for z in planes)
                inside = np.stack(list(source_masks(scenario, grid, number, materials)))
                self._may_grow = self._may_grow or source.cell_term is None
                solved = np.logical_and(inside, self._capacity != 0)
                means = density_means(density, grid, solved, scenario.time.end)
                self._parts.append(HeatedCells(number, solved, density, source.in_proportion, means))

    def completed(
        self,
        capacities: np.ndarray,
        surfaces: AmbientSurfaces | None,
        contacts: ContactSurfaces | None,
        flows: FaceFlows | None,
    ) -> TemperatureSources:
        """The same with the capacities (n,) as they are counted, and what passes through faces inside, if any does."""
        whole = copy(self)
        whole._surfaces, whole.contacts, whole._flows = surfaces, contacts, flows
        whole._know_capacities(capacities)
        return whole

    def _know_capacities(self, capacities: np.ndarray) -> None:
        shape = self._grid.shape
        planes = [np.broadcast_to(self._zones.plane(capacities, z), shape[1:]) for z in range(shape[0])]
        self._capacity = np.stack(planes)
        self._heat_capacity = self._capacity * self._volumes

    @property
    def heated(self) -> np.ndarray:
        """(nz, ny, nx) the cells in which there are such sources."""
        return np.asarray(np.any([np.zeros(self._grid.shape, bool), *(part.mask for part in self._parts)], axis=0))

    def doubts(self, least: float) -> Iterator[tuple[int, float]]:
        """The sources whose means over cells may be off by more than a share, about, and that share."""
        yield from ((p.number, p.means.doubt) for p in self._parts if p.means is not None and p.means.doubt > least)

    @property
    def parts(self) -> tuple[HeatedCells, ...]:
        """The cells of each source."""
        return tuple(self._parts)

    @property
    def of_volumes(self) -> bool:
        """Whether there are sources, and not ambients alone."""
        return bool(self._parts)

    @property
    def may_grow(self) -> bool:
        """Whether a change of temperature may grow by a source."""
        return self._may_grow

    @property
    def varies(self) -> bool:
        """Whether one depends on time too."""
        return any(each.varies for each in self._of_faces) or any(depends_on(part.density, "t") for part in self._parts)

    @property
    def _between(self) -> list[ContactSurfaces | FaceFlows]:
        """What passes from cell to cell."""
        return [each for each in (self.contacts, self._flows) if each is not None]

    @property
    def _of_faces(self) -> list[AmbientSurfaces | ContactSurfaces | FaceFlows]:
        """What passes through faces inside."""
        return [*([] if self._surfaces is None else [self._surfaces]), *self._between]

    @property
    def discontinuities(self) -> frozenset[float]:
        """Times at which one jumps, s."""
        return discontinuity_times(self.inputs, self._scenario.time.end)

    @property
    def switches(self) -> bool:
        """Whether a source jumps at a temperature."""
        densities = [part.density for part in self._parts]
        return any("T" in jump.names for each in densities if isinstance(each, Expression) for jump in each.jumps())

    @property
    def inputs(self) -> list[object]:
        """All that is given as a number or an expression; of what depends on T too, the factor that does not."""
        inputs: list[float | Expression] = [part.density for part in self._parts]
        inputs += [value for each in self._of_faces for value in each.inputs]
        return [*inputs, *(separate_temperature(value)[0] for value in inputs)]

    def power(self, T: np.ndarray, time: float) -> np.ndarray:
        """(nz, ny, nx) what is released in each cell at a time, s, in W. Raises `RunawayError` where that is not
        finite."""
        return self._power(T, time, None if self._surfaces is None else self._surfaces.heat(T, time))

    def _power(self, T: np.ndarray, time: float, at_surfaces: np.ndarray | None) -> np.ndarray:
        """at_surfaces: what comes through each face of the surfaces, if there are any, W."""
        density = np.zeros(self._grid.shape)
        for z, of_plane in enumerate(self._densities(T, time)):
            density[z] = of_plane
        if not np.isfinite(density).all():
            raise self.runaway(np.where(np.isfinite(density), -np.inf, T), time, "its power is no finite number")
        if is_smoothed(self._scenario, "sources"):
            density = smooth_field(self._scenario, "sources", density, self._grid.spacing[::-1])
        power = np.asarray(density * self._volumes)
        if self._surfaces is not None and at_surfaces is not None:
            _enter(power, self._surfaces.faces, at_surfaces)
        return power

    def of_ambients(self, T: np.ndarray, time: float) -> np.ndarray | None:
        """(m,) what comes of that from each ambient, W; None where none brings any."""
        return None if self._surfaces is None else self._surfaces.of_ambients(self._surfaces.heat(T, time))

    def slope(self, T: np.ndarray, time: float) -> np.ndarray:
        """(nz, ny, nx) the slope of that over temperature, W/K."""
        step = SLOPE_STEP * (1.0 + np.abs(T))
        return np.asarray((self.power(T + step, time) - self.power(T - step, time)) / (2.0 * step))

    def added_to(self, forcing: Forcing, T: np.ndarray, time: float, dt: float) -> Forcing:
        """The forcing of one explicit step of `dt` s, or of a look at its start where that is 0, with these sources.

        Raises `RunawayError` where a source would make itself grow by more than MAX_GROWTH in the step.
        """
        surfaces = self._surfaces
        at_surfaces = None if surfaces is None else surfaces.heat(T, time)
        power = self._power(T, time, at_surfaces)
        heat, from_sides = power.copy() if self._between else power, None
        for each in self._between:
            through = each.heat(T, time)
            _enter(heat, each.faces, through, each.beyond)
            from_sides = each.of_sides(through) if isinstance(each, FaceFlows) else from_sides
        rates = np.divide(heat, self._heat_capacity, out=np.zeros_like(heat), where=self._heat_capacity > 0)
        looks = self._may_grow and dt > 0
        grown = np.abs(self.power(T + dt * rates, time)) - np.abs(power) if looks else np.zeros(1)
        if grown.max() > MAX_GROWTH * np.abs(power).max():
            hottest = np.where(grown == grown.max(), T, -np.inf)
            raise self.runaway(hottest, time, f"it grows by over {MAX_GROWTH:.0%} in a step of {dt:.3g} s")
        if forcing.heat_field is not None:
            rates += forcing.heat_scale[0] * forcing.heat_field
        from_ambients = None if surfaces is None or at_surfaces is None else surfaces.of_ambients(at_surfaces)
        heat_field = rates.astype(self._scenario.compute.precision)
        forcing = replace(forcing, from_ambients=from_ambients, from_sides=from_sides)
        return replace(forcing, heat_field=heat_field, heat_scale=np.ones(1))

    def field_power(self, rates: np.ndarray) -> float:
        """The power of heating rates (nz, ny, nx), K/s, as rounded to the field's precision, W."""
        return float((rates.astype(np.float64) * self._heat_capacity).sum())

    def damping(self, low: float, high: float, times: np.ndarray) -> float:
        """The fastest rate at which sources and ambients draw a cell back to their own balance between two
        temperatures, 1/s, by samples: what they take off the step that is stable."""
        T, fastest = np.linspace(low, high, SAMPLED_TEMPERATURES), 0.0
        step = SLOPE_STEP * (1.0 + np.abs(T))
        for part in self._parts:
            heated = np.flatnonzero(part.mask)
            chosen = np.unravel_index(heated[:: len(heated) // SAMPLED_CELLS + 1], part.mask.shape)
            points = {axis: self._grid.centres(axis)[i][:, None] for axis, i in zip("zyx", chosen, strict=True)}
            capacity, indices = self._capacity[chosen][:, None], tuple(each[:, None] for each in chosen)
            rates = [0.0]
            for time in times.tolist() if depends_on(part.density, "t") else times[:1].tolist():
                below, above = (part.at(indices, points, time, at) for at in (T - step, T + step))
                held = 1.0 if part.in_proportion else capacity
                with np.errstate(invalid="ignore"):
                    rates.append(float(np.nanmax((below - above) / (2.0 * step) / held, initial=0.0)))
            fastest += max(rates)
        if self._surfaces is not None:
            fastest += self._surfaces.damping(low, high, times, self._heat_capacity)
        return fastest

    def exchange_rate(self, low: float, high: float, times: np.ndarray) -> float:
        """The fastest rate at which a cell exchanges heat with others through contacts and by face terms, 1/s: see
        `damping`."""
        return sum(each.exchange_rate(low, high, times, self._heat_capacity) for each in self._between)

    def extremes(self, temperature: float, times: np.ndarray) -> tuple[float, float]:
        """The least and the greatest power in a unit volume of a body of one temperature, W/m3, and 0."""
        T = np.full(self._grid.shape, temperature)
        found = [plane for time in (times if self.varies else times[:1]).tolist() for plane in self._densities(T, time)]
        powers = np.nan_to_num(found, nan=0.0, posinf=np.inf, neginf=-np.inf)  # of all NaN NumPy would warn
        return float(np.min(powers, initial=0.0)), float(np.max(powers, initial=0.0))

    def grows_from(self, low: float, high: float) -> float | None:
        """The temperature at which all sources rest, and from which they drive the field on: one of two, or 0 where
        that is about as near. None where there is none."""
        if not self._may_grow or any(part.in_proportion for part in self._parts):
            return None
        extent, start = high - low, np.zeros(1)
        for rest in dict.fromkeys((0.0, low, high)):
            near = low - extent <= rest <= high + extent
            step = 1e-3 * (extent or 1.0)
            with np.errstate(all="ignore"):
                if near and self.extremes(rest, start) == (0.0, 0.0):
                    below, above = self.extremes(rest - step, start), self.extremes(rest + step, start)
                    if above[1] > 0.0 or below[0] < 0.0:
                        return rest
        return None

    def temperatures(self, times: np.ndarray) -> list[float]:
        """The least and the greatest temperature of what pervades the body at some times, in the scenario's unit."""
        found = [
            float(end)
            for value in pervading_temperatures(self._scenario)
            for point in centre_planes(self._grid)
            for time in (times if depends_on(value, "t") else times[:1]).tolist()
            for plane in [evaluate(value, self._grid.shape[1:], **point, t=time)]
            for end in (plane.min(), plane.max())
        ]
        return [min(found), max(found)] if found else []

    def runaway(self, T: np.ndarray, time: float, why: str) -> RunawayError:
        """The error of a source that heats itself beyond all bounds, where T is greatest."""
        z, y, x = np.unravel_index(int(np.argmax(T)), T.shape)
        place = self._grid.centre(int(z), int(y), int(x))
        return RunawayError.of(float(T.max()), self._scenario.unit, place, time, why)

    def _densities(self, T: np.ndarray, time: float) -> Iterator[np.ndarray]:
        """The power in a unit volume plane by plane, (ny, nx), W/m3."""
        for z, point in enumerate(centre_planes(self._grid)):
            density = np.zeros(self._grid.shape[1:])
            for part in self._parts:
                if part.mask[z].any():
                    found = part.plane(z, point, time, T[z])
                    if part.in_proportion:
                        found = found * self._capacity[z]
                    np.add(density, found, out=density, where=part.mask[z])
            yield density


def _enter(power: np.ndarray, faces: FaceSet, heat: np.ndarray, beyond: np.ndarray | None = None) -> None:
    """Add heat (n,) that enters through faces to the power of their cells, (nz, ny, nx) W, and take it from those
    `beyond` (n,) that supply it, if any do."""
    np.add.at(power.reshape(-1), faces.cells, heat)
    if beyond is not None:
        inside = faces.accounts == NEIGHBOUR
        np.subtract.at(power.reshape(-1), beyond[inside], heat[inside])
