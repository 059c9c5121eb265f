"""heatsim: heat conduction and diffusion in a box, on the CPU and on the GPU.

scenario = heatsim.load("scenario.toml")
run = heatsim.run(scenario)
data = heatsim.open(run)          # an xarray Dataset, read lazily
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from heatsim.base.version import __version__ as __version__

if TYPE_CHECKING:  # nothing heavy is imported before it is used: `heatsim --help` is quick
    import numpy as np
    import xarray

    from heatsim import errors as errors
    from heatsim.errors import HeatsimError, HeatsimWarning
    from heatsim.scenario import Scenario
    from heatsim.simulation.arguments import FilePath, Overrides
    from heatsim.simulation.run import Run
    from heatsim.simulation.time_loop import Progress
    from heatsim.studies.homogenisation.conductivity import EffectiveConductivity
    from heatsim.studies.impedance.responses import ThermalImpedance
    from heatsim.studies.sweeps.gradients import Gradient


__all__ = [
    "EffectiveConductivity",
    "Gradient",
    "HeatsimError",
    "HeatsimWarning",
    "Progress",
    "Run",
    "Scenario",
    "ThermalImpedance",
    "effective",
    "errors",
    "evaluate",
    "gradient",
    "load",
    "open",
    "open_sweep",
    "resume",
    "run",
    "zth",
]
_HOMES = {
    "EffectiveConductivity": "heatsim.studies.homogenisation.conductivity",
    "Gradient": "heatsim.studies.sweeps.gradients",
    "HeatsimError": "heatsim.errors",
    "HeatsimWarning": "heatsim.errors",
    "Progress": "heatsim.simulation.time_loop",
    "Run": "heatsim.simulation.run",
    "Scenario": "heatsim.scenario",
    "ThermalImpedance": "heatsim.studies.impedance.responses",
}  # public name -> the module that defines it


def __getattr__(name: str) -> Any:
    """Import a public class where it is first used (PEP 562)."""
    if name == "errors":
        return import_module("heatsim.errors")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names."""
    return sorted([*__all__, "__version__"])


def load(path: FilePath, overrides: Overrides = (), *, trust: bool = False) -> Scenario:
    """Load a scenario file.

    Args:
        path: a TOML file.
        overrides: what comes on top, {"time.end": 10} or ["time.end=10"].
        trust: whether it may name data files outside its own folder.

    Raises `heatsim.errors.ScenarioError` with everything that is wrong with it.
    """
    from heatsim import scenario
    from heatsim.simulation import arguments

    with arguments.spoken_in_python():
        return scenario.load(arguments.path_of(path, "path"), arguments.overrides_of(overrides), trust=trust)


def run(
    scenario: Scenario | FilePath,
    output: FilePath | None = None,
    *,
    overrides: Overrides = (),
    force: bool = False,
    on_progress: Callable[[Progress], object] | None = None,
    progress: bool = False,
) -> Run:
    """Run a scenario; the results go to the folder `output`, by default `outputs/<scenario>`.

    Args:
        scenario: a TOML file, or what `load` made of one.
        output: a folder that is made.
        overrides: as for `load`.
        force: whether an earlier run in that folder is replaced.
        on_progress: told the progress about ten times a second. It ends the run early, with a checkpoint, by
            returning False, and asks for a checkpoint by "checkpoint"; anything else goes on.
        progress: whether the progress is drawn, in place, in a notebook or on stderr.

    Warns by `warnings`, in the category `heatsim.HeatsimWarning`. Ctrl-C saves the run, then raises KeyboardInterrupt.
    Raises `heatsim.errors.HeatsimError`.
    """
    from heatsim.simulation import arguments
    from heatsim.simulation import run as runs
    from heatsim.simulation.interrupts import saved_on_interrupt
    from heatsim.simulation.progress import with_progress

    with arguments.spoken_in_python():
        folder = None if output is None else arguments.path_of(output, "output")
        told, given = arguments.Warnings(), arguments.scenario_of(scenario, overrides)
        shown = with_progress(given, arguments.callback_of(on_progress), progress)
        with shown as callback, saved_on_interrupt(callback) as asked:
            done = runs.run_scenario(given, folder, force=force, on_progress=asked, on_warnings=told)
        return told.close(done)


def resume(
    run: Run | FilePath,
    overrides: Overrides = (),
    *,
    on_progress: Callable[[Progress], object] | None = None,
    progress: bool = False,
) -> Run:
    """Go on with a run that was stopped or killed, from its last checkpoint.

    {"time.end": 20} in `overrides` extends it. A run without a checkpoint starts anew, and a `heatsim.HeatsimWarning`
    says so. Otherwise as `run`. Raises `heatsim.errors.HeatsimError`.
    """
    from heatsim.simulation import arguments
    from heatsim.simulation import run as runs
    from heatsim.simulation.interrupts import saved_on_interrupt
    from heatsim.simulation.progress import with_progress

    with arguments.spoken_in_python():
        path, texts, told = arguments.folder_of(run), arguments.overrides_of(overrides), arguments.Warnings()
        given = runs.load_changed(path, texts)
        shown = with_progress(given, arguments.callback_of(on_progress), progress)
        with shown as callback, saved_on_interrupt(callback) as asked:
            done = runs.resume_run(path, texts, on_progress=asked, on_warnings=told)
        return told.close(done)


def evaluate(
    scenario: Scenario | FilePath,
    parameters: Overrides = (),
    output: FilePath | None = None,
    *,
    overrides: Overrides = (),
    results: Sequence[str] = (),
) -> dict[str, float | None]:
    """The results of one run of a scenario file with other parameters, by name: a function for SciPy, Optuna or SALib.

    Args:
        scenario: a TOML file, or what `load` made of one, overrides included.
        parameters: values of its `[parameters]`, or of keys with dots; numbers, or texts with a unit as "2 mm"; of keys
            names and lists, too. A mapping, or texts "h=10".
        output: folder to keep the run in; by default nothing is kept, and neither pictures nor snapshots are made.
        overrides: as for `load`, before the parameters.
        results: names of those that are wanted, in this order; one that there is not is refused before the run.

    Results are those of `[[output.results]]`; without any, the last values of probes and regions and the heat through
    each face. Raises `heatsim.errors.HeatsimError`.
    """
    from heatsim.simulation import arguments
    from heatsim.studies.sweeps import runs

    with arguments.spoken_in_python():
        told, given = arguments.Warnings(), arguments.scenario_of(scenario, overrides)
        folder = None if output is None else arguments.path_of(output, "output")
        wanted = arguments.names_of(results, "results")
        values, run = runs.evaluate(given, arguments.values_of(parameters), folder, told, results=wanted)
        told.close(run)
        return values


def gradient(
    scenario: Scenario | FilePath,
    of: str,
    with_respect_to: Sequence[str] | str = (),
    parameters: Overrides | None = None,
    *,
    overrides: Overrides = (),
) -> Gradient:
    """The gradient of a result of a steady state, for the cost of one more solve whatever the number of parameters.

    Args:
        scenario: a TOML file, or what `load` made of one, overrides included. It must be linear, and is solved in
            float64 on its device.
        of: name of one of its `[[output.results]]`, or what stands there after `of`: a mean, a smooth maximum such as
            "max_smooth(T, 'die', 0.5)", a probe inside, or a heat.
        with_respect_to: names of its `[parameters]`, or keys with dots such as "materials.die.conductivity".
        parameters: values as for `evaluate`, at which the gradient is found.
        overrides: as for `load`.

    Gives `value`, `derivatives` by name, and of each cell, (nz, ny, nx): `by_source`, what a watt there would add, K/W,
    or 1 for a heat; `by_conductivity`, the derivative by the logarithm of the conductivity there, K or W. Raises
    `heatsim.errors.HeatsimError`.
    """
    from heatsim.simulation import arguments
    from heatsim.studies.sweeps import gradients

    with arguments.spoken_in_python():
        given, values = arguments.scenario_of(scenario, overrides), arguments.values_of(parameters or ())
        names = arguments.names_of(with_respect_to, "with_respect_to")
        return gradients.find_gradient(given, arguments.text_of(of, "of"), names, values)


def zth(
    scenario: Scenario | FilePath, first: float | None = None, per_decade: int = 10, *, overrides: Overrides = ()
) -> ThermalImpedance:
    """The thermal impedance of a linear scenario: what its probes and regions warm for 1 W of each source, over time.

    Args:
        scenario: a TOML file, or what `load` made of one.
        first: the first time, s; a millionth of `time.end`, which is the last, if left out.
        per_decade: times in a decade.
        overrides: as for `load`.

    `rises` of what comes back adds up the responses to any powers. Raises `heatsim.errors.HeatsimError`.
    """
    from heatsim.simulation import arguments
    from heatsim.studies.impedance import responses

    with arguments.spoken_in_python():
        begin = None if first is None else arguments.number_of(first, "first")
        each = arguments.number_of(per_decade, "per_decade", whole=True)
        return responses.find_impedance(arguments.scenario_of(scenario, overrides), begin, int(each))


def open(run: Run | FilePath) -> xarray.Dataset:
    """Open the snapshots of a run lazily: `temperature` (time, z, y, x) and its coordinates, SI units.

    `cell_volume` (z, y, x), m3, is 0 in ambients:
    `data.temperature.weighted(data.cell_volume).mean(("z", "y", "x"))` is the mean of the body over time.

    Needs `pip install heatsim[xarray]`. Raises `heatsim.errors.RunFolderError` if there are none.
    """
    from heatsim.simulation import arguments

    with arguments.spoken_in_python():
        folder = arguments.folder_of(run)
        from heatsim.simulation.opening import open_series

        return open_series(folder)


def open_sweep(folder: FilePath) -> xarray.Dataset:
    """The table of a sweep: a variable for each value, with its unit as attribute, over the parameters.

    Needs `pip install heatsim[xarray]`. Raises `heatsim.errors.InputFileError`.
    """
    from heatsim.simulation import arguments
    from heatsim.studies.sweeps import table

    with arguments.spoken_in_python():
        return table.open_sweep(arguments.path_of(folder, "folder"))


def effective(
    image: np.ndarray | FilePath,
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
    from heatsim.simulation import arguments
    from heatsim.studies.homogenisation import conductivity, media

    with arguments.spoken_in_python():
        volume, given = arguments.volume_of(image), arguments.phases_of(phases)
        edges = arguments.voxel_of(voxel) if voxel is not None else volume.voxel or (1.0, 1.0, 1.0)
        medium = media.make_medium(volume.values, given, edges)
        asked = arguments.text_of(directions, "directions"), arguments.text_of(sides, "sides")
        precise, where = arguments.number_of(tolerance, "tolerance"), arguments.text_of(device, "device")
        return conductivity.find_conductivity(medium, asked[0], sides=asked[1], tolerance=precise, device=where)
