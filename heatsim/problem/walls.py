"""Boundary faces: the affine map `ghost = T + (a*T + b)` beyond each, at any time.

With k the conductivity of the cell beside the face, h its size normal to it (in cylindrical coordinates 2 r_face
|ln(r_face/r_centre)|) and T the rise over the reference, (a, b)
is (-2, 2 Tw) at a fixed temperature; (0, q h/k) at a heat flux q into the body; (-s, s Tinf) at convection, s = U h/k
with U = 1/(1/hc + h/(2k)) through the half cell; (0, 0) where insulated. Half a cell of its own conductivity lies
between the centre and the face, so a stencil that exchanges k/h with the ghost moves exactly the heat that the face
passes.
"""

from __future__ import annotations

import numpy as np

from heatsim.grid import AXES, Grid
from heatsim.problem.values import ABSOLUTE_ZERO, Key, Value, depends_on, evaluate, require_at_least, require_finite
from heatsim.scenario import Scenario
from heatsim.scenario.boundary import FACES, Convection, Face, FaceName, Fixed, Flux, Insulated

# The two axes of the cells of a face, in the order of its array: rows, columns.
_PLANE = {"x": ("z", "y"), "y": ("z", "x"), "z": ("y", "x")}


class Walls:
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
        self.per_cell = any(
            depends_on(value, _resolved(grid, name))
            for name in FACES
            for value in _values(face_of(scenario, grid, name))
        )
        self._resistances = [
            self._half_cell(name, zones, conductivities) for name in FACES
        ]  # h/k of the cells beside each face, m2 K/W, flat
        self._points = [self._centres(name) for name in FACES]
        now = np.zeros(1)
        self._fixed = [None if self._varies(name) else self._face_at(i, now) for i, name in enumerate(FACES)]

    @property
    def varies(self) -> bool:
        """Whether any face depends on time."""
        return any(values is None for values in self._fixed)

    @property
    def closed(self) -> tuple[bool, ...]:
        """For the six faces, whether no heat passes at any time."""
        kinds = [face_of(self._scenario, self._grid, name).kind for name in FACES]
        return tuple(kind in ("insulated", "periodic") for kind in kinds)

    def at(self, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(k, m) values of a and b at each time; k = 1 if nothing depends on time."""
        rows = times if self.varies else times[:1]
        parts = [self._fixed[i] or self._face_at(i, rows) for i in range(len(FACES))]
        a, b = ([np.broadcast_to(part[j], (len(rows), part[j].shape[1])) for part in parts] for j in range(2))
        return np.concatenate(a, axis=1), np.concatenate(b, axis=1)

    def least_a(self) -> np.ndarray:
        """(m,) the least a that can occur: of a coefficient that depends on time the least conceivable, -2."""
        parts = []
        for i, (name, resistance) in enumerate(zip(FACES, self._resistances, strict=True)):
            face = face_of(self._scenario, self._grid, name)
            unknown = isinstance(face, Convection) and depends_on(face.coefficient, "t")
            known = self._fixed[i] or self._face_at(i, np.zeros(1))
            parts.append(np.full(resistance.size, -2.0) if unknown else known[0][0])
        return np.concatenate(parts)

    def temperatures(self) -> list[float]:
        """Least and greatest temperature of each face that has one, at t = 0, over the reference."""
        found = []
        for i, name in enumerate(FACES):
            face = face_of(self._scenario, self._grid, name)
            value = face.temperature if isinstance(face, Fixed) else getattr(face, "ambient", None)
            if value is not None:
                values = self._on_face(i, value, np.zeros(1))
                found += [float(values.min()), float(values.max())]
        return found

    def _varies(self, name: FaceName) -> bool:
        return any(depends_on(value, "t") for value in _values(face_of(self._scenario, self._grid, name)))

    def _half_cell(self, name: FaceName, zones: np.ndarray | None, conductivities: np.ndarray) -> np.ndarray:
        axis = AXES.index(name[0])
        spacing, of_zone = self._size_beside(name), conductivities[axis]
        if not self.per_cell:
            return np.asarray(spacing / of_zone)
        rows, columns = (self._grid.shape[2 - AXES.index(other)] for other in _PLANE[name[0]])
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
        face: Face = face_of(self._scenario, self._grid, FACES[i])
        resistance = self._resistances[i]
        zero = np.zeros((len(times), resistance.size))
        if isinstance(face, Fixed):
            wall = self._checked(i, "temperature", face.temperature, times) - self._reference
            return zero - 2.0, 2.0 * wall
        if isinstance(face, Flux):
            return zero, self._checked(i, "flux", face.flux, times) * resistance
        if isinstance(face, Convection):
            coefficient = self._checked(i, "coefficient", face.coefficient, times)
            require_at_least(self._scenario, self._key(i, "coefficient"), coefficient, 0.0, "W/(m2 K)", _at(times))
            ambient = self._checked(i, "ambient", face.ambient, times) - self._reference
            # U h/k with U = 1/(1/hc + h/(2k)), written so that hc = 0 needs no division by zero
            share = coefficient * resistance / (1.0 + 0.5 * coefficient * resistance)
            return -share, share * ambient
        return zero, zero

    def _checked(self, i: int, name: str, value: Value, times: np.ndarray) -> np.ndarray:
        values = self._on_face(i, value, times)
        require_finite(self._scenario, self._key(i, name), values, _at(times))
        if name in ("temperature", "ambient"):
            unit = self._scenario.temperature_unit
            what = f"{unit} (absolute zero)"
            require_at_least(self._scenario, self._key(i, name), values, ABSOLUTE_ZERO[unit], what, _at(times))
        return values

    def _key(self, i: int, name: str) -> Key:
        named = getattr(self._scenario.boundary, FACES[i]) is not None
        return ("boundary", FACES[i] if named else "default", name)

    def _on_face(self, i: int, value: Value, times: np.ndarray) -> np.ndarray:
        """A value at the cells of face i (or once a zone), (k, cells or zones) at k times."""
        shape = (len(times), self._resistances[i].size)
        return evaluate(value, shape, **self._points[i], t=times[:, None])

    def _centres(self, name: FaceName) -> dict[str, np.ndarray | float]:
        """Coordinates of the cells of a face, flat, or of its middle where values come once a zone."""
        normal, upper = name[0], name.endswith("max")
        place = self._grid.span(normal)[upper]
        if not self.per_cell:
            middle: dict[str, np.ndarray | float] = {axis: float(np.mean(self._grid.span(axis))) for axis in AXES}
            return middle | {normal: place}
        rows, columns = _PLANE[normal]
        grid_rows, grid_columns = np.meshgrid(self._grid.centres(rows), self._grid.centres(columns), indexing="ij")
        return {rows: grid_rows.reshape(-1), columns: grid_columns.reshape(-1), normal: place}


def periodic_axes(scenario: Scenario, grid: Grid) -> tuple[bool, bool, bool]:
    """For axes x, y, z, whether the index wraps."""
    x, y, z = (face_of(scenario, grid, name).kind == "periodic" for name in FACES[::2])
    return x, y, z


def face_of(scenario: Scenario, grid: Grid, name: FaceName) -> Face:
    """What holds on a face; a period of a single cell is no exchange at all, hence insulated. So are faces that are
    none: in cylindrical coordinates those along phi, and r = 0."""
    face = scenario.boundary.face(name)
    single = grid.shape[2 - AXES.index(name[0])] == 1
    around = grid.coordinates == "cylindrical" and (name[0] == "y" or (name == "x_min" and grid.span("x")[0] == 0.0))
    return Insulated() if around or (face.kind == "periodic" and single) else face


def _resolved(grid: Grid, name: FaceName) -> str:
    """The axes along which a face has more than one cell."""
    return "".join(axis for axis in _PLANE[name[0]] if grid.shape[2 - AXES.index(axis)] > 1)


def _values(face: Face) -> list[Value]:
    names = ("temperature", "flux", "coefficient", "ambient")
    return [value for name in names if (value := getattr(face, name, None)) is not None]


def _at(times: np.ndarray) -> str:
    return f"at t = {times[0]:g} s" if len(times) == 1 else f"between t = {times[0]:g} and {times[-1]:g} s"
