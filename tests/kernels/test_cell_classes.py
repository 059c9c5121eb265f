"""Kinds of cells, found by zones, media of neighbours and places along the axes."""

from __future__ import annotations

import numpy as np
from heatsim_kernels.explicit.cell_classes import classify_cells, numbers_in
from helpers.in_turn import in_turn
from helpers.kernel_cases import neighbours

Flags = tuple[bool, bool, bool]


@in_turn(
    ("shape", "periodic"),
    [
        ((1, 1, 1), (False, False, False)),
        ((20, 9, 13), (False, True, False)),
        ((1, 1, 9), (True, False, False)),
        ((33, 12, 15), (True, True, True)),
        ((17, 2, 40), (False, False, True)),
    ],
)
@in_turn("count", [3, 400])
def test_cells_are_of_one_kind_where_they_see_the_same(
    shape: tuple[int, int, int], periodic: Flags, count: int
) -> None:
    rng = np.random.default_rng(sum(shape))
    zones = rng.integers(0, count, shape).astype(np.min_scalar_type(count - 1))
    media = rng.integers(0, 2, count)
    labels = [rng.integers(0, 2, n) for n in shape[::-1]]
    found = classify_cells(zones, media, (labels[0], labels[1], labels[2]), periodic)
    z, y, x = np.meshgrid(*labels[::-1], indexing="ij")
    seen = np.stack([zones, *media[neighbours(zones, periodic)], x, y, z], -1).reshape(-1, 10)
    class_ids = found.cells.reshape(-1)
    assert np.array_equal(found.members[class_ids], seen)
    assert len(found.members) == len(np.unique(seen, axis=0))  # and no two classes are alike
    assert np.array_equal(found.counts, np.bincount(class_ids))
    assert found.cells.dtype == np.min_scalar_type(len(found.members) - 1)


def test_one_zone_on_equal_cells_is_one_kind() -> None:
    zeros = np.zeros(5, int)
    found = classify_cells(np.zeros((5, 5, 5), np.uint8), np.zeros(1), (zeros, zeros, zeros), (False, True, False))
    assert not found.cells.any()
    assert not any(found.cells.strides)  # it takes no memory
    assert found.members.tolist() == [[0] * 10]
    assert found.counts.tolist() == [125]


def test_the_numbers_in_some_cells_are_found_wherever_they_stand() -> None:
    cells = np.random.default_rng(2).integers(0, 300, (3, 4, 5)).astype(np.uint16)
    for part in (cells, cells[:, 1:, 2:3], cells[..., :0], np.full((2, 2, 3), 7)):
        assert numbers_in(part, 300).tolist() == sorted(set(part.reshape(-1).tolist()))
