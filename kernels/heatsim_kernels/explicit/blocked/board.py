"""The layout of the shared memory of a block of `temporal`, and the place of a lane in its tile."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from heatsim_kernels.device.cuda.api import SIMULATED
from heatsim_kernels.device.cuda.warp_rows import WARP
from heatsim_kernels.explicit.blocked import differences
from heatsim_kernels.explicit.blocked.cell_classes import MAX_CLASSES, class_slots_of, lane_bytes
from heatsim_kernels.explicit.blocked.plan import TemporalTile
from heatsim_kernels.explicit.blocked.potentials import PIECE
from heatsim_kernels.explicit.cuda_cell.cell_update import RATES
from heatsim_kernels.explicit.cuda_cell.configuration import StencilConfiguration

BARRIER_AT = 0  # where a barrier in halves lies
TURNS, TURNS_OF_STAGES = 8, 4  # turns whose cells beside the faces the board keeps; powers of two


class Lane(NamedTuple):
    """The place of a lane in its tile: at which ends of the grid its outer cells lie; bit r of `owned` is set where it
    owns row r. counted: bit i where it owns cell i and no lane before it does.

    ends, ring: where on the board its end rows go, and the first cells that it asks for. laid_out: its number among the
    lanes whose classes are laid out, in plane 0 (`cell_classes`). face_x, face_y: the numbers of the FACES that it may
    touch.
    """

    at_left: bool
    at_right: bool
    at_top: bool
    at_bottom: bool
    owned: int
    counted: int
    ends: int
    ring: int
    laid_out: int
    face_x: int
    face_y: int


class Board(NamedTuple):
    """The layout of shared memory, in elements. One after another:

        start       two buffers: for each level and each band its first and last row. Before them there is room for a
                    row above the first band, which may be read but means nothing; so does the row below the last. In
                    that room lies the barrier in halves, if there is one (`split_barrier`).
        numbers     boundary values of each level, of each class if there is room, and heating rates of the classes
        rates       exchange rates of the cell classes
        pieces      of Kirchhoff's potential, PIECE numbers each (`potentials`)
        ring        planes on their way from memory
        before      the same of the field before, where levels take stages
        class_ring  the same of the cell classes
        sides       the cells beside the faces in some turns, a ring (`boundary_trace`)
        corner      of the tile: x of its first cell, and from where to where it owns cells in x; then the same in y

    Sizes: level and buffer of the end rows; number_count, of a level's numbers; plane; lane and classes of the classes
    of a lane and of a plane; turn of the cells beside the faces in one of the `turns`: for each level the columns at
    both ends of x, then, from at_y on, for each level the rows at both ends of y.
    """

    start: int
    level: int
    buffer: int
    numbers: int
    number_count: int
    rates: int
    pieces: int
    ring: int
    plane: int
    before: int
    class_ring: int
    lane: int
    classes: int
    sides: int
    turns: int
    turn: int
    at_y: int
    corner: int
    size: int

    @classmethod
    def of(cls, tile: TemporalTile, configuration: StencilConfiguration | None = None) -> Board:
        """The board of a tile for a configuration; None: for a uniform material in float32."""
        configuration = configuration or StencilConfiguration("float32", True, "", False, False, False, (False,) * 3)
        level = 2 * tile.bands * tile.width
        buffer = tile.steps * level
        numbers = tile.width + 2 * buffer
        heat = MAX_CLASSES if configuration.class_dtype else 4  # 4, of which one is needed, keep what follows aligned
        count = differences.heat_at(configuration) + (heat if configuration.heat_table else 4)
        rates = numbers + tile.steps * count
        looked_up = not configuration.uniform or configuration.losses
        pieces = rates + (RATES * (MAX_CLASSES if configuration.class_dtype else 1) if looked_up else 0)
        ring = pieces + PIECE * configuration.pieces
        plane = tile.width * tile.height
        before = ring + tile.slots * plane
        class_ring = before + ((tile.slots + 1) * plane if configuration.stage else 0)
        lane = lane_bytes(tile) // (1 if SIMULATED else np.dtype(configuration.dtype).itemsize)
        classes = lane * WARP * tile.bands
        sides = class_ring + (class_slots_of(tile, configuration) * classes if configuration.classes_by_cell else 0)
        at_y, turn = 2 * tile.steps * tile.height, 2 * tile.steps * (tile.height + tile.width)
        turns = TURNS_OF_STAGES if configuration.stage else TURNS
        corner = sides + turns * turn
        sizes = ring, plane, before, class_ring, lane, classes, sides, turns, turn, at_y, corner, corner + 6
        return cls(tile.width, level, buffer, numbers, count, rates, pieces, *sizes)
