"""A script of a user with every public name: `make lint` has mypy check it, strictly."""

from pathlib import Path

import numpy as np

import heatsim
from heatsim.errors import Issue, ScenarioError


def tell(progress: heatsim.Progress) -> None:
    print(progress.time, progress.end, progress.look().highest)


def report(error: heatsim.HeatsimError) -> list[str]:
    issues: tuple[Issue, ...] = error.issues
    return [f"{each.file}:{each.line} {each.message}" for each in issues]


try:
    scenario: heatsim.Scenario = heatsim.load("plate.toml", {"time.end": 10.0})
except ScenarioError as error:
    raise SystemExit(report(error)) from None
run: heatsim.Run = heatsim.run(
    scenario, Path("out"), overrides=["time.end=5"], force=True, on_progress=tell, progress=True
)
run = heatsim.resume(run, {"time.end": 6.0})
print(run.finished, run.warnings, run.info["state"])
data = heatsim.open(run)
print(float(data.temperature.max()))
values: dict[str, float | None] = heatsim.evaluate(scenario, {"h": np.float64(3.0)})
gradient: heatsim.Gradient = heatsim.gradient("steady.toml", "chip", ["h"])
print(gradient.value + gradient.derivatives["h"])
impedance: heatsim.ThermalImpedance = heatsim.zth(scenario, first=1e-3, per_decade=5)
print(impedance.rises(np.array([0.0, 1.0]), np.ones((1, 2))))
found: heatsim.EffectiveConductivity = heatsim.effective(np.zeros((4, 4, 4), int), {0: 2.0}, "x")
print(found.conductivity[0, 0], values)
sweep = heatsim.open_sweep("swp")
print(sweep.sizes, heatsim.errors.NoGpuError.exit_code, heatsim.HeatsimWarning)
