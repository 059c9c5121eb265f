"""`temporal` on the CUDA simulator, in one process of its own, against `basic` step by step."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest
import simulate_temporal
from helpers import simulator
from helpers.arrays import same_bits

pytestmark = [  # one process simulates once for all
    pytest.mark.skipif(find_spec("numba_cuda") is None, reason="numba-cuda is not installed"),
    pytest.mark.xdist_group("simulated temporal"),
]


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> dict[str, np.ndarray]:
    return simulator.results(simulate_temporal.__file__, tmp_path_factory.mktemp("simulator"))


@pytest.mark.parametrize("name", simulate_temporal.TRIALS)
def test_several_steps_at_once_give_the_bits_of_single_steps(name: str, simulated: dict[str, np.ndarray]) -> None:
    assert same_bits(simulated[f"temporal: {name}: field"], simulated[f"basic: {name}: field"])


@pytest.mark.parametrize("name", simulate_temporal.TRIALS)
def test_the_trace_holds_the_cells_beside_walls_before_each_step(name: str, simulated: dict[str, np.ndarray]) -> None:
    assert same_bits(simulated[f"temporal: {name}: trace"], simulated[f"basic: {name}: trace"])
