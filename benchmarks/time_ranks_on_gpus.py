"""How fast several GPUs are together: `mpiexec -n 4 python benchmarks/time_ranks_on_gpus.py --kernel temporal`.

Each GPU has a slab of `cells`^3 cells (weak scaling), and the whole grid is also advanced by one GPU, if it fits, which
verifies the slabs: the fields have to be equal in all bits. HEATSIM_TRANSPORT chooses how halos go. Told are the rates
in G cell updates/s of one GPU with its own slab, and of all GPUs together, and their ratio over the number of GPUs.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from mpi4py import MPI

from heatsim.ranks.environment import take_threads

take_threads(MPI.COMM_WORLD)

from heatsim_kernels.stencil import STEPPERS  # noqa: E402
from heatsim_kernels.stencil.coefficients import Forcing, StencilCoefficients  # noqa: E402

from heatsim.ranks.field import RanksStepper  # noqa: E402
from heatsim.ranks.parts import Ranks  # noqa: E402

RATE, WARM_UP = 0.1, 8  # of exchange in a step; steps


def coefficients_of(shape: tuple[int, int, int]) -> StencilCoefficients:
    """One material; fixed faces of x, the others closed."""
    return StencilCoefficients(
        shape=shape,
        rates=np.full((1, 6), RATE),
        capacity=np.ones(1),
        class_ids=None,
        periodic=(False, False, False),
        closed=(False, False, True, True, True, True),
    )


def forcing_of(coefficients: StencilCoefficients) -> Forcing:
    """Fixed at 0 beyond the faces of x."""
    a, b = np.zeros((1, coefficients.boundary_size)), np.zeros((1, coefficients.boundary_size))
    for face in range(2):
        a[:, coefficients.boundary_values_of(face)] = -2.0
    return Forcing(a, b)


def planes_of(shape: tuple[int, int, int]) -> Any:
    """The planes of a field at the start, each another one."""
    nz, ny, nx = shape
    y, x = np.mgrid[:ny, :nx].astype(np.float32)
    plane = np.sin(x / nx * np.pi).astype(np.float32) * np.cos(y / ny * 3).astype(np.float32)
    return (plane * np.float32(1 + (z % 97) / 97) for z in range(nz))


def timed(stepper: Any, coefficients: StencilCoefficients, steps: int, wait: Any) -> tuple[float, list[np.ndarray]]:
    """G cell updates/s, and planes of the field after all steps, with the heat that entered through each face."""
    forcing, cells = forcing_of(coefficients), float(np.prod(coefficients.shape))
    stepper.field.put(planes_of(coefficients.shape))
    stepper.advance(1.0, WARM_UP, forcing)
    wait()
    begun = time.perf_counter()
    stepper.advance(1.0, steps, forcing)
    wait()
    rate = cells * steps / (time.perf_counter() - begun) / 1e9
    nz = coefficients.shape[0]
    chosen = sorted({0, nz - 1, *(nz * part // 8 + at for part in range(1, 8) for at in (-1, 0))})
    return rate, [*(stepper.field.plane(0, z) for z in chosen), stepper.heat_entered()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, default=1024, help="cells along each axis of a slab")
    parser.add_argument("--kernel", default="temporal")
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--precision", default="float32", choices=["float32", "float64"])
    options = parser.parse_args()
    comm, dtype = MPI.COMM_WORLD, np.dtype(options.precision)
    ranks = Ranks(comm)
    if not ranks.first:
        ranks.serve()
        return
    n = options.cells
    gpus = ranks.gpus()
    print(gpus.name, flush=True)
    whole = coefficients_of((n * ranks.size, n, n))
    slabs = RanksStepper(ranks, whole, dtype, kernel=options.kernel)
    together, found = timed(slabs, whole, options.steps, slabs.heat_entered)
    del slabs
    ranks.call(ranks.make_parts([Freed()] * ranks.size), "none")
    one = coefficients_of((n, n, n))
    stepper: Any = STEPPERS[options.kernel](one, dtype)
    alone, _ = timed(stepper, one, options.steps, stepper.synchronize)
    del stepper
    stepper = STEPPERS[options.kernel](whole, dtype)
    of_whole, expected = timed(stepper, whole, options.steps, stepper.synchronize)
    same = all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))
    print(
        f"{options.kernel} {dtype} {n}^3 a GPU: one {alone:.0f}, {ranks.size} together {together:.0f} G cell "
        f"updates/s, ratio a GPU {together / alone / ranks.size:.3f}; the whole on one {of_whole:.0f}; "
        f"{'the same bits' if same else 'BITS DIFFER'}",
        flush=True,
    )
    ranks.end()


class Freed:
    """A part that does nothing: making it has the ranks free those that are used no more."""

    def part(self, comm: MPI.Intracomm) -> Freed:
        """Itself."""
        return self

    def none(self) -> None:
        """Nothing."""


if __name__ == "__main__":
    main()
