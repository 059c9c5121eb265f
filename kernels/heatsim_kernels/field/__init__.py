"""The field of a run, on the CPU or on a GPU: how it is set, read and summed up, whatever advances it.

`Field` is the one interface; `cpu.field.CpuField` and `cuda.field.CudaField` implement it, and `StoredField` is what
they share. A field stores either the temperature offsets themselves or another quantity, such as an enthalpy, from
which they follow (`Temperatures`). It knows nothing of heat conduction: steppers (`stencil`, `enthalpy`) and solvers
(`multigrid`) hold a field and change it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from heatsim_kernels.field.region_reductions import RegionCells, RegionTotals
    from heatsim_kernels.field.time_statistics import StatisticsRequest

Values = TypeVar("Values")  # an array where the field lies: of NumPy, or an `Array` on the GPU
Taken = TypeVar("Taken", contravariant=True)  # the same, of what only takes such arrays


Fetch: TypeAlias = "Callable[[np.ndarray | None, Callable[[int], None]], np.ndarray]"


class FieldCells(Protocol):
    """The cells of a field, as `stencil.coefficients.StencilCoefficients` describes them."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """(nz, ny, nx)."""

    @property
    def capacity(self) -> np.ndarray:
        """(n,) heat capacity of one cell of each class, J/K."""

    @property
    def class_ids(self) -> np.ndarray:
        """(nz, ny, nx) class of each cell."""

    @property
    def classes_to_look_up(self) -> np.ndarray | None:
        """The same, flat; None where there is a single class."""


def values_of(offsets: np.ndarray, reference: float, class_ids: np.ndarray, rises: np.ndarray | None) -> np.ndarray:
    """Values in a fresh array, from offsets from a reference, in their precision. rises: what the cells of each class
    are above these, if some are; class_ids: of these cells."""
    values = np.asarray(offsets + offsets.dtype.type(reference))
    if rises is not None:
        values += rises.astype(offsets.dtype)[class_ids]
    return values


class Field(Protocol):
    """Values of all cells at one time, read as temperature offsets from the reference, K, whatever is stored.

    Arrays seen from outside are (nz, ny, nx) in C order, on the host. shape: of the grid; dtype: of the values handed
    out; now: the stored values, flat, where they lie.
    """

    device: str  # "cpu" or "cuda"
    shape: tuple[int, int, int]
    dtype: np.dtype
    now: Any  # an array of NumPy, or an `Array` on the GPU

    def put(self, planes: Iterable[np.ndarray]) -> None:
        """Set the field from its planes (ny, nx), z upwards. What melts is solid at its melting point."""

    def host(self) -> np.ndarray:
        """The field; perhaps the stored array itself, so read it before the field changes and do not write to it."""

    def planes(self) -> Iterator[np.ndarray]:
        """The planes of `host`, z upwards, which may be read one by one: less memory, and no page of it new."""

    def capture(self) -> Fetch | None:
        """Return a function that gives `host` as of now, to be called once, later and from any thread. It is given an
        array (nz, ny, nx) of `dtype` that it may use for that, or None to make its own, and a function that it tells
        how many values that array holds so far. None where that cannot be: the field is on the host, or the device is
        short of memory."""

    def plane(self, axis: int, index: int) -> np.ndarray:
        """Return a copy of one plane; axis 0, 1, 2 is z, y, x of the array."""

    def cells(self, indices: np.ndarray) -> np.ndarray:
        """Return the values of some cells, by flat index; any shape. Stored offsets are not rounded to `dtype`."""

    def stored_cells(self, indices: Any) -> Any:
        """Return the stored values of some cells, by flat index: arrays of the device the field is on."""

    def put_state(self, planes: Iterable[np.ndarray]) -> None:
        """Set the stored values from their planes (ny, nx), z upwards."""

    def state(self) -> np.ndarray:
        """The stored values in their precision; like `host`, perhaps the array itself."""

    def totals(self, cells: RegionCells) -> RegionTotals:
        """Return the extremes and the sums over some cells, of temperature and of stored heat."""

    def extremes(self, cells: RegionCells) -> tuple[float, float]:
        """Return the least and greatest temperature of some cells: those of `totals`, for less."""

    def melted_fraction(self) -> np.ndarray:
        """Return the share of each cell that has melted, 0 to 1; 0 where nothing melts."""

    def stored(self) -> float:
        """Return the heat over that at the reference temperature, J, summed in float64."""

    def is_finite(self) -> bool:
        """Return whether every value is a finite number. Waits for the device."""

    def was_finite(self) -> bool:
        """Return `is_finite` without waiting for the device, which may answer for the field as it was at the last call;
        then True at the first."""

    def out_of_range(self) -> Mapping[int, float]:
        """Return the materials, by number, that left the range of their properties, with the offset found furthest
        beyond it, K, as far as whole fields were read."""

    def track(self, request: StatisticsRequest) -> None:
        """Keep statistics over time from now on, beginning with the field as it is."""

    @property
    def tracked(self) -> bool:
        """Whether statistics are kept, so that `sample` must be called after every step."""

    def sample(self, elapsed: float) -> None:
        """Bring the statistics up to date, if they are kept, `elapsed` s after the last sample."""

    def statistics(self) -> dict[str, np.ndarray]:
        """Return the statistics by name, see `time_statistics.CpuTimeStatistics.fields`; none if none are kept."""

    def saved(self) -> dict[str, np.ndarray]:
        """Return all that the future of the field depends on, arrays by name: for `restore`. Perhaps the arrays
        themselves, so read them before the field changes."""

    def restore(self, saved: Mapping[str, np.ndarray]) -> None:
        """Go on from what `saved` gave, of a field of the same problem on any device."""

    def as_stored(self, values: np.ndarray) -> Any:
        """Return host values as `stored_cells` gives them: an array of the device the field is on."""


class Temperatures(Protocol):
    """How the temperature offsets of a field follow from what it stores.

    direct: whether the offsets are what is stored. All arguments and results but those of `fill` are on the host.
    """

    direct: bool

    def state_planes(self, planes: Iterable[np.ndarray]) -> Iterable[np.ndarray]:
        """The planes to store, z upwards, for planes of offsets."""

    def whole(self, state: np.ndarray, dtype: np.dtype) -> np.ndarray:
        """The offsets of a whole field, (nz, ny, nx)."""

    def plane(self, state: np.ndarray, axis: int, index: int, dtype: np.dtype) -> np.ndarray:
        """The offsets of one plane."""

    def cells(self, state: np.ndarray, indices: np.ndarray, dtype: np.dtype) -> np.ndarray:
        """The offsets of the cells with these flat indices."""

    def melted_fraction(self, state: np.ndarray, dtype: np.dtype) -> np.ndarray:
        """The share of each cell of a whole field that has melted."""

    def out_of_range(self) -> Mapping[int, float]:
        """See `Field`."""

    def restore_out_of_range(self, found: Mapping[int, float]) -> None:
        """Take over what `out_of_range` gave."""

    def fill(self, state: Any, offsets: Any) -> None:
        """Compute the offsets of a whole field, flat, where it lies. Returns at once on a GPU."""


class DirectTemperatures:
    """The offsets are what is stored."""

    direct = True

    def state_planes(self, planes: Iterable[np.ndarray]) -> Iterable[np.ndarray]:
        """The planes themselves."""
        return planes

    def whole(self, state: np.ndarray, dtype: np.dtype) -> np.ndarray:
        """The field, rounded."""
        return state.astype(dtype, copy=False)

    def plane(self, state: np.ndarray, axis: int, index: int, dtype: np.dtype) -> np.ndarray:
        """The plane, rounded."""
        return state.astype(dtype, copy=False)

    def cells(self, state: np.ndarray, indices: np.ndarray, dtype: np.dtype) -> np.ndarray:
        """The values as they are stored: means of them, which probes record, are rounded once."""
        return state

    def melted_fraction(self, state: np.ndarray, dtype: np.dtype) -> np.ndarray:
        """Nothing has melted."""
        return np.zeros(state.shape, dtype)

    def out_of_range(self) -> Mapping[int, float]:
        """No material has a range."""
        return {}

    def restore_out_of_range(self, found: Mapping[int, float]) -> None:
        """Nothing was found."""

    def fill(self, state: Any, offsets: Any) -> None:
        """Never asked for: see `direct`."""
        raise NotImplementedError("stored offsets need no other array")


class TimeStatistics(Protocol[Taken]):
    """Statistics over time, where the field lies: see `time_statistics`."""

    def sample(self, u: Taken, elapsed: float) -> None:
        """Bring the statistics up to date with the offsets u, flat, `elapsed` s after the last sample."""

    def fields(self) -> dict[str, np.ndarray]:
        """The statistics by name, on the host."""

    def state(self) -> dict[str, np.ndarray]:
        """All that the future depends on, on the host."""

    def restore(self, saved: Mapping[str, np.ndarray]) -> None:
        """Go on from what `state` gave."""


class StoredField(ABC, Generic[Values]):
    """What a `Field` does alike on the CPU and on a GPU. Steps write `next` and call `swap`; `next` takes memory from
    its first use on."""

    def __init__(
        self,
        cells: FieldCells,
        dtype: np.dtype,
        stored_dtype: np.dtype | None = None,
        temperatures: Temperatures | None = None,
    ) -> None:
        """dtype: of the values handed out; stored_dtype: of those stored, `dtype` unless given; temperatures: how
        offsets follow from the stored values, which are the offsets unless given."""
        self.shape, self.dtype = cells.shape, np.dtype(dtype)
        self._stored_dtype = self.dtype if stored_dtype is None else np.dtype(stored_dtype)
        self._temperatures = temperatures or DirectTemperatures()
        self._statistics: TimeStatistics[Values] | None = None
        self.changes = 0  # otherwise than by explicit steps: when values were put, heated or taken from stages
        self.now: Values = self._room()
        self._next: Values | None = None
        self._keep(cells)

    @abstractmethod
    def _keep(self, cells: FieldCells) -> None:
        """Bring to the device what is needed of the cells."""

    @abstractmethod
    def _room(self) -> Values:
        """Memory for another field, flat, in the stored precision."""

    @abstractmethod
    def _begin_statistics(self, request: StatisticsRequest) -> TimeStatistics[Values]:
        """Statistics that begin with the field as it is."""

    @abstractmethod
    def host(self) -> np.ndarray:
        """The offsets: see `Field`."""

    @abstractmethod
    def state(self) -> np.ndarray:
        """The stored values: see `Field`."""

    @abstractmethod
    def put_state(self, planes: Iterable[np.ndarray]) -> None:
        """Set the stored values: see `Field`."""

    @property
    def stored_dtype(self) -> np.dtype:
        """That of the stored values."""
        return self._stored_dtype

    @property
    def next(self) -> Values:
        """Room for the field after a step, flat."""
        if self._next is None:
            self._next = self._room()
        return self._next

    @next.setter
    def next(self, array: Values) -> None:
        self._next = array

    def swap(self) -> None:
        """Make the successor the field."""
        self.now, self.next = self.next, self.now

    def planes(self) -> Iterator[np.ndarray]:
        """The planes of the offsets: see `Field`."""
        return iter(self.host())

    def put(self, planes: Iterable[np.ndarray]) -> None:
        """Set the field from planes of offsets: see `Field`."""
        self.put_state(self._temperatures.state_planes(planes))

    def out_of_range(self) -> Mapping[int, float]:
        """Return the materials that left the range of their properties: see `Field`."""
        return self._temperatures.out_of_range()

    def track(self, request: StatisticsRequest) -> None:
        """Keep statistics over time from now on."""
        self._statistics = self._begin_statistics(request)

    @property
    def tracked(self) -> bool:
        """Whether statistics are kept."""
        return self._statistics is not None

    def sample(self, elapsed: float) -> None:
        """Bring the statistics up to date: see `Field`. Returns at once on a GPU."""
        if self._statistics is not None:
            self._statistics.sample(self._offsets(), elapsed)

    def statistics(self) -> dict[str, np.ndarray]:
        """Return the statistics by name: see `Field`."""
        return {} if self._statistics is None else self._statistics.fields()

    def saved(self) -> dict[str, np.ndarray]:
        """Return all that the future depends on: see `Field`."""
        return saved_field(
            self.state(), self.out_of_range(), {} if self._statistics is None else self._statistics.state()
        )

    def restore(self, saved: Mapping[str, np.ndarray]) -> None:
        """Go on from what `saved` gave: see `Field`."""
        self.put_state(saved["stored"])
        self._temperatures.restore_out_of_range(saved_range(saved))
        if self._statistics is not None:
            self._statistics.restore(saved_statistics(saved))

    def _offsets(self) -> Values:
        """The offsets in the stored precision, flat; if they are not what is stored, in the room of `next`."""
        if self._temperatures.direct:
            return self.now
        self._temperatures.fill(self.now, self.next)
        return self.next


def saved_field(
    stored: np.ndarray, found: Mapping[int, float], statistics: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """What `Field.saved` returns: the stored values, `found` out of range, and the state of the statistics, if any are
    kept."""
    return {
        "stored": stored,
        "range_materials": np.array(list(found), np.int64),
        "range_offsets": np.array(list(found.values()), np.float64),
        **{f"statistics_{name}": values for name, values in statistics.items()},
    }


def saved_statistics(saved: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The state of the statistics in what `saved_field` gave."""
    return {name.removeprefix("statistics_"): values for name, values in saved.items() if "statistics_" in name}


def saved_range(saved: Mapping[str, np.ndarray]) -> dict[int, float]:
    """What `Field.out_of_range` gave, in what `saved_field` gave."""
    return dict(zip(saved["range_materials"].tolist(), saved["range_offsets"].tolist(), strict=True))
