"""Warnings about mistakes in a scenario that only its arrays show.

Whether the cells of a source or a patch, chosen by their centres, have the volume or area of its shape:

|     |     |     |      cells of 1 mm and a source 0.8 mm thick: the cell whose centre it covers is heated as a
|  .  |  . #|##.##|      whole, and with a given power density a quarter more heat is released than was meant
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from heatsim.base.grid import AXES, FACE_AXES, FACES, CellGrid
from heatsim.errors import Issue
from heatsim.problem.media.cell_classes import CellClasses
from heatsim.problem.media.zones import Zones
from heatsim.problem.shapes.condition_measure import ShapeSize, condition_measure
from heatsim.problem.shapes.floorplans import read_plan
from heatsim.problem.shapes.painted_volumes import regions_off_their_shapes, shape_volume
from heatsim.problem.shapes.voxelise import covered_volume
from heatsim.problem.table_warnings import tables_off
from heatsim.problem.terms.boundary_faces import BoundaryFaces, Points
from heatsim.problem.terms.event_times import MAX_DISCONTINUITIES, MAX_MARKS, mark_times, switches_too_often
from heatsim.problem.terms.sources.beam import MovingBeam
from heatsim.problem.terms.sources.beam_path import BeamPath
from heatsim.problem.unresolved_inputs import mixed_densities, unresolved_faces, unresolved_initial, unresolved_sources
from heatsim.scenario import Expression, Scenario, find_warnings
from heatsim.scenario.checks.materials_and_faces import shapes_with_keys
from heatsim.scenario.language.toml.positions import Key, KeyIssue
from heatsim.scenario.sources import GaussianBeam

if TYPE_CHECKING:
    from heatsim.problem.problem import Problem

MAX_VOXEL_ERROR = 0.05  # relative
MIN_LAST_PLACES = 4.0  # of the temperature, that drive heat through a face: rounding is up to an eighth of them
MAX_TRANSMITTED_SHARE = 0.05  # of a beam, through the bottom of the box: exp(-3), for a depth of a third of the body
FAST_HINT = "give its mean in place of it, a shorter run, or a trace"


def problem_warnings(problem: Problem) -> list[Issue]:
    """The warnings about the scenario of a problem, each with its place, and those that only arrays can tell."""
    scenario, grid, beams = problem.scenario, problem.grid, problem.volume_sources.beams
    found = [*idle_contacts(scenario, problem.zones, problem.cell_classes), *cells_left_out(problem.untied)]
    found += floorplans_as_read(scenario)
    found += probes_in_ambients(scenario, grid, problem.zones, problem.materials.solids)
    found += beams_on_ambients(grid, problem.zones, problem.materials.solids, beams)
    found += beams_through_the_bottom(grid, beams)
    found += [
        *sources_off_their_shapes(scenario, grid),
        *patches_off_their_areas(scenario, grid, problem.boundary_faces),
    ]
    found += [
        *unresolved_sources(problem.volume_sources, problem.temperature_sources),
        *unresolved_faces(problem.boundary_faces),
        *unresolved_initial(problem.initial),
    ]
    found += regions_off_their_shapes(scenario, grid)
    found += [] if problem.tabulated is None else tables_off(scenario, problem.tabulated, problem.dtype)
    found += mixed_densities(scenario, grid, 0.5 * sum(problem.initial.range()))
    found += [] if problem.undefined is None or scenario.time.is_steady else [problem.undefined.issue()]
    found += inputs_too_fast(scenario, problem.inputs.values, problem.largest_step)
    if problem.surfaces is None and problem.dtype == np.float32 and not scenario.time.solves:
        (a, *_), (b, *_) = problem.boundary_values(np.zeros(1))
        offset = max(abs(end - problem.reference) for end in problem.initial.range())
        found += weak_faces(problem.boundary_faces, problem.coefficients.boundary_offsets, a, b, offset)
    return find_warnings(scenario) + [scenario.issue_at(*finding) for finding in found]


def sources_off_their_shapes(scenario: Scenario, grid: CellGrid) -> Iterator[KeyIssue]:
    """Amounts in a unit volume of shapes whose cells have another volume."""
    for i, source in enumerate(scenario.sources):
        shape, density = source.region, source.power_density
        if shape is None or (density is None and source.cell_term is None):
            continue
        key: Key = ("sources", i, "region")
        exact = shape_volume(scenario, key, shape, grid)
        covered = covered_volume(scenario, key, shape, grid)
        if exact is not None and _differ(covered, exact):
            found = _describe("volume", "m3", covered, exact.size) + _heat(density, covered, exact.size, "are released")
            hint = ("power in place of power_density, or " if density else "") + "cells that fit the shape"
            yield KeyIssue((*key, *shape.forms), found, hint)


def _differ(covered: float, exact: ShapeSize) -> bool:
    """Whether the cells of a shape have another volume or area than it has, beyond doubt."""
    return exact.size > 0.0 and abs(covered - exact.size) > MAX_VOXEL_ERROR * exact.size + 3.0 * exact.error


def weak_faces(
    boundary_faces: BoundaryFaces, starts: np.ndarray, a: np.ndarray, b: np.ndarray, offset: float
) -> Iterator[KeyIssue]:
    """Faces through which so little heat passes that float32 rounds it away: what lies beyond a face is kept as the
    temperature of the cell beside it plus a T + b, and T may be as large as `offset`. a, b: (boundary_size,), those of
    a face from its place in `starts` on."""
    least = MIN_LAST_PLACES * float(np.finfo(np.float32).eps) * offset
    keys = {patch.face: patch.key[:2] for patch in boundary_faces}
    for number, name in enumerate(FACES):
        part = slice(starts[number], starts[number + 1] if number + 1 < len(FACES) else None)
        most = float((np.abs(a[part]) * offset + np.abs(b[part])).max(initial=0.0))
        if 0.0 < most < least:
            places = most / least * MIN_LAST_PLACES
            told = f"what drives the heat through {name} is {places:.2g} last places of float32, rounded to whole ones"
            yield KeyIssue(
                keys[number], told, 'compute.precision = "float64", time.integrator = "implicit", or larger cells'
            )


def patches_off_their_areas(scenario: Scenario, grid: CellGrid, boundary_faces: BoundaryFaces) -> Iterator[KeyIssue]:
    """Patches that pass heat and whose cell faces have another area than their condition."""
    reported = set()
    for patch in boundary_faces:
        condition, key = patch.condition, patch.key
        if not condition.PASSES_HEAT or condition.where is None or key in reported:
            continue
        covered, exact = _areas(condition.where, grid, patch.face)
        if _differ(covered, exact):
            reported.add(key)
            flux = condition.inputs[condition.GIVEN_FLUX] if condition.GIVEN_FLUX else None
            found = _describe("area", "m2", covered, exact.size) + _heat(flux, covered, exact.size, "enter")
            hint = "cells that fit the patch" + (", or a scaled flux" if condition.GIVEN_FLUX else "")
            yield KeyIssue((*key, "where"), f"{found} at {FACES[patch.face]}", hint)


def _describe(what: str, unit: str, covered: float, exact: float) -> str:
    return f"the cells with their centres in it have {covered / exact:.3g} times its {what} of {exact:.4g} {unit}"


def _heat(density: float | Expression | None, covered: float, exact: float, happens: str) -> str:
    if density is None or isinstance(density, Expression):
        return ""
    return f": {density * covered:.4g} W {happens} in place of {density * exact:.4g} W"


def _areas(condition: Expression, grid: CellGrid, face: int) -> tuple[float, ShapeSize]:
    """Area of the cells of a face whose centres meet a condition, and of all points that do, m2."""
    normal, axes = FACES[face][0], FACE_AXES[FACES[face][0]]
    fixed = {normal: grid.span(normal)[face % 2]}
    at: Points = dict(zip(axes, np.meshgrid(*(grid.centres(axis) for axis in axes), indexing="ij"), strict=True))
    areas = np.outer(*(grid.measure(axis) for axis in axes))
    radial = grid.coordinates == "cylindrical"
    truth = np.broadcast_to(condition(**at, **fixed), areas.shape) != 0
    exact = condition_measure(condition, {axis: grid.span(axis) for axis in axes}, fixed, radial)
    factor = fixed["x"] if radial and normal == "x" else 1.0
    return factor * float(areas[truth].sum()), ShapeSize(factor * exact.size, factor * exact.error)


# --- inputs that change more often than steps end


def inputs_too_fast(scenario: Scenario, values: Iterable[object], longest: float) -> Iterator[KeyIssue]:
    """Expressions that switch or swing more often in a run than its steps of up to `longest` s can follow."""
    control, values = scenario.time, list(values)
    if control.is_steady:
        return
    switching = switches_too_often(values, control.end)
    for expression in switching:
        message = f"{expression.text!r} switches over {MAX_DISCONTINUITIES} times in the run: steps do not end there"
        yield KeyIssue(("time", "end"), message, FAST_HINT)
    # Where the integrator is left open, the step is that of explicit Euler, the shortest of all.
    for expression in mark_times(values, control.end, longest).too_many:
        if expression not in switching:
            step = f"of up to {longest:.3g} s"
            message = f"{expression.text!r} changes over {MAX_MARKS} times in the run: steps {step} do not follow it"
            yield KeyIssue(("time", "end"), message, FAST_HINT)


# --- contacts that never touch, what void cuts off, beams on ambients or through the bottom of the box


def cells_left_out(untied: int) -> Iterator[KeyIssue]:
    """Cells that have no steady state of their own."""
    if untied:
        message = f"{untied} cells that void separates from all given temperatures are left out, as void"
        yield KeyIssue(("time", "integrator"), message)


def idle_contacts(scenario: Scenario, zones: Zones, cell_classes: CellClasses) -> Iterator[KeyIssue]:
    """Contacts between materials that never touch."""
    if not scenario.contacts:
        return
    own = np.array(zones.materials)[cell_classes.zone]
    pairs = np.unique(np.stack((np.repeat(own, 6), cell_classes.beyond.reshape(-1))), axis=1).T.tolist()
    names = [*scenario.materials, *scenario.ambients]
    touching = {frozenset(pair) for pair in pairs}
    for i, contact in enumerate(scenario.contacts):
        if frozenset(names.index(name) for name in contact.between) not in touching:
            yield KeyIssue(("contacts", i, "between"), "these materials never touch, so the contact has no effect")


def probes_in_ambients(scenario: Scenario, grid: CellGrid, zones: Zones, solids: int) -> Iterator[KeyIssue]:
    """Probes that read the temperature that an ambient is given, or that of a void, which has none."""
    names = [*scenario.materials, *scenario.ambients]
    for i, probe in enumerate(scenario.output.probes):
        beside = product(*(_sides(grid.faces(axis), place) for axis, place in zip(AXES, probe.at, strict=True)))
        materials = [zones.material((x, y, z)) for x, y, z in beside]
        if min(materials) >= solids:
            name = names[materials[0]]
            given = "an ambient, whose temperature is given"
            message = f"lies in {name!r}, {given if name in scenario.exchanging_ambients else 'which is void'}"
            yield KeyIssue(("output", "probes", i, "at"), message)


def _sides(faces: np.ndarray, place: float) -> set[int]:
    """The cells along an axis that a place lies in: two if it is on a face between them."""
    sides = (int(np.searchsorted(faces, place, side=side)) - 1 for side in ("left", "right"))
    return {min(max(each, 0), len(faces) - 2) for each in sides}


def beams_on_ambients(grid: CellGrid, zones: Zones, solids: int, beams: Iterable[MovingBeam]) -> Iterator[KeyIssue]:
    """Beams that shine on cells that are not solved, whose power is lost there; the first `solids` materials are
    solved."""
    ids = zones.ids
    if ids is None:
        return
    for beam in beams:
        materials = np.array(zones.materials)[ids[_cells_below(grid, beam)]]
        if (materials >= solids).any():
            message = "shines on an ambient or a void on its way, where its power is lost"
            hint = "z in the path names the surface; left out, it is the top of the box"
            yield KeyIssue(("sources", beam.source, "beam", "path"), message, hint)


def beams_through_the_bottom(grid: CellGrid, beams: Iterable[MovingBeam]) -> Iterator[KeyIssue]:
    """Beams of which a good part would pass through the bottom of the box, where all of it is put in above."""
    bottom = grid.span("z")[0]
    for moving in beams:
        beam, share = moving.beam, "absorptivity" if isinstance(moving.beam, GaussianBeam) else "efficiency"
        below = float(np.min(moving.path.places[_lit(moving.path), 2], initial=np.inf)) - bottom
        passing = moving.beyond(below)
        if passing > MAX_TRANSMITTED_SHARE:
            message = f"{100 * passing:.0f} % of the power should pass through the {below:.4g} m below, but stays there"
            hint = f"{share} = {getattr(beam, share) * (1.0 - passing):.3g} takes it off"
            key = "depth" if isinstance(beam, GaussianBeam) else "b"
            yield KeyIssue(("sources", moving.source, "beam", key), message, hint)


def _lit(path: BeamPath) -> np.ndarray:
    """Which places of a path are an end of a leg on which the beam is on."""
    return np.asarray(np.append(path.on, False) | np.append(False, path.on))


def _cells_below(grid: CellGrid, beam: MovingBeam) -> tuple[np.ndarray, ...]:
    """Indices z, y, x of the cells just below the places of a path between which the beam is on."""
    path = beam.path
    found = []
    for axis, place in zip(AXES, path.places[_lit(path)].T, strict=True):
        faces = grid.faces(axis)
        above = np.searchsorted(faces, place, side="left" if axis == "z" else "right")
        found.append(np.clip(above - 1, 0, len(faces) - 2))
    return tuple(found[::-1])


# --- floorplans that are not taken as they are


def floorplans_as_read(scenario: Scenario) -> Iterator[KeyIssue]:
    """Blocks of floorplans that are left out or cut, each file once."""
    told = set[Path]()
    for key, shape in shapes_with_keys(scenario.regions, scenario.sources, scenario.output):
        if shape.floorplan is not None and shape.floorplan.file not in told:
            told.add(shape.floorplan.file)
            for note in read_plan(shape.floorplan.file).notes:
                yield KeyIssue((*key, "floorplan", "file"), note)
