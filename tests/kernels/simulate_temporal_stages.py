"""Stages by `temporal` and by `basic` on the CUDA simulator: `NUMBA_ENABLE_CUDASIM=1 python ... RESULT.npz`.

A process of its own, as `simulate_temporal`.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import NamedTuple
from unittest.mock import patch

import numpy as np
from heatsim_kernels.explicit import STEPPERS
from heatsim_kernels.explicit.blocked import march
from heatsim_kernels.explicit.blocked.launch import FusedSteps
from heatsim_kernels.explicit.blocked.plan import TemporalTile
from heatsim_kernels.field.window_source import WindowSource
from helpers.kernel_cases import Case, Features, random_case
from stage_cases import staged_at_once


class StageTrial(NamedTuple):
    """A problem, a tile and a number of stages, of which the last is of four fields; those from number `later` on are
    taken in a second call, unless that is 0. windows: whether some are heated after the second stage."""

    shape: tuple[int, int, int]
    tile: TemporalTile
    dtype: type
    periodic: tuple[bool, bool, bool] = (False, False, False)
    features: Features = Features()
    stages: int = 4
    later: int = 0
    windows: bool = False
    seed: int = 7
    per_cell: bool = False


HEATED, MATERIALS = Features(table=True), Features(zones=3, pairs=True, table=True)
SMALL, NEAR, THREE = TemporalTile(2, 2, 3, 2), TemporalTile(2, 2, 3, 2, ahead=1), TemporalTile(3, 4, 4, 2, ahead=2)
TRIALS = {
    "two at once and one over, rows of odd length": StageTrial((3, 6, 9), SMALL, np.float64, features=HEATED),
    "twice two at once, in two calls, one plane": StageTrial((1, 6, 8), SMALL, np.float32, stages=6, later=3),
    "three at once": StageTrial((2, 8, 20), THREE, np.float32),
    "three at once and one over, periodic all around": StageTrial(
        (5, 3, 8), THREE, np.float64, (True, True, True), HEATED, stages=5
    ),
    "materials in blocks, periodic in z, one plane on its way": StageTrial(
        (4, 6, 9), NEAR, np.float32, (False, False, True), MATERIALS, stages=3
    ),
    "layers, two at once and one over": StageTrial(
        (6, 6, 9), SMALL, np.float64, features=MATERIALS._replace(layers=1), stages=3
    ),
    "three at once, a material of its own to every cell, periodic in x": StageTrial(
        (2, 8, 12), THREE, np.float64, (True, False, False), Features(zones=2, pairs=True), seed=8
    ),
    "boundary values a cell": StageTrial((2, 6, 8), SMALL, np.float32, features=HEATED, stages=3, per_cell=True),
    "a rate a face": StageTrial((2, 6, 8), SMALL, np.float64, features=Features(skew=True), stages=3),
}
ONE_BY_ONE = {
    "heat by cell": StageTrial((1, 6, 8), SMALL, np.float32, features=Features(field=True), stages=3),
    "heated windows": StageTrial((1, 6, 8), SMALL, np.float32, stages=3, windows=True),
    "a call with the first stage alone, which is then kept": StageTrial((1, 6, 8), SMALL, np.float32, later=1),
}


def case_of(trial: StageTrial) -> Case:
    """A random problem whose boundary faces and source are other ones in each stage; heat is counted where there is a
    source."""
    case = random_case(
        trial.shape,
        trial.features,
        periodic=trial.periodic,
        per_cell=trial.per_cell,
        rows=trial.stages,
        seed=trial.seed,
    )
    if trial.windows:
        window = WindowSource((0, 1, 2), np.full((1, 2, 3), 3.0, trial.dtype), 0.0)
        case = case._replace(forcing=replace(case.forcing, window_sources=((), (window,))))
    return case if trial.features.table else case._replace(coefficients=replace(case.coefficients, closed=(True,) * 6))


def swept(name: str, trial: StageTrial) -> dict[str, np.ndarray]:
    """What a sweep makes of a trial, and how many fused sweeps it took."""
    case = case_of(trial)
    sweep = STEPPERS[name](case.coefficients, np.dtype(trial.dtype))
    with patch.object(FusedSteps, "__call__", autospec=True, side_effect=FusedSteps.__call__) as taken:
        found = staged_at_once(sweep, case, trial.stages, trial.later or trial.stages)
    return {"fused": np.array(taken.call_count), **found._asdict()}


def main(target: str) -> None:
    parts = {}
    for name, trial in {**TRIALS, **ONE_BY_ONE}.items():
        for tiles in (march.STAGE_TILES, march.STAGE_TILES_OF_FACES):
            tiles[np.dtype(trial.dtype).name] = (trial.tile,)
        for way in ("temporal", "basic"):
            parts |= {f"{way}: {name}: {part}": values for part, values in swept(way, trial).items()}
    np.savez(target, allow_pickle=False, **parts)


if __name__ == "__main__":
    main(sys.argv[1])
