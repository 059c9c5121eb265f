"""All pairs of values in few combinations: a covering array of strength two."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import Any

Row = dict[str, Any]
Pair = tuple[tuple[str, int], tuple[str, int]]  # two factors, each with the index of its value


def pairwise(factors: Mapping[str, Sequence[Any]], allowed: Callable[[Row], bool] = lambda row: True) -> list[Row]:
    """Combinations of one value a factor in which each pair of values of two factors occurs that may occur.

    factors: the values of each factor, by name. allowed: whether a combination is possible; it is asked about rows
    that lack factors too, and must then be True if values of the missing factors could make it so. The choice is greedy
    and always the same: a row starts with the first pair that is still missing, and each further factor takes the value
    that brings most of the missing pairs (Cohen et al., The AETG System, IEEE Trans. Software Eng. 23, 1997; there with
    chance, here without).

    Raises ValueError where a pair that is allowed cannot be completed to a whole row.
    """
    missing = dict.fromkeys(_possible_pairs(factors, allowed))  # ordered, so that the choice never changes
    rows: list[Row] = []
    while missing:
        pair = next(iter(missing))
        chosen = _completed(dict(pair), factors, missing, allowed)
        if chosen is None:
            raise ValueError(f"no row may hold {_values(dict(pair), factors)}")
        for covered in _pairs_of(chosen):
            missing.pop(covered, None)
        rows.append({name: factors[name][chosen[name]] for name in factors})
    return rows


def singles(rows: Sequence[Row], factors: Mapping[str, Sequence[Any]]) -> list[int]:
    """The numbers of a few rows, in order, in which each value of each factor occurs that occurs at all."""
    missing = {(name, list(factors[name]).index(row[name])) for row in rows for name in factors}
    chosen: list[int] = []
    while missing:
        gains = [len(missing & {(name, list(factors[name]).index(row[name])) for name in factors}) for row in rows]
        best = gains.index(max(gains))
        chosen.append(best)
        missing -= {(name, list(factors[name]).index(rows[best][name])) for name in factors}
    return sorted(chosen)


def missing_pairs(
    rows: Sequence[Row], factors: Mapping[str, Sequence[Any]], allowed: Callable[[Row], bool] = lambda row: True
) -> list[Row]:
    """The pairs of values that are allowed and occur in no row."""
    found = {
        pair for row in rows for pair in _pairs_of({name: list(factors[name]).index(row[name]) for name in factors})
    }
    return [_values(dict(pair), factors) for pair in _possible_pairs(factors, allowed) if pair not in found]


def _possible_pairs(factors: Mapping[str, Sequence[Any]], allowed: Callable[[Row], bool]) -> Iterator[Pair]:
    for one, other in combinations(factors, 2):
        for i, j in product(range(len(factors[one])), range(len(factors[other]))):
            if allowed({one: factors[one][i], other: factors[other][j]}):
                yield (one, i), (other, j)


def _pairs_of(chosen: Mapping[str, int]) -> Iterator[Pair]:
    yield from combinations(chosen.items(), 2)


def _values(chosen: Mapping[str, int], factors: Mapping[str, Sequence[Any]]) -> Row:
    return {name: factors[name][index] for name, index in chosen.items()}


def _completed(
    start: dict[str, int],
    factors: Mapping[str, Sequence[Any]],
    missing: Mapping[Pair, None],
    allowed: Callable[[Row], bool],
) -> dict[str, int] | None:
    """A whole row that holds the values of `start`, by index in the order of the factors; None where there is none."""
    rest = [name for name in factors if name not in start]
    if not rest:
        return {name: start[name] for name in factors}

    def gain(name: str, index: int) -> int:
        return sum(_ordered((name, index), item, list(factors)) in missing for item in start.items())

    options = [(gain(name, index), -index, name) for name in rest for index in range(len(factors[name]))]
    _, _, name = max(options, key=lambda option: option[:2])  # the factor with most to gain comes first
    for index in sorted(range(len(factors[name])), key=lambda index: -gain(name, index)):
        more = {**start, name: index}
        if allowed(_values(more, factors)):
            found = _completed(more, factors, missing, allowed)
            if found is not None:
                return found
    return None


def _ordered(one: tuple[str, int], other: tuple[str, int], names: Sequence[str]) -> Pair:
    return (one, other) if names.index(one[0]) < names.index(other[0]) else (other, one)
