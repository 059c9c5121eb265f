"""The GPUs of a run over ranks: which one a rank takes, and how halos go from one to another."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from heatsim.errors import RequestError
from heatsim.solve.ranks.links import HaloPart, MpiLinks, wait_until

if TYPE_CHECKING:
    from heatsim_kernels.device.cuda.arrays import Array
    from heatsim_kernels.explicit.slabs import Slab
    from mpi4py import MPI

CHOICE = "HEATSIM_TRANSPORT"  # of the environment
HOST, NCCL = "host", "nccl"
WORDS = {HOST: "the host's memory", NCCL: "NCCL"}


class FoundGpu(NamedTuple):
    """The GPU that a rank takes: its name, what tells it from all others, and why there is none or no NCCL, if so."""

    name: str
    identity: str
    missing: str
    no_nccl: str


class Gpus(NamedTuple):
    """Those of all ranks; transport: how halos go between them; missing: why one has none, or ""; shared_by: how many
    ranks a GPU serves."""

    name: str
    transport: str
    missing: str
    shared_by: int


class GpuInputs:
    """Has each rank take a GPU."""

    def part(self, comm: MPI.Intracomm) -> Gpu:
        """The GPU of this rank."""
        return Gpu(comm)


class Gpu:
    """The GPU of a rank. Ranks of one machine take its GPUs in turn."""

    def __init__(self, comm: MPI.Intracomm) -> None:
        self._links = MpiLinks(comm, ())
        self._found = _take_gpu(comm)

    def found(self) -> list[FoundGpu] | None:
        """Those of all ranks, on the first."""
        return self._links.at_first(self._found)


def choose_transport(found: Sequence[FoundGpu]) -> Gpus:
    """How halos go between these GPUs: by NCCL if it is there and each rank has a GPU of its own. Raises `RequestError`
    where the environment asks for what cannot be."""
    asked, missing = os.environ.get(CHOICE, ""), next((each.missing for each in found if each.missing), "")
    count = len({each.identity for each in found})
    no_nccl = next((each.no_nccl for each in found if each.no_nccl), "")
    if not no_nccl and count < len(found):
        no_nccl = f"{len(found)} ranks share {count} GPU{'s' * (count > 1)}, and NCCL takes one a rank"
    if asked not in ("", HOST, NCCL):
        raise RequestError(f'{CHOICE}: expected "{HOST}" or "{NCCL}", found "{asked}"')
    if asked == NCCL and no_nccl and not missing:
        raise RequestError(f'{CHOICE} = "{NCCL}": {no_nccl}')
    transport = asked or (HOST if no_nccl else NCCL)
    names = " and ".join(sorted({each.name for each in found}))
    name = f"{len(found)} ranks on {count} GPU{'s' * (count > 1)} ({names}), halos through {WORDS[transport]}"
    return Gpus(name, transport, missing, -(-len(found) // count))


def _take_gpu(comm: MPI.Intracomm) -> FoundGpu:
    from mpi4py import MPI

    rank_here = comm.Split_type(MPI.COMM_TYPE_SHARED).rank
    try:
        from heatsim_kernels.device.cuda import api

        identity = api.take_device(rank_here)
        name = api.device_name()
    except (ImportError, RuntimeError) as error:
        return FoundGpu("", "", str(error), "")
    try:
        from cupy.cuda import nccl

        nccl.get_version()
        no_nccl = ""
    except Exception as error:  # it may fail to load in many ways
        no_nccl = f"CuPy's NCCL is missing ({type(error).__name__}): pip install 'heatsim[nccl]'"
    return FoundGpu(name, f"{MPI.Get_processor_name()} {identity}", "", no_nccl)


class HaloExchange(NamedTuple):
    """The planes that are sent and those that are received, in the order of launches on a stream; meanwhile: launches
    on another stream, as soon as nothing of the exchange can come first."""

    sent: Sequence[HaloPart]
    received: Sequence[HaloPart]
    stream: int = 0
    meanwhile: Callable[[], None] = lambda: None


class Transport(Protocol):
    """How planes go from GPU to GPU; beside: whether it takes less time to compute while they do."""

    beside: bool

    def exchange(self, u: Array, halos: HaloExchange) -> None:
        """Send some planes of a field, and fill others."""


class HostTransport:
    """Through page-locked memory, and by MPI."""

    beside = True

    def __init__(self, comm: MPI.Intracomm) -> None:
        self._comm = comm
        self._buffers: dict[tuple[int, int, np.dtype], list[np.ndarray]] = {}

    def exchange(self, u: Array, halos: HaloExchange) -> None:
        """Exchange planes: see `Transport`."""
        from heatsim_kernels.device.cuda.arrays import copy_in, copy_out, wait_for_launches
        from mpi4py import MPI

        sent, received, stream, meanwhile = halos
        buffers = self._room([*sent, *received], u.dtype)
        for planes, buffer in zip(sent, buffers, strict=False):
            copy_out(buffer, u, planes.items, stream)
        meanwhile()
        wait_for_launches(stream)  # those that read the buffers of the last exchange among them
        filled = buffers[len(sent) :]
        requests = [
            self._comm.Irecv(buffer, planes.rank, planes.tag) for planes, buffer in zip(received, filled, strict=True)
        ]
        requests += [
            self._comm.Isend(buffer, planes.rank, planes.tag) for planes, buffer in zip(sent, buffers, strict=False)
        ]
        wait_until(lambda: MPI.Request.Testall(requests))
        for planes, buffer in zip(received, filled, strict=True):
            copy_in(u, planes.items, buffer, stream)

    def _room(self, pieces: Sequence[HaloPart], dtype: np.dtype) -> list[np.ndarray]:
        from heatsim_kernels.device.cuda.arrays import page_locked

        size = max(each.items.stop - each.items.start for each in pieces)
        key = len(pieces), size, dtype
        if key not in self._buffers:
            self._buffers[key] = [page_locked(size, dtype) for _ in pieces]
        return self._buffers[key]


class NcclTransport:
    """From GPU to GPU by NCCL, in the order of launches; the host waits for nothing."""

    beside = False  # it copies by kernels, which would take room from those that compute: docs/reports/ranks.md

    def __init__(self, comm: MPI.Intracomm) -> None:
        import cupy
        from cupy.cuda import nccl
        from heatsim_kernels.device.cuda import api

        cupy.cuda.Device(api.device_number()).use()
        name = comm.bcast(nccl.get_unique_id() if comm.rank == 0 else None)
        self._nccl, self._all = nccl, nccl.NcclCommunicator(comm.size, name, comm.rank)
        self._types = {np.dtype(np.float32): nccl.NCCL_FLOAT32, np.dtype(np.float64): nccl.NCCL_FLOAT64}

    def exchange(self, u: Array, halos: HaloExchange) -> None:
        """Exchange planes: see `Transport`."""
        kind, item = self._types[u.dtype], u.dtype.itemsize
        self._nccl.groupStart()
        for pieces, move in ((halos.sent, self._all.send), (halos.received, self._all.recv)):
            for rank, _, items in pieces:
                move(u.address + items.start * item, items.stop - items.start, kind, rank, halos.stream)
        self._nccl.groupEnd()
        halos.meanwhile()


_transports: dict[tuple[str, int], Transport] = {}  # of this process: connecting GPUs takes long


def _transport(name: str, comm: MPI.Intracomm) -> Transport:
    key = name, comm.py2f()
    if key not in _transports:
        _transports[key] = (NcclTransport if name == NCCL else HostTransport)(comm)
    return _transports[key]


class GpuLinks(MpiLinks):
    """The links of one rank, whose field is on a GPU."""

    def __init__(self, comm: MPI.Intracomm, slabs: Sequence[Slab], transport: str) -> None:
        super().__init__(comm, slabs)
        self._transport = _transport(transport, comm)
        self._stream: int | None = None  # that halos take beside launches
        plane = self.slab.cells[1] * self.slab.cells[2]
        sent, received = (
            [each._replace(items=slice(each.items.start * plane, each.items.stop * plane)) for each in parts]
            for parts in self.halo_parts(self.slab.halo, self.slab.halo)
        )
        self._halos = HaloExchange(sent, received)

    def fill_halos(self, values: Any) -> None:
        """Copy the planes of the neighbours into the halos of a field on the GPU: see `SlabLinks`."""
        if self._halos.received:
            self._transport.exchange(values, self._halos)

    @property
    def fills_beside(self) -> bool:
        """Whether halos had better be filled beside launches: see `GpuSlabLinks`."""
        return bool(self._halos.received) and self._transport.beside

    def fill_halos_beside(self, values: Any, edges: Callable[..., None], inside: Callable[..., None]) -> None:
        """Fill the halos beside launches: see `GpuSlabLinks`."""
        from heatsim_kernels.device.cuda.arrays import own_stream, put_after

        if self._stream is None:
            self._stream = own_stream()
        put_after(self._stream, 0)
        edges(self._stream)
        self._transport.exchange(values, self._halos._replace(stream=self._stream, meanwhile=inside))
        put_after(0, self._stream)
