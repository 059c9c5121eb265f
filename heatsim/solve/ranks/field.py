"""The field and the stepper of a run over several ranks, as the first rank sees them."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from math import inf, isfinite, prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from heatsim_kernels.explicit.coefficients import Forcing
from heatsim_kernels.explicit.cpu.stepper import halo_of
from heatsim_kernels.explicit.enthalpy.coefficients import NonlinearCoefficients
from heatsim_kernels.explicit.enthalpy.temperatures import beyond_range
from heatsim_kernels.explicit.slabs import cut_planes
from heatsim_kernels.field import saved_field
from heatsim_kernels.field.region_reductions import RegionCells, RegionTotals, totals

from heatsim.errors import RunFolderError
from heatsim.solve.ranks.gpus import HOST, NCCL, Gpus
from heatsim.solve.ranks.parts import PartInputs, Ranks, WrittenSlab
from heatsim.store.slab_files import SlabFile, slab_path

if TYPE_CHECKING:
    from heatsim_kernels.explicit.coefficients import StencilCoefficients
    from heatsim_kernels.explicit.rk_stages import RkStage, TrapezoidalDefect
    from heatsim_kernels.explicit.slabs import Slab
    from heatsim_kernels.field.time_statistics import StatisticsRequest

    from heatsim.store.chunks import Compression


FILES_FROM = 2**27  # cells of which each rank writes its own in snapshots
GPU_HALO = 4  # planes, as many as steps that a sweep of `temporal` takes


class StepCosts(NamedTuple):
    """Rough costs: cell updates a second of a thread or a GPU; s of a pass beside these, and of an exchange of halos;
    and bytes a second of an exchange, where these count."""

    updates: float
    pass_: float
    exchange: float
    bandwidth: float = inf


# Measured on two cores of a Xeon, and on four H200.
COSTS = {
    "": StepCosts(4e9, 5e-5, 1e-4),
    NCCL: StepCosts(7e11, 1e-5, 5e-5),
    HOST: StepCosts(7e11, 1e-5, 1e-4, 6e9),
}


def predicted_speedup(
    coefficients: StencilCoefficients, dtype: np.dtype, ranks: int, threads: int, gpus: Gpus | None = None
) -> float:
    """How many times as fast as one rank of so many threads, or one GPU, several of them take explicit steps, about."""
    costs, width = COSTS["" if gpus is None else gpus.transport], threads if gpus is None else 1
    steps = halo_of(coefficients, dtype, isinstance(coefficients, NonlinearCoefficients)) if gpus is None else GPU_HALO
    slabs = cut_planes(coefficients.shape, ranks, steps, coefficients.periodic[2])
    steps, slab = slabs[0].halo or steps, slabs[ranks // 2]
    alone, together = (prod(cells) * steps / (costs.updates * width) for cells in (coefficients.shape, slab.shape))
    together *= 1 if gpus is None else gpus.shared_by
    halos = 2 * (slab.below + slab.above) * prod(slab.cells[1:]) * np.dtype(dtype).itemsize / costs.bandwidth
    return float((alone + costs.pass_) / (together + costs.pass_ + costs.exchange + halos))


class RanksField:
    """A `Field` whose planes lie on several ranks. Arrays are gathered on the first one when they are asked for."""

    device = "cpu"
    now: Any = None  # no rank has all stored values

    def __init__(
        self, ranks: Ranks, number: int, coefficients: StencilCoefficients, dtype: np.dtype, slabs: Sequence[Slab]
    ) -> None:
        """number: of the parts."""
        self._ranks, self._number, self._coefficients, self._slabs = ranks, number, coefficients, slabs
        self.shape, self.dtype = coefficients.shape, np.dtype(dtype)
        self._tracked = False
        weakref.finalize(self, ranks.forget, number)

    def put(self, planes: Iterable[np.ndarray]) -> None:
        """Set the field from its planes: see `Field`."""
        self._call("put", None, first=(planes,))

    def put_state(self, planes: Iterable[np.ndarray]) -> None:
        """Set the stored values: see `Field`."""
        self._call("put_state", None, first=(planes,))

    def host(self) -> np.ndarray:
        """The field: see `Field`."""
        return np.asarray(self._call("host"))

    def planes(self) -> Iterator[np.ndarray]:
        """The planes of the field: see `Field`."""
        return iter(self.host())

    def capture(self) -> None:
        """None: a copy would be on the host as well."""

    def state(self) -> np.ndarray:
        """The stored values: see `Field`."""
        return np.asarray(self._call("state"))

    def plane(self, axis: int, index: int) -> np.ndarray:
        """Return one plane: see `Field`."""
        return np.asarray(self._call("plane", axis, index % self.shape[axis]))

    def cells(self, indices: np.ndarray) -> np.ndarray:
        """Return the values of some cells: see `Field`."""
        return np.asarray(self._call("cells", indices))

    def stored_cells(self, indices: np.ndarray) -> np.ndarray:
        """Return the stored values of some cells: see `Field`."""
        return np.asarray(self._call("stored_cells", indices))

    def as_stored(self, values: np.ndarray) -> np.ndarray:
        """Return host values as `stored_cells` gives them."""
        return values

    def totals(self, cells: RegionCells) -> RegionTotals:
        """Return the extremes and sums over some cells: see `Field`."""
        return totals(self.cells(cells.indices), self.stored_cells(cells.indices), cells)

    def extremes(self, cells: RegionCells) -> tuple[float, float]:
        """Return the extremes of some cells: see `Field`."""
        values = self.cells(cells.indices)
        return float(values.min()), float(values.max())

    @property
    def writes_slabs(self) -> bool:
        """Whether so large a field is better written by all ranks."""
        return prod(self.shape) >= FILES_FROM

    def write_slabs(
        self, snapshot: Path, name: str, compression: Compression, reference: float, rises: np.ndarray | None
    ) -> list[SlabFile]:
        """Have each rank write its planes of the quantity `name` beside a snapshot; others: see `field.values_of`.

        Raises FloatingPointError where a value is not finite, OSError, and `RunFolderError` where a file of another
        rank is not to be seen here.
        """
        found: list[SlabFile] = []
        snapshot = snapshot.absolute()
        written: list[WrittenSlab] = self._call("write_slab", snapshot, name, compression, reference, rises)
        if not all(each.finite for each in written):
            raise FloatingPointError
        for rank, (_, file, failure) in enumerate(written):
            if file is None:
                raise OSError(failure)
            path = slab_path(snapshot, rank)
            if not path.is_file() or path.stat().st_size != file.size:
                raise RunFolderError(
                    f"{path}: rank {rank} has written it, and the first rank does not see it: a run folder on a file "
                    "system that all ranks share was expected"
                )
            found.append(file)
        return found

    def melted_fraction(self) -> np.ndarray:
        """Return the share of each cell that has melted."""
        return np.asarray(self._call("melted_fraction"))

    def stored(self) -> float:
        """Return the heat over that at the reference temperature, J."""
        return float(self._call("stored"))

    def is_finite(self) -> bool:
        """Return whether every value is a finite number."""
        return isfinite(self.stored())

    def was_finite(self) -> bool:
        """Return whether all values were finite, as far as each device looks: see `Field`."""
        return all(self._call("was_finite"))

    def out_of_range(self) -> dict[int, float]:
        """Return the materials that left the range of their properties: see `Field`."""
        furthest: dict[int, float] = {}
        if not isinstance(self._coefficients, NonlinearCoefficients):
            return furthest
        for found in self._call("out_of_range"):
            for material, offset in found.items():
                span = self._coefficients.ranges[material]
                known = furthest.get(material)
                if known is None or beyond_range(offset, *span) > beyond_range(known, *span):
                    furthest[material] = offset
        return furthest

    def track(self, request: StatisticsRequest) -> None:
        """Keep statistics over time from now on."""
        self._tracked = True
        self._call("track", request)

    @property
    def tracked(self) -> bool:
        """Whether statistics are kept."""
        return self._tracked

    def sample(self, elapsed: float) -> None:
        """Bring the statistics up to date: see `Field`."""
        if self._tracked:
            self._call("sample", elapsed)

    def statistics(self) -> dict[str, np.ndarray]:
        """Return the statistics by name: see `Field`."""
        return dict(self._call("statistics")) if self._tracked else {}

    def saved(self) -> dict[str, np.ndarray]:
        """Return all that the future depends on: see `Field`."""
        kept = dict(self._call("statistics_state")) if self._tracked else {}
        return {**saved_field(self.state(), self.out_of_range(), {}), **kept}

    def restore(self, saved: Mapping[str, np.ndarray]) -> None:
        """Go on from what `saved` gave: see `Field`."""
        self._call("restore", None, first=(saved,))

    def _call(self, method: str, *given: Any, first: tuple[Any, ...] | None = None) -> Any:
        return self._ranks.call(self._number, method, *given, first=first)


class GpuRanksField(RanksField):
    """One whose planes lie on several GPUs."""

    device = "cuda"

    def __init__(self, *inputs: Any) -> None:
        super().__init__(*inputs)
        self._regions: dict[int, tuple[int, RegionCells]] = {}  # those known to the ranks, by their number

    def totals(self, cells: RegionCells) -> RegionTotals:
        """Return the extremes and sums over some cells, found on the GPUs: see `Field`."""
        from heatsim_kernels.field.cuda.region_reductions import of_parts

        parts: list[RegionCells | None] = [None for _ in self._slabs]
        if id(cells.indices) not in self._regions:
            self._regions[id(cells.indices)] = len(self._regions), cells
            planes = cells.indices // (self.shape[1] * self.shape[2])
            for number, slab in enumerate(self._slabs):
                here = (planes >= slab.first) & (planes < slab.end)
                parts[number] = RegionCells(*(each[here] for each in cells))
        number = self._regions[id(cells.indices)][0]
        found = self._ranks.call_each(self._number, "totals", [(number, part) for part in parts])
        return of_parts(np.concatenate(found, axis=1))


class RanksStepper:
    """A `StageStepper` of a field whose planes lie on several ranks."""

    def __init__(
        self,
        ranks: Ranks,
        coefficients: StencilCoefficients,
        dtype: np.dtype,
        fused: int | None = None,
        kernel: str = "cpu",
    ) -> None:
        """Cut the planes among the ranks. Raises ValueError where there are too few. fused: steps a pass on CPUs, for
        tests; None chooses. kernel: "cpu" or that of GPUs."""
        self.name, self.coefficients, self.dtype, self._ranks = kernel, coefficients, np.dtype(dtype), ranks
        on_gpus, potentials = kernel != "cpu", isinstance(coefficients, NonlinearCoefficients)
        halo = GPU_HALO if on_gpus else halo_of(coefficients, self.dtype, potentials, fused)
        self._slabs = cut_planes(coefficients.shape, ranks.size, halo, coefficients.periodic[2])
        transport = ranks.gpus().transport if on_gpus else ""
        self._number = ranks.make_parts(
            [
                PartInputs(self._slabs, coefficients.of_slab(slab), self.dtype, fused, kernel, transport)
                for slab in self._slabs
            ]
        )
        make_field = GpuRanksField if on_gpus else RanksField
        self.field: RanksField = make_field(ranks, self._number, coefficients, self.dtype, self._slabs)
        self._sent: dict[str, Any] = {}
        self._fused = 1 if on_gpus else halo

    @property
    def fused_steps(self) -> int:
        """Steps that a pass takes, at most."""
        return self._fused

    def advance(self, dt: float, steps: int, forcing: Forcing) -> None:
        """Advance explicit steps: see `ExplicitStepper`."""
        self._with_forcing("advance", (dt, steps), forcing)

    def take_stages(self, dt: float, stages: Sequence[RkStage], first: int, forcing: Forcing) -> None:
        """Take stages of a step: see `StageStepper`."""
        self._with_forcing("take_stages", (dt, stages, first), forcing)

    def defect(self, dt: float, rate: float, forcing: Forcing) -> TrapezoidalDefect:
        """How far the step taken is from the trapezoidal rule: see `StageStepper`."""
        found: TrapezoidalDefect = self._with_forcing("defect", (dt, rate), forcing)
        return found

    def cells_at_end(self, indices: np.ndarray) -> np.ndarray:
        """Stored values of some cells after the stages taken."""
        return np.asarray(self._ranks.call(self._number, "cells_at_end", indices))

    def accept(self) -> None:
        """Make the last stage the field."""
        self._ranks.call(self._number, "accept")

    def heat_entered(self) -> np.ndarray:
        """Heat that has entered through each of FACES, from each ambient and by losses, J."""
        return np.asarray(self._ranks.call(self._number, "heat_entered"))

    def ledger_state(self) -> dict[str, np.ndarray]:
        """The sums of the ledger: see `ExplicitStepper`."""
        return dict(self._ranks.call(self._number, "ledger_state"))

    def restore_ledger(self, saved: Mapping[str, np.ndarray]) -> None:
        """Count on: see `ExplicitStepper`."""
        self._ranks.call(self._number, "restore_ledger", dict(saved))

    def _with_forcing(self, method: str, given: tuple[Any, ...], forcing: Forcing) -> Any:
        """Call a method with the forcing of each slab, of which only what is not as in the last one is sent."""
        new = {each.name: getattr(forcing, each.name) for each in fields(Forcing)}
        changed = {name for name, value in new.items() if name not in self._sent or self._sent[name] is not value}
        self._sent = new
        arguments = []
        for slab in self._slabs:
            part = {name: forcing.part_of_slab(name, self.coefficients, slab) for name in changed}
            arguments.append((*given, part))
        return self._ranks.call_each(self._number, method, arguments)
