"""How a problem is built from a scenario."""

from __future__ import annotations

import os
from dataclasses import replace
from math import prod
from typing import NamedTuple

import numpy as np
from heatsim_kernels.explicit.coefficients import ONE_CLASS, StencilCoefficients
from heatsim_kernels.explicit.enthalpy.coefficients import NonlinearCoefficients
from heatsim_kernels.explicit.enthalpy.surface_tangents import TangentFaces
from heatsim_kernels.explicit.face_sets import SIDES
from heatsim_kernels.explicit.heat_ledger import boundary_faces

from heatsim.base.grid import CellGrid
from heatsim.base.methods import METHODS
from heatsim.errors import ScenarioError
from heatsim.problem.media.cell_classes import CellClasses, make_cell_classes
from heatsim.problem.media.materials import Materials, ambients_by_surface, make_materials
from heatsim.problem.media.zones import (
    Zones,
    find_named_parts,
    find_statistics_regions,
    make_zones,
    voxelise_materials,
)
from heatsim.problem.problem import ExplicitForm, Problem, any_varies
from heatsim.problem.shapes.interface_areas import find_area_factors
from heatsim.problem.shapes.point_values import make_grid
from heatsim.problem.temperature_bounds import BoundedInputs, find_temperature_bounds, sample_times, telling_times
from heatsim.problem.temperature_dependence import (
    TabulatedMaterials,
    make_nonlinear_coefficients,
    tabulate_boundary_factors,
    tabulate_materials,
)
from heatsim.problem.terms.ambient_surfaces import AmbientSurfaces
from heatsim.problem.terms.ambients import Ambients
from heatsim.problem.terms.boundary_faces import BoundaryFaces, SurfaceConditions, periodic_axes
from heatsim.problem.terms.contact_surfaces import ContactSurfaces
from heatsim.problem.terms.face_flows import FaceFlows
from heatsim.problem.terms.initial_condition import InitialField
from heatsim.problem.terms.losses import loss_rates, loss_terms, temperature_without_losses
from heatsim.problem.terms.temperature_sources import TemperatureSources
from heatsim.problem.terms.volume_sources import SourceTerm, VolumeSources, make_source_terms
from heatsim.problem.time_step_limit import largest_step, require_steady_state, stability_limit
from heatsim.problem.untied_cells import find_untied_cells
from heatsim.scenario import (
    Scenario,
    find_losses,
    find_material_dependence,
    find_temperature_dependence,
)

MAX_CLASSES_IN_BOUNDARY_VALUES = 4096  # beyond that boundary values come one a boundary cell: fewer than six a class


def build_problem(scenario: Scenario, reference: float | None = None, hottest: float = 0.0) -> Problem:
    """Make a scenario concrete. reference: of the temperatures of a run that goes on, in the scenario's unit; the
    middle of its inputs, or near it, if left out. hottest: see `find_temperature_bounds`. Raises `ScenarioError` for
    what only arrays can tell."""
    require_setup_memory(scenario)
    grid = make_grid(scenario)
    material_ids = voxelise_materials(scenario, grid)
    given = _GivenTemperatures(reference, hottest)
    problem = _build(scenario, grid, material_ids, given)
    void = len(scenario.materials) + len(scenario.exchanging_ambients)
    if scenario.time.is_steady and (material_ids >= void).any():
        untied = find_untied_cells(problem)
        if untied.any():
            material_ids[untied] = void
            problem = replace(_build(scenario, grid, material_ids, given), untied=int(untied.sum()))
    return problem


class _GivenTemperatures(NamedTuple):
    """The arguments of `build_problem` by these names."""

    reference: float | None
    hottest: float


def _build(scenario: Scenario, grid: CellGrid, material_ids: np.ndarray, given: _GivenTemperatures) -> Problem:
    """Make a scenario concrete, of the material of each cell, as `voxelise_materials` gives it.

    Tables of materials need temperature bounds, bounds need faces and sources, and these need the conductivities and
    capacities of the tables. So boundary faces are made once for their temperatures alone and again with the tables,
    and temperature sources are made first and completed then.
    """
    dtype, materials = np.dtype(scenario.compute.precision), make_materials(scenario)
    sources, losses = make_source_terms(scenario, grid, material_ids), find_losses(scenario)
    uniform = losses.union(term.source for term in sources if term.space is None)
    zones = make_zones(scenario, grid, material_ids, uniform)
    of_zones, initial = np.array(zones.materials), InitialField(scenario, grid)
    following = _temperature_sources(scenario, grid, zones, materials)
    reference, tables = _reference_and_tables(scenario, grid, zones, materials, sources, following, initial, given)
    materials = materials if tables is None else materials.at_reference(tables.materials)
    area_factors = find_area_factors(scenario, grid, material_ids, materials.contact, materials.solids)
    cell_classes = make_cell_classes(grid, zones, materials, periodic_axes(scenario, grid), area_factors)
    boundary_faces = BoundaryFaces(
        scenario, grid, zones.ids, materials.conductivity[:, of_zones], reference, by_cell=tables is not None
    )
    of_losses = loss_rates(scenario, losses, zones, materials.capacity[of_zones])
    equations = _equations(scenario, grid, zones, cell_classes, boundary_faces, materials, tables, of_losses)
    following = _complete_temperature_sources(scenario, grid, zones, materials, cell_classes, following)
    limit = _stability_limit(scenario, equations, boundary_faces, following, tables)
    sources = (*sources, *loss_terms(scenario, losses, reference, grid))
    volume_sources = VolumeSources(scenario, grid, zones, materials.capacity[of_zones], sources, dtype)
    ambients = Ambients(scenario, cell_classes)
    varies = any_varies(boundary_faces, volume_sources, following, ambients)
    statistics_regions = find_statistics_regions(scenario, grid, material_ids, materials.capacity)
    problem = Problem(
        scenario=scenario,
        grid=grid,
        materials=materials,
        zones=zones,
        cell_classes=cell_classes,
        largest_step=largest_step(scenario, limit, varies, volume_sources.longest_step),
        boundary_faces=boundary_faces,
        volume_sources=volume_sources,
        temperature_sources=following,
        ambients=ambients,
        named_parts=find_named_parts(scenario, grid, statistics_regions, material_ids, materials.capacity),
        initial=initial,
        reference=reference,
        stability_limit=limit,
        dtype=dtype,
        statistics_regions=statistics_regions,
        tabulated=tables,
        **equations._asdict(),
    )
    _check_inputs(problem)
    return problem


def _check_inputs(problem: Problem) -> None:
    """Raise `ScenarioError` for inputs that are not good at a time of the run, that have no steady state, or that the
    integrator cannot take."""
    scenario, chosen = problem.scenario, problem.scenario.time.chosen
    refusal = "" if chosen is None else problem.refuses(chosen)
    if chosen is not None and refusal:
        message = f"{chosen.name} {refusal}"
        other = next(name for name in ("implicit", "euler") if not problem.refuses(METHODS[name]))
        raise ScenarioError([scenario.issue_at(("time", "integrator"), message, f'integrator = "{other}" takes it')])
    if scenario.time.periodic is not None and problem.melts:
        message = "expected no latent heat in a body that starts from a periodic state"
        raise ScenarioError([scenario.issue_at(("time", "periodic"), message, "give a longer end instead")])
    faces = problem.boundary_faces
    if scenario.time.is_steady:
        require_steady_state(scenario, problem.varies, faces, _holds_inside(problem))
    first, *short = telling_times(scenario, [*faces.inputs, *problem.ambients.inputs])
    problem.volume_sources.check(first)  # one without a value later ends the run, which keeps what it has recorded
    for times in (first, *short):
        faces.check(times)
        problem.ambients.check(times)
    if problem.surfaces is not None:  # at the first times the stability limit has looked at them
        for time in (time for times in short for time in times[:, None]):
            problem.surfaces.at(time)


def _holds_inside(problem: Problem) -> bool:
    """Whether an ambient, a loss or another source ties some cell to a temperature."""
    losses, following = problem.coefficients.losses, problem.temperature_sources
    if problem.coefficients.ambient_faces is not None or (losses is not None and losses.any()):
        return True
    low, high = problem.initial.range()
    return following is not None and following.damping(low, high, np.zeros(1)) > 0


def _reference_and_tables(
    scenario: Scenario,
    grid: CellGrid,
    zones: Zones,
    materials: Materials,
    sources: tuple[SourceTerm, ...],
    following: TemperatureSources | None,
    initial: InitialField,
    given: _GivenTemperatures,
) -> tuple[float, TabulatedMaterials | None]:
    """The reference temperature, if none is given; the materials as tables, where something depends on temperature."""
    boundary_faces = BoundaryFaces(scenario, grid, zones.ids, materials.conductivity[:, np.array(zones.materials)], 0.0)
    reference = given.reference
    if reference is None:
        reference = _reference(scenario, initial, boundary_faces, materials, following)
    if find_temperature_dependence(scenario) is None:
        return reference, None
    inputs = BoundedInputs(scenario, grid, initial.range(), boundary_faces, sources, following)
    bounds = find_temperature_bounds(inputs, given.hottest)
    rests = temperature_without_losses(scenario, find_losses(scenario)) is not None
    return tabulate_materials(scenario, reference, bounds, may_move=given.reference is None and not rests)


def _temperature_sources(
    scenario: Scenario, grid: CellGrid, zones: Zones, materials: Materials
) -> TemperatureSources | None:
    """Those whose bounds are looked at before the materials are tabulated."""
    losses = find_losses(scenario)
    if all(source.following_temperature is None or n in losses for n, source in enumerate(scenario.sources)):
        return None
    return TemperatureSources(scenario, grid, zones, materials.capacity[np.array(zones.materials)])


def _complete_temperature_sources(
    scenario: Scenario,
    grid: CellGrid,
    zones: Zones,
    materials: Materials,
    cell_classes: CellClasses,
    found: TemperatureSources | None,
) -> TemperatureSources | None:
    """All of them, with heat capacities as they are counted; None where there are none. found: without ambients."""
    faces, surfaces, contacts = cell_classes.ambient_faces, None, None
    capacities = materials.capacity[np.array(zones.materials)]
    if faces is not None and np.array(ambients_by_surface(scenario))[faces.accounts - SIDES].any():
        surfaces = AmbientSurfaces(scenario, zones, cell_classes, materials.conductivity)
    if any(contact.varies for contact in scenario.contacts) and len(cell_classes.zone) > 1:
        contacts = ContactSurfaces(scenario, zones, cell_classes, materials.conductivity)
    flows = None
    if scenario.face_terms:
        flows = FaceFlows(scenario, grid.shape, cell_classes, periodic_axes(scenario, grid))
    if surfaces or contacts or flows:
        found = found or TemperatureSources(scenario, grid, zones, capacities)
    return None if found is None else found.completed(capacities, surfaces, contacts or None, flows)


class _Equations(NamedTuple):
    """What the steps of a problem are computed from: see the members of `Problem` of these names."""

    coefficients: StencilCoefficients
    boundary_entries: np.ndarray | None
    surfaces: SurfaceConditions | None
    explicit_form: ExplicitForm | None


def _equations(
    scenario: Scenario,
    grid: CellGrid,
    zones: Zones,
    cell_classes: CellClasses,
    boundary_faces: BoundaryFaces,
    materials: Materials,
    tables: TabulatedMaterials | None,
    losses: np.ndarray | None,
) -> _Equations:
    """losses: (n,) 1/s of each zone, if there are any."""
    linear = StencilCoefficients(
        grid.shape,
        cell_classes.rates,
        cell_classes.capacity,
        cell_classes.ids,
        periodic_axes(scenario, grid),
        boundary_faces.closed,
        boundary_faces.per_cell or len(cell_classes.zone) > MAX_CLASSES_IN_BOUNDARY_VALUES,
        cell_classes.ambient_faces,
        (True, True, True)
        if len(cell_classes.zone) > 1
        else boundary_faces.uneven(find_material_dependence(scenario) is not None),
        None if losses is None else losses[cell_classes.zone],
    )
    entries = None if boundary_faces.per_cell else _boundary_entries(linear, cell_classes, zones)
    if tables is None:
        return _Equations(linear, entries, None, None)
    factors = tabulate_boundary_factors(scenario, boundary_faces, entries, tables)
    of_zones = np.array(zones.materials)
    nonlinear = make_nonlinear_coefficients(linear, cell_classes, materials, of_zones, tables.materials, factors)
    explicit_form = _explicit_form(scenario, linear, nonlinear, boundary_faces)
    return _Equations(nonlinear, entries, SurfaceConditions(boundary_faces, entries), explicit_form)


def _stability_limit(
    scenario: Scenario,
    equations: _Equations,
    boundary_faces: BoundaryFaces,
    following: TemperatureSources | None,
    tables: TabulatedMaterials | None,
) -> float:
    """The longest step in which explicit Euler is stable, s."""
    coefficients, entries, surfaces, _ = equations
    limit = stability_limit(coefficients, boundary_faces, entries, surfaces, sample_times(scenario))
    if following is None or tables is None:
        return limit
    low, high = (end + boundary_faces.reference for end in tables.reached)
    damping = following.damping(low, high, sample_times(scenario))
    damping += following.exchange_rate(low, high, sample_times(scenario))
    return limit if damping == 0.0 else 1.0 / (1.0 / limit + damping)


def _explicit_form(
    scenario: Scenario,
    linear: StencilCoefficients,
    coefficients: NonlinearCoefficients,
    boundary_faces: BoundaryFaces,
) -> ExplicitForm:
    """Where a property depends on temperature, so does the half cell behind every face."""
    if find_material_dependence(scenario) is None:
        entries = boundary_faces.temperature_dependent_entries()
        return ExplicitForm(linear, TangentFaces(coefficients, entries, stores_temperature=True), (False,) * 6)
    given = boundary_faces.given
    return ExplicitForm(coefficients, TangentFaces.of_open_faces(coefficients, given), given)


def _boundary_entries(coefficients: StencilCoefficients, cell_classes: CellClasses, zones: Zones) -> np.ndarray:
    """(boundary_size,) which of the values (6, zones) of boundary faces that have one a zone stands at each place of
    the coefficients'."""
    if not coefficients.boundary_per_cell:
        return np.concatenate([face * len(zones) + cell_classes.zone for face in range(6)])
    ids = ONE_CLASS if zones.ids is None else zones.ids
    beside = [boundary_faces(coefficients.shape, face).classes(ids) for face in range(6)]
    return np.concatenate([face * len(zones) + each for face, each in enumerate(beside)])


def _reference(
    scenario: Scenario,
    initial: InitialField,
    boundary_faces: BoundaryFaces,
    materials: Materials,
    following: TemperatureSources | None,
) -> float:
    """The middle of the initial, boundary and ambient temperatures, in the scenario's unit; or that among them at which
    nothing is lost, so that losses need no source; or that from which a source has all grow, so that what is many
    orders below the rest is not lost beside the reference."""
    ambients = materials.temperature[: materials.exchanging].tolist()
    values: list[float] = [*initial.range(), *boundary_faces.temperatures(), *ambients]
    low, high, at_rest = min(values), max(values), temperature_without_losses(scenario, find_losses(scenario))
    if at_rest is not None and low <= at_rest <= high:
        return at_rest
    grows_from = None if following is None else following.grows_from(low, high)
    return 0.5 * (low + high) if grows_from is None else grows_from


# --- the memory that building takes, checked before anything is allocated


BYTES_A_CELL, BYTES_A_PLACE = 9, 300  # bytes a cell, and a cell along an axis, that building takes, about: measured


def require_setup_memory(scenario: Scenario) -> None:
    """Raise `ScenarioError` if the cells of the grid are too many for the memory of this machine."""
    cells = scenario.grid.cells
    needed = BYTES_A_CELL * prod(cells) + BYTES_A_PLACE * sum(cells)
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > there:
        message = f"takes {needed / 1e9:.1f} GB to set up, and there are {there / 1e9:.1f} GB of memory in this machine"
        raise ScenarioError([scenario.issue_at(("grid", "cells"), message, "take fewer cells")])
