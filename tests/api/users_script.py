"""A script of a user with every public name: `make lint` has mypy and pyright check it, strictly."""

import pickle
import sys
import warnings
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt

import heatsim
from heatsim.errors import Issue, ScenarioError


def tell(progress: heatsim.Progress) -> bool:
    print(f"{progress.time:g} of {progress.end:g} s", progress.steps, progress.cells, progress.look().highest)
    return progress.steps < 10_000


def report(error: heatsim.HeatsimError) -> list[str]:
    issues: tuple[Issue, ...] = error.issues
    return [f"{each.file}:{each.line}:{each.column} {each.key} {each.message} {each.hint}" for each in issues]


@contextmanager
def strict() -> Generator[None, None, None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error", heatsim.HeatsimWarning)
        yield


def main(folder: Path) -> None:
    def hottest(h: float) -> dict[str, float | None]:
        return heatsim.evaluate(scenario, {"h": h}, results=["hottest"])

    scenario: heatsim.Scenario = heatsim.load(folder / "plate.toml", {"time.end": 10.0}, trust=True)
    with strict():
        run: heatsim.Run = heatsim.run(
            scenario, folder / "out", overrides=["time.end=5"], force=True, on_progress=tell, progress=True
        )
    run = heatsim.resume(run, {"time.end": 6.0}, on_progress=tell)
    print(run.path.name, run.finished, run.warnings, run.info["state"], run.timings["loop_seconds"])
    data = heatsim.open(run)
    print(float(data.temperature.max()), data.sizes["time"])
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(hottest, (5.0, 10.0)))
    values: dict[str, float | None] = pickle.loads(pickle.dumps(found[0]))
    print(values["hottest"])
    gradient: heatsim.Gradient = heatsim.gradient(str(folder / "steady.toml"), "chip", ["h"], {"k": 12.0})
    by_source: npt.NDArray[np.float64] = gradient.by_source
    print(gradient.value + gradient.derivatives["h"], by_source.shape)
    impedance: heatsim.ThermalImpedance = heatsim.zth(scenario, first=1e-3, per_decade=5)
    print(impedance.places, impedance.sources, impedance.rises(np.array([0.0, 1.0]), np.ones((1, 2))))
    medium: heatsim.EffectiveConductivity = heatsim.effective(np.zeros((4, 4, 4), int), {0: 2.0}, "x", device="cpu")
    print(medium.conductivity[0, 0], medium.tortuosity, medium.along["x"].bounds)
    sweep = heatsim.open_sweep(folder / "sweep")
    print(dict(sweep.sizes), heatsim.errors.NoGpuError.exit_code, heatsim.__version__)


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]))
    except ScenarioError as error:
        raise SystemExit("\n".join(report(error))) from None
