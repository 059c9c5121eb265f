"""Heat problems with materials that depend on temperature, for the kernel tests, and a step of them in plain NumPy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from heatsim_kernels.explicit import StageStepper
from heatsim_kernels.explicit.coefficients import Forcing
from heatsim_kernels.explicit.enthalpy.coefficients import (
    FIXED,
    BoundaryFactors,
    FaceResistances,
    GridLayout,
    NonlinearCoefficients,
    NonlinearForcing,
    boundary_values,
    equal_cells,
    nonlinear_coefficients,
)
from heatsim_kernels.explicit.enthalpy.cpu.surface_tangents import CpuSurfaceTangents
from heatsim_kernels.explicit.enthalpy.kernel_arguments import is_paired
from heatsim_kernels.explicit.enthalpy.lookup_tables import EnthalpyTables, tabulate
from heatsim_kernels.explicit.enthalpy.material import EnthalpyMaterial
from heatsim_kernels.explicit.enthalpy.pieces import as_table, pieces_through
from heatsim_kernels.explicit.enthalpy.surface_tangents import SurfaceTangents, TangentFaces
from heatsim_kernels.explicit.face_sets import SIDES, FaceSet
from helpers.kernel_cases import unique_rows
from stage_cases import COUNT, Staged, stages

REFERENCE = 400.0  # K
SPACING = (1e-3, 2e-3, 1.5e-3)
STEEL = EnthalpyMaterial(
    np.array([250.0, 700.0, 1200.0]), np.array([60.0, 35.0, 25.0]), np.array([3.4e6, 4.5e6, 5.2e6])
)
ALLOY = EnthalpyMaterial(
    np.array([250.0, 500.0, 1200.0]), np.array([100.0, 140.0, 60.0]), np.array([2.2e6, 2.5e6, 2.7e6]), 9e8, 500.0, 520.0
)
PURE = EnthalpyMaterial(
    np.array([250.0, 450.0, 450.0, 1200.0]), np.array([80.0, 70.0, 30.0, 35.0]), np.full(4, 2e6), 4e8, 450.0, 450.0
)
GRADED = EnthalpyMaterial(np.array([250.0, 1200.0]), np.array([5.0, 60.0]), np.full(2, 2e6))
GLASS = EnthalpyMaterial.constant(1.1, 1.8e6)
MATERIALS = (STEEL, ALLOY, PURE, GLASS, GLASS)
HELD = 4  # the number of the last material, which is that of ambients
CONTACT = 2e-5  # m2 K/W, between different materials
STEP = 2e-3  # s; a third of the stable step or less


class NonlinearCase(NamedTuple):
    coefficients: NonlinearCoefficients
    forcing: NonlinearForcing
    start: np.ndarray  # u, (nz, ny, nx), float64, values that float32 holds exactly

    def linear_forcing(self) -> Forcing:
        """The forcing without boundary faces."""
        size, given = self.coefficients.boundary_size, self.forcing
        return Forcing(np.zeros((2, size)), np.zeros((2, size)), given.heat_table, given.heat_field, given.heat_scale)

    def without_ambients(self) -> NonlinearCase:
        """The same with no account for ambients, which would have a pass take a single step."""
        return self._replace(coefficients=replace(self.coefficients, ambient_faces=None))


def tables() -> EnthalpyTables:
    return tabulate(MATERIALS, REFERENCE)


def blocks(rng: np.random.Generator, shape: tuple[int, int, int], zones: int) -> np.ndarray:
    """Zones at random, in blocks of 3 x 4 x 24 cells, and one cell held. The first blocks are cut, so that blocks meet
    inside vectors of four cells and away from the edges of tiles."""
    size, cut = (3, 4, 24), (1, 1, 10)
    found = rng.integers(0, zones, [-(-(n + c) // width) for n, c, width in zip(shape, cut, size, strict=True)])
    for axis, width in enumerate(size):
        found = found.repeat(width, axis)
    nz, ny, nx = shape
    found = found[tuple(slice(c, c + n) for c, n in zip(cut, shape, strict=True))].copy()
    found[nz // 2, ny // 2, nx // 2] = HELD
    return found


def terms_of_zones(
    zones: np.ndarray, of: EnthalpyTables, spacing: tuple[float, float, float] = SPACING, **others: Any
) -> NonlinearCoefficients:
    """Equal cells, with a contact resistance between different materials."""
    beside = [np.roll(zones, 1 if face % 2 == 0 else -1, 2 - face // 2) for face in range(6)]
    for face, periodic in enumerate(np.repeat(others.get("periodic", (False,) * 3), 2)):
        if not periodic:
            at: list[Any] = [slice(None)] * 3
            at[2 - face // 2] = -1 if face % 2 else 0
            beside[face][tuple(at)] = zones[tuple(at)]
    members, class_ids = unique_rows(np.stack([zones, *beside], axis=-1).reshape(-1, 7))
    own, beyond = members[:, 0], members[:, 1:]
    dx, dy, dz = spacing
    area = np.broadcast_to(np.repeat([dy * dz, dx * dz, dx * dy], 2), beyond.shape)
    half = 0.5 * np.repeat(spacing, 2) / area
    contact = np.where(beyond == own[:, None], 0.0, np.where(beyond == HELD, 1 / 5e3, CONTACT)) / area
    volume = np.where(own == HELD, 0.0, dx * dy * dz)
    resistances = half / of.conductivity[own][:, None], contact, half / of.conductivity[beyond]
    resistances[2][beyond == HELD] = 0.0
    grid = class_ids.reshape(zones.shape).astype(np.uint8 if len(members) <= 256 else np.uint16)
    found = np.argwhere((np.stack(beside) == HELD) & (zones != HELD))
    cells = np.ravel_multi_index(tuple(found[:, 1:].T), zones.shape)
    ambient_faces = FaceSet(cells, found[:, 0].astype(np.uint8), np.full(len(cells), SIDES), SIDES + 1)
    layout = GridLayout(zones.shape, grid, ambient_faces=ambient_faces, **others)
    return nonlinear_coefficients(layout, of, volume, own, beyond, FaceResistances(*resistances, area))


def random_boundary(rng: np.random.Generator, coefficients: NonlinearCoefficients, rows: int) -> np.ndarray:
    """Boundary faces of every sort: some fixed, some radiating, all with a flux."""
    size = (rows, coefficients.boundary_size)
    values = boundary_values(coefficients, rows)
    values[:, 0] = rng.uniform(0, 5e3, size)
    values[:, 0][rng.random(size) < 0.2] = FIXED
    values[:, 1], values[:, 2] = rng.uniform(0, 200, size), rng.uniform(-1e5, 1e5, size)
    values[:, 3], values[:, 4] = rng.uniform(0, 1, size) * (rng.random(size) < 0.5), rng.uniform(-100, 1500, size)
    return values


def random_factors(rng: np.random.Generator, coefficients: NonlinearCoefficients) -> BoundaryFactors:
    """Factors that rise and fall with the temperature of the surface, on two boundary faces out of three that are not
    fixed."""
    rises = np.linspace(-400.0, 1500.0, 961)
    curves = 1 + 0.9 * np.sin(rises / 90), (np.abs(rises - 60) / 200) ** 0.25
    pieces = as_table([pieces_through(rises, values)[0] for values in curves])
    return BoundaryFactors(pieces, rng.integers(0, 3, coefficients.boundary_size).astype(np.uint32))


def random_case(
    shape: tuple[int, int, int],
    *,
    several: bool = True,
    periodic: tuple[bool, bool, bool] = (False, False, False),
    closed: tuple[bool, ...] | None = None,
    follow: bool = False,
    by_cell: bool = True,
    layers: bool = False,
    seed: int = 0,
) -> NonlinearCase:
    """by_cell: whether there are sources cell by cell besides those of the cell classes. layers: whether the materials
    lie in layers along z, so that one rate serves both faces in x, and one both in y."""
    rng = np.random.default_rng(seed)
    of = tables()
    shut = tuple(bool(each) for each in (np.repeat(periodic, 2) if closed is None else closed))
    options: dict[str, Any] = {"periodic": periodic, "closed": shut, "boundary_per_cell": True}
    if layers:
        planes = np.arange(shape[0])[:, None, None] // 2 % HELD
        coefficients = terms_of_zones(np.broadcast_to(planes, shape), of, **options)
        assert is_paired(coefficients)
    elif several:
        coefficients = terms_of_zones(blocks(rng, shape, HELD), of, **options)
    else:
        one = tabulate([ALLOY], REFERENCE)
        coefficients = equal_cells(shape, one, SPACING, **options)
    boundary = random_boundary(rng, coefficients, 2)
    if follow:
        coefficients = replace(coefficients, factors=random_factors(rng, coefficients))
        fixed = (boundary[:, 0] == FIXED).any(axis=0)
        coefficients.factors.of[fixed] = 0  # type: ignore[union-attr]
    heated = coefficients.capacity > 0
    forcing = NonlinearForcing(
        boundary,
        rng.uniform(-100, 100, (2, coefficients.class_count)) * heated,
        rng.uniform(-100, 100, shape) * coefficients.spread_over_cells(heated) if by_cell else None,
        rng.uniform(0, 2, 2),
    )
    start = rng.uniform(0, 300, shape).astype(np.float32).astype(np.float64)
    return NonlinearCase(coefficients, forcing, start)


class AffineCase(NamedTuple):
    """A problem whose boundary faces are affine in the potential, as those of a given temperature or flux are."""

    coefficients: NonlinearCoefficients
    forcing: Forcing  # of each of two steps, the last for all later ones
    start: np.ndarray


def affine_case(
    shape: tuple[int, int, int],
    material: EnthalpyMaterial = ALLOY,
    *,
    periodic: tuple[bool, bool, bool] = (False, False, False),
    uneven: tuple[bool, bool, bool] = (False, False, False),
    heated: bool = True,
    seed: int = 0,
) -> AffineCase:
    """uneven: at the faces of which axes values differ from cell to cell. x_min is closed."""
    rng, closed = np.random.default_rng(seed), np.repeat(periodic, 2) | (np.arange(6) == 0)
    options = {"periodic": periodic, "closed": tuple(closed.tolist()), "uneven": uneven, "boundary_per_cell": True}
    coefficients = equal_cells(shape, tabulate([material], REFERENCE), SPACING, **options)
    a, b = (np.zeros((2, coefficients.boundary_size)) for _ in range(2))
    for face in np.flatnonzero(~closed).tolist():
        part = coefficients.boundary_values_of(face)
        size = (2, part.stop - part.start) if uneven[face // 2] else (2, 1)
        fixed = rng.random(size[1]) < 0.7
        a[:, part], b[:, part] = -2.0 * fixed, np.where(fixed, rng.uniform(-200, 600, size), rng.uniform(-9, 9, size))
    table = rng.uniform(-100, 100, (2, 1)) if heated else None
    start = rng.uniform(0, 300, shape).astype(np.float32).astype(np.float64)
    return AffineCase(coefficients, Forcing(a, b, table), start)


def affine_outcome(sweep: StageStepper, case: AffineCase, steps: int = 3) -> SteppedEnthalpy:
    sweep.field.put_state(case.start)
    sweep.advance(STEP, steps, case.forcing)
    return SteppedEnthalpy(np.array(sweep.field.state()), sweep.heat_entered(), np.array(sweep.field.stored()))


def steps_at_once(sweep: Any, forcing: Forcing) -> int:
    """The most steps that a sweep takes at once."""
    return int(sweep._sweep.most_steps(sweep._batch(STEP, forcing)))


def tangents_of(sweep: StageStepper) -> SurfaceTangents:
    """What makes tangents at all boundary faces that are open, where the field of a sweep is."""
    coefficients: Any = sweep.coefficients
    faces = TangentFaces.of_open_faces(coefficients)
    if sweep.field.device == "cpu":
        return CpuSurfaceTangents(faces)
    from heatsim_kernels.explicit.enthalpy.cuda.surface_tangents import CudaSurfaceTangents

    return CudaSurfaceTangents(faces, sweep.dtype)


def forcing_with_tangents(sweep: StageStepper, case: NonlinearCase) -> Forcing:
    """The forcing of a case, with tangents made at the state of a sweep."""
    return tangents_of(sweep).applied(case.linear_forcing(), sweep.field.stored_cells, case.forcing.boundary)


def advance(sweep: StageStepper, dt: float, steps: int, forcing: NonlinearForcing) -> None:
    """Take steps with new tangents before each, so that the flux of every step is that of the surface balance."""
    tangents, nothing = tangents_of(sweep), np.zeros((1, sweep.coefficients.boundary_size))
    for k in range(steps):
        row = forcing.of_steps(k, 1)
        given = Forcing(nothing, nothing, row.heat_table, row.heat_field, row.heat_scale, row.window_sources)
        sweep.advance(dt, 1, tangents.applied(given, sweep.field.stored_cells, row.boundary))


class SteppedEnthalpy(NamedTuple):
    field: np.ndarray
    heat_entered: np.ndarray
    stored: np.ndarray


def outcome(sweep: StageStepper, case: NonlinearCase, steps: int = 3, dt: float = STEP) -> SteppedEnthalpy:
    sweep.field.put_state(case.start)
    advance(sweep, dt, steps, case.forcing)
    return SteppedEnthalpy(np.array(sweep.field.state()), sweep.heat_entered(), np.array(sweep.field.stored()))


def with_one_tangent(sweep: StageStepper, case: NonlinearCase, steps: int) -> SteppedEnthalpy:
    """The field after steps that one tangent of each face serves."""
    sweep.field.put_state(case.start)
    forcing = forcing_with_tangents(sweep, case)
    sweep.advance(STEP, steps, forcing)
    return SteppedEnthalpy(np.array(sweep.field.state()), sweep.heat_entered(), np.array(sweep.field.stored()))


def staged(sweep: StageStepper, case: NonlinearCase, form: str) -> Staged:
    """A step of several stages with one tangent, after one that is rejected, and an explicit step behind it."""
    chosen = stages(form, sweep.dtype.type)
    sweep.field.put_state(case.start)
    forcing = forcing_with_tangents(sweep, case)
    sweep.take_stages(STEP, chosen[:1], 0, forcing)
    sweep.take_stages(STEP / 2, chosen[:2], 0, forcing)
    for k in range(2, COUNT):
        sweep.take_stages(STEP / 2, chosen[k : k + 1], k, forcing.of_steps(k, 1))
    defect = sweep.defect(STEP / 2, chosen[0].rate, forcing.of_steps(COUNT, 1))
    sweep.accept()
    sweep.advance(STEP / 2, 1, forcing)
    return Staged(np.array(sweep.field.state()), sweep.heat_entered(), np.array(defect))


def source_heat(case: NonlinearCase, dt: float, steps: int) -> float:
    """J that sources bring in some steps."""
    coefficients, forcing = case.coefficients, case.forcing
    assert forcing.heat_table is not None
    assert forcing.heat_field is not None
    capacity = coefficients.spread_over_cells(coefficients.capacity) * np.ones(coefficients.shape)
    total = 0.0
    for k in range(steps):
        row = min(k, 1)
        rate = coefficients.spread_over_cells(forcing.heat_table[row]) + forcing.heat_scale[row] * forcing.heat_field
        total += dt * float((capacity * rate).sum())
    return total
