"""CUDA: ghost values beside the faces in `temporal`, the same for all cells, by cell class, or by boundary cell."""

from __future__ import annotations

from typing import Any, NamedTuple

from numba import int32, uint32, uint64

from heatsim_kernels.device.cuda.api import inlined
from heatsim_kernels.device.cuda.register_tuples import counted, each
from heatsim_kernels.device.cuda.warp_rows import load_rows, thread_anew
from heatsim_kernels.explicit import physics
from heatsim_kernels.explicit.blocked.periodic_index import into, wrapped
from heatsim_kernels.explicit.blocked.plan import TemporalTile
from heatsim_kernels.explicit.cuda_cell.configuration import StencilConfiguration

_ghost, _wrapped = inlined(physics.ghost), inlined(wrapped)
BOUNDARY = 12  # numbers of a level, or of a class in it: a and b of six faces


class LevelBoundary(NamedTuple):
    """Boundary values of a batch of steps: a and b, (rows, values), FACES in order, of each cell class or of each
    boundary cell in C order of its two axes; the first step of the sweep; the cells of the grid along each axis."""

    a: Any
    b: Any
    rows: int
    first: int
    classes: int
    shape: Any


def build_ghost(configuration: StencilConfiguration, tile: TemporalTile, corner: int, axis: int):
    """Build call(cells, classes, face, n, p, board, at, boundary): the ghost values of cells in plane p beside FACES
    number `face`, in the step of level n, whose numbers begin at `at`.

    axis: 0, 1 or 2 for faces of x, y or z, at which the cells are an outer column, an outer row or all of a lane.
    corner: where on the board that of the tile is.
    """
    if configuration.boundary_per_cell and configuration.looks_up(axis):
        return _cell_ghosts(configuration, tile, corner, axis)
    by_class, uniform, two = each(_class_ghost), each(physics.ghost), load_rows(2, True)
    held = each(_held_ghost(two, configuration.room_for_classes - 1))

    @inlined
    def of_classes(cells, classes, face, n, p, board, at, boundary):
        row = _row_of(boundary, n)
        return by_class(cells, classes, face, uint32(boundary.classes), row, boundary.a, boundary.b)

    @inlined
    def of_one(cells, classes, face, n, p, board, at, boundary):
        a, b = two(board, at + uint64(face) * uint64(2), (uint32(0),))
        return uniform(cells, a, b)

    @inlined
    def of_classes_held(cells, classes, face, n, p, board, at, boundary):
        return held(cells, classes, at + uint64(face) * uint64(2), board)

    if configuration.holds_boundary_of_classes:
        return of_classes_held
    return of_classes if configuration.class_dtype and configuration.looks_up(axis) else of_one


def _held_ghost(two, last):
    """Build the ghost value of a cell by the boundary values of its class on the board, which for the face begin at
    `at`."""

    def held_ghost(c, cell_class, at, board):
        # What is beyond the grid may have any class: see `_class_ghost`.
        held = min(uint32(cell_class), uint32(last))
        a, b = two(board, at + uint64(held) * uint64(BOUNDARY), (uint32(0),))
        return _ghost(c, a, b)

    return held_ghost


@inlined
def _row_of(boundary, n):
    """The row of boundary values for the step of level n."""
    return uint32(min(int32(boundary.first + n), int32(boundary.rows - int32(1))))


@inlined
def first_of_face(face, shape):
    """Where the values of FACES number `face` begin, where they come one a boundary cell."""
    of_x, of_y = uint32(shape.nz * shape.ny), uint32(shape.nz * shape.nx)
    size = of_x if face < 2 else (of_y if face < 4 else uint32(shape.ny * shape.nx))
    before = uint32(0) if face < 2 else (of_x if face < 4 else uint32(of_x + of_y))
    return uint32(uint32(2) * before + (face & uint32(1)) * size)


def _cell_ghosts(configuration, tile, corner, axis):
    """`build_ghost` where each boundary cell has values of its own: FACES in order, each in C order of its two axes.
    Where a lane is, is asked for anew: see `boundary_trace`."""
    (wrap_x, wrap_y, wrap_z), columns, rows = configuration.periodic, tile.columns, tile.rows
    count = (rows, columns, rows * columns)[axis]
    numbers, ghosts = counted(count), each(_own_ghost, whole=2)

    def place_of(number, x, y, z, ny, nx):
        """The place on the face of a cell, given its number among those of the lane."""
        if axis == 0:
            return uint32(z * ny + _wrapped(uint32(y + number), ny))
        if axis == 1:
            return uint32(z * nx + _wrapped(uint32(x + number), nx))
        line = _wrapped(uint32(y + number // uint32(columns)), ny)
        return uint32(line * nx + _wrapped(uint32(x + number % uint32(columns)), nx))

    places_of = each(place_of)

    @inlined
    def of_cells(cells, classes, face, n, p, board, at, boundary):
        tx, band = thread_anew()
        nz, ny, nx = int32(boundary.shape.nz), int32(boundary.shape.ny), int32(boundary.shape.nx)
        x = int32(int32(board[corner]) + tx * int32(columns))
        y = int32(int32(board[corner + 3]) + band * int32(rows))
        # Planes beyond the grid read the values of one inside it; what comes of them is never stored.
        z = into(p, nz) if wrap_z else max(int32(0), min(p, int32(nz - int32(1))))
        x, y = into(x, nx) if wrap_x else x, into(y, ny) if wrap_y else y
        first = first_of_face(uint32(face), boundary.shape)
        places = places_of(numbers(uint32(0), uint32(1)), uint32(x), uint32(y), uint32(z), uint32(ny), uint32(nx))
        return ghosts(cells, places, first, _row_of(boundary, n), boundary.a, boundary.b)

    return of_cells


def _own_ghost(c, place, first, row, a, b):
    return _ghost(c, a[row, uint32(first + place)], b[row, uint32(first + place)])


def _class_ghost(c, cell_class, face, count, row, a, b):
    # For planes beyond the grid no classes were read, and this may be any byte: it is kept inside the table, and what
    # comes of it is never stored.
    place = uint32(uint32(face) * count + min(cell_class, uint32(count - uint32(1))))
    return _ghost(c, a[row, place], b[row, place])
