"""Beams: moving sources, as the power of each cell in a window about them.

    z_max  ____|____      A beam shines down at (x, y) on the surface z of its path, and heats the cells below it.
              ( )         Gaussian: exp(-2 r^2/R^2) across, R the radius at 1/e2, and exp(-s/depth) with the depth s
               '          (Beer and Lambert's law). Goldak: exp(-3 (x/c)^2 - 3 (y/a)^2 - 3 (s/b)^2), c = cf ahead and
                          cr behind, with ff and fr of the power, ff + fr = 2 (J. Goldak, A. Chakravarti, M. Bibby,
                          A new finite element model for welding heat sources, Metall. Trans. B 15 (1984) 299-305).

Each cell has the exact integral of the density over it (`bell_weights`, `depth_weights`, `oblique_weights`), so the
power is that of the beam to rounding, however large the cells. What falls beside the box is lost; nothing goes through
its bottom. A step has the mean of the beam's way through it: places a quarter of its radius apart, each for its share
of the step.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import erf, erfc, exp, inf, sqrt
from typing import NamedTuple

import numpy as np

from heatsim.geometry.grid import CellGrid
from heatsim.geometry.point_values import evaluate, require_at_least, require_finite
from heatsim.physics.sources.beam_path import BeamPath, BeamStop, read_path
from heatsim.scenario import Scenario
from heatsim.scenario.sources import Beam, GaussianBeam

WindowSlices = tuple[slice, slice, slice]

_STOPS_A_RADIUS = 4
_RADII_A_STEP = 0.5
_ALIGNED = 1e-12  # of a heading: less beside an axis is rounding
_GOLDAK = 1.0 / sqrt(6.0)  # exp(-3 u^2) has this standard deviation


class BeamWindow(NamedTuple):
    """Cells z0 to z1, y0 to y1, x0 to x1, the last of each excluded; density: (z1 - z0, y1 - y0, x1 - x0) W/m3."""

    z0: int
    z1: int
    y0: int
    y1: int
    x0: int
    x1: int
    density: np.ndarray

    @property
    def cells(self) -> WindowSlices:
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


def make_beams(scenario: Scenario, grid: CellGrid) -> tuple[MovingBeam, ...]:
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


def path_times(beams: Sequence[MovingBeam]) -> frozenset[float]:
    """Times at which a beam turns, goes on or off, s."""
    return frozenset(time for each in beams for time in each.path.times.tolist())


def switches(beams: Sequence[MovingBeam]) -> frozenset[float]:
    """Those of `breaks` at which a beam goes on or off."""
    return frozenset(time for each in beams for time in each.path.switches)


def beam_windows(
    scenario: Scenario, grid: CellGrid, beams: Sequence[MovingBeam], start: float, dt: float
) -> Iterator[BeamWindow]:
    """The mean power density of all beams from `start` on over `dt` s, or at `start` if dt = 0, as windows to be added.

    Raises `ScenarioError` for a power that is not finite or below 0.
    """
    for each in beams:
        for stop in each.path.stops(start, dt, each.radius / _STOPS_A_RADIUS):
            power = stop.share * _absorbed(scenario, each, stop.time)
            window = beam_window(grid, each.beam, stop)
            if window.density.size:
                yield window._replace(density=power * window.density)


def require_powers(scenario: Scenario, beams: Sequence[MovingBeam], times: np.ndarray) -> None:
    """Raise `ScenarioError` for powers that are not good at one of some times, of beams that shine then."""
    for each in beams:
        for stop in (stop for time in times.tolist() for stop in each.path.stops(time, 0.0, each.radius)):
            _absorbed(scenario, each, stop.time)


def beam_window(grid: CellGrid, beam: Beam, stop: BeamStop) -> BeamWindow:
    """Power density of a beam of 1 W at a place, 1/m3."""
    z0, deep = _depth(grid, beam, stop.place[2])
    y0, x0, plane = _plane(grid, beam, stop)
    shares = deep[:, None, None] * plane
    z1, y1, x1 = (first + size for first, size in zip((z0, y0, x0), shares.shape, strict=True))
    window = BeamWindow(z0, z1, y0, y1, x0, x1, shares)
    return window._replace(density=shares / volumes(grid, window.cells))


def volumes(grid: CellGrid, cells: WindowSlices) -> np.ndarray:
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


def _depth(grid: CellGrid, beam: Beam, surface: float) -> CellWeights:
    faces = grid.faces("z")
    surface = min(max(surface, faces[0] + 1e-9 * (faces[1] - faces[0])), faces[-1])  # at the bottom: into the last cell
    if isinstance(beam, GaussianBeam):
        return depth_weights(faces, surface, beam.depth, "exponential")
    return depth_weights(faces, surface, beam.b * _GOLDAK, "bell")


def _plane(grid: CellGrid, beam: Beam, stop: BeamStop) -> tuple[int, int, np.ndarray]:
    """First cell along y and x, and shares (rows, columns)."""
    x_faces, y_faces = grid.faces("x"), grid.faces("y")
    x, y, _ = stop.place
    if isinstance(beam, GaussianBeam):
        across = Bell(beam.radius / 2.0, beam.radius / 2.0)
        return _product(bell_weights(y_faces, y, across), bell_weights(x_faces, x, across))
    along, beside = Bell(beam.cf * _GOLDAK, beam.cr * _GOLDAK, beam.ff / 2.0), beam.a * _GOLDAK
    across = Bell(beside, beside)
    ux, uy = stop.heading
    if abs(uy) < _ALIGNED:
        return _product(bell_weights(y_faces, y, across), bell_weights(x_faces, x, along if ux > 0 else along.turned()))
    if abs(ux) < _ALIGNED:
        return _product(bell_weights(y_faces, y, along if uy > 0 else along.turned()), bell_weights(x_faces, x, across))
    return oblique_weights(x_faces, y_faces, (x, y), (ux, uy), Bells(along, beside))


def _product(rows: CellWeights, columns: CellWeights) -> tuple[int, int, np.ndarray]:
    return rows.first, columns.first, np.outer(rows.values, columns.values)


# --- weights of cells: the exact integrals over each of a bell-shaped power; all weights sum to one
#
# A bell of standard deviation s is cut off at REACH s, beyond which 6e-5 of it lie, and scaled by what that leaves. So
# the shares of all cells sum to 1, and what is missing lies outside the box. The integral of exp(-u^2/2) is erf
# (Abramowitz and Stegun 1964, 7.1.1); a bell in two directions that are those of the axes is the product of two such
# integrals.


BELL_CUTOFF = 4.0  # standard deviations
_WHOLE = erf(BELL_CUTOFF / sqrt(2.0))
_MAX_PARTS = 64  # of a cell along an axis, for a slanting bell; cells a hundred times the size of it see a point


def _erf(values: np.ndarray) -> np.ndarray:
    return np.array([erf(value) for value in values.tolist()])


class CellWeights(NamedTuple):
    """first: cell of the first share along an axis; values: of that cell and those after it."""

    first: int
    values: np.ndarray


class Bell(NamedTuple):
    """Two half bells: the standard deviations ahead and behind, m, and the part of the power ahead."""

    ahead: float
    behind: float
    part_ahead: float = 0.5

    def turned(self) -> Bell:
        """The bell with ahead and behind exchanged."""
        return Bell(self.behind, self.ahead, 1.0 - self.part_ahead)


class Bells(NamedTuple):
    """Along a heading, and the standard deviation across it, m."""

    along: Bell
    across: float


def bell_weights(faces: np.ndarray, centre: float, bell: Bell) -> CellWeights:
    """Shares of the cells between `faces` (n + 1,), m; ahead is towards higher places."""
    first, last = _cells(faces, centre - BELL_CUTOFF * bell.behind, centre + BELL_CUTOFF * bell.ahead)
    u = faces[first : last + 1] - centre
    ahead = _erf(np.clip(u / bell.ahead, 0.0, BELL_CUTOFF) / sqrt(2.0))
    behind = _erf(np.clip(u / bell.behind, -BELL_CUTOFF, 0.0) / sqrt(2.0))
    return CellWeights(first, np.diff(bell.part_ahead * ahead + (1.0 - bell.part_ahead) * behind) / _WHOLE)


def depth_weights(faces: np.ndarray, surface: float, depth: float, profile: str) -> CellWeights:
    """Shares of the cells between `faces`, m, below a surface: "exponential", exp(-s/depth), as far down as ten depths,
    or "bell", exp(-s^2/(2 depth^2)). All that goes in stays in: the bottom of the box lets nothing through."""
    reach = 10.0 if profile == "exponential" else BELL_CUTOFF
    first, last = _cells(faces, surface - reach * depth, surface)
    s = np.clip((surface - faces[first : last + 1]) / depth, 0.0, reach)
    within = -np.expm1(-s) if profile == "exponential" else _erf(s / sqrt(2.0))
    values = -np.diff(within)
    return CellWeights(first, values / values.sum())


def oblique_weights(
    x_faces: np.ndarray, y_faces: np.ndarray, place: tuple[float, float], heading: tuple[float, float], bells: Bells
) -> tuple[int, int, np.ndarray]:
    """First cell along y and x, and shares (rows, columns), of bells along and across a heading that is not an axis.

    By Gauss-Legendre points in each cell, of which there are at least four a standard deviation; each half is scaled to
    its power, counting points beside the box.
    """
    along, across = bells
    least, most = min(along.ahead, along.behind, across), BELL_CUTOFF * max(along.ahead, along.behind, across)
    x0, xs, wx = _points(x_faces, place[0], most, least)
    y0, ys, wy = _points(y_faces, place[1], most, least)
    dx, dy = (xs - place[0])[None, None], (ys - place[1])[:, :, None, None]
    ahead = dx * heading[0] + dy * heading[1]
    beside = (dy * heading[0] - dx * heading[1]) / across
    shares = np.zeros((len(ys), len(xs)))
    halves = ((ahead >= 0, along.ahead, along.part_ahead), (ahead < 0, along.behind, 1.0 - along.part_ahead))
    for side, spread, part in halves:
        inside = side & (np.abs(ahead) <= BELL_CUTOFF * spread) & (np.abs(beside) <= BELL_CUTOFF)
        density = np.where(inside, np.exp(-0.5 * ((ahead / spread) ** 2 + beside**2)), 0.0)
        half = np.einsum("ab,cd,abcd->ac", wy, wx, density)
        shares += part * half / half.sum()
    rows, columns = _inside(y0, len(ys), len(y_faces) - 1), _inside(x0, len(xs), len(x_faces) - 1)
    return y0 + rows.start, x0 + columns.start, shares[rows, columns]


def _cells(faces: np.ndarray, low: float, high: float) -> tuple[int, int]:
    """First cell that a stretch touches, and the one after the last; at least one cell, at an end of the axis."""
    first = int(np.clip(np.searchsorted(faces, low, side="right") - 1, 0, len(faces) - 2))
    last = int(np.clip(np.searchsorted(faces, high, side="left"), first + 1, len(faces) - 1))
    return first, last


def _points(faces: np.ndarray, centre: float, reach: float, least: float) -> tuple[int, np.ndarray, np.ndarray]:
    """Number of the first cell, and Gauss-Legendre points and weights (cells, points) of all cells that reach to both
    sides of the centre, with cells beyond the box as large as the last: numbers below 0 or beyond the box."""
    first, last = _cells(faces, centre - reach, centre + reach)
    near = faces[first : last + 1]
    before = max(0, int(np.ceil((near[0] - (centre - reach)) / (near[1] - near[0]))))
    after = max(0, int(np.ceil((centre + reach - near[-1]) / (near[-1] - near[-2]))))
    low = near[0] - (near[1] - near[0]) * np.arange(before, 0, -1)
    high = near[-1] + (near[-1] - near[-2]) * np.arange(1, after + 1)
    all_faces = np.concatenate((low, near, high))
    size = np.diff(all_faces)
    parts = int(np.clip(np.ceil(size.max() / least), 1, _MAX_PARTS))
    nodes, weights = np.polynomial.legendre.leggauss(4)
    inner = ((np.arange(parts)[:, None] + 0.5 * (nodes + 1.0)) / parts).reshape(-1)
    points = all_faces[:-1, None] + size[:, None] * inner
    return first - before, points, size[:, None] * np.tile(weights, parts) / (2.0 * parts)


def _inside(first: int, count: int, cells: int) -> slice:
    """Which of `count` cells from `first` on are in the box."""
    return slice(max(0, -first), max(0, min(count, cells - first)))
