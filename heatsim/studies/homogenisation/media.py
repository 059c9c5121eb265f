"""A medium of several phases, voxel by voxel: what each conducts, and which voxels heat can pass through.

Phases of conductivity 0 are void. Of the others only what is connected with both faces of an axis takes part: islands
and dead ends that touch one face alone carry no heat.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from heatsim_kernels.explicit.heat_ledger import boundary_cells
from heatsim_kernels.solver.network import NetworkKernels, Trees
from heatsim_kernels.solver.operator import MultigridKernels

from heatsim.errors import RequestError

AXES = "xyz"
MAX_LABELS = 256


@dataclass(frozen=True)
class Medium:
    """labels: (nz, ny, nx) uint8, places in `values`; values: (n,) conductivity of each phase, W/(m K), or diffusivity;
    names: (n,) the labels that the image has for them; voxel: its size along x, y, z, m."""

    labels: np.ndarray
    values: np.ndarray
    names: tuple[int, ...]
    voxel: tuple[float, float, float]

    @cached_property
    def fractions(self) -> np.ndarray:
        """(n,) the share of the volume that each phase has."""
        return _counts(self.labels)[: len(self.values)] / self.labels.size

    @property
    def mean(self) -> float:
        """The mean conductivity: what conducts in parallel."""
        return float(self.fractions @ self.values)

    def part(self, corner: tuple[int, int, int], size: int) -> Medium:
        """A cube of it, from a corner (z, y, x) on."""
        at = tuple(slice(first, first + size) for first in corner)
        return Medium(np.ascontiguousarray(self.labels[at]), self.values, self.names, self.voxel)


def make_medium(
    image: np.ndarray, phases: Mapping[int, float], voxel: tuple[float, float, float] = (1.0, 1.0, 1.0)
) -> Medium:
    """The medium of an image of labels (nz, ny, nx), or (ny, nx) for one layer; phases: the conductivity of each label,
    W/(m K). Raises `RequestError` for an image that is no image of labels, and for labels without a conductivity."""
    image = _as_labels(image)
    for label, value in phases.items():
        if not 0.0 <= value < np.inf:
            raise RequestError(f"phase {label}: expected a conductivity >= 0 W/(m K), found {value:g}")
    if not any(phases.values()):
        raise RequestError("no phase conducts: expected one with a conductivity > 0 W/(m K)")
    found, counts = _found(image)
    missing = [(int(label), count / image.size) for label, count in zip(found, counts, strict=True)]
    missing = [(label, share) for label, share in missing if label not in phases]
    if missing:
        told = ", ".join(f"{label} ({share:.3g} of the volume)" for label, share in missing[:8])
        more = " and more" if len(missing) > 8 else ""
        raise RequestError(
            f"phases without a conductivity: {told}{more}; give each one, as --phase {missing[0][0]}=0.5, or 0 for void"
        )
    if len(found) > MAX_LABELS:
        raise RequestError(f"expected at most {MAX_LABELS} phases, found {len(found)}: an image of grey levels?")
    if image.dtype == np.uint8:
        places = np.zeros(MAX_LABELS, np.uint8)
        places[found] = np.arange(len(found))
        labels = places[image]
    else:
        labels = np.searchsorted(found, image).astype(np.uint8)
    names = tuple(int(label) for label in found)
    return Medium(labels, np.array([phases[name] for name in names], float), names, voxel)


def _found(image: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The labels that an image has, and how many voxels have each."""
    if image.dtype != np.uint8:
        return np.unique(image, return_counts=True)
    counts = _counts(image)
    return np.flatnonzero(counts), counts[counts > 0]


def _counts(labels: np.ndarray) -> np.ndarray:
    """(256,) how many voxels have each label; plane by plane, as NumPy widens what it counts."""
    return np.asarray(sum(np.bincount(plane.reshape(-1), minlength=MAX_LABELS) for plane in labels))


def _as_labels(image: np.ndarray) -> np.ndarray:
    if image.ndim == 2:
        image = image[None]
    if image.ndim != 3:
        shape, hint = " x ".join(map(str, image.shape)), ""
        if image.ndim == 4 and image.shape[-1] in (3, 4):
            hint = ": an image in colours? Save one channel, or its labels"
        raise RequestError(f"expected an image of 2 or 3 axes, found {shape}{hint}")
    if image.dtype.kind == "f":
        if not (image == np.rint(image)).all():
            raise RequestError("expected whole numbers as labels, found others: segment the image first")
        image = image.astype(np.int64)
    if min(image.shape) == 0:
        raise RequestError("the image has no voxels")
    return image.astype(np.uint8) if image.dtype.kind == "b" else image


class Ties(NamedTuple):
    """Cells (m,) tied to a face of the medium, and the conductances (m,) to it, W/K, float32; on the host."""

    cells: np.ndarray
    conductances: np.ndarray


NO_TIES = Ties(np.zeros(0, np.int64), np.zeros(0, np.float32))


class Network(NamedTuple):
    """The conductances between voxels, W/K, and the ties by which heat along an axis enters and leaves; fields are
    arrays of the device.

    faces: (gx, gy, gz) as in `Operator`, float32; lower, upper: ties to 1 K and to 0 K; roots: of parts that nothing is
    tied to; trees: from the lower ties, or from the roots, on; taking_part: (nz, ny, nx) uint8, whether a voxel does.
    """

    faces: tuple[Any, Any, Any]
    lower: Ties
    upper: Ties
    roots: np.ndarray
    trees: Trees
    taking_part: Any


class Networks:
    """The networks of a medium along its axes, on a device."""

    def __init__(self, medium: Medium, kernels: MultigridKernels, networks: NetworkKernels) -> None:
        self._medium, self._kernels, self._networks = medium, kernels, networks
        self._labels = kernels.put(medium.labels)
        self._parts: tuple[tuple[bool, bool, bool], Any] | None = None  # for these periodic axes

    @cached_property
    def _conducting(self) -> Any:
        """(nz, ny, nx) uint8, whether each voxel conducts."""
        conducts, shape = (self._medium.values > 0).astype(np.uint8), self._medium.labels.shape
        return self._kernels.spread(conducts, self._labels, (shape[0], shape[1], shape[2]), np.dtype(np.uint8))

    def between_faces(self, axis: int, periodic: tuple[bool, bool, bool]) -> Network | None:
        """The network from one face of an axis, 0 for x, to the other; None if nothing leads through. The faces are at
        1 K and 0 K. periodic: along which of the other axes the medium repeats."""
        wide = [n > 1 for n in self._medium.labels.shape[::-1]]
        faces, parts = self._connect((periodic[0] and wide[0], periodic[1] and wide[1], periodic[2] and wide[2]))
        networks, ends = self._networks, [_conducting_at(self._medium, axis, end) for end in (0, 1)]
        lower_parts, upper_parts = (networks.pick(parts, cells) for cells in ends)
        through = np.intersect1d(lower_parts, upper_parts)
        if not through.size:
            return None
        taking_part = networks.among(parts, through)
        for g in faces:  # parts take part as a whole, so that no face has one cell that does and one that does not
            networks.fill_others(g, taking_part, 0.0)
        lower = _ties(self._medium, axis, ends[0][np.isin(lower_parts, through)])
        upper = _ties(self._medium, axis, ends[1][np.isin(upper_parts, through)])
        return Network(faces, lower, upper, NO_TIES.cells, networks.grow(faces, lower.cells), taking_part)

    def without_ends(self) -> Network:
        """All that conducts, periodic along all axes, with a tree for each part. Nothing is tied to a temperature."""
        faces, parts = self._connect((True, True, True))
        roots = self._networks.roots(parts, self._conducting)
        return Network(faces, NO_TIES, NO_TIES, roots, self._networks.grow(faces, roots), self._conducting)

    def _connect(self, periodic: tuple[bool, bool, bool]) -> tuple[tuple[Any, Any, Any], Any]:
        """The conductances, and the parts, which are kept for the next axis."""
        faces = self._networks.connect(self._labels, _between(self._medium), periodic)
        if self._parts is None or self._parts[0] != periodic:
            self._parts = periodic, self._networks.find_parts(faces)
        return faces, self._parts[1]


def _between(medium: Medium) -> np.ndarray:
    """(3, n, n) conductances between voxels of two phases along x, y and z, the half of each in series."""
    one, other = medium.values[:, None], medium.values
    with np.errstate(invalid="ignore"):
        between = np.where((one > 0) & (other > 0), 2.0 * one * other / (one + other), 0.0)
    return np.array([between * area_over_length(medium, axis) for axis in range(3)], np.float32)


def _ties(medium: Medium, axis: int, cells: np.ndarray) -> Ties:
    """The ties of voxels at one end of an axis to the face there, half a voxel away."""
    half = 2.0 * area_over_length(medium, axis) * medium.values
    return Ties(cells, half.astype(np.float32)[medium.labels.reshape(-1)[cells]])


def area_over_length(medium: Medium, axis: int) -> float:
    """The area of a voxel's face across an axis over its length along it, m."""
    return float(np.prod(medium.voxel)) / medium.voxel[axis] ** 2


def _conducting_at(medium: Medium, axis: int, end: int) -> np.ndarray:
    """Flat indices of the voxels at the lower (0) or the upper (1) end of an axis that conduct."""
    cells = boundary_cells(medium.labels.shape, 2 * axis + end)
    return np.asarray(cells[medium.values[medium.labels.reshape(-1)[cells]] > 0])
