"""The static file `mesh.h5`: unequal cells and cylindrical coordinates as VTK cells, stored once a run.

An ImageData has equal cells; a RectilinearGrid (VTKHDF 2.7) is read from VTK 9.7 on only, an UnstructuredGrid that
changes in time from 9.3 on. `run.vtkhdf`, which is rewritten after each snapshot, refers to the points and cells kept
here, 1.6 bytes a cell on disk.

Cartesian cells are hexahedra:                 Cylindrical ones are quadrilaterals of the half plane x = r, z = z
                                               (y = 0), where the axis of symmetry is the line x = 0:
          7------6
         /|     /|     z                                  3---2    z
        4------5 |     | y                                |   |    |
        | 3----|-2     |/                                 0---1    +--r
        |/     |/      +--x
        0------1
"""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np

from heatsim.grid import Grid
from heatsim.store.hdf5 import CHUNK_BYTES, add_header, write_hdf5

MESH = ("Points", "Connectivity", "Offsets", "Types", "NumberOfPoints", "NumberOfCells", "NumberOfConnectivityIds")
_HEXAHEDRON, _QUAD = 12, 9  # as vtkCellType.h numbers them


def write_mesh(path: Path, grid: Grid) -> None:
    """Write points and cells as the VTKHDF type UnstructuredGrid has them, atomically. Raises OSError."""
    points, corners = (_half_plane if grid.coordinates == "cylindrical" else _bricks)(grid)
    cells, each = corners.shape
    arrays = {
        "Points": points,
        "Connectivity": corners.reshape(-1),
        "Offsets": np.arange(0, each * cells + 1, each),
        "Types": np.full(cells, _HEXAHEDRON if each == 8 else _QUAD, np.uint8),
        "NumberOfPoints": np.array([len(points)]),
        "NumberOfCells": np.array([cells]),
        "NumberOfConnectivityIds": np.array([corners.size]),
    }

    def build(file: h5py.File) -> None:
        add_header(file, "Cells")
        for name, values in arrays.items():
            rows = max(1, min(len(values), CHUNK_BYTES * len(values) // values.nbytes))
            chunks = (rows, *values.shape[1:])
            file.create_dataset(name, data=values, chunks=chunks, compression="gzip", compression_opts=1, shuffle=True)

    write_hdf5(path, build)


def _bricks(grid: Grid) -> tuple[np.ndarray, np.ndarray]:
    """Points (p, 3) and the corners (cells, 8) of all cells, x fastest."""
    z, y, x = np.meshgrid(*(grid.faces(axis) for axis in "zyx"), indexing="ij")
    row = grid.shape[2] + 1
    plane = row * (grid.shape[1] + 1)
    bottom = np.array([0, 1, row + 1, row])
    return _joined(x, y, z), _corners(z.shape, np.concatenate([bottom, bottom + plane]))


def _half_plane(grid: Grid) -> tuple[np.ndarray, np.ndarray]:
    """Points (p, 3) of the r-z half plane and the corners (cells, 4) of all cells, r fastest."""
    z, r = np.meshgrid(grid.faces("z"), grid.faces("x"), indexing="ij")
    row = grid.shape[2] + 1
    return _joined(r, np.zeros_like(r), z), _corners(z.shape, np.array([0, 1, row + 1, row]))


def _joined(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    return np.stack([x, y, z], axis=-1).reshape(-1, 3)


def _corners(points: tuple[int, ...], steps: np.ndarray) -> np.ndarray:
    """The corners of each cell, (cells, m): those at `steps` (m,) from its lowest, in a lattice of `points`."""
    lowest = np.arange(np.prod(points)).reshape(points)[tuple(slice(-1) for _ in points)]
    return np.asarray(lowest.reshape(-1, 1) + steps)
