"""`temporal` on a real device against `basic`, step by step."""

from __future__ import annotations

import numpy as np
import pytest
import simulate_temporal
from heatsim_kernels.stencil.temporal.plan import TemporalTile
from helpers.arrays import FLOATS, same_bits
from helpers.kernel_cases import Features
from simulate_temporal import TemporalTrial

pytestmark = pytest.mark.gpu
HEATED, MATERIALS = Features(table=True), Features(zones=2, pairs=True, table=True)
PLACES = (
    ((37, 203, 328), (False, False, False), Features()),
    ((9, 130, 131), (False, False, False), HEATED),
    ((1, 128, 300), (False, False, False), HEATED),
    ((37, 131, 200), (True, False, True), Features()),
    ((21, 100, 133), (True, True, True), HEATED),
    ((37, 131, 200), (False, False, False), MATERIALS),
    ((21, 100, 133), (True, True, True), Features(zones=2, pairs=True)),
    ((9, 130, 131), (False, False, False), Features(zones=5, table=True)),
    ((9, 130, 131), (False, False, False), Features(skew=True)),
)


@pytest.mark.parametrize("dtype", FLOATS)
def test_several_steps_at_once_give_the_bits_and_the_trace_of_single_steps_on_a_gpu(dtype: type) -> None:
    for shape, periodic, features in PLACES:
        check_steps_at_once(shape, periodic, features, dtype)


def check_steps_at_once(
    shape: tuple[int, int, int], periodic: tuple[bool, bool, bool], features: Features, dtype: type
) -> None:
    from heatsim_kernels.stencil.temporal.march import TILES, TILES_OF_FACES

    tile: TemporalTile = (TILES_OF_FACES if features.zones > 1 or features.skew else TILES)[np.dtype(dtype).name][0]
    trial = TemporalTrial(shape, tile, dtype, periodic, features)
    found, expected = simulate_temporal.at_once(trial), simulate_temporal.step_by_step(trial)
    assert same_bits(found["field"], expected["field"])
    assert same_bits(found["trace"], expected["trace"])
