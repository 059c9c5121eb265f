"""heatsim itself, through the machinery of `heatsim run`: a scenario file in, a run folder out."""

import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from .problem import SLOPE, TIME_STEP, Sweeps, bind_openmp, diffusivity, missing

NAME, DISTRIBUTION, BOUNDARY = "heatsim", "heatsim", "face"
SETTINGS = "heatsim.run, device cpu, kernel auto, loop_seconds of run.json: the steps"

SCENARIO = """\
title = "Speed comparison"
temperature_unit = "degC"
[grid]
cells = [{n}, {n}, {n}]
size = [1.0, 1.0, 1.0]
[time]
end = {end}
step = {step}
integrator = "euler"
[compute]
device = "cpu"
precision = "{precision}"
[materials.unit]
conductivity = {conductivity}
density = 1.0
heat_capacity = 1.0
[[regions]]
material = "unit"
[initial]
temperature = {{ file = "initial.npy" }}
[boundary]
default = {{ kind = "fixed", temperature = 0.0 }}
[output]
snapshots = {{ at = [{end}] }}
"""


def available() -> str | None:
    return missing("heatsim")


def prepare(initial: np.ndarray) -> Sweeps:
    bind_openmp()
    folder = Path(tempfile.mkdtemp())
    np.save(folder / "initial.npy", initial)

    def advance(steps: int) -> float:
        return float(_run(folder, initial, steps).timings["loop_seconds"])

    return Sweeps(advance, lambda: _last_snapshot(folder / "run"))


def _run(folder: Path, initial: np.ndarray, steps: int) -> Any:
    """Run `steps` steps from the initial field, not from where the last run ended, into `folder/run`."""
    import heatsim

    scenario = folder / "scenario.toml"
    text = SCENARIO.format(
        n=len(initial),
        end=steps * TIME_STEP,
        step=TIME_STEP,
        precision=initial.dtype.name,
        conductivity=_conductivity(diffusivity(len(initial))),
    )
    scenario.write_text(text, encoding="utf-8")
    shutil.rmtree(folder / "run", ignore_errors=True)
    run = heatsim.run(heatsim.load(scenario), output=folder / "run")
    if run.info["steps"] != steps:
        raise RuntimeError(f"heatsim took {run.info['steps']} steps, {steps} were asked for")
    return run


def _conductivity(at_0: float) -> str:
    """As the scenario has it; the initial field lies between 0 and 1."""
    return f"{{ T = [0.0, 1.0], value = [{at_0!r}, {(1.0 + SLOPE) * at_0!r}] }}" if SLOPE else repr(at_0)


def _last_snapshot(folder: Path) -> np.ndarray:
    from heatsim.store.snapshots import read_snapshot

    return read_snapshot(sorted(folder.glob("snapshots/*.h5"))[-1]).temperature
