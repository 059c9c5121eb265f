"""The state of a run: what recorders see of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from heatsim_kernels.field import values_of

from heatsim.base.arriving import ArrivingArray, Block
from heatsim.base.grid import AXES, FACES
from heatsim.base.threads import for_each, parts
from heatsim.errors import NotFiniteError
from heatsim.problem.clamped_sources import clamped_sources
from heatsim.solve.ledger import EnergyBalance, energy_warnings, range_warnings
from heatsim.solve.state_checks import cold_warnings

if TYPE_CHECKING:
    from heatsim_kernels.explicit import ExplicitStepper, StageStepper
    from heatsim_kernels.explicit.coefficients import Forcing
    from heatsim_kernels.explicit.enthalpy.surface_tangents import SurfaceTangents
    from heatsim_kernels.field.region_reductions import RegionCells, RegionTotals

    from heatsim.problem import Problem
    from heatsim.solve.integrators import RunField
    from heatsim.solve.integrators.integrator import SavedState
    from heatsim.store.slab_files import SlabFile


@dataclass
class SolverStatistics:
    """What an integrator spent beside steps.

    rejected: steps computed and not taken; stages: sweeps of super time stepping, in all; iterations: of linear
    solvers, in all; residuals: relative, from iteration to iteration of the solve of a steady state, or of a solve that
    failed.
    """

    rejected: int = 0
    stages: int = 0
    iterations: int = 0
    residuals: list[float] = field(default_factory=list)


class State:
    """A field on its device at a time (s), `step` steps in; the time of a steady state is infinite.

    Temperatures come out in the scenario's unit. entered: heat that has entered through each face of the box, from each
    ambient and by losses, if there are any, since the start, J, as integrators that solve count it (of a steady state,
    W); of the others what came from ambients that depend on time; source_energy: that sources have released.
    """

    def __init__(self, problem: Problem, run_field: RunField, start: np.ndarray | None = None) -> None:
        """Start from offsets (nz, ny, nx) from the reference, K, or from the initial temperature of the problem."""
        self._start = start
        self.problem, self.field, self._run_field = problem, run_field.field, run_field
        self.entered = np.zeros(problem.coefficients.ledger_size)
        self.time, self.step, self.source_energy = 0.0, 0, 0.0
        self.solver_statistics = SolverStatistics()
        self.extent_at_start = np.inf, -np.inf  # K over the reference, of the solved cells
        self._least = np.inf
        self.field.put(self._initial_planes())
        self._start = None
        self._initial = self.field.stored()
        self.region_heat_at_start = [self.totals(part.cells).heat for part in problem.statistics_regions]  # J
        if problem.statistics_request.wanted:
            self.field.track(problem.statistics_request)
        self._initial_contrast = self._initial - problem.heat_at(self._least)

    def _initial_planes(self) -> Iterator[np.ndarray]:
        """The planes of the initial field, whose extents are kept."""
        coefficients, (low, high), start = self.problem.coefficients, self.extent_at_start, self._start
        solved, ids = coefficients.capacity > 0, coefficients.class_ids
        free = bool(solved.all())

        def measured(z: int, plane: np.ndarray) -> tuple[np.ndarray, float, float, float]:
            counted = plane if free else plane[solved[ids[z]]]
            ends = float(counted.min(initial=np.inf)), float(counted.max(initial=-np.inf))
            return plane, *ends, ends[0] if free else float(plane.min())

        planes = (
            self.problem.of_initial_planes(measured)
            if start is None
            else (measured(z, plane) for z, plane in enumerate(start.astype(self.problem.dtype)))
        )
        for plane, lowest, highest, least in planes:
            low, high, self._least = min(low, lowest), max(high, highest), min(self._least, least)
            yield plane
        self.extent_at_start = low, high

    def state(self) -> SavedState:
        """All that the future of a run depends on but what its step control and recorders know."""
        stepper = self._run_field.stepper
        return {
            "reference": self.problem.reference,
            "hottest": 0.0 if self.problem.tabulated is None else self.problem.tabulated.hottest,
            "time": self.time,
            "step": self.step,
            "source_energy": self.source_energy,
            "entered": self.entered,
            "solver_statistics": asdict(self.solver_statistics),
            "extent_at_start": list(self.extent_at_start),
            "initial_heat": [self._initial, self._initial_contrast, *self.region_heat_at_start],
            "field": self.field.saved(),
            "ledger": None if stepper is None else stepper.ledger_state(),
        }

    def restore(self, saved: SavedState) -> None:
        """Go on from what `state` gave, of the same problem."""
        self.time, self.step, self.source_energy = saved["time"], saved["step"], saved["source_energy"]
        self.entered[:] = saved["entered"]
        self.solver_statistics = SolverStatistics(**saved["solver_statistics"])
        low, high = saved["extent_at_start"]
        self.extent_at_start = low, high
        self._initial, self._initial_contrast, *self.region_heat_at_start = saved["initial_heat"]
        self.field.restore(saved["field"])
        if self._run_field.stepper is not None:
            self._run_field.stepper.restore_ledger(saved["ledger"])

    def temperature(self, out: np.ndarray | None = None) -> np.ndarray:
        """The whole field, (nz, ny, nx), a copy in the run's precision, in the array `out` or a fresh one."""
        return self._whole(self.field.host(), self.problem.ambient_rises(self.time), out)

    def write_slabs(self, snapshot: Path) -> list[SlabFile] | None:
        """Have each rank write its planes of `temperature` beside a snapshot, if that is better than to have them all
        here. Raises NotFiniteError, OSError and RunFolderError."""
        slabs, problem = self._run_field.slabs, self.problem
        if slabs is None or not slabs.writes_slabs:
            return None
        name, compression = problem.scenario.solved.name, problem.scenario.output.compression
        rises = problem.ambient_rises(self.time)
        try:
            return slabs.write_slabs(snapshot, name, compression, problem.reference, rises)
        except FloatingPointError:
            raise NotFiniteError.at(self.step, self.time) from None

    def capture(self, checked: bool = False) -> Callable[[np.ndarray], ArrivingArray] | None:
        """A function that has `temperature` come as it is now, through an array that it is given, called once, later
        and from any thread; None where the copy would have to be on the host now. checked: reading it raises
        `NotFiniteError` where it is not finite."""
        fetch, rises = self.field.capture(), self.problem.ambient_rises(self.time)
        step, time = self.step, self.time

        def convert(offset: np.ndarray, block: Block, out: np.ndarray) -> None:
            self._put_temperatures(offset, block, rises, out)
            if checked and not np.isfinite([out.min(), out.max()]).all():  # NaN if one is
                raise NotFiniteError.at(step, time)

        return None if fetch is None else lambda room: ArrivingArray(room, fetch, convert)

    def plane(self, axis: str, index: int) -> np.ndarray:
        """The plane normal to "x", "y" or "z" at a cell index: (nz, ny), (nz, nx) or (ny, nx)."""
        last = 2 - AXES.index(axis)
        ids = self._class_ids.take(index, axis=last)
        return self._absolute(self.field.plane(last, index), ids, self.problem.ambient_rises(self.time))

    def sample(self, cells: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Weighted means of cells: flat indices (n, m) and weights (n, m) give (n,), float64."""
        offset, rises = self.field.cells(cells).astype(np.float64), self.problem.ambient_rises(self.time)
        if rises is not None:
            offset += rises[self._class_ids.reshape(-1)[cells]]
        return np.asarray((offset * weights).sum(axis=1) + self.problem.reference)

    def extremes(self) -> tuple[float, float]:
        """The lowest and highest temperature of the solved cells, in the scenario's unit."""
        coefficients, low, high = self.problem.coefficients, np.inf, -np.inf
        solved = coefficients.capacity > 0
        for z, plane in enumerate(self.field.planes()):
            free = plane if solved.all() else plane[solved[coefficients.class_ids[z]]]
            low, high = min(low, float(free.min(initial=low))), max(high, float(free.max(initial=high)))
        return low + self.problem.reference, high + self.problem.reference

    def statistics(self) -> dict[str, np.ndarray]:
        """The statistics of the field over time that the scenario asks for: `peak_temperature` in its unit,
        `time_above` in s and `cooling_rate` in K/s, (nz, ny, nx) each."""
        found = self.field.statistics()
        if "peak_temperature" in found:
            found["peak_temperature"] = found["peak_temperature"] + self.problem.reference
        return found

    def melted_fraction(self) -> np.ndarray:
        """The share of each cell that has melted, (nz, ny, nx), a fresh copy; 0 where nothing melts."""
        return self.field.melted_fraction()

    def totals(self, cells: RegionCells) -> RegionTotals:
        """What some cells have together, of offsets from the reference, K, and of heat over that at it, whatever
        follows temperature or melts; found where the field is."""
        return self.field.totals(cells)

    def heat_entered(self) -> np.ndarray:
        """Heat that has entered through each face of the box, from each ambient and by losses, if there are any, since
        the start, J."""
        stepper = self._run_field.stepper
        return self.entered.copy() if stepper is None else stepper.heat_entered() + self.entered

    def add_released(
        self, energy: float, from_ambients: np.ndarray | None, from_sides: np.ndarray | None = None
    ) -> None:
        """Enter the heat of the sources in a step, J, in the ledger; of it, what came from each ambient that depends on
        time (m,) and through each side of the box (6,)."""
        supplied = {len(FACES): from_ambients, 0: from_sides}  # by the first of their accounts
        given = {first: heat for first, heat in supplied.items() if heat is not None}
        rest = energy - sum(float(heat.sum()) for heat in given.values())
        size = float(sum(np.abs(heat).sum() for heat in given.values())) or 1.0
        rounding = given and not self.problem.scenario.sources  # then the rest is the rounding of what was supplied
        for first, heat in given.items():
            self.entered[first : first + len(heat)] += heat + rest * np.abs(heat) / size if rounding else heat
        self.source_energy += 0.0 if rounding else rest

    def explicit_forcing(
        self,
        times: np.ndarray,
        dt: float = 0.0,
        cells: Callable[[Any], Any] | None = None,
        boundary: Forcing | None = None,
    ) -> Forcing:
        """The forcing of explicit steps, or of stages, at `times` (k,) in s: see `Problem.linear_forcing`.

        In a nonlinear problem tangents to the flux of boundary faces stand for them, at the field as it is or at what
        `cells` gives in place of `Field.stored_cells`: see `heatsim_kernels.explicit.enthalpy.surface_tangents`.
        boundary: these tangents, if they are known, for as many times or more.
        """
        problem = self.problem
        if problem.explicit_form is None:
            return problem.linear_forcing(times, dt)
        forcing = problem.with_sources(boundary or self.boundary_tangents(times, cells), times, dt)
        if problem.temperature_sources is None:
            return forcing
        return problem.with_temperature_sources(forcing, self.field.host(), float(times[0]), dt)

    def boundary_tangents(self, times: np.ndarray, cells: Callable[[Any], Any] | None = None) -> Forcing:
        """The part of `explicit_forcing` that boundary faces of a nonlinear problem are."""
        return self.problem.tangent_lines(times, self.tangents, cells or self.field.stored_cells)

    @property
    def tangents(self) -> SurfaceTangents:
        """What makes tangents to the flux of boundary faces. Raises `TypeError` for a linear problem."""
        if self._run_field.tangents is None:
            raise TypeError("no face of this field depends on temperature")
        return self._run_field.tangents

    @property
    def stepper(self) -> ExplicitStepper:
        """What takes explicit steps of the field. Raises `TypeError` if that was made for an integrator that solves."""
        if self._run_field.stepper is None:
            raise TypeError("this field was made for an integrator that solves, not for explicit steps")
        return self._run_field.stepper

    @property
    def stages(self) -> StageStepper:
        """What takes Runge-Kutta stages of the field. Raises `TypeError` where nothing does."""
        if self._run_field.stages is None:
            raise TypeError("this field was not made for an integrator that takes stages")
        return self._run_field.stages

    @property
    def solver_device(self) -> str:
        """Where linear systems are solved, "cpu" or "cuda"."""
        return self._run_field.solver_device

    @property
    def warnings(self) -> list[str]:
        """Warnings that came up during the run."""
        return [
            *range_warnings(self.problem, self.field.out_of_range()),
            *energy_warnings(self.problem, self.energy, self.time, self.field.planes),
            *cold_warnings(self),
            *(clamped_sources(self.problem, self.temperature()) if np.isinf(self.time) else ()),
        ]

    @property
    def energy(self) -> EnergyBalance:
        """The energy balance since t = 0, or of the steady state."""
        if np.isinf(self.time):
            return self._balance(0.0, 0.0)
        stored = self.field.stored() - self._initial
        return self._balance(stored, self._initial_contrast)

    def _balance(self, stored: float, contrast: float) -> EnergyBalance:
        entered, coefficients = self.heat_entered().tolist(), self.problem.coefficients
        sources = self.source_energy + (0.0 if coefficients.losses is None else entered.pop())
        faces = dict(zip(FACES, entered, strict=False))
        ambients = dict.fromkeys(self.problem.scenario.exchanging_ambients, 0.0)
        ambients |= dict(zip(ambients, entered[len(FACES) :], strict=False))
        moved = sum(map(abs, entered)) + abs(sources) + contrast
        return EnergyBalance(stored, sources, faces, ambients, moved)

    @property
    def _class_ids(self) -> np.ndarray:
        return self.problem.coefficients.class_ids

    def _whole(self, offset: np.ndarray, rises: np.ndarray | None, out: np.ndarray | None) -> np.ndarray:
        """Temperatures of all cells, in the array `out` or a fresh one."""
        found = np.empty_like(offset) if out is None else out

        def fill(z: slice) -> None:
            self._put_temperatures(offset[z], z, rises, found[z])

        for_each(fill, parts(found.shape), found.size)
        return found

    def _put_temperatures(
        self, offset: np.ndarray, cells: slice | Block, rises: np.ndarray | None, out: np.ndarray
    ) -> None:
        """Put the temperatures of some cells, of which these are the offsets, into an array of their shape."""
        np.add(offset, offset.dtype.type(self.problem.reference), out=out)
        if rises is not None:
            out += rises.astype(offset.dtype)[self._class_ids[cells]]

    def _absolute(self, offset: np.ndarray, class_ids: np.ndarray, rises: np.ndarray | None) -> np.ndarray:
        """Temperatures, in a fresh array; class_ids: of these cells; rises: see `Problem.ambient_rises`."""
        return values_of(offset, self.problem.reference, class_ids, rises)
