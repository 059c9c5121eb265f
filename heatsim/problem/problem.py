"""The problem that a run solves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from heatsim_kernels.stencil.nonlinear.ledger import boundary_cells
from heatsim_kernels.stencil.nonlinear.terms import NonlinearDrive, NonlinearTerms
from heatsim_kernels.stencil.terms import Drive, Terms
from heatsim_kernels.watch import Wanted

from heatsim.errors import Flaw
from heatsim.grid import AXES, Grid
from heatsim.problem.coverage import patches_off_their_areas, sources_off_their_shapes
from heatsim.problem.derived import Vector
from heatsim.problem.factors import factors_of
from heatsim.problem.fluxes import flux_and_gradient
from heatsim.problem.geometry import make_grid
from heatsim.problem.heating import Heating, Term, make_terms
from heatsim.problem.idle import beams_on_ambients, beams_through_the_bottom, idle_contacts
from heatsim.problem.initial import InitialField
from heatsim.problem.kinds import Kinds, make_kinds
from heatsim.problem.limit import require_limit
from heatsim.problem.media import Media, make_media
from heatsim.problem.nonlinear import Tabulated, make_nonlinear_terms, require_one_that_follows, tabulated
from heatsim.problem.parts import Part, make_parts
from heatsim.problem.reach import known_range, reach_of, times_of
from heatsim.problem.room import require_room
from heatsim.problem.slopes import find_slopes
from heatsim.problem.smoothing import smoothed
from heatsim.problem.steps import largest_step, stability_limit
from heatsim.problem.surfaces import Surfaces
from heatsim.problem.walls import Walls, periodic_axes
from heatsim.problem.zones import Zones, make_zones, paint_media
from heatsim.scenario import Scenario, cautions, what_follows_temperature
from heatsim.scenario.output_checks import crossing

MOST_KINDS_IN_WALLS = 4096  # beyond that wall values come one a boundary cell: fewer than six a kind
JUMP = 1e-9  # of a run: a step as short as this is taken whatever its error
_MOST_VALUES = 2**20  # values of walls or heat in one batch of steps


@dataclass(frozen=True)
class Problem:
    """What is solved, in SI units; temperatures are the rise over `reference`, which is in the scenario's unit."""

    scenario: Scenario
    grid: Grid
    media: Media
    zones: Zones
    kinds: Kinds
    terms: Terms
    walls: Walls
    wall_entries: np.ndarray | None  # which wall value of the zones serves each of the terms; None: they are the same
    heating: Heating
    initial: InitialField
    reference: float
    stability_limit: float  # s
    largest_step: float  # s
    dtype: np.dtype
    parts: tuple[Part, ...]  # of which statistics are kept
    tabulated: Tabulated | None  # materials, and
    surfaces: Surfaces | None  # faces, where something follows temperature

    @property
    def follows_temperature(self) -> bool:
        """Whether properties, melting, radiation or coefficients do, so that the problem is not linear."""
        return self.tabulated is not None

    def taking(self, integrator: str, tolerance: float | None) -> Problem:
        """The same problem, to be taken through time by another integrator."""
        control = self.scenario.time.model_copy(update={"integrator": integrator, "tolerance": tolerance})
        scenario = self.scenario.model_copy(update={"time": control})
        varies = self.walls.varies or self.heating.varies
        step = largest_step(scenario, self.stability_limit, varies, self.heating.longest_step)
        return replace(self, scenario=scenario, largest_step=step)

    def initial_planes(self) -> Iterator[np.ndarray]:
        """The initial rise, plane by plane (ny, nx), z upwards; ambients have their own temperature."""
        of_media = np.concatenate((np.full(self.media.solids, np.nan), self.media.temperature))
        for z, plane in enumerate(self.initial.planes()):
            given = self.zones.plane(of_media[list(self.zones.media)], z)
            yield (np.where(np.isnan(given), plane, given) - self.reference).astype(self.dtype)

    @property
    def ambient_rises(self) -> np.ndarray:
        """(m,) temperature of each ambient over the reference, K."""
        return self.media.temperature - self.reference

    @property
    def kind_bytes(self) -> int:
        """Bytes that the kinds of the cells take."""
        return 0 if self.terms.kinds is None else self.terms.kinds.nbytes

    @property
    def whole_capacity(self) -> float:
        """Heat capacity of all solids, J/K."""
        return float(self.terms.capacity @ self.kinds.count)

    @property
    def breaks(self) -> tuple[float, ...]:
        """Times at which steps have to end, s: those at which an input bends or jumps, which long steps would miss.
        Explicit Euler takes means over its steps, whatever they are."""
        return () if self.scenario.time.integrator in ("auto", "euler", "steady") else self.breaks_of_inputs

    @property
    def breaks_of_inputs(self) -> tuple[float, ...]:
        """Times at which an input bends, and just before and just after each at which it jumps, s.

        Integrators look at inputs at both ends of a step, and would take what there is on one side of a jump for the
        whole step on the other: a step in between keeps this to a share JUMP of the run.
        """
        end = self.scenario.time.end
        jumps = frozenset(time for time in self.heating.jumps | self.walls.jumps if 0.0 < time < end)
        half = 0.5 * JUMP * end
        times = (self.heating.bends - jumps).union(*((time - half, time + half) for time in jumps))
        return tuple(time for time in times if 0.0 < time < end)

    @property
    def batch(self) -> int:
        """The most steps for which one `drive` can be made."""
        walls = (5 if self.follows_temperature else 1) * self.terms.wall_size if self.walls.varies else 0
        fitting = max(1, _MOST_VALUES // max(walls, self.terms.kind_count if self.heating.varies else 0, 1))
        return min(fitting, self.heating.longest_batch or fitting)

    def heat_at(self, rise: float) -> float:
        """Heat over that at the reference of all solids, if they had one rise of temperature, J."""
        if isinstance(self.terms, NonlinearTerms):
            u = self.terms.tables.state_of(np.full(len(self.terms.material), rise), self.terms.material)
            return float((self.terms.capacity * u) @ self.kinds.count)
        return rise * self.whole_capacity

    def drive(self, times: np.ndarray, dt: float = 0.0) -> Drive:
        """Boundary values and sources at the start of each of a batch of steps; `times` (k,) in s. Traces and beams
        have their means over steps of `dt` s, or where it is 0 what they are at these times. Inputs are never asked for
        after the end, which sums of steps may pass by rounding."""
        if self.scenario.time.integrator != "steady":
            times = np.minimum(times, self.scenario.time.end)
        when, heating = times if self.heating.varies else times[:1], self.heating
        table = heating.table(when, dt)
        table = None if table is None else table[:, self.kinds.zone]
        sources = table, heating.field(float(times[0]), dt), heating.scale(when, dt), heating.deposits(when, dt)
        if self.surfaces is not None:
            return cast(Drive, NonlinearDrive(self.surfaces.at(times), *sources))  # as its sweeps take it
        a, b = self.wall_values(times)
        return Drive(a, b, *sources)

    def wall_values(self, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(k, wall_size) values of a and b at each time: see `Drive`; k = 1 if nothing depends on time."""
        a, b = self.walls.at(times)
        return (a, b) if self.wall_entries is None else (a[:, self.wall_entries], b[:, self.wall_entries])

    def source_energy(self, drive: Drive, dt: float, steps: int) -> np.ndarray:
        """(steps,) heat released in each step of `dt`, J, with the numbers as the sweep rounds them."""
        kind = self.dtype.type
        energy = np.zeros(steps)
        if drive.heat_table is not None:
            rates = _spread(drive.heat_table.astype(self.dtype).astype(np.float64), steps)
            energy += float(kind(dt)) * (rates @ (self.terms.capacity * self.kinds.count))
        if drive.heat_field is not None:
            gains = _spread((dt * drive.heat_scale).astype(self.dtype).astype(np.float64), steps)
            energy += gains * self.heating.field_power()
        deposited = [sum(each.power for each in step) for step in drive.deposits]
        energy[: len(deposited)] += float(kind(dt)) * np.array(deposited)
        return energy

    def heat_released(self, end: float, looks: int) -> tuple[float, float] | None:
        """Energy that sources have until `end` s, and that without regard to sign, J, from so many looks at them;
        None where nothing follows an expression in t alone, or where a look costs a field."""
        if not self.heating.looked_at_cheaply:
            return None
        dt, energies = end / looks, []
        for first in range(0, looks, self.batch):
            times = dt * np.arange(first, min(first + self.batch, looks))
            table, field = self.heating.table(times, dt), self.heating.field(0.0)
            table = None if table is None else table[:, self.kinds.zone]
            drive = Drive(np.zeros(0), np.zeros(0), table, field, self.heating.scale(times, dt))
            energies.append(self.source_energy(drive, dt, len(times)))
        energy = np.concatenate(energies)
        return float(energy.sum()), float(np.abs(energy).sum())

    def flux_and_gradient(self, rise: np.ndarray, time: float) -> tuple[Vector, Vector]:
        """Heat flux, W/m2, and temperature gradient, K/m, of a field at a time, s: see `fluxes`."""
        return flux_and_gradient(self, rise, time)

    @property
    def watched(self) -> Wanted:
        """What the derived fields that depend on the past have to see, in rises over the reference."""
        output = self.scenario.output
        above = output.time_above if "time_above" in output.fields else None
        through = crossing(self.scenario.materials, output) if "cooling_rate" in output.fields else None
        above, through = (None if each is None else each - self.reference for each in (above, through))
        return Wanted("peak_temperature" in output.fields, above, through)

    def smoothed_slice(self, axis: str, plane: np.ndarray) -> np.ndarray:
        """A plane normal to "x", "y" or "z", in the scenario's unit, after the passes that slices are to have."""
        spacing = [size for other, size in zip(AXES, self.grid.spacing, strict=True) if other != axis]
        return smoothed(self.scenario, "slices", plane, spacing[::-1])

    def materials(self) -> np.ndarray | None:
        """Material of each cell as an index into the scenario's materials and then its ambients, (nz, ny, nx) uint8;
        None if all are one."""
        if self.zones.ids is None or len(set(self.zones.media)) == 1:
            return None
        return np.asarray(np.array(self.zones.media, np.uint8)[self.zones.ids])

    def cautions(self) -> list[Flaw]:
        """The warnings about the scenario, each with its place, and those that only arrays can tell."""
        scenario, grid = self.scenario, self.grid
        found = [*idle_contacts(self), *beams_on_ambients(self), *beams_through_the_bottom(self)]
        found += [*sources_off_their_shapes(scenario, grid), *patches_off_their_areas(scenario, grid, self.walls)]
        return cautions(self.scenario) + [self.scenario.problem_at(*finding) for finding in found]


def _spread(rows: np.ndarray, steps: int) -> np.ndarray:
    """One row for each step: row min(step, k - 1)."""
    return rows[np.minimum(np.arange(steps), len(rows) - 1)]


def build(scenario: Scenario) -> Problem:
    """Make a scenario concrete. Raises `ScenarioError` for what only arrays can tell."""
    require_room(scenario)
    grid, media = make_grid(scenario), make_media(scenario)
    dtype = np.dtype(scenario.compute.precision)
    painted = paint_media(scenario, grid)
    sources = make_terms(scenario, grid, painted < media.solids if scenario.ambients else None)
    zones = make_zones(scenario, grid, painted, frozenset(term.source for term in sources if term.space is None))
    of_zones = np.array(zones.media)
    initial = InitialField(scenario, grid)
    faces = Walls(scenario, grid, zones.ids, media.conductivity[:, of_zones], 0.0)
    reference = _reference(initial, faces, media)
    tables = _tables(scenario, grid, zones, media, sources, initial, faces, reference)
    media = media if tables is None else media.at_reference(tables.materials)
    kinds = make_kinds(grid, zones, media, periodic_axes(scenario, grid), find_slopes(scenario, grid, painted, media))
    walls = Walls(scenario, grid, zones.ids, media.conductivity[:, of_zones], reference)
    terms = _terms(scenario, grid, kinds, walls)
    spread = None if walls.per_cell else _wall_entries(terms, kinds, zones)
    surfaces = None
    if tables is not None:
        factors = factors_of(scenario, walls, spread, tables, reference)
        terms = make_nonlinear_terms(terms, kinds, media, of_zones, tables.materials, factors)
        surfaces = Surfaces(scenario, walls, spread, reference)
    limit = stability_limit(terms, walls, spread, surfaces, times_of(scenario))
    heating = Heating(scenario, grid, zones, media.capacity[of_zones], sources, dtype)
    if scenario.time.integrator == "steady":
        require_limit(scenario, walls, heating, terms.taps is not None)
    for inputs in (heating, walls):
        inputs.check(times_of(scenario))
    step = largest_step(scenario, limit, walls.varies or heating.varies, heating.longest_step)
    parts = make_parts(scenario, grid, painted, media.capacity)
    return Problem(
        scenario, grid, media, zones, kinds, terms, walls, spread, heating, initial, reference, limit, step, dtype,
        parts, tables, surfaces,
    )  # fmt: skip


def _tables(
    scenario: Scenario,
    grid: Grid,
    zones: Zones,
    media: Media,
    sources: tuple[Term, ...],
    initial: InitialField,
    walls: Walls,
    reference: float,
) -> Tabulated | None:
    """The materials as tables, where something follows temperature."""
    if what_follows_temperature(scenario) is None:
        return None
    require_one_that_follows(scenario)
    solid = (np.array(zones.media) < media.solids).astype(float)
    unit = Heating(scenario, grid, zones, solid, sources, np.dtype(scenario.compute.precision))
    known = known_range(scenario, initial.range(), walls, media.temperature)
    return tabulated(scenario, reference, reach_of(scenario, known, unit, walls))


def _terms(scenario: Scenario, grid: Grid, kinds: Kinds, walls: Walls) -> Terms:
    return Terms(
        grid.shape,
        kinds.rates,
        kinds.capacity,
        kinds.ids,
        periodic_axes(scenario, grid),
        walls.closed,
        walls.per_cell or len(kinds.zone) > MOST_KINDS_IN_WALLS,
        kinds.taps,
    )


def _wall_entries(terms: Terms, kinds: Kinds, zones: Zones) -> np.ndarray:
    """(wall_size,) which of the values (6, zones) of walls that have one a zone stands at each place of the terms'."""
    if not terms.wall_per_cell:
        return np.concatenate([face * len(zones) + kinds.zone for face in range(6)])
    ids = np.zeros(terms.shape, np.uint8) if zones.ids is None else zones.ids
    beside = [ids.reshape(-1)[boundary_cells(terms.shape, face)].astype(np.intp) for face in range(6)]
    return np.concatenate([face * len(zones) + each for face, each in enumerate(beside)])


def _reference(initial: InitialField, walls: Walls, media: Media) -> float:
    """The middle of the initial, boundary and ambient temperatures, in the scenario's unit."""
    values: list[float] = [*initial.range(), *walls.temperatures(), *media.temperature.tolist()]
    return 0.5 * (min(values) + max(values))
