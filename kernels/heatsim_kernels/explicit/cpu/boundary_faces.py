"""CPU: ghost values beyond the boundary faces, the heat that enters through these, and that of losses."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from heatsim_kernels.device.cpu.compilation import called, inlined, inlined_sum
from heatsim_kernels.device.cpu.pointers import load, load_written, shifted, store
from heatsim_kernels.explicit import physics
from heatsim_kernels.explicit.cpu.class_runs import MIXED
from heatsim_kernels.explicit.cpu.row_vectors import SUM_LANES, sum_of_vectors
from heatsim_kernels.explicit.cpu.rows import class_of, first_beyond, odd_cells, run_at, table_entry

# Numbers of NumPy, since Numba would compile a function anew for each Python literal that is passed to it.
X_MIN, X_MAX, Y_MIN, Y_MAX, Z_MIN, Z_MAX = (np.int64(face) for face in range(6))

FLOWS = 7  # sums of heat of a plane: of the six FACES, then of the losses

ghost = inlined(physics.ghost)


class CpuBoundaryFaces(NamedTuple):
    """Boundary faces of the box. Arrays, or pointers in compiled code.

    a, b: values, (rows, size), of which the last row serves all later steps. per_cell: whether there is a value a cell,
    or one a cell class. offsets: where each of the six FACES starts among the values of a step. closed: for each,
    whether no heat passes. weights: heat moved by a kelvin in a step, J, (6, class_count) flat.
    """

    a: np.ndarray
    b: np.ndarray
    rows: int
    size: int
    per_cell: bool
    offsets: np.ndarray
    closed: np.ndarray
    weights: np.ndarray
    class_count: int


class RowLedger(NamedTuple):
    """Where the heat is entered that comes into a row in a step: a pointer to its FLOWS sums, the share of it to enter,
    and the cells of the row to count, first <= i < end, which may be none."""

    flows: int
    share: float
    first: int
    end: int


class BoundaryRow(NamedTuple):
    """A run of cells beside one face in one step: pointers to their values a and b (or those of the cell classes), to
    the weights of the classes and to the sum of heat; the share of it to enter, and the cells to count."""

    a: int
    b: int
    per_cell: bool
    weights: int
    heat: int
    share: float
    first: int
    end: int


@inlined
def face_at(boundary, face, step, position, ledger):
    """The cells beside a face from the `position`-th on, in one step of a batch."""
    own = position if boundary.per_cell else 0
    start = min(step, boundary.rows - 1) * boundary.size + boundary.offsets[face] + own
    return BoundaryRow(
        shifted(boundary.a, start),
        shifted(boundary.b, start),
        boundary.per_cell,
        shifted(boundary.weights, face * boundary.class_count),
        shifted(ledger.flows, face),
        ledger.share,
        ledger.first,
        ledger.end if boundary.closed[face] == 0 else ledger.first,
    )


@called
def ghost_row(out, n, row, classes, exchange, first_cell, face):
    """Put the n ghost values beyond a row of cells into `out`, and enter their heat. first_cell: see `enter_losses`."""
    number, x = first_cell
    heat, counted, end, run = 0.0, face.first < face.end, 0, first_beyond(exchange.ends, exchange.starts, number, x)
    while end < n:
        first, (end, cell_class), run = end, run_at(exchange, run, n, x), run + 1
        if face.per_cell:
            for i in range(first, end):
                store(out, i, ghost(load(row, i), load(face.a, i), load(face.b, i)))
        elif cell_class != MIXED:
            a, b = load(face.a, cell_class), load(face.b, cell_class)
            for i in range(first, end):
                store(out, i, ghost(load(row, i), a, b))
        else:
            for i in range(first, end):
                entry = class_of(classes, i)
                store(out, i, ghost(load(row, i), load(face.a, entry), load(face.b, entry)))
        if counted:
            within = max(first, face.first), min(end, face.end)
            if cell_class != MIXED:
                heat += load(face.weights, cell_class) * _rise_of_run(out, *within, row)
            else:
                heat += _heat_of_run(out, *within, row, classes, face.weights)
    heat += _odd_ghosts(out, n, row, classes, exchange, first_cell, face)
    if counted:
        face.heat[0] += face.share * heat
    return out


@inlined
def _odd_ghosts(out, n, row, classes, exchange, first_cell, face):
    """Put in the ghosts beyond cells of a row that are not of the class of their run; what more heat they bring."""
    (number, x), more = first_cell, 0.0
    run = first_beyond(exchange.ends, exchange.starts, number, x)
    for each in range(*odd_cells(exchange, number, x)):
        i = table_entry(exchange.odd, each, 0) - x
        if i >= n:
            break
        while table_entry(exchange.ends, run, 0) - x <= i:
            run += 1
        cell, cell_class, counted = load(row, i), class_of(classes, i), face.first <= i < face.end
        if counted:
            more -= load(face.weights, table_entry(exchange.run_classes, run, 0)) * (
                np.float64(load_written(out, i)) - np.float64(cell)
            )
        if not face.per_cell:
            store(out, i, ghost(cell, load(face.a, cell_class), load(face.b, cell_class)))
        if counted:
            more += load(face.weights, cell_class) * (np.float64(load_written(out, i)) - np.float64(cell))
    return more


@inlined
def ghost_cell(row, i, of_all, classes, face):
    """The ghost value beyond cell i of a row, where a face in x has one cell. of_all: the class of all cells of the
    row, which spares looking at those of the cells, or MIXED."""
    cell_class, cell = class_of(classes, i) if of_all == MIXED else of_all, load(row, i)
    entry = 0 if face.per_cell else cell_class
    beyond = ghost(cell, load(face.a, entry), load(face.b, entry))
    if face.first <= i < face.end:
        face.heat[0] += face.share * load(face.weights, cell_class) * (np.float64(beyond) - np.float64(cell))
    return beyond


@inlined_sum
def _rise_of_run(ghosts, first, end, row):
    """The sum of the differences between some ghosts and their cells."""
    rise = 0.0
    for i in range(first, end):
        rise += np.float64(load_written(ghosts, i)) - np.float64(load(row, i))
    return rise


@inlined_sum
def _heat_of_run(ghosts, first, end, row, classes, weights):
    """Heat that enters some cells of a row through their boundary faces in a step, J."""
    heat = 0.0
    for i in range(first, end):
        rise = np.float64(load_written(ghosts, i)) - np.float64(load(row, i))
        heat += load(weights, class_of(classes, i)) * rise
    return heat


# --- losses


@inlined
def enter_losses(row, n, cell_class, classes, exchange, weights, first_cell, ledger):
    """Enter what the n cells of a row lose in a step. cell_class: that of all of them, or MIXED; weights: (classes,)
    J/K, or None where no losses are entered; first_cell: the number of the row and the column from which it is
    given."""
    if weights is not None:
        number, x = first_cell
        if cell_class != MIXED and ledger.first == 0 and ledger.end == n:
            weight = ledger.share * load(weights, cell_class)
            if weight != 0.0:
                ledger.flows[FLOWS - 1] -= weight * _sum_of_row(row, 0, n)
        elif ledger.first < ledger.end:
            lost = _losses_of_runs(row, classes, exchange, weights, number, x, ledger)
            lost += _losses_of_odd_cells(row, classes, exchange, weights, number, x, ledger)
            ledger.flows[FLOWS - 1] -= ledger.share * lost


@called
def _losses_of_runs(row, classes, exchange, weights, number, x, ledger):
    """What the cells of a row would lose if those of each run were of its class, J: summed, and multiplied once."""
    lost, first, end = 0.0, ledger.first, ledger.end
    run = first_beyond(exchange.ends, exchange.starts, number, x + first)
    while first < end:
        (run_end, cell_class), run = run_at(exchange, run, end, x), run + 1
        if cell_class == MIXED:
            for i in range(first, run_end):
                lost += load(weights, class_of(classes, i)) * np.float64(load(row, i))
        elif load(weights, cell_class) != 0.0:
            lost += load(weights, cell_class) * _sum_of_row(row, first, run_end)
        first = run_end
    return lost


@called
def _losses_of_odd_cells(row, classes, exchange, weights, number, x, ledger):
    """What odd cells lose more than those of the runs that they lie in, J."""
    more = 0.0
    run = first_beyond(exchange.ends, exchange.starts, number, x + ledger.first)
    for each in range(*odd_cells(exchange, number, x + ledger.first)):
        i = table_entry(exchange.odd, each, 0) - x
        if i >= ledger.end:
            break
        while table_entry(exchange.ends, run, 0) - x <= i:
            run += 1
        of_run = load(weights, table_entry(exchange.run_classes, run, 0))
        more += (load(weights, class_of(classes, i)) - of_run) * np.float64(load(row, i))
    return more


@inlined
def _sum_of_row(row, first, end):
    """The sum of some cells of a row, float64; of whole vectors in the precision of the field."""
    vectors = (end - first) // SUM_LANES
    total = np.float64(sum_of_vectors(shifted(row, first), vectors))
    for i in range(first + vectors * SUM_LANES, end):
        total += np.float64(load(row, i))
    return total
