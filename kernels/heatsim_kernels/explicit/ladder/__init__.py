"""CUDA kernels that take one step a launch, each with its own way to move data: a module a kernel.

To add one, write a module with what `OneStepKernel` asks for and enter its name in `ONE_STEP_KERNELS` of
`heatsim_kernels.explicit`. Scenario files, the command line, the benchmark and the tests take the names from there.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from heatsim_kernels.device.thread_blocks import ThreadBlock
    from heatsim_kernels.explicit.cuda_cell.configuration import StencilConfiguration


class OneStepKernel(Protocol):
    """A module of this package."""

    __name__: str

    @property
    def TILES(self) -> tuple[ThreadBlock, ...]:
        """Thread blocks to choose from; the first is taken where no better one is known."""

    def build(self, variant: tuple[StencilConfiguration, ThreadBlock]) -> Callable[..., None]:
        """The kernel (u, v, shape, boundary, exchange, sources), which puts the field u after a step into v; see
        `cuda_cell.cell_update` for its arguments."""

    def grid(self, shape: tuple[int, int, int], tile: ThreadBlock, dtype: str) -> tuple[int, int, int]:
        """Blocks of a launch for a field (nz, ny, nx)."""

    def field_reads(self, tile: ThreadBlock, itemsize: int) -> float:
        """Values of the field that the threads read from global memory, before caches, for each new value."""


def load_kernel(name: str) -> OneStepKernel:
    """The module of a kernel; it needs numba-cuda."""
    module: Any = import_module(f".{name}", __package__)
    kernel: OneStepKernel = module
    return kernel
