"""Normals of the surfaces of shapes, where these lie between the centres of two neighbouring cells.

A sphere's are radial; a cylinder's radial on its mantle and along its axis on its ends; an STL surface has those of its
triangles. A condition changes between two cells where one of its comparisons does, a < b say: there the normal is the
gradient of a - b, by central differences.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from heatsim.problem.painting import stl_surface
from heatsim.scenario import Expression
from heatsim.scenario.shapes import Cylinder, Shape, Sphere

_STEP = 1e-3  # of central differences, in cells


class Pairs(NamedTuple):
    """Neighbours along `axis` (n,): the centres of the lower and the upper cell and of the one to look from, and the
    size of that cell, (3, n) m each."""

    axis: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    own: np.ndarray
    size: np.ndarray


def normals(shape: Shape, pairs: Pairs) -> np.ndarray:
    """(3, n) normals, of any length, of the surface of a shape that passes between each pair; 0 or not finite where
    there is none."""
    if shape.sphere is not None:
        return _of_sphere(shape.sphere, pairs)
    if shape.cylinder is not None:
        return _of_cylinder(shape.cylinder, pairs)
    if shape.stl is not None:
        surface, found = stl_surface(shape.stl), np.zeros(pairs.own.shape)
        for axis in np.unique(pairs.axis).tolist():
            those = pairs.axis == axis
            found[:, those] = surface.normals(pairs.lower[:, those], pairs.upper[:, those], axis)
        return found
    assert shape.where is not None
    return _of_condition(shape.where, pairs)


def _of_sphere(sphere: Sphere, pairs: Pairs) -> np.ndarray:
    return np.asarray(pairs.own - np.array(sphere.center)[:, None])


def _of_cylinder(cylinder: Cylinder, pairs: Pairs) -> np.ndarray:
    start, axis = np.array(cylinder.start)[:, None], np.array(cylinder.end) - np.array(cylinder.start)
    length = np.linalg.norm(axis)
    direction = (axis / length)[:, None]
    below, above, here = (
        (direction * (points - start)).sum(axis=0) for points in (pairs.lower, pairs.upper, pairs.own)
    )
    through_end = ((below >= 0) & (below <= length)) != ((above >= 0) & (above <= length))
    return np.asarray(np.where(through_end, direction, pairs.own - start - direction * here))


def _of_condition(condition: Expression, pairs: Pairs) -> np.ndarray:
    found, left = np.zeros(pairs.own.shape), np.ones(pairs.axis.size, bool)
    for truth, difference in condition.comparisons():
        changes = left & (_at(truth, pairs.lower) != _at(truth, pairs.upper))
        if changes.any():
            found[:, changes] = _gradient(difference, pairs.own[:, changes], _STEP * pairs.size[:, changes])
        left &= ~changes
    return found


def _gradient(value: Expression, at: np.ndarray, step: np.ndarray) -> np.ndarray:
    """(3, n) by central differences."""
    slopes = np.empty(at.shape)
    for axis in range(3):
        aside = np.zeros(at.shape)
        aside[axis] = step[axis]
        slopes[axis] = (_at(value, at + aside) - _at(value, at - aside)) / (2 * step[axis])
    return slopes


def _at(value: Expression, points: np.ndarray) -> np.ndarray:
    return np.broadcast_to(value(x=points[0], y=points[1], z=points[2]), points.shape[1:])
