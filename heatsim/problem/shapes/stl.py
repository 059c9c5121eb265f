"""Closed surfaces from a user's STL files, and which points lie inside.

trimesh (with rtree; both are an optional extra) merges the triangles' corners, checks that the surface is closed and
casts rays at it: one ray along z for each column of points, not one for each point. A point is inside where the ray has
met the surface an odd number of times before it (Haines, Point in polygon strategies, Graphics Gems IV, 1994).

A file may come from a stranger: size and form are checked before it is parsed, and nothing that it names is opened.
"""

from __future__ import annotations

import io
import logging
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from heatsim.errors import InputFileError

MAX_BYTES = 2**28  # five million triangles
_HEADER, _TRIANGLE = 84, 50  # bytes of a binary file: text and count; each triangle
_COLUMNS = 2**14  # rays at a time
_NUDGE = 1e-6  # of the size of the surface, by which a ray along an edge is moved


class StlSurface(NamedTuple):
    """A closed surface; lower and upper are the corners (x, y, z) of the box around it, m.

    mesh: its triangles, moved and scaled into the unit cube, since trimesh counts points closer than 1e-8 as one.
    """

    mesh: Any
    lower: np.ndarray
    upper: np.ndarray

    @property
    def volume(self) -> float:
        """The volume that the surface encloses, m3."""
        return abs(float(self.mesh.volume)) * float((self.upper - self.lower).max()) ** 3

    def points(self, count: int) -> tuple[np.ndarray, np.ndarray, float]:
        """Places (3, count) spread over the surface, m, the unit normals there, and the area of all of it, m2."""
        size, areas = float((self.upper - self.lower).max()), np.asarray(self.mesh.area_faces)
        ends = np.cumsum(areas)
        chosen = np.minimum(np.searchsorted(ends, (np.arange(count) + 0.5) / count * ends[-1]), len(areas) - 1)
        a, b = np.random.default_rng(0).random((2, count, 1))
        a, b = np.where(a + b > 1.0, 1.0 - a, a), np.where(a + b > 1.0, 1.0 - b, b)
        first, second, third = np.moveaxis(np.asarray(self.mesh.triangles)[chosen], 1, 0)
        places = self.lower[:, None] + size * (first + a * (second - first) + b * (third - first)).T
        return places, np.asarray(self.mesh.face_normals)[chosen].T, float(ends[-1]) * size**2

    def inside(self, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Which points of the lattice x (nx,), y (ny,), z (nz,), m, increasing, lie inside: (nz, ny, nx) bool."""
        size = (self.upper - self.lower).max()
        x, y, z = ((at - low) / size for at, low in zip((x, y, z), self.lower, strict=True))
        rows, columns = (each.reshape(-1) for each in np.meshgrid(y, x, indexing="ij"))
        inside = np.zeros((rows.size, z.size), bool)
        near = np.flatnonzero((columns >= 0) & (columns <= 1) & (rows >= 0) & (rows <= 1))
        for part in np.array_split(near, -(-near.size // _COLUMNS)) if near.size else ():
            inside[part] = self._columns_inside(columns[part], rows[part], z)
        return np.ascontiguousarray(inside.T).reshape(z.size, y.size, x.size)

    def normals(self, lower: np.ndarray, upper: np.ndarray, axis: int) -> np.ndarray:
        """Unit normals (3, n) of the triangles that the surface has between points lower and upper, (3, n), m, which
        differ along one axis alone, or the next ones on the line through both; 0 where it has none."""
        size = (self.upper - self.lower).max()
        low, high = ((points - self.lower[:, None]) / size for points in (lower, upper))
        across = [i for i in range(3) if i != axis]
        lines, line = np.unique(low[across], axis=1, return_inverse=True)
        starts, along = np.full((lines.shape[1], 3), -1.0), np.zeros((lines.shape[1], 3))
        starts[:, across], along[:, axis] = lines.T, 1.0
        places, rays, triangles = self.mesh.ray.intersects_location(starts, along, multiple_hits=True)
        normals = np.zeros(low.shape)
        if len(rays):
            far = 4.0 * np.arange(lines.shape[1])  # sets the lines apart: the surface lies in the unit cube
            hits, middle = far[rays] + places[:, axis], far[line.reshape(-1)] + 0.5 * (low[axis] + high[axis])
            order = np.argsort(hits)
            hits, triangles = hits[order], triangles[order]
            after = np.searchsorted(hits, middle).clip(1, len(hits) - 1)
            nearest = np.where(middle - hits[after - 1] < hits[after] - middle, after - 1, after)
            met = np.abs(hits[nearest] - middle) < 1.0
            normals[:, met] = self.mesh.face_normals[triangles[nearest[met]]].T
        return normals

    def _columns_inside(self, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """(n, nz): of the points at heights z above each of n places x, y, those inside."""
        crossed = self._crossings(x, y, z)
        odd = np.flatnonzero(crossed.sum(axis=1) % 2)
        if odd.size:  # the ray ran along an edge, and the hits on its two sides were not told apart
            crossed[odd] = self._crossings(x[odd] + _NUDGE, y[odd] + 0.7 * _NUDGE, z)
        return np.asarray(crossed[:, :-1].cumsum(axis=1) % 2 == 1)

    def _crossings(self, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """(n, nz + 1): how often the ray up at each x, y meets the surface below each height and above the last."""
        starts = np.column_stack([x, y, np.full(x.size, -1.0)])
        up = np.broadcast_to([0.0, 0.0, 1.0], starts.shape)
        places, rays, _ = self.mesh.ray.intersects_location(starts, up, multiple_hits=True)
        crossed = np.zeros((x.size, z.size + 1), np.int32)
        if len(rays):
            np.add.at(crossed, (rays, np.searchsorted(z, places[:, 2])), 1)
        return crossed


def read_surface(path: Path) -> StlSurface:
    """Read a binary or ASCII STL file; its coordinates are metres.

    Raises InputFileError when the file is missing, too large, damaged or no STL file, when its surface is not closed,
    and when the libraries are not installed.
    """
    if not path.is_file():
        raise InputFileError(path, "is not a file" if path.exists() else "no such file")
    if path.stat().st_size > MAX_BYTES:
        raise InputFileError(path, f"holds {path.stat().st_size} bytes, more than the {MAX_BYTES} expected at most")
    trimesh = _trimesh(path)
    try:
        data = path.read_bytes()
        if not _is_stl(data):
            raise InputFileError(path, "is not an STL file, or is cut short")
        soup = trimesh.load_mesh(io.BytesIO(data), file_type="stl", process=False)
        corners = np.asarray(soup.vertices, np.float64)[np.asarray(soup.faces)]
    except InputFileError:
        raise
    except Exception as error:  # the parser raises nearly every kind there is on damaged files
        raise InputFileError(path, f"cannot be read as STL: {error or type(error).__name__}") from None
    if not corners.size:
        raise InputFileError(path, "holds no triangles")
    if not np.isfinite(corners).all():
        raise InputFileError(path, "has corners that are not finite numbers")
    return _closed(trimesh, path, corners.reshape(-1, 3))


def _closed(trimesh: Any, path: Path, corners: np.ndarray) -> StlSurface:
    lower, upper = corners.min(axis=0), corners.max(axis=0)
    if not (upper > lower).all():
        raise InputFileError(path, "is flat: a surface that encloses a volume was expected")
    scaled = (corners - lower) / (upper - lower).max()
    mesh = trimesh.Trimesh(scaled, np.arange(len(scaled)).reshape(-1, 3), process=True)
    a, b, c = mesh.faces.T
    mesh.update_faces((a != b) & (b != c) & (c != a))  # slivers whose corners were merged
    if not len(mesh.faces):
        raise InputFileError(path, "is flat: a surface that encloses a volume was expected")
    if not mesh.is_watertight:
        _, shared = np.unique(mesh.edges_sorted, axis=0, return_counts=True)
        found = f"{int((shared != 2).sum())} of its {len(shared)} edges do not belong to two triangles"
        raise InputFileError(path, f"is not a closed surface: {found} (close its holes, as MeshLab does)")
    return StlSurface(mesh, lower, upper)


def _is_stl(data: bytes) -> bool:
    """Whether the length is that of a binary file of as many triangles as it says, or else the words are STL's."""
    triangles = int.from_bytes(data[_HEADER - 4 : _HEADER], "little")
    if len(data) >= _HEADER and len(data) == _HEADER + _TRIANGLE * triangles:
        return True
    text = data.strip().lower()
    return text.startswith(b"solid") and text.isascii() and text[text.rfind(b"\n") + 1 :].startswith(b"endsolid")


def _trimesh(path: Path) -> Any:
    try:
        import rtree  # noqa: F401 - without it trimesh fails when the first ray is cast
        import trimesh
    except ImportError:
        message = "STL files need two more packages"
        raise InputFileError(path, f'{message}: pip install "heatsim[stl]"') from None
    logging.getLogger("trimesh").addHandler(logging.NullHandler())  # else it prints what is reported as an error here
    return trimesh
