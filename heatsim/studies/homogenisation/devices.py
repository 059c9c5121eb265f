"""Where a medium is solved, and how many voxels there is memory for."""

from __future__ import annotations

from typing import NamedTuple

from heatsim_kernels.solver.network import NetworkKernels
from heatsim_kernels.solver.operator import MultigridKernels

from heatsim.errors import NoGpuError, RequestError
from heatsim.simulation.device_selection import MIN_GPU_CELLS, gpu_name
from heatsim.simulation.free_resources import free_memory
from heatsim.solve.integrators.balance import solver_kernels

DEVICES = "auto", "cpu", "cuda"
MAX_VOXELS = 2**31 - 1  # counted in 32 bits
HOST_BYTES, SOLVER_BYTES = 30, 130  # a voxel at most: image and results, and what solves, on the CPU or a GPU


class Device(NamedTuple):
    """The kernels of a device for linear systems and for networks."""

    kernels: MultigridKernels
    networks: NetworkKernels


def choose_device(name: str, voxels: int = MIN_GPU_CELLS) -> str:
    """ "cpu" or "cuda"; "auto" is a GPU if one works and there are voxels enough for it. Raises `NoGpuError`."""
    if name not in DEVICES:
        raise RequestError(f"device: expected one of {', '.join(DEVICES)}, found {name!r}")
    if name == "cpu" or (name == "auto" and voxels < MIN_GPU_CELLS):
        return "cpu"
    try:
        gpu_name()
    except NoGpuError:
        if name == "cuda":
            raise
        return "cpu"
    return "cuda"


def on_device(name: str) -> Device:
    """The kernels of a device, "cpu" or "cuda"."""
    if name == "cpu":
        from heatsim_kernels.solver.cpu import network as cpu

        return Device(solver_kernels(name), cpu)
    from heatsim_kernels.solver.cuda import network as cuda

    return Device(solver_kernels(name), cuda)


def most_voxels(name: str) -> int:
    """How many voxels an image may have, by the free memory of a device. Raises `NoGpuError`."""
    host = free_memory()[0]
    if choose_device(name) == "cpu":
        return int(min(host / SOLVER_BYTES, MAX_VOXELS))
    from heatsim_kernels.device.cuda import api

    return int(min(host / HOST_BYTES, api.memory()[0] / SOLVER_BYTES, MAX_VOXELS))
