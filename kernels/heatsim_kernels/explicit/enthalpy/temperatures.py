"""The temperatures of a field that stores the enthalpy u (see `lookup_tables`), as a `field.Temperatures`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from math import isfinite
from typing import Any

import numpy as np

from heatsim_kernels.explicit.enthalpy.coefficients import NonlinearCoefficients

RANGE_TOLERANCE_K = 1e-3  # beyond the range of a material that rounding may reach


class EnthalpyTemperatures:
    """Conversions by the tables of the materials, on the host but for `fill`."""

    direct = False

    def __init__(self, coefficients: NonlinearCoefficients, fill: Callable[[Any, Any], None]) -> None:
        """fill: the kernel that computes the offsets (second argument) of the states (first), flat on its device."""
        self._coefficients, self._tables, self.fill = coefficients, coefficients.tables, fill
        self._out_of_range: dict[int, float] = {}

    def state_planes(self, planes: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
        """u of planes of offsets, z upwards; what melts is solid."""
        for z, plane in enumerate(planes):
            yield self._tables.state_of(plane, self._material(z)).reshape(plane.shape)

    def whole(self, state: np.ndarray, dtype: np.dtype) -> np.ndarray:
        """The offsets of a whole field; materials that left their range are noted."""
        offsets = np.empty(state.shape, dtype)
        for z, plane in enumerate(state):
            material = self._material(z)
            found = self._tables.temperature(plane, material)
            self._check_range(found, material)
            offsets[z] = found
        return offsets

    def plane(self, state: np.ndarray, axis: int, index: int, dtype: np.dtype) -> np.ndarray:
        """The offsets of one plane."""
        material = self._coefficients.material[self._coefficients.class_ids.take(index, axis)]
        return self._tables.temperature(state, material).astype(dtype)

    def cells(self, state: np.ndarray, indices: np.ndarray, dtype: np.dtype) -> np.ndarray:
        """The offsets of some cells."""
        material = self._coefficients.material[self._coefficients.classes_of(indices)]
        return self._tables.temperature(state, material).astype(dtype)

    def melted_fraction(self, state: np.ndarray, dtype: np.dtype) -> np.ndarray:
        """The share of each cell of a whole field that has melted; 0 of materials that do not melt."""
        melted = np.empty(state.shape, dtype)
        for z, plane in enumerate(state):
            melted[z] = self._tables.melted_fraction(plane, self._material(z))
        return melted

    def out_of_range(self) -> Mapping[int, float]:
        """The materials that left their range in whole fields so far, with the offset furthest beyond it, K."""
        return self._out_of_range

    def restore_out_of_range(self, found: Mapping[int, float]) -> None:
        """Take over what `out_of_range` gave."""
        self._out_of_range = dict(found)

    def _material(self, z: int) -> np.ndarray:
        """The material of each cell of a plane, or of all."""
        coefficients = self._coefficients
        return np.asarray(coefficients.material[coefficients.class_ids[z] if coefficients.several else 0])

    def _check_range(self, offsets: np.ndarray, material: np.ndarray) -> None:
        """Note how far each material of a plane has left its range."""
        for number, (low, high) in enumerate(self._coefficients.ranges):
            if not (isfinite(low) or isfinite(high)):
                continue
            own = offsets if material.ndim == 0 else offsets[material == number]
            if (material.ndim == 0 and material != number) or not own.size:
                continue
            lowest, highest, known = float(own.min()), float(own.max()), self._out_of_range.get(number)
            furthest = lowest if low - lowest > highest - high else highest
            nearer = RANGE_TOLERANCE_K if known is None else beyond_range(known, low, high)
            if beyond_range(furthest, low, high) > nearer:
                self._out_of_range[number] = furthest


def beyond_range(offset: float, low: float, high: float) -> float:
    """How far an offset lies beyond a range, K; below 0 within it."""
    return max(low - offset, offset - high)
