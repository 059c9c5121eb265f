"""Temperatures on surfaces, from those of the cells behind them.

Half a cell lies between a centre and its face, with the resistance R_half = h/(2 k), and beyond the face the surface
resistance R_s to an ambient:

    centre --- R_half --- surface --- R_s --- ambient

Towards an edge, where surfaces meet, the temperature of a surface is known half a cell from it only. Straight on from
the last two faces it is found on the edge itself, and so along both axes in a corner. Where the solid fills more than
half of the space around an edge, the gradient is singular there: this converges slowly, and is extrapolated over grids.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np

SurfaceValues = TypeVar("SurfaceValues", float, np.ndarray)


def surface_temperature(centre: SurfaceValues, half: float, resistance: float, ambient: float) -> SurfaceValues:
    """Temperature of a surface in the middle of a cell's face; `half` and `resistance` in m2 K/W."""
    return (centre * resistance + ambient * half) / (resistance + half)


def extrapolate_to_edge(first: SurfaceValues, second: SurfaceValues) -> SurfaceValues:
    """Value on an edge from those half a cell and one and a half cells from it."""
    return 1.5 * first - 0.5 * second


def extrapolate_to_corner(faces: np.ndarray) -> float:
    """Temperature of a corner from those in the middle of faces, (2, 2) or more, of which [0, 0] is next to it."""
    along = extrapolate_to_edge(faces[0], faces[1])
    return float(extrapolate_to_edge(along[0], along[1]))
