"""CPU: the potentials of a row of cells, run by run of one material.

materials   a a a a a a a b b b b b a a a a a a a a
look-ups    [       ][       ]                          whole vectors, from the first cell of each run on:
                          [       ]                     what they write behind their run,
                                    [       ][       ]  the next run writes again
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from heatsim_kernels.device.cpu.compilation import called, inlined
from heatsim_kernels.device.cpu.pointers import copy_lines, lines_of, shifted, widest_vectors
from heatsim_kernels.explicit.cpu.rows import first_beyond, table_entry
from heatsim_kernels.explicit.enthalpy import cell
from heatsim_kernels.explicit.enthalpy.coefficients import NonlinearCoefficients
from heatsim_kernels.explicit.enthalpy.cpu.potential_rows import look_up_many, look_up_vectors
from heatsim_kernels.explicit.enthalpy.pieces import PIECE_NUMBERS, PIECES

functions = cell.build(inlined, called)
phi_of = functions.phi


class MaterialRuns(NamedTuple):
    """Run r of a row ends before cell ends[r] and is of materials[r]; the runs of a row, z ny + y, are those from
    starts[row] to starts[row + 1]. Where all cells are of one material, it is `single`, and the tables are None."""

    starts: np.ndarray | None
    ends: np.ndarray | None
    materials: np.ndarray | None
    single: int


def find_material_runs(coefficients: NonlinearCoefficients) -> MaterialRuns:
    """The runs of all rows."""
    ids, of_class = coefficients.class_ids, coefficients.material.astype(np.int32)
    single = int(of_class[ids.flat[0]])
    if np.all(of_class == single):
        return MaterialRuns(None, None, None, single)
    counts, ends, materials = [], [], []
    for plane in ids:
        found = of_class[plane]
        is_last = np.ones(found.shape, bool)
        is_last[:, :-1] = found[:, 1:] != found[:, :-1]
        counts.append(is_last.sum(axis=1))
        ends.append(np.nonzero(is_last)[1].astype(np.int32) + 1)
        materials.append(found[is_last])
    starts = np.append(0, np.cumsum(np.concatenate(counts))).astype(np.int64)
    return MaterialRuns(starts, np.concatenate(ends), np.concatenate(materials), single)


@inlined
def look_up_row(out, u, n, runs, row, x, medium):
    """Look up the potentials of n cells of a row. row, x: see `rows.advance_row`. `out` has room for one more vector
    behind the whole vectors of the row."""
    end, run = 0, first_beyond(runs.ends, runs.starts, row, x)
    while end < n:
        first, end = end, min(n, table_entry(runs.ends, run, x + n) - x)
        material = table_entry(runs.materials, run, runs.single)
        count, lines = medium.potential_pieces, lines_of(out, end - first)
        pieces = shifted(medium.pieces, material * (PIECE_NUMBERS * count))
        if pieces[1] == np.inf:  # phi = u
            copy_lines(shifted(out, first), shifted(u, first), lines)
        elif count == PIECES:
            look_up_vectors(shifted(out, first), shifted(u, first), lines, pieces)
        else:
            look_up_many(shifted(out, first), shifted(u, first), lines, pieces, count)
        run += 1


@called
def look_up(out, x, lines, pieces, count):
    """What a row of so many pieces gives at so many cache lines of x."""
    widest_vectors()
    if count == PIECES:
        look_up_vectors(out, x, lines, pieces)
    else:
        look_up_many(out, x, lines, pieces, count)
