"""Boundary faces: the affine map `ghost = T + (a*T + b)` beyond each, at any time.

With k the conductivity of the cell beside the face, h its size normal to it (in cylindrical coordinates 2 r_face
|ln(r_face/r_centre)|) and T the rise over the reference, (a, b)
is (-2, 2 Tw) at a fixed temperature; (0, q h/k) at a heat flux q into the body; (-s, s Tinf) at convection, s = U h/k
with U = 1/(1/hc + h/(2k)) through the half cell; (0, 0) where insulated. Half a cell of its own conductivity lies
between the centre and the face, so a stencil that exchanges k/h with the ghost moves exactly the heat that the face
passes. A face may have patches, each with a map of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from heatsim.errors import ScenarioError
from heatsim.geometry.grid import AXES, Grid
from heatsim.geometry.point_values import (
    ABSOLUTE_ZERO,
    Key,
    Value,
    depends_on,
    evaluate,
    require_at_least,
    require_finite,
    separate_temperature,
)
from heatsim.physics.event_times import discontinuity_times
from heatsim.scenario import Scenario
from heatsim.scenario.boundary import FACES, Convection, Face, FaceName, Fixed, Flux, Insulated

# The two axes of the cells of a face, in the order of its array: rows, columns.
FACE_AXES = {"x": ("z", "y"), "y": ("z", "x"), "z": ("y", "x")}


class BoundaryFaces:
    """The six faces. Values come one a zone, or one a boundary cell if some face varies over its plane."""

    def __init__(
        self,
        scenario: Scenario,
        grid: Grid,
        zones: np.ndarray | None,
        conductivities: np.ndarray,
        reference: float,
    ) -> None:
        """`zones`: ids of the cells or None; `conductivities`: (3, n) of each zone along x, y, z, W/(m K)."""
        self._scenario, self._grid, self._reference = scenario, grid, reference
        faces = {name: face_condition(scenario, grid, name) for name in FACES}
        self.per_cell = any(
            face.patches or depends_on(value, _resolved(grid, name))
            for name, face in faces.items()
            for value in [0.0, *_values(face)]
        )
        self._resistances = [
            self._half_cell(name, zones, conductivities) for name in FACES
        ]  # h/k of the cells beside each face, m2 K/W, flat
        self.pieces = split_into_patches(scenario, faces, {name: self._centres(name) for name in FACES})
        self.starts = np.cumsum([0, *(each.size for each in self._resistances)])  # of the six faces among the values
        now = np.zeros(1)
        self._fixed = [None if _varies(pieces) else self._face_at(i, now) for i, pieces in enumerate(self.pieces)]

    @property
    def varies(self) -> bool:
        """Whether any face depends on time."""
        return any(values is None for values in self._fixed)

    @property
    def jumps(self) -> frozenset[float]:
        """Times at which a value of a face jumps, s."""
        values = [value for pieces in self.pieces for piece in pieces for value in _values(piece.face)]
        return discontinuity_times(values, self._scenario.time.end)

    def check(self, times: np.ndarray) -> None:
        """Look at the values at some times, one after the other; raises `ScenarioError` for what is not good then."""
        for time in times[:, None] if self.varies else ():
            self.at(time)

    @property
    def closed(self) -> tuple[bool, ...]:
        """For the six faces, whether no heat passes at any time."""
        return tuple(all(piece.face.kind in ("insulated", "periodic") for piece in pieces) for pieces in self.pieces)

    def at(self, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(k, m) values of a and b at each time; k = 1 if nothing depends on time."""
        rows = times if self.varies else times[:1]
        parts = [self._fixed[i] or self._face_at(i, rows) for i in range(len(FACES))]
        a, b = ([np.broadcast_to(part[j], (len(rows), part[j].shape[1])) for part in parts] for j in range(2))
        return np.concatenate(a, axis=1), np.concatenate(b, axis=1)

    def min_a(self) -> np.ndarray:
        """(m,) the least a that can occur: of a coefficient that depends on time the least conceivable, -2."""
        parts = []
        for i, pieces in enumerate(self.pieces):
            known = self._fixed[i] or self._face_at(i, np.zeros(1))
            least = known[0][0].copy()
            for piece in pieces:
                if isinstance(piece.face, Convection) and depends_on(piece.face.coefficient, "t"):
                    least[piece.cells] = -2.0
            parts.append(least)
        return np.concatenate(parts)

    def fixes_temperature(self) -> bool:
        """Whether any part of a face ties its body to a temperature, at t = 0."""
        tied = []
        for i, pieces in enumerate(self.pieces):
            for piece in pieces:
                strength = getattr(piece.face, "coefficient", getattr(piece.face, "emissivity", 0.0))
                values = self._on_piece(i, piece, separate_temperature(strength)[0], np.zeros(1))
                tied.append(isinstance(piece.face, Fixed) or bool((values > 0).any()))
        return any(tied)

    def temperatures(self, times: np.ndarray | None = None) -> list[float]:
        """Least and greatest temperature of each part of a face that has one, at t = 0 or at `times`."""
        times = np.zeros(1) if times is None else times
        found = []
        for i, pieces in enumerate(self.pieces):
            for piece in pieces:
                face = piece.face
                value = face.temperature if isinstance(face, Fixed) else getattr(face, "ambient", None)
                if value is not None:
                    values = self._on_piece(i, piece, value, times if depends_on(value, "t") else times[:1])
                    found += [float(values.min()), float(values.max())]
        return found

    def flux_range(self, times: np.ndarray) -> tuple[float, float]:
        """The least and the greatest given heat flux into the body at some times, or 0, W/m2."""
        found = [0.0]
        for i, pieces in enumerate(self.pieces):
            for piece in pieces:
                if isinstance(piece.face, Flux):
                    values = self.checked(i, piece, "flux", piece.face.flux, times)
                    found += [float(values.min()), float(values.max())]
        return min(found), max(found)

    def checked(self, i: int, piece: FacePatch, name: str, value: Value, times: np.ndarray) -> np.ndarray:
        """Values called `name` at the cells of a piece of face i (or once a zone), (k, cells or zones) at k times.

        Raises `ScenarioError` for what is not finite or below absolute zero.
        """
        values, key = self._on_piece(i, piece, value, times), (*piece.key, name)
        require_finite(self._scenario, key, values, describe_times(times))
        if name in ("temperature", "ambient"):
            unit = self._scenario.temperature_unit
            what = f"{unit} (absolute zero)"
            require_at_least(self._scenario, key, values, ABSOLUTE_ZERO[unit], what, describe_times(times))
        return values

    def _half_cell(self, name: FaceName, zones: np.ndarray | None, conductivities: np.ndarray) -> np.ndarray:
        axis = AXES.index(name[0])
        spacing, of_zone = self._size_beside(name), conductivities[axis]
        if not self.per_cell:
            return np.asarray(spacing / of_zone)
        rows, columns = (self._grid.shape[2 - AXES.index(other)] for other in FACE_AXES[name[0]])
        if zones is None:
            return np.full(rows * columns, spacing / of_zone[0])
        beside = zones.take(0 if name.endswith("min") else -1, axis=2 - axis)
        return np.asarray(spacing / of_zone[beside.reshape(-1)])

    def _size_beside(self, name: FaceName) -> float:
        """Twice the half length of the cells beside a face, times the area of the face over the measures of the axes
        along it; 0 for a face that is none, r = 0."""
        axis, upper = name[0], name.endswith("max")
        half = float(self._grid.halves(axis)[upper][-1 if upper else 0])
        radial = self._grid.coordinates == "cylindrical" and axis == "x"
        place = self._grid.span(axis)[upper]
        return 2.0 * half * (place if radial else 1.0) if np.isfinite(half) else 0.0

    def _face_at(self, i: int, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values of a and b on face i, (k, cells or zones) at k times."""
        a, b = np.zeros((2, len(times), self._resistances[i].size))
        for piece in self.pieces[i]:
            a[:, piece.cells], b[:, piece.cells] = self._piece_at(i, piece, times)
        return a, b

    def _piece_at(self, i: int, piece: FacePatch, times: np.ndarray) -> tuple[np.ndarray | float, np.ndarray | float]:
        """Values of a and b on a piece of face i, (k, cells or zones) at k times."""
        face, resistance = piece.face, self._resistances[i][piece.cells]
        if isinstance(face, Fixed):
            wall = self.checked(i, piece, "temperature", face.temperature, times) - self._reference
            return -2.0, 2.0 * wall
        if isinstance(face, Flux):
            return 0.0, self.checked(i, piece, "flux", face.flux, times) * resistance
        if isinstance(face, Convection) and not depends_on(face.coefficient, "T"):
            coefficient = self.checked(i, piece, "coefficient", face.coefficient, times)
            key = (*piece.key, "coefficient")
            require_at_least(self._scenario, key, coefficient, 0.0, "W/(m2 K)", describe_times(times))
            ambient = self.checked(i, piece, "ambient", face.ambient, times) - self._reference
            # U h/k with U = 1/(1/hc + h/(2k)), written so that hc = 0 needs no division by zero
            share = coefficient * resistance / (1.0 + 0.5 * coefficient * resistance)
            return -share, share * ambient
        return 0.0, 0.0

    def _on_piece(self, i: int, piece: FacePatch, value: Value, times: np.ndarray) -> np.ndarray:
        """A value at the cells of a piece of face i (or once a zone), (k, cells or zones) at k times."""
        shape = (len(times), self._resistances[i][piece.cells].size)
        return evaluate(value, shape, **piece.points, t=times[:, None])

    def _centres(self, name: FaceName) -> dict[str, np.ndarray | float]:
        """Coordinates of the cells of a face, flat, or of its middle where values come once a zone."""
        normal, upper = name[0], name.endswith("max")
        place = self._grid.span(normal)[upper]
        if not self.per_cell:
            middle: dict[str, np.ndarray | float] = {axis: float(np.mean(self._grid.span(axis))) for axis in AXES}
            return middle | {normal: place}
        rows, columns = FACE_AXES[normal]
        grid_rows, grid_columns = np.meshgrid(self._grid.centres(rows), self._grid.centres(columns), indexing="ij")
        return {rows: grid_rows.reshape(-1), columns: grid_columns.reshape(-1), normal: place}


def periodic_axes(scenario: Scenario, grid: Grid) -> tuple[bool, bool, bool]:
    """For axes x, y, z, whether the index wraps."""
    x, y, z = (face_condition(scenario, grid, name).kind == "periodic" for name in FACES[::2])
    return x, y, z


def face_condition(scenario: Scenario, grid: Grid, name: FaceName) -> Face:
    """What holds on a face; a period of a single cell is no exchange at all, hence insulated. So are faces that are
    none: in cylindrical coordinates those along phi, and r = 0."""
    face = scenario.boundary.face(name)
    single = grid.shape[2 - AXES.index(name[0])] == 1
    around = grid.coordinates == "cylindrical" and (name[0] == "y" or (name == "x_min" and grid.span("x")[0] == 0.0))
    return Insulated() if around or (face.kind == "periodic" and single) else face


def _resolved(grid: Grid, name: FaceName) -> str:
    """The axes along which a face has more than one cell."""
    return "".join(axis for axis in FACE_AXES[name[0]] if grid.shape[2 - AXES.index(axis)] > 1)


def _values(face: Face) -> list[Value]:
    names = ("temperature", "flux", "coefficient", "ambient", "emissivity")
    return [value for name in names if (value := getattr(face, name, None)) is not None]


def _varies(pieces: list[FacePatch]) -> bool:
    return any(depends_on(value, "t") for piece in pieces for value in _values(piece.face))


def describe_times(times: np.ndarray) -> str:
    """In words, when values were looked at that are not good."""
    return f"at t = {times[0]:g} s" if len(times) == 1 else f"between t = {times[0]:g} and {times[-1]:g} s"


# Faces cut into pieces: a patch is the part of a face with a condition of its own.
#
# +-----------+      patches = [ { where = "y < 0.02", ... }, { where = "z < 0.01", ... } ]
# |  0  |     |      A cell of the face belongs to the last patch whose `where` is true at the centre of its outer
# |  0  | -1  |      face, or to the face itself, here -1.
# |-----+-----|
# |  1     1  |
# +-----------+


Points = Mapping[str, np.ndarray | float]


@dataclass(frozen=True)
class FacePatch:
    """A part of a face under one condition. key: where the condition stands in the scenario; cells: which values of the
    face are its own; points: x, y, z of the centres of these cells' outer faces, m."""

    face: Face
    key: Key
    cells: np.ndarray | slice
    points: Points


def split_into_patches(
    scenario: Scenario, faces: Mapping[FaceName, Face], points: Mapping[FaceName, Points]
) -> list[list[FacePatch]]:
    """The pieces of each of the six FACES; `points` are those of whole faces, flat.

    Raises `ScenarioError` for a patch that covers no cell of any face it is meant for, or whose condition is undefined.
    """
    covered: dict[Key, bool] = {}
    pieces = [_pieces(scenario, _key(scenario, name), faces[name], points[name], covered) for name in FACES]
    for key, found in covered.items():
        if not found:
            flaw = scenario.issue_at((*key, "where"), "covers no cell of the face", "it is judged at cell centres")
            raise ScenarioError([flaw])
    return pieces


def _key(scenario: Scenario, name: FaceName) -> Key:
    return ("boundary", name if getattr(scenario.boundary, name) is not None else "default")


def _pieces(scenario: Scenario, key: Key, face: Face, points: Points, covered: dict[Key, bool]) -> list[FacePatch]:
    if not face.patches:
        return [FacePatch(face, key, slice(None), points)]
    owner = np.full(next(value.size for value in points.values() if isinstance(value, np.ndarray)), -1)
    for i, patch in enumerate(face.patches):
        assert patch.where is not None
        here: Key = (*key, "patches", i)
        truth = np.broadcast_to(patch.where(**points), owner.shape)
        require_finite(scenario, (*here, "where"), truth, "on the face")
        owner[truth != 0] = i
        covered[here] = covered.get(here, False) or bool(truth.any())
    parts: list[tuple[int, Face, Key]] = [(-1, face, key)]
    parts += [(i, patch, (*key, "patches", i)) for i, patch in enumerate(face.patches)]
    return [
        _piece(part, where, cells, points) for i, part, where in parts if (cells := np.flatnonzero(owner == i)).size
    ]


def _piece(face: Face, key: Key, cells: np.ndarray, points: Points) -> FacePatch:
    own = {axis: value[cells] if isinstance(value, np.ndarray) else value for axis, value in points.items()}
    return FacePatch(face, key, cells, own)
