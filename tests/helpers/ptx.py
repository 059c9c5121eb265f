"""CUDA kernels compiled without a GPU."""

from __future__ import annotations

from typing import Any

from heatsim_kernels.device.compile_watch import collection_paused


def compile_to_ptx(kernel: Any, signature: Any, capability: tuple[int, int] = (9, 0), bounds: Any = None) -> str:
    """The PTX of a kernel for arguments of these types."""
    from heatsim_kernels.device.cuda.api import cuda

    with collection_paused():
        return str(cuda.compile_ptx(kernel, signature, cc=capability, launch_bounds=bounds)[0])
