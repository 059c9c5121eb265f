"""How fast several ranks are together: `mpiexec -n 4 python benchmarks/time_ranks.py --kernel temporal`.

Each GPU has a slab of `cells`^3 cells (weak scaling), and the whole grid is also advanced by one GPU, if it fits, which
verifies the slabs: planes of the fields have to be equal in all bits, and what is left of a mode that decays. With
--whole all ranks advance a grid of so many cells along each axis, which need not fit into one GPU; on CPUs too
(--kernel cpu), where one process with all threads is timed by the same without mpiexec. HEATSIM_TRANSPORT chooses how
halos go between GPUs. Told are the rates in G cell updates/s of one GPU with its own slab, and of all together, and
their ratio over the number of GPUs; of CPUs also the part of the time that the rank which waits least is busy with
halos.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from mpi4py import MPI

from heatsim.ranks.environment import ending_all, take_threads

take_threads(MPI.COMM_WORLD)

from heatsim_kernels.stencil import STEPPERS  # noqa: E402
from heatsim_kernels.stencil.coefficients import Forcing, StencilCoefficients  # noqa: E402

from heatsim.bench.rounds import doubt  # noqa: E402
from heatsim.ranks import links  # noqa: E402
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


def modes(n: int) -> np.ndarray:
    """The slowest mode of n cells between fixed faces."""
    return np.sin((np.arange(n) + 0.5) * np.pi / n)


def planes_of(shape: tuple[int, int, int]) -> Iterator[np.ndarray]:
    """The planes of a mode that decays: between fixed faces in x, between insulated ones in z."""
    nz, ny, nx = shape
    plane = np.broadcast_to(modes(nx).astype(np.float32), (ny, nx))
    return (plane * np.float32(np.cos((z + 0.5) * np.pi / nz)) for z in range(nz))


def decay(shape: tuple[int, int, int], steps: int) -> float:
    """What steps leave of that mode."""
    nz, _, nx = shape
    return float((1.0 - 4.0 * RATE * (np.sin(np.pi / 2 / nx) ** 2 + np.sin(np.pi / 2 / nz) ** 2)) ** steps)


def timed(stepper: Any, shape: tuple[int, int, int], steps: int, wait: Any) -> tuple[float, list[np.ndarray]]:
    """G cell updates/s, and some planes of the field after all steps, with the heat that entered through each face.

    Raises ValueError where a plane is not what is left of the mode.
    """
    coefficients = coefficients_of(shape)
    forcing, cells, nz = forcing_of(coefficients), float(np.prod(shape)), shape[0]
    stepper.field.put(planes_of(shape))
    stepper.advance(1.0, WARM_UP, forcing)
    wait()
    begun = time.perf_counter()
    stepper.advance(1.0, steps, forcing)
    wait()
    rate = cells * steps / (time.perf_counter() - begun) / 1e9
    chosen = sorted({0, nz - 1, *(max(0, nz * part // 8 + at) for part in range(1, 8) for at in (-1, 0))})
    planes = [stepper.field.plane(0, z) for z in chosen]
    for z, plane in zip(chosen, planes, strict=True):
        exact = modes(shape[2]) * np.cos((z + 0.5) * np.pi / nz) * decay(shape, WARM_UP + steps)
        if np.abs(plane - exact).max() > 1e-4:
            raise ValueError(f"plane {z} is off by {np.abs(plane - exact).max()}")
    return rate, [*planes, stepper.heat_entered()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, default=1024, help="cells along each axis of a slab")
    parser.add_argument("--whole", type=int, help="cells along each axis of a grid for all GPUs")
    parser.add_argument("--kernel", default="temporal")
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--precision", default="float32", choices=["float32", "float64"])
    options = parser.parse_args()
    comm, dtype = MPI.COMM_WORLD, np.dtype(options.precision)
    ranks = Ranks(comm)
    if not ranks.first:
        ranks.serve()
        return
    if options.kernel == "cpu" and not options.whole:
        parser.error("--kernel cpu: --whole was expected, the cells along each axis")
    if options.kernel != "cpu":
        print(ranks.gpus().name, flush=True)
    n, what = options.cells, f"{options.kernel} {dtype}"
    shape = (options.whole,) * 3 if options.whole else (n * ranks.size, n, n)
    slabs = RanksStepper(ranks, coefficients_of(shape), dtype, kernel=options.kernel)
    watch = ranks.make_parts([Watch()] * ranks.size)
    together, found = timed(slabs, shape, options.steps, slabs.heat_entered)
    del slabs
    busy = min(ranks.call(watch, "shares"))
    if options.whole:
        of_halos = f", {100 * busy:.1f} % of the time for halos" if options.kernel == "cpu" and ranks.size > 1 else ""
        rate = f"{ranks.size} together {together:.4g} G cell updates/s{of_halos}"
        print(f"{what} {options.whole}^3: {rate}; the mode as it decays")
    else:
        stepper: Any = STEPPERS[options.kernel](coefficients_of((n, n, n)), dtype)
        alone, _ = timed(stepper, (n, n, n), options.steps, stepper.synchronize)
        del stepper
        stepper = STEPPERS[options.kernel](coefficients_of(shape), dtype)
        of_whole, expected = timed(stepper, shape, options.steps, stepper.synchronize)
        seconds = [n**3 * options.steps / rate / 1e9 for rate in (alone, together / ranks.size)]
        why = doubt(seconds[:1]) or doubt(seconds[1:])
        ratio = f"no ratio, since {why}" if why else f"ratio a GPU {together / alone / ranks.size:.3f}"
        same = all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))
        print(
            f"{what} {n}^3 a GPU: one {alone:.0f}, {ranks.size} together {together:.0f} G cell updates/s, {ratio}; "
            f"the whole on one {of_whole:.0f}; "
            f"{'the same bits' if same else 'BITS DIFFER'}",
        )
    ranks.end()


class Watch:
    """What part of the time of each rank goes into exchanges of halos on the CPU. Asking for it has the ranks free
    what is used no more."""

    def part(self, comm: MPI.Intracomm) -> Watch:
        """Begin to watch this rank."""
        self._comm, self._spent, exchange = comm, 0.0, links.MpiLinks.exchange

        def watched(*given: Any) -> None:
            begun = time.perf_counter()
            exchange(*given)
            self._spent += time.perf_counter() - begun

        links.MpiLinks.exchange = watched  # type: ignore[method-assign, assignment]
        self._begun = time.perf_counter()
        return self

    def shares(self) -> list[float] | None:
        """Those of all ranks, on the first."""
        return self._comm.gather(self._spent / (time.perf_counter() - self._begun))


if __name__ == "__main__":
    with ending_all(MPI.COMM_WORLD):
        main()
