"""CPU: where rows of cells lie: in a field, around a period, or in a ring with the last planes of a level."""

from __future__ import annotations

from typing import NamedTuple

from heatsim_kernels.device.cpu.compilation import inlined
from heatsim_kernels.device.cpu.pointers import shifted
from heatsim_kernels.explicit.cpu.rows import NeighbourRows


class CpuGrid(NamedTuple):
    """Cells along each axis, and whether the index wraps. It is flat because Numba passes no nested tuples to
    threads."""

    nz: int
    ny: int
    nx: int
    wrap_x: bool
    wrap_y: bool
    wrap_z: bool


class RowPlace(NamedTuple):
    """A row of the grid, or its cells from some column on: plane, row, and the flat indices of its first cell and of
    those in the rows beside (of the cell itself beyond a boundary)."""

    z: int
    y: int
    c: int
    ym: int
    yp: int
    zm: int
    zp: int


class PlaneRing(NamedTuple):
    """Rows of the last planes of a level, `pitch` elements apart: `height` rows a plane, `slots` rows in all. `start`
    points to the column that is asked for."""

    start: int
    height: int
    slots: int
    pitch: int


@inlined
def widened(first, end, margin, n, wraps):
    """A range of planes or rows, widened by a margin at both ends but not beyond a boundary."""
    if wraps:
        return first - margin, end + margin
    return max(0, first - margin), min(n, end + margin)


@inlined
def place_of(z, y, x, grid):
    """Row y of plane z, which may lie around a period, from column x on."""
    nz, ny, nx = grid.nz, grid.ny, grid.nx
    if grid.wrap_z:
        z = z % nz
    if grid.wrap_y:
        y = y % ny
    plane = ny * nx
    c = z * plane + y * nx + x
    ym = c - nx if y > 0 else (c + plane - nx if grid.wrap_y else c)
    yp = c + nx if y < ny - 1 else (c + nx - plane if grid.wrap_y else c)
    zm = c - plane if z > 0 else (c + (nz - 1) * plane if grid.wrap_z else c)
    zp = c + plane if z < nz - 1 else (c - (nz - 1) * plane if grid.wrap_z else c)
    return RowPlace(z, y, c, ym, yp, zm, zp)


@inlined
def rows_in_field(u, p):
    """A row and those beside it, in the field."""
    return NeighbourRows(shifted(u, p.c), shifted(u, p.ym), shifted(u, p.yp), shifted(u, p.zm), shifted(u, p.zp))


@inlined
def rows_in_ring(ring, slot):
    """The row in a slot of a ring and those beside it."""
    return NeighbourRows(
        row_in_ring(ring, slot),
        row_in_ring(ring, turned(slot - 1, ring.slots)),
        row_in_ring(ring, turned(slot + 1, ring.slots)),
        row_in_ring(ring, turned(slot - ring.height, ring.slots)),
        row_in_ring(ring, turned(slot + ring.height, ring.slots)),
    )


@inlined
def row_in_ring(ring, slot):
    """The row in a slot of a ring."""
    return shifted(ring.start, slot * ring.pitch)


@inlined
def turned(slot, slots):
    """The slot for a number that is at most once around the ring."""
    return slot + slots if slot < 0 else (slot - slots if slot >= slots else slot)
