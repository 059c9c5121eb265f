"""Volume sources: their power density at any time, in the form that the sweeps take.

A density is split into products space(x, y, z) * time(t). What does not depend on space goes into a table by zone; what
does goes into a field, computed once, times a factor of time. A density that does not split (a moving spot, say) is
computed anew each step, as windows about where it is anything but 0. Smoothed sources all go into the field: the
smoothed form of each factor of time is kept, and summed each step where there are several.

Traces are factors of time. Beams come as window sources about them, which cost a step only what lies under them. A
step of `dt` s has the means of traces and beams over it, so that their energy is exact however long the steps
(of beams, where their power is constant); expressions have their value at its start.

An expression in space heats each cell by its mean over the cell, so that its energy is released however narrow it is
(`space_means`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf, prod

import numpy as np
from heatsim_kernels.field.window_source import WindowSource

from heatsim.base.grid import CellGrid
from heatsim.errors import ScenarioError
from heatsim.problem.media.zones import Zones, source_masks
from heatsim.problem.shapes.means_in_time import MeansInTime
from heatsim.problem.shapes.point_values import centre_planes, evaluate, require_finite
from heatsim.problem.shapes.space_means import SpaceMeans, grid_cells, space_means
from heatsim.problem.shapes.voxelise import covered_volume, shape_masks
from heatsim.problem.terms.block_powers import powers_of_blocks
from heatsim.problem.terms.event_times import discontinuity_times
from heatsim.problem.terms.passages import passages
from heatsim.problem.terms.smoothing import is_smoothed, smooth_field
from heatsim.problem.terms.sources.beam import (
    BeamWindow,
    MovingBeam,
    WindowSlices,
    beam_windows,
    longest_step,
    make_beams,
    path_times,
    require_powers,
    switches,
    volumes,
)
from heatsim.problem.terms.sources.power_trace import PowerTrace, read_trace
from heatsim.scenario import Expression, Scenario
from heatsim.scenario.language.expressions.expression import Value, depends_on
from heatsim.scenario.language.toml.positions import Key
from heatsim.scenario.sources import Source

TimeFactor = Expression | PowerTrace | None  # of time; None is 1

BEAMS_A_BATCH = 64  # steps whose window sources are made, and sent to a GPU, together

MOST_KEPT = 2**22  # rates that are kept by their factor of time; where there are more, they are found in each step
MOVING_POINTS = 2**17  # at which an expression that moves is evaluated in a step, about, beyond those of the cells

DOUBT_TIMES = 5  # at which it is looked at what cannot be resolved
FELT = 1e-12  # K: so little in the mean of all cells is nothing, as the tail of a spot far outside of the box

_EVERYWHERE = Expression.parse("1", frozenset())


@dataclass(frozen=True)
class SourceTerm:
    """Part of source number `source`: density = scale * space * time, W/m3; `space` may hold t if it does not split.
    in_proportion: the density, uniform in space, is that for a heat capacity of 1 J/(m3 K); inside: the cells that it
    heats, (nz, ny, nx), None for all; means: those of a `space` without t over them."""

    source: int
    scale: float
    space: Expression | None = None
    time: TimeFactor = None
    in_proportion: bool = False
    inside: np.ndarray | None = field(default=None, compare=False, repr=False)
    means: SpaceMeans | None = field(default=None, compare=False, repr=False)

    @property
    def moves(self) -> bool:
        """Whether space and time do not separate."""
        return self.space is not None and depends_on(self.space, "t")


def make_source_terms(scenario: Scenario, grid: CellGrid, material_ids: np.ndarray) -> tuple[SourceTerm, ...]:
    """The terms of all sources but beams and those that depend on temperature; they heat solid cells. material_ids: as
    `voxelise_materials` gives it.

    Raises `ScenarioError` for a region that covers no centre of a solid cell, a material of which there is none, or a
    trace as `read_trace` does."""
    fixed = [n for n, source in enumerate(scenario.sources) if source.beam is None]
    terms = {n: _source_terms(scenario, grid, material_ids, n) for n in fixed}
    return tuple(term for n in fixed if scenario.sources[n].following_temperature is None for term in terms[n])


def _source_terms(scenario: Scenario, grid: CellGrid, material_ids: np.ndarray, number: int) -> list[SourceTerm]:
    source = scenario.sources[number]
    solid = material_ids < len(scenario.materials) if scenario.ambients else None
    if source.material is not None:
        solid = material_ids == list(scenario.materials).index(source.material)
        if not solid.any():
            message = "no cell is made of it"
            raise ScenarioError([scenario.issue_at(("sources", number, "material"), message)])
    if source.powers is not None:
        found = powers_of_blocks(scenario, number, source.powers, grid, solid)
        inside = _heated(scenario, grid, number, solid)
        return [SourceTerm(number, 1.0, _EVERYWHERE, time, inside=inside, means=means) for means, time in found]
    volume = covered_volume(scenario, ("sources", number, "region"), source.region, grid, solid)
    scale = 1.0 if source.power_density is not None else 1.0 / volume
    uniform = _EVERYWHERE if is_smoothed(scenario, "sources") else None  # a smoothed zone is no zone any more
    if source.trace is not None:
        trace = read_trace(scenario, ("sources", number, "trace"), source.trace)
        return [SourceTerm(number, scale, uniform, trace)]
    value = source.following_temperature or _amount(source)
    if not isinstance(value, Expression):
        return [SourceTerm(number, scale * value, uniform)]
    inside = _heated(scenario, grid, number, solid) if depends_on(value, "xyz") else None
    terms = product_terms(number, scale, value, grid, inside)
    return [term if term.space else replace(term, space=uniform) for term in terms]


def product_terms(
    number: int, scale: float, value: Expression, grid: CellGrid, inside: np.ndarray | None, by_distance: bool = False
) -> list[SourceTerm]:
    """An expression in x, y, z, t times a number as the terms of source `number`, which heats the cells `inside`;
    by_distance: see `cell_means`."""
    products = value.split_time()
    if products is None:
        return [SourceTerm(number, scale, space=value, inside=inside)]
    cells = grid_cells(grid)
    means = [None if space is None else space_means(space, cells, {}, inside, by_distance) for space, _ in products]
    return [
        SourceTerm(number, scale, space, time, inside=inside, means=found)
        for (space, time), found in zip(products, means, strict=True)
    ]


def _heated(scenario: Scenario, grid: CellGrid, number: int, solid: np.ndarray | None) -> np.ndarray | None:
    """The cells that source `number` heats, of those that are `solid` and, if it has one, in its region; None for
    all."""
    region = scenario.sources[number].region
    if region is None:
        return solid
    inside = np.stack(list(shape_masks(scenario, ("sources", number, "region"), region, grid)))
    return inside if solid is None else inside & solid


def _amount(source: Source) -> Value:
    value = source.power if source.power is not None else source.power_density
    if value is None:
        raise TypeError("traces and beams have no value at a place")
    return value


class VolumeSources:
    """The sources on a grid. Rates are in K/s: power density over heat capacity."""

    def __init__(
        self,
        scenario: Scenario,
        grid: CellGrid,
        zones: Zones,
        capacities: np.ndarray,
        terms: tuple[SourceTerm, ...],
        dtype: np.dtype,
    ) -> None:
        """`capacities`: (n,) J/(m3 K) of each zone, 0 of those that are not solved and stay unheated."""
        self._scenario, self._grid, self._zones, self._capacities = scenario, grid, zones, capacities
        self._uniform = [term for term in terms if term.space is None]
        of_sources: dict[int, list[int]] = {}
        for zone, sources in enumerate(zones.sources):
            for source in sources:
                of_sources.setdefault(source, []).append(zone)
        self._heated_zones = {source: np.array(found) for source, found in of_sources.items()}
        self._spatial = [term for term in terms if term.space is not None]
        self._beams: tuple[MovingBeam, ...] = make_beams(scenario, grid)
        self._windowed = [] if is_smoothed(scenario, "sources") else [term for term in self._spatial if term.moves]
        self._in_field = [term for term in self._spatial if term not in self._windowed]
        factors = dict.fromkeys(term.time for term in self._in_field)
        self._refills = len(factors) > 1 or any(term.moves for term in self._in_field)
        self._factor: TimeFactor = None if self._refills or not factors else next(iter(factors))
        self._dtype, self._field = dtype, np.zeros(grid.shape, dtype) if self._in_field else None
        self._field_power = 0.0
        self._filled: tuple[float, float] | None = None  # when, s, and for which step the field was found last
        self._windows: tuple[float, tuple[WindowSource, ...]] | None = None  # of what moves, at the last time
        self._ahead = np.zeros(0)
        self._moving: dict[tuple[int, Expression], MeansInTime] = {}
        self._held: np.ndarray | None = None  # capacities of the cells of a small grid, J/K
        self._keeps_rates = self._refills and len(factors) * prod(grid.shape) <= MOST_KEPT
        self._rates: dict[TimeFactor, np.ndarray] = {}  # of terms that do not move, by their factor of time, if kept
        self._parts: dict[TimeFactor, np.ndarray] = {}  # smoothed densities by their factor of time, if several
        if len(factors) > 1 and is_smoothed(scenario, "sources") and not any(term.moves for term in self._in_field):
            for factor in factors:
                same = [term for term in self._in_field if term.time == factor]
                self._parts[factor] = self._smoothed_density(same, 0.0, 0.0, timed=False)
        if self._in_field and not self._refills:
            self._fill(0.0, 0.0)

    @property
    def holds_field(self) -> bool:
        """Whether a source depends on space and takes a field of its own."""
        return self._field is not None

    @property
    def varies(self) -> bool:
        """Whether any source depends on time."""
        factors = [self._factor, *(term.time for term in self._uniform)]
        moves = self._refills or bool(self._beams) or bool(self._windowed)
        return moves or any(factor is not None for factor in factors)

    @property
    def sampled_cheaply(self) -> bool:
        """Whether some source is an expression in t, and none takes more than that at another time."""
        factors = [self._factor, *(term.time for term in self._uniform)]
        expressions = any(isinstance(factor, Expression) for factor in factors)
        return expressions and not (self._refills or self._beams or self._windowed)

    @property
    def longest_batch(self) -> int | None:
        """The most steps for which the field and the window sources can be made at once; None if it does not matter."""
        return 1 if self._refills or self._windowed else BEAMS_A_BATCH if self._beams else None

    @property
    def beams(self) -> tuple[MovingBeam, ...]:
        """The beams among the sources."""
        return self._beams

    @property
    def longest_step(self) -> float:
        """The longest step that sees beams move, s."""
        return longest_step(self._beams)

    @property
    def kinks(self) -> frozenset[float]:
        """Times at which a trace bends or a beam turns, s."""
        return path_times(self._beams).union(*(trace.times.tolist() for trace in self.traces))

    @property
    def discontinuities(self) -> frozenset[float]:
        """Times at which a trace or an expression jumps, or a beam goes on or off, s."""
        switched = discontinuity_times(self.inputs, self._scenario.time.end)
        return switched.union(switches(self._beams), *(trace.discontinuities for trace in self.traces))

    @property
    def inputs(self) -> list[object]:
        """All that is given as a number or an expression."""
        return [*self.keys]

    @property
    def keys(self) -> dict[object, Key]:
        """The source of each value of `inputs`."""
        terms = [*self._uniform, *self._spatial]
        found: dict[object, Key] = {
            each: ("sources", term.source) for term in terms for each in (term.space, term.time)
        }
        return found | {moving.beam.power: ("sources", moving.source, "beam", "power") for moving in self._beams}

    @property
    def switches(self) -> frozenset[float]:
        """Times at which a beam goes on or off, s."""
        return frozenset(switches(self._beams))

    @property
    def traces(self) -> list[PowerTrace]:
        """The powers that traces give."""
        return [term.time for term in [*self._uniform, *self._spatial] if isinstance(term.time, PowerTrace)]

    def check(self, times: np.ndarray) -> None:
        """Look at what depends on time alone at some times; raises `ScenarioError` for what is not good then."""
        self.table(times)
        self.scale(times)
        require_powers(self._scenario, self._beams, times)

    def table(self, times: np.ndarray, dt: float = 0.0) -> np.ndarray | None:
        """(k, n) heating rate of each zone in steps of `dt` from each time on, K/s; None if no source is uniform in
        space."""
        if not self._uniform:
            return None
        table = np.zeros((len(times), len(self._zones)))
        for term in self._uniform:
            heated = self._heated_zones.get(term.source, np.zeros(0, np.int64))
            in_time = self._in_time(term.time, term.source, times, dt)
            capacities = self._capacities[heated]
            held = (capacities > 0).astype(float) if term.in_proportion else capacities
            table[:, heated] += np.outer(term.scale * in_time, _rate(np.ones(heated.size), held))
        return table

    def scale(self, times: np.ndarray, dt: float = 0.0) -> np.ndarray:
        """(k,) factor on `field` in steps of `dt` from each time on."""
        if self._factor is None:
            return np.ones(len(times))
        return self._in_time(self._factor, self._in_field[0].source, times, dt)

    @property
    def moves(self) -> bool:
        """Whether some source is an expression in which space and time do not separate."""
        return any(term.moves for term in self._spatial)

    @cached_property
    def passages(self) -> list[float]:
        """What a place sees of each source in which space and time do not separate as it passes, as a standard
        deviation in time, s."""
        end = self._scenario.time.end
        moving = [term.space for term in self._spatial if term.space is not None and term.moves]
        return [each for space in moving if 0.0 < end < inf for each in passages(space, self._grid, end)]

    def look_ahead(self, times: np.ndarray) -> None:
        """Tell the times (k,), s, ascending, for which the field will be asked next."""
        self._ahead = times
        for means in self._moving.values():
            means.look_ahead(times)

    def field(self, time: float, dt: float = 0.0) -> np.ndarray | None:
        """(nz, ny, nx) heating rate of each cell before `scale` in a step of `dt` from a time on, K/s; None if no
        source depends on space and stays where it is."""
        if self._refills and (time, dt) != self._filled:  # stages of a step and of the next have times in common
            self._fill(time, dt)
            self._filled = time, dt
        return self._field

    def window_sources(self, times: np.ndarray, dt: float = 0.0) -> tuple[tuple[WindowSource, ...], ...]:
        """What beams bring to the cells under them, and what else moves to those where it is anything but 0, in steps
        of `dt` from each time on."""
        if not self._beams and not self._windowed:
            return ()
        return tuple((*self._beam_windows(time, dt), *self._moved_windows(time)) for time in times.tolist())

    def _beam_windows(self, time: float, dt: float) -> Iterator[WindowSource]:
        return map(self._window_source, beam_windows(self._scenario, self._grid, self._beams, time, dt))

    def _moved_windows(self, time: float) -> tuple[WindowSource, ...]:
        """The terms in which space and time do not separate."""
        if self._windows is None or self._windows[0] != time:  # stages of a step and of the next have times in common
            found = [self._window_source(each) for term in self._windowed for each in self._windows_of(term, time)]
            self._windows = time, tuple(found)
        return self._windows[1]

    def _windows_of(self, term: SourceTerm, time: float) -> Iterator[BeamWindow]:
        for cells, mean in self._moved(term, time).blocks():
            density = term.scale * mean
            if term.inside is not None:
                density = np.where(term.inside[cells], density, 0.0)
            require_finite(self._scenario, ("sources", term.source), density, f"at t = {time:g} s")
            z, y, x = (part.start for part in cells)
            yield BeamWindow((z, y, x), density)

    def doubts(self, least: float) -> Iterator[tuple[int, float, float]]:
        """Of each term whose means over cells may be off by more than the share `least`: the number of its source, the
        power at that of some times when it is greatest, W, and the share by which it may be off, about. What no cell
        would feel until the end is left out."""
        end = self._scenario.time.end
        times = np.linspace(0.0, end, DOUBT_TIMES).tolist() if 0.0 < end < np.inf else [0.0]
        for term in self._spatial:
            found = []
            for time in times if term.moves or term.time is not None else times[:1]:
                means = self._moved(term, time) if term.moves else term.means
                if means is not None and means.doubt > least:
                    power = term.scale * self._factor_at(term, time, 0.0) * self._power_in(means, term.inside)
                    found.append((abs(power), power, means.doubt))
            if found and max(found)[0] * end > FELT * self._whole_capacity():
                yield term.source, *max(found)[1:]

    def _power_in(self, means: SpaceMeans, inside: np.ndarray | None) -> float:
        power = means.values() * grid_cells(self._grid).volumes()
        return float(power.sum() if inside is None else power[inside].sum())

    def field_power(self) -> float:
        """Power of the field before `scale`, as rounded to the field's precision, W."""
        return self._field_power

    def _in_time(self, value: TimeFactor, source: int, times: np.ndarray, dt: float) -> np.ndarray:
        if value is None:
            return np.ones(len(times))
        if isinstance(value, PowerTrace):
            return value.means(times, dt)
        values = evaluate(value, times.shape, t=times)
        for bad in np.flatnonzero(~(np.abs(values) <= np.finfo(self._dtype).max))[:1]:
            require_finite(self._scenario, ("sources", source), values[bad], f"at t = {times[bad]:g} s")
        return values

    def _window_source(self, window: BeamWindow) -> WindowSource:
        capacity = self._cell_capacity(window.cells)
        rates = _rate(window.density, capacity).astype(self._dtype)
        power = float((rates.astype(np.float64) * capacity * volumes(self._grid, window.cells)).sum())
        return WindowSource(window.corner, rates, power)

    def _fill(self, time: float, dt: float) -> None:
        """Compute the field in a step of `dt` from a time on, as another array: a GPU has the one before."""
        self._field = np.zeros(self._grid.shape, self._dtype)
        if is_smoothed(self._scenario, "sources"):
            for z, density in enumerate(self._whole_density(time, dt)):
                self._field[z] = _rate(density, self._plane_capacity(z))
            self._field_power = self._power_of_field()
            return
        if self._keeps_rates:
            for factor, rates in self._rates_of(self._in_field).items():
                first = next(term for term in self._in_field if term.time == factor)
                value = self._factor_at(first, time, dt)
                if value != 0.0:
                    self._field += (value * rates).astype(self._dtype)
        for term in self._in_field if not self._keeps_rates else ():
            for z, density in self._densities(term, time, dt, self._refills):
                self._field[z] += _rate(density, self._plane_capacity(z)).astype(self._field.dtype)
        self._field_power = self._power_of_field()

    def _rates_of(self, terms: Sequence[SourceTerm]) -> dict[TimeFactor, np.ndarray]:
        """(nz, ny, nx) heating rate, K/s, of the terms of each factor of time, before that factor."""
        if not self._rates:
            for term in terms:
                rates = self._rates.setdefault(term.time, np.zeros(self._grid.shape))
                for z, density in self._densities(term, 0.0, 0.0, timed=False):
                    rates[z] += _rate(density, self._plane_capacity(z))
        return self._rates

    def _moved(self, term: SourceTerm, time: float) -> SpaceMeans:
        assert term.space is not None
        key = term.source, term.space
        if key not in self._moving:
            means = MeansInTime(term.space, grid_cells(self._grid), term.inside, MOVING_POINTS, self._scenario.time.end)
            means.look_ahead(self._ahead)
            self._moving[key] = means
        return self._moving[key].at(time)

    def _power_of_field(self) -> float:
        """The power of the field, W."""
        assert self._field is not None
        if self._field.size <= MOST_KEPT:
            if self._held is None:
                nz, ny, nx = self._grid.shape
                everywhere = slice(0, nz), slice(0, ny), slice(0, nx)
                self._held = self._cell_capacity(everywhere) * volumes(self._grid, everywhere)
            return float((self._field * self._held).sum(dtype=np.float64))
        return sum(
            float((plane * (self._plane_capacity(z) * self._grid.volumes(z))).sum(dtype=np.float64))
            for z, plane in enumerate(self._field)
        )

    def _densities(self, term: SourceTerm, time: float, dt: float, timed: bool) -> Iterator[tuple[int, np.ndarray]]:
        """Number and power density (ny, nx), W/m3, of each plane that a term may heat; `timed`: times its factor."""
        source = self._scenario.sources[term.source]
        factor = self._factor_at(term, time, dt) if timed else 1.0
        if factor == 0.0:
            return
        of_zones = np.array(self._zones.materials)
        materials = (self._zones.plane(of_zones, z) for z in range(self._grid.shape[0]))
        inside = source_masks(self._scenario, self._grid, term.source, materials)
        means = self._moved(term, time) if term.moves else term.means
        for z, (mask, point) in enumerate(zip(inside, centre_planes(self._grid), strict=True)):
            if not source.everywhere and not mask.any():
                continue
            if means is None:
                mean = evaluate(term.space or 1.0, self._grid.shape[1:], **point, t=time)
            else:
                mean = means.plane(z)
            density = term.scale * factor * mean
            require_finite(self._scenario, ("sources", term.source), density[mask], f"at t = {time:g} s")
            yield z, np.where(mask, density, 0.0)

    def _whole_density(self, time: float, dt: float) -> np.ndarray:
        """Smoothed power density (nz, ny, nx), W/m3, before `scale`."""
        if not self._parts:
            return self._smoothed_density(self._in_field, time, dt, timed=self._refills)
        density = np.zeros(self._grid.shape)
        for factor, part in self._parts.items():
            source = next(term for term in self._in_field if term.time == factor)
            density += self._factor_at(source, time, dt) * part
        return density

    def _smoothed_density(self, terms: Sequence[SourceTerm], time: float, dt: float, timed: bool) -> np.ndarray:
        density = np.zeros(self._grid.shape)
        for term in terms:
            for z, plane in self._densities(term, time, dt, timed):
                density[z] += plane
        return smooth_field(self._scenario, "sources", density, self._grid.spacing[::-1])

    def _factor_at(self, term: SourceTerm, time: float, dt: float) -> float:
        return float(self._in_time(term.time, term.source, np.array([time]), dt)[0])

    def _cell_capacity(self, cells: WindowSlices) -> np.ndarray:
        """Heat capacity of some cells, J/(m3 K)."""
        if self._zones.ids is None:
            return np.asarray(self._capacities[0])
        return np.asarray(self._capacities[self._zones.ids[cells]])

    def _whole_capacity(self) -> float:
        """Heat capacity of all cells, J/K."""
        planes = range(self._grid.shape[0])
        return float(sum((self._plane_capacity(z) * self._grid.volumes(z)).sum() for z in planes))

    def _plane_capacity(self, z: int) -> np.ndarray:
        """Heat capacity of the cells of a plane, J/(m3 K)."""
        return self._zones.plane(self._capacities, z)


def _rate(density: np.ndarray, capacity: np.ndarray) -> np.ndarray:
    """Heating rate, K/s; 0 where the capacity is."""
    rate: np.ndarray = np.divide(density, capacity, out=np.zeros(np.shape(density)), where=capacity > 0)
    return rate
