"""How `temporal` cuts a grid up: every cell is owned by a tile, and blocks have equal work."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from heatsim_kernels.stencil.temporal_plan import Tile, fits, plan

TILES = (Tile(4, 2, 4, 4), Tile(3, 1, 5, 3), Tile(2, 4, 3, 5))
SHAPES = ((1, 16, 128), (13, 31, 129), (40, 57, 200))
PERIODS = ((False, False, False), (True, False, True), (False, True, False), (True, True, True))


@pytest.mark.parametrize("tile", TILES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("periodic", PERIODS)
@pytest.mark.parametrize("blocks", [1, 7, 132])
def test_every_cell_is_owned_and_no_tile_with_walls_leaves_the_grid(
    tile: Tile, shape: tuple[int, int, int], periodic: tuple[bool, bool, bool], blocks: int
) -> None:
    if not fits(tile, shape, periodic):
        pytest.skip("no grid for such tiles")
    pieces, firsts = plan(tile, shape, periodic, blocks)
    assert firsts[0] == 0
    assert firsts[-1] == len(pieces)
    assert (np.diff(firsts) >= 0).all()
    assert len(firsts) <= blocks + 1
    owned = np.zeros(shape, int)
    for x, y, first, end in pieces:
        cuts = [
            _owned(int(start), width, halo, n, wraps)
            for start, width, halo, n, wraps in (
                (y, tile.height, tile.steps, shape[1], periodic[1]),
                (x, tile.width, tile.halo, shape[2], periodic[0]),
            )
        ]
        assert 0 <= first < end <= shape[0]
        owned[(slice(first, end), *cuts)] += 1
    assert (owned >= 1).all()


def _owned(start: int, width: int, halo: int, n: int, wraps: bool) -> slice:
    """The cells that a tile owns along an axis: all but its halo, which it does not need at a wall."""
    if wraps:
        assert -halo <= start <= n + halo - width
        return slice(start + halo, start + width - halo)
    assert 0 <= start <= n - width
    return slice(start if start == 0 else start + halo, start + width if start + width == n else start + width - halo)


@pytest.mark.parametrize("n", [512, 768])
def test_blocks_have_equal_work(n: int) -> None:
    tile = Tile(4, 2, 4, 16)
    pieces, firsts = plan(tile, (n, n, n), (False, False, False), 132)
    planes = np.array([sum(end - first for _, _, first, end in pieces[a:b]) for a, b in pairwise(firsts)])
    assert len(planes) == 132
    assert planes.min() > 0.75 * planes.max()  # those beside walls have fewer planes, which take longer
    assert (pieces[:, 3] - pieces[:, 2]).min() >= tile.steps
