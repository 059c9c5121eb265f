"""Beams: moving sources, as the power of each cell in a window about them.

    z_max  ____|____      A beam shines down at (x, y) on the surface z of its path, and heats the cells below it.
              ( )         Gaussian: exp(-2 r^2/R^2) across, R the radius at 1/e2, and exp(-s/depth) with the depth s
               '          (Beer and Lambert's law). Goldak: exp(-3 (x/c)^2 - 3 (y/a)^2 - 3 (s/b)^2), c = cf ahead and
                          cr behind, with ff and fr of the power, ff + fr = 2 (J. Goldak, A. Chakravarti, M. Bibby,
                          A new finite element model for welding heat sources, Metall. Trans. B 15 (1984) 299-305).

Each cell has the exact integral of the density over it (`shares`), so the power is that of the beam to rounding,
however large the cells. What falls beside the box is lost; nothing goes through its bottom. A step has the mean of the
beam's way through it: places a quarter of its radius apart, each for its share of the step.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import erfc, exp, inf, sqrt
from typing import NamedTuple

import numpy as np

from heatsim.grid import Grid
from heatsim.problem.beam_paths import BeamPath, Stop, read_path
from heatsim.problem.shares import Bell, Bells, Line, bell_shares, depth_shares, slanting_shares
from heatsim.problem.values import evaluate, require_at_least, require_finite
from heatsim.scenario import Scenario
from heatsim.scenario.beams import Beam, GaussianBeam

Cells = tuple[slice, slice, slice]

_STOPS_A_RADIUS = 4
_RADII_A_STEP = 0.5
_ALIGNED = 1e-12  # of a heading: less beside an axis is rounding
_GOLDAK = 1.0 / sqrt(6.0)  # exp(-3 u^2) has this standard deviation


class Window(NamedTuple):
    """Cells z0 to z1, y0 to y1, x0 to x1, the last of each excluded; density: (z1 - z0, y1 - y0, x1 - x0) W/m3."""

    z0: int
    z1: int
    y0: int
    y1: int
    x0: int
    x1: int
    density: np.ndarray

    @property
    def cells(self) -> Cells:
        """Where the window is in a field."""
        return slice(self.z0, self.z1), slice(self.y0, self.y1), slice(self.x0, self.x1)


@dataclass(frozen=True)
class MovingBeam:
    """Source number `source`: a beam and its path."""

    source: int
    beam: Beam
    path: BeamPath

    @property
    def radius(self) -> float:
        """The least half width of the beam across the surface, m."""
        return self.beam.radius if isinstance(self.beam, GaussianBeam) else min(self.beam.a, self.beam.cf, self.beam.cr)

    def passage(self, time: float) -> float:
        """What a place sees of the beam as it passes at a time, as a standard deviation in time, s; infinite where the
        beam rests or is off."""
        width = (
            self.beam.radius / 2.0 if isinstance(self.beam, GaussianBeam) else _GOLDAK * min(self.beam.cf, self.beam.cr)
        )
        speed = self.path.speed(time)
        return width / speed if speed else inf

    def beyond(self, depth: float) -> float:
        """Part of the power that a body without end would take up deeper than `depth` m."""
        if isinstance(self.beam, GaussianBeam):
            return exp(-depth / self.beam.depth)
        return erfc(sqrt(3.0) * depth / self.beam.b)


def make_beams(scenario: Scenario, grid: Grid) -> tuple[MovingBeam, ...]:
    """The beams among the sources. Raises `ScenarioError` as `read_path` does."""
    return tuple(
        MovingBeam(n, source.beam, read_path(scenario, ("sources", n, "beam", "path"), source.beam.path, grid))
        for n, source in enumerate(scenario.sources)
        if source.beam is not None
    )


def longest_step(beams: Sequence[MovingBeam]) -> float:
    """The step in which no beam moves further than half its radius, s; infinite without a moving beam."""
    speeds = [(each.radius, float(each.path.speeds.max())) for each in beams]
    return min((_RADII_A_STEP * radius / speed for radius, speed in speeds if speed), default=inf)


def breaks(beams: Sequence[MovingBeam]) -> frozenset[float]:
    """Times at which a beam turns, goes on or off, s."""
    return frozenset(time for each in beams for time in each.path.times.tolist())


def switches(beams: Sequence[MovingBeam]) -> frozenset[float]:
    """Those of `breaks` at which a beam goes on or off."""
    return frozenset(time for each in beams for time in each.path.switches)


def windows(scenario: Scenario, grid: Grid, beams: Sequence[MovingBeam], start: float, dt: float) -> Iterator[Window]:
    """The mean power density of all beams from `start` on over `dt` s, or at `start` if dt = 0, as windows to be added.

    Raises `ScenarioError` for a power that is not finite or below 0.
    """
    for each in beams:
        for stop in each.path.stops(start, dt, each.radius / _STOPS_A_RADIUS):
            power = stop.share * _absorbed(scenario, each, stop.time)
            window = window_of(grid, each.beam, stop)
            if window.density.size:
                yield window._replace(density=power * window.density)


def require_powers(scenario: Scenario, beams: Sequence[MovingBeam], times: np.ndarray) -> None:
    """Raise `ScenarioError` for powers that are not good at one of some times, of beams that shine then."""
    for each in beams:
        for stop in (stop for time in times.tolist() for stop in each.path.stops(time, 0.0, each.radius)):
            _absorbed(scenario, each, stop.time)


def window_of(grid: Grid, beam: Beam, stop: Stop) -> Window:
    """Power density of a beam of 1 W at a place, 1/m3."""
    z0, deep = _depth(grid, beam, stop.place[2])
    y0, x0, plane = _plane(grid, beam, stop)
    shares = deep[:, None, None] * plane
    z1, y1, x1 = (first + size for first, size in zip((z0, y0, x0), shares.shape, strict=True))
    window = Window(z0, z1, y0, y1, x0, x1, shares)
    return window._replace(density=shares / volumes(grid, window.cells))


def volumes(grid: Grid, cells: Cells) -> np.ndarray:
    """Volumes of the cells of a window, m3."""
    z, y, x = (grid.measure(axis)[part] for axis, part in zip("zyx", cells, strict=True))
    return np.asarray(z[:, None, None] * (y[:, None] * x))


def _absorbed(scenario: Scenario, moving: MovingBeam, time: float) -> float:
    beam = moving.beam
    key = ("sources", moving.source, "beam", "power")
    power = evaluate(beam.power, (1,), t=time)
    require_finite(scenario, key, power, f"at t = {time:g} s")
    require_at_least(scenario, key, power, 0.0, "W", f"at t = {time:g} s")
    return float(power[0]) * (beam.absorptivity if isinstance(beam, GaussianBeam) else beam.efficiency)


def _depth(grid: Grid, beam: Beam, surface: float) -> Line:
    faces = grid.faces("z")
    surface = min(max(surface, faces[0] + 1e-9 * (faces[1] - faces[0])), faces[-1])  # at the bottom: into the last cell
    if isinstance(beam, GaussianBeam):
        return depth_shares(faces, surface, beam.depth, "exponential")
    return depth_shares(faces, surface, beam.b * _GOLDAK, "bell")


def _plane(grid: Grid, beam: Beam, stop: Stop) -> tuple[int, int, np.ndarray]:
    """First cell along y and x, and shares (rows, columns)."""
    x_faces, y_faces = grid.faces("x"), grid.faces("y")
    x, y, _ = stop.place
    if isinstance(beam, GaussianBeam):
        across = Bell(beam.radius / 2.0, beam.radius / 2.0)
        return _product(bell_shares(y_faces, y, across), bell_shares(x_faces, x, across))
    along, beside = Bell(beam.cf * _GOLDAK, beam.cr * _GOLDAK, beam.ff / 2.0), beam.a * _GOLDAK
    across = Bell(beside, beside)
    ux, uy = stop.heading
    if abs(uy) < _ALIGNED:
        return _product(bell_shares(y_faces, y, across), bell_shares(x_faces, x, along if ux > 0 else along.turned()))
    if abs(ux) < _ALIGNED:
        return _product(bell_shares(y_faces, y, along if uy > 0 else along.turned()), bell_shares(x_faces, x, across))
    return slanting_shares(x_faces, y_faces, (x, y), (ux, uy), Bells(along, beside))


def _product(rows: Line, columns: Line) -> tuple[int, int, np.ndarray]:
    return rows.first, columns.first, np.outer(rows.values, columns.values)
