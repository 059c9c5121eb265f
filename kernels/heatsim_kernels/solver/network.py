"""The network that conductances between the cells of a grid make: which cells hang together, and trees that lead out.

Cells that heat can pass between are a part. Along a tree the heat that an approximate solution leaves in each cell can
be carried out, so that none is left: then the flux is one that keeps heat, as those are which bound the conductance of
a body from below (see `heatsim.studies.homogenisation`).
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

ROOT, APART = 6, 255  # in place of a way: where a tree starts, and cells that no tree reaches


class Trees(NamedTuple):
    """Trees of the cells, nearest to their roots first.

    order: (m,) cells in the order in which they are reached; ways: (cells,) uint8, the face of each cell, 0 to 5 for
    x_min to z_max, behind which the one is that it was reached from, or ROOT, or APART; levels: where in `order` those
    of each distance from the roots begin, and the end, on a GPU.
    """

    order: Any
    ways: Any
    levels: tuple[int, ...] = ()


def beyond(i, way, x, y, z, nz, ny, nx):
    """The cell beyond face `way` of cell i at x, y, z; around the end where there is none."""
    if way == 0:
        other = i - 1 if x > 0 else i + (nx - 1)
    elif way == 1:
        other = i + 1 if x < nx - 1 else i - (nx - 1)
    elif way == 2:
        other = i - nx if y > 0 else i + (ny - 1) * nx
    elif way == 3:
        other = i + nx if y < ny - 1 else i - (ny - 1) * nx
    elif way == 4:
        other = i - ny * nx if z > 0 else i + (nz - 1) * ny * nx
    else:
        other = i + ny * nx if z < nz - 1 else i - (nz - 1) * ny * nx
    return other


def conductance(gx, gy, gz, i, other, way):
    """That of face `way` of cell i, beyond which is the other cell."""
    if way < 2:
        g = gx[i] if way == 1 else gx[other]
    elif way < 4:
        g = gy[i] if way == 3 else gy[other]
    else:
        g = gz[i] if way == 5 else gz[other]
    return g


def warmer_by(T, i, other, way, axis, drop):
    """By how much cell i is warmer than the one beyond face `way`, K: along the axis lies a `drop` besides."""
    difference = T[i] - T[other]
    if way // 2 == axis:
        difference += drop if way % 2 == 1 else -drop
    return difference


class NetworkKernels(Protocol):
    """What a device offers for networks; fields are its own, see `SolverKernels`. faces: (gx, gy, gz) as in `Operator`,
    float32."""

    def connect(self, labels: Any, between: np.ndarray, periodic: tuple[bool, bool, bool], /) -> Any:
        """The faces of cells that have a label each, uint8; between: (3, n, n) the conductance between cells of two
        labels along x, y and z, W/K, float32."""

    def find_parts(self, faces: Any, /) -> Any:
        """For each cell the least of those that it hangs together with, int32."""

    def roots(self, parts: Any, chosen: Any, /) -> np.ndarray:
        """The least cells of all parts, of those that are chosen by not being 0, on the host."""

    def among(self, parts: Any, chosen: np.ndarray, /) -> Any:
        """Whether the part of each cell is one of these, uint8."""

    def count(self, chosen: Any, /) -> int:
        """How many cells are chosen."""

    def pick(self, values: Any, cells: np.ndarray, /) -> np.ndarray:
        """The values of some cells, on the host."""

    def place(self, field: Any, cells: np.ndarray, values: np.ndarray, /) -> None:
        """Add values to some cells of a field, each of which comes once."""

    def fill_others(self, field: Any, chosen: Any, value: float, /) -> None:
        """Set the cells that are not chosen."""

    def grow(self, faces: Any, roots: np.ndarray, /) -> Trees:
        """Trees from all roots at once, over faces that conduct."""

    def carry_out(self, trees: Trees, faces: Any, T: Any, axis: int, drop: float, left: Any, /) -> tuple[float, float]:
        """Carry the heat that is `left` in each cell, W, to the roots; each cell keeps what went through it.

        Between neighbours along an axis, 0 for x, lies a `drop` besides the differences of T, K. Returns by how much
        the sum of q^2/g over all faces grows, W K, and how much more passes along the axis, W.
        """

    def flow(self, g: Any, T: Any, axis: int, drop: float, /) -> tuple[float, float]:
        """Sums over the faces along an axis, of g d, W, and g d^2, W K; d: differences of T and a drop, K."""

    def heat_of_drop(self, g: Any, axis: int, drop: float, /) -> Any:
        """What a drop from cell to cell along an axis heats each cell by, W, float64; g: of the faces along it."""
