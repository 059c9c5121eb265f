"""A field on a CUDA device and the means to advance it; the movement of data is a choice of kernel."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from types import ModuleType

import numpy as np

from ..cuda_api import cuda
from . import cuda_wall_flows, cuda_zone_sums
from .cuda_cell import Heat, Medium, Shape, Walls
from .structure import Structure
from .terms import Drive, Terms


@lru_cache(maxsize=64)
def _compiled(build, structure):
    return cuda.jit(build(structure))


class CudaSweep:
    """A field on the GPU: see `Sweep` in `stencil/__init__.py`. `movement` is a module such as `basic`."""

    device = "cuda"

    def __init__(self, terms: Terms, dtype: np.dtype, movement: ModuleType) -> None:
        self.terms, self.dtype = terms, np.dtype(dtype)
        self.name = movement.__name__.rpartition(".")[2]
        self._movement = movement
        cells = int(np.prod(terms.shape))
        self._u, self._v = cuda.device_array(cells, self.dtype), cuda.device_array(cells, self.dtype)
        nothing = np.zeros(1, np.uint8)
        self._zones = cuda.to_device(nothing if terms.zones is None else terms.zones.reshape(-1))
        self._walls = cuda.to_device(terms.wall_offsets)
        self._open_faces = np.flatnonzero(~np.array(terms.closed))
        self._faces = cuda.to_device(self._open_faces.astype(np.int32))
        self._partial = cuda.to_device(np.zeros((6, cuda_wall_flows.BLOCKS)))
        self._zone_partial = cuda.device_array(cuda_zone_sums.BLOCKS, np.float64)

    def put(self, planes: Iterable[np.ndarray]) -> None:
        """Set the field from its planes (ny, nx), z upwards."""
        size = self.terms.shape[1] * self.terms.shape[2]
        for z, plane in zip(range(self.terms.shape[0]), planes, strict=True):
            values = np.ascontiguousarray(plane, self.dtype).reshape(-1)
            self._u[z * size : (z + 1) * size].copy_to_device(values)

    def field(self) -> np.ndarray:
        """A host copy of the field, (nz, ny, nx)."""
        return self._u.copy_to_host().reshape(self.terms.shape)

    def plane(self, axis: int, index: int) -> np.ndarray:
        """A host copy of one plane; axis 0, 1, 2 is z, y, x of the array."""
        cut = [slice(None)] * 3
        cut[axis] = index
        view = self._u.reshape(self.terms.shape)[tuple(cut)]
        return _gathered(view)

    def cells(self, indices: np.ndarray) -> np.ndarray:
        """The values of some cells, by flat index; any shape."""
        chosen = np.asarray(indices)
        out = cuda.device_array(chosen.size, self.dtype)
        if chosen.size:
            _gather[-(-chosen.size // 128), 128](self._u, cuda.to_device(chosen.reshape(-1).astype(np.int64)), out)
        return out.copy_to_host().reshape(chosen.shape)

    def zone_sums(self) -> np.ndarray:
        """(n,) sums of the field over each zone, float64."""
        zones = self.terms.zones is not None
        return np.array([self._sum(zone, zones) for zone in range(self.terms.zone_count)])

    def is_finite(self) -> bool:
        """Whether every value is a finite number."""
        return bool(np.isfinite(self._sum(0, zones=False)))

    def _sum(self, zone: int, zones: bool) -> float:
        """Sum of the cells of one zone, or of all."""
        kernel = _compiled(cuda_zone_sums.build, zones)
        kernel[cuda_zone_sums.BLOCKS, cuda_zone_sums.THREADS](self._u, self._zones, zone, self._zone_partial)
        return float(self._zone_partial.copy_to_host().sum())

    def heat_entered(self) -> np.ndarray:
        """(6,) heat that has entered through each of FACES since the start, J."""
        return self._partial.copy_to_host().sum(axis=1)

    def advance(self, dt: float, steps: int, drive: Drive) -> None:
        """Advance `steps` steps of `dt` seconds."""
        terms, kind = self.terms, self.dtype
        structure = Structure.of(terms, drive, kind)
        rates = (dt * terms.exchange).astype(kind)
        weights = (dt * terms.self_exchange()).astype(kind).astype(np.float64) * terms.capacity
        nothing = np.zeros((1, 1), kind)
        table = nothing if drive.heat_table is None else drive.heat_table
        a, b, heat = (_rows_on_device(values.astype(kind)) for values in (drive.wall_a, drive.wall_b, table))
        field = cuda.to_device((nothing if drive.heat_field is None else drive.heat_field).astype(kind).reshape(-1))
        gains = (dt * drive.heat_scale).astype(kind)
        wall_weights = cuda.to_device(weights.reshape(-1))
        flows = _compiled(cuda_wall_flows.build, structure)[
            (cuda_wall_flows.BLOCKS, max(1, len(self._open_faces))), cuda_wall_flows.THREADS
        ]
        sweep = _compiled(self._movement.build, structure)[self._movement.grid(terms.shape), self._movement.BLOCK]
        shape, count = Shape(*(np.uint32(n) for n in terms.shape)), np.uint32(terms.zone_count)
        uniform = rates.reshape(3, -1)[:, 0]
        medium = Medium(*uniform, cuda.to_device(rates.reshape(-1)), self._zones, count)
        for k in range(steps):
            walls = Walls(a[min(k, len(a) - 1)], b[min(k, len(b) - 1)], self._walls)
            if len(self._open_faces):
                flows(self._u, *shape, self._faces, *walls, self._zones, count, wall_weights, self._partial)
            sources = Heat(heat[min(k, len(heat) - 1)], kind.type(dt), field, gains[min(k, len(gains) - 1)])
            sweep(self._u, self._v, shape, walls, medium, sources)
            self._u, self._v = self._v, self._u


def _rows_on_device(rows: np.ndarray) -> list:
    """The rows of a host array, as device arrays."""
    copied = cuda.to_device(rows)
    return [copied[i] for i in range(len(rows))]


@cuda.jit
def _gather(u, indices, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = u[indices[i]]


@cuda.jit
def _copy_plane(plane, out):
    row, column = cuda.grid(2)
    if row < out.shape[0] and column < out.shape[1]:
        out[row, column] = plane[row, column]


def _gathered(plane) -> np.ndarray:
    """A strided plane on the device, made contiguous there and copied to the host."""
    out = cuda.device_array(plane.shape, plane.dtype)
    _copy_plane[(-(-plane.shape[0] // 8), -(-plane.shape[1] // 32)), (8, 32)](plane, out)
    return out.copy_to_host()
