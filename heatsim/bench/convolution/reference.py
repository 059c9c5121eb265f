"""The results that kernels must give, in plain NumPy and float64, written from the definitions and from no kernel."""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import numpy as np

from heatsim.bench.convolution.problems import BANKS, LINES, PLANES, POOL, RELU, SEPARABLE, Problem

_PADS: dict[str, Any] = {"zero": "constant", "nearest": "edge", "reflect": "symmetric", "wrap": "wrap"}


class Expected(NamedTuple):
    """A result and the sum of the magnitudes that were added up for it, to which rounding is in proportion."""

    values: np.ndarray
    magnitudes: np.ndarray


def expected(problem: Problem, field: np.ndarray, weights: np.ndarray) -> Expected:
    """The result of a problem for an input and weights of its shapes."""
    field, weights = field.astype(np.float64), weights.astype(np.float64)
    if problem.family in (RELU, POOL):
        values = np.maximum(field, 0) if problem.family == RELU else _pooled(field, problem.mask)
        return Expected(values, np.zeros_like(values))
    compute = {PLANES: _planes, LINES: _lines, SEPARABLE: _separable, BANKS: _bank}[problem.family]
    return Expected(compute(problem, field, weights), compute(problem, np.abs(field), np.abs(weights)))


def flaw(problem: Problem, found: np.ndarray, right: Expected, roundings: float) -> str:
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


def _planes(problem: Problem, field: np.ndarray, mask: np.ndarray) -> np.ndarray:
    margins = [(0, 0)] * (field.ndim - 2) + [(n // 2, n // 2) for n in mask.shape]
    padded = np.pad(field, margins, mode=_PADS[problem.edge])
    windows = np.lib.stride_tricks.sliding_window_view(padded, mask.shape, axis=(-2, -1))
    return np.asarray(np.einsum("...jk,jk->...", windows, mask[::-1, ::-1]))


def _lines(problem: Problem, field: np.ndarray, mask: np.ndarray) -> np.ndarray:
    along_rows = _planes(problem, np.moveaxis(field, problem.axis, -1), mask[None])
    return np.moveaxis(along_rows, -1, problem.axis)


def _separable(problem: Problem, field: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Along the last two axes."""
    return _planes(problem, _planes(problem, field, mask[:, None]), mask[None])


def _bank(problem: Problem, images: np.ndarray, filters: np.ndarray) -> np.ndarray:
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


def corner_flaw(problem: Problem, field: np.ndarray, weights: np.ndarray, found: np.ndarray, roundings: float) -> str:
    """What is wrong with the first corner of a large result, or nothing."""
    cut = np.s_[..., :CORNER, :CORNER]
    small = field[cut]
    right = expected(problem._replace(shape=small.shape), small, weights)
    inside = np.s_[..., :INSIDE, :INSIDE] if prod(field.shape[-2:]) > prod(small.shape[-2:]) else np.s_[...]
    return flaw(problem, found[inside], Expected(right.values[inside], right.magnitudes[inside]), roundings)
