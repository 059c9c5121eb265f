"""Compilation of the kernels that runs use: how far it is, and ahead of runs."""

from __future__ import annotations

import atexit
import gc
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

from heatsim_kernels.device import compile_watch
from heatsim_kernels.device.cpu.compilation import import_compiler_without_scipy

from heatsim.base.methods import METHODS
from heatsim.errors import HeatsimError
from heatsim.simulation.run import run_scenario
from heatsim.solve.integrators import INTEGRATORS

if TYPE_CHECKING:
    from heatsim.scenario import Scenario

# Of a scenario with "auto", whose integrator is not known yet: those of the one that needs the fewest.
_KERNELS_OF_AUTO = min(each.method.kernel_count for each in INTEGRATORS.values() if each.estimate is not None)

# A plate for `common_scenarios`. On the CPU, grids below and above 65 536 cells use different versions of a kernel.
_GRIDS = {"a small grid": [40, 20, 1], "a large grid": [400, 200, 1]}
_PLATE = """\
temperature_unit = "degC"
grid = {{ cells = {cells}, size = [0.04, 0.02, 0.001] }}
time = {{ integrator = "{integrator}"{end} }}
[materials]
metal = {{ conductivity = {conductivity}, density = 2700.0, heat_capacity = 900.0 }}
foam = {{ conductivity = 0.1, density = 50.0, heat_capacity = 1000.0 }}
[[regions]]
material = "metal"
{insert}
[initial]
temperature = 20.0
[boundary]
x_max = {{ kind = "fixed", temperature = 20.0 }}
z_max = {{ kind = "convection", coefficient = 25.0, ambient = 20.0 }}
[[sources]]
region = {{ box = {{ lower = [0.01, 0.0, 0.0], upper = [0.02, 0.01, 0.001] }} }}
power = 1.0
[output]
"""
_OUTPUT = 'snapshots = { count = 1 }\nenergy = { every = 0.5 }\nslices = [{ axis = "z", at = 0.0005, every = 1.0 }]\n'
_INSERT = '[[regions]]\nmaterial = "foam"\nbox = { lower = [0.03, 0.0, 0.0], upper = [0.035, 0.01, 0.001] }'
_CONSTANT, _DEPENDENT = "200.0", '"200 - 0.01*T"'
_PLATES = {  # name: insert, conductivity, integrators
    "one material": ("", _CONSTANT, ("euler", "rkl2", "steady")),
    "several materials": (_INSERT, _CONSTANT, ("euler", "rkl2", "implicit", "steady")),
    "k(T)": (_INSERT, _DEPENDENT, ("euler", "steady")),
}


class Outcome(NamedTuple):
    """What was compiled for a scenario: the names of the kernels, or why it could not be begun."""

    name: str
    kernels: tuple[str, ...]
    error: str = ""


def prepare_process() -> None:
    """Save time in a process that runs heatsim alone."""
    import_compiler_without_scipy()
    # Python takes its objects apart when it ends, a million of them, which the system frees at once: half a second.
    atexit.register(gc.freeze)


@contextmanager
def watch_compiling(tell: Callable[[str], None]) -> Iterator[None]:
    """Call `tell` with the name of each kernel, in words, whose compilation begins."""
    with compile_watch.watch_compiling(lambda module: tell(kernel_name(module))):
        yield


def kernel_name(module: str) -> str:
    """The module of a kernel in words: "stencil: fused pass" for `heatsim_kernels.explicit.cpu.fused_pass`."""
    _, *rooms, last = module.split(".")
    return ": ".join(part.replace("_", " ") for part in (*rooms[:1], last))


def expected_kernels(scenario: Scenario) -> int:
    """How many kernels a run compiles if none are on the disk, about."""
    chosen = scenario.time.chosen
    return _KERNELS_OF_AUTO if chosen is None else chosen.kernel_count


def common_scenarios(folder: Path) -> list[Path]:
    """Write scenarios that use the kernels of most runs into a folder; returns the files."""
    files = []
    for plate, (insert, conductivity, integrators) in _PLATES.items():
        for integrator in integrators:
            for grid, cells in _GRIDS.items():
                steady = METHODS[integrator].to_limit
                end = "" if steady else ", end = 1.0"
                text = _PLATE.format(
                    cells=cells, integrator=integrator, end=end, conductivity=conductivity, insert=insert
                )
                file = folder / f"{plate}, {integrator}, {grid}.toml"
                file.write_text(text + ("" if steady else _OUTPUT), encoding="utf-8")
                files.append(file)
    return files


def precompile(file: Path) -> Outcome:
    """Compile all that a run of a scenario uses and that is not on the disk, by beginning the run in a folder that is
    thrown away."""
    from heatsim.scenario import load

    prepare_process()
    compiled: list[str] = []
    try:
        with TemporaryDirectory(prefix="heatsim-warm-") as folder, watch_compiling(compiled.append):
            run_scenario(load(file), Path(folder) / "run", on_progress=lambda progress: False)
    except HeatsimError as error:
        return Outcome(file.stem, tuple(compiled), str(error))
    return Outcome(file.stem, tuple(compiled))


def precompile_all(files: Sequence[Path]) -> Iterator[Outcome]:
    """`precompile` of several files, by one process a core; outcomes as they come."""
    processes = min(len(files), os.cpu_count() or 1)
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        try:
            for done in as_completed(pool.submit(precompile, file) for file in files):
                yield done.result()
        finally:  # after an error, or Ctrl-C, what has not begun is left
            pool.shutdown(cancel_futures=True)
