"""`temporal` on the CUDA simulator, in one process of its own, against `basic` step by step."""

from __future__ import annotations

import numpy as np
import pytest
import simulate_temporal
from heatsim_kernels.explicit.blocked.turn_kinds import BY_CELL, BY_ROW, STILL
from helpers import simulator
from helpers.arrays import same_bits
from helpers.in_turn import in_turn

pytestmark = simulator.marks_of("simulated temporal")
simulated = simulator.fixture_of(simulate_temporal.__file__)


@in_turn("name", simulate_temporal.TRIALS)
def test_several_steps_at_once_give_the_bits_of_single_steps(name: str, simulated: dict[str, np.ndarray]) -> None:
    expected = simulated[f"basic: {name}: field"]
    assert same_bits(simulated[f"temporal: {name}: field"], expected)
    assert same_bits(simulated.get(f"temporal: {name}: untraced", expected), expected)


@in_turn("name", simulate_temporal.TRIALS)
def test_the_trace_holds_the_cells_beside_walls_before_each_step(name: str, simulated: dict[str, np.ndarray]) -> None:
    assert same_bits(simulated[f"temporal: {name}: trace"], simulated[f"basic: {name}: trace"])


@pytest.mark.parametrize("ends", ["bounded", "periodic"])
def test_a_march_is_told_how_long_turns_are_of_one_kind(ends: str, simulated: dict[str, np.ndarray]) -> None:
    names = "classes", "rates", "columns", "width", ends
    classes, rates, columns, width, told = (simulated[f"kinds: {part}"] for part in names)
    tile, planes, bounded = simulate_temporal.SMALL, len(classes), ends == "bounded"
    told = told.reshape(len(columns), planes, tile.bands)
    for column, (x, y) in enumerate(columns):
        for band in range(tile.bands):
            top = y + band * tile.rows
            expected = kinds_of(classes[:, top : top + tile.rows, x : x + width], rates, tile.steps, bounded)
            np.testing.assert_array_equal(told[column, :, band] & 3, expected)
            for turn, left in enumerate(told[column, :, band] >> 2):
                later = expected[turn : turn + left] if bounded else np.roll(expected, -turn)[:left]
                assert (later == expected[turn]).all()
                following = turn + left if bounded else (turn + left) % planes
                assert following >= planes or left == planes or expected[following] != expected[turn]
    assert set(np.unique(told & 3)) == {BY_CELL, BY_ROW, STILL}


def kinds_of(classes: np.ndarray, rates: np.ndarray, steps: int, bounded: bool) -> np.ndarray:
    """The kind of each turn for a band with these classes, (planes, rows, cells)."""
    of_cells, planes = rates[classes], len(classes)
    y = of_cells[:, :1, :, 3]
    one = (of_cells[..., [0, 1, 4, 5]] == of_cells[:, :1][..., [0, 1, 4, 5]]).all(axis=(1, 2, 3))
    one &= (of_cells[:, 1:, :, 2] == y).all(axis=(1, 2)) & (of_cells[:, :-1, :, 3] == y).all(axis=(1, 2))
    one &= (classes[:, 1:-1] == classes[:, 1:2]).all(axis=(1, 2))
    even, kinds = (of_cells[:, 0, :, 4] == of_cells[:, 0, :, 5]).all(axis=1), np.full(planes, BY_CELL)
    for turn in range(steps + 1 if bounded else 0, planes):
        at = np.arange(turn - steps, turn) % planes
        if one[at].all():
            still = even[at].all() and bool((classes[at] == classes[at[0]]).all())
            kinds[turn] = STILL if still else BY_ROW
    return kinds


@in_turn("name", [name for name in simulate_temporal.TRIALS if "losses" in name])
def test_several_steps_lose_what_single_steps_do(name: str, simulated: dict[str, np.ndarray]) -> None:
    lost = simulated[f"basic: {name}: heat"]
    assert abs(lost) > 0.1
    np.testing.assert_allclose(simulated[f"temporal: {name}: heat"], lost, rtol=1e-12)
