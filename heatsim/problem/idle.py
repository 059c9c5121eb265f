"""What a scenario says and only arrays show to be hardly meant: contacts that never touch, beams on ambients, or
through the bottom of the box."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from heatsim.grid import AXES, Grid
from heatsim.problem.beam_paths import BeamPath
from heatsim.problem.beams import MovingBeam
from heatsim.scenario.beams import GaussianBeam
from heatsim.scenario.findings import Finding

if TYPE_CHECKING:
    from heatsim.problem.problem import Problem

MOST_PASSING = 0.05  # of a beam, through the bottom of the box: exp(-3), of a depth that is a third of the body


def idle_contacts(problem: Problem) -> Iterator[Finding]:
    """Contacts between materials that never touch."""
    own = np.array(problem.zones.media)[problem.kinds.zone]
    pairs = np.unique(np.stack((np.repeat(own, 6), problem.kinds.beyond.reshape(-1))), axis=1).T.tolist()
    names = [*problem.scenario.materials, *problem.scenario.ambients]
    touching = {frozenset(pair) for pair in pairs}
    for i, contact in enumerate(problem.scenario.contacts):
        if frozenset(names.index(name) for name in contact.between) not in touching:
            yield Finding(("contacts", i, "between"), "these materials never touch, so the contact has no effect")


def beams_on_ambients(problem: Problem) -> Iterator[Finding]:
    """Beams that shine on cells that are not solved, whose power is lost there."""
    ids = problem.zones.ids
    if ids is None:
        return
    for beam in problem.heating.beams:
        media = np.array(problem.zones.media)[ids[_cells_below(problem.grid, beam)]]
        if (media >= problem.media.solids).any():
            message = "shines on an ambient on its way, where its power is lost"
            hint = "z in the path names the surface; left out, it is the top of the box"
            yield Finding(("sources", beam.source, "beam", "path"), message, hint)


def beams_through_the_bottom(problem: Problem) -> Iterator[Finding]:
    """Beams of which a good part would pass through the bottom of the box, where all of it is put in above."""
    bottom = problem.grid.span("z")[0]
    for moving in problem.heating.beams:
        beam, share = moving.beam, "absorptivity" if isinstance(moving.beam, GaussianBeam) else "efficiency"
        below = float(np.min(moving.path.places[_lit(moving.path), 2], initial=np.inf)) - bottom
        passing = moving.beyond(below)
        if passing > MOST_PASSING:
            message = f"{100 * passing:.0f} % of the power should pass through the {below:.4g} m below, but stays there"
            hint = f"{share} = {getattr(beam, share) * (1.0 - passing):.3g} takes it off"
            key = "depth" if isinstance(beam, GaussianBeam) else "b"
            yield Finding(("sources", moving.source, "beam", key), message, hint)


def _lit(path: BeamPath) -> np.ndarray:
    """Which places of a path are an end of a leg on which the beam is on."""
    return np.asarray(np.append(path.on, False) | np.append(False, path.on))


def _cells_below(grid: Grid, beam: MovingBeam) -> tuple[np.ndarray, ...]:
    """Indices z, y, x of the cells just below the places of a path between which the beam is on."""
    path = beam.path
    found = []
    for axis, place, side in zip(AXES, path.places[_lit(path)].T, ("right", "right", "left"), strict=True):
        faces = grid.faces(axis)
        found.append(np.clip(np.searchsorted(faces, place, side=side) - 1, 0, len(faces) - 2))  # type: ignore[call-overload]
    return tuple(found[::-1])
