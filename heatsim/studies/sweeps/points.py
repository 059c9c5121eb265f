"""The points of a sweep: how the values of its parameters are combined."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np

from heatsim.errors import RequestError
from heatsim.scenario.sweep_axes import SweepAxis, Value, with_unit

Point = dict[str, Value]
MAX_POINTS = 100_000


def points_of(
    axes: Sequence[SweepAxis], method: str = "product", samples: int | None = None, seed: int = 0
) -> list[Point]:
    """The points of a sweep: all combinations, the last axis fastest; values side by side; or a Latin hypercube, in
    which each of `samples` equal parts of each range holds one point (McKay, Beckman and Conover, Technometrics 21,
    1979). Raises RequestError.
    """
    if not axes:
        raise RequestError("a sweep needs parameters: --vary h=5,10,20, or a table [sweep] in the scenario")
    twice = next((axis.name for axis in axes if [each.name for each in axes].count(axis.name) > 1), None)
    if twice:
        raise RequestError(f"{twice}: is varied twice")
    if method == "latin_hypercube":
        return _hypercube(axes, samples, seed)
    if samples is not None:
        raise RequestError(f'expected samples with method "latin_hypercube" alone, found "{method}"')
    lengths = {axis.name: len(axis.values) for axis in axes}
    if method == "zip" and len(set(lengths.values())) > 1:
        found = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise RequestError(f'expected equally many values of each parameter with method "zip", found {found}')
    if method == "product" and np.prod([float(length) for length in lengths.values()]) > MAX_POINTS:
        raise RequestError(f"expected at most {MAX_POINTS} runs, found {np.prod(list(lengths.values()))}")
    values = (
        zip(*(axis.values for axis in axes), strict=True) if method == "zip" else product(*(a.values for a in axes))
    )
    return [dict(zip(lengths, each, strict=True)) for each in values]


def _hypercube(axes: Sequence[SweepAxis], samples: int | None, seed: int) -> list[Point]:
    if samples is None or not 1 <= samples <= MAX_POINTS:
        raise RequestError(f"a Latin hypercube needs samples, 1 to {MAX_POINTS}")
    rng, columns = np.random.default_rng(seed), {}
    for axis in axes:
        if axis.span is None:
            raise RequestError(f"{axis.name}: a Latin hypercube needs a range, such as {axis.name}=1:5:2")
        low, high = axis.span
        shares = (rng.permutation(samples) + rng.random(samples)) / samples
        columns[axis.name] = [with_unit(low + share * (high - low), axis.unit) for share in shares]
    return [dict(zip(columns, each, strict=True)) for each in zip(*columns.values(), strict=True)]
