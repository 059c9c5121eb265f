"""What the steppers of slabs exchange, by MPI: a `heatsim_kernels.explicit.slabs.SlabLinks`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from heatsim.solve.ranks.environment import leave_core

if TYPE_CHECKING:
    from heatsim_kernels.explicit.slabs import Slab
    from mpi4py import MPI

# Messages by the way that they go. On two ranks of a periodic grid both neighbours are one, which tells by these tags
# which of its halos a message is for.
UPWARDS, DOWNWARDS, PLANES = 1, 2, 3
FIRST = 0  # the rank that has the run
MESSAGE_BYTES = 2**28


class HaloPart(NamedTuple):
    """Planes, or items of a flat field, that go to a rank or come from it; tag: tells them from others of the same two
    ranks."""

    rank: int
    tag: int
    items: slice


class MpiLinks:
    """The links of one rank to the others, each of which has one of the slabs."""

    def __init__(self, comm: MPI.Intracomm, slabs: Sequence[Slab]) -> None:
        self._comm, self._slabs = comm, slabs

    @property
    def rank(self) -> int:
        """The number of this rank."""
        return int(self._comm.rank)

    @property
    def slab(self) -> Slab:
        """The slab of this rank."""
        return self._slabs[self._comm.rank]

    @property
    def slabs(self) -> list[Slab]:
        """The slabs of all ranks."""
        return list(self._slabs)

    def of_slabs(self, slabs: Sequence[Slab]) -> MpiLinks:
        """The links of the same ranks, of another grid."""
        return MpiLinks(self._comm, slabs)

    def fill_halos(self, values: np.ndarray) -> None:
        """Copy the planes of the neighbours into the halos of a field: see `SlabLinks`."""
        self.exchange(values.reshape(self.slab.shape), self.slab.halo, self.slab.halo)

    def exchange(self, planes: np.ndarray, below: int, above: int) -> None:
        """Copy planes of the neighbours beside the own ones: see `multigrid.slabs.SolverLinks`."""
        from mpi4py import MPI

        sent, received = self.halo_parts(below, above)
        requests = [self._comm.Irecv(planes[part.items], part.rank, part.tag) for part in received]
        requests += [self._comm.Isend(planes[part.items], part.rank, part.tag) for part in sent]
        wait_until(lambda: MPI.Request.Testall(requests))

    def halo_parts(self, below: int, above: int) -> tuple[list[HaloPart], list[HaloPart]]:
        """The planes that are sent to fill halos of so many planes, and those that are received. What goes between two
        ranks is received in the order in which the other one lists it as sent."""
        slab, first, end = self.slab, self.slab.own.start, self.slab.own.stop
        upper, lower = (self.rank + 1) % self._comm.size, (self.rank - 1) % self._comm.size
        sent, received = list[HaloPart](), list[HaloPart]()
        if slab.below:
            sent.append(HaloPart(lower, DOWNWARDS, slice(first, first + above)))
        if slab.above:
            sent.append(HaloPart(upper, UPWARDS, slice(end - below, end)))
            received.append(HaloPart(upper, DOWNWARDS, slice(end, end + above)))
        if slab.below:
            received.append(HaloPart(lower, UPWARDS, slice(first - below, first)))
        return sent, received

    def together(self, own: np.ndarray) -> np.ndarray:
        """What all ranks have, one after another along the first axis, on each of them."""
        comm, own = self._comm, np.ascontiguousarray(own)
        counts = np.empty(comm.size, np.int64)
        wait_until(comm.Iallgather(np.array([len(own)]), counts).Test)
        found = np.empty((counts.sum(), *own.shape[1:]), own.dtype)
        wait_until(comm.Iallgatherv(own, [found, counts * prod(own.shape[1:])]).Test)
        return found

    def whole(self, values: np.ndarray, axis: int = 0) -> np.ndarray:
        """Values by plane of the whole grid: see `SlabLinks`."""
        own = np.ascontiguousarray(np.moveaxis(values, axis, 0))
        found = np.empty((self.slab.cells[0], *own.shape[1:]), own.dtype)
        size = own[:1].size if len(own) else 0
        counts = [(slab.end - slab.first) * size for slab in self._slabs]
        wait_until(self._comm.Iallgatherv(own, [found, counts]).Test)
        return np.ascontiguousarray(np.moveaxis(found, 0, axis))

    def greatest(self, values: np.ndarray) -> np.ndarray:
        """The greatest of each value: see `SlabLinks`."""
        return np.asarray(self.together(np.asarray(values)[None]).max(axis=0))

    def at_first(self, value: Any) -> list[Any] | None:
        """What each rank has, on the first; None on the others."""
        self._meet()
        return self._comm.gather(value, FIRST)

    def from_first(self, value: Any) -> Any:
        """The value that the first rank has: see `SlabLinks`."""
        self._meet()
        return self._comm.bcast(value, FIRST)

    def gather(self, own: np.ndarray) -> np.ndarray | None:
        """An array by plane of the whole grid on the first rank, from those of the own planes; None on the others."""
        comm, own = self._comm, np.ascontiguousarray(own)
        self._meet()
        if comm.rank != FIRST:
            for planes in _batches(len(own), own[:1].nbytes):
                comm.Send(own[planes], FIRST, PLANES)
            return None
        found = np.empty((self.slab.cells[0], *own.shape[1:]), own.dtype)
        for rank, slab in enumerate(self._slabs):
            if rank == FIRST:
                found[slab.first : slab.end] = own
            else:
                of_rank = found[slab.first : slab.end]
                for planes in _batches(len(of_rank), own[:1].nbytes):
                    comm.Recv(of_rank[planes], rank, PLANES)
        return found

    def scatter(self, whole: Iterable[np.ndarray] | None, dtype: np.dtype) -> np.ndarray:
        """The planes that this rank keeps, (n, ny, nx), of those of the whole grid that the first rank gives one after
        another. No rank has more of them at once than a few."""
        comm, kept, cells = self._comm, np.empty(self.slab.shape, dtype), self.slab.cells
        self._meet()
        given = None if whole is None or isinstance(whole, np.ndarray) else iter(whole)
        room = np.empty((1, *cells[1:]), dtype)
        for planes in _batches(cells[0], room.nbytes):
            numbers = np.arange(planes.start, planes.stop)
            if isinstance(whole, np.ndarray):  # of a solver, in each solve: no copy but those that are sent
                room = whole[planes].astype(dtype, copy=False)
            elif given is not None:
                room = np.empty((len(numbers), *cells[1:]), dtype)
                for target in room:
                    target[:] = next(given)
            for rank, slab in enumerate(self._slabs):
                places = np.flatnonzero(np.isin(slab.planes, numbers))
                if not places.size or comm.rank not in (FIRST, rank):
                    continue
                if whole is not None:
                    sent = room[slab.planes[places] - planes.start]
                    if rank == FIRST:
                        kept[places] = sent
                    else:
                        comm.Send(sent, rank, PLANES)
                else:
                    received = np.empty((len(places), *cells[1:]), dtype)
                    comm.Recv(received, FIRST, PLANES)
                    kept[places] = received
        if given is not None and next(given, None) is not None:  # it may have more to do at its end
            raise ValueError(f"expected {cells[0]} planes, found more")
        return kept

    def _meet(self) -> None:
        """Wait for all ranks, before they exchange what no rank can wait for as well."""
        wait_until(self._comm.Ibarrier().Test)


def _batches(planes: int, nbytes: int) -> Iterator[slice]:
    """All planes of so many bytes in batches, none larger than MPI takes as a message."""
    count = max(1, MESSAGE_BYTES // max(1, nbytes))
    for first in range(0, planes, count):
        yield slice(first, min(first + count, planes))


def wait_until(done: Callable[[], bool]) -> None:
    """Wait, and leave the core to others meanwhile. MPI itself waits at full speed."""
    while not done():
        leave_core()
