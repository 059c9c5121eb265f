"""pystencils 2: generated C++ with OpenMP and vector intrinsics, swapped by a Python time loop."""

from typing import Any

import numpy as np

from .problem import NUMBER, SLOPE, Sweeps, bind_openmp, missing, potential

NAME, DISTRIBUTION, BOUNDARY = "pystencils", "pystencils", "ghost"
SETTINGS = (
    "OpenMP, widest vector intrinsics of this CPU, sizes fixed at compile time, rows aligned to 64 bytes; "
    "streaming stores asked for (pystencils 2.0 ignores that option)"
)


def available() -> str | None:
    return missing("pystencils")


def prepare(initial: np.ndarray) -> Sweeps:
    bind_openmp()
    import pystencils

    old, new = _aligned(initial), _aligned(np.zeros_like(initial))
    u = pystencils.Field.create_from_numpy_array("u", old, index_dimensions=0)
    v = pystencils.Field.create_from_numpy_array("v", new, index_dimensions=0)
    axes = [(1, 0, 0), (0, 1, 0), (0, 0, 1)]
    neighbours = sum(potential(u[axis]) + potential(u[tuple(-i for i in axis)]) for axis in axes)
    change = NUMBER * (neighbours - 6 * potential(u.center()))
    plain = (1 - 6 * NUMBER) * u.center() + NUMBER * neighbours
    update = pystencils.Assignment(v.center(), u.center() + change if SLOPE else plain)
    kernel = pystencils.create_kernel([update], _configuration(initial.dtype.name)).compile()
    fields = [old, new]

    def advance(steps: int) -> None:
        for _ in range(steps):
            kernel(u=fields[0], v=fields[1])
            fields.reverse()

    return Sweeps(advance, lambda: fields[0][1:-1, 1:-1, 1:-1])


def _aligned(inner: np.ndarray) -> np.ndarray:
    from pystencils.alignedarray import aligned_zeros

    shape = tuple(size + 2 for size in inner.shape)
    field = aligned_zeros(shape, byte_alignment=64, dtype=inner.dtype, byte_offset=inner.itemsize)
    field[1:-1, 1:-1, 1:-1] = inner
    return field


def _configuration(dtype: str) -> Any:
    from pystencils import CreateKernelConfig, Target

    configuration = CreateKernelConfig(target=Target.auto_cpu(), default_dtype=dtype)
    configuration.cpu.openmp.enable = True
    configuration.cpu.vectorize.enable = True
    configuration.cpu.vectorize.assume_inner_stride_one = True
    configuration.cpu.vectorize.assume_aligned = True
    configuration.cpu.vectorize.use_nontemporal_stores = ["v"]
    return configuration
