"""The six faces of the box: the values of their boundary conditions at the cells beside them, at any time.

Linear problems have an affine map `ghost = T + (a T + b)` beyond each face, with T the offset from the reference. Half
a cell, of its own conductivity k, lies between a centre and the face; so a stencil that exchanges k/h with the ghost
moves exactly the heat that the face passes. Here h is the size of the cell normal to the face, in cylindrical
coordinates 2 r_face |ln(r_face/r_centre)|. Nonlinear problems have the terms of a surface balance instead.

Both follow from the kind of the condition (`heatsim.scenario.faces`); the loops over faces, patches, cells and times
are here. Expressions in space are means over the outer face of each cell (`face_means`).

    +-----------+      patches = [ { where = "y < 0.02", ... }, { where = "z < 0.01", ... } ]
    |  0  |     |      A face may be divided into patches with conditions of their own. A cell belongs to the last patch
    |  0  | -1  |      whose `where` is true at the centre of its outer face, or to the face itself, here -1.
    |-----+-----|
    |  1     1  |
    +-----------+
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from heatsim_kernels.explicit.enthalpy.coefficients import FIXED
from heatsim_kernels.explicit.enthalpy.surface_balance import SURFACE_TERMS

from heatsim.base.grid import AXES, FACE_AXES, CellGrid
from heatsim.errors import ScenarioError
from heatsim.problem.shapes.point_values import (
    describe_times,
    evaluate,
    require_at_least,
    require_at_most,
    require_finite,
)
from heatsim.problem.terms.event_times import discontinuity_times
from heatsim.problem.terms.face_means import FaceMeans
from heatsim.scenario import Expression, Scenario
from heatsim.scenario.boundary import FACES, Face, FaceName
from heatsim.scenario.faces.insulated import Insulated
from heatsim.scenario.language.expressions.expression import Value, depends_on, separate_temperature
from heatsim.scenario.language.toml.positions import Key
from heatsim.scenario.language.value_types import TEMPERATURE

Points = Mapping[str, np.ndarray | float]

MOST_AHEAD = 2**14  # values of the faces, up to which those of many steps are found at once


@dataclass(frozen=True)
class FacePatch:
    """The part of face number `face` that is under one condition; the whole face where it has no patches.

    key: where the condition stands in the scenario; cells: which values of the face are its own; points: x, y, z of the
    centres of these cells' outer faces, m.
    """

    face: int
    condition: Face
    key: Key
    cells: np.ndarray | slice
    points: Points


class BoundaryFaces:
    """The conditions of the six faces. Values come one a zone; one a boundary cell, if a face varies over its plane."""

    def __init__(
        self,
        scenario: Scenario,
        grid: CellGrid,
        zones: np.ndarray | None,
        conductivities: np.ndarray,
        reference: float,
        by_cell: bool = False,
    ) -> None:
        """`zones`: ids of the cells or None; `conductivities`: (3, n) of each zone along x, y, z, W/(m K); `by_cell`:
        have values one a boundary cell whatever the faces are."""
        self._scenario, self._grid, self.reference = scenario, grid, reference
        self._means: dict[tuple[int, Key, str], FaceMeans] = {}
        faces = {name: face_condition(scenario, grid, name) for name in FACES}
        self.per_cell = by_cell or any(
            face.patches or depends_on(value, _resolved(grid, name))
            for name, face in faces.items()
            for value in [0.0, *face.inputs.values()]
        )
        self._resistances = [
            self._half_cell(name, zones, conductivities) for name in FACES
        ]  # h/k of the cells beside each face, m2 K/W, flat
        self.patches = split_into_patches(scenario, faces, {name: self._centres(name) for name in FACES})
        self.starts = np.cumsum([0, *(each.size for each in self._resistances)])  # of the six faces among the values
        now = np.zeros(1)
        self._ahead = np.zeros(0)
        self._rows: tuple[np.ndarray, np.ndarray] | None = None
        self._fixed = [None if _varies(parts) else self._face_at(i, now) for i, parts in enumerate(self.patches)]

    def __iter__(self) -> Iterator[FacePatch]:
        """All patches, face by face."""
        return (patch for parts in self.patches for patch in parts)

    @property
    def varies(self) -> bool:
        """Whether any face depends on time."""
        return any(values is None for values in self._fixed)

    @property
    def discontinuities(self) -> frozenset[float]:
        """Times at which a value of a face jumps, s."""
        return discontinuity_times(self.inputs, self._scenario.time.end)

    @property
    def inputs(self) -> list[object]:
        """All values of the faces, numbers or expressions."""
        return [value for patch in self for value in patch.condition.inputs.values()]

    @property
    def temperature_inputs(self) -> list[object]:
        """Those that are temperatures."""
        return [value for patch in self for value in patch.condition.temperatures.values()]

    def uneven(self, material_dependence: bool) -> tuple[bool, bool, bool]:
        """For axes x, y, z, whether values at their faces may differ from cell to cell; material_dependence: whether a
        material depends on temperature, so that tangents stand for all faces that are not given."""
        tangents = material_dependence & ~np.logical_or(self.given, self.closed)
        found = [bool(tangents[i]) or self._is_uneven(i) for i in range(len(FACES))]
        return found[0] or found[1], found[2] or found[3], found[4] or found[5]

    def _is_uneven(self, face: int) -> bool:
        first, *others = self.patches[face]
        inputs, resolved = first.condition.inputs.values(), _resolved(self._grid, FACES[face])
        varies = first.condition.temperature_dependent or any(depends_on(value, resolved) for value in inputs)
        return bool(others) or varies or bool(np.ptp(self._resistances[face]) > 0.0)

    def check(self, times: np.ndarray) -> None:
        """Look at the values at some times, one after the other; raises `ScenarioError` for what is not good then."""
        for time in times[:, None] if self.varies else ():
            self.at(time)

    @property
    def closed(self) -> tuple[bool, ...]:
        """For the six faces, whether no heat passes at any time."""
        return tuple(not any(patch.condition.PASSES_HEAT for patch in parts) for parts in self.patches)

    def look_ahead(self, times: np.ndarray) -> None:
        """Tell the times (k,), s, ascending, for which values will be asked next, one after the other: those are found
        at once."""
        self._ahead, self._rows = (times if self.varies and self.starts[-1] <= MOST_AHEAD else np.zeros(0)), None

    def at(self, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(k, m) values of a and b at each time; k = 1 if nothing depends on time."""
        row = int(np.searchsorted(self._ahead, times[0])) if len(times) == 1 else len(self._ahead)
        if row == len(self._ahead) or self._ahead[row] != times[0]:
            return self._at(times)
        if self._rows is None:
            try:
                self._rows = self._at(self._ahead)
            except ScenarioError:  # at a time that may never be asked for: the error is raised once it is
                self._ahead = np.zeros(0)
                return self._at(times)
        a, b = self._rows
        return a[row : row + 1], b[row : row + 1]

    def _at(self, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        rows = times if self.varies else times[:1]
        parts = [self._fixed[i] or self._face_at(i, rows) for i in range(len(FACES))]
        a, b = ([np.broadcast_to(part[j], (len(rows), part[j].shape[1])) for part in parts] for j in range(2))
        return np.concatenate(a, axis=1), np.concatenate(b, axis=1)

    def min_a(self) -> np.ndarray:
        """(m,) the least a that can occur: of a strength that depends on time the least conceivable, -2."""
        parts = []
        for i, patches in enumerate(self.patches):
            known = self._fixed[i] or self._face_at(i, np.zeros(1))
            least = known[0][0].copy()
            for patch in patches:
                if _strength_varies(patch):
                    least[patch.cells] = -2.0
            parts.append(least)
        return np.concatenate(parts)

    def temperature_dependent_entries(self) -> np.ndarray:
        """(n,) the places, among the values, of the faces whose flux is no affine function of temperature."""
        found = [
            np.arange(self.starts[patch.face], self.starts[patch.face + 1])[patch.cells]
            for patch in self
            if patch.condition.temperature_dependent
        ]
        return np.concatenate([np.zeros(0, np.int64), *found])

    @property
    def given(self) -> tuple[bool, ...]:
        """For the six FACES, whether heat passes and the flux or the temperature of the surface is given all over."""
        return tuple(
            not closed and all(patch.condition.is_given for patch in patches)
            for closed, patches in zip(self.closed, self.patches, strict=True)
        )

    def fixes_temperature(self) -> bool:
        """Whether any part of a face ties its body to a temperature, at t = 0."""
        now = np.zeros(1)
        return any(patch.condition.ties_temperature(partial(self._evaluate, patch, times=now)) for patch in self)

    def temperatures(self, times: np.ndarray | None = None) -> list[float]:
        """Least and greatest temperature of each part of a face that has one, at t = 0 or at `times`. Raises
        `ScenarioError` as `checked` does."""
        times = np.zeros(1) if times is None else times
        found = []
        for patch in self:
            for name, value in patch.condition.temperatures.items():
                now = times if depends_on(value, "t") else times[:1]
                values = [self.checked(patch, name, now[i : i + 1]) for i in range(len(now))]
                found += [float(np.min(values)), float(np.max(values))]
        return found

    def surface_terms(self, times: np.ndarray) -> np.ndarray:
        """(k, terms, m) values of `SURFACE_TERMS` at each time, W, m2 and K, temperatures as offsets."""
        found = np.zeros((len(times), len(SURFACE_TERMS), self.starts[-1]))
        for patch in self:
            part = found[:, :, self.starts[patch.face] : self.starts[patch.face + 1]]
            for name, values in self.surface_terms_of(patch, times).items():
                part[:, SURFACE_TERMS.index(name), patch.cells] = np.where(np.isinf(values), FIXED, values)
        return found

    def surface_terms_of(self, patch: FacePatch, times: np.ndarray) -> Mapping[str, np.ndarray | float]:
        """The terms of a patch that are not 0, (k, cells or zones) each; infinite where a coefficient has no bound."""
        return patch.condition.surface_terms(partial(self._within_range, patch, times=times))

    def checked(self, patch: FacePatch, name: str, times: np.ndarray) -> np.ndarray:
        """Values of an input at the cells of a patch (or once a zone), (k, cells or zones) at k times; of a strength
        the part that does not depend on T.

        Raises `ScenarioError` for what is not finite or below absolute zero.
        """
        values, key = self._evaluate(patch, name, times), (*patch.key, name)
        require_finite(self._scenario, key, values, describe_times(times))
        if patch.condition.numbers()[name] is TEMPERATURE:
            what = f"{self._scenario.unit} (absolute zero)"
            require_at_least(self._scenario, key, values, self._scenario.zero, what, describe_times(times))
        return values

    def _within_range(self, patch: FacePatch, name: str, times: np.ndarray) -> np.ndarray:
        """The same, temperatures as offsets from the reference. Raises `ScenarioError` for what is out of the range of
        the input too; of a product with a factor in T, `tabulate_boundary_factors` checks the upper end."""
        values, number = self.checked(patch, name, times), patch.condition.numbers()[name]
        if number is TEMPERATURE:
            return values - self.reference
        key, unit = (*patch.key, name), f"({name})" if number.unit == "1" else number.unit
        if number.least is not None:
            require_at_least(self._scenario, key, values, number.least, unit, describe_times(times))
        if number.most is not None and separate_temperature(patch.condition.inputs[name])[1] is None:
            require_at_most(self._scenario, key, values, number.most, unit, describe_times(times))
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
        for patch in self.patches[i]:
            values = partial(self._within_range, patch, times=times)
            a[:, patch.cells], b[:, patch.cells] = patch.condition.affine(values, self._resistances[i][patch.cells])
        return a, b

    def _evaluate(self, patch: FacePatch, name: str, times: np.ndarray) -> np.ndarray:
        """Values of an input as `checked` has them, unchecked."""
        value = separate_temperature(patch.condition.inputs[name])[0]
        shape = (len(times), self._resistances[patch.face][patch.cells].size)
        if depends_on(value, "".join(FACE_AXES[FACES[patch.face][0]])):
            return np.broadcast_to(self._means_of(patch, name, value).at(times), shape)
        return evaluate(value, shape, **patch.points, t=times[:, None])

    def doubts(self, least: float) -> Iterator[tuple[Key, float]]:
        """The inputs whose means over faces may be off by more than a share, about, at t = 0, and that share."""
        for (_, key, name), means in self._means.items():
            if (doubt := means.doubt(0.0)) > least:
                yield (*key, name), doubt

    def _means_of(self, patch: FacePatch, name: str, value: Value) -> FaceMeans:
        """The means of an expression over the faces of a patch's cells."""
        key = patch.face, patch.key, name
        if key not in self._means:
            assert isinstance(value, Expression)
            by_distance = patch.condition.numbers()[name] is TEMPERATURE
            end = self._scenario.time.end
            self._means[key] = FaceMeans(value, self._grid, patch.face, patch.cells, self.per_cell, by_distance, end)
        return self._means[key]

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


def periodic_axes(scenario: Scenario, grid: CellGrid) -> tuple[bool, bool, bool]:
    """For axes x, y, z, whether the index wraps."""
    x, y, z = (face_condition(scenario, grid, name).kind == "periodic" for name in FACES[::2])
    return x, y, z


def face_condition(scenario: Scenario, grid: CellGrid, name: FaceName) -> Face:
    """What holds on a face; a period of a single cell is no exchange at all, hence insulated. So are faces that are
    none: in cylindrical coordinates those along phi, and r = 0."""
    face = scenario.boundary.face(name)
    single = grid.shape[2 - AXES.index(name[0])] == 1
    around = grid.coordinates == "cylindrical" and (name[0] == "y" or (name == "x_min" and grid.span("x")[0] == 0.0))
    return Insulated() if around or (face.kind == "periodic" and single) else face


def _resolved(grid: CellGrid, name: FaceName) -> str:
    """The axes along which a face has more than one cell."""
    return "".join(axis for axis in FACE_AXES[name[0]] if grid.shape[2 - AXES.index(axis)] > 1)


def _varies(patches: list[FacePatch]) -> bool:
    return any(depends_on(value, "t") for patch in patches for value in patch.condition.inputs.values())


def _strength_varies(patch: FacePatch) -> bool:
    strength = patch.condition.STRENGTH
    return strength != "" and depends_on(patch.condition.inputs[strength], "t")


def split_into_patches(
    scenario: Scenario, faces: Mapping[FaceName, Face], points: Mapping[FaceName, Points]
) -> list[list[FacePatch]]:
    """The patches of each of the six FACES; `points` are those of whole faces, flat.

    Raises `ScenarioError` for a patch that covers no cell of any face it is meant for, or whose condition is undefined.
    """
    covered: dict[Key, bool] = {}
    found = [_patches_of(scenario, i, faces[name], points[name], covered) for i, name in enumerate(FACES)]
    for key, any_cell in covered.items():
        if not any_cell:
            flaw = scenario.issue_at((*key, "where"), "covers no cell of the face", "it is judged at cell centres")
            raise ScenarioError([flaw])
    return found


def _patches_of(
    scenario: Scenario, number: int, face: Face, points: Points, covered: dict[Key, bool]
) -> list[FacePatch]:
    name = FACES[number]
    key: Key = ("boundary", name if getattr(scenario.boundary, name) is not None else "default")
    if not face.patches:
        return [FacePatch(number, face, key, slice(None), points)]
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
        FacePatch(number, part, where, cells, _at_cells(points, cells))
        for i, part, where in parts
        if (cells := np.flatnonzero(owner == i)).size
    ]


def _at_cells(points: Points, cells: np.ndarray) -> Points:
    return {axis: value[cells] if isinstance(value, np.ndarray) else value for axis, value in points.items()}


class SurfaceConditions:
    """The conditions of the six faces of a nonlinear problem, in the order of its boundary values.

    Into a surface at T_s goes  flux + h (ambient - T_s) + emissivity sigma (surroundings^4 - T_s^4)  in W/m2: see
    `NonlinearForcing.boundary_faces`, whose terms these are. A given temperature is a coefficient h without bound.
    Factors of T on h and the emissivity are apart: see `tabulate_boundary_factors`.
    """

    def __init__(self, faces: BoundaryFaces, entries: np.ndarray | None) -> None:
        """`entries`: which value of the faces stands at each place of the problem's, None where they are the same."""
        self._faces, self._entries = faces, entries
        self._still = None if faces.varies else self._values(np.zeros(1))

    def at(self, times: np.ndarray) -> np.ndarray:
        """(k, terms, boundary_size) at each time; k = 1 if nothing depends on time."""
        return self._values(times) if self._still is None else self._still

    def fastest(self, times: np.ndarray) -> np.ndarray:
        """(k, terms, boundary_size) values with which heat is exchanged no slower than at any of some times: the
        greatest, and, where they vary, once more with the coldest ambients."""
        if self._still is not None:
            return self._still
        ambients = [SURFACE_TERMS.index(name) for name in ("ambient", "surroundings")]
        values = self._values(times[:1])
        coldest = values[:, ambients]
        for number in range(1, len(times)):
            now = self._values(times[number : number + 1])
            values, coldest = np.maximum(values, now), np.minimum(coldest, now[:, ambients])
        for patch in filter(_strength_varies, self._faces):
            places = np.arange(self._faces.starts[patch.face], self._faces.starts[patch.face + 1])[patch.cells]
            chosen = places if self._entries is None else np.isin(self._entries, places)
            given = self._faces.surface_terms_of(patch, times[:1])
            for name, largest in patch.condition.LARGEST_TERMS.items():
                if name in given:
                    values[:, SURFACE_TERMS.index(name), chosen] = min(largest, FIXED)
        values = np.concatenate((values, values))
        values[1, ambients] = coldest[0]
        return values

    def _values(self, times: np.ndarray) -> np.ndarray:
        values = self._faces.surface_terms(times)
        return values if self._entries is None else values[:, :, self._entries]
