"""Stages by `temporal` on the CUDA simulator, in one process of its own, against `basic` stage by stage."""

from __future__ import annotations

import numpy as np
import simulate_temporal_stages
from helpers import simulator
from helpers.arrays import same_bits
from helpers.in_turn import in_turn
from simulate_temporal_stages import ONE_BY_ONE, TRIALS

pytestmark = simulator.marks_of("simulated stages of temporal")
simulated = simulator.fixture_of(simulate_temporal_stages.__file__)


@in_turn("name", TRIALS)
def test_several_stages_at_once_give_the_bits_of_single_stages(name: str, simulated: dict[str, np.ndarray]) -> None:
    trial = TRIALS[name]
    assert simulated[f"temporal: {name}: fused"] == (trial.stages - 1) // trial.tile.steps
    for part in ("field", "defect"):  # the defect is of Y_1, which is made anew
        assert same_bits(simulated[f"temporal: {name}: {part}"], simulated[f"basic: {name}: {part}"])


@in_turn("name", ONE_BY_ONE)
def test_what_cannot_be_taken_at_once_is_taken_one_by_one(name: str, simulated: dict[str, np.ndarray]) -> None:
    assert simulated[f"temporal: {name}: fused"] == 0
    for part in ("field", "defect"):
        assert same_bits(simulated[f"temporal: {name}: {part}"], simulated[f"basic: {name}: {part}"])


@in_turn("name", TRIALS)
def test_the_heat_of_stages_taken_at_once_enters_with_the_weight_of_each(
    name: str, simulated: dict[str, np.ndarray]
) -> None:
    found, expected = (simulated[f"{way}: {name}: heat_entered"] for way in ("temporal", "basic"))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
    assert expected.any() == (TRIALS[name].features.table and not all(TRIALS[name].periodic))
