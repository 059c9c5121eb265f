"""The problem that a run solves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from heatsim_kernels.explicit.coefficients import Forcing, StencilCoefficients
from heatsim_kernels.explicit.enthalpy.coefficients import NonlinearCoefficients, NonlinearForcing
from heatsim_kernels.explicit.enthalpy.surface_balance import SURFACE_TERMS
from heatsim_kernels.explicit.enthalpy.surface_tangents import TangentFaces, values_of_potentials
from heatsim_kernels.field.region_reductions import RegionCells
from heatsim_kernels.field.time_statistics import StatisticsRequest

from heatsim.base.grid import AXES, CellGrid
from heatsim.base.methods import Method
from heatsim.errors import Issue
from heatsim.problem.events import (
    MIN_STEP_SHARE,
    Events,
    Inputs,
    Undefined,
    explicit_event_times,
    find_events,
    first_undefined,
    input_event_times,
)
from heatsim.problem.explicit_accuracy import AccurateSteps, InputsInTime, accurate_steps
from heatsim.problem.media.cell_classes import CellClasses
from heatsim.problem.media.derived_fields import Vector, flux_and_gradient
from heatsim.problem.media.materials import Materials
from heatsim.problem.media.zones import StatisticsRegion, Zones
from heatsim.problem.restarts import Restarts, find_restarts
from heatsim.problem.temperature_dependence import TabulatedMaterials
from heatsim.problem.terms.ambients import Ambients
from heatsim.problem.terms.boundary_faces import BoundaryFaces, SurfaceConditions
from heatsim.problem.terms.event_times import Marks, mark_times
from heatsim.problem.terms.initial_condition import InitialField
from heatsim.problem.terms.smoothing import smooth_field
from heatsim.problem.terms.temperature_sources import TemperatureSources
from heatsim.problem.terms.volume_sources import VolumeSources
from heatsim.problem.time_step_limit import largest_step
from heatsim.problem.warnings import problem_warnings
from heatsim.scenario import Scenario
from heatsim.scenario.checks.materials_and_faces import find_crossing_temperature

if TYPE_CHECKING:
    from heatsim_kernels.explicit.enthalpy.surface_tangents import SurfaceTangents

Found = TypeVar("Found")

AMBIENT_REFUSAL = "takes no ambient that radiates, or whose coefficient depends on t or T"
CONTACT_REFUSAL = "takes no contact whose resistance depends on t or T"
UNSYMMETRIC_REFUSAL = "its heat follows one side of a face, so that no matrix of it is symmetric"
SOURCE_REFUSAL = "takes no source that depends on temperature"
_MAX_BATCH_VALUES = 2**20  # values of boundary faces or heat in one batch of steps


class ExplicitForm(NamedTuple):
    """What explicit integrators take of a nonlinear problem: coefficients, those of a linear problem where boundary
    faces alone depend on temperature; the faces that tangents stand for; and, for the six FACES, whether they are given
    in temperatures or fluxes beside a material that depends on temperature, and take none."""

    coefficients: StencilCoefficients
    faces: TangentFaces
    given: tuple[bool, ...]


@dataclass(frozen=True)
class Problem:
    """What is solved, in SI units. Temperatures are offsets from `reference`, which is in the scenario's unit."""

    scenario: Scenario
    grid: CellGrid
    materials: Materials
    zones: Zones
    cell_classes: CellClasses
    coefficients: StencilCoefficients
    boundary_faces: BoundaryFaces
    # which boundary face value of the zones serves each of the terms; None: they are the same
    boundary_entries: np.ndarray | None
    volume_sources: VolumeSources
    temperature_sources: TemperatureSources | None
    ambients: Ambients
    initial: InitialField
    reference: float
    stability_limit: float  # s
    largest_step: float  # s
    dtype: np.dtype
    statistics_regions: tuple[StatisticsRegion, ...]  # of which statistics are kept
    named_parts: dict[str | None, RegionCells]  # of which the stop and the results of the scenario speak
    tabulated: TabulatedMaterials | None  # materials of a nonlinear problem,
    surfaces: SurfaceConditions | None  # and its faces
    explicit_form: ExplicitForm | None  # of a nonlinear problem
    untied: int = 0  # cells that are left out of a steady state, as void: see `untied_cells`

    @property
    def temperature_dependent(self) -> bool:
        """Whether properties, melting, radiation or coefficients do, so that the problem is not linear."""
        return self.tabulated is not None

    @property
    def varies(self) -> bool:
        """Whether a boundary face, a source or an ambient depends on time."""
        return any_varies(self.boundary_faces, self.volume_sources, self.temperature_sources, self.ambients)

    def with_integrator(self, integrator: str, tolerance: float | None, step: float | None = None) -> Problem:
        """The same problem, to be taken through time by another integrator, in steps of `step` s if that is given."""
        changed = {"integrator": integrator, "tolerance": tolerance} | ({} if step is None else {"step": step})
        control = self.scenario.time.model_copy(update=changed)
        scenario = self.scenario.model_copy(update={"time": control})
        step = largest_step(scenario, self.stability_limit, self.varies, self.volume_sources.longest_step)
        return replace(self, scenario=scenario, largest_step=step)

    def initial_planes(self) -> Iterator[np.ndarray]:
        """The initial offset, plane by plane (ny, nx), z upwards; ambients have their own temperature."""
        return self.of_initial_planes(lambda z, plane: plane)

    def of_initial_planes(self, action: Callable[[int, np.ndarray], Found]) -> Iterator[Found]:
        """What an action, by threads, makes of each of `initial_planes` and of its number."""
        of_materials = np.concatenate((np.full(self.materials.solids, np.nan), self.materials.temperature))
        of_zones = of_materials[list(self.zones.materials)]
        free = np.isnan(of_zones).all()

        def offsets(z: int, plane: np.ndarray) -> Found:
            if not free:
                given = self.zones.plane(of_zones, z)
                plane = np.where(np.isnan(given), plane, given)
            return action(z, (plane - self.reference).astype(self.dtype))

        return self.initial.of_planes(offsets)

    @property
    def ambient_offsets(self) -> np.ndarray:
        """(m,) temperature of each ambient but voids over the reference at t = 0, K."""
        return self.materials.temperature[: self.materials.exchanging] - self.reference

    def ambient_rises(self, time: float) -> np.ndarray | None:
        """(n,) how much warmer the prescribed cells of each class are at a time, s, than at t = 0, K; None where
        ambients do not depend on time, or no cell is prescribed."""
        if not (self.ambients.moves and self.coefficients.several):
            return None
        rises, solids = np.zeros(self.materials.capacity.size), self.materials.solids
        rises[solids : solids + self.materials.exchanging] = self.ambients.rises(self._until_end(np.array([time])))[0]
        return np.asarray(rises[np.array(self.zones.materials)[self.cell_classes.zone]])

    def ambient_heat(self, times: np.ndarray, dt: float) -> np.ndarray | None:
        """(k, m) what `source_energy` has of each ambient in a step of `dt` s from each time on, J; None where ambients
        do not depend on time."""
        if not (self.ambients.varies and len(times)):
            return None
        return dt * self.ambients.powers(self._until_end(times))

    def split_power(self, released: float, offset: np.ndarray, time: float) -> tuple[float, np.ndarray]:
        """Split the power `released` of the temperature-dependent sources, W, into what sources release and what each
        ambient supplies (m,); offset: (nz, ny, nx) of the field."""
        following, from_ambients = self.temperature_sources, None
        if following is not None:
            from_ambients = following.of_ambients(offset + self.reference, min(time, self._end))
        if from_ambients is None:
            return released, np.zeros(self.coefficients.ambient_count)
        return (released - float(from_ambients.sum()) if self.scenario.sources else 0.0), from_ambients

    @property
    def class_bytes(self) -> int:
        """Bytes that the classes of the cells take."""
        return self.coefficients.class_ids.nbytes if self.coefficients.several else 0

    @property
    def whole_capacity(self) -> float:
        """Heat capacity of all solids, J/K."""
        return float(self.coefficients.capacity @ self.cell_classes.count)

    def refuses(self, method: Method) -> str:
        """Why a method in time cannot take this problem, or ""."""
        following = self.temperature_sources
        if self.scenario.face_terms and not method.takes_unsymmetric:
            return f"takes no {next(iter(self.scenario.face_terms))}: {UNSYMMETRIC_REFUSAL}"
        if following is None or method.follows_sources:
            return ""
        if following.of_volumes:
            return SOURCE_REFUSAL
        return AMBIENT_REFUSAL if following.contacts is None else CONTACT_REFUSAL

    @property
    def inputs(self) -> Inputs:
        """What the run takes from outside."""
        return Inputs(self.volume_sources, self.temperature_sources, self.boundary_faces, self.ambients)

    @cached_property
    def undefined(self) -> Undefined | None:
        """Where an input first has no value; None if they always have one."""
        return first_undefined(self.scenario.time.end, self.inputs) if self.varies else None

    @property
    def event_times(self) -> tuple[float, ...]:
        """Times at which steps have to end, s: those at which an input bends or jumps, which long steps would miss.
        Explicit Euler takes means of traces and beams over its steps, and ends them where expressions jump."""
        chosen, end = self.scenario.time.chosen, self.scenario.time.end
        if chosen is None or chosen.to_limit:
            return ()
        return input_event_times(end, self.inputs) if chosen.ends_at_kinks else explicit_event_times(end, self.inputs)

    @property
    def marks(self) -> Marks:
        """Times at which steps end so as not to pass over what inputs do within one."""
        chosen = self.scenario.time.chosen
        if chosen is None or chosen.to_limit or not self.varies:
            return Marks(frozenset(), ())
        return mark_times(self.inputs.values, self.scenario.time.end, self.largest_step, corners=chosen.ends_at_kinks)

    def events(self, recorded: Iterable[float] | None = None) -> Events:
        """The times at which steps have to end; recorded: see `find_events`."""
        return find_events(self.scenario, self.event_times, self.volume_sources.beams, recorded, self.marks.times)

    def accurate_explicit_steps(self, tolerance: float) -> AccurateSteps:
        """How short steps of explicit Euler have to be for inputs and jumps, within a tolerance of the range."""
        inputs, end = self.inputs, self.scenario.time.end
        records = find_events(self.scenario, (), ()).after_start
        given = self.given_temperatures
        follows = inputs.in_time(given[1] - given[0]) if self.varies else InputsInTime([], [], [], [], False, 0.0)
        return accurate_steps(follows, end, records, self.stability_limit, self.largest_step, tolerance)

    def restarts(self, others: Iterable[float]) -> Restarts:
        """When inputs start afresh, and by how much; others: see `find_restarts`, those of `events`."""
        inputs, end, given = self.inputs, self.scenario.time.end, self.given_temperatures
        fineness = sum(float(self.grid.sizes(axis).min()) ** -2 for axis in "xyz" if self.grid.sizes(axis).size > 1)
        limit, beams = self.stability_limit, self.volume_sources.beams
        diffusivity = 0.5 / (limit * fineness) if fineness else inf
        follows = inputs.in_time(given[1] - given[0])
        return find_restarts(follows, beams, others, end, limit, diffusivity)

    @property
    def given_temperatures(self) -> tuple[float, float]:
        """The least and greatest temperature that is given at the start or by boundary faces and ambients, in the
        scenario's unit."""
        known = [*self.initial.range(), *self.boundary_faces.temperatures(), *(self.ambient_offsets + self.reference)]
        return float(min(known)), float(max(known))

    @property
    def rounding(self) -> float:
        """What rounding makes of temperatures that are found from heats and potentials of tables, at most, K; 0 where
        nothing depends on temperature: offsets are kept themselves."""
        if not self.temperature_dependent:
            return 0.0
        hottest = max(abs(each - self.scenario.zero) for each in self.given_temperatures)
        return float(np.finfo(self.dtype).eps) * hottest

    @property
    def known_temperatures(self) -> tuple[float, float]:
        """The same, or of those that the stop speaks of."""
        clauses = self.scenario.stop.alternatives if self.scenario.stop else ()
        known = [*self.given_temperatures, *(clause.limit for choice in clauses for clause in choice)]
        return min(known), max(known)

    @property
    def hottest(self) -> float:
        """The greatest temperature that tables foresee, in the scenario's unit, or at which the run stops."""
        clauses = [
            each for choice in (self.scenario.stop.alternatives if self.scenario.stop else ()) for each in choice
        ]
        limits = [each.limit for each in clauses if each.statistic == "max" and each.comparison.startswith(">")]
        reached = np.inf if self.tabulated is None else self.tabulated.reached[1] + self.reference
        return min([reached, *limits])

    @property
    def melts(self) -> bool:
        """Whether a material takes up latent heat."""
        return any(self.scenario.materials[name].latent for name in self.scenario.materials)

    @property
    def switches(self) -> bool:
        """Whether a source jumps at a temperature."""
        return self.temperature_sources is not None and self.temperature_sources.switches

    @property
    def min_step(self) -> float:
        """The step, s, that is taken whatever its error."""
        return MIN_STEP_SHARE * self.scenario.time.end

    @property
    def batch(self) -> int:
        """The most steps for which one `forcing` can be made."""
        if self.temperature_sources is not None:
            return 1
        rows = len(SURFACE_TERMS) if self.temperature_dependent else 1
        heated = self.volume_sources.varies or self.ambients.varies
        boundary_faces = rows * self.coefficients.boundary_size if self.boundary_faces.varies else 0
        fitting = max(
            1,
            _MAX_BATCH_VALUES
            // max(
                boundary_faces,
                self.coefficients.class_count if heated else 0,
                1,
            ),
        )
        return min(fitting, self.volume_sources.longest_batch or fitting)

    def heat_at(self, offset: float) -> float:
        """Heat over that at the reference of all solids, if they had one temperature offset, J."""
        if isinstance(self.coefficients, NonlinearCoefficients):
            u = self.coefficients.tables.state_of(
                np.full(len(self.coefficients.material), offset), self.coefficients.material
            )
            return float((self.coefficients.capacity * u) @ self.cell_classes.count)
        return offset * self.whole_capacity

    def forcing(self, times: np.ndarray, dt: float = 0.0) -> Forcing | NonlinearForcing:
        """Boundary values and sources at the start of each of a batch of steps; `times` (k,) in s. Traces and beams
        have their means over steps of `dt` s, or where it is 0 what they are at these times. Inputs are never asked for
        after the end, which sums of steps may pass by rounding."""
        if self.surfaces is None:
            return self.linear_forcing(times, dt)
        times = self._until_end(times)
        sources = self._sources(times, dt)
        return NonlinearForcing(self.surfaces.at(times), *sources)

    def look_ahead(self, times: np.ndarray) -> None:
        """Tell the times (k,), s, ascending, of the forcings that will be asked for next, one after the other. What
        inputs are at a time does not depend on it."""
        times = self._until_end(times)
        self.boundary_faces.look_ahead(times)
        self.volume_sources.look_ahead(times)

    def linear_forcing(self, times: np.ndarray, dt: float = 0.0, *, ambient_heat: bool = True) -> Forcing:
        """What `forcing` gives of a linear problem; without the heat of ambients that depend on time, if their
        temperatures are given to the solver."""
        times = self._until_end(times)
        sources = self._sources(times, dt, ambient_heat and self.ambients.varies)
        a, b = self.boundary_values(times)
        return Forcing(a, b, *sources)

    def tangent_lines(self, times: np.ndarray, tangents: SurfaceTangents, cells: Callable[[Any], Any]) -> Forcing:
        """What explicit steps of a nonlinear problem take as boundary values, without sources: tangents, or the values
        in potentials where conditions are given in those; cells: see `SurfaceTangents`."""
        assert self.surfaces is not None
        assert self.explicit_form is not None
        times = self._until_end(times)
        values = self._in_potentials(Forcing(*self.boundary_values(times)))
        if not self.explicit_form.faces.entries.size:
            return values
        return tangents.applied(values, cells, self.surfaces.at(times))

    def with_sources(self, boundary: Forcing, times: np.ndarray, dt: float) -> Forcing:
        """The forcing of explicit steps at some times, of boundary values that are known for these, or longer, and of
        sources: see `forcing`."""
        table, field, scale, windows = self._sources(self._until_end(times), dt, self.ambients.varies)
        return replace(boundary, heat_table=table, heat_field=field, heat_scale=scale, window_sources=windows)

    def surface_forcing(self, times: np.ndarray) -> tuple[Forcing, np.ndarray]:
        """What tangents are applied to: `linear_forcing`, in potentials, and (k, terms, boundary_size) of surfaces."""
        assert self.surfaces is not None
        return self._in_potentials(self.linear_forcing(times)), self.surfaces.at(self._until_end(times))

    def steady_inputs(self, times: np.ndarray) -> Forcing:
        """What `linear_forcing` has of inputs in classes and faces that stay where they are, and the factor on the
        field of sources, at some times, s; in potentials where explicit steps have these."""
        times = self._until_end(times)
        a, b = self.boundary_values(times)
        table, scale = self._tables(times, 0.0, self.ambients.varies)
        return self._in_potentials(Forcing(a, b, table, heat_scale=scale))

    def _in_potentials(self, forcing: Forcing) -> Forcing:
        """The forcing with potentials of given temperatures, where explicit steps have these. Those that do not depend
        on time are found once."""
        if self.explicit_form is None or not any(self.explicit_form.given):
            return forcing
        varies = self.boundary_faces.varies
        b = self._as_potentials(forcing.boundary_a, forcing.boundary_b) if varies else self._constant_potentials
        return replace(forcing, boundary_b=b)

    @cached_property
    def _constant_potentials(self) -> np.ndarray:
        return self._as_potentials(*self._constant_boundary_values)

    def _as_potentials(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        assert isinstance(self.coefficients, NonlinearCoefficients)
        assert self.explicit_form is not None
        return values_of_potentials(self.coefficients, self.explicit_form.given, a, b)

    def with_temperature_sources(self, forcing: Forcing, offset: np.ndarray, time: float, dt: float) -> Forcing:
        """The forcing of one explicit step from a time on, s, with the sources that depend on temperature; offset:
        (nz, ny, nx) of the field. Raises `RunawayError`."""
        assert self.temperature_sources is not None
        return self.temperature_sources.added_to(forcing, offset + self.reference, min(time, self._end), dt)

    @property
    def _end(self) -> float:
        return np.inf if self.scenario.time.is_steady else self.scenario.time.end

    def _until_end(self, times: np.ndarray) -> np.ndarray:
        return np.asarray(np.minimum(times, self._end))

    def _sources(self, times: np.ndarray, dt: float, ambient_heat: bool = False) -> tuple[Any, ...]:
        """The part of the forcing that volume sources are, and the heat of ambients."""
        sources = self.volume_sources
        when = times if sources.varies or ambient_heat else times[:1]
        table, scale = self._tables(times, dt, ambient_heat)
        return table, sources.field(float(times[0]), dt), scale, sources.window_sources(when, dt)

    def _tables(self, times: np.ndarray, dt: float, ambient_heat: bool) -> tuple[np.ndarray | None, np.ndarray]:
        """(k, n) the heating rate of each cell class, None where nothing heats classes, and (k,) the factor on the
        field of sources."""
        sources = self.volume_sources
        when = times if sources.varies or ambient_heat else times[:1]
        table = sources.table(when, dt)
        table = None if table is None else table[:, self.cell_classes.zone]
        if ambient_heat:
            rates = self.ambients.heating_rates(when)
            table = rates if table is None else table + rates
        return table, sources.scale(when, dt)

    def boundary_values(self, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(k, boundary_size) values of a and b at each time: see `Forcing`; k = 1 if nothing depends on time, and then
        the arrays are always the same."""
        return self._boundary_values(times) if self.boundary_faces.varies else self._constant_boundary_values

    @cached_property
    def _constant_boundary_values(self) -> tuple[np.ndarray, np.ndarray]:
        return self._boundary_values(np.zeros(1))

    def _boundary_values(self, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        a, b = self.boundary_faces.at(times)
        return (a, b) if self.boundary_entries is None else (a[:, self.boundary_entries], b[:, self.boundary_entries])

    def source_energy(self, forcing: Forcing | NonlinearForcing, dt: float, steps: int) -> np.ndarray:
        """(steps,) heat released in each step of `dt`, J, with the numbers as the sweep rounds them; that of ambients
        that depend on time is in it."""
        real = self.dtype.type
        energy = np.zeros(steps)
        if forcing.heat_table is not None:
            rates = _spread(forcing.heat_table.astype(self.dtype).astype(np.float64), steps)
            energy += float(real(dt)) * (rates @ (self.coefficients.capacity * self.cell_classes.count))
        if forcing.heat_field is not None:
            gains = _spread((dt * forcing.heat_scale).astype(self.dtype).astype(np.float64), steps)
            following = self.temperature_sources
            power = following.field_power(forcing.heat_field) if following else self.volume_sources.field_power()
            energy += gains * power
        in_windows = [sum(each.power for each in step) for step in forcing.window_sources]
        energy[: len(in_windows)] += float(real(dt)) * np.array(in_windows)
        return energy

    def heat_released(self, end: float, samples: int) -> tuple[float, float] | None:
        """Energy that sources have until `end` s, and that without regard to sign, J, from so many samples of them,
        and one in each interval of what they do between these; None where no source is an expression in t alone, where
        a sample costs a field, or where some depends on temperature."""
        if self.coefficients.losses is not None or not self.volume_sources.sampled_cheaply:
            return None
        marks = mark_times(self.inputs.values, end, end / samples).times | set(self.event_times)
        edges = np.union1d(np.linspace(0.0, end, samples + 1), [time for time in marks if time < end])
        middles, widths, energies = 0.5 * (edges[1:] + edges[:-1]), np.diff(edges), []
        for first in range(0, len(middles), self.batch):
            times, lengths = (each[first : first + self.batch] for each in (middles, widths))
            table, scale = self._tables(times, 0.0, ambient_heat=False)
            forcing = Forcing(np.zeros(0), np.zeros(0), table, self.volume_sources.field(0.0), scale)
            energies.append(lengths * self.source_energy(forcing, 1.0, len(times)))
        energy = np.concatenate(energies)
        return float(energy.sum()), float(np.abs(energy).sum())

    def flux_and_gradient(self, offset: np.ndarray, time: float) -> tuple[Vector, Vector]:
        """Heat flux, W/m2, and temperature gradient, K/m, of a field at a time, s: see `derived_fields`."""
        now = np.array([0.0 if np.isinf(time) else time])
        boundary = self.boundary_values(now) if self.surfaces is None else (self.surfaces.at(now),)
        rises = self.ambient_rises(float(now[0]))
        offset = offset if rises is None else offset + self.coefficients.spread_over_cells(rises)
        contacts = None if self.temperature_sources is None else self.temperature_sources.contacts
        return flux_and_gradient(
            self.grid,
            self.zones,
            self.materials,
            self.cell_classes,
            self.coefficients,
            boundary,
            offset,
            None if contacts is None else partial(contacts.fill, T=offset + self.reference, time=float(now[0])),
        )

    @property
    def statistics_request(self) -> StatisticsRequest:
        """What the derived fields that depend on the past have to see, in offsets from the reference."""
        output = self.scenario.output
        above = output.time_above if "time_above" in output.fields else None
        through = (
            find_crossing_temperature(self.scenario.materials, output) if "cooling_rate" in output.fields else None
        )
        above, through = (None if each is None else each - self.reference for each in (above, through))
        return StatisticsRequest("peak_temperature" in output.fields, above, through)

    def smoothed_slice(self, axis: str, plane: np.ndarray) -> np.ndarray:
        """A plane normal to "x", "y" or "z", in the scenario's unit, after the passes that slices are to have."""
        spacing = [size for other, size in zip(AXES, self.grid.spacing, strict=True) if other != axis]
        return smooth_field(self.scenario, "slices", plane, spacing[::-1])

    def material_ids(self) -> np.ndarray | None:
        """Material of each cell as an index into the scenario's materials and then its ambients, (nz, ny, nx) uint8;
        None if all are one."""
        if self.zones.ids is None or len(set(self.zones.materials)) == 1:
            return None
        return np.asarray(np.array(self.zones.materials, np.uint8)[self.zones.ids])

    def warnings(self) -> list[Issue]:
        """The warnings about the scenario, each with its place, and those that only arrays can tell."""
        return problem_warnings(self)


def any_varies(*inputs: BoundaryFaces | VolumeSources | TemperatureSources | Ambients | None) -> bool:
    """Whether any of these depends on time."""
    return any(each is not None and each.varies for each in inputs)


def _spread(rows: np.ndarray, steps: int) -> np.ndarray:
    """One row for each step: row min(step, k - 1)."""
    return rows[np.minimum(np.arange(steps), len(rows) - 1)]
