"""How `temporal` cuts a grid up: every cell is owned by a tile, and blocks have equal work."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from heatsim_kernels.explicit.blocked.cell_classes import classes_of_turns
from heatsim_kernels.explicit.blocked.plan import TemporalTile, TurnCosts, fits, plan
from helpers.in_turn import in_turn

COSTS = TurnCosts(1.3, 1.2, 1.5)
TILES = (TemporalTile(4, 2, 4, 4), TemporalTile(3, 1, 5, 3), TemporalTile(2, 4, 3, 5))
SHAPES = ((1, 16, 128), (13, 31, 129), (40, 57, 200))
PERIODS = ((False, False, False), (True, False, True), (False, True, False), (True, True, True))


@in_turn("tile", TILES)
@in_turn("shape", SHAPES)
@in_turn("periodic", PERIODS)
@in_turn(("blocks", "spanned"), [(1, "all"), (7, "edges"), (132, "all"), (132, "inside")])
def test_every_cell_is_owned_and_no_tile_with_walls_leaves_the_grid(
    tile: TemporalTile, shape: tuple[int, int, int], periodic: tuple[bool, bool, bool], blocks: int, spanned: str
) -> None:
    if not fits(tile, shape, periodic):
        pytest.skip("no grid for such tiles")
    nz = shape[0]
    chosen = {"all": ((0, nz),), "edges": ((0, 2), (nz - 3, nz)), "inside": ((2, nz - 3),)}
    spans = chosen["all" if nz < 8 else spanned]
    pieces, firsts = plan(tile, shape, periodic, blocks, COSTS, spans)
    assert firsts[0] == 0
    assert firsts[-1] == len(pieces)
    assert (np.diff(firsts) >= 0).all()
    assert len(firsts) <= blocks + 1
    owned, counted = np.zeros((2, *shape), int)
    for x, y, first, end, left, right, top, bottom, _, own in pieces:
        assert left <= own < left + tile.columns
        assert 0 <= first < end <= shape[0]
        _check(int(x), int(left), int(right), tile.width, tile.halo, shape[2], periodic[0], tile.columns)
        _check(int(y), int(top), int(bottom), tile.height, tile.steps, shape[1], periodic[1], 1)
        owned[first:end, top:bottom, left:right] += 1
        counted[first:end, top:bottom, own:right] += 1
    computed = np.zeros(nz, bool)
    for first, end in spans:
        computed[first:end] = True
    assert (owned[computed] >= 1).all()
    assert (counted[computed] == 1).all()
    assert not owned[~computed].any()
    assert owned[computed].mean() < 1.05  # next to nothing is written twice


def _check(start: int, left: int, right: int, width: int, halo: int, n: int, wraps: bool, step: int) -> None:
    """A tile owns what is right after all its steps: all but its halo, which it does not need at a boundary face."""
    assert wraps or 0 <= start <= n - width
    assert left >= (0 if start == 0 and not wraps else start + halo)
    assert right <= (n if start + width == n and not wraps else start + width - halo)
    assert (left - start) % step == 0  # whole lanes
    if wraps:
        assert -halo <= start < n
        assert start >= 0 or -start % step == 0  # the ends of the grid are not within a lane
        assert start + width <= n or (n - start) % step == 0


@pytest.mark.parametrize("n", [512, 768])
def test_blocks_have_equal_work(n: int) -> None:
    tile = TemporalTile(4, 2, 4, 16)
    pieces, firsts = plan(tile, (n, n, n), (False, False, False), 132, COSTS)
    # Planes that a march takes in: its own, those before it to start with (none below the grid), those after it.
    turns = [
        sum(end - first + tile.steps + min(first, tile.steps) for first, end in pieces[a:b, 2:4])
        for a, b in pairwise(firsts)
    ]
    assert len(turns) == 132
    assert min(turns) > 0.95 / 1.5 * max(turns)  # those beside boundary faces have fewer planes, which take longer
    assert (pieces[:, 3] - pieces[:, 2]).min() >= tile.steps


def test_columns_are_dealt_out_by_what_their_turns_and_pieces_cost() -> None:
    """Every other column costs half as much again: those that march through it have so many fewer planes."""
    tile, n = TemporalTile(3, 2, 4, 8), 512
    costs = TurnCosts(1.0, 1.0, 1.0, moving=0.5, piece=30.0)
    columns = len(np.unique(plan(tile, (n, n, n), (False, False, False), 1, costs)[0][:, 8]))
    moving = tuple(float(number % 2) for number in range(columns))
    pieces, firsts = plan(tile, (n, n, n), (False, False, False), 132, costs, moving=moving)
    work = [
        sum(
            (end - first + tile.steps + min(first, tile.steps)) * (1.0 + 0.5 * moving[number]) + 30.0
            for _, _, first, end, *_, number, _ in pieces[a:b]
        )
        for a, b in pairwise(firsts)
    ]
    assert len(work) == 132
    assert min(work) > 0.95 * max(work)


def test_tiles_inside_meet_at_whole_sectors_of_memory() -> None:
    pieces, _ = plan(TemporalTile(4, 2, 4, 16), (768, 768, 768), (False, False, False), 132, COSTS)
    assert (pieces[:, 4] % 8 == 0).all()


def test_most_blocks_march_beside_each_other() -> None:
    pieces, firsts = plan(TemporalTile(4, 2, 4, 16), (512, 512, 512), (False, False, False), 132, COSTS)
    starting = pieces[firsts[:-1]]
    assert (starting[:81, 2] == 0).all()  # 81 columns of tiles
    assert len(np.unique(starting[:81, :2], axis=0)) == 81


def test_rows_of_odd_length_around_a_periodic_axis_need_room_for_a_halo_more() -> None:
    tile = TemporalTile(2, 2, 3, 2)
    assert fits(tile, (4, 6, tile.width - 2 * tile.halo), (True, False, False))
    assert not fits(tile, (4, 6, tile.width - 2 * tile.halo + 1), (True, False, False))


@in_turn("steps", [3, 4])
@in_turn("wraps", [False, True])
def test_a_march_through_layers_is_told_of_all_classes_and_how_long_they_stay(steps: int, wraps: bool) -> None:
    of_planes = np.repeat([1, 2, 1, 0, 2, 0, 1], [6, 1, 9, 2, 12, 4, 5]).astype(np.uint8)  # thin layers, too
    words = classes_of_turns(of_planes, steps, wraps)
    assert words.dtype == np.uint64

    def class_of(plane: int) -> int:
        return int(of_planes[plane % len(of_planes) if wraps else min(max(plane, 0), len(of_planes) - 1)])

    def classes_in(turn: int) -> list[int]:
        return [class_of(turn - 1 - level) for level in range(steps)]

    turns, stayed = range(-steps, len(of_planes) + steps), 0
    for turn, word in zip(turns, words.tolist(), strict=True):
        assert [word >> 8 * level & 255 for level in range(steps)] == classes_in(turn)
        until = int(np.array(word >> 32, np.uint32).view(np.int32))
        last = [class_of(turn - steps)] * steps
        assert all(classes_in(later) == last for later in range(turn, until))
        assert until == turns.stop or classes_in(until) != last  # no turn more could be spared
        stayed += until > turn + 1
    assert stayed > len(of_planes) // 3
