"""The slab of a rank, and what the ranks do together.

The first rank calls a method of the part of each rank, with arguments of its own for each: `Ranks.call`. The others
serve such calls: `Ranks.serve`. Within a method all ranks do the same, and exchange what they need.
"""

from __future__ import annotations

import signal
import time
import traceback
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from heatsim_kernels.explicit.coefficients import Forcing
from heatsim_kernels.explicit.cpu.stepper import CpuStepper
from heatsim_kernels.explicit.enthalpy.coefficients import NonlinearCoefficients
from heatsim_kernels.explicit.enthalpy.cpu.stepper import make_stepper
from heatsim_kernels.explicit.slabs import Slab, heat_of_slabs
from heatsim_kernels.field import values_of

from heatsim.base.version import __version__
from heatsim.errors import RequestError
from heatsim.solve.ranks.environment import end_all, leave_core
from heatsim.solve.ranks.links import FIRST, MpiLinks
from heatsim.store.slab_files import SlabFile, slab_path, write_slab

if TYPE_CHECKING:
    from heatsim_kernels.explicit import StageStepper
    from heatsim_kernels.explicit.coefficients import StencilCoefficients
    from heatsim_kernels.explicit.rk_stages import RkStage, TrapezoidalDefect
    from heatsim_kernels.field.region_reductions import RegionCells
    from heatsim_kernels.field.time_statistics import StatisticsRequest
    from mpi4py import MPI

    from heatsim.solve.ranks.gpus import GpuLinks, Gpus
    from heatsim.store.chunks import Compression

CALL = 4  # tag of the messages of the first rank: see `links` for the others
BUSY_POLLS, LONGEST_SLEEP = 2000, 2e-3  # polls without a sleep, about 1 ms; s
LEFT_TO_FIRST = "SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2"  # signals, which launchers send to all ranks


class MakesPart(Protocol):
    """What a rank makes a part of."""

    def part(self, comm: MPI.Intracomm) -> Any:
        """The part of this rank."""


class PartInputs(NamedTuple):
    """What a rank makes its part of: the slabs of all ranks, the coefficients of its own, the precision, and how many
    steps a pass takes at most, or None; on GPUs the kernel, and how halos go between them."""

    slabs: Sequence[Slab]
    coefficients: StencilCoefficients
    dtype: np.dtype
    fused: int | None = None
    kernel: str = "cpu"
    transport: str = ""

    def part(self, comm: MPI.Intracomm) -> Part:
        """The part of this rank."""
        return GpuPart(comm, self) if self.transport else Part(comm, self)


class WrittenSlab(NamedTuple):
    """What became of the planes of a rank: whether all are finite, their file, or why there is none."""

    finite: bool
    file: SlabFile | None
    failure: str = ""


class Part:
    """The field of one slab and its stepper. Each method is called on all ranks; what it returns counts on the first.

    Arrays by plane are those of the whole grid; None on ranks that are not to have them.
    """

    def __init__(self, comm: MPI.Intracomm, inputs: PartInputs) -> None:
        self._links = self._make_links(comm, inputs)
        self._stepper = self._make_stepper(inputs)
        self._field: Any = self._stepper.field
        self._own, self._class_ids = self._links.slab.own, inputs.coefficients.class_ids
        self._forcing: dict[str, Any] = {}

    def _make_links(self, comm: MPI.Intracomm, inputs: PartInputs) -> MpiLinks:
        return MpiLinks(comm, inputs.slabs)

    def _make_stepper(self, inputs: PartInputs) -> StageStepper:
        _, coefficients, dtype, fused, *_ = inputs
        if isinstance(coefficients, NonlinearCoefficients):
            return make_stepper(coefficients, dtype, fused, self._links)
        return CpuStepper(coefficients, dtype, fused, links=self._links)

    # Steps

    def advance(self, dt: float, steps: int, forcing: Mapping[str, Any]) -> None:
        """Take explicit steps."""
        self._stepper.advance(dt, steps, self._received(forcing))

    def take_stages(self, dt: float, stages: Sequence[RkStage], first: int, forcing: Mapping[str, Any]) -> None:
        """Take stages of a step."""
        self._stepper.take_stages(dt, stages, first, self._received(forcing))

    def defect(self, dt: float, rate: float, forcing: Mapping[str, Any]) -> TrapezoidalDefect:
        """How far the step taken is from the trapezoidal rule."""
        return self._stepper.defect(dt, rate, self._received(forcing))

    def accept(self) -> None:
        """Make the last stage the field."""
        self._stepper.accept()

    def heat_entered(self) -> np.ndarray:
        """The ledger of the whole grid."""
        return self._stepper.heat_entered()

    def ledger_state(self) -> dict[str, np.ndarray]:
        """What the ledger of the whole grid is summed up from."""
        return self._stepper.ledger_state()

    def restore_ledger(self, saved: Mapping[str, np.ndarray]) -> None:
        """Count on from what `ledger_state` gave."""
        self._stepper.restore_ledger(saved)

    def _received(self, changed: Mapping[str, Any]) -> Forcing:
        """The forcing of the slab; only what is not as in the last one is sent."""
        self._forcing.update(changed)
        return Forcing(**self._forcing)

    # The field

    def put(self, whole: Iterable[np.ndarray] | None) -> None:
        """Set the field from the planes of its offsets."""
        self._field.put(iter(self._links.scatter(whole, self._field.dtype)))

    def put_state(self, whole: Iterable[np.ndarray] | None) -> None:
        """Set the stored values from their planes."""
        self._field.put_state(iter(self._links.scatter(whole, self._field.stored_dtype)))

    def host(self) -> np.ndarray | None:
        """The offsets."""
        return self._links.gather(self._field.host()[self._own])

    def state(self) -> np.ndarray | None:
        """The stored values."""
        return self._links.gather(self._field.state()[self._own])

    def write_slab(
        self, snapshot: Path, name: str, compression: Compression, reference: float, rises: np.ndarray | None
    ) -> list[WrittenSlab] | None:
        """Have each rank write the values of its planes to a file, beside the snapshot that refers to it."""
        values = values_of(self._field.host()[self._own], reference, self._class_ids[self._own], rises)
        path, written = slab_path(snapshot, self._links.rank), WrittenSlab(bool(np.isfinite(values).all()), None)
        if written.finite:
            try:
                written = written._replace(file=write_slab(path, name, values, compression))
            except OSError as error:
                written = written._replace(failure=f"{path}: {error.strerror or error}, on rank {self._links.rank}")
        return self._links.at_first(written)

    def melted_fraction(self) -> np.ndarray | None:
        """The share of each cell that has melted."""
        return self._links.gather(self._field.melted_fraction()[self._own])

    def plane(self, axis: int, index: int) -> np.ndarray | None:
        """The offsets of one plane."""
        if axis:
            return self._links.gather(self._field.plane(axis, index)[self._own])
        slab = self._links.slab
        there = slab.first <= index < slab.end
        mine = self._field.plane(0, index - slab.first + slab.below) if there else None
        parts = self._links.at_first(mine)
        return None if parts is None else next(part for part in parts if part is not None)

    def cells(self, indices: np.ndarray) -> np.ndarray | None:
        """The values of some cells, by flat index in the whole grid."""
        return self._of_cells(indices, self._field.cells)

    def stored_cells(self, indices: np.ndarray) -> np.ndarray | None:
        """The stored values of some cells."""
        return self._of_cells(indices, self._stored_cells)

    def cells_at_end(self, indices: np.ndarray) -> np.ndarray | None:
        """The stored values of some cells after the stages taken."""
        return self._of_cells(indices, self._cells_at_end)

    def _stored_cells(self, indices: np.ndarray) -> np.ndarray:
        return np.asarray(self._field.stored_cells(indices))

    def _cells_at_end(self, indices: np.ndarray) -> np.ndarray:
        return np.asarray(self._stepper.cells_at_end(indices))

    def stored(self) -> float:
        """The heat of the whole grid over that at the reference temperature, J."""
        return heat_of_slabs(self._field, self._links)

    def was_finite(self) -> list[bool] | None:
        """Whether each slab was finite: see `Field`."""
        return self._links.at_first(self._field.was_finite())

    def out_of_range(self) -> list[Mapping[int, float]] | None:
        """What each slab found out of range."""
        return self._links.at_first(self._field.out_of_range())

    def track(self, request: StatisticsRequest) -> None:
        """Keep statistics over time."""
        self._field.track(request)

    def sample(self, elapsed: float) -> None:
        """Bring the statistics up to date."""
        self._field.sample(elapsed)

    def statistics(self) -> dict[str, np.ndarray | None]:
        """The statistics by name."""
        return {name: self._links.gather(values[self._own]) for name, values in self._field.statistics().items()}

    def statistics_state(self) -> dict[str, np.ndarray | None]:
        """What the statistics are kept in, flat arrays of the whole grid by name."""
        found = {}
        for name, values in self._field.saved().items():
            if name.startswith("statistics_"):
                whole = self._links.gather(values.reshape(self._links.slab.shape)[self._own])
                found[name] = None if whole is None else whole.reshape(-1)
        return found

    def restore(self, whole: Mapping[str, np.ndarray] | None) -> None:
        """Go on from what a field of the whole grid saved."""
        mine = {}
        for name, values in self._field.saved().items():
            if name.startswith("range_"):
                mine[name] = self._links.from_first(None if whole is None else whole[name])
            else:
                given = None if whole is None else whole[name].reshape(self._links.slab.cells)
                kept = self._links.scatter(given, values.dtype)
                mine[name] = kept if name == "stored" else kept.reshape(-1)
        self._field.restore(mine)

    def _of_cells(self, indices: np.ndarray, read: Any) -> np.ndarray | None:
        slab = self._links.slab
        plane = slab.cells[1] * slab.cells[2]
        flat = np.asarray(indices).reshape(-1)
        z = flat // plane
        mine = (z >= slab.first) & (z < slab.end)
        parts = self._links.at_first((mine, read(flat[mine] - (slab.first - slab.below) * plane)))
        if parts is None:
            return None
        found = np.empty(flat.shape, parts[0][1].dtype)
        for there, values in parts:
            found[there] = values
        return found.reshape(np.shape(indices))


class GpuPart(Part):
    """The field of one slab and its stepper on a GPU."""

    _links: GpuLinks

    def __init__(self, comm: MPI.Intracomm, inputs: PartInputs) -> None:
        super().__init__(comm, inputs)
        self._regions: dict[int, RegionCells] = {}

    def totals(self, number: int, cells: RegionCells | None) -> list[np.ndarray] | None:
        """What totals over the cells of each slab in a region are made of; cells: those of the slab, by flat index in
        the whole grid, when the region is first asked for."""
        slab = self._links.slab
        if cells is not None:
            first = (slab.first - slab.below) * slab.cells[1] * slab.cells[2]
            self._regions[number] = cells._replace(indices=cells.indices - first)
        return self._links.at_first(self._field.parts_of_totals(self._regions[number]))

    def _make_links(self, comm: MPI.Intracomm, inputs: PartInputs) -> GpuLinks:
        from heatsim.solve.ranks.gpus import GpuLinks

        return GpuLinks(comm, inputs.slabs, inputs.transport)

    def _make_stepper(self, inputs: PartInputs) -> StageStepper:
        from heatsim_kernels.explicit import STEPPERS
        from heatsim_kernels.explicit.enthalpy import NONLINEAR_STEPPERS

        coefficients = inputs.coefficients
        if isinstance(coefficients, NonlinearCoefficients):
            return NONLINEAR_STEPPERS[inputs.kernel](coefficients, inputs.dtype, self._links)
        return STEPPERS[inputs.kernel](coefficients, inputs.dtype, self._links)

    def _stored_cells(self, indices: np.ndarray) -> np.ndarray:
        return np.asarray(self._field.stored_cells(self._field.as_stored(indices)).host())

    def _cells_at_end(self, indices: np.ndarray) -> np.ndarray:
        return np.asarray(self._stepper.cells_at_end(self._field.as_stored(indices)).host())


def processors_of(comm: MPI.Intracomm) -> list[str]:
    """The name of the machine of each rank."""
    from mpi4py import MPI

    return list(comm.allgather(MPI.Get_processor_name()))


class Ranks:
    """The processes that compute a run together: the first has the run, the others serve its calls."""

    def __init__(self, comm: MPI.Intracomm) -> None:
        """Raises `RequestError` where the ranks have not the same heatsim."""
        self._comm, self._parts = comm, dict[int, Part]()
        self._made, self._in_call = 0, False
        self._failure: BaseException | None = None  # of a call, after which there are no others
        self._unused: list[int] = []
        self._gpus: Gpus | None = None
        machines = processors_of(comm)
        self._beside = machines.count(machines[comm.rank])
        versions = comm.allgather(__version__)
        if len(set(versions)) > 1:
            raise RequestError(f"the ranks have different versions of heatsim: {', '.join(sorted(set(versions)))}")

    @property
    def size(self) -> int:
        """How many there are."""
        return int(self._comm.size)

    @property
    def on_this_machine(self) -> int:
        """How many of them are on the machine of this one."""
        return self._beside

    @property
    def first(self) -> bool:
        """Whether this is the rank that has the run."""
        return bool(self._comm.rank == FIRST)

    def make_parts(self, inputs: Sequence[MakesPart]) -> int:
        """Make a part on each rank, of what is given for each; its number."""
        self._made += 1
        self._do([("make", self._made, (each,)) for each in inputs])
        return self._made

    def gpus(self) -> Gpus:
        """The GPUs that the ranks take, from now on: see `gpus.choose_transport`."""
        from heatsim.solve.ranks.gpus import GpuInputs, choose_transport

        if self._gpus is None:
            found = self.call(self.make_parts([GpuInputs() for _ in range(self.size)]), "found")
            self._gpus = choose_transport(found)
        return self._gpus

    def forget(self, number: int) -> None:
        """Free parts, with the next call: Python may collect garbage in any thread and within any call."""
        self._unused.append(number)

    def call(self, number: int, method: str, *given: Any, first: tuple[Any, ...] | None = None) -> Any:
        """Call a method of a part on all ranks, with the same arguments but for those of the `first`, if given."""
        arguments = [given if first is None or rank else first for rank in range(self.size)]
        return self.call_each(number, method, arguments)

    def call_each(self, number: int, method: str, arguments: Sequence[tuple[Any, ...]]) -> Any:
        """Call a method of a part on all ranks, with arguments of its own for each."""
        return self._do([(method, number, each) for each in arguments])

    def serve(self) -> None:
        """Do what the first rank calls for, until it ends; on the other ranks."""
        for name in LEFT_TO_FIRST:
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), signal.SIG_IGN)
        try:
            while (message := self._next_call()) is not None:
                self._obey(*message)
        except BaseException:
            traceback.print_exc()
            self.abort(1)

    @property
    def in_call(self) -> bool:
        """Whether a call has not come to its end, in which the other ranks may wait for this one."""
        return self._in_call

    def end(self) -> None:
        """Let the other ranks go."""
        self._tell([None] * self.size)

    def _tell(self, messages: Sequence[Any]) -> None:
        """Send each of the other ranks a message."""
        for rank, each in enumerate(messages):
            if rank != FIRST:
                self._comm.send(each, rank, CALL)

    def _next_call(self) -> Any:
        """Wait for a message of the first rank. MPI would wait at full speed: the first rank may need the core, which
        writes and draws between calls."""
        polls = 0
        while not self._comm.Iprobe(FIRST, CALL):
            polls += 1
            if polls <= BUSY_POLLS:
                leave_core()
            else:
                time.sleep(min(LONGEST_SLEEP, 1e-6 * (polls - BUSY_POLLS)))
        return self._comm.recv(source=FIRST, tag=CALL)

    def _do(self, messages: list[tuple[str, int, tuple[Any, ...]]]) -> Any:
        if self._failure is not None:  # the other ranks are in the middle of what failed
            raise self._failure
        self._in_call = True
        while self._unused:
            number = self._unused.pop()
            self._tell([("forget", number, ())] * self.size)
            self._parts.pop(number, None)
        self._tell(messages)
        try:
            found = self._obey(*messages[FIRST])
        except BaseException as error:
            self._failure = error
            raise
        self._in_call = False
        return found

    def _obey(self, method: str, number: int, arguments: tuple[Any, ...]) -> Any:
        if method == "make":
            self._parts[number] = arguments[0].part(self._comm)
            return None
        if method == "forget":
            self._parts.pop(number, None)
            return None
        return getattr(self._parts[number], method)(*arguments)

    def abort(self, code: int) -> None:
        """End all processes: see `environment.end_all`."""
        end_all(self._comm, code)
