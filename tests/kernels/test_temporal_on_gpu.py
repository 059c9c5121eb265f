"""`temporal` on a real device against `basic`, step by step."""

from __future__ import annotations

import numpy as np
import pytest
import simulate_temporal
from heatsim_kernels.stencil.temporal_plan import Tile
from kernel_cases import FLOATS, same_bits
from simulate_temporal import Trial

pytestmark = pytest.mark.gpu
PLACES = (
    ((37, 203, 328), (False, False, False), False),
    ((9, 130, 131), (False, False, False), True),
    ((1, 128, 300), (False, False, False), True),
    ((37, 131, 200), (True, False, True), False),
    ((21, 100, 133), (True, True, True), True),
)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("shape", "periodic", "heat"), PLACES)
def test_several_steps_at_once_give_the_bits_and_the_trace_of_single_steps_on_a_gpu(
    shape: tuple[int, int, int], periodic: tuple[bool, bool, bool], heat: bool, dtype: type
) -> None:
    from heatsim_kernels.stencil.temporal import TILES

    tile: Tile = TILES[np.dtype(dtype).name][0]
    trial = Trial(shape, tile, dtype, periodic, heat)
    found, expected = simulate_temporal.at_once(trial), simulate_temporal.step_by_step(trial)
    assert same_bits(found["field"], expected["field"])
    assert same_bits(found["trace"], expected["trace"])
