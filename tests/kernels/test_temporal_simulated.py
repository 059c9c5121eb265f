"""`temporal` on the CUDA simulator, in one process of its own, against `basic` step by step."""

from __future__ import annotations

import numpy as np
import pytest
import simulate_temporal
from helpers import simulator
from helpers.arrays import same_bits

pytestmark = simulator.marks_of("simulated temporal")
simulated = simulator.fixture_of(simulate_temporal.__file__)


@pytest.mark.parametrize("name", simulate_temporal.TRIALS)
def test_several_steps_at_once_give_the_bits_of_single_steps(name: str, simulated: dict[str, np.ndarray]) -> None:
    expected = simulated[f"basic: {name}: field"]
    assert same_bits(simulated[f"temporal: {name}: field"], expected)
    assert same_bits(simulated.get(f"temporal: {name}: untraced", expected), expected)


@pytest.mark.parametrize("name", simulate_temporal.TRIALS)
def test_the_trace_holds_the_cells_beside_walls_before_each_step(name: str, simulated: dict[str, np.ndarray]) -> None:
    assert same_bits(simulated[f"temporal: {name}: trace"], simulated[f"basic: {name}: trace"])


def test_planes_with_unlike_rows_are_counted(simulated: dict[str, np.ndarray]) -> None:
    classes, columns, found = (simulated[f"unlike rows: {part}"] for part in ("classes", "columns", "shares"))
    tile = simulate_temporal.SMALL
    for (x, y), share in zip(columns, found, strict=True):
        of_tile = classes[:, y : y + tile.height, x : x + tile.width]
        rows = of_tile.reshape(len(classes), tile.bands, tile.rows, -1)
        assert share == (rows != rows[:, :, :1]).any(axis=(1, 2, 3)).mean()
    assert len(np.unique(found)) > 2


@pytest.mark.parametrize("name", [name for name in simulate_temporal.TRIALS if "losses" in name])
def test_several_steps_lose_what_single_steps_do(name: str, simulated: dict[str, np.ndarray]) -> None:
    lost = simulated[f"basic: {name}: heat"]
    assert abs(lost) > 0.1
    np.testing.assert_allclose(simulated[f"temporal: {name}: heat"], lost, rtol=1e-12)
