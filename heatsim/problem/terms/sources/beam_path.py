"""Paths of beams: straight lines between the places of a file, run through at the speed that the times give."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import ceil
from pathlib import Path
from typing import NamedTuple

import numpy as np

from heatsim.base.grid import AXES, CellGrid
from heatsim.problem.terms.sources.csv_columns import Columns, read_columns, require_increasing, select_columns
from heatsim.scenario import Scenario
from heatsim.scenario.language.toml.positions import Key

_UNITS = {"time": "s", "x": "m", "y": "m", "z": "m", "on": ""}  # of the columns
_LAYOUTS = (("time", "x", "y"), ("time", "x", "y", "z", "on"))  # of a file that does not name them
_JUMPING = 1e-4  # of the time for which a beam shines
_LEAST_SHARE = 1e-4  # of a step's heat that a place stands for: a jump within it needs no more of them
_INSIDE = 1e-9  # of the box: a place on its rim is inside


class BeamStop(NamedTuple):
    """Where a beam stands for a share of a step. time: s; place: x, y, z, m; heading: unit vector x, y."""

    share: float
    time: float
    place: tuple[float, float, float]
    heading: tuple[float, float]


@dataclass(frozen=True, eq=False)
class BeamPath:
    """times: (n,) s; places: (n, 3) m; of each of the n - 1 legs between, on: whether the beam shines, and headings:
    (n - 1, 2), the direction of travel, kept from the leg before where the beam rests."""

    times: np.ndarray
    places: np.ndarray
    on: np.ndarray
    headings: np.ndarray

    @cached_property
    def lengths(self) -> np.ndarray:
        """(n - 1,) of each leg, m."""
        return np.asarray(np.linalg.norm(np.diff(self.places, axis=0), axis=1))

    @cached_property
    def speeds(self) -> np.ndarray:
        """(n - 1,) of each leg, m/s; 0 with the beam off."""
        return np.where(self.on, self.lengths / np.diff(self.times), 0.0)

    @cached_property
    def top_speed(self) -> float:
        """The greatest speed of legs that count, m/s. The fastest, by which a beam jumps from place to place with its
        power on, do not: as far as it shines no more than a share _JUMPING of its time on them all together, they bring
        no more heat than that, and steps spread it over their way however long they are."""
        shining = np.where(self.speeds > 0.0, np.diff(self.times), 0.0)
        by_speed = np.argsort(-self.speeds, kind="stable")
        jumping = np.cumsum(shining[by_speed]) <= _JUMPING * float(np.diff(self.times)[self.on].sum())
        slower = self.speeds[by_speed][~jumping]
        return float(slower.max(initial=0.0))

    def speed(self, time: float) -> float:
        """The speed just after a time, m/s; 0 with the beam off."""
        leg = int(np.searchsorted(self.times, time, side="right")) - 1
        return float(self.speeds[leg]) if 0 <= leg < len(self.speeds) else 0.0

    @property
    def switches(self) -> list[float]:
        """Times at which the beam goes on or off, s."""
        on = np.concatenate(([False], self.on, [False]))
        return [float(time) for time in self.times[on[1:] != on[:-1]]]

    @property
    def turns(self) -> frozenset[float]:
        """Times at which the beam turns or changes its speed, and neither goes on or off nor ends a jump, s."""
        return frozenset(self.times.tolist()).difference(self.switches, self.landings)

    @property
    def landings(self) -> list[float]:
        """Times at which a jump of the beam ends, s."""
        return [float(time) for time in self.times[1:][self.on & (self.speeds > self.top_speed)]]

    def stops(self, start: float, dt: float, spacing: float) -> Iterator[BeamStop]:
        """The places that stand for the way of the beam from `start` on over `dt` s, at most `spacing` m apart or each
        for a share _LEAST_SHARE; where it is at `start`, if dt = 0. Their shares sum to the part of the time for which
        it is on."""
        first = int(np.searchsorted(self.times, start, side="right")) - 1
        if dt == 0.0:
            if 0 <= first < len(self.on) and self.on[first]:
                yield self._stop(first, start, 1.0)
            return
        for leg in range(max(first, 0), len(self.on)):
            low, high = max(start, self.times[leg]), min(start + dt, self.times[leg + 1])
            if self.times[leg] >= start + dt:
                return
            if self.on[leg] and low < high:
                inside = low == start and high == start + dt
                yield from self._stops_of_leg(leg, low, high, 1.0 if inside else (high - low) / dt, spacing)

    def _stops_of_leg(self, leg: int, low: float, high: float, share: float, spacing: float) -> Iterator[BeamStop]:
        whole = self.times[leg + 1] - self.times[leg]
        distance = float(self.lengths[leg]) * (high - low) / whole
        count = max(1, min(ceil(distance / spacing), ceil(share / _LEAST_SHARE)))
        for i in range(count):
            yield self._stop(leg, low + (high - low) * (i + 0.5) / count, share / count)

    def _stop(self, leg: int, time: float, share: float) -> BeamStop:
        along = (time - self.times[leg]) / (self.times[leg + 1] - self.times[leg])
        x, y, z = (self.places[leg] + along * (self.places[leg + 1] - self.places[leg])).tolist()
        ux, uy = self.headings[leg].tolist()
        return BeamStop(share, time, (x, y, z), (ux, uy))


def read_path(scenario: Scenario, key: Key, path: Path, grid: CellGrid) -> BeamPath:
    """Read the columns time [s], x, y, z [m], on; z is the top of the box and on is 1 where they are left out.

    A row's `on`, 1 or 0, holds until the next row. Raises `ScenarioError` as `read_columns` and `select_columns` do,
    and for fewer than two rows, times that do not increase, a path that begins after the end of the run, and places
    outside the box with the beam on.
    """
    columns = read_columns(scenario, key, path)
    named, end = select_columns(columns, _UNITS, needed=3, layouts=_LAYOUTS), scenario.time.end
    count = len(columns.values)
    if count < 2:
        raise columns.refuse(0, "expected at least two rows, found one", "a beam at rest has the same place twice")
    require_increasing(columns, named["time"])
    if named["time"][0] >= end:
        found = named["time"][0]
        raise columns.refuse(0, f"expected a path that begins before time.end = {end:g} (s), found {found:g}")
    on = named.get("on", np.ones(count))
    odd = np.flatnonzero((on != 0) & (on != 1))
    if odd.size:
        raise columns.refuse(int(odd[0]), f"expected on = 1 or 0, found {on[odd[0]]:g}")
    top = np.full(count, grid.span("z")[1])
    places = np.stack([named["x"], named["y"], named.get("z", top)], axis=1)
    _require_inside(columns, grid, places, on[:-1] != 0)
    return BeamPath(named["time"], places, on[:-1] != 0, _headings(places))


def _require_inside(columns: Columns, grid: CellGrid, places: np.ndarray, on: np.ndarray) -> None:
    """Each row at either end of a leg with the beam on."""
    used = np.concatenate((on, [False])) | np.concatenate(([False], on))
    for axis, values in zip(AXES, places.T, strict=True):
        low, high = grid.span(axis)
        margin = _INSIDE * (high - low)
        outside = np.flatnonzero(used & ((values < low - margin) | (values > high + margin)))
        if outside.size:
            row = int(outside[0])
            message = f"expected {axis} from {low:.9g} to {high:.9g} (m), found {values[row]:.9g}, outside the grid"
            raise columns.refuse(row, message, "on = 0 there, or a larger grid")


def _headings(places: np.ndarray) -> np.ndarray:
    """Unit vectors (n - 1, 2) of travel across the surface; along x before the first movement."""
    way = np.diff(places[:, :2], axis=0)
    lengths = np.hypot(way[:, 0], way[:, 1])
    headings = np.zeros_like(way)
    moving = np.flatnonzero(lengths > 0)
    last = np.array([1.0, 0.0]) if moving.size == 0 else way[moving[0]] / lengths[moving[0]]
    for leg in range(len(way)):
        if lengths[leg] > 0:
            last = way[leg] / lengths[leg]
        headings[leg] = last
    return headings
