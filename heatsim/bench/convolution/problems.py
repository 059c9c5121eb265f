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
REACH = 4  # of its mask, in sigma
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


class Problem(NamedTuple):
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
    def of(cls, fields: dict[str, Any]) -> Problem:
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
        taps = {PLANES: prod(self.mask), LINES: prod(self.mask), SEPARABLE: 2 * prod(self.mask), RELU: 0, POOL: 0}
        return 2 * (self.shape[1] * prod(self.mask) if self.family == BANKS else taps[self.family])

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


def data(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """The input and the weights, of the problem's type; all processes make the same."""
    field = np.random.default_rng(problem.seed).random(problem.shape, dtype=problem.precision)  # type: ignore[call-overload]
    return field, weights(problem).astype(problem.precision)


def weights(problem: Problem) -> np.ndarray:
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
) -> Iterator[Problem]:
    """What is timed on a field of (rows, columns)."""
    image = (min(BANK_SIDE, size[0]), min(BANK_SIDE, size[1]))
    found = [Problem(PLANES, size, precision, mask) for mask in masks]
    found += [Problem(LINES, size, precision, (5,), axis) for axis in (1, 0)]
    found += [Problem(SEPARABLE, size, precision, (1 + 2 * int(REACH * SIGMA),))]
    for channels, filters, m in BANKS_TIMED[device]:
        found.append(Problem(BANKS, (1, channels, *image), precision, (m, m), edge="zero", filters=filters))
    found += [Problem(RELU, size, precision), Problem(POOL, size, precision, (2, 2))]
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


def cases(family: str, precision: str) -> list[Problem]:
    """What the kernels of a family are verified on: awkward shapes, every edge, masks of all forms."""
    if family == PLANES:
        planes = [*SHAPES, (3, 33, 61)]
        return [Problem(family, shape, precision, m, edge=edge) for m, edge in MASKS for shape in planes]
    if family in (LINES, SEPARABLE):
        shapes: list[tuple[tuple[int, ...], int]] = [
            (shape, axis) for shape in SHAPES for axis in ((0, 1) if family == LINES else (1,))
        ]
        shapes += [((5, 33, 61), axis) for axis in ((0, 1, 2) if family == LINES else (2,))]
        return [Problem(family, s, precision, (w,), axis, edge, seed=3) for w, edge in WIDTHS for s, axis in shapes]
    if family == BANKS:
        return [
            Problem(family, shape, precision, mask, edge="zero", filters=filters, stride=stride, seed=4)
            for shape, mask, filters, stride in BANKS_VERIFIED
        ]
    window = (2, 2) if family == POOL else ()
    return [Problem(family, (2, 3, *shape), precision, window, seed=5) for shape in SHAPES if min(shape) > 1]
