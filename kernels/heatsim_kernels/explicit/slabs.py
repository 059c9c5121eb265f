"""A slab of the planes of a grid, which one of several processes advances.

    planes of the grid     0 1 2 3 | 4 5 6 7 | 8 9 10 11      three slabs of four planes each
    kept by the middle           3   4 5 6 7   8              its own between halos, here of one plane

A process keeps the planes of its slab and, beyond each end that is not an end of the box, a halo: copies of planes of
its neighbours, as many as a pass takes steps. In each step a pass computes as much of the halo as the later steps need
(on a GPU all of it). Beyond it nothing is known, which spoils one plane more in each step, but no plane of the slab
within one pass. Then the halos are filled anew. So every cell is computed from the same numbers as on one process, and
has the same bits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from heatsim_kernels.field.window_source import WindowSource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from heatsim_kernels.explicit.coefficients import StencilCoefficients
    from heatsim_kernels.explicit.face_sets import FaceSet


class Slab(NamedTuple):
    """The planes first <= z < end of a grid of `cells` (nz, ny, nx), with halos of `below` and `above` planes, 0 where
    the box ends. wraps: whether the grid is periodic along z."""

    cells: tuple[int, int, int]
    first: int
    end: int
    below: int
    above: int
    wraps: bool = False

    @property
    def halo(self) -> int:
        """Planes of a halo, 0 where there is none: so many steps may be taken before the halos are filled anew."""
        return max(self.below, self.above)

    @property
    def shape(self) -> tuple[int, int, int]:
        """(nz, ny, nx) of the planes kept, halos included."""
        return (self.below + self.end - self.first + self.above, *self.cells[1:])

    @property
    def planes(self) -> np.ndarray:
        """The numbers in the grid of the planes kept."""
        return np.arange(self.first - self.below, self.end + self.above) % self.cells[0]

    @property
    def own(self) -> slice:
        """The planes of the slab among those kept."""
        return slice(self.below, self.below + self.end - self.first)


def edges_and_inside(slab: Slab) -> tuple[tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]] | None:
    """Spans of planes, first <= z < end among those kept: the own planes that go to neighbours, and the other own
    ones. None where a slab is too thin to have others."""
    low, high, halo = slab.own.start, slab.own.stop, slab.halo
    first, end = low + (halo if slab.below else 0), high - (halo if slab.above else 0)
    if first >= end:
        return None
    return tuple(span for span in ((low, first), (end, high)) if span[0] < span[1]), ((first, end),)


class SlabLinks(Protocol):
    """What the stepper of a slab asks of the other processes. Each call is made by all of them alike."""

    @property
    def slab(self) -> Slab:
        """The slab of this process."""

    def fill_halos(self, values: Any) -> None:
        """Copy the planes of the neighbours into the halos of a field, flat, where it lies."""

    def whole(self, values: np.ndarray, axis: int = 0) -> np.ndarray:
        """Values by plane of the whole grid, from those of the own planes of each slab; planes lie along `axis`."""

    def together(self, own: np.ndarray) -> np.ndarray:
        """What all processes have, one after another along the first axis, on each of them."""

    def from_first(self, value: Any) -> Any:
        """The value that the first process has."""

    def greatest(self, values: np.ndarray) -> np.ndarray:
        """The greatest of each value over all processes; not a number where one is none."""


class GpuSlabLinks(SlabLinks, Protocol):
    """The same of slabs on GPUs, where halos may travel beside launches."""

    @property
    def fills_beside(self) -> bool:
        """Whether it takes less time that way."""

    def fill_halos_beside(self, values: Any, edges: Callable[..., None], inside: Callable[..., None]) -> None:
        """Launch `edges`, on a stream of its own, then fill the halos from what it makes of `values` on all slabs, and
        launch `inside` meanwhile."""


class PartsOfHeat(Protocol):
    """A field whose heat is summed up from parts of its planes."""

    def stored_parts(self) -> np.ndarray:
        """Heat of parts of each plane, (nz, ...), J."""

    def sum_of_parts(self, parts: np.ndarray) -> float:
        """The heat of all planes, from their parts, J."""


def heat_of_slabs(field: PartsOfHeat, links: SlabLinks) -> float:
    """The heat over that at the reference temperature, J, that the fields of all slabs hold together."""
    return float(field.sum_of_parts(links.whole(field.stored_parts()[links.slab.own])))


def cut_planes(cells: tuple[int, int, int], count: int, halo: int, wraps: bool) -> list[Slab]:
    """Cut a grid of (nz, ny, nx) cells into `count` slabs of as many planes, give or take one.

    halo: planes of a halo, or as many as the smallest slab has. Cells that are not solved take as long as others, so
    planes are all that counts. Raises ValueError where there are fewer planes than slabs.
    """
    nz = cells[0]
    if nz < count:
        raise ValueError(f"{nz} planes make no {count} slabs")
    halo = min(halo, nz // count)
    ends = [nz * number // count for number in range(count + 1)]
    open_ends = count > 1 and wraps
    return [
        Slab(
            cells, ends[i], ends[i + 1], halo if i or open_ends else 0, halo if i < count - 1 or open_ends else 0, wraps
        )
        for i in range(count)
    ]


def slab_boundary(values: np.ndarray, coefficients: StencilCoefficients, slab: Slab) -> np.ndarray:
    """Boundary values (..., boundary_size) of a slab, from those of the whole grid, whose coefficients are given. Those
    of a face where the slab is cut are 0: the cell beyond it is as this one."""
    nz, parts = slab.cells[0], []
    for face in range(6):
        part = values[..., coefficients.boundary_values_of(face)]
        if face >= 4 and (slab.above if face % 2 else slab.below):
            part = np.zeros_like(part)
        elif face < 4 and coefficients.boundary_per_cell:
            by_plane = part.reshape(*part.shape[:-1], nz, -1)[..., slab.planes, :]
            part = by_plane.reshape(*part.shape[:-1], -1)
        parts.append(part)
    return np.concatenate(parts, axis=-1)


def slab_ambient_faces(faces: FaceSet | None, slab: Slab) -> FaceSet | None:
    """The ambient faces of the cells of a slab, whose heat it enters in the ledger."""
    if faces is None:
        return None
    plane = slab.cells[1] * slab.cells[2]
    z = faces.cells // plane
    mine = (z >= slab.first) & (z < slab.end)
    found = faces.chosen(mine)
    return found._replace(cells=found.cells - (slab.first - slab.below) * plane)


def slab_windows(windows: tuple[WindowSource, ...], slab: Slab) -> Iterator[WindowSource]:
    """The parts of windows within the planes that a slab keeps, halos included. A window that has none there is left
    with no planes: all processes have to take their steps in the same pieces."""
    planes = slab.planes
    for (z0, y0, x0), rates, power in windows:
        inside = np.flatnonzero((planes >= z0) & (planes < z0 + len(rates)))
        for run in np.split(inside, np.flatnonzero(np.diff(planes[inside]) != 1) + 1):
            at, first = (int(run[0]), int(planes[run[0]]) - z0) if run.size else (0, 0)
            yield WindowSource((at, y0, x0), rates[first : first + len(run)], power)
