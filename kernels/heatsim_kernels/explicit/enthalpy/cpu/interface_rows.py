"""CPU: the heat that cells get through their faces to other materials (see `enthalpy.cell`), in vectors.

    a plane between two materials       rows of such cells         |xxxxxxxxxxxxxxxx|      vectors of each row
    a plane that cuts the rows          columns of such cells      . . . x y . . . .       the cells of a column in the
                                                                   . . . x y . . . .       rows of a run are collected,
                                                                   . . . x y . . . .       one vector for all

Cells of one class have the same materials at the same faces, so that what they look up lies in registers. The heat of a
run of rows is found before the rows are; each row adds its own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from llvmlite import ir
from numba.core import cgutils
from numba.extending import intrinsic

from heatsim_kernels.device.cpu.compilation import called, inlined
from heatsim_kernels.device.cpu.pointers import (
    CACHE_LINE,
    copy_lines,
    lines_of,
    load,
    load_written,
    pointer,
    shifted,
    store,
    widest_vectors,
)
from heatsim_kernels.device.fma import fma
from heatsim_kernels.explicit.cpu.boundary_faces import X_MAX, X_MIN, Y_MAX, Y_MIN, Z_MAX, Z_MIN
from heatsim_kernels.explicit.cpu.row_places import PlaneRing, place_of, rows_in_field, rows_in_ring, turned
from heatsim_kernels.explicit.cpu.rows import RATE, class_of
from heatsim_kernels.explicit.enthalpy.cell import NUMBERS
from heatsim_kernels.explicit.enthalpy.coefficients import OTHER, NonlinearCoefficients
from heatsim_kernels.explicit.enthalpy.cpu.material_rows import look_up
from heatsim_kernels.explicit.enthalpy.cpu.potential_rows import look_up_vectors
from heatsim_kernels.explicit.enthalpy.cpu.series_vectors import add_exchange, fill_lines, find_midway
from heatsim_kernels.explicit.enthalpy.kernel_arguments import has_others
from heatsim_kernels.explicit.enthalpy.pieces import PIECE_NUMBERS, PIECES

LONG = 8  # cells of one class in a row, from which their run is computed in vectors of that row
AT_ONCE = 256  # cells of one class that are computed at once: short runs of the most rows of a level


class InterfaceRows(NamedTuple):
    """Runs of cells of one class beside another material, row after row, of each row the long ones first and the others
    class by class: x of the first cell of each, x behind the last, and where the runs of each row start. alike: (rows,)
    of how many rows of the plane, from this one on, the runs are the same, 255 at most. straight, constant_capacity:
    (m,) of materials, see `EnthalpyTables`. Arrays, or pointers in compiled code."""

    firsts: np.ndarray
    ends: np.ndarray
    starts: np.ndarray
    alike: np.ndarray
    straight: np.ndarray
    constant_capacity: np.ndarray


def find_interface_rows(coefficients: NonlinearCoefficients) -> InterfaceRows | None:
    """The runs of all rows; None if there are none."""
    tables, jumps = coefficients.tables, has_others(coefficients)
    if not jumps.any():
        return None
    starts, firsts, ends, alike = [np.zeros(1, np.int64)], [], [], []
    for plane in coefficients.class_ids:
        chosen, differs = jumps[plane], np.ones((plane.shape[0], plane.shape[1] + 1), bool)
        differs[:, 1:-1] = plane[:, 1:] != plane[:, :-1]
        if coefficients.periodic[0]:  # cells at the ends of rows have neighbours elsewhere
            differs[:, [1, -2]] = True
        begins = chosen & differs[:, :-1]
        rows, first = np.nonzero(begins)
        end = np.nonzero(chosen & differs[:, 1:])[1] + 1
        of_class = np.where(end - first < LONG, plane[rows, first].astype(np.int64), -1)
        order = np.lexsort((of_class, rows))  # long runs first, from left to right; short ones class by class
        firsts.append(first[order].astype(np.int32))
        ends.append(end[order].astype(np.int32))
        starts.append(starts[-1][-1] + np.cumsum(begins.sum(axis=1)))
        alike.append(_rows_alike(np.where(chosen, plane.astype(np.int64), -1)))
    runs = np.concatenate(firsts), np.concatenate(ends), np.concatenate(starts)
    of_materials = tables.straight.astype(np.uint8), tables.constant_capacity.astype(np.uint8)
    return InterfaceRows(*runs, np.concatenate(alike), *of_materials)


@inlined
def pointed_rows(interface):
    """The rows with pointers in place of arrays."""
    if interface is None:
        return None
    runs = pointer(interface.firsts), pointer(interface.ends), pointer(interface.starts), pointer(interface.alike)
    return InterfaceRows(*runs, pointer(interface.straight), pointer(interface.constant_capacity))


@inlined
def has_interface(row, interface):
    """Whether a row has cells beside another material."""
    if interface is None:
        return False
    return interface.starts[row] < interface.starts[row + 1]


def _rows_alike(rows: np.ndarray) -> np.ndarray:
    """(ny,) how many rows are equal, from each on."""
    last = np.append(np.flatnonzero(np.any(rows[1:] != rows[:-1], axis=1)), len(rows) - 1)
    number = np.arange(len(rows))
    return np.minimum(last[np.searchsorted(last, number)] - number + 1, 255).astype(np.uint8)


class StatesRead(NamedTuple):
    """Where the states of a run of rows are read: in the field u, if from_field, or in a ring, with the first row in
    slot `slot`."""

    u: int
    ring: PlaneRing
    slot: int
    from_field: bool


@inlined
def add_interface_heat(out, n, heat, row, x, numbers, interface):
    """Add to n cells of a row what the faces to other materials bring, which `heat` has at their places. row, x: see
    `rows.advance_row`; numbers: of a stage, or None."""
    if interface is not None:
        for entry in range(interface.starts[row], interface.starts[row + 1]):
            first, end = np.int64(interface.firsts[entry]) - x, np.int64(interface.ends[entry]) - x
            for i in range(max(0, first), min(n, end)):
                if numbers is None:
                    store(out, i, load_written(out, i) + load(heat, i))
                else:
                    store(out, i, fma(load(numbers, RATE), load(heat, i), load_written(out, i)))


@inlined
def find_interface_heat(heat, pitch, read, run, grid, classes, medium, interface):
    """Put what the faces to other materials bring to the cells of a run of rows at their places in rows of `heat`,
    `pitch` apart. read: `StatesRead`; classes: of all cells."""
    if interface is not None:
        first, last = place_of(run.z, run.y0, run.x0, grid), place_of(run.z, run.y1 - 1, run.x0, grid)
        before, behind = first.z * grid.ny + first.y, last.z * grid.ny + last.y + 1
        # Most runs of rows have none, and to call takes as long as half a row of cells.
        if behind <= before or interface.starts[before] < interface.starts[behind]:
            _find_interface_heat(heat, pitch, read, run, grid, classes, medium, interface)


@called
def _find_interface_heat(heat, pitch, read, run, grid, classes, medium, interface):
    j, rows = np.int64(0), run.y1 - run.y0
    while j < rows:
        place = place_of(run.z, run.y0 + j, run.x0, grid)
        row = place.z * grid.ny + place.y
        some, of_row = (j, min(np.int64(interface.alike[row]), rows - j)), shifted(classes, row * grid.nx)
        entry, behind = interface.starts[row], interface.starts[row + 1]
        while entry < behind:
            cell_class = class_of(of_row, np.int64(interface.firsts[entry]))
            if np.int64(interface.ends[entry]) - np.int64(interface.firsts[entry]) >= LONG:
                _enter_runs(heat, pitch, some, entry, cell_class, read, run, grid, medium, interface)
                entry += 1
            else:
                first, taken = entry, np.int64(0)
                while entry < behind and class_of(of_row, np.int64(interface.firsts[entry])) == cell_class:
                    cells = (np.int64(interface.ends[entry]) - np.int64(interface.firsts[entry])) * some[1]
                    if taken + cells > AT_ONCE:
                        break
                    entry, taken = entry + 1, taken + cells
                entries = first, entry
                _collect(heat, pitch, some, entries, cell_class, read, run, grid, medium, interface)
        j += some[1]


@inlined
def _rows(j, read, run, grid):
    """Row j of a run and those beside it."""
    if read.from_field:
        return rows_in_field(read.u, place_of(run.z, run.y0 + j, run.x0, grid))
    return rows_in_ring(read.ring, turned(read.slot + j, read.ring.slots))


@inlined
def _run_within(entry, run, interface):
    """The first cell of an entry in the columns of a run of rows, and the one behind its last."""
    first, end = np.int64(interface.firsts[entry]), np.int64(interface.ends[entry])
    return max(run.x0, first) - run.x0, min(run.x1, end) - run.x0


@inlined
def _enter_runs(heat, pitch, some, entry, cell_class, read, run, grid, medium, interface):
    """Put what the faces of a long run of one class bring, in some rows, into `heat`. What gets there behind the run is
    of runs that come later."""
    (j, count), (first, end) = some, _run_within(entry, run, interface)
    for number in range(j, j + count):
        rows, out = _rows(number, read, run, grid), shifted(heat, number * pitch)
        for i in range(first, end):
            store(out, i, medium.zero)
        for face in range(6):
            if np.int64(medium.links[cell_class * 6 + face]) >= OTHER:
                beside = _row_beside(rows, face)
                for i in range(first, end, AT_ONCE):
                    to_add = shifted(out, i), min(AT_ONCE, end - i), shifted(rows.c, i), shifted(beside, i)
                    _add_face(*to_add, cell_class, face, medium, interface)


@inlined
def _row_beside(rows, face):
    """A pointer to the cells beyond a face of those of a row."""
    beside = shifted(rows.c, np.int64(2 * face - 1))  # in x
    if face == Y_MIN:
        beside = rows.ym
    elif face == Y_MAX:
        beside = rows.yp
    elif face == Z_MIN:
        beside = rows.zm
    elif face == Z_MAX:
        beside = rows.zp
    return beside


@inlined
def _collect(heat, pitch, some, entries, cell_class, read, run, grid, medium, interface):
    """Put what the faces of short runs of one class bring, in some rows, into `heat`; AT_ONCE cells at most."""
    own, beyond, total = _cells_at_once(heat), _cells_at_once(heat), _cells_at_once(heat)
    (j, count), last = some, run.x1 - run.x0 - 1
    for k in range(AT_ONCE):
        store(total, k, medium.zero)
    for face in range(6):
        if np.int64(medium.links[cell_class * 6 + face]) >= OTHER:
            k = 0
            for number in range(j, j + count):
                rows = _rows(number, read, run, grid)
                beside = _row_beside(rows, face)
                for entry in range(*entries):
                    first, end = _run_within(entry, run, interface)
                    around = np.int64(0)  # around a period, cells at the ends of a row are runs by themselves
                    if grid.wrap_x and ((face == X_MIN and first == 0) or (face == X_MAX and first == last)):
                        around = last + 1 - 2 * np.int64(face) * (last + 1)
                    for i in range(first, end):
                        own[k], beyond[k] = rows.c[i], beside[i + around]
                        k += 1
            _add_face(total, k, own, beyond, cell_class, face, medium, interface)
    k = 0
    for number in range(j, j + count):
        for entry in range(*entries):
            first, end = _run_within(entry, run, interface)
            for i in range(first, end):
                heat[number * pitch + i] = total[k]
                k += 1


@intrinsic
def _cells_at_once(typing_context, like):
    """Room for AT_ONCE numbers on the stack, from a cache line on, of the kind that `like` points to."""

    def codegen(context, builder, signature, args):
        room = cgutils.alloca_once(builder, ir.ArrayType(args[0].type.pointee, AT_ONCE))
        room.align = CACHE_LINE
        return builder.bitcast(room, args[0].type)

    return like(like), codegen


@inlined
def _add_face(out, n, u, u1, cell_class, face, medium, interface):
    """Add to at most AT_ONCE cells of a class, at u, what a face brings from another material, at u1: the steps of
    `cell.build_series`, one by one. Cells of the last vector behind the n get any values."""
    at = (cell_class * 6 + face) * NUMBERS
    numbers = medium.numbers[at + 1], medium.numbers[at + 2], medium.numbers[at + 3]
    one, beyond = np.int64(medium.material[cell_class]), np.int64(medium.links[cell_class * 6 + face]) - OTHER
    constant = interface.constant_capacity[one] != 0 and interface.constant_capacity[beyond] != 0
    if constant and medium.conductivity_pieces == PIECES:
        own, other = _pieces_of(one, medium, interface), _pieces_of(beyond, medium, interface)
        _add_face_of_pieces(out, lines_of(out, n), u, u1, numbers, medium.half, *own, *other)
    else:
        _add_face_of_any(out, n, u, u1, numbers, one, beyond, medium, interface)


@inlined
def _pieces_of(material, medium, interface):
    """The pieces of the conductivity of a material, and whether it is a constant."""
    at = medium.conductivities_at + material * (PIECE_NUMBERS * PIECES)
    return shifted(medium.pieces, at), interface.straight[material]


@called
def _add_face_of_pieces(out, lines, u, u1, numbers, half, pieces, straight, pieces1, straight1):
    """`_add_face` where u are temperatures, in so many cache lines. pieces, straight: of the conductivity of the cells,
    and whether it is a constant; pieces1, straight1: of those beyond. Few arguments: rows are short."""
    widest_vectors()
    k, k1, midway, midway1 = _cells_at_once(out), _cells_at_once(out), _cells_at_once(out), _cells_at_once(out)
    _conductivities_of_pieces(k, u, lines, pieces, straight)
    _conductivities_of_pieces(k1, u1, lines, pieces1, straight1)
    find_midway(midway, midway1, u, u1, k, k1, numbers, half, lines)
    if straight == 0:
        look_up_vectors(k, midway, lines, pieces)
    if straight1 == 0:
        look_up_vectors(k1, midway1, lines, pieces1)
    add_exchange(out, u, u1, k, k1, numbers, lines)


@inlined
def _conductivities_of_pieces(out, T, lines, pieces, straight):
    if straight != 0:
        fill_lines(out, pieces[PIECES], lines)  # that of the first piece, on which all lies
    else:
        look_up_vectors(out, T, lines, pieces)


@called
def _add_face_of_any(out, n, u, u1, numbers, one, beyond, medium, interface):
    """`_add_face` of materials whose heat or conductivity is looked up in tables."""
    widest_vectors()
    T, T1, k, k1 = _cells_at_once(out), _cells_at_once(out), _cells_at_once(out), _cells_at_once(out)
    midway, midway1, lines = _cells_at_once(out), _cells_at_once(out), lines_of(out, n)
    _temperatures(T, u, n, one, medium, interface)
    _temperatures(T1, u1, n, beyond, medium, interface)
    _conductivities(k, T, n, one, medium, interface)
    _conductivities(k1, T1, n, beyond, medium, interface)
    find_midway(midway, midway1, T, T1, k, k1, numbers, medium.half, lines)
    if interface.straight[one] == 0:
        _conductivities(k, midway, n, one, medium, interface)
    if interface.straight[beyond] == 0:
        _conductivities(k1, midway1, n, beyond, medium, interface)
    add_exchange(out, T, T1, k, k1, numbers, lines)


@inlined
def _temperatures(out, u, n, material, medium, interface):
    if interface.constant_capacity[material] != 0:
        copy_lines(out, u, lines_of(out, n))
    else:
        count = medium.temperature_pieces
        at = medium.temperatures_at + material * (PIECE_NUMBERS * count)
        look_up(out, u, lines_of(out, n), shifted(medium.pieces, at), count)


@inlined
def _conductivities(out, T, n, material, medium, interface):
    count = medium.conductivity_pieces
    pieces = shifted(medium.pieces, medium.conductivities_at + material * (PIECE_NUMBERS * count))
    if interface.straight[material] != 0:
        fill_lines(out, pieces[count], lines_of(out, n))  # that of the first piece, on which all lies
    else:
        look_up(out, T, lines_of(out, n), pieces, count)
