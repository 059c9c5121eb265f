"""Multigrid of a grid whose planes lie on several processes: the kernels of the CPU, on the planes of one of them.

    level 0    0 1 2 3 4 5 6 7 | 8 9 10 11 12 13 14 15      two slabs of planes
    level 1    0   1   2   3   | 4    5     6     7
    level 2    0 1 2 3                                       few planes: every process has all of them

All processes do the same at once, as one would on the whole grid, and exchange what they need: planes beside the ends
of a slab after each pass, and the sums of `operations.Parts`. Slabs begin at multiples of 2^depth, so that each of the
first `depth` coarsenings along z keeps the same planes as in the whole grid. What comes of the last of them is brought
together. So each cell is computed from the same numbers as on one process, and so is each sum.

A process keeps two planes more below its own, so that the first one is one that is kept (see `hierarchy`), and three
above, so that the last one is: then the kernels find in this part the same pattern as in the whole grid. Two of them
and one are copies of a neighbour's; the rest is 0.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np

from heatsim_kernels.explicit.slabs import Slab, SlabLinks
from heatsim_kernels.solver import galerkin
from heatsim_kernels.solver.cpu import operations as cpu
from heatsim_kernels.solver.cpu.transfers import sample_conductances
from heatsim_kernels.solver.hierarchy import Coarsening, Shape

BELOW, ABOVE = 2, 1  # planes that are copies of those of neighbours
KEPT_ABOVE = 3
MAX_DEPTH = 4
LEAST_CELLS = 2**16  # of a grid whose planes are worth the exchange


class SolverLinks(SlabLinks, Protocol):
    """What the solver asks of the other processes besides."""

    def exchange(self, planes: np.ndarray, below: int, above: int) -> None:
        """Copy so many planes of the neighbours beside the own ones of a field, where it has neighbours."""

    def of_slabs(self, slabs: list[Slab]) -> SolverLinks:
        """Those of the same processes, of another grid."""

    def together(self, own: np.ndarray) -> np.ndarray:
        """What all processes have, one after another along the first axis."""

    @property
    def slabs(self) -> list[Slab]:
        """Those of all processes."""


class SlabPlan(NamedTuple):
    """The slabs of a grid, for a solver, and how many times it can be coarsened along z before it has to be brought
    together."""

    slabs: list[Slab]
    depth: int


def plan_slabs(cells: Shape, count: int, wraps: bool) -> SlabPlan | None:
    """Cut a grid of (nz, ny, nx) cells into `count` slabs; None where it has too few cells or planes for that."""
    nz, ny, nx = cells
    if nz * ny * nx < LEAST_CELLS or count < 2:
        return None
    for depth in range(MAX_DEPTH, 0, -1):
        unit = max(2**depth, cpu.planes_of_unit(cells))
        if nz // unit >= count and not (wraps and nz % 2**depth):
            inner = [unit * (nz // unit * number // count) for number in range(1, count)]
            return SlabPlan(_slabs(cells, [0, *inner, nz], wraps), depth)
    return None


def _slabs(cells: Shape, ends: list[int], wraps: bool) -> list[Slab]:
    """Slabs between these ends, with the planes that each keeps."""
    nz = cells[0]
    return [
        Slab(
            cells,
            first,
            end,
            BELOW if first > 0 or wraps else 0,
            KEPT_ABOVE if wraps else min(KEPT_ABOVE, nz - end),
            wraps,
        )
        for first, end in pairwise(ends)
    ]


class SlabLevel:
    """The planes of a level that this process keeps; depth: see `SlabPlan`."""

    def __init__(self, links: SolverLinks, depth: int) -> None:
        self.links, self.slab, self.depth = links, links.slab, depth
        self.planes = links.slab.cells[0]
        self.kept, self.own = links.slab.shape[0], links.slab.own
        self.start = links.slab.first - links.slab.below

    def coarser(self) -> SlabLevel | None:
        """The same where it is coarsened along z; None where every process then has all planes."""
        if self.depth == 1:
            return None
        between = self.planes // 2 if self.slab.wraps else (self.planes - 1) // 2
        cells = (self.planes - between, *self.slab.cells[1:])
        ends = [slab.first // 2 for slab in self.links.slabs] + [cells[0]]
        return SlabLevel(self.links.of_slabs(_slabs(cells, ends, self.slab.wraps)), self.depth - 1)

    def coarsening(self, coarsening: Coarsening) -> Coarsening:
        """That of the planes kept."""
        fine = (self.kept, *coarsening.fine[1:])
        return Coarsening(fine, coarsening.axis, coarsening.between if coarsening.axis else (self.kept - 1) // 2)

    @property
    def coarse_start(self) -> int:
        """The plane, coarsened along z, of the first one that is kept."""
        return self.start // 2

    @property
    def own_coarse(self) -> slice:
        """Which of the planes kept, coarsened along z, are its own."""
        last = self.slab.end == self.planes and not self.slab.wraps
        end = self.planes - (self.planes - 1) // 2 if last else self.slab.end // 2
        return slice(self.slab.first // 2 - self.coarse_start, end - self.coarse_start)


class SlabValues:
    """Values of a level: of the planes that a process keeps, or of all (level None). `shape` is that of the grid."""

    def __init__(self, values: np.ndarray, level: SlabLevel | None) -> None:
        self.values, self.level = values, level
        planes = values.shape[0] if level is None else level.planes
        self.shape = (planes, *values.shape[1:])

    @property
    def own(self) -> np.ndarray:
        """Those of the own planes."""
        return self.values if self.level is None else self.values[self.level.own]

    def refresh(self) -> None:
        """Copy the planes of the neighbours; what lies beyond is 0, so that no other number comes of it."""
        level = self.level
        if level is not None:
            level.links.exchange(self.values, BELOW, ABOVE)
            self.clear_beyond()

    def clear_beyond(self) -> None:
        """Make 0 of the planes that no copies are kept of."""
        if self.level is not None and self.level.slab.above:
            self.values[self.level.own.stop + ABOVE :] = 0

    def whole(self) -> np.ndarray:
        """Those of all planes."""
        return self.values if self.level is None else self.level.links.whole(self.own)

    def take(self, own: np.ndarray) -> None:
        """Take over values of the own planes, from which those of all planes are made where all are kept."""
        if self.level is not None:
            self.values[self.level.own] = own
            self.refresh()

    def coarse_part(self, finer: SlabLevel, coarsening: Coarsening) -> np.ndarray:
        """The planes, coarsened along z, of the part of a finer level that a process keeps."""
        count = coarsening.coarse[0]
        if self.level is not None:
            first = finer.coarse_start - self.level.start
            return self.values[first : first + count]
        if finer.coarse_start >= 0 and finer.coarse_start + count <= len(self.values):
            return self.values[finer.coarse_start : finer.coarse_start + count]
        return self.values.take(np.arange(finer.coarse_start, finer.coarse_start + count), axis=0, mode="wrap")


class SlabKernels:
    """What the solver needs, for a grid whose planes lie on several processes: see `operator.SolverKernels`."""

    def __init__(self, links: SolverLinks, depth: int) -> None:
        self._levels: dict[int, SlabLevel] = {}  # by the number of planes, which falls from level to level
        level: SlabLevel | None = SlabLevel(links, depth)
        while level is not None:
            self._levels[level.planes] = level
            level = level.coarser()

    def of_finest(self, kept: np.ndarray) -> SlabValues:
        """Values of the finest level, of the planes that this process keeps."""
        return SlabValues(kept, next(iter(self._levels.values())))

    def field(self, shape: tuple[int, ...], dtype: Any = np.float32) -> SlabValues:
        """A field of zeros."""
        level = self._levels.get(shape[0])
        return SlabValues(cpu.field((level.kept if level else shape[0], *shape[1:]), dtype), level)

    def weights(self, coarsening: Coarsening) -> np.ndarray:
        """Room for the weights of a coarsening, of the planes kept."""
        level = self._levels.get(coarsening.fine[0])
        return cpu.weights(level.coarsening(coarsening) if level else coarsening)

    def single(self, values: SlabValues) -> SlabValues:
        """The values in float32."""
        return SlabValues(cpu.single(values.values), values.level)

    def put(self, values: Any) -> Any:
        """Values as they are: they came to this process before."""
        return values

    def get(self, values: SlabValues) -> np.ndarray:
        """Values of all planes."""
        return values.whole()

    def assign(self, target: SlabValues, values: SlabValues | float) -> None:
        """target = values, rounded to its type."""
        target.values[...] = values.values if isinstance(values, SlabValues) else values

    def largest(self, values: SlabValues) -> float:
        """The largest of the values."""
        largest = np.array([values.own.max()])
        return float((largest if values.level is None else values.level.links.greatest(largest))[0])

    def sweep(
        self,
        g: Any,
        s: SlabValues,
        x: SlabValues | None,
        b: SlabValues | None,
        share: np.float32 | None,
        out: SlabValues,
    ) -> None:
        """One pass over a level: out = A x, b - A x, or x relaxed."""
        given, heat = None if x is None else x.values, None if b is None else b.values
        cpu.sweep(_of_planes(g), s.values, given, heat, share, out.values)
        if b is not None:
            out.refresh()

    def strong_cells(self, g: Any, shape: Shape, share: float) -> np.ndarray:
        """(3,) number of strong cells along z, y, x."""
        level = self._levels.get(shape[0])
        if level is None:
            return cpu.strong_cells(_of_planes(g), shape, share)
        return galerkin.strong_cells(shape, share, lambda axis, sample: _sampled(level, g, shape, axis, sample))

    def interpolation(self, coarsening: Coarsening, g: Any, weights: np.ndarray) -> None:
        """Fill the weights of a coarsening."""
        level = self._levels.get(coarsening.fine[0])
        cpu.interpolation(level.coarsening(coarsening) if level else coarsening, _of_planes(g), weights)

    def galerkin(self, coarsening: Coarsening, g: Any, weights: np.ndarray, out: SlabValues) -> None:
        """Fill the conductances `out` of the coarse grid."""
        level, part = self._levels.get(coarsening.fine[0]), _of_planes(g)
        if level is None or coarsening.axis:
            cpu.galerkin(level.coarsening(coarsening) if level else coarsening, part, weights, out.values)
            out.refresh()
            return
        here = level.coarsening(coarsening)
        found = cpu.field(here.coarse_conductances)
        cpu.galerkin(here, part, weights, found)
        self._take(level, out, found[level.own_coarse])

    def restrict(self, coarsening: Coarsening, weights: np.ndarray, fine: SlabValues, coarse: SlabValues) -> None:
        """coarse = transpose of the interpolation times fine."""
        level = fine.level
        if level is None or coarsening.axis:
            cpu.restrict(level.coarsening(coarsening) if level else coarsening, weights, fine.values, coarse.values)
            return
        here = level.coarsening(coarsening)
        found = cpu.field(here.coarse)
        cpu.restrict(here, weights, fine.values, found)
        self._take(level, coarse, found[level.own_coarse])

    def interpolate(
        self, coarsening: Coarsening, weights: np.ndarray, coarse: SlabValues, add: bool, fine: SlabValues
    ) -> None:
        """fine = interpolation of coarse, or with `add` what it was plus that."""
        level = fine.level
        if level is None:
            cpu.interpolate(coarsening, weights, coarse.values, add, fine.values)
            return
        here = level.coarsening(coarsening)
        part = coarse.values if coarsening.axis else coarse.coarse_part(level, here)
        cpu.interpolate(here, weights, part, add, fine.values)

    def accumulate(self, x: SlabValues, factor: np.float32, add: bool, total: SlabValues) -> None:
        """total = factor x, or with `add` what it was plus that."""
        cpu.accumulate(x.values, factor, add, total.values)

    def multiply(self, matrix: np.ndarray, b: SlabValues, out: SlabValues) -> None:
        """out = matrix b, small and dense."""
        if out.level is None:
            cpu.multiply(matrix, b.values, out.values)
            return
        found = np.empty(b.shape, out.values.dtype)
        cpu.multiply(matrix, np.ascontiguousarray(b.whole()), found)
        out.values[...] = found[out.level.slab.planes]

    def dot(self, x: SlabValues, y: SlabValues) -> float:
        """x . y."""
        return float(_of_all(x, cpu.dot_parts(x.own, y.own)).sum())

    def dots(self, z: SlabValues, r: SlabValues, q: SlabValues) -> tuple[float, float, float]:
        """z . r, z . q and the largest |z|."""
        return cpu.sum_of_dots(_of_all(r, cpu.dots_parts(z.own, r.own, q.own)))

    def step(
        self,
        alpha: float,
        scale: float,
        p: SlabValues,
        q: SlabValues,
        x: SlabValues,
        r: SlabValues,
        b: SlabValues,
    ) -> float:
        """x += alpha p, r -= alpha q, b = scale r in float32; returns r . r."""
        return float(_of_all(r, cpu.step_parts(alpha, scale, p.own, q.own, x.own, r.own, b.own)).sum())

    def direction(self, z: SlabValues, beta: float, unit: float, p: SlabValues) -> None:
        """p = unit z + beta p."""
        cpu.direction(z.values, beta, unit, p.values)

    def _take(self, level: SlabLevel, coarse: SlabValues, own: np.ndarray) -> None:
        """Put the own planes of a coarser level where they belong."""
        if coarse.level is not None:
            coarse.take(own)
        else:
            coarse.values[...] = level.links.together(own)


def _of_planes(g: Any) -> Any:
    """Conductances of the planes kept."""
    return tuple(each.values for each in g) if isinstance(g, tuple) else g.values


def _of_all(values: SlabValues, parts: np.ndarray) -> np.ndarray:
    """The sums of the parts of all processes, in order."""
    return parts if values.level is None else values.level.links.together(parts)


def _sampled(level: SlabLevel, g: Any, grid: Shape, axis: int, sample: galerkin.CellSample) -> np.ndarray:
    """The conductances of a sample of a whole level."""
    stride = sample.stride[0]
    first = -(-level.slab.first // stride)
    count = -(-level.slab.end // stride) - first
    here = galerkin.CellSample(
        (count, *sample.shape[1:]), (first * stride - level.start, *sample.start[1:]), sample.stride
    )
    shape = (level.kept, *grid[1:])
    return level.links.together(sample_conductances(_of_planes(g), shape, axis, here))
