"""The multigrid preconditioner: one cycle in float32.

    level 0   gx gy gz, 7 points          relax, restrict b - A x          add the correction, relax
    level 1   27 points, ~1/8 the cells       \\ relax, restrict ...        / add, relax
    ...                                            \\ dense inverse        /

Relaxation is Jacobi's with two factors, the reciprocals of the roots of the Chebyshev polynomial on the upper part of
the spectrum of D^-1 A, which the diagonal D = s + sum |g| keeps within 0..2; it needs no colours, gives the same bits
in any order of cells, and with the same factors before and after makes the cycle a symmetric operator (Adams, Brezina,
Hu and Tuminaro 2003). A level is coarsened only along axes that are strong in nearly as many cells as the strongest
(semicoarsening: thin cells, fins, layers). Coarse operators are Galerkin products, see `galerkin`. The coarsest level
has few cells and is solved by a dense inverse that is made once.

In a V cycle each level is visited once. Where pores are finer than a coarse cell the number of iterations then grows
with the number of levels. So a cycle may visit levels below the finest twice, the second time for what the first visit
leaves. The two corrections are weighted by the reciprocals of the roots of the Chebyshev polynomial on the part of the
spectrum that a single visit leaves (the AMLI cycle of Axelsson and Vassilevski, Numerische Mathematik 56 (1989) 157).
Uniform media do not need it: there it costs more than it gains.

Which cells of an axis a coarser level keeps, for any number of cells:

    no period, odd   C F C F C      every second cell is kept (C); the others (F) lie between two that are
    no period, even  C F C F C C    and the last one: both ends are kept, so a boundary face is never interpolated
    period, even     C F C F (C)    the last F lies between the last C and the first
    period, odd      C F C F C (C)

Coarse cell I stands for fine cell min(2 I, n - 1); F cell number j is fine cell 2 j + 1, between the coarse cells j and
j + 1. Any length shrinks to 2, where an axis stays.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from heatsim_kernels.device.cpu.compilation import jit
from heatsim_kernels.solver.operator import Operator, SolverKernels

Shape = tuple[int, int, int]
LATER = 13  # neighbours of 26 that come later in memory: a cell keeps the conductances to these
MAX_DIRECT_CELLS = 200  # cells that a level is solved directly from
SMOOTHED = (0.3, 2.0)  # part of the spectrum of D^-1 A that relaxation reduces
VISITED = (0.3, 1.2)  # part of the spectrum of a level's single cycle times A that two visits reduce
MANY_CELLS = 20_000  # of a level that is visited twice: below it the launches of a cycle cost more than its cells
FEW_CELLS = 0.3  # of the finer level, so that all visits to a level do not cost as much as one to the finer one
STRONG = 0.25  # share of a cell's largest conductance along an axis that counts as strong
STRONG_CELLS = 0.8  # an axis is coarsened if it has this share of the strong cells of the strongest axis
SWEEPS_A_CYCLE = 5  # passes over the conductances of level 0: four relaxations and a residual


class Coarsening(NamedTuple):
    """Coarsening of a grid along one axis; axis 0, 1, 2 is z, y, x of the arrays."""

    fine: Shape
    axis: int
    between: int  # number of F cells

    @property
    def coarse(self) -> Shape:
        """Shape of the coarse grid."""
        return _with(self.fine, self.axis, self.fine[self.axis] - self.between)

    @property
    def coarse_conductances(self) -> tuple[int, int, int, int]:
        """Shape of the conductances of the coarse grid: LATER a cell, those of a row side by side."""
        nz, ny, nx = self.coarse
        return nz, ny, LATER, nx

    @property
    def weights(self) -> Shape:
        """Shape of the F cells: of the weights that interpolate them."""
        return _with(self.fine, self.axis, self.between)


def coarsening(shape: Shape, axis: int, periodic: bool) -> Coarsening:
    """Keep every second cell along an axis (and the last one, see above)."""
    n = shape[axis]
    return Coarsening(shape, axis, n // 2 if periodic else (n - 1) // 2)


def _with(shape: Shape, axis: int, n: int) -> Shape:
    nz, ny, nx = (n if i == axis else size for i, size in enumerate(shape))
    return nz, ny, nx


def chebyshev_factors(spectrum: tuple[float, float], count: int = 2) -> tuple[np.float32, ...]:
    """Factors on B (b - A x) whose error polynomial is Chebyshev's on a part of the spectrum of B A."""
    low, high = spectrum
    angles = (2 * np.arange(count) + 1) * np.pi / (2 * count)
    return tuple((2 / (high + low + (high - low) * np.cos(angles))).astype(np.float32))


FACTORS = chebyshev_factors(SMOOTHED)
VISITS = chebyshev_factors(VISITED)
RESIDUAL = np.float32(0)  # the factor that stands for no relaxation: the residual itself


class GridLevel:
    """A grid of the hierarchy: its conductances, how it is coarsened, and room for fields."""

    def __init__(self, kernels: SolverKernels, shape: Shape, g: object) -> None:
        """g: (gx, gy, gz) on level 0, and 13 conductances a cell on the others."""
        self.shape, self.g = shape, g
        self.steps: list[tuple[Coarsening, object, object]] = []  # coarsening, weights, field on its coarse grid
        self.inverse: np.ndarray | None = None
        self.x, self.y, self.b = (kernels.field(shape) for _ in range(3))
        self.s = None
        self.total: object | None = None  # of two visits, and what the first one leaves; None for a single visit
        self.left: object | None = None

    def visit_twice(self, kernels: SolverKernels) -> None:
        """Make room for what two visits need."""
        self.total, self.left = kernels.field(self.shape), kernels.field(self.shape)


class Hierarchy:
    """Levels of an operator and the cycle over them; `kernels` is the module of a device, `cpu` or `cuda`."""

    def __init__(self, operator: Operator, kernels: SolverKernels, twice: bool = False) -> None:
        """twice: whether large levels are visited twice in a cycle."""
        self._kernels = kernels
        faces = tuple(kernels.single(g) for g in (operator.gx, operator.gy, operator.gz))
        self.levels = [GridLevel(kernels, operator.shape, faces)]
        while coarse := self._coarser(self.levels[-1], operator.periodic):
            cells, finer = np.prod(coarse.shape), np.prod(self.levels[-1].shape)
            if twice and MANY_CELLS <= cells <= FEW_CELLS * finer:
                coarse.visit_twice(kernels)
            self.levels.append(coarse)
        self._couplings = couplings(_on_host(self.levels[-1].g, kernels), self.levels[-1].shape)
        self.set_outside(operator)

    @property
    def b(self) -> object:
        """What the cycle is to be applied to: fill it first."""
        return self.levels[0].b

    def set_outside(self, operator: Operator) -> None:
        """Take over another `s`; the conductances of all levels stay."""
        kernels = self._kernels
        self.levels[0].s = kernels.single(operator.s)
        for level, coarse in zip(self.levels, self.levels[1:], strict=False):
            if coarse.s is None:
                coarse.s = kernels.field(coarse.shape)
            self._restrict(level, level.s, coarse.s)
        last = self.levels[-1]
        last.inverse = kernels.put(inverse(self._couplings, kernels.get(last.s).reshape(-1)))

    def cycle(self) -> object:
        """One cycle: an approximation of A^-1 b, in a field that the next call overwrites."""
        return self._visit(0, self.b)

    def _visit(self, number: int, b: object) -> object:
        """x of a level, by relaxation and the levels below."""
        level, sweep = self.levels[number], self._kernels.sweep
        if number == len(self.levels) - 1:
            self._kernels.multiply(level.inverse, b, level.x)
            return level.x
        sweep(level.g, level.s, None, b, FACTORS[0], level.y)
        sweep(level.g, level.s, level.y, b, FACTORS[1], level.x)
        sweep(level.g, level.s, level.x, b, RESIDUAL, level.y)
        self._restrict(level, level.y, self.levels[number + 1].b)
        self._correct(level, self._visits(number + 1))
        sweep(level.g, level.s, level.x, b, FACTORS[1], level.y)
        sweep(level.g, level.s, level.y, b, FACTORS[0], level.x)
        return level.x

    def _visits(self, number: int) -> object:
        """x of a level below the finest, for its b."""
        level, kernels = self.levels[number], self._kernels
        if level.total is None:
            return self._visit(number, level.b)
        kernels.accumulate(self._visit(number, level.b), VISITS[0], False, level.total)
        kernels.sweep(level.g, level.s, level.total, level.b, RESIDUAL, level.left)
        kernels.accumulate(self._visit(number, level.left), VISITS[1], True, level.total)
        return level.total

    def _restrict(self, level: GridLevel, field: object, coarse: object) -> None:
        """From a level to the next, axis by axis."""
        for number, (step, weights, between) in enumerate(level.steps):
            target = coarse if number == len(level.steps) - 1 else between
            self._kernels.restrict(step, weights, field, target)
            field = target

    def _correct(self, level: GridLevel, field: object) -> None:
        """Add the interpolated field of the next level to x."""
        for number, (step, weights, _) in reversed(list(enumerate(level.steps))):
            target = level.x if number == 0 else level.steps[number - 1][2]
            self._kernels.interpolate(step, weights, field, number == 0, target)
            field = target

    def _coarser(self, level: GridLevel, periodic: tuple[bool, bool, bool]) -> GridLevel | None:
        """The next level, one axis after another; None if this one can be solved directly."""
        kernels = self._kernels
        if int(np.prod(level.shape)) <= MAX_DIRECT_CELLS:
            return None
        strong = kernels.strong_cells(level.g, level.shape, STRONG)
        axes = [axis for axis in (2, 1, 0) if level.shape[axis] > 2 and strong[axis] >= STRONG_CELLS * strong.max()]
        if not axes:
            return None
        shape, g = level.shape, level.g
        for axis in axes:
            step = coarsening(shape, axis, periodic[2 - axis])
            weights, coarse = kernels.weights(step), kernels.field(step.coarse_conductances)
            kernels.interpolation(step, g, weights)
            kernels.galerkin(step, g, weights, coarse)
            level.steps.append((step, weights, None if axis == axes[-1] else kernels.field(step.coarse)))
            shape, g = step.coarse, coarse
        return GridLevel(kernels, shape, g)


def _on_host(g: Any, kernels: SolverKernels) -> Any:
    return tuple(map(kernels.get, g)) if isinstance(g, tuple) else kernels.get(g)


def couplings(g: tuple[np.ndarray, np.ndarray, np.ndarray] | np.ndarray, shape: Shape) -> np.ndarray:
    """(n, n) float64 conductances between the cells of a small level, from those of its faces or the 13 a cell.

    The diagonal has those that lead round an axis of one cell, and means nothing.
    """
    index = np.arange(np.prod(shape)).reshape(shape)
    between = np.zeros((index.size, index.size))
    faces = zip((1, 3, 9), g, strict=True) if isinstance(g, tuple) else enumerate(np.moveaxis(g, 2, 0), 1)
    for number, conductance in faces:  # number = 9 dz + 3 dy + dx
        dz, rest = divmod(number + 4, 9)
        dy, dx = divmod(rest, 3)
        there = np.roll(index, (-dz, 1 - dy, 1 - dx), (0, 1, 2))
        np.add.at(between, (index, there), conductance)
        np.add.at(between, (there, index), conductance)
    return between


def inverse(between: np.ndarray, s: np.ndarray) -> np.ndarray:
    """(n, n) float64 inverse of a level's operator, of its `couplings` and the sums s (n,) of its rows.

    The diagonal is taken from the row sums: a small `s` is not lost beside large conductances. In float64, since where
    `s` is small the inverse is nearly one large constant, and float32 has no room for what differs beside it.
    """
    matrix = -between
    np.fill_diagonal(matrix, 0.0)
    np.fill_diagonal(matrix, s - matrix.sum(axis=1))
    _invert(matrix)
    return matrix


@jit
def _invert(m: np.ndarray) -> None:
    """Gauss-Jordan elimination in place, in a fixed order; a pivot that rounding made zero counts as infinite."""
    for k in range(m.shape[0]):
        scale = 1.0 / m[k, k] if m[k, k] > 0 else 0.0
        m[k, k] = 1.0
        for j in range(m.shape[0]):
            m[k, j] *= scale
        for i in range(m.shape[0]):
            factor = m[i, k]
            if i != k and factor != 0:
                m[i, k] = 0.0
                for j in range(m.shape[0]):
                    m[i, j] -= factor * m[k, j]


@jit
def multiply(matrix: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
    """out = matrix b."""
    for i in range(matrix.shape[0]):
        total = 0.0
        for j in range(matrix.shape[0]):
            total += matrix[i, j] * b[j]
        out[i] = total
