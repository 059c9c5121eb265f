"""Boundary faces of bodies that follow temperature: what enters through the surface, at any time.

Into a surface at T_s goes  flux + h (ambient - T_s) + emissivity sigma (surroundings^4 - T_s^4)  in W/m2: see
`NonlinearDrive.walls`, whose five numbers these are. A given temperature is a coefficient h without bound. What h and
the emissivity owe to T_s stands apart: see `factors`.
"""

from __future__ import annotations

import numpy as np
from heatsim_kernels.enthalpy.coefficients import FIXED

from heatsim.geometry.point_values import depends_on, require_at_least, require_at_most, separate_temperature
from heatsim.physics.boundary.faces import BoundaryFaces, FacePatch, describe_times
from heatsim.scenario import Scenario
from heatsim.scenario.boundary import Convection, Fixed, Flux, Radiation

COEFFICIENT, AMBIENT, FLUX, EMISSIVITY, SURROUNDINGS = range(5)


class SurfaceConditions:
    """The conditions of the six faces, in the order of the terms' wall values."""

    def __init__(self, scenario: Scenario, walls: BoundaryFaces, entries: np.ndarray | None, reference: float) -> None:
        """`entries`: which value of the walls stands at each place of the terms', None where they are the same."""
        self._scenario, self._walls, self._entries, self._reference = scenario, walls, entries, reference
        self._still = None if walls.varies else self._values(np.zeros(1))

    def at(self, times: np.ndarray) -> np.ndarray:
        """(k, 5, wall_size) at each time; k = 1 if nothing depends on time."""
        return self._values(times) if self._still is None else self._still

    def fastest(self, times: np.ndarray) -> np.ndarray:
        """(k, 5, wall_size) values with which heat is exchanged no slower than at any of some times: the greatest, and,
        where they vary, once more with the coldest ambients."""
        if self._still is not None:
            return self._still
        values = self._values(times[:1])
        coldest = values[:, [AMBIENT, SURROUNDINGS]]
        for number in range(1, len(times)):
            now = self._values(times[number : number + 1])
            values, coldest = np.maximum(values, now), np.minimum(coldest, now[:, [AMBIENT, SURROUNDINGS]])
        for i, pieces in enumerate(self._walls.pieces):
            for piece in pieces:
                places = np.arange(self._walls.starts[i], self._walls.starts[i + 1])[piece.cells]
                chosen = places if self._entries is None else np.isin(self._entries, places)
                if depends_on(getattr(piece.face, "coefficient", 0.0), "t"):
                    values[:, COEFFICIENT, chosen] = FIXED
                if depends_on(getattr(piece.face, "emissivity", 0.0), "t"):
                    values[:, EMISSIVITY, chosen] = 1.0
        values = np.concatenate((values, values))
        values[1, [AMBIENT, SURROUNDINGS]] = coldest[0]
        return values

    def _values(self, times: np.ndarray) -> np.ndarray:
        values = np.zeros((len(times), 5, self._walls.starts[-1]))
        for i, pieces in enumerate(self._walls.pieces):
            part = values[:, :, self._walls.starts[i] : self._walls.starts[i + 1]]
            for piece in pieces:
                for number, given in self._piece(i, piece, times).items():
                    part[:, number, piece.cells] = given
        return values if self._entries is None else values[:, :, self._entries]

    def _piece(self, i: int, piece: FacePatch, times: np.ndarray) -> dict[int, np.ndarray | float]:
        """The numbers of a piece of face i that are not 0, (k, cells or zones) at k times."""
        face, checked = piece.face, self._walls.checked
        if isinstance(face, Fixed):
            wall = checked(i, piece, "temperature", face.temperature, times)
            return {COEFFICIENT: FIXED, AMBIENT: wall - self._reference}
        if isinstance(face, Flux):
            return {FLUX: checked(i, piece, "flux", face.flux, times)}
        if isinstance(face, Convection):
            coefficient = checked(i, piece, "coefficient", separate_temperature(face.coefficient)[0], times)
            key = (*piece.key, "coefficient")
            require_at_least(self._scenario, key, coefficient, 0.0, "W/(m2 K)", describe_times(times))
            ambient = checked(i, piece, "ambient", face.ambient, times)
            return {COEFFICIENT: coefficient, AMBIENT: ambient - self._reference}
        if isinstance(face, Radiation):
            given, follows = separate_temperature(face.emissivity)
            emissivity, key = checked(i, piece, "emissivity", given, times), (*piece.key, "emissivity")
            require_at_least(self._scenario, key, emissivity, 0.0, "(emissivity)", describe_times(times))
            if follows is None:  # else `factors` sees to it
                require_at_most(self._scenario, key, emissivity, 1.0, "(emissivity)", describe_times(times))
            around = checked(i, piece, "ambient", face.ambient, times)
            return {EMISSIVITY: emissivity, SURROUNDINGS: around - self._reference}
        return {}
