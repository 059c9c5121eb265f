"""A medium of several phases, voxel by voxel: what each conducts, and which voxels heat can pass through.

Phases of conductivity 0 are void. Of the others only what is connected with both faces of an axis takes part: islands
and dead ends that touch one face alone carry no heat.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from heatsim_kernels.multigrid.cpu.spanning_trees import APART, grow

from heatsim.errors import RequestError

AXES = "xyz"
MAX_LABELS = 256
Faces = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Medium:
    """labels: (nz, ny, nx) uint8, places in `values`; values: (n,) conductivity of each phase, W/(m K), or diffusivity;
    names: (n,) the labels that the image has for them; voxel: its size along x, y, z, m."""

    labels: np.ndarray
    values: np.ndarray
    names: tuple[int, ...]
    voxel: tuple[float, float, float]

    @property
    def fractions(self) -> np.ndarray:
        """(n,) the share of the volume that each phase has."""
        return np.asarray(np.bincount(self.labels.reshape(-1), minlength=len(self.values)) / self.labels.size)

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
    found, counts = np.unique(image, return_counts=True)
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
    labels = np.searchsorted(found, image).astype(np.uint8)
    names = tuple(int(label) for label in found)
    return Medium(labels, np.array([phases[name] for name in names], float), names, voxel)


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


class Network(NamedTuple):
    """What conducts between voxels, W/K, and what heat along an axis enters and leaves by.

    faces: (gx, gy, gz) as in `Operator`, float32; lower, upper: (nz, ny, nx) ties to 1 K and to 0 K, 0 elsewhere;
    order, ways: trees of the voxels, see `spanning_trees`; taking_part: (nz, ny, nx) whether a voxel does.
    """

    faces: Faces
    lower: np.ndarray
    upper: np.ndarray
    order: np.ndarray
    ways: np.ndarray
    taking_part: np.ndarray


def network_between_faces(medium: Medium, axis: int, periodic_sides: bool) -> Network | None:
    """What leads from one face of an axis, 0 for x, to the other, the trees from the lower one on; None if nothing
    does. The faces are at 1 K and 0 K."""
    wide = [medium.labels.shape[2 - number] > 1 for number in range(3)]
    faces = _faces(medium, [periodic_sides and number != axis and wide[number] for number in range(3)])
    (order, ways), (_, back) = (_trees(medium, faces, _conducting(medium, axis, end), True) for end in (0, -1))
    taking_part = ((ways != APART) & (back != APART)).reshape(medium.labels.shape)
    if not taking_part.any():
        return None
    if not taking_part.all():
        for number, g in enumerate(faces):
            g *= taking_part & np.roll(taking_part, -1, 2 - number)
        order = order[taking_part.reshape(-1)[order]]
    lower, upper = (_ties(medium, axis, end, taking_part) for end in (0, -1))
    return Network(faces, lower, upper, order, ways, taking_part)


def periodic_network(medium: Medium) -> Network:
    """All that conducts, periodic along all axes, with a tree for each part that hangs together. Nothing is tied to a
    temperature."""
    faces, taking_part = _faces(medium, [True] * 3), medium.values[medium.labels] > 0
    order, ways = _trees(medium, faces, np.flatnonzero(taking_part), False)
    nothing = np.zeros(medium.labels.shape, np.float32)
    return Network(faces, nothing, nothing, order, ways, taking_part)


def _faces(medium: Medium, periodic: Sequence[bool]) -> Faces:
    """Conductances between voxels, the half of each in series."""
    labels, count, found = medium.labels, len(medium.values), []
    one, other = medium.values[:, None], medium.values
    with np.errstate(invalid="ignore"):
        between = np.where((one > 0) & (other > 0), 2.0 * one * other / (one + other), 0.0)
    for number in range(3):
        table = (between * _area_over_length(medium, number)).astype(np.float32).reshape(-1)
        g = table[labels.astype(np.uint16) * np.uint16(count) + np.roll(labels, -1, 2 - number)]
        if not periodic[number]:
            g[_end(2 - number, -1)] = 0.0
        found.append(g)
    return found[0], found[1], found[2]


def _ties(medium: Medium, axis: int, end: int, taking_part: np.ndarray) -> np.ndarray:
    """Of the voxels at one end of an axis to that face, half a voxel away."""
    ties, at = np.zeros(medium.labels.shape, np.float32), _end(2 - axis, end)
    half = 2.0 * _area_over_length(medium, axis) * medium.values
    ties[at] = half.astype(np.float32)[medium.labels[at]] * taking_part[at]
    return ties


def _area_over_length(medium: Medium, axis: int) -> float:
    """Of a voxel along an axis, m."""
    return float(np.prod(medium.voxel)) / medium.voxel[axis] ** 2


def _conducting(medium: Medium, axis: int, end: int) -> np.ndarray:
    """Flat indices of the voxels at one end of an axis that conduct."""
    at = _end(2 - axis, end)
    numbers = np.arange(medium.labels.size).reshape(medium.labels.shape)[at]
    return np.asarray(numbers[medium.values[medium.labels[at]] > 0])


def _trees(medium: Medium, faces: Faces, roots: np.ndarray, together: bool) -> tuple[np.ndarray, np.ndarray]:
    """The order and the ways of the trees from these roots: see `spanning_trees.grow`."""
    ways, order = np.full(medium.labels.size, APART, np.uint8), np.empty(medium.labels.size, np.int64)
    gx, gy, gz = (g.reshape(-1) for g in faces)
    count = grow(gx, gy, gz, medium.labels.shape, roots, together, ways, order)
    return order[:count].copy(), ways


def _end(place: int, end: int) -> tuple[slice | int, ...]:
    """The first (0) or the last (-1) voxels along an axis of the array."""
    return tuple(end if i == place else slice(None) for i in range(3))
