"""How fast several ranks are together: `mpiexec -n 4 python benchmarks/time_ranks.py --kernel temporal`.

Each GPU has a slab of `size`^3 cells (weak scaling), and the whole grid is also advanced by one GPU, if it fits, which
verifies the slabs: planes of the fields have to be equal in all bits, and what is left of a mode that decays. With
--whole all ranks advance a grid of so many cells along each axis, which need not fit into one GPU; on CPUs too
(--kernel cpu), where one process with all threads is timed by the same without mpiexec. HEATSIM_TRANSPORT chooses how
halos go between GPUs. Told are the rates in G cell updates/s of one GPU with its own slab, and of all together, and
their ratio over the number of GPUs; of CPUs also the part of the time that the rank which waits least is busy with
halos.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from mpi4py import MPI

from heatsim.solve.ranks.environment import ending_all, take_threads

take_threads(MPI.COMM_WORLD)

import script  # noqa: E402
from heatsim_kernels.explicit import STEPPERS  # noqa: E402
from heatsim_kernels.explicit.coefficients import Forcing, StencilCoefficients  # noqa: E402

from heatsim.solve.ranks import links  # noqa: E402
from heatsim.solve.ranks.field import RanksStepper  # noqa: E402
from heatsim.solve.ranks.parts import Ranks  # noqa: E402
from heatsim.studies.bench.harness import doubt  # noqa: E402

RATE, WARM_UP = 0.1, 8  # of exchange in a step; steps
Shape = tuple[int, int, int]


def coefficients_of(shape: Shape) -> StencilCoefficients:
    """One material; fixed faces of x, the others closed."""
    return StencilCoefficients(
        shape=shape,
        rates=np.full((1, 6), RATE),
        capacity=np.ones(1),
        periodic=(False, False, False),
        closed=(False, False, True, True, True, True),
    )


def modes(n: int) -> np.ndarray:
    """The slowest mode of n cells between fixed faces."""
    return np.sin((np.arange(n) + 0.5) * np.pi / n)


def timed(stepper: Any, shape: Shape, steps: int, wait: Any) -> tuple[float, list[np.ndarray]]:
    """G cell updates/s, and some planes of the field after all steps, with the heat that entered through each face.

    The field is a mode that decays, between faces fixed at 0 in x, and insulated ones in z. Raises ValueError where a
    plane is not what is left of it.
    """
    coefficients, (nz, ny, nx) = coefficients_of(shape), shape
    a, b = np.zeros((2, 1, coefficients.boundary_size))
    for face in range(2):
        a[:, coefficients.boundary_values_of(face)] = -2.0
    forcing, along_z = Forcing(a, b), np.cos((np.arange(nz) + 0.5) * np.pi / nz)
    plane = np.broadcast_to(modes(nx).astype(np.float32), (ny, nx))
    stepper.field.put(plane * np.float32(each) for each in along_z)
    stepper.advance(1.0, WARM_UP, forcing)
    wait()
    begun = time.perf_counter()
    stepper.advance(1.0, steps, forcing)
    wait()
    rate = nz * ny * nx * steps / (time.perf_counter() - begun) / 1e9
    left = 1.0 - 4.0 * RATE * (np.sin(np.pi / 2 / nx) ** 2 + np.sin(np.pi / 2 / nz) ** 2)
    planes = []
    for z in sorted({0, nz - 1, *(max(0, nz * part // 8 + at) for part in range(1, 8) for at in (-1, 0))}):
        planes.append(stepper.field.plane(0, z))
        off = np.abs(planes[-1] - modes(nx) * along_z[z] * left ** (WARM_UP + steps)).max()
        if off > 1e-4:
            raise ValueError(f"plane {z} is off by {off}")
    return rate, [*planes, stepper.heat_entered()]


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


def main() -> None:
    """Time one rank, and all together."""
    parser = script.options(__doc__, size=1024, kernel="temporal", precision="float32", steps=1500)
    parser.add_argument("--whole", type=int, help="cells along each axis of a grid for all ranks")
    options = parser.parse_args()
    ranks, dtype = Ranks(MPI.COMM_WORLD), np.dtype(options.precision)
    if not ranks.first:
        ranks.serve()
        return
    if options.kernel == "cpu" and not options.whole:
        parser.error("--kernel cpu: --whole was expected, the cells along each axis")
    if options.kernel != "cpu":
        print(ranks.gpus().name, flush=True)
    n, what = options.size, f"{options.kernel} {dtype}"
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
            f"the whole on one {of_whole:.0f}; {'the same bits' if same else 'BITS DIFFER'}"
        )
    ranks.end()


if __name__ == "__main__":
    with ending_all(MPI.COMM_WORLD):
        main()
