"""Volume sources: their power density at any time, in the form that the sweeps take.

A density is split into products space(x, y, z) * time(t). What does not depend on space goes into a table by zone;
what does goes into a field, computed once, times a factor of time. Only a density that does not split (a moving spot,
say) has its field computed anew each step. Smoothed sources all go into the field: the smoothed form of each factor of
time is kept, and summed each step where there are several.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from heatsim.grid import Grid
from heatsim.problem.painting import covered_volume, masks
from heatsim.problem.smoothing import is_smoothed, smoothed
from heatsim.problem.values import Value, depends_on, evaluate, planes, require_finite
from heatsim.problem.zones import Zones
from heatsim.scenario import Expression, Scenario
from heatsim.scenario.sources import Source

_EVERYWHERE = Expression.parse("1", frozenset())


@dataclass(frozen=True)
class Term:
    """Part of source number `source`: density = scale * space * time, W/m3; `space` may hold t if it does not split."""

    source: int
    scale: float
    space: Expression | None = None
    time: Expression | None = None

    @property
    def moves(self) -> bool:
        """Whether space and time do not separate."""
        return self.space is not None and depends_on(self.space, "t")


def make_terms(scenario: Scenario, grid: Grid, solid: np.ndarray | None) -> tuple[Term, ...]:
    """The terms of all sources, which heat cells that are `solid` (None: all). Raises `ScenarioError` for a region
    that covers no centre of such a cell."""
    return tuple(term for n in range(len(scenario.sources)) for term in _source_terms(scenario, grid, solid, n))


def _source_terms(scenario: Scenario, grid: Grid, solid: np.ndarray | None, number: int) -> list[Term]:
    source = scenario.sources[number]
    volume = covered_volume(scenario, ("sources", number, "region"), source.region, grid, solid)
    scale = 1.0 / volume if source.power is not None else 1.0
    value = _amount(source)
    uniform = _EVERYWHERE if is_smoothed(scenario, "sources") else None  # a smoothed zone is no zone any more
    if not isinstance(value, Expression):
        return [Term(number, scale * value, uniform)]
    products = value.split_time()
    if products is None:
        return [Term(number, scale, space=value)]
    return [Term(number, scale, space or uniform, time) for space, time in products]


def _amount(source: Source) -> Value:
    value = source.power if source.power is not None else source.power_density
    if value is None:
        raise TypeError("traces and beams are refused when the scenario is loaded")
    return value


class Heating:
    """The sources on a grid. Rates are in K/s: power density over heat capacity."""

    def __init__(
        self,
        scenario: Scenario,
        grid: Grid,
        zones: Zones,
        capacities: np.ndarray,
        terms: tuple[Term, ...],
        dtype: np.dtype,
    ) -> None:
        """`capacities`: (n,) J/(m3 K) of each zone, 0 of those that are not solved and stay unheated."""
        self._scenario, self._grid, self._zones, self._capacities = scenario, grid, zones, capacities
        self._uniform = [term for term in terms if term.space is None]
        self._spatial = [term for term in terms if term.space is not None]
        factors = dict.fromkeys(term.time for term in self._spatial)
        self.moves = len(factors) > 1 or any(term.moves for term in self._spatial)
        self._factor = None if self.moves or not factors else next(iter(factors))
        self._field = np.zeros(grid.shape, dtype) if self._spatial else None
        self._field_power = 0.0
        self._parts: dict[Expression | None, np.ndarray] = {}  # smoothed densities by their factor of time, if several
        if len(factors) > 1 and is_smoothed(scenario, "sources") and not any(term.moves for term in self._spatial):
            for factor in factors:
                same = [term for term in self._spatial if term.time == factor]
                self._parts[factor] = self._smoothed_density(same, 0.0, timed=False)
        if self._spatial and not self.moves:
            self._fill(0.0)

    @property
    def holds_field(self) -> bool:
        """Whether a source depends on space, which takes a field of its own."""
        return self._field is not None

    @property
    def varies(self) -> bool:
        """Whether any source depends on time."""
        return self.moves or self._factor is not None or any(term.time is not None for term in self._uniform)

    def table(self, times: np.ndarray) -> np.ndarray | None:
        """(k, n) heating rate of each zone at each time, K/s; None if no source is uniform in space."""
        if not self._uniform:
            return None
        table = np.zeros((len(times), len(self._zones)))
        for term in self._uniform:
            heated = np.array([term.source in sources for sources in self._zones.sources])
            table += np.outer(
                term.scale * self._in_time(term.time, term.source, times), _rate(heated, self._capacities)
            )
        return table

    def scale(self, times: np.ndarray) -> np.ndarray:
        """(k,) factor on `field` at each time."""
        if self._factor is None:
            return np.ones(len(times))
        return self._in_time(self._factor, self._spatial[0].source, times)

    def field(self, time: float) -> np.ndarray | None:
        """(nz, ny, nx) heating rate of each cell before `scale`, K/s; None if no source depends on space."""
        if self.moves:
            self._fill(time)
        return self._field

    def field_power(self) -> float:
        """Power of the field before `scale`, as rounded to the field's precision, W."""
        return self._field_power

    def _in_time(self, value: Expression | None, source: int, times: np.ndarray) -> np.ndarray:
        if value is None:
            return np.ones(len(times))
        values = evaluate(value, times.shape, t=times)
        for time, each in zip(times.tolist(), values, strict=True):
            require_finite(self._scenario, ("sources", source), each, f"at t = {time:g} s")
        return values

    def _fill(self, time: float) -> None:
        """Compute the field at a time."""
        assert self._field is not None
        self._field[:] = 0.0
        if is_smoothed(self._scenario, "sources"):
            for z, density in enumerate(self._whole_density(time)):
                self._field[z] = _rate(density, self._plane_capacity(z))
        else:
            for term in self._spatial:
                for z, density in self._densities(term, time, self.moves):
                    self._field[z] += _rate(density, self._plane_capacity(z)).astype(self._field.dtype)
        self._field_power = sum(
            float((plane * (self._plane_capacity(z) * self._grid.volumes(z))).sum(dtype=np.float64))
            for z, plane in enumerate(self._field)
        )

    def _densities(self, term: Term, time: float, timed: bool) -> Iterator[tuple[int, np.ndarray]]:
        """Number and power density (ny, nx), W/m3, of each plane that a term may heat; `timed`: times its factor."""
        region = self._scenario.sources[term.source].region
        factor = self._factor_at(term, time) if timed else 1.0
        inside = masks(self._scenario, ("sources", term.source, "region"), region, self._grid)
        for z, (mask, point) in enumerate(zip(inside, planes(self._grid), strict=True)):
            if region is not None and not mask.any():
                continue
            density = term.scale * factor * evaluate(term.space or 1.0, self._grid.shape[1:], **point, t=time)
            require_finite(self._scenario, ("sources", term.source), density[mask], f"at t = {time:g} s")
            yield z, np.where(mask, density, 0.0)

    def _whole_density(self, time: float) -> np.ndarray:
        """Smoothed power density (nz, ny, nx), W/m3, before `scale`."""
        if not self._parts:
            return self._smoothed_density(self._spatial, time, timed=self.moves)
        density = np.zeros(self._grid.shape)
        for factor, part in self._parts.items():
            source = next(term for term in self._spatial if term.time == factor)
            density += self._factor_at(source, time) * part
        return density

    def _smoothed_density(self, terms: Sequence[Term], time: float, timed: bool) -> np.ndarray:
        density = np.zeros(self._grid.shape)
        for term in terms:
            for z, plane in self._densities(term, time, timed):
                density[z] += plane
        return smoothed(self._scenario, "sources", density, self._grid.spacing[::-1])

    def _factor_at(self, term: Term, time: float) -> float:
        return float(self._in_time(term.time, term.source, np.array([time]))[0])

    def _plane_capacity(self, z: int) -> np.ndarray:
        """Heat capacity of the cells of a plane, J/(m3 K)."""
        return self._zones.plane(self._capacities, z)


def _rate(density: np.ndarray, capacity: np.ndarray) -> np.ndarray:
    """Heating rate, K/s; 0 where the capacity is."""
    rate: np.ndarray = np.divide(density, capacity, out=np.zeros(np.shape(density)), where=capacity > 0)
    return rate
