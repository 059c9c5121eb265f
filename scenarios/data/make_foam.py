"""Write foam.npy: the labels of an open-cell foam, 0 = pore, 1 = strut. Run it again: the same bits.

    python scenarios/data/make_foam.py

Pores grow around random points until they meet. As in a real foam of bubbles, a cell of the grid belongs to a
strut where it is about as far from three pore centres, that is along the edges of their Voronoi polyhedra. The
block is periodic in all three directions. Distances are whole numbers and their square roots, and the random
bits are PCG64's own, so that no library version or machine changes the result.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

CELLS = 48  # along each axis
PORES = 40
APART = 11  # least distance of two pore centres, in cells
STRUT = 2.4  # most difference between the distances to the nearest and the third pore centre, in cells
SEED = 2


def pore_centres() -> np.ndarray:
    """Return the first random points that keep their distance from each other, (PORES, 3) int64."""
    candidates = (np.random.PCG64(SEED).random_raw(60_000) % CELLS).astype(np.int64).reshape(-1, 3)
    centres = candidates[:1]
    for point in candidates[1:]:
        if np.min(squared_lengths(centres - point)) >= APART**2:
            centres = np.vstack([centres, point])
        if len(centres) == PORES:
            return centres
    raise RuntimeError(f"only {len(centres)} of {PORES} pores find room")


def squared_lengths(offsets: np.ndarray) -> np.ndarray:
    """Return the squared lengths of whole-numbered vectors (..., 3) in the periodic block."""
    wrapped = np.minimum(offsets % CELLS, -offsets % CELLS)
    return np.sum(wrapped**2, axis=-1)


def foam() -> np.ndarray:
    """Return the labels (CELLS, CELLS, CELLS) uint8, indexed [z, y, x]."""
    places = np.moveaxis(np.indices((CELLS,) * 3), 0, -1)
    squares = np.stack([squared_lengths(places - centre) for centre in pore_centres()])
    nearest = np.sqrt(np.partition(squares, 2, axis=0)[:3])
    return (nearest[2] - nearest[0] < STRUT).astype(np.uint8)


if __name__ == "__main__":
    np.save(Path(__file__).parent / "foam.npy", foam())
