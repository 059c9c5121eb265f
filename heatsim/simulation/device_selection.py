"""Where a run is computed: the CPU, or a CUDA GPU if there is one, and by which stencil kernel."""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from heatsim.errors import HeatsimError, Issue, NoGpuError, ScenarioError
from heatsim.scenario import Scenario, find_material_dependence
from heatsim.simulation.free_resources import free_memory
from heatsim.solve.ranks import joined_ranks

if TYPE_CHECKING:
    from heatsim.solve.ranks.parts import Ranks

MAX_GPU_CELLS = 2**32 - 1  # cells; the CUDA kernels count them in 32 bits
MIN_GPU_CELLS = 2**17  # cells; a step of fewer takes the CPU no longer than a launch takes the GPU


@dataclass(frozen=True)
class DeviceChoice:
    """A device ("cpu" or "cuda"), its name, the kernel that runs there, and why that one."""

    device: str
    device_name: str
    kernel: str
    reason: str = ""


def gpu_name() -> str:
    """Name of the GPU; raises `NoGpuError` with the reason and the way out where none works."""
    if os.environ.get("NUMBA_ENABLE_CUDASIM", "0") in ("", "0"):  # the simulator needs no driver
        try:
            ctypes.CDLL("nvcuda.dll" if os.name == "nt" else "libcuda.so.1")
        except OSError:
            raise NoGpuError(f"no CUDA GPU: the NVIDIA driver is not installed. {_GPU_HINT}") from None
    try:
        from heatsim_kernels.device.cuda import api
    except ImportError:
        raise NoGpuError(f"no CUDA support: numba-cuda is not installed. {_GPU_HINT}") from None
    try:
        return api.device_name()
    except RuntimeError as error:
        raise NoGpuError(f"no CUDA GPU that works: {error}. {_GPU_HINT}") from None


_GPU_HINT = "Install the driver and `pip install heatsim[cu13]` (or cu12), or use --device cpu"


def require_memory(choice: DeviceChoice, needed: int) -> None:
    """Raise `HeatsimError` if the device has not the bytes that a run needs; nothing has been allocated by then."""
    ranks = joined_ranks()
    if choice.device == "cuda":
        from heatsim_kernels.device.cuda import api

        free, what = float(api.memory()[0]), "free on the GPU"
        if ranks is not None:
            needed = needed * ranks.gpus().shared_by // ranks.size
    else:
        free, what = free_memory()
        if ranks is not None and choice.kernel == "cpu":  # the first rank keeps all fields of a solver but its own
            needed = needed * ranks.on_this_machine // ranks.size
    if needed > free:
        raise HeatsimError(
            f"the run needs {needed / 1e9:.1f} GB, and there are {free / 1e9:.1f} GB {what}: take fewer cells"
            + (" or precision float32, or --device cpu" if choice.device == "cuda" else " or precision float32")
        )


def require_memory_for(scenario: Scenario, choice: DeviceChoice, needed: int) -> None:
    """`require_memory`, as a `ScenarioError` at the cells of the grid."""
    try:
        require_memory(choice, needed)
    except HeatsimError as error:
        raise ScenarioError([scenario.issue_at(("grid", "cells"), str(error))]) from None


def cpu_name() -> str:
    """Number of threads that the CPU kernels use, in words."""
    import numba

    return f"{numba.get_num_threads()} CPU threads"


def choose_device(scenario: Scenario) -> DeviceChoice:
    """Pick device and kernel for a scenario.

    "auto" takes a GPU if one works and the grid is worth it. Raises `NoGpuError` when a GPU is demanded and missing,
    `ScenarioError` when the kernel named does not run on the device named, or does not fit the GPU there is.
    """
    from heatsim_kernels.explicit import CUDA_STEPPERS
    from heatsim_kernels.explicit.enthalpy import NONLINEAR_STEPPERS

    ranks = joined_ranks()
    if ranks is not None:
        _require_fit_for_ranks(scenario, ranks)
    device, kernel = scenario.compute.device, scenario.compute.kernel
    on_cuda = kernel in CUDA_STEPPERS
    if scenario.time.solves and on_cuda:
        message = f'"{kernel}" takes explicit steps, found integrator "{scenario.time.integrator}"'
        raise ScenarioError([_issue_at_kernel(scenario, message)])
    if (device == "cpu" and on_cuda) or (device == "cuda" and kernel == "cpu"):
        other = "cuda" if on_cuda else "cpu"
        message = f'"{kernel}" runs on device "{other}", found device "{device}"'
        raise ScenarioError([_issue_at_kernel(scenario, message)])
    if on_cuda and kernel not in NONLINEAR_STEPPERS and find_material_dependence(scenario) is not None:
        key = ".".join(map(str, find_material_dependence(scenario) or ()))
        message = f'"{kernel}" takes constants, and {key} depends on temperature'
        flaw = scenario.issue_at(("compute", "kernel"), message, 'kernel = "temporal" allows it, as "auto" does')
        raise ScenarioError([flaw])
    cells = prod(scenario.grid.cells) // (1 if ranks is None else ranks.size)
    if (on_cuda or device == "cuda") and cells > MAX_GPU_CELLS:
        message = f"expected at most {MAX_GPU_CELLS} cells on a GPU, found {cells}"
        raise ScenarioError([scenario.issue_at(("grid", "cells"), message, "take fewer cells, or --device cpu")])
    if on_cuda:
        choice = DeviceChoice("cuda", _gpu_names(), kernel, "named by the scenario")
        needed, there = _shared_memory(scenario, kernel)
        if needed > there:
            message = f'"{kernel}" needs {needed} bytes of shared memory a block, and this GPU has {there}'
            raise ScenarioError([_issue_at_kernel(scenario, message)])
        return choice
    if device == "cuda":
        return DeviceChoice("cuda", _gpu_names(), *_fastest_cuda_kernel(scenario))
    if device == "cpu" or kernel == "cpu":
        return _on_cpu(scenario, "named by the scenario")
    if ranks is not None and scenario.time.solves:
        return _on_cpu(scenario, "linear systems are solved over ranks there")
    if cells < MIN_GPU_CELLS:
        return _on_cpu(scenario, "so small a grid is no faster on a GPU")
    if cells > MAX_GPU_CELLS:
        return _on_cpu(scenario, "the grid has more cells than a GPU kernel counts")
    try:
        return DeviceChoice("cuda", _gpu_names(), *_fastest_cuda_kernel(scenario))
    except NoGpuError:
        return _on_cpu(scenario, "there is no GPU" if ranks is None else "not every rank has a GPU")


def _gpu_names() -> str:
    """The GPU of this process, or those of all ranks and how they exchange halos; raises as `gpu_name` does."""
    ranks = joined_ranks()
    if ranks is None:
        return gpu_name()
    gpus = ranks.gpus()
    if gpus.missing:
        gpu_name()
        raise NoGpuError(f"a rank has no CUDA GPU that works: {gpus.missing}. {_GPU_HINT}")
    return gpus.name


def _on_cpu(scenario: Scenario, reason: str) -> DeviceChoice:
    chosen, ranks = scenario.time.chosen, joined_ranks()
    kernel = chosen.kernels["cpu"] if chosen and chosen.kernels else "cpu"
    name = cpu_name() if ranks is None else f"{ranks.size} ranks of {cpu_name()}"
    return DeviceChoice("cpu", name, kernel, reason)


def _require_fit_for_ranks(scenario: Scenario, ranks: Ranks) -> None:
    """Raise `ScenarioError` where there are more ranks than planes, or what they compute in one process only."""
    if scenario.time.solves and scenario.compute.device == "cuda":
        message = f'"cuda" solves linear systems in one process, found {ranks.size}'
        hint = 'device = "auto" or "cpu" solves them over ranks; without mpiexec one GPU computes'
        raise ScenarioError([scenario.issue_at(("compute", "device"), message, hint)])
    planes = scenario.grid.cells[2]
    if planes < ranks.size:
        message = f"the grid is cut along z into a slab for each of {ranks.size} ranks, and has {planes} cells there"
        hint = "start fewer ranks, or turn the body so that its longest axis is z"
        raise ScenarioError([scenario.issue_at(("grid", "cells"), message, hint)])


def _fastest_cuda_kernel(scenario: Scenario) -> tuple[str, str]:
    """The CUDA kernel to take, and why. Measured on an H200: docs/reports/performance.md."""
    chosen = scenario.time.chosen
    if chosen and chosen.kernels:
        return chosen.kernels["cuda"], f"{chosen.name} solves linear systems"
    needed, there = _shared_memory(scenario, "temporal")
    if needed <= there:
        return "temporal", "the fastest: several steps a sweep where they can be fused, else those of register"
    return "register", "the fastest that fits this GPU"


def _shared_memory(scenario: Scenario, kernel: str) -> tuple[int, int]:
    """Bytes of shared memory that a block of the kernel needs at least, and that the GPU has for one."""
    from heatsim_kernels.device.cuda.api import shared_memory
    from heatsim_kernels.explicit.cuda.tile_tuning import min_shared_bytes

    return min_shared_bytes(kernel, scenario.compute.precision), shared_memory()


def _issue_at_kernel(scenario: Scenario, message: str) -> Issue:
    return scenario.issue_at(("compute", "kernel"), message, 'kernel = "auto" fits any device')
