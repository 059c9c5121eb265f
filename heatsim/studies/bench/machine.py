"""What a measurement was made on: device, versions, load."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heatsim.errors import HeatsimError, NoGpuError
from heatsim.simulation import device_selection

if TYPE_CHECKING:
    from heatsim_kernels.device.cuda.launch import Resources

PACKAGES = ("heatsim", "numpy", "numba", "llvmlite", "numba-cuda", "cuda-bindings", "nvidia-cuda-nvvm", "nvidia-nvvm")
NVIDIA_DRIVER = Path("/proc/driver/nvidia/version")


def pick_device(asked: str) -> str:
    """ "cpu" or "cuda"; "auto" takes a GPU if one works. Raises `NoGpuError` if one is demanded and missing."""
    if asked == "cpu":
        return "cpu"
    try:
        device_selection.gpu_name()
    except NoGpuError:
        if asked == "cuda":
            raise
        return "cpu"
    return "cuda"


def require_memory(device: str, needed: int, what: str) -> None:
    """Raise `HeatsimError` if the device has not the bytes that are needed; nothing has been allocated by then."""
    try:
        device_selection.require_memory(device_selection.DeviceChoice(device, "", ""), needed)
    except HeatsimError as error:
        raise HeatsimError(f"{what}: {error}") from None


def multiprocessor_use(read: Callable[[], Resources]) -> dict[str, float]:
    """What a CUDA kernel takes of a multiprocessor, as it stands in a row; nothing on the simulator, which compiles
    nothing and has no resources to `read`."""
    from heatsim_kernels.device.cuda.api import SIMULATED, cuda

    if SIMULATED:
        return {}
    taken = read()
    room = cuda.get_current_device().MAX_THREADS_PER_MULTIPROCESSOR
    return {
        "registers": taken.registers,
        "spilled_bytes": taken.local_bytes,
        "shared_bytes": taken.shared_bytes,
        "threads": taken.threads,
        "blocks_a_multiprocessor": taken.blocks_a_multiprocessor,
        "occupancy": taken.blocks_a_multiprocessor * taken.threads / room,
    }


def cpu_threads() -> int:
    """Threads that CPU kernels use on a grid of any size worth it."""
    from heatsim_kernels.device.cpu.threads import threads_for

    return int(threads_for(sys.maxsize))


def describe_machine(device: str) -> dict[str, Any]:
    """All about this machine that a measurement may depend on, as it is now."""
    gpu, cpu = device == "cuda", _cpu_model()
    found = {
        "device": device,
        "device_name": device_selection.gpu_name() if gpu else f"{cpu}, {device_selection.cpu_name()}",
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "load_average": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "cpu": cpu,
        "cpu_cores": os.cpu_count(),
        "cpu_cores_allowed": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
        "threads": cpu_threads(),
        "platform": platform.platform(),
        "versions": _versions(),
    }
    return found | (_gpu() if gpu else {})


def _cpu_model() -> str:
    lines: list[str] = []
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, "") or platform.processor() or platform.machine()


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def _gpu() -> dict[str, Any]:
    from heatsim_kernels.device.cuda.api import SIMULATED, cuda, memory

    free, total = memory()
    found: dict[str, Any] = {"gpu_memory_bytes": total, "gpu_memory_free_bytes": free}
    if SIMULATED:
        return found
    version_of_cuda = ".".join(map(str, cuda.cudadrv.driver.get_version()))
    return found | {"driver": _driver(), "driver_cuda": version_of_cuda}


def _driver() -> str:
    """Version of the NVIDIA driver, or "unknown"."""
    query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    with suppress(OSError, subprocess.SubprocessError, IndexError):
        return subprocess.run(query, capture_output=True, text=True, timeout=30, check=True).stdout.split()[0]
    with suppress(OSError, IndexError):
        return NVIDIA_DRIVER.read_text(encoding="utf-8").partition("Kernel Module")[2].split()[0]
    return "unknown"
