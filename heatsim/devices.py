"""Where a run is computed: the CPU, or a CUDA GPU if there is one, and by which stencil kernel."""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass

from heatsim.errors import HeatsimError, NoGpuError, ScenarioError
from heatsim.scenario import Scenario


@dataclass(frozen=True)
class Choice:
    """A device ("cpu" or "cuda"), its name, and the kernel that runs there."""

    device: str
    device_name: str
    kernel: str


def gpu_name() -> str:
    """Name of the GPU; raises `NoGpuError` with the reason and the way out where none works."""
    if os.environ.get("NUMBA_ENABLE_CUDASIM", "0") in ("", "0"):  # the simulator needs no driver
        try:
            ctypes.CDLL("nvcuda.dll" if os.name == "nt" else "libcuda.so.1")
        except OSError:
            raise NoGpuError(f"no CUDA GPU: the NVIDIA driver is not installed. {_WAY_OUT}") from None
    try:
        from heatsim_kernels import cuda_api
    except ImportError:
        raise NoGpuError(f"no CUDA support: numba-cuda is not installed. {_WAY_OUT}") from None
    try:
        return cuda_api.device_name()
    except RuntimeError as error:
        raise NoGpuError(f"no CUDA GPU that works: {error}. {_WAY_OUT}") from None


_WAY_OUT = "Install the driver and `pip install heatsim[cu13]` (or cu12), or use --device cpu"


def require_memory(choice: Choice, needed: int) -> None:
    """Raise `HeatsimError` if the device has not the bytes that a run needs; nothing has been allocated by then."""
    if choice.device == "cuda":
        from heatsim_kernels import cuda_api

        free, what = cuda_api.memory()[0], "free on the GPU"
    else:
        free, what = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"), "of memory in this machine"
    if needed > free:
        raise HeatsimError(
            f"the run needs {needed / 1e9:.1f} GB, and there are {free / 1e9:.1f} GB {what}: take fewer cells"
            + (" or precision float32, or --device cpu" if choice.device == "cuda" else " or precision float32")
        )


def cpu_name() -> str:
    """Number of threads that the CPU kernels use, in words."""
    import numba

    return f"{numba.get_num_threads()} CPU threads"


def choose(scenario: Scenario) -> Choice:
    """Pick device and kernel for a scenario.

    "auto" takes a GPU if one works. Raises `NoGpuError` when a GPU is demanded and missing, `ScenarioError` when the
    kernel named does not run on the device named.
    """
    from heatsim_kernels.stencil import CUDA_SWEEPS

    device, kernel = scenario.compute.device, scenario.compute.kernel
    on_cuda = kernel in CUDA_SWEEPS
    if (device == "cpu" and on_cuda) or (device == "cuda" and kernel == "cpu"):
        other = "cuda" if on_cuda else "cpu"
        message = f'"{kernel}" runs on device "{other}", found device "{device}"'
        raise ScenarioError([scenario.problem_at(("compute", "kernel"), message, 'kernel = "auto" fits any device')])
    # Measured on an H200 at 512^3: `register` has twice the rate of `basic` in one material, less in several.
    fastest = "register" if len(scenario.materials) == 1 else "basic"
    if device == "cuda" or on_cuda:
        return Choice("cuda", gpu_name(), kernel if on_cuda else fastest)
    if device == "auto" and kernel == "auto":
        try:
            return Choice("cuda", gpu_name(), fastest)
        except NoGpuError:
            pass
    return Choice("cpu", cpu_name(), "cpu")
