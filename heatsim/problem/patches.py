"""Faces cut into pieces: a patch is the part of a face with a condition of its own.

+-----------+      patches = [ { where = "y < 0.02", ... }, { where = "z < 0.01", ... } ]
|  0  |     |      A cell of the face belongs to the last patch whose `where` is true at the centre of its outer
|  0  | -1  |      face, or to the face itself, here -1.
|-----+-----|
|  1     1  |
+-----------+
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from heatsim.errors import ScenarioError
from heatsim.problem.values import Key, require_finite
from heatsim.scenario import Scenario
from heatsim.scenario.boundary import FACES, Face, FaceName

Points = Mapping[str, np.ndarray | float]


@dataclass(frozen=True)
class Piece:
    """A part of a face under one condition. key: where the condition stands in the scenario; cells: which values of the
    face are its own; points: x, y, z of the centres of these cells' outer faces, m."""

    face: Face
    key: Key
    cells: np.ndarray | slice
    points: Points


def cut(scenario: Scenario, faces: Mapping[FaceName, Face], points: Mapping[FaceName, Points]) -> list[list[Piece]]:
    """The pieces of each of the six FACES; `points` are those of whole faces, flat.

    Raises `ScenarioError` for a patch that covers no cell of any face it is meant for, or whose condition is undefined.
    """
    covered: dict[Key, bool] = {}
    pieces = [_pieces(scenario, _key(scenario, name), faces[name], points[name], covered) for name in FACES]
    for key, found in covered.items():
        if not found:
            flaw = scenario.problem_at((*key, "where"), "covers no cell of the face", "it is judged at cell centres")
            raise ScenarioError([flaw])
    return pieces


def _key(scenario: Scenario, name: FaceName) -> Key:
    return ("boundary", name if getattr(scenario.boundary, name) is not None else "default")


def _pieces(scenario: Scenario, key: Key, face: Face, points: Points, covered: dict[Key, bool]) -> list[Piece]:
    if not face.patches:
        return [Piece(face, key, slice(None), points)]
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


def _piece(face: Face, key: Key, cells: np.ndarray, points: Points) -> Piece:
    own = {axis: value[cells] if isinstance(value, np.ndarray) else value for axis, value in points.items()}
    return Piece(face, key, cells, own)
