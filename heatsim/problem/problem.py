"""The problem that a run solves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from heatsim_kernels.stencil.limits import stable_step
from heatsim_kernels.stencil.terms import Drive, Terms

from heatsim.errors import ScenarioError
from heatsim.grid import AXES, Grid
from heatsim.problem.heating import Heating, make_terms
from heatsim.problem.initial import InitialField
from heatsim.problem.limit import require_limit
from heatsim.problem.smoothing import smoothed
from heatsim.problem.walls import Walls
from heatsim.problem.zones import Zones, conductivity, make_zones, volumetric_capacity
from heatsim.scenario import Scenario

SAFETY = 0.9  # of the stability limit, for step = "auto": at the limit itself the shortest waves do not decay
STEPS_WITHOUT_LIMIT = 100  # where no heat moves there is no limit, but sources may vary in time
_MOST_VALUES = 2**20  # wall values in one batch of steps


@dataclass(frozen=True)
class Problem:
    """What is solved, in SI units; temperatures are the rise over `reference`, which is in the scenario's unit."""

    scenario: Scenario
    grid: Grid
    zones: Zones
    terms: Terms
    walls: Walls
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
        """The initial rise, plane by plane (ny, nx), z upwards."""
        for plane in self.initial.planes():
            yield (plane - self.reference).astype(self.dtype)

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
        return max(1, _MOST_VALUES // self.terms.wall_size) if self.walls.varies else 2**30

    def drive(self, times: np.ndarray, dt: float = 0.0) -> Drive:
        """Boundary values and sources at the start of each of a batch of steps; `times` (k,) in s. Traces and beams
        have their means over steps of `dt` s, or where it is 0 what they are at these times."""
        a, b = self.walls.at(times)
        when, heating = times if self.heating.varies else times[:1], self.heating
        return Drive(a, b, heating.table(when, dt), heating.field(float(times[0]), dt), heating.scale(when, dt))

    def source_energy(self, drive: Drive, dt: float, steps: int) -> np.ndarray:
        """(steps,) heat released in each step of `dt`, J, with the numbers as the sweep rounds them."""
        kind = self.dtype.type
        energy = np.zeros(steps)
        if drive.heat_table is not None:
            rates = _spread(drive.heat_table.astype(self.dtype).astype(np.float64), steps)
            energy += float(kind(dt)) * (rates @ (self.terms.capacity * np.array(self.zones.cells)))
        if drive.heat_field is not None:
            gains = _spread((dt * drive.heat_scale).astype(self.dtype).astype(np.float64), steps)
            energy += gains * self.heating.field_power()
        return energy

    def smoothed_slice(self, axis: str, plane: np.ndarray) -> np.ndarray:
        """A plane normal to "x", "y" or "z", in the scenario's unit, after the passes that slices are to have."""
        spacing = [size for other, size in zip(AXES, self.grid.spacing, strict=True) if other != axis]
        return smoothed(self.scenario, "slices", plane, spacing[::-1])

    def materials(self) -> np.ndarray | None:
        """Material of each cell as an index into the scenario's materials, (nz, ny, nx) uint8; None if all are one."""
        if self.zones.ids is None or len(set(self.zones.materials)) == 1:
            return None
        return np.asarray(np.array(self.zones.materials, np.uint8)[self.zones.ids])


def _spread(rows: np.ndarray, steps: int) -> np.ndarray:
    """One row for each step: row min(step, k - 1)."""
    return rows[np.minimum(np.arange(steps), len(rows) - 1)]


def build(scenario: Scenario) -> Problem:
    """Make a scenario concrete. Raises `ScenarioError` for what only arrays can tell."""
    grid = make_grid(scenario)
    dtype = np.dtype(scenario.compute.precision)
    sources = make_terms(scenario, grid)
    zones = make_zones(scenario, grid, frozenset(term.source for term in sources if term.space is None))
    materials = list(scenario.materials.values())
    conductivities = np.array([conductivity(materials[i]) for i in zones.materials]).T
    capacities = np.array([volumetric_capacity(materials[i]) for i in zones.materials])
    initial = InitialField(scenario, grid)
    reference = _reference(initial, Walls(scenario, grid, zones.ids, conductivities, 0.0))
    walls = Walls(scenario, grid, zones.ids, conductivities, reference)
    terms = Terms(
        grid.shape,
        _exchange(grid, zones, conductivities, capacities),
        capacities * grid.cell_volume,
        zones.ids,
        walls.periodic,
        walls.closed,
        walls.per_cell,
    )
    limit = stable_step(terms, walls.least_a())
    heating = Heating(scenario, grid, zones, capacities, sources, dtype)
    if scenario.time.integrator == "steady":
        require_limit(scenario, walls, heating)
    heating.table(np.zeros(1))  # a source that is not finite from the start is refused here
    heating.scale(np.zeros(1))
    step = _largest_step(scenario, limit, walls.varies or heating.varies, heating.longest_step)
    return Problem(scenario, grid, zones, terms, walls, heating, initial, reference, limit, step, dtype)


def make_grid(scenario: Scenario) -> Grid:
    """The grid of a scenario."""
    (nx, ny, nz), size = scenario.grid.cells, scenario.grid.size
    return Grid((nz, ny, nx), scenario.grid.origin, (size[0] / nx, size[1] / ny, size[2] / nz))


def _exchange(grid: Grid, zones: Zones, conductivities: np.ndarray, capacities: np.ndarray) -> np.ndarray:
    """Face conductance over heat capacity, 1/s: (3,), or (3, n, n) for several materials.

    The conductance is the harmonic mean of the two half cells, which makes the flux through a composite wall exact
    (Patankar 1980, section 4.2-3).
    """
    squares = np.array(grid.spacing)[:, None] ** 2
    if len(set(zones.materials)) == 1:
        return np.asarray((conductivities[:, :1] / capacities[:1] / squares)[:, 0])
    k = conductivities
    mean = 2.0 * k[:, :, None] * k[:, None, :] / (k[:, :, None] + k[:, None, :])
    return np.asarray(mean / capacities[None, :, None] / squares[:, :, None])


def _reference(initial: InitialField, walls: Walls) -> float:
    """The middle of the initial and boundary temperatures, in the scenario's unit."""
    values = [*initial.range(), *walls.temperatures()]
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
