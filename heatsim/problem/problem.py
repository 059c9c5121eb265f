"""The problem that a run solves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from heatsim_kernels.multigrid.operator import boundary_cells
from heatsim_kernels.stencil.limits import stable_step
from heatsim_kernels.stencil.terms import Drive, Terms

from heatsim.errors import Flaw, ScenarioError
from heatsim.grid import AXES, Grid
from heatsim.problem.geometry import make_grid
from heatsim.problem.heating import Heating, make_terms
from heatsim.problem.initial import InitialField
from heatsim.problem.kinds import Kinds, make_kinds
from heatsim.problem.limit import require_limit
from heatsim.problem.media import Media, make_media
from heatsim.problem.smoothing import require_smoothable, smoothed
from heatsim.problem.walls import Walls, periodic_axes
from heatsim.problem.zones import Zones, make_zones, paint_media
from heatsim.scenario import Scenario

SAFETY = 0.9  # of the stability limit, for step = "auto": at the limit itself the shortest waves do not decay
STEPS_WITHOUT_LIMIT = 100  # where no heat moves there is no limit, but sources may vary in time
MOST_KINDS_IN_WALLS = 4096  # beyond that wall values come one a boundary cell: fewer than six a kind
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

    def taking(self, integrator: str, tolerance: float | None) -> Problem:
        """The same problem, to be taken through time by another integrator."""
        control = self.scenario.time.model_copy(update={"integrator": integrator, "tolerance": tolerance})
        scenario = self.scenario.model_copy(update={"time": control})
        varies = self.walls.varies or self.heating.varies
        step = _largest_step(scenario, self.stability_limit, varies, self.heating.longest_step)
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
    def whole_capacity(self) -> float:
        """Heat capacity of all solids, J/K."""
        return float(self.terms.capacity @ self.kinds.count)

    @property
    def breaks(self) -> tuple[float, ...]:
        """Times at which steps have to end, s: where a trace or a beam bends or jumps, which long steps would miss.
        Explicit Euler takes means over its steps, whatever they are."""
        control = self.scenario.time
        if control.integrator in ("euler", "steady"):
            return ()
        return tuple(time for time in self.heating.breaks if 0.0 < time < control.end)

    @property
    def batch(self) -> int:
        """The most steps for which one `drive` can be made."""
        if self.heating.moves:
            return 1
        walls = self.terms.wall_size if self.walls.varies else 0
        return max(1, _MOST_VALUES // max(walls, self.terms.kind_count if self.heating.varies else 0, 1))

    def drive(self, times: np.ndarray, dt: float = 0.0) -> Drive:
        """Boundary values and sources at the start of each of a batch of steps; `times` (k,) in s. Traces and beams
        have their means over steps of `dt` s, or where it is 0 what they are at these times."""
        a, b = self.walls.at(times)
        if self.wall_entries is not None:
            a, b = a[:, self.wall_entries], b[:, self.wall_entries]
        when, heating = times if self.heating.varies else times[:1], self.heating
        table = heating.table(when, dt)
        table = None if table is None else table[:, self.kinds.zone]
        return Drive(a, b, table, heating.field(float(times[0]), dt), heating.scale(when, dt))

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
        return energy

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
        """What the scenario says and arrays show to be hardly meant: contacts between materials that never touch."""
        own = np.array(self.zones.media)[self.kinds.zone]
        pairs = np.unique(np.stack((np.repeat(own, 6), self.kinds.beyond.reshape(-1))), axis=1).T.tolist()
        names, touching = [*self.scenario.materials, *self.scenario.ambients], {frozenset(pair) for pair in pairs}
        message = "these materials never touch, so the contact has no effect"
        return [
            self.scenario.problem_at(("contacts", i, "between"), message)
            for i, contact in enumerate(self.scenario.contacts)
            if frozenset(names.index(name) for name in contact.between) not in touching
        ]


def _spread(rows: np.ndarray, steps: int) -> np.ndarray:
    """One row for each step: row min(step, k - 1)."""
    return rows[np.minimum(np.arange(steps), len(rows) - 1)]


def build(scenario: Scenario) -> Problem:
    """Make a scenario concrete. Raises `ScenarioError` for what only arrays can tell."""
    grid, media = make_grid(scenario), make_media(scenario)
    require_smoothable(scenario, grid)
    dtype = np.dtype(scenario.compute.precision)
    painted = paint_media(scenario, grid)
    sources = make_terms(scenario, grid, painted < media.solids if scenario.ambients else None)
    zones = make_zones(scenario, grid, painted, frozenset(term.source for term in sources if term.space is None))
    of_zones = np.array(zones.media)
    kinds = make_kinds(grid, zones, media, periodic_axes(scenario, grid))
    initial = InitialField(scenario, grid)
    conductivity = media.conductivity[:, of_zones]
    reference = _reference(initial, Walls(scenario, grid, zones.ids, conductivity, 0.0), media)
    walls = Walls(scenario, grid, zones.ids, conductivity, reference)
    terms = _terms(scenario, grid, kinds, walls)
    spread = None if walls.per_cell else _wall_entries(terms, kinds, zones)
    least = walls.least_a()
    limit = stable_step(terms, least if spread is None else least[spread])
    heating = Heating(scenario, grid, zones, media.capacity[of_zones], sources, dtype)
    if scenario.time.integrator == "steady":
        require_limit(scenario, walls, heating, terms.taps is not None)
    heating.table(np.zeros(1))  # a source that is not finite from the start is refused here
    heating.scale(np.zeros(1))
    step = _largest_step(scenario, limit, walls.varies or heating.varies, heating.longest_step)
    return Problem(
        scenario, grid, media, zones, kinds, terms, walls, spread, heating, initial, reference, limit, step, dtype
    )


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
    beside = [np.zeros(terms.shape)[boundary_cells(face)] for face in range(6)]
    if zones.ids is not None:
        beside = [zones.ids[boundary_cells(face)] for face in range(6)]
    return np.concatenate([face * len(zones) + ids.reshape(-1).astype(np.intp) for face, ids in enumerate(beside)])


def _reference(initial: InitialField, walls: Walls, media: Media) -> float:
    """The middle of the initial, boundary and ambient temperatures, in the scenario's unit."""
    values: list[float] = [*initial.range(), *walls.temperatures(), *media.temperature.tolist()]
    return 0.5 * (min(values) + max(values))


def _largest_step(scenario: Scenario, limit: float, varies: bool, longest: float) -> float:
    """The step asked for, or 0.9 of the limit and at most `longest`. Raises `ScenarioError` if over the limit.

    Steps under error control have no limit; where inputs vary in time they are kept short enough to see it. Of "auto"
    it is the step of explicit Euler, if that is taken.
    """
    control = scenario.time
    explicit = control.integrator == "euler"
    if isinstance(control.step, str):
        if control.integrator in ("euler", "auto") and np.isfinite(limit):
            return min(SAFETY * limit, longest)
        return min(control.end / STEPS_WITHOUT_LIMIT if explicit or varies else control.end, longest)
    if explicit and control.step > limit * (1 + 1e-12):
        message = (
            f"expected at most {limit:.6g} s, the stability limit of explicit Euler here, found {control.step:g} s"
        )
        hint = 'step = "auto" stays below it, integrator = "implicit" has no limit'
        raise ScenarioError([scenario.problem_at(("time", "step"), message, hint)])
    return float(control.step)
