"""heatsim: heat conduction and diffusion in a box, on the CPU and on the GPU.

scenario = heatsim.load("scenario.toml")
run = heatsim.run(scenario)
data = heatsim.open(run)          # an xarray Dataset, read lazily
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # nothing heavy is imported before it is used: `heatsim --help` is quick
    import numpy as np
    import xarray

    from heatsim.homogenisation.conductivity import EffectiveConductivity
    from heatsim.impedance.responses import ThermalImpedance
    from heatsim.scenario import Scenario
    from heatsim.simulation.run import Run
    from heatsim.simulation.time_loop import Progress
    from heatsim.sweeps.gradients import Gradient

__version__ = "0.1.0"
__all__ = ["effective", "evaluate", "gradient", "load", "open", "resume", "run", "zth"]


def load(path: Path | str, overrides: Sequence[str] = (), *, trust: bool = False) -> Scenario:
    """Load a scenario file; `overrides` such as "time.end=10" come on top.

    trust: whether it may name data files outside its own folder.

    Raises `heatsim.errors.ScenarioError` with everything that is wrong with it.
    """
    from heatsim import scenario

    return scenario.load(path, overrides, trust=trust)


def run(
    scenario: Scenario,
    output: Path | str | None = None,
    *,
    force: bool = False,
    on_progress: Callable[[Progress], bool | str] = lambda progress: True,
) -> Run:
    """Run a scenario; the results go to the folder `output`, by default `outputs/<scenario>`.

    `on_progress` is called with the progress and may end the run early, with a checkpoint, by returning
    False. Raises
    `heatsim.errors.HeatsimError`.
    """
    from heatsim.simulation import run as runs

    return runs.run_scenario(scenario, output, force=force, on_progress=on_progress)


def resume(
    run: Run | Path | str,
    overrides: Sequence[str] = (),
    *,
    on_progress: Callable[[Progress], bool | str] = lambda progress: True,
) -> Run:
    """Go on with a run that was stopped or killed, from its last checkpoint; "time.end=20" in `overrides` extends it.

    Raises `heatsim.errors.HeatsimError`.
    """
    from heatsim.simulation import run as runs

    path = run.path if isinstance(run, runs.Run) else Path(run)
    return runs.resume_run(path, overrides, on_progress=on_progress)


def evaluate(
    scenario: Path | str | Scenario,
    parameters: Mapping[str, Any],
    output: Path | str | None = None,
    *,
    results: Sequence[str] = (),
) -> dict[str, float | None]:
    """The results of one run of a scenario file with other parameters, by name: a function for SciPy, Optuna or SALib.

    Args:
        scenario: a TOML file, or what `load` made of one, overrides included.
        parameters: values of its `[parameters]`, or of keys with dots; numbers, or texts with a unit as "2 mm"; of keys
            names and lists, too.
        output: folder to keep the run in; by default nothing is kept.
        results: names of those that are wanted, in this order; one that there is not is refused before the run.

    Results are those of `[[output.results]]`; without any, the last values of probes and regions and the heat through
    each face. Raises `heatsim.errors.HeatsimError`.
    """
    from heatsim.sweeps import runs

    return runs.evaluate(scenario, parameters, output, results)


def gradient(
    scenario: Path | str | Scenario,
    of: str,
    with_respect_to: Sequence[str] = (),
    parameters: Mapping[str, Any] | None = None,
) -> Gradient:
    """The gradient of a result of a steady state, for the cost of one more solve whatever the number of parameters.

    Args:
        scenario: a TOML file, or what `load` made of one, overrides included. It must be linear, and is solved in
            float64 on its device.
        of: name of one of its `[[output.results]]`, or what stands there after `of`: a mean, a smooth maximum such as
            "max_smooth(T, 'die', 0.5)", a probe inside, or a heat.
        with_respect_to: names of its `[parameters]`, or keys with dots such as "materials.die.conductivity".
        parameters: values as for `evaluate`, at which the gradient is found.

    Gives `value`, `derivatives` by name, and of each cell, (nz, ny, nx): `by_source`, what a watt there would add, K/W,
    or 1 for a heat; `by_conductivity`, the derivative by the logarithm of the conductivity there, K or W. Raises
    `heatsim.errors.HeatsimError`.
    """
    from heatsim.sweeps import gradients

    return gradients.find_gradient(scenario, of, with_respect_to, parameters or {})


def zth(scenario: Scenario, first: float | None = None, per_decade: int = 10) -> ThermalImpedance:
    """The thermal impedance of a linear scenario: what its probes and regions warm for 1 W of each source, over time.

    Args:
        scenario: from `load`.
        first: the first time, s; a millionth of `time.end`, which is the last, if left out.
        per_decade: times in a decade.

    `rises` of what comes back adds up the responses to any powers. Raises `heatsim.errors.HeatsimError`.
    """
    from heatsim.impedance import responses

    return responses.find_impedance(scenario, first, per_decade)


def open(run: Run | Path | str) -> xarray.Dataset:
    """Open the snapshots of a run lazily: `temperature` (time, z, y, x) and its coordinates, SI units.

    `cell_volume` (z, y, x), m3, is 0 in ambients:
    `data.temperature.weighted(data.cell_volume).mean(("z", "y", "x"))` is the mean of the body over time.

    Needs `pip install heatsim[xarray]`. Raises `heatsim.errors.RunFolderError` if there are none.
    """
    from heatsim.simulation import run as runs

    return runs.open_series(run.path if isinstance(run, runs.Run) else Path(run))


def effective(
    image: np.ndarray | Path | str,
    phases: Mapping[int, float],
    directions: str = "xyz",
    *,
    sides: str = "insulated",
    voxel: tuple[float, float, float] | None = None,
    tolerance: float = 1e-4,
    device: str = "auto",
) -> EffectiveConductivity:
    """The effective conductivity of a medium from an image of labels.

    Args:
        image: (nz, ny, nx) labels, or a file or folder of them: .npy, .npz, HDF5, TIFF or PNG.
        phases: the conductivity of each label, W/(m K), or its diffusivity; 0 for void.
        directions: axes of the gradient.
        sides: "insulated" or "periodic", the faces beside the gradient; "all-periodic": a mean gradient without ends.
        voxel: edges of a voxel along x, y, z, in any one unit; those of the file, if left out, or cubes.
        tolerance: relative, between the two bounds.
        device: "cpu", "cuda", or "auto" for a GPU if there is one.

    Raises `heatsim.errors.HeatsimError`.
    """
    from heatsim.homogenisation import conductivity, media
    from heatsim.store.inputs import Volume, read_volume

    volume = read_volume(Path(image)) if isinstance(image, str | Path) else Volume(image)
    medium = media.make_medium(volume.values, phases, voxel or volume.voxel or (1.0, 1.0, 1.0))
    return conductivity.find_conductivity(medium, directions, sides=sides, tolerance=tolerance, device=device)
