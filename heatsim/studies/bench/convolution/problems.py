"""What is verified and timed: fields under masks, images under filter banks, ReLU and max pooling.

Peers build the same problems in processes of their own, where there may be nothing but NumPy: no more is needed here.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any, NamedTuple

import numpy as np

PLANES, LINES, SEPARABLE, BANKS, RELU, POOL = "planes", "lines", "separable", "banks", "relu", "pool"
FAMILIES = (PLANES, LINES, SEPARABLE, BANKS, RELU, POOL)
SIGMA = 2.0  # of the Gaussian that is timed, cells
MASK_RADIUS_SIGMAS = 4  # of its mask, in sigma
TIMED = 0  # the seed of what is timed: smoothing masks; other seeds give masks without any symmetry
BANK_SIDE = 512  # cells a side of the images that banks are timed on

# Input channels, filters and mask of the banks that are timed.
BANKS_TIMED = {
    "cpu": ((4, 16, 3), (4, 64, 3), (4, 16, 5), (4, 64, 5)),
    "cuda": (
        (4, 16, 3), (4, 32, 3), (4, 64, 3), (4, 16, 5), (4, 32, 5), (4, 64, 5),
        (4, 32, 9), (1, 32, 5), (16, 32, 5),
    ),
}  # fmt: skip


class ConvolutionProblem(NamedTuple):
    """A field and what is done to it.

    shape: of the input, (rows, columns), with planes before where there are any; (batch, channels, rows, columns) for
    banks. mask: (rows, columns) of a mask, a filter or a pooling window, or (width,) along an axis; () for ReLU.
    edge: what stands beyond a field's ends; banks are padded with half a mask of zeros.
    """

    family: str
    shape: tuple[int, ...]
    precision: str
    mask: tuple[int, ...] = ()
    axis: int = -1
    edge: str = "reflect"
    filters: int = 0
    stride: int = 1
    seed: int = TIMED

    @classmethod
    def of(cls, fields: dict[str, Any]) -> ConvolutionProblem:
        """From JSON."""
        found: dict[str, Any] = {k: tuple(value) if isinstance(value, list) else value for k, value in fields.items()}
        return cls(**found)

    @property
    def padding(self) -> tuple[int, int]:
        """Rows and columns of zeros around a bank's images."""
        return self.mask[0] // 2, self.mask[1] // 2

    @property
    def output(self) -> tuple[int, ...]:
        """Shape of the result."""
        if self.family == POOL:
            return (*self.shape[:-2], *(n // m for n, m in zip(self.shape[-2:], self.mask, strict=True)))
        if self.family == BANKS:
            sizes = zip(self.shape[2:], self.mask, self.padding, strict=True)
            return (self.shape[0], self.filters, *((n + 2 * p - m) // self.stride + 1 for n, m, p in sizes))
        return self.shape

    @property
    def bytes(self) -> int:
        """Bytes that must move: the input read once, the result written once."""
        return (prod(self.shape) + prod(self.output)) * np.dtype(self.precision).itemsize

    @property
    def operations(self) -> int:
        """Multiplications and additions of a result; none for ReLU and pooling, which compare."""
        times = {PLANES: 1, LINES: 1, SEPARABLE: 2, BANKS: self.shape[1], RELU: 0, POOL: 0}
        return 2 * times[self.family] * prod(self.mask)

    def __str__(self) -> str:
        """In a few words, for what is timed: fields of two axes."""
        size = " x ".join(map(str, self.mask))
        return {
            PLANES: size,
            LINES: f"{size} along {'rows' if self.axis else 'columns'}",
            SEPARABLE: f"Gaussian, {size} + {size}",
            BANKS: f"bank {self.shape[-3] if self.filters else 0} to {self.filters}, {size}",
            RELU: "ReLU",
            POOL: f"max pool {size}",
        }[self.family]


def data(problem: ConvolutionProblem) -> tuple[np.ndarray, np.ndarray]:
    """The input and the weights, of the problem's type; all processes make the same."""
    field = np.random.default_rng(problem.seed).random(problem.shape, dtype=problem.precision)  # type: ignore[call-overload]
    return field, weights(problem).astype(problem.precision)


def weights(problem: ConvolutionProblem) -> np.ndarray:
    """The mask, or the filters (filters, channels, rows, columns), float64; the same whatever the size of the field, as
    some GPU kernels are compiled for their mask."""
    if problem.seed == TIMED and problem.family in (LINES, SEPARABLE):
        x = np.arange(problem.mask[0]) - problem.mask[0] // 2
        gauss = np.exp(-0.5 * (x / SIGMA) ** 2)
        return np.asarray(gauss / gauss.sum())
    shape = (problem.filters, problem.shape[1], *problem.mask) if problem.family == BANKS else problem.mask
    return np.random.default_rng((problem.seed, *problem.mask)).uniform(-1, 1, shape)


def timed(
    families: tuple[str, ...], size: tuple[int, int], precision: str, masks: tuple[tuple[int, int], ...], device: str
) -> Iterator[ConvolutionProblem]:
    """What is timed on a field of (rows, columns)."""
    image = (min(BANK_SIDE, size[0]), min(BANK_SIDE, size[1]))
    found = [ConvolutionProblem(PLANES, size, precision, mask) for mask in masks]
    found += [ConvolutionProblem(LINES, size, precision, (5,), axis) for axis in (1, 0)]
    found += [ConvolutionProblem(SEPARABLE, size, precision, (1 + 2 * int(MASK_RADIUS_SIGMAS * SIGMA),))]
    for channels, filters, m in BANKS_TIMED[device]:
        found.append(ConvolutionProblem(BANKS, (1, channels, *image), precision, (m, m), edge="zero", filters=filters))
    found += [ConvolutionProblem(RELU, size, precision), ConvolutionProblem(POOL, size, precision, (2, 2))]
    return (each for each in found if each.family in families)


# Rows and columns: one cell an axis, primes, multiples of vectors and tiles and their neighbours, less than a mask.
SHAPES: tuple[tuple[int, ...], ...] = ((1, 1), (1, 61), (47, 1), (2, 3), (31, 64), (33, 127), (70, 269))
MASKS = (((3, 3), "reflect"), ((5, 7), "zero"), ((7, 1), "wrap"), ((1, 9), "nearest"), ((9, 9), "reflect"))
WIDTHS = ((5, "reflect"), (3, "zero"), (9, "wrap"), (17, "nearest"))
# Shape of the images, mask, filters, stride.
BANKS_VERIFIED = (
    ((2, 3, 37, 61), (3, 3), 5, 1), ((1, 4, 33, 130), (5, 5), 16, 1), ((3, 2, 41, 29), (5, 3), 17, 2),
    ((1, 1, 70, 65), (9, 9), 64, 1),
)  # fmt: skip


def cases(family: str, precision: str) -> list[ConvolutionProblem]:
    """What the kernels of a family are verified on: awkward shapes, every edge, masks of all forms."""
    if family == PLANES:
        planes = [*SHAPES, (3, 33, 61)]
        return [ConvolutionProblem(family, shape, precision, m, edge=edge) for m, edge in MASKS for shape in planes]
    if family in (LINES, SEPARABLE):
        shapes: list[tuple[tuple[int, ...], int]] = [
            (shape, axis) for shape in SHAPES for axis in ((0, 1) if family == LINES else (1,))
        ]
        shapes += [((5, 33, 61), axis) for axis in ((0, 1, 2) if family == LINES else (2,))]
        return [
            ConvolutionProblem(family, s, precision, (w,), axis, edge, seed=3)
            for w, edge in WIDTHS
            for s, axis in shapes
        ]
    if family == BANKS:
        return [
            ConvolutionProblem(family, shape, precision, mask, edge="zero", filters=filters, stride=stride, seed=4)
            for shape, mask, filters, stride in BANKS_VERIFIED
        ]
    window = (2, 2) if family == POOL else ()
    return [ConvolutionProblem(family, (2, 3, *shape), precision, window, seed=5) for shape in SHAPES if min(shape) > 1]


# The results that kernels must give, in plain NumPy and float64, written from the definitions and from no kernel.


_PADS: dict[str, Any] = {"zero": "constant", "nearest": "edge", "reflect": "symmetric", "wrap": "wrap"}


class ExpectedResult(NamedTuple):
    """A result and the sum of the magnitudes that were added up for it, to which rounding is in proportion."""

    values: np.ndarray
    magnitudes: np.ndarray


def expected_result(problem: ConvolutionProblem, field: np.ndarray, weights: np.ndarray) -> ExpectedResult:
    """The result of a problem for an input and weights of its shapes."""
    field, weights = field.astype(np.float64), weights.astype(np.float64)
    if problem.family in (RELU, POOL):
        values = np.maximum(field, 0) if problem.family == RELU else _pooled(field, problem.mask)
        return ExpectedResult(values, np.zeros_like(values))
    compute = {PLANES: _planes, LINES: _lines, SEPARABLE: _separable, BANKS: _bank}[problem.family]
    return ExpectedResult(compute(problem, field, weights), compute(problem, np.abs(field), np.abs(weights)))


def flaw(problem: ConvolutionProblem, found: np.ndarray, right: ExpectedResult, roundings: float) -> str:
    """What is wrong with a result, or nothing; `roundings` is in rounding units of the magnitudes, times the square
    root of the number of products, as errors add up that are independent."""
    if found.shape != right.values.shape or found.dtype != np.dtype(problem.precision):
        return f"the result is {found.dtype} {found.shape}, not {problem.precision} {right.values.shape}"
    units = roundings * max(1.0, problem.operations / 2) ** 0.5
    allowed = units * np.finfo(found.dtype).eps * right.magnitudes
    wrong = ~(np.abs(found - right.values) <= allowed)
    if not wrong.any():
        return ""
    where = tuple(int(i) for i in np.argwhere(wrong)[0])
    return (
        f"{int(wrong.sum())} of {found.size} values differ, the first at {where}: "
        f"{found[where]!s} instead of {right.values[where]:.9g}"
    )


def _planes(problem: ConvolutionProblem, field: np.ndarray, mask: np.ndarray) -> np.ndarray:
    margins = [(0, 0)] * (field.ndim - 2) + [(n // 2, n // 2) for n in mask.shape]
    padded = np.pad(field, margins, mode=_PADS[problem.edge])
    windows = np.lib.stride_tricks.sliding_window_view(padded, mask.shape, axis=(-2, -1))
    return np.asarray(np.einsum("...jk,jk->...", windows, mask[::-1, ::-1]))


def _lines(problem: ConvolutionProblem, field: np.ndarray, mask: np.ndarray) -> np.ndarray:
    along_rows = _planes(problem, np.moveaxis(field, problem.axis, -1), mask[None])
    return np.moveaxis(along_rows, -1, problem.axis)


def _separable(problem: ConvolutionProblem, field: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Along the last two axes."""
    return _planes(problem, _planes(problem, field, mask[:, None]), mask[None])


def _bank(problem: ConvolutionProblem, images: np.ndarray, filters: np.ndarray) -> np.ndarray:
    margins = ((0, 0), (0, 0), *((p, p) for p in problem.padding))
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(images, margins), problem.mask, axis=(2, 3))
    strided = windows[:, :, :: problem.stride, :: problem.stride]
    return np.asarray(np.einsum("bcyxjk,fcjk->bfyx", strided, filters, optimize=True))


def _pooled(field: np.ndarray, window: tuple[int, ...]) -> np.ndarray:
    """Whole windows, side by side."""
    (rows, columns), (high, wide) = (n // m for n, m in zip(field.shape[-2:], window, strict=True)), window
    whole = field[..., : rows * high, : columns * wide]
    return np.asarray(whole.reshape(*field.shape[:-2], rows, high, columns, wide).max((-3, -1)))


CORNER = 96  # cells a side of the corner of a large input that a result is checked by
INSIDE = 40  # of its rows and columns, which no mask sees beyond


def corner_flaw(
    problem: ConvolutionProblem, field: np.ndarray, weights: np.ndarray, found: np.ndarray, roundings: float
) -> str:
    """What is wrong with the first corner of a large result, or nothing."""
    cut = np.s_[..., :CORNER, :CORNER]
    small = field[cut]
    right = expected_result(problem._replace(shape=small.shape), small, weights)
    inside = np.s_[..., :INSIDE, :INSIDE] if prod(field.shape[-2:]) > prod(small.shape[-2:]) else np.s_[...]
    return flaw(problem, found[inside], ExpectedResult(right.values[inside], right.magnitudes[inside]), roundings)
