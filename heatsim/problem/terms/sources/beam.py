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
from functools import lru_cache
from math import ceil, erf, erfc, exp, hypot, inf, sqrt
from typing import NamedTuple

import numpy as np

from heatsim.base.grid import AXES, CellGrid
from heatsim.problem.shapes.point_values import evaluate, require_at_least, require_finite
from heatsim.problem.terms.sources.beam_path import BeamPath, BeamStop, read_path
from heatsim.scenario import Expression, Scenario
from heatsim.scenario.sources import Beam, GaussianBeam

WindowSlices = tuple[slice, slice, slice]

_STOPS_A_RADIUS = 4
_RADII_A_STEP = 0.5
_ALIGNED = 1e-12  # of a heading: less beside an axis is rounding
LEAST_DOUBTED = 1e30  # W: a constant power below it is finite in any precision
_GOLDAK = 1.0 / sqrt(6.0)  # exp(-3 u^2) has this standard deviation


class BeamWindow(NamedTuple):
    """A box of cells: its first cell, (z, y, x), and the power density in each, (nz, ny, nx) W/m3."""

    corner: tuple[int, int, int]
    density: np.ndarray

    @property
    def cells(self) -> WindowSlices:
        """Where the window is in a field."""
        z, y, x = (slice(n, n + size) for n, size in zip(self.corner, self.density.shape, strict=True))
        return z, y, x


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
        beam rests, is off, or jumps from one place to another."""
        width = (
            self.beam.radius / 2.0 if isinstance(self.beam, GaussianBeam) else _GOLDAK * min(self.beam.cf, self.beam.cr)
        )
        speed = self.path.speed(time)
        return width / speed if 0.0 < speed <= self.path.top_speed else inf

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
    """The step in which no beam moves further than half its radius, s, but for jumps (`BeamPath.top_speed`); infinite
    without a moving beam."""
    speeds = [(each.radius, each.path.top_speed) for each in beams]
    return min((_RADII_A_STEP * radius / speed for radius, speed in speeds if speed), default=inf)


def path_times(beams: Sequence[MovingBeam]) -> frozenset[float]:
    """Times at which a beam turns, goes on or off, s."""
    return frozenset(time for each in beams for time in each.path.times.tolist())


def switches(beams: Sequence[MovingBeam]) -> frozenset[float]:
    """Those of `event_times` at which a beam goes on or off."""
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
    window = BeamWindow((z0, y0, x0), shares)
    return window._replace(density=shares / volumes(grid, window.cells))


def volumes(grid: CellGrid, cells: WindowSlices) -> np.ndarray:
    """Volumes of the cells of a window, m3."""
    z, y, x = (along[part] for along, part in zip(_measures(grid), cells, strict=True))
    return np.asarray(z[:, None, None] * (y[:, None] * x))


@lru_cache(maxsize=4)
def _faces(grid: CellGrid) -> dict[str, np.ndarray]:
    """Places of the cell faces along each axis, m: a run asks for them some times a step."""
    return {axis: grid.faces(axis) for axis in AXES}


@lru_cache(maxsize=4)
def _measures(grid: CellGrid) -> tuple[np.ndarray, ...]:
    """Measures of the cells along z, y and x."""
    return tuple(grid.measure(axis) for axis in "zyx")


def _absorbed(scenario: Scenario, moving: MovingBeam, time: float) -> float:
    beam = moving.beam
    key = ("sources", moving.source, "beam", "power")
    power = evaluate(beam.power, (1,), t=time)
    if isinstance(beam.power, Expression) or not 0.0 <= beam.power < LEAST_DOUBTED:
        require_finite(scenario, key, power, f"at t = {time:g} s")
        require_at_least(scenario, key, power, 0.0, "W", f"at t = {time:g} s")
    return float(power[0]) * (beam.absorptivity if isinstance(beam, GaussianBeam) else beam.efficiency)


def _depth(grid: CellGrid, beam: Beam, surface: float) -> CellWeights:
    faces = _faces(grid)["z"]
    surface = min(max(surface, faces[0] + 1e-9 * (faces[1] - faces[0])), faces[-1])  # at the bottom: into the last cell
    if isinstance(beam, GaussianBeam):
        return depth_weights(faces, surface, beam.depth, "exponential")
    return depth_weights(faces, surface, beam.b * _GOLDAK, "bell")


def _plane(grid: CellGrid, beam: Beam, stop: BeamStop) -> tuple[int, int, np.ndarray]:
    """First cell along y and x, and shares (rows, columns)."""
    x_faces, y_faces = _faces(grid)["x"], _faces(grid)["y"]
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
# integrals. Of a slanting one the integral along x is one, and that along y is done by points in smooth stretches, so
# that the shares change smoothly as the beam moves.


BELL_CUTOFF = 4.0  # standard deviations
_WHOLE = erf(BELL_CUTOFF / sqrt(2.0))
_POINTS, _PIECE = 5, 1.0  # of Gauss-Legendre, in pieces of so many standard deviations: right to 4e-10


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
    ahead, behind, root = bell.part_ahead, 1.0 - bell.part_ahead, sqrt(2.0)
    # One by one: windows have some cells along an axis, for which arrays would take several times as long.
    within = np.array(
        [
            ahead * erf(min(u / bell.ahead, BELL_CUTOFF) / root)
            if u >= 0.0
            else behind * erf(max(u / bell.behind, -BELL_CUTOFF) / root)
            for u in (faces[first : last + 1] - centre).tolist()
        ]
    )
    return CellWeights(first, (within[1:] - within[:-1]) / _WHOLE)


def depth_weights(faces: np.ndarray, surface: float, depth: float, profile: str) -> CellWeights:
    """Shares of the cells between `faces`, m, below a surface: "exponential", exp(-s/depth), as far down as ten depths,
    or "bell", exp(-s^2/(2 depth^2)). All that goes in stays in: the bottom of the box lets nothing through."""
    reach = 10.0 if profile == "exponential" else BELL_CUTOFF
    first, last = _cells(faces, surface - reach * depth, surface)
    s = np.clip((surface - faces[first : last + 1]) / depth, 0.0, reach)
    within = -np.expm1(-s) if profile == "exponential" else _erf(s / sqrt(2.0))
    values = within[:-1] - within[1:]
    return CellWeights(first, values / values.sum())


def oblique_weights(
    x_faces: np.ndarray, y_faces: np.ndarray, place: tuple[float, float], heading: tuple[float, float], bells: Bells
) -> tuple[int, int, np.ndarray]:
    """First cell along y and x, and shares (rows, columns), of bells along and across a heading that is not an axis.

    Each half bell is cut off where the box about its ellipse of BELL_CUTOFF standard deviations ends, and
    scaled to its power.
    """
    (ux, uy), along = heading, bells.along
    halves = [
        (HalfBell((ux, uy), along.ahead, bells.across), along.part_ahead),
        (HalfBell((-ux, -uy), along.behind, bells.across), 1.0 - along.part_ahead),
    ]
    reach = np.max([half.reach for half, _ in halves], axis=0)
    x0, x1 = _cells(x_faces, place[0] - reach[0], place[0] + reach[0])
    y0, y1 = _cells(y_faces, place[1] - reach[1], place[1] + reach[1])
    x, y = x_faces[x0 : x1 + 1] - place[0], y_faces[y0 : y1 + 1] - place[1]
    return y0, x0, np.asarray(sum(part * half.weights(x, y) for half, part in halves))


class HalfBell(NamedTuple):
    """The half of a bell in two directions that lies ahead of its centre: heading, unit vector x, y; standard
    deviations along it and across it, m."""

    heading: tuple[float, float]
    along: float
    across: float

    @property
    def reach(self) -> tuple[float, float]:
        """Half the sizes along x and y of the box about the ellipse at which the bell is cut off, m."""
        ux, uy = self.heading
        return (
            BELL_CUTOFF * hypot(ux * self.along, uy * self.across),
            BELL_CUTOFF * hypot(uy * self.along, ux * self.across),
        )

    def weights(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Integrals (rows, columns) over cells between faces x and y, from the centre, m; those over all the plane sum
        to one."""
        places, widths = self._points(x, y)
        start, end, within = self._in_row(places, x)
        rows = np.searchsorted(y, places, side="right") - 1
        inside = (rows >= 0) & (rows < len(y) - 1)
        shares = np.zeros((len(y) - 1, len(x) - 1))
        np.add.at(shares, rows[inside], (widths[:, None] * np.diff(within, axis=1))[inside])
        return shares / float(widths @ (end - start))

    def _points(self, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gauss-Legendre points along y and their weights: some in each stretch in which integrals along x are smooth.
        Those have a kink where the line across the centre meets a face, and change as that goes along."""
        (ux, uy), reach = self.heading, self.reach
        size = _PIECE * min(self.along, self.across)
        pieces_x, pieces_y = (np.linspace(-far, far, ceil(2.0 * far / size) + 1) for far in reach)
        ends = np.concatenate((y, pieces_y, np.concatenate((x, pieces_x)) * (-ux / uy)))
        ends = np.unique(np.clip(ends, -reach[1], reach[1]))
        nodes, weights = np.polynomial.legendre.leggauss(_POINTS)
        half = 0.5 * np.diff(ends)[:, None]
        return (ends[:-1, None] + half * (nodes + 1.0)).reshape(-1), (half * weights).reshape(-1)

    def _in_row(self, y: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The integral along x, up to a constant, at places y (p,): from where the half bell begins, to where it ends,
        and to the faces x between (p, faces).

        The exponent is -(A (x + y B/A)^2 + y^2/(A along^2 across^2))/2 with the A and B of the ellipse.
        """
        (ux, uy), (reach, _) = self.heading, self.reach
        A = (ux / self.along) ** 2 + (uy / self.across) ** 2
        B = ux * uy * (self.along**-2 - self.across**-2)
        line = np.clip(-y * uy / ux, -reach, reach)
        low, high = (line, np.full_like(y, reach)) if ux > 0 else (np.full_like(y, -reach), line)
        height = np.exp(-0.5 * (y / (self.along * self.across)) ** 2 / A)
        start, end = (height * _erf(sqrt(A / 2.0) * (at + y * B / A)) for at in (low, high))
        within = np.where(x < low[:, None], start[:, None], end[:, None])
        row, face = np.nonzero((x >= low[:, None]) & (x <= high[:, None]))
        within[row, face] = height[row] * _erf(sqrt(A / 2.0) * (x[face] + y[row] * B / A))
        return start, end, within


def _cells(faces: np.ndarray, low: float, high: float) -> tuple[int, int]:
    """First cell that a stretch touches, and the one after the last; at least one cell, at an end of the axis."""
    first = min(max(int(faces.searchsorted(low, side="right")) - 1, 0), len(faces) - 2)
    last = min(max(int(faces.searchsorted(high, side="left")), first + 1), len(faces) - 1)
    return first, last
