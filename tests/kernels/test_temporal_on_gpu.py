"""`temporal` on a real device against `basic`, step by step."""

from __future__ import annotations

import numpy as np
import pytest
import simulate_temporal
from heatsim_kernels.explicit.blocked.plan import TemporalTile
from heatsim_kernels.explicit.cuda_cell.configuration import StencilConfiguration
from helpers.arrays import FLOATS, same_bits
from helpers.kernel_cases import Features
from simulate_temporal import TemporalTrial

pytestmark = pytest.mark.gpu
HEATED, MATERIALS = Features(table=True), Features(zones=2, pairs=True, table=True)
LAYERS = MATERIALS._replace(zones=4, layers=1)
PLACES = (
    ((37, 203, 328), (False, False, False), Features()),
    ((9, 130, 131), (False, False, False), HEATED),
    ((1, 128, 300), (False, False, False), HEATED),
    ((37, 131, 200), (True, False, True), Features()),
    ((21, 100, 133), (True, True, True), HEATED),
    ((37, 131, 200), (False, False, False), MATERIALS),
    ((75, 131, 200), (False, False, False), MATERIALS._replace(block=(20, 27, 50))),
    ((61, 100, 133), (True, True, True), Features(zones=2, pairs=True, block=(20, 27, 50))),
    ((21, 100, 133), (True, True, True), Features(zones=2, pairs=True)),
    ((9, 130, 131), (False, False, False), Features(zones=5, table=True)),
    ((9, 130, 131), (False, False, False), Features(skew=True)),
    ((37, 131, 200), (False, False, False), LAYERS),
    ((65, 203, 328), (False, False, False), LAYERS._replace(layers=13)),
    ((21, 100, 133), (True, True, True), Features(zones=4, pairs=True, layers=1)),
)
PER_CELL = (
    ((37, 131, 203), (False, False, False), Features()),
    ((21, 100, 133), (True, False, False), HEATED),
    ((21, 131, 132), (False, True, True), HEATED),
    ((9, 130, 131), (False, False, False), MATERIALS),
    ((9, 130, 131), (False, False, False), LAYERS),
)


@pytest.mark.parametrize("per_cell", [False, True], ids=["by-class", "by-cell"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_several_steps_at_once_give_the_bits_and_the_trace_of_single_steps_on_a_gpu(
    dtype: type, per_cell: bool
) -> None:
    for shape, periodic, features in PER_CELL if per_cell else PLACES:
        tile = tile_for(features, dtype, per_cell)
        check_steps_at_once(TemporalTrial(shape, tile, dtype, periodic, features, 7, per_cell))


def tile_for(features: Features, dtype: type, per_cell: bool) -> TemporalTile:
    from heatsim_kernels.explicit.blocked.march import tiles_for

    uniform, class_dtype = not features.pairs and not features.skew, "uint8" if features.zones > 1 else ""
    terms = uniform, class_dtype, features.table, False, per_cell, (False,) * 3
    layers = features.layers > 0
    configuration = StencilConfiguration(np.dtype(dtype).name, *terms, layered=layers, paired=layers)
    return tiles_for(configuration)[0]


def check_steps_at_once(trial: TemporalTrial) -> None:
    found, expected = simulate_temporal.at_once(trial), simulate_temporal.step_by_step(trial)
    assert same_bits(found["field"], expected["field"])
    assert same_bits(found["trace"], expected["trace"])
    assert same_bits(found.get("untraced", expected["field"]), expected["field"])
