"""Warnings about expressions in space that means over cells do not resolve."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from heatsim.base.grid import CellGrid
from heatsim.problem.media.density_means import mixes
from heatsim.problem.shapes.axis_cells import centre_values
from heatsim.problem.shapes.space_means import grid_cells, space_means
from heatsim.problem.terms.boundary_faces import BoundaryFaces
from heatsim.problem.terms.initial_condition import InitialField
from heatsim.problem.terms.temperature_sources import TemperatureSources
from heatsim.problem.terms.volume_sources import VolumeSources
from heatsim.scenario import Scenario
from heatsim.scenario.language.toml.positions import KeyIssue

# share of the whole by which values at centres may be off without a word, cell by cell, and in all
EVEN, EVEN_IN_ALL = 2e-2, 5e-3
MOST_DOUBT = 0.01  # share of what an expression brings that may be in doubt without a word
_HINT = "smaller cells, or an expression that is smoother, or not so narrow"


def unresolved_sources(volume_sources: VolumeSources, following: TemperatureSources | None) -> Iterator[KeyIssue]:
    """Sources whose power the means over cells do not find to within MOST_DOUBT."""
    for number, power, doubt in volume_sources.doubts(MOST_DOUBT):
        low, high = sorted((power * (1.0 - doubt), power * (1.0 + doubt)))
        message = (
            f"varies too fast within cells: {power:.4g} W are released, where {low:.4g} to {high:.4g} W may be meant"
        )
        yield KeyIssue(("sources", number), message, _HINT)
    for number, doubt in () if following is None else following.doubts(MOST_DOUBT):
        message = f"varies too fast within cells: what is released may be off by {100 * doubt:.2g} %"
        yield KeyIssue(("sources", number), message, _HINT)


def unresolved_faces(boundary_faces: BoundaryFaces) -> Iterator[KeyIssue]:
    """Inputs of boundary conditions whose means over the faces of cells are not found to within MOST_DOUBT."""
    for key, doubt in boundary_faces.doubts(MOST_DOUBT):
        message = f"varies too fast within cells: its means over their faces may be off by {100 * doubt:.2g} %"
        yield KeyIssue(key, message, _HINT)


def unresolved_initial(initial: InitialField) -> Iterator[KeyIssue]:
    """Initial temperatures whose means over cells are not found to within MOST_DOUBT."""
    for key, doubt, at_centres in initial.doubts(MOST_DOUBT):
        if at_centres:
            message = "varies too fast within cells: their means are not found, and values at their centres are taken"
        else:
            off = f"{100 * doubt:.2g} % of the rise over its mean"
            message = f"varies too fast within cells: its means over these may be off by {off}"
        yield KeyIssue(key, message, _HINT)


def mixed_densities(scenario: Scenario, grid: CellGrid, temperature: float) -> Iterator[KeyIssue]:
    """Power densities that mix space and temperature, so that they are taken at the centres of cells, where these do
    not do. temperature: at which that is looked at, in the scenario's unit."""
    cells, fixed = grid_cells(grid), {"t": 0.0, "T": temperature}
    for number, source in enumerate(scenario.sources):
        density = source.following_temperature
        if density is None or not mixes(density):
            continue
        at_centres, means = centre_values(density, cells, fixed), space_means(density, cells, fixed).values()
        known, volumes = np.isfinite(at_centres) & np.isfinite(means), cells.volumes()
        centres, meant, whole, off = (
            float((np.where(known, each, 0.0) * volumes).sum())
            for each in (at_centres, means, np.abs(means), np.abs(means - at_centres))
        )
        if off <= EVEN * whole and abs(centres - meant) <= EVEN_IN_ALL * whole:
            continue
        message = (
            f"mixes place and temperature, and so is taken at the centres of cells: {centres:.4g} W in place of "
            f"{meant:.4g} W in the whole box, were it at {temperature:g} {scenario.unit} at t = 0"
        )
        yield KeyIssue(("sources", number), message, "a product of what depends on x, y, z and what depends on T")
